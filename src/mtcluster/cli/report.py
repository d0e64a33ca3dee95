"""`mtcluster report`: the page of a run, written anew."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ..inspection._report import Report
from . import folder, options
from .console import Console
from .readers import InputError

HELP = "write the report of a fitted model anew"


def add_arguments(parser: ArgumentParser) -> None:
    """What can be asked for."""
    parser.add_argument("model", type=Path, metavar="DIR", help="folder that `mtcluster fit` made")
    parser.add_argument("--out", type=Path, metavar="FILE", help="HTML file to write (default: report.html in DIR)")
    options.add_saying(parser)


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Write the page of a run anew."""
    _, kept = folder.load_run(arguments.model)
    path = arguments.out or arguments.model / folder.REPORT
    try:
        page = Report(json.loads(kept["findings"])).html
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{arguments.model / folder.MODEL} is damaged: fit again ({type(error).__name__}).") from error
    with folder.new_file(path, force=arguments.force or arguments.out is None) as out:
        out.write_text(page, encoding="utf-8")
    return {"out": str(path)}


def lines(told: dict[str, Any]) -> list[str]:
    """The result in words."""
    return [f"Written to {told['out']}."]
