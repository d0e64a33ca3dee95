"""The model of a results folder: read, and tried before anything relies on it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .. import __version__
from ..preprocessing import TablePreprocessor
from ..preprocessing._soundness import try_out
from .cleaning import Checking
from .errors import InputError, need
from .folder import CHECKSUM, FORMAT, checksum
from .layout import KNOWN, MODEL, SETTINGS
from .readers import ColumnRoles

CONTENTS: dict[str, type] = {
    "model": BaseEstimator, "preprocessor": TablePreprocessor, "columns": list, "roles": dict, "checking": dict,
    "anonymous": bool, "findings": str,
}  # fmt: skip
KINDS = {type(None): (str, int), tuple: (list, tuple, type(None)), int: (int,), bool: (bool,)}  # by that of a default


def load_model(folder: Path) -> dict[str, Any]:
    """Read the contents of model.skops, if this version of mtcluster wrote it; nothing in it is executed."""
    _check_settings(folder)
    need("skops", "files", "reading a model")
    from ..interop._persistence import is_sealed, load

    path = folder / MODEL
    if not path.is_file():
        raise InputError(f"{folder} is incomplete, as {MODEL} is missing: fit again.")
    try:
        contents = load(path)
    except ValueError as error:
        raise InputError(f"This model file is damaged: {error}" if "damaged" in str(error) else str(error)) from error
    with undamaged(path):
        if not is_sealed(path.read_bytes()):
            raise ValueError("it does not match its checksum")
        _check_parts(contents)
        _try(contents)
    return contents


@contextmanager
def undamaged(path: Path) -> Iterator[None]:
    """Whatever goes wrong while only contents of a model file are used is told as damage to the file."""
    try:
        yield
    except (InputError, MemoryError, OSError):
        raise
    except Exception as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        said = f"{kind}{' '.join(str(error).split())}"[:200].rstrip(".")
        raise InputError(f"This model file is damaged: {path} ({said}): fit again.") from error


def findings(contents: dict[str, Any]) -> dict[str, Any]:
    """Tell what the report of a run says, as it was when the run was written."""
    found = json.loads(contents["findings"])
    if not isinstance(found, dict):
        raise ValueError("the findings are not a dict")
    return found


def _check_settings(folder: Path) -> None:
    """Refuse a folder that another version of mtcluster wrote."""
    if not folder.exists():
        raise InputError(f"{folder} does not exist.")
    if folder.is_file() and folder.name in KNOWN:
        raise InputError(f"{folder} is a file of a run: give its folder, {folder.parent}.")
    path = folder / SETTINGS
    if not path.is_file():
        raise InputError(f"{folder} was not written by `mtcluster fit`, as it has no {SETTINGS}.")
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        writer, written = str(settings["versions"]["mtcluster"]), settings["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({type(error).__name__}: {str(error)[:80]}): fit again.") from error
    if written != FORMAT or writer.split(".")[:2] != __version__.split(".")[:2]:
        raise InputError(
            f"{folder} was written by mtcluster {writer}: fit again with this version ({__version__}), or install "
            f"mtcluster {writer}."
        )
    if settings.get(CHECKSUM) != checksum(settings):
        raise InputError(f"{path} is damaged: it does not match its checksum. Fit again.")


def _check_parts(contents: Any) -> None:
    """Raise an error if a part is missing, or of another kind."""
    if not isinstance(contents, dict) or not isinstance(contents.get("format"), int) or contents["format"] != FORMAT:
        raise ValueError("it is of another version")
    for name, kind in CONTENTS.items():
        if not isinstance(contents.get(name), kind):
            raise ValueError(f"{name} is missing, or no {kind.__name__}")
    for name, cls in (("roles", ColumnRoles), ("checking", Checking)):
        defaults = {field.name: field.default for field in fields(cls)}
        if set(contents[name]) != set(defaults):
            raise ValueError(f"{name} lacks a part")
        for option, default in defaults.items():
            value = contents[name][option]
            if type(value) not in (type(default), *KINDS[type(default)]):
                raise ValueError(f"{option} in {name} is {str(value)[:20]!r}")
            if isinstance(value, list | tuple) and not all(isinstance(one, str) for one in value):
                raise ValueError(f"{option} in {name} holds something else than texts")


def _try(contents: dict[str, Any]) -> None:
    """Prepare and label a row that is made up from what the file says about its columns."""
    model, preprocessor = contents["model"], contents["preprocessor"]
    task = [str(task) for task in getattr(model, "tasks_", np.array(["a"])).tolist()][:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = try_out(preprocessor, contents["columns"], task)
        if X is not None and hasattr(model, "predict"):
            model.predict(X, tasks=task)
