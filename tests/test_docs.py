"""What the documents show runs as it stands: code, commands and examples."""

import csv
import importlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mtcluster import SPMTC
from mtcluster.cli.main import main
from mtcluster.datasets import make_multitask_blobs

ROOT = Path(__file__).parents[1]
DATA = os.environ.get("MTCLUSTER_DATA")  # folder of the task sets that some examples read
GENERATED = {"gallery", "_generated"}
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not GENERATED & set(path.relative_to(ROOT / "docs" if path.name != "README.md" else ROOT).parts)
]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = {path: BLOCK.findall(path.read_text(encoding="utf-8")) for path in PAGES}
EXAMPLES = [
    pytest.param(path, marks=pytest.mark.data) if "load_task_set(" in path.read_text(encoding="utf-8") else path
    for path in sorted((ROOT / "examples").glob("plot_*.py"))
]
COUNTRIES = ["chile", "ghana", "norway"]
BORROWED = {"normalized_mutual_info_score"}  # public names that other libraries document


def name(path):
    return str(path.relative_to(ROOT))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the commands of the pages name: a survey in three countries, and more of it."""
    people = make_multitask_blobs(n_samples=60, n_features=3, n_tasks=3, n_clusters=3, separation=9, random_state=0)
    lines = [
        [f"p{i}", COUNTRIES[task], f"g{group}", *row]
        for i, (row, group, task) in enumerate(zip(people.X.round(3).tolist(), people.y, people.tasks, strict=True))
    ]
    header = ["person", "country", "group", "trust", "income", "hours"]
    _write(tmp_path / "survey.csv", header, lines)
    _write(tmp_path / "more.csv", header, lines[:20])
    for country in COUNTRIES:
        own = [[line[0], *line[3:]] for line in lines if line[1] == country]
        _write(tmp_path / f"{country}.csv", [header[0], *header[3:]], own)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(path, header, lines):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *lines])


def run_command(line):
    """The exit code of a command of ours; what a shell alone knows is not run."""
    program, *arguments = shlex.split(line)
    if program != "mtcluster":
        return 0
    try:
        return main(arguments) or 0
    except SystemExit as stop:
        return stop.code or 0


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in PAGES if BLOCKS[path]], ids=name)
def test_every_block_of_a_page_runs(path, folder, capsys):
    for number, (kind, text) in enumerate(BLOCKS[path], start=1):
        where = f"{name(path)}, block {number}"
        if kind == "python":
            exec(compile(text, where, "exec"), {"__name__": "__main__"})
            assert capsys.readouterr().err == "", where
        else:
            commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
            assert commands, where
            for command in commands:
                assert run_command(command) == 0, f"{where}: {command}\n{capsys.readouterr().err}"
            capsys.readouterr()


@pytest.mark.slow
def test_the_walk_through_shows_what_its_commands_print(folder, capsys):
    def plain(text):
        return re.sub(r"\d+\.\d s\.", "N s.", text.strip())

    for kind, text in BLOCKS[ROOT / "docs" / "guide" / "first-table.md"]:
        if kind == "python":
            exec(compile(text, "first-table", "exec"), {"__name__": "__main__"})
            continue
        command, _, shown = text.partition("\n")
        capsys.readouterr()
        assert run_command(command.removeprefix("$ ")) == 0
        assert plain(capsys.readouterr().out) == plain(shown), command


@pytest.mark.slow
def test_the_parts_that_contributing_shows_can_be_registered(tmp_path):
    """In a process of its own: they stay registered."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = [code for kind, code in BLOCK.findall(text) if kind == "python"]
    assert len(blocks) == 4
    options = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
    done = subprocess.run(options, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_readme_shows_code():
    assert BLOCKS[ROOT / "README.md"]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=name)
