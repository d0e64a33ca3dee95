"""All that the app uses of the rest of the library: commands, checks, reports, and the rows of a result."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..cli import looking
from ..cli.again import rows_again, settings_in
from ..cli.cleaning import Checking, cleaned
from ..cli.console import Progress, Tell
from ..cli.counting import flow, labelled, table_of
from ..cli.errors import InputError
from ..cli.layout import ROWS_TABLE
from ..cli.loading import findings, load_model
from ..cli.preparing import Prepared, read
from ..cli.recipes import parsed, python_lines
from ..cli.speaking import speaking
from ..core.arrays import Array
from ..inspection._report.axes import TOLD_APART, _axis
from ..inspection._report.page import environment, render

__all__ = ["flow", "labelled", "python_lines"]

LEAST_SHARE = 0.0005  # probabilities below it are not told


def command(argv: Sequence[str], tell: Tell) -> dict[str, Any]:
    """Run a command of the command line."""
    arguments = parsed(argv)
    module = import_module(f"mtcluster.cli.{arguments.command}")
    return dict(module.run(arguments, Progress(tell)))


# ------------------------------------------------------------------------------------------------ files before a fit
def look(files: Sequence[str]) -> dict[str, Any]:
    """See what is in files."""
    return looking.look(parsed(["check", *files]))


def check(argv: Sequence[str]) -> dict[str, Any]:
    """Tell what `mtcluster check` finds with these options; each finding has the words of its option."""
    arguments = parsed(["check", *argv])
    roles, data = read(arguments)
    left, found = cleaned(data, roles, Checking.of(arguments), impute=arguments.impute, scale=arguments.scale)
    tasks = np.array([str(task) for task in (left.tasks if left.tasks is not None else ()) if task is not None])
    names, sizes = np.unique(tasks, return_counts=True)
    told = [asdict(one) | {"words": shlex.split(one.option)} for one in found]
    counts = dict(zip(names.tolist(), sizes.tolist(), strict=True))
    return {"n_rows": len(left), "tasks": counts, "columns": left.names, "findings": told}


# ------------------------------------------------------------------------------------------------ pages of results
def page(folder: str, told: dict[str, Any]) -> str:
    """Write the page of a result: the report's own sections, with what the app adds to them."""
    summary = findings(load_model(Path(folder)))
    sizes = [cluster["rows"] for cluster in summary["features"]["clusters"]]
    template = app_environment().get_template("app/result.html")
    html = render(summary, template, counts=sizes, columns=list_columns(folder), **told)
    return html.replace(' style="', ' data-style="')  # only templates write it; the page's script applies it


@lru_cache
def app_environment() -> Any:
    """Load the templates of the app beside those of the report."""
    from jinja2 import ChoiceLoader, PackageLoader, PrefixLoader

    known = environment()
    return known.overlay(loader=ChoiceLoader([PrefixLoader({"app": PackageLoader("mtcluster.app")}), known.loader]))


def summary_of(folder: str) -> dict[str, Any]:
    """Tell in a few words what a result is."""
    settings, found = settings_in(Path(folder)), findings(load_model(Path(folder)))
    keys = ("title", "n_clusters", "n_rows", "n_tasks", "method")
    return {key: found[key] for key in keys} | {"verdict": settings.get("verdict"), "date": settings["date"]}


# ------------------------------------------------------------------------------------------------ rows of a result
@lru_cache(maxsize=1)
def _rows(folder: str, changed: float) -> tuple[Prepared, Any]:
    contents = load_model(Path(folder))
    return rows_again(Path(folder), contents)[1], contents["model"]


def rows_of(folder: str) -> tuple[Prepared, Any]:
    """Read the rows of a result and its model; those that were read last are kept."""
    return _rows(folder, Path(folder, "settings.json").stat().st_mtime)


def list_columns(folder: str) -> list[str]:
    """List the columns by which the map can be coloured."""
    settings = settings_in(Path(folder))
    return [] if isinstance(settings["columns"], str) or settings["options"].get("anonymous") else settings["columns"]


def column(folder: str, name: str, at: list[int] | None) -> dict[str, Any]:
    """Make a colour for the map of a column, as the report does; `at` are the rows of the map, None for all."""
    rows, _ = rows_of(folder)
    if name not in rows.data.names:
        raise InputError(f"There is no column {name!r}; {len(rows.data.names)} others are there.")
    values: Any = rows.data.X[name] if rows.data.is_table else _dense(rows.data.X[:, rows.data.names.index(name)])
    if rows.data.is_table and values.dtype.kind not in "iuf":
        texts = values.astype(object).where(values.notna(), None).to_numpy()
        levels = sorted({str(text) for text in texts if text is not None})
        if len(levels) > TOLD_APART:
            raise InputError(f"{name!r} has {len(levels)} values; {TOLD_APART} can be told apart by colour.")
        codes = [None if text is None else levels.index(str(text)) for text in texts]
        return {
            "name": name,
            "kind": "category",
            "levels": levels,
            "at": codes if at is None else [codes[i] for i in at],
        }
    numbers = np.asarray(values, dtype=float)
    return _axis(name, numbers if at is None else numbers[at], "number")


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values).ravel()


def selection(folder: str, numbers: list[int]) -> str:
    """Write some rows of a result as CSV: what labels.csv says of them, and their columns."""
    rows, _ = rows_of(folder)
    labels = table_of(Path(folder, ROWS_TABLE))
    kept = [i for i in numbers if 0 <= i < len(labels)]
    from ..cli.folder import no_formula

    out, X = io.StringIO(), rows.data.X
    names = rows.data.names if rows.data.is_table else []
    writer = csv.writer(out, lineterminator="\n")
    told = [name for name in ("id", "task", "cluster", "name") if labels and name in labels[0]]
    writer.writerow([*told, *map(no_formula, names)])
    for i in kept:
        cells = X.iloc[i].tolist() if names else []
        writer.writerow([*(labels[i][name] for name in told), *(no_formula(c) if c == c else "" for c in cells)])
    return out.getvalue()


def why(folder: str, wanted: str) -> dict[str, Any]:
    """Tell why a row is where it is: how probable its clusters are, and which features speak for the first of them."""
    labels = table_of(Path(folder, ROWS_TABLE))
    at = next((i for i, row in enumerate(labels) if row["id"] == wanted), None)
    if at is None:
        known = labels[0]["id"] if labels else ""
        raise InputError(f"No row has the id {wanted!r}; ids look like {known!r}.")
    rows, model = rows_of(folder)
    label = labels[at]
    shares = sorted(
        ((int(key.rpartition("_")[2]), float(value)) for key, value in label.items() if _is_share(key)),
        key=lambda one: -one[1],
    )
    own = int(label["cluster"])
    other = next((j for j, _ in shares if j != own), own)
    told = {key: label[key] for key in ("id", "task", "confidence", "easiness", "outlier_score") if key in label}
    features = speaking(rows, model, at, own if own >= 0 else shares[0][0], other)
    shares = [one for one in shares if one[1] > LEAST_SHARE][:4]
    return told | {"cluster": own, "other": other, "shares": shares, "features": features, "row": at}


def _is_share(name: str) -> bool:
    word, _, number = name.rpartition("_")
    return word in ("probability", "membership") and number.isdecimal()
