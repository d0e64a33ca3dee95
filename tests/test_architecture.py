"""Imports follow the arrows of docs/architecture.md; names, lists and types stay where they are at home."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from mtcluster.core.fitted import Fitted, Groups, RowResults
from mtcluster.core.record import declared

SOURCE = Path(__file__).parents[1] / "src" / "mtcluster"
MODULES = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
HELPERS = {"core", "_utils", "_sklearn_compat"}
ENGINE_ROOM = {*HELPERS, "engines", "search", "certainty", "estimators"}
# room → rooms that it may import; `mtcluster` itself is the room of public names
ARROWS = {
    "core": set(),
    "_sklearn_compat": set(),
    "_utils": {"core"},
    "engines": HELPERS,
    "search": {"core", "_utils"},
    "certainty": {"core", "search", "_utils"},
    "estimators": {*HELPERS, "engines", "search", "certainty"},
    "metrics": {"core", "_utils"},
    "datasets": {"core", "_utils"},
    "preprocessing": HELPERS,
    "model_selection": {*ENGINE_ROOM, "metrics"},
    "inspection": ENGINE_ROOM,
    "plotting": {*ENGINE_ROOM, "inspection"},
    "interop": {*ENGINE_ROOM, "inspection", "preprocessing"},
    "mtcluster": {
        *ENGINE_ROOM,
        "metrics",
        "datasets",
        "preprocessing",
        "model_selection",
        "inspection",
        "plotting",
        "interop",
    },
}
ARROWS |= {"cli": {*ARROWS}, "__main__": {"cli"}}
ARROWS |= {"app": {*ARROWS} - {"__main__"}}
LAZY = {
    ("estimators", "inspection"),
    ("estimators", "interop"),
    ("model_selection", "plotting"),
    ("certainty", "plotting"),
    ("cli", "app"),
}
KERNEL = {"core/fused.py": {"torch"}, "core/fused_kernel.py": {"triton"}}
OUTER = [name for name in MODULES if name.split("/")[0] in ("inspection", "plotting", "interop", "cli", "app")]


@cache
def tree_of(name):
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def imports_of(name):
    """(absolute name, whether it is imported inside a function or for type checkers) of every import of a module."""
    return list(imports_in(name))


def for_types(node):
    """Is this `if TYPE_CHECKING:`?"""
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports_in(name):
    package = ["mtcluster", *name.split("/")[:-1]]
    inside = {
        id(node)
        for function in ast.walk(tree_of(name))
        if isinstance(function, ast.FunctionDef) or (isinstance(function, ast.If) and for_types(function))
        for node in ast.walk(function)
    }
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((f"{module}.{alias.name}", id(node) in inside) for alias in node.names)


def room_of(name):
    """The room of a module of ours, given as a path or as what was imported."""
    parts = name.split(".")[1:] if name.startswith("mtcluster.") else name.removesuffix(".py").split("/")
    return parts[0] if parts and parts[0] in ARROWS else "mtcluster"


def test_every_module_belongs_to_a_room():
    assert {name for name in MODULES if room_of(name) == "mtcluster"} == {"__init__.py"}


@pytest.mark.parametrize("name", MODULES)
def test_imports_never_go_back(name):
    own = room_of(name)
    for imported, lazy in imports_of(name):
        if imported.split(".")[0] == "mtcluster" and (other := room_of(imported)) != own:
            assert other in ARROWS[own] or (lazy and (own, other) in LAZY), f"{name} imports {imported}"


def test_arrows_have_no_circle():
    seen = []
    while len(seen) < len(ARROWS):
        free = [room for room, others in ARROWS.items() if room not in seen and others <= set(seen)]
        assert free, f"each of {set(ARROWS) - set(seen)} needs another of them"
        seen += free


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("core/")])
def test_the_core_knows_numpy_and_scipy_alone(name):
    """But for an optional kernel, which is written for tensors."""
    roots = {imported.split(".")[0] for imported, _ in imports_of(name)}
    assert roots <= {"numpy", "scipy", "mtcluster", *sys.stdlib_module_names, *KERNEL.get(name, ())}


def test_the_kernel_is_imported_only_when_a_step_is_taken_with_it():
    kernel = "mtcluster.core.fused_kernel"
    asked = {(name, lazy) for name in MODULES for imported, lazy in imports_of(name) if imported.startswith(kernel)}
    assert asked == {("core/fused.py", True)}
    assert all(lazy for imported, lazy in imports_of("core/fused.py") if imported.split(".")[0] == "torch")


@pytest.mark.parametrize("name", [name for name in MODULES if name != "_sklearn_compat.py"])
def test_private_names_of_scikit_learn_have_one_door(name):
    private = [
        imported
        for imported, _ in imports_of(name)
        if imported.startswith("sklearn.")
        and ("externals" in imported or any(part.startswith("_") for part in imported.split(".")))
    ]
    assert private == []


def private_reads(tree):
    """Private attributes of anything but `self`, `cls` and `super()`, also those that are asked for by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name, of = node.attr, node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "setattr"):
            name, of = getattr(node.args[1], "value", None), node.args[0]
        else:
            continue
        own = ast.unparse(of) in ("self", "cls", "super()")
        if isinstance(name, str) and name.startswith("_") and not name.startswith("__") and not own:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_private_reads_are_seen():
    code = "model._x\nself._x\nmodel.x_\nmodel.__class__\ngetattr(model, '_y', None)\ngetattr(model, 'y')"
    assert list(private_reads(ast.parse(code))) == ["line 1: model._x", "line 5: getattr(model, '_y', None)"]


