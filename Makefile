# Each target makes what it needs in .venv; a fresh machine needs Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINIMUM := .venv-minimum
QUICK := not slow and not browser and not dask and not gpu and not data
COVERED := src/mtcluster/core/*,src/mtcluster/engines/*,src/mtcluster/search/*,src/mtcluster/estimators/*

export MTCLUSTER_DATA ?= $(abspath ../shared/data)

.PHONY: demo test quick minimum versions coverage lint bench faults docs dist clean

demo: $(VENV)/.core
	$(BIN)/mtcluster demo

# SCIPY_ARRAY_API lets scikit-learn dispatch to other array libraries.
test: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n auto $(PYTEST)

quick: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m "$(QUICK)" tests $(PYTEST)

# The fast tests with the lowest versions that pyproject.toml allows, in an environment of their own.
minimum: $(MINIMUM)/.test
	$(MINIMUM)/bin/python -m pytest -n 2 -m "$(QUICK)" tests $(PYTEST)

# Writes these versions again, after a lower bound has changed.
versions: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet 'uv>=0.5'
	$(BIN)/uv pip compile --quiet --no-config --upgrade --resolution lowest-direct --python-version 3.11 --only-binary :all: --no-annotate \
		--extra test --output-file packaging/minimum.txt pyproject.toml

# After tests with PYTEST="--cov": all rooms, and the four that must be covered.
coverage: $(VENV)/.test
	$(BIN)/python -m coverage report --skip-covered
	$(BIN)/python -m coverage report --fail-under=95 --include='$(COVERED)'

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Faults on purpose, which must do no harm: up to two hours, apart from CI.
faults: $(VENV)/.test
	$(BIN)/python -m benchmarks.faults --out docs/results/reliability.md

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.speed

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs

dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mtcluster needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(MINIMUM)/.test: pyproject.toml packaging/minimum.txt
	$(PYTHON) -m venv --clear $(MINIMUM)
	$(MINIMUM)/bin/python -m pip install --quiet --only-binary :all: --constraint packaging/minimum.txt --editable '.[test]'
	touch $@

$(VENV)/.lint: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[benchmark,dask]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(VENV)/.dist: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dist]'
	touch $@

clean:
	rm -rf $(VENV) $(MINIMUM) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage .coverage.*
