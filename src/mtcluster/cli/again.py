"""The rows of a result again, read and prepared from its files as they were when it was written."""

from __future__ import annotations

import hashlib
import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .cleaning import Checking
from .console import Console
from .errors import InputError, input_errors
from .layout import SETTINGS
from .predict import read_like_fit
from .preparing import Prepared, prepare
from .readers import ColumnRoles


def settings_in(folder: Path) -> dict[str, Any]:
    """Read the settings of a result."""
    return dict(json.loads((folder / SETTINGS).read_text(encoding="utf-8")))


def rows_again(folder: Path, contents: dict[str, Any]) -> tuple[Namespace, Prepared]:
    """Read the rows of a result from the files that it names, which must not have changed; also return its options."""
    settings = settings_in(folder)
    options = dict(settings["options"])
    if options.get("out_of_core"):
        raise InputError(f"{folder} was written with --out-of-core: its rows are not held in memory.")
    files = [Path(one["name"]) for one in settings["files"]]
    for path, one in zip(files, settings["files"], strict=True):
        _check_unchanged(path, one["sha256"], folder)
    arguments = Namespace(**options, files=files)
    if "adapted" in settings:
        return arguments, prepared_like_fit(arguments, contents)
    arguments.previous = folder if options.get("previous") else None  # its columns are prepared as they were then
    return arguments, prepare(arguments, Console(quiet=True))


def prepared_like_fit(arguments: Namespace, contents: dict[str, Any]) -> Prepared:
    """Read and prepare the rows of other files as those of a fit."""
    preprocessor = contents["preprocessor"]
    data = read_like_fit(arguments, contents)
    if contents["anonymous"]:
        data = replace(data, ids=np.arange(1, len(data) + 1).astype(str))
    with input_errors(data, new_rows=True):
        X = preprocessor.transform(data.X, tasks=data.tasks)
    roles = ColumnRoles(**contents["roles"])
    roles = replace(roles, encoding=arguments.encoding, sheet=arguments.sheet)  # of the new files
    how: dict[str, Any] = {"anonymous": bool(contents["anonymous"]), "raw": arguments.raw, "prepared_before": True}
    checking = Checking(**contents.get("checking", {}))
    return Prepared(data, roles, preprocessor, X, np.asarray(data.tasks, dtype=str), checking=checking, **how)


def _check_unchanged(path: Path, digest: str | None, folder: Path) -> None:
    """Refuse a file that is gone or has changed."""
    if not path.is_file():
        raise InputError(f"{path}, which {folder} was made from, is not there any more: put it back.")
    with path.open("rb") as file:
        if digest is not None and hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise InputError(f"{path} has changed since {folder} was made from it: fit again.")