@pytest.mark.parametrize("name", OUTER)
def test_what_reads_a_fitted_model_reads_public_attributes_alone(name):
    assert list(private_reads(tree_of(name))) == []


ARRAYS = {one.name for kind in (Fitted, RowResults, Groups) for one in declared(kind)}
PUBLISHED = {"labels_", "losses_", "weights_", "tasks_", "task_centers_", "cluster_sizes_", "task_relatedness_"}
INNER = [name for name in MODULES if name.split("/")[0] in (*ENGINE_ROOM, "interop")]


def lists_of(tree, names):
    """(line, how many of the names) of each tuple, list, set or dict that is written down."""
    for node in ast.walk(tree):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        yield getattr(node, "lineno", 0), len(names & {item.value for item in items if isinstance(item, ast.Constant)})


def test_a_list_of_fitted_arrays_is_seen():
    assert max(lists_of(ast.parse("x = 1\ny = ('labels', 'losses', 'map')"), ARRAYS)) == (2, 3)


@pytest.mark.parametrize("name", INNER)
def test_fitted_arrays_are_listed_once(name):
    """The declaration of `Fitted` is the list; one function turns it into public attributes."""
    most = 0 if name == "estimators/publish.py" else max(n for _, n in lists_of(tree_of(name), ARRAYS | PUBLISHED))
    assert most < 3, [line for line, n in lists_of(tree_of(name), ARRAYS | PUBLISHED) if n >= 3]


def test_arrays_of_records_are_declared_in_the_core():
    declaring = [name for name in MODULES if any(line.endswith(".record.axes") for line, _ in imports_of(name))]
    assert declaring
    assert all(name.startswith("core/") for name in declaring)


DOOR = ("estimators/input.py", "estimators/matrices.py", "estimators/numbers.py")  # what a user passed is read there


def uses_of_any(tree):
    """Lines of `Any`, but for parameters of public functions and of constructors, and for attributes of a class."""
    free = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
            free |= {id(part) for part in ast.walk(node.args)}
        elif isinstance(node, ast.ClassDef):
            free |= {id(part) for line in node.body if isinstance(line, ast.AnnAssign) for part in ast.walk(line)}
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "Any"]
    return sorted(node.lineno for node in used if id(node) not in free)


def test_any_is_seen():
    code = "def f(x: Any): pass\ndef _f(x: Any): pass\ndef g() -> Any: pass\nclass A:\n  x: Any\ny: Any = 1"
    assert uses_of_any(ast.parse(code)) == [2, 3, 6]


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("estimators/") and name not in DOOR])
def test_any_is_at_the_outer_door_alone(name):
    """Users may pass anything, and it is read at once; what is behind the door has a type."""
    assert uses_of_any(tree_of(name)) == []


def test_an_import_of_the_library_brings_no_extra():
    extras = [
        "pandas",
        "polars",
        "matplotlib",
        "dask",
        "distributed",
        "rich",
        "torch",
        "cupy",
        "anndata",
        "skops",
        "ot",
    ]
    code = (
        "import sys, sklearn.cluster, sklearn.metrics, sklearn.datasets; before = set(sys.modules)\n"  # may bring some
        "import mtcluster, mtcluster.datasets, mtcluster.cli; ours = set(sys.modules) - before\n"
        f"print([extra for extra in {extras} if extra in ours])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_imported_when_they_are_used():
    code = (
        "import sys, mtcluster; print('numpy' in sys.modules, set(mtcluster.__all__) - set(dir(mtcluster)))\n"
        "print([name for name in mtcluster.__all__ if getattr(mtcluster, name).__name__ != name])\n"
        "print(mtcluster.datasets.__name__, hasattr(mtcluster, 'nonsense'))\n"
        "from mtcluster import *; print(SPMTC is mtcluster.estimators.SPMTC)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False set()", "[]", "mtcluster.datasets False", "True"]
