"""`mtcluster report`: write the report of a run again."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ..inspection._report import Report
from . import folder, options
from .console import Console
from .errors import InputError

HELP = "write the report of a fitted model again"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("model", type=Path, metavar="DIR", help="folder written by `mtcluster fit`")
    parser.add_argument("--out", type=Path, metavar="FILE", help="HTML file to write (default: report.html in DIR)")
    options.add_output(parser)


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Write the report."""
    model = folder.load_model(arguments.model)
    path = arguments.out or arguments.model / folder.REPORT
    try:
        page = Report(json.loads(model["findings"])).html
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{arguments.model / folder.MODEL} is damaged: fit again ({type(error).__name__}).") from error
    with folder.new_file(path, force=arguments.force or arguments.out is None) as out:
        out.write_text(page, encoding="utf-8")
    return {"out": str(path)}


def lines(result: dict[str, Any]) -> list[str]:
    """The result as printed."""
    return [f"Written to {result['out']}."]
