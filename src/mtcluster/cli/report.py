"""`mtcluster report`: write the report of a run again."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..inspection._report import Report
from . import folder, layout
from .console import Console
from .loading import findings, load_model, undamaged


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Write the report."""
    contents = load_model(arguments.model)
    path = arguments.out or arguments.model / layout.REPORT
    with undamaged(arguments.model / layout.MODEL):
        page = Report(findings(contents)).html
    with folder.new_file(path, force=arguments.force or arguments.out is None) as out:
        out.write_text(page, encoding="utf-8")
    return {"out": str(path)}


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    return [f"Written to {result['out']}."]
