"""The folder that `mtcluster fit` writes, completely or not at all."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import numpy as np

from .._utils.files import PREFIX, replacing, replacing_folder, tidy
from ..core.arrays import Array, host
from ..estimators.merging import as_told
from .errors import InputError
from .layout import KNOWN, SETTINGS
from .stopping import check, written
from .streams import say

FORMAT = 2  # of settings.json and model.skops together; 1 was written by mtcluster 0.1
FORMULA = "=+-@"  # signs, also full-width ones, at which cells begin that spreadsheets compute
CHECKSUM = "sha256"  # in settings.json, of everything else in it
SHARED = "(shared)"  # the task of the centres that all tasks share; in more brackets if a task is called so
LINES = 50_000  # rows that are converted to text at a time
PACKAGES = ("mtcluster", "numpy", "scipy", "scikit-learn", "joblib", "pandas", "pyarrow", "skops", "anndata", "dask")


@contextmanager
def new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to fill, which becomes `out` if the block succeeds; a run is replaced only with `force`."""
    tidy_up(out)
    _check_folder(out, force)
    with placing(out, last=SETTINGS) as temporary:
        yield temporary
        _check_folder(out, force, ignored=temporary.name)  # somebody may have written there meanwhile


@contextmanager
def placing(out: Path, last: str = "") -> Iterator[Path]:
    """Give a folder to fill, which becomes `out` if the block succeeds; `last` is moved last where files are moved."""
    with replacing_folder(out, last=last, done=lambda: written(out)) as temporary:
        yield temporary
        check()


@contextmanager
def changed_folder(out: Path, names: Iterable[str]) -> Iterator[Path]:
    """Give a folder to write these files of `out` into; with all others of `out` it becomes `out`, in one step.

    So all of them are the old ones or all are the new ones, whenever the process is stopped.
    """
    names = [name for name in names if (out / name).is_file()]
    with placing(out, last=SETTINGS) as temporary:
        others = shutil.ignore_patterns(f"{PREFIX}*")

        def ignored(path: str, found: list[str]) -> set[str]:
            return others(path, found) | (set(names) if Path(path) == out else set())

        shutil.copytree(out, temporary, symlinks=True, ignore=ignored, copy_function=_link, dirs_exist_ok=True)
        yield temporary
        for name in names:
            shutil.copymode(out / name, temporary / name)


def _link(source: str, target: str) -> None:
    """Give a file a second name, or copy it where the file system has no such names."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Give a file to write, which becomes `path` if the block succeeds; a file is replaced only with `force`."""
    if path.is_dir():
        raise InputError(f"--out {path} is a folder: name a file.")
    if path.exists() and not path.is_file():
        raise InputError(f"--out {path} is not a regular file: name another.")
    if path.exists() and not force:
        raise InputError(f"--out {path} already exists: add --force to replace it, or name another file.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out {path}: the folder {path.parent} does not exist.")
    tidy_up(path)
    with replacing(path, done=lambda: written(path)) as temporary:
        yield temporary
        check()


def tidy_up(out: Path) -> None:
    """Remove what stopped runs left, and say so."""
    for line in tidy(out):
        say(line, sys.stderr)


def _check_folder(out: Path, force: bool, ignored: str = "") -> None:
    if out.is_symlink() and not out.exists():
        raise InputError(f"--out {out} is a broken link: name a folder.")
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder.")
    there = sorted(item.name for item in out.iterdir() if item.name != ignored) if out.exists() else []
    foreign = [name for name in there if name not in KNOWN]
    if foreign:
        raise InputError(f"--out {out} contains {foreign[0]!r}, which mtcluster did not write: name another folder.")
    if there and not force:
        raise InputError(f"--out {out} already contains a run: add --force to replace it, or name another folder.")


NAME = "name"  # the column of the names of clusters


def write_csv(path: Path, columns: dict[str, Any], *, raw: bool = False) -> None:
    """Write columns by name, each with one value per row; `raw`: also texts that a spreadsheet would compute."""
    arrays = [np.asarray(values) for values in columns.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns if raw else [no_formula(name) for name in columns])
        for first in range(0, len(arrays[0]), LINES):
            writer.writerows(zip(*(_cells(array[first : first + LINES], raw) for array in arrays), strict=True))


def _cells(values: Array, raw: bool) -> list[Any]:
    plain = raw or values.dtype.kind in "iufb"
    return values.tolist() if plain else [no_formula(cell) for cell in values.tolist()]


