"""Rows that came from files, how they are to be read, and the names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array

LARGEST_WHOLE = 2**53  # up to it floats tell whole numbers apart
SHOWN = 8  # names in a list
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


class InputError(ValueError):
    """What a user can mend: one sentence that says what, where and how."""


@dataclass(frozen=True)
class Reading:
    """How files are to be read."""

    task: str | None = None  # column with the task of each row
    id: str | None = None  # column with its name
    label: str | None = None  # column with its known class: for scoring alone
    features: tuple[str, ...] = ()  # columns to use; none: all others
    text: tuple[str, ...] = ()  # of them, those that hold texts
    drop: tuple[str, ...] = ()  # columns not to use
    optional: tuple[str, ...] = ()  # "task", "id": those columns may be missing


@dataclass(frozen=True)
class Collection:
    """Rows of all files, in order: a table of columns, or a matrix with named columns."""

    files: tuple[Path, ...]
    values: Any  # pandas data frame, array or CSR matrix
    names: list[str]  # of its columns
    tasks: Array | None  # (n,) strings; None: the file does not say
    ids: Array  # (n,) strings
    classes: Array | None = None  # (n,)

    counts: tuple[int, ...] = ()  # rows of each file
    notes: tuple[str, ...] = ()  # what was done unasked

    @property
    def is_table(self) -> bool:
        """Whether the values are columns of several kinds."""
        return hasattr(self.values, "columns")

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def name(self) -> str:
        """The file, or the first of them and how many more."""
        more = len(self.files) - 1
        return str(self.files[0]) if not more else f"{self.files[0]} and {more} more"

    def place(self, row: int) -> tuple[Path, int]:
        """The file that a row stands in, and its number there, from 1."""
        for path, count in zip(self.files, self.counts, strict=False):
            if row < count:
                return path, row + 1
            row -= count
        return self.files[-1], row + 1


def stem(path: Path) -> str:
    """The name of a file without its endings."""
    name = path.name
    for ending in (*COMPRESSED, path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix):
        name = name.removesuffix(ending) or name
    return name


def kind_of(path: Path) -> str:
    """The ending that says what a file is, without that of its compression."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSED else suffix


def need(package: str, extra: str, why: str) -> None:
    """Refuse to go on without a package."""
    if find_spec(package) is None:
        raise InputError(f"{why} needs {package}: pip install 'mtcluster[{extra}]'.")


def without(how: Reading, option: str) -> Reading:
    """The same without the column of tasks or names."""
    return replace(how, task=None) if option == "task" else replace(how, id=None)


def names_of(path: Path, frame: Any, column: str, why: str | None = None) -> Array:
    """A column as strings; whole numbers are written as such, whatever the file made of them.

    `why` none may be missing; without it, what is missing is None.
    """
    values = frame[column]
    missing = values.isna().to_numpy()
    if missing.any() and why is not None:
        raise InputError(
            f"{path}: column {column!r} is empty in {missing.sum()} row(s), first in row {missing.argmax() + 1}: {why}."
        )
    found = np.full(len(values), None, dtype=object)
    given = values[~missing]
    if given.dtype.kind == "f" and bool(((given == given.round()) & (given.abs() < LARGEST_WHOLE)).all()):
        given = given.astype("int64")
    found[~missing] = given.astype(str).to_numpy(dtype=object)
    return found


def meant(column: str, columns: Sequence[str]) -> str:
    """The column that may be meant, as a question."""
    near = get_close_matches(column, columns, 1)
    return f", do you mean {near[0]!r}?" if near else ""


def columns_of(columns: Sequence[Any]) -> str:
    """The columns of a file, in words."""
    if not columns:
        return "it has none"
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return f"its columns are {', '.join(map(repr, columns[:SHOWN]))}{more}"