def test_every_example_runs(path, tmp_path):
    pytest.importorskip("matplotlib")
    code = path.read_text(encoding="utf-8")
    needed = re.findall(r'load_task_set\("(\w+)"\)', code)
    if needed and DATA is None:
        pytest.skip("MTCLUSTER_DATA names no folder of task sets")
    absent = [one for one in needed if not Path(DATA, f"{one}.npz").is_file()]
    if absent:
        pytest.skip(f"{absent[0]}.npz is not in {DATA}")
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    environment = os.environ | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    options = [sys.executable, "-W", "ignore:FigureCanvasAgg", str(path)]
    done = subprocess.run(options, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_to_files(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" in target:
            continue
        found = path.parent / target
        example = ROOT / "examples" / f"{found.stem}.py"
        made = "gallery" in found.parts and (found.stem == "index" or example.is_file())
        assert made or found.exists(), f"{name(path)} links to {target}"


@pytest.mark.parametrize("command", ["check", "fit", "predict", "adapt", "rename", "merge", "app", "report", "compare"])
def test_the_page_of_the_command_line_names_every_option_and_no_other(command, capsys):
    page = (ROOT / "docs" / "guide" / "command-line.md").read_text(encoding="utf-8")
    assert run_command(f"mtcluster {command} --help") == 0
    known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    option = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
    of_fit, section = (page.split(f"\n## {one}\n")[1].split("\n## ")[0] for one in ("fit", command))
    by_name = set()
    for first, last in re.findall(r"The options from `(\S+)` to `(\S+)` are those of `fit`", section):
        in_order = list(dict.fromkeys(option.findall(of_fit[of_fit.index("| option |") :])))
        by_name = set(in_order[in_order.index(first) : in_order.index(last) + 1])
    told = set(option.findall(section))
    assert known - {"--help"} == told | by_name


def listed_api():
    """Module → names that docs/api lists under it."""
    found, module, listing = {}, None, False
    for line in (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1].strip()
            found.setdefault(module, [])
        elif line.startswith(".. autosummary::"):
            listing = True
        elif line and not line.startswith(" "):
            listing = False
        elif listing and line.strip() and not line.strip().startswith(":"):
            found[module].append(line.strip())
    return found


API = listed_api()


@pytest.mark.parametrize("module", API)
def test_the_reference_lists_the_public_names_of_a_module(module):
    public = importlib.import_module(module)
    assert len(API[module]) == len(set(API[module]))
    assert set(API[module]) == set(public.__all__) - BORROWED
    for listed in API[module]:
        assert getattr(public, listed).__doc__, f"{module}.{listed}"


def test_the_reference_lists_every_public_module():
    package = ROOT / "src" / "mtcluster"
    modules = {path.stem if path.is_file() else path.name for path in package.iterdir() if path.suffix in ("", ".py")}
    hidden = {
        "core",
        "engines",
        "search",
        "certainty",
        "estimators",
        "cli",
        "app",
        "__init__",
        "__main__",
        "__pycache__",
    }
    public = {f"mtcluster.{one}" for one in modules - hidden if not one.startswith("_")}
    assert set(API) == public | {"mtcluster"}


ROOMS = "core|engines|search|certainty|estimators|model_selection|preprocessing|inspection|interop|cli|_utils"


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/mathematics.md", "CONTRIBUTING.md"])
def test_names_in_the_pages_on_the_code_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    found = set(re.findall(rf"`((?:{ROOMS})(?:\.\w+)+)(?:\(.*?\))?`", text))
    assert found, "the page names nothing"
    for dotted in found - {one for one in found if one.endswith(".py")}:
        value = importlib.import_module("mtcluster")
        for part in dotted.split("."):
            if not hasattr(value, part):
                importlib.import_module(f"{value.__name__}.{part}")
            value = getattr(value, part)


def test_the_tree_in_the_architecture_names_the_modules_of_the_core():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "mtcluster" / "core").iterdir():
        if not path.name.startswith("__"):
            assert path.name + "/" * path.is_dir() in text, path.name


def test_rows_in_another_order_are_like_another_seed():
    guide = " ".join((ROOT / "docs" / "guide" / "parameters.md").read_text(encoding="utf-8").split())
    assert "Rows in another order are like another `random_state`" in guide
    rng = np.random.default_rng(0)
    clear, _, tasks = make_multitask_blobs(60, 4, n_tasks=2, n_clusters=3, separation=20, task_shift=0, random_state=0)
    noise = rng.normal(size=(120, 4))

    def fitted(X, seed, order):
        labels = np.empty(len(X), dtype=int)
        labels[order] = SPMTC(3, random_state=seed).fit(X[order], tasks=tasks[order]).labels_
        return labels

    def agreement(X, seeds, orders):
        found = [fitted(X, seed, order) for seed, order in zip(seeds, orders, strict=True)]
        return np.mean([adjusted_rand_score(a, b) for a, b in combinations(found, 2)])

    same, others = [np.arange(120)] * 6, [rng.permutation(120) for _ in range(6)]
    assert agreement(clear, [0] * 6, others) == 1
    assert agreement(noise, [0] * 6, others) > agreement(noise, range(6), same) - 0.2
