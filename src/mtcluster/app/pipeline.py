"""All that the app uses of the rest of the library: commands, checks, reports, and the rows of a result."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..cli import looking
from ..cli.again import settings_in
from ..cli.cleaning import Checking, cleaned
from ..cli.console import Progress, Tell
from ..cli.counting import flow, labelled, table_of
from ..cli.loading import findings, load_model
from ..cli.preparing import read
from ..cli.recipes import parsed, python_lines
from ..cli.viewing import column, list_columns, rows_of, selection, why
from ..inspection._report.page import environment, render

__all__ = ["column", "flow", "labelled", "python_lines", "rows_of", "selection", "table_of", "why"]


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
