"""Imports follow the arrows of docs/architecture.md."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "mtcluster"
MODULES = {
    path: ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
}
CORE = {
    "core.arrays",
    "core.model",
    "core.updates",
    "core.projection",
    "core.pacing",
    "core.rows",
    "core.solver",
    "core.starts",
    "core.readout",
    "core.relations",
}
# Each module may import those that stand before it, and itself nothing that comes after.
ORDER = [
    "core.arrays", "core.model", "core.updates", "core.projection", "core.pacing", "core.readout", "core.relations",
    "core.rows", "core.solver", "core.starts", "core", "tasks", "tables", "_progress", "look", "restarts", "decisions",
    "engines.local", "engines.worker", "engines.dask", "engines", "explanation", "easiness", "conversion",
    "report.words", "report.clusters", "report.course", "report.examples", "report.advice", "report.summary",
    "report.parts", "report.sections", "report.page", "report", "base",
    "estimators", "baselines", "labelled", "persistence", "metrics", "datasets", "splitting", "plotting", "selection",
    "stability", "anndata",
    "__init__", "demo", "io.text_tables", "io.collection", "io.tables", "io.matrices", "io", "preparation", "command",
    "command.console", "command.folder", "command.options", "command.modelling", "command.fit", "command.predict",
    "command.report", "command.compare",
    "benchmark", "benchmark.rows", "benchmark.views", "benchmark.methods", "benchmark.runner",
    "benchmark.paper", "benchmark.peers", "benchmark.results", "benchmark.pages", "benchmark.report",
    "benchmark.peer_report", "benchmark.figures",
    "benchmark.command", "cli", "__main__",
]  # fmt: skip


def imports_of(path):
    """(module, whether it is ours) for every import, also those inside functions."""
    package = ["mtcluster", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def test_every_module_has_its_place():
    assert set(MODULES.values()) == set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=MODULES.values())
def test_imports_never_go_back(path):
    own = MODULES[path]
    allowed = set(ORDER[: ORDER.index(own)])
    for name in imports_of(path):
        inner = name.removeprefix("mtcluster.") if name.startswith("mtcluster.") else None
        if inner in ORDER and not own.startswith(f"{inner}."):
            assert inner in allowed, f"{own} imports {inner}"


@pytest.mark.parametrize(
    "path",
    [p for p, name in MODULES.items() if name in CORE],
)
def test_the_core_knows_numpy_and_scipy_alone(path):
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert roots <= {
        "numpy",
        "scipy",
        "mtcluster",
        "__future__",
        "collections",
        "dataclasses",
        "functools",
        "itertools",
        "math",
        "typing",
    }


def test_an_import_of_the_library_brings_no_extra():
    extras = ["pandas", "polars", "matplotlib", "dask", "distributed", "rich", "torch", "cupy", "anndata", "skops"]
    code = (
        "import sys, sklearn.cluster, sklearn.metrics, sklearn.datasets; before = set(sys.modules)\n"  # may bring some
        "import mtcluster, mtcluster.datasets, mtcluster.cli; ours = set(sys.modules) - before\n"
        f"print([extra for extra in {extras} if extra in ours])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
