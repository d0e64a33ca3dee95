"""What every reader takes and returns: the roles of columns, and the rows of files."""

from __future__ import annotations

import bz2
import gzip
import lzma
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from ..._utils.text import listed
from ...core.arrays import Array
from ...preprocessing import Finding
from ...preprocessing._cells import as_single, may_be_odd
from ..errors import InputError

LARGEST_WHOLE = 2**53  # whole numbers below it are exact as floats
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
# Compressions that Python itself reads and writes.
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DELIMITED = (".csv", ".tsv", ".tab", ".txt")
ROLES = ("task", "id", "label")
LISTS = ("features", "text", "drop")


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of the files are used for, and how files are read."""

    task: str | None = None  # column with the task of each row
    id: str | None = None  # column with the name of each row
    label: str | None = None  # column with the known class of each row, for scoring only
    features: tuple[str, ...] = ()  # columns to use; if empty, all others
    text: tuple[str, ...] = ()  # columns that hold texts
    drop: tuple[str, ...] = ()  # columns to leave out
    optional: tuple[str, ...] = ()  # of all these, those whose columns a file may lack
    encoding: str | None = None  # of text files; None: UTF-8
    sheet: str | None = None  # of Excel files: a name, "all", or None for the first
    skip: int | None = None  # lines above the header of text and Excel files; None: those that are found
    points: bool = False  # whether points may stand between the thousands of text files
    max_bytes: int | None = None  # that a file may unpack to; None: half of the memory

    def found_in(self, source: str, columns: Sequence[str]) -> ColumnRoles:
        """Find the same roles, without optional ones whose column is not there; other missing columns are refused."""
        absent = [role for role in ROLES if getattr(self, role) is not None and getattr(self, role) not in columns]
        for role in absent:
            if role not in self.optional:
                column = getattr(self, role)
                near = get_close_matches(column, columns, 1)
                meant = f", did you mean {near[0]!r}?" if near else ""
                raise InputError(f"{source} has no column {column!r} (--{role}){meant}; {columns_of(columns)}.")
        nothing: dict[str, Any] = dict.fromkeys(absent)
        return replace(self, **nothing)

    def lacking_in(self, source: str, columns: Sequence[str]) -> frozenset[tuple[str, str]]:
        """Options and the columns that they name and a file lacks; refused, unless other files may have them."""
        found = {option: [c for c in getattr(self, option) if c not in columns] for option in LISTS}
        for option, names in found.items():
            if names and option not in self.optional:
                absent = listed(map(repr, names))
                raise InputError(f"{source} has no column {absent} (--{option}); {columns_of(columns)}.")
        if self.features and not set(self.features) & set(columns):
            wanted = listed(map(repr, self.features))
            raise InputError(f"{source} has none of the columns {wanted}; {columns_of(columns)}.")
        return frozenset((option, name) for option, names in found.items() for name in names)

    def labels_of(self, frame: Any) -> dict[str, Array | None]:
        """Find the tasks, ids and known classes of the rows of a data frame, None for roles that no column has."""
        return {role: _as_strings(frame, getattr(self, role)) for role in ROLES}


@dataclass(frozen=True)
class Dataset:
    """The rows of all files in order: a table, or a matrix with named features."""

    files: tuple[Path, ...]
    X: Any  # pandas data frame, array or CSR matrix
    names: list[str]  # of its columns
    tasks: Array | None  # (n,) strings, None where a row has none; None if the file does not name them
    ids: Array  # (n,) strings, None where a row has none
    classes: Array | None = None  # (n,) strings, None where not known
    counts: tuple[int, ...] = ()  # number of rows of each file
    notes: tuple[str, ...] = ()  # decisions of the reader that the user should know
    lacking: frozenset[tuple[str, str]] = frozenset()  # options, and columns that they name and the file lacks
    others: tuple[str, ...] = ()  # columns that have no role
    findings: tuple[Finding, ...] = ()  # what the reader found wrong
    rows: Array | None = None  # positions of the rows in the files; None: all rows are there
    written: tuple[str, ...] = ()  # how numbers of columns of texts are written, as the check decided

    @property
    def is_table(self) -> bool:
        """Whether X is a table of columns of several kinds."""
        return hasattr(self.X, "iloc")

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def name(self) -> str:
        """The file, or the first and the number of others."""
        return listed(self.files, shown=1)

    def verb(self, one: str, several: str) -> str:
        """Find the form of a verb that goes with `name`."""
        return one if len(self.files) == 1 else several

    def place(self, row: int) -> tuple[Path, int]:
        """Find the file of a row, and the number of the row in it, from 1."""
        row = row if self.rows is None else int(self.rows[row])
        ends = np.cumsum(self.counts)
        k = int(np.searchsorted(ends, row, side="right"))
        return self.files[k], int(row - ends[k] + self.counts[k]) + 1


class Reader(ABC):
    """Reads one kind of file."""

    has_columns = True  # whether options can name columns with tasks, ids and classes
    names_rows = False  # whether the file names its rows itself
    has_encoding, has_sheets = False, False  # whether --encoding and --sheet say how to read it
    one_task = "name its column with --task{hint}, or give several files, one per task"  # if it does not say the tasks

    @abstractmethod
    def read(self, path: Path, roles: ColumnRoles) -> Dataset:
        """Read the rows of a file."""


def stem(path: Path) -> str:
    """Find the name of a file without its suffixes."""
    name = path.name
    for suffix in (*COMPRESSED, path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix):
        name = name.removesuffix(suffix) or name
    return name


def kind_of(path: Path) -> str:
    """Find the suffix that tells the kind of a file, without that of a compression."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSED else suffix


def row_numbers(n: int) -> Array:
    """Find the ids of rows that have no names."""
    return np.arange(1, n + 1).astype(str)


def numbered(d: int) -> list[str]:
    """Find the names of features that have none."""
    return [f"feature {j}" for j in range(d)]


def columns_of(columns: Sequence[str]) -> str:
    """Find the columns of a file, for a message."""
    return f"its columns are {listed(map(repr, columns))}" if columns else "it has no columns"


def _as_strings(frame: Any, column: str | None) -> Array | None:
    """Write a column as strings, whole numbers without a decimal point; None where there is no value."""
    if column is None:
        return None
    values = as_single(frame[column]) if may_be_odd(frame[column]) else frame[column]
    missing = values.isna().to_numpy()
    found = np.full(len(values), None, dtype=object)
    given = values[~missing]
    if given.dtype.kind == "f" and bool(((given % 1 == 0) & (given.abs() < LARGEST_WHOLE)).all()):
        given = given.astype("int64")
    found[~missing] = given.astype(str).to_numpy(dtype=object)
    return found