def no_formula(cell: Any) -> Any:
    """Write a text that begins like a formula of a spreadsheet, with an apostrophe before it; anything else as it is.

    Examples
    --------
    >>> no_formula("=1+2"), no_formula("-5"), no_formula(" -"), no_formula("a=b"), no_formula(7)
    ("'=1+2", '-5', "' -", 'a=b', 7)

    A semicolon ends a cell where spreadsheets take it for the separator:

    >>> no_formula("a;=1+2")
    "a;'=1+2"
    """
    if not isinstance(cell, str):
        return cell
    if ";" in cell:
        return ";".join(map(no_formula, cell.split(";")))
    if cell[:1].isalnum() or not _begins_formula(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _begins_formula(cell: str) -> bool:
    """Tell whether the first character that is seen is a sign of a formula; a tab or a new line before it is enough."""
    unseen = next((i for i, c in enumerate(cell) if not c.isspace() and category(c) not in ("Cc", "Cf")), len(cell))
    return cell[:1] in ("\t", "\r", "\n") or normalize("NFKC", cell[unseen : unseen + 1]) in tuple(FORMULA)


def label_columns(
    ids: Array, tasks: Array, labels: Array, belonging: tuple[str, Array], scores: dict[str, Array],
    names: dict[int, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write the columns of labels.csv, with numbers rounded to 6 digits; `belonging` is that of `belonging_of`.

    `names` of clusters have a column if there are any.
    """
    name, values = belonging
    rounded = values.astype(np.int8) if np.isin(values, (0, 1)).all() else values.round(6)
    return {
        "id": ids,
        "task": tasks,
        "cluster": labels,
        **name_column(labels, names),
        **{f"{name}_{j}": column for j, column in enumerate(rounded.T)},
        **{name: np.array([float(f"{value:.6g}") for value in values.tolist()]) for name, values in scores.items()},
    }


def name_column(labels: Any, names: dict[int, str] | None) -> dict[str, Any]:
    """Make the column of the names of clusters, if there are any; others have an empty one."""
    return {NAME: np.array([names.get(int(j), "") for j in labels], dtype=object)} if names else {}


def names_of(model: Any) -> dict[int, str]:
    """Return the names of the clusters of any model."""
    return dict(getattr(model, "cluster_names_", {}))


def rename_rows(path: Path, out: Path, names: dict[int, str]) -> None:
    """Write a CSV file of a run again with other names of clusters."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    kept = [i for i, column in enumerate(head) if column != NAME]
    at = head.index("cluster")
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for i, row in enumerate([head, *rows]):
            name = NAME if i == 0 else no_formula(names.get(int(row[at]), ""))
            cells = [row[j] for j in kept]
            where = kept.index(at) + 1
            writer.writerow([*cells[:where], *([name] if names else []), *cells[where:]])


def belonging_of(model: Any, X: Any, tasks: Array) -> tuple[str, Array]:
    """Probabilities (n, c) of the clusters of rows that have one each, or memberships, with the word for them."""
    one_cluster = model.fitted_.model.membership.diagonal
    return "probability" if one_cluster else "membership", host(model.predict_proba(X, tasks=tasks))


def center_columns(model: Any, names: list[str], in_units: Callable[..., Array], least: int = 0) -> dict[str, Any]:
    """Make the columns of centers.csv: centres of each task, then those that all tasks share, in the units of the data.

    A task has no value (NaN) in a feature that it lacks; centres of fewer than `least` rows are left out, and so is the
    number of these rows.
    """
    fitted = as_told(model.fitted_)
    (m, c), tasks, Ms = fitted.sizes.shape, [str(task) for task in fitted.tasks.tolist()], fitted.centers.Ms
    own = [np.where(has, in_units(M, task), np.nan) for M, task, has in zip(Ms, tasks, fitted.has, strict=True)]
    centers = np.concatenate([*own, in_units(host(model.cluster_centers_))])
    shared = SHARED
    while shared in tasks:
        shared = f"({shared})"
    total = fitted.sizes.sum(axis=0)
    sizes = np.concatenate([fitted.sizes.ravel(), total])
    few = (sizes > 0) & (sizes < least)
    hidden = few | np.tile(total < least, m + 1)  # a task without rows has the shared centre
    centers[hidden] = np.nan
    columns: dict[str, Any] = {
        "task": np.repeat([*tasks, shared], c),
        "cluster": np.tile(np.arange(c), m + 1),
        **name_column(np.tile(np.arange(c), m + 1), names_of(model)),
        "size": [None if one else round(size) for one, size in zip(few.tolist(), sizes.tolist(), strict=True)],
    }
    for name, values in zip(names, centers.T, strict=True):
        while name in columns:
            name += " (feature)"
        columns[name] = values
    return columns


def write_settings(out: Path, settings: dict[str, Any]) -> None:
    """Write settings.json, the last file of a folder, with its checksum."""
    read = json.loads(json.dumps(settings, allow_nan=False))  # keys are texts in the file
    text = json.dumps(read | {CHECKSUM: checksum(read)}, indent=2, ensure_ascii=False)
    (out / SETTINGS).write_text(text + "\n", encoding="utf-8")


def checksum(settings: dict[str, Any]) -> str:
    """Compute the SHA-256 of settings, however they are laid out in the file."""
    plain = {name: value for name, value in settings.items() if name != CHECKSUM}
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
