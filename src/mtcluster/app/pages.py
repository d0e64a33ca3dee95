"""The pages of the app but for results, which are those of the report: made from templates, with everything escaped."""

from __future__ import annotations

import shlex
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import Request

from ..cli.layout import CENTERS, MODEL, RELATIONS, REPORT, ROWS_TABLE
from ..cli.readers import READERS
from .workspace import DataSet, Run, Workspace

FILES = {"report": REPORT, "model": MODEL, "labels": ROWS_TABLE, "centers": CENTERS, "relations": RELATIONS}
STATIC = {"app.css": "text/css", "common.js": "text/javascript", "home.js": "text/javascript",
          "data.js": "text/javascript", "result.js": "text/javascript"}  # fmt: skip
REPORT_FILES = {"report.css": ("style.css", "text/css"), "report.js": ("page.js", "text/javascript")}


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("mtcluster.app")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.globals["suffixes"] = ",".join((*READERS, ".gz", ".bz2", ".xz", ".zst"))
    return found


def _page(name: str, request: Request, **told: Any) -> str:
    return str(_environment().get_template(name).render(root=f"{request.scope['root_path']}/", **told))


def home(space: Workspace, request: Request) -> str:
    """Show the data sets and the runs."""
    return _page("home.html", request, data=list(space.data.values())[::-1], runs=list(space.runs.values())[::-1])


def runs(space: Workspace, request: Request) -> str:
    """Show the list of runs."""
    return _page("runs.html", request, runs=list(space.runs.values())[::-1])


def data(one: DataSet, look: dict[str, Any], settings: dict[str, Any], request: Request) -> str:
    """Show a data set, and the form of a fit."""
    settings = {"clusters": "", "refits": "4", "seed": "0", "drop": [], "text": [], "switches": []} | settings
    return _page("data.html", request, data=one, look=look, settings=settings)


def fault(one: DataSet, error: str, request: Request) -> str:
    """Say why a data set cannot be read."""
    return _page("fault.html", request, data=one, error=error)


def findings(one: DataSet, found: dict[str, Any], settings: dict[str, Any], request: Request) -> str:
    """Show what the check found, and what is done otherwise by switches that are on."""
    on = [one.offered[name] for name in settings.get("switches") or () if name in one.offered]
    left = [each for each in found["findings"] if each["option"] not in {other["option"] for other in on}]
    return _page("findings.html", request, found=found, left=left, on=on)


def waiting(run: Run, request: Request) -> str:
    """Show how far a run is."""
    return _page("waiting.html", request, run=run)


def labelled(run: Run, found: dict[str, Any], request: Request) -> str:
    """Show the labels of new rows."""
    return _page("labelled.html", request, run=run, found=found, command=command_lines(run))


def why(found: dict[str, Any], request: Request) -> str:
    """Tell why a row is where it is."""
    largest = max((abs(one["speaks"]) for one in found["features"]), default=1.0)
    return _page("why.html", request, row=found, largest=largest)


def compared(a: Run, b: Run, found: dict[str, Any], request: Request) -> str:
    """Show the flow of rows between two results."""
    tops, bands = _bands(found["flows"])
    return _page("compare.html", request, a=a, b=b, found=found, bands=bands, tops=tops)


def _bands(flows: list[list[int]]) -> tuple[list[dict[int, tuple[float, float]]], list[dict[str, Any]]]:
    """Lay out flows between two columns of bars, in 1000 units of height with 12 between bars."""
    total = max(sum(n for _, _, n in flows), 1)
    tops: list[dict[int, tuple[float, float]]] = []
    for side in (0, 1):
        sizes: dict[int, int] = {}
        for one in sorted(flows, key=lambda one: one[side]):
            sizes[one[side]] = sizes.get(one[side], 0) + one[2]
        room, at = 1000 - 12 * (len(sizes) - 1), 0.0
        tops.append({})
        for j, n in sizes.items():
            tops[side][j] = (at, room * n / total)
            at += room * n / total + 12
    filled = [{j: top for j, (top, _) in side.items()} for side in tops]
    bands, totals = [], [{j: max(sum(f[2] for f in flows if f[side] == j), 1) for j in tops[side]} for side in (0, 1)]
    for i, j, n in flows:
        heights = [n * tops[side][k][1] / totals[side][k] for side, k in ((0, i), (1, j))]
        starts = [filled[0][i], filled[1][j]]
        filled[0][i] += heights[0]
        filled[1][j] += heights[1]
        bands.append({"from": i, "to": j, "n": n, "left": starts[0], "right": starts[1], "heights": heights})
    return tops, bands


def told(run: Run, space: Workspace, lines: str, request: Request) -> dict[str, Any]:
    """Tell what the page of a result shows beside its report."""
    others = [one for one in space.runs.values() if one.status == "done" and one.kind != "predict" and one is not run]
    return {
        "root": f"{request.scope['root_path']}/",
        "run": {"number": run.number, "kind": run.kind, "data": run.data, "settings": run.settings},
        "others": [{"number": one.number, "title": one.summary.get("title", "")} for one in others],
        "tables": (Path(space.result(run)) / "tables").is_dir(),
        "command": command_lines(run),
        "python": lines,
        "suffixes": ",".join(READERS),
    }


def command_lines(run: Run) -> str:
    """Write the commands that make a result."""
    return "\n".join(shlex.join(["mtcluster", *step]) for step in run.shown)


def static(name: str) -> tuple[str | None, str]:
    """Find a script or a style sheet; None if there is none of this name."""
    if name in REPORT_FILES:
        from ..inspection._report.page import environment

        template, kind = REPORT_FILES[name]
        return str(environment().get_template(template).render()), kind
    return (_read(name), STATIC[name]) if name in STATIC else (None, "")


@cache
def _read(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


@cache
def example() -> bytes:
    """Make the example: the wines of scikit-learn as if three laboratories had measured them, each with an offset."""
    import numpy as np
    from sklearn.datasets import load_wine

    known = load_wine()
    rng = np.random.default_rng(0)
    sites = rng.integers(0, 3, len(known.data))
    X = known.data + rng.normal(0, 0.5, (3, known.data.shape[1]))[sites] * known.data.std(axis=0)
    lines = [",".join(["wine", "laboratory", *(name.replace("/", " per ") for name in known.feature_names)])]
    named = ("Bordeaux", "Freiburg", "Torino")
    for i, (k, row) in enumerate(zip(sites.tolist(), X.tolist(), strict=True)):
        lines.append(",".join([f"wine-{i + 1}", named[k], *(f"{value:.4g}" for value in row)]))
    return "\n".join([*lines, ""]).encode()
