"""The folder that a run leaves: all of it or nothing."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..core.arrays import Array
from ..preprocessing._table import TablePreprocessor
from .readers import InputError, Reading, need

LABELS, CENTERS, MODEL, SETTINGS, REPORT = "labels.csv", "centers.csv", "model.skops", "settings.json", "report.html"
FILES = (LABELS, CENTERS, MODEL, SETTINGS, REPORT)
FORMAT = 1  # of settings.json and model.skops together
HIDDEN = ".mtcluster-"  # how what is not finished is called
LINES = 50_000  # rows that are made text of at a time
PACKAGES = ("mtcluster", "numpy", "scipy", "scikit-learn", "joblib", "pandas", "pyarrow", "skops", "anndata", "dask")


@contextmanager
def new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """A folder to write into, which becomes `out` at the end; if anything fails, nothing is left and nothing lost."""
    _check_free(out, force)
    out = Path(os.path.realpath(out))
    mounted = out.is_dir() and os.path.ismount(out)  # such a folder cannot be moved, only filled
    home, made = out if mounted else out.parent, []
    while not home.exists():
        made.append(home)
        home = home.parent
    beside = None
    try:
        with _named(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(prefix=HIDDEN, dir=out if mounted else out.parent))
        yield beside
        beside.chmod(0o777 & ~_umask())
        with uninterrupted():
            _check_free(out, force, but=beside.name)
            (_fill if mounted else _move)(beside, out)
        made = []
    finally:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A file to write that takes its place at the end, or vanishes."""
    if path.is_dir():
        raise InputError(f"--out {path} is a folder: name a file.")
    if path.exists() and not path.is_file():
        raise InputError(f"--out {path} is no plain file: name another.")
    if path.exists() and not force:
        raise InputError(f"--out {path} is there already: add --force to replace it, or name another file.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out {path}: there is no folder {path.parent}.")
    path = Path(os.path.realpath(path))
    with _named(path):
        handle, name = tempfile.mkstemp(prefix=HIDDEN, dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C and a batch system's stop wait for a moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stops = (signal.SIGINT, signal.SIGTERM)
    waiting: list[int] = []
    before = [signal.signal(stop, lambda number, _: waiting.append(number)) for stop in stops]
    try:
        yield
    finally:
        for stop, handler in zip(stops, before, strict=True):
            signal.signal(stop, handler)
        for number in waiting:
            signal.raise_signal(number)


@contextmanager
def _named(out: Path) -> Iterator[None]:
    """Where one may not write, said by the name that the user knows."""
    try:
        yield
    except PermissionError as error:
        raise InputError(f"--out {out}: {error.strerror} in {out.parent}.") from error


def _check_free(out: Path, force: bool, but: str = "") -> None:
    if out.is_symlink() and not out.exists():
        raise InputError(f"--out {out} is a link to nothing: name a folder.")
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder.")
    there = sorted(item.name for item in out.iterdir() if item.name != but) if out.exists() else []
    strange = [name for name in there if name not in FILES]
    if strange:
        raise InputError(f"--out {out} holds {strange[0]!r}, which is not of a run of mtcluster: name another folder.")
    if there and not force:
        raise InputError(f"--out {out} holds a run already: add --force to replace it, or name another folder.")


def _move(beside: Path, out: Path) -> None:
    if not out.exists():
        beside.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=HIDDEN, dir=out.parent))
    try:
        out.replace(old)
        beside.rename(out)
    except BaseException:
        if not out.exists():
            old.replace(out)
        else:
            old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)


def _fill(beside: Path, out: Path) -> None:
    for name in sorted(FILES, key=lambda name: name == SETTINGS):  # what makes it a run comes last
        (beside / name).replace(out / name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_csv(path: Path, columns: dict[str, Any]) -> None:
    """Columns by name, each with one entry a row."""
    arrays = [np.asarray(values) for values in columns.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for first in range(0, len(arrays[0]), LINES):
            writer.writerows(zip(*(array[first : first + LINES].tolist() for array in arrays), strict=True))


def row_columns(ids: Array, tasks: Array, labels: Array, memberships: Array, extra: dict[str, Array]) -> dict[str, Any]:
    """The columns of labels.csv, numbers no longer than they need to be."""
    plain = memberships.astype(np.int8) if np.isin(memberships, (0, 1)).all() else memberships.round(6)
    parts = {f"membership_{j}": plain[:, j] for j in range(memberships.shape[1])}
    return {"id": ids, "task": tasks, "cluster": labels, **parts} | {
        name: np.array([float(f"{value:.6g}") for value in values.tolist()]) for name, values in extra.items()
    }


def center_columns(model: Any, tasks: list[str], names: list[str], original: Any) -> dict[str, Any]:
    """The columns of centers.csv: centres of every task, then those that all tasks share, in the units of the data."""
    m, c, _ = model.task_centers_.shape
    shared = model.shared_centers_ @ model.subspace_.T
    own = [original(M, task) for M, task in zip(model.task_centers_, tasks, strict=True)]
    centers = np.concatenate([*own, original(shared)])
    sizes = np.concatenate([model.cluster_sizes_.ravel(), model.cluster_sizes_.sum(axis=0)])
    columns: dict[str, Any] = {
        "task": [*(task for task in tasks for _ in range(c)), *("(shared)",) * c],
        "cluster": list(range(c)) * (m + 1),
        "size": sizes.round().astype(int),
    }
    for j, name in enumerate(names):
        while name in columns:
            name += " (feature)"
        columns[name] = centers[:, j]
    return columns


def versions() -> dict[str, str]:
    """Versions of what may matter to a result."""
    import platform

    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def write_settings(path: Path, settings: dict[str, Any]) -> None:
    """Everything that is needed to repeat a run, as JSON."""
    path.write_text(json.dumps(settings, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_settings(folder: Path) -> dict[str, Any]:
    """The settings of a run, if this version can read what it left."""
    if not folder.exists():
        raise InputError(f"{folder}: there is no such folder.")
    path = folder / SETTINGS
    if not path.is_file():
        raise InputError(
            f"{folder} is not the folder of a run: it has no {SETTINGS}; `mtcluster fit ... --out` makes one."
        )
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        made, written = str(settings["versions"]["mtcluster"]), settings["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({type(error).__name__}: {str(error)[:80]}): fit again.") from error
    here = version("mtcluster")
    if written != FORMAT or made.split(".")[:2] != here.split(".")[:2]:
        raise InputError(f"{folder} was made by mtcluster {made}, and this is {here}: fit again, or install {made}.")
    return settings


def load_run(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and model of a run; nothing in it is executed."""
    settings = read_settings(folder)
    need("skops", "files", "reading a model")
    from ..interop._persistence import load

    path = folder / MODEL
    if not path.is_file():
        raise InputError(f"{folder} is not complete: {MODEL} is missing; fit again.")
    try:
        kept = load(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    parts = {"model": BaseEstimator, "preparation": TablePreprocessor, "reading": dict, "findings": str}
    sound = isinstance(kept, dict) and kept.get("format") == FORMAT
    if not sound or not all(isinstance(kept.get(name), kind) for name, kind in parts.items()):
        raise InputError(f"{path} is damaged, or no model of this version: fit again.")
    if set(kept["reading"]) != {field.name for field in fields(Reading)}:
        raise InputError(f"{path} is damaged: it does not say how files are read; fit again.")
    return settings, kept
