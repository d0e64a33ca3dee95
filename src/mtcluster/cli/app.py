"""`mtcluster app`: a page on this computer for people without Python."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from .console import Console
from .errors import need


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Serve the app until Ctrl-C."""
    for package in ("starlette", "uvicorn"):
        need(package, "app", "mtcluster app")
    need("skops", "files", "mtcluster app")
    from ..app.server import serve

    serve(arguments)
    return {}


def lines(result: dict[str, Any]) -> list[str]:
    """Print nothing more."""
    return []
