"""`mtcluster report`: write the report of a run again."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from ..inspection._report import Report
from . import folder, layout
from .console import Console
from .errors import InputError


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Write the report."""
    model = folder.load_model(arguments.model)
    path = arguments.out or arguments.model / layout.REPORT
    try:
        page = Report(json.loads(model["findings"])).html
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{arguments.model / layout.MODEL} is damaged: fit again ({type(error).__name__}).") from error
    with folder.new_file(path, force=arguments.force or arguments.out is None) as out:
        out.write_text(page, encoding="utf-8")
    return {"out": str(path)}


def lines(result: dict[str, Any]) -> list[str]:
    """The result as printed."""
    return [f"Written to {result['out']}."]
