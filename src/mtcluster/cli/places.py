"""Where output may go: never over what a command reads, nor over a part of a run."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from .errors import InputError
from .layout import KNOWN, REPORT, SETTINGS

FOLDERS = ("fit", "adapt")  # commands whose output is a folder


def check_out(arguments: Namespace) -> None:
    """Refuse an --out that would replace an input, whatever it is called there, or a file of a run."""
    out: Path | None = getattr(arguments, "out", None)
    if out is None or not out.exists():
        return
    for file in getattr(arguments, "files", None) or []:
        if file.exists() and os.path.samefile(out, file):
            raise InputError(f"--out {out} is a file that is read: name another, as it would be lost.")
        if out.is_dir() and out.resolve() in file.resolve().parents:
            raise InputError(f"--out {out} contains {file}, which is read: name another folder, as it would be lost.")
    own = arguments.command == "report" and out.name == REPORT
    if arguments.command not in FOLDERS and out.is_file() and not own and _in_run(out.resolve()):
        raise InputError(f"--out {out} is a file of a run, which would be damaged: name another file.")


def _in_run(path: Path) -> bool:
    return path.name in KNOWN and (path.parent / SETTINGS).is_file()
