"""The rows of files larger than memory: which pieces they are in, and what is done with each when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..._utils.text import count, listed
from ...core.arrays import Array
from ...preprocessing import TableError
from ...preprocessing._markers import without_markers
from ...preprocessing._written import as_written, decoded
from ..errors import ADVICE, InputError
from ..readers import ColumnRoles
from ..readers.base import COMPRESSED, DELIMITED, ROLES, columns_of, kind_of, stem
from ..readers.tables import ROW, features_of, told_nameless
from ..readers.titles import told_titles
from .pieces import PARQUET, Piece, columns_in, cut, read_piece, titles_of


@dataclass(frozen=True)
class Rules:
    """What is done with the rows of every piece."""

    roles: ColumnRoles
    names: tuple[str, ...]  # columns to cluster by
    tasks: dict[str, str] = field(default_factory=dict)  # of files that are one task each
    joined: dict[str, str] = field(default_factory=dict)  # names of tasks that are spelt otherwise
    gone: frozenset[str] = frozenset()  # tasks that are left out
    texts: tuple[str, ...] = ()  # columns of text files whose cells are read as they are written
    written: tuple[str, ...] = ()  # how numbers of columns of texts are written
    missing: tuple[str, ...] | None = ()  # further texts that stand for missing values; None: only empty cells


@dataclass(frozen=True)
class Rows:
    """The rows of a piece that are used."""

    X: Any  # data frame
    tasks: Array  # (n,) strings
    ids: Array | None
    classes: Array | None
    at: Array  # (n,) their positions in the piece


@dataclass(frozen=True)
class Pieces:
    """All pieces of all files, in order."""

    files: tuple[Path, ...]
    pieces: tuple[Piece, ...]
    rules: Rules
    sizes: tuple[dict[str, int], ...] = ()  # rows of each task that are used, by piece
    notes: tuple[str, ...] = ()  # about how the files are read

    @property
    def name(self) -> str:
        """The file, or the first and the number of others."""
        return listed(self.files, shown=1)

    @property
    def n_rows(self) -> int:
        """Rows that are used."""
        return sum(self.used)

    @property
    def used(self) -> list[int]:
        """Rows that are used, by piece."""
        return [sum(own.values()) for own in self.sizes]

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks, sorted."""
        return sorted({task for own in self.sizes for task in own})

    @property
    def counts(self) -> tuple[int, ...]:
        """All rows of each file."""
        return tuple(sum(piece.n_rows for piece in self.pieces if piece.path == str(path)) for path in self.files)

    @property
    def firsts(self) -> list[int]:
        """The number of the first row of each piece among all rows of all files."""
        before = dict(zip(map(str, self.files), np.cumsum([0, *self.counts]).tolist(), strict=False))
        return [before[piece.path] + piece.first for piece in self.pieces]


def opened(files: Sequence[Path], roles: ColumnRoles, *, new_rows: bool = False) -> Pieces:
    """Read the pieces of files, whose columns are matched by name.

    `new_rows` says whether they are new to a fitted model: then a single file without a column of tasks is one task.
    """
    notes: tuple[str, ...] = ()
    for i, path in enumerate(files):
        _check_file(path)
        if path.resolve() in [other.resolve() for other in files[:i]]:
            raise InputError(f"{path} is given twice.")
    known = {path: columns_in(path, roles.encoding, roles.skip) for path in files}
    for path in files:
        skip = titles_of(path, roles.encoding, roles.skip)
        notes += (told_titles(path, skip),) if skip and roles.skip is None else ()
    without = [path for path, columns in known.items() if columns[:1] == [ROW]]
    if without:
        used = roles.id in (None, ROW) and len(without) == len(files)
        roles = replace(roles, id=ROW if used else roles.id)
        known = {path: [name for name in columns if used or name != ROW] for path, columns in known.items()}
        notes += tuple(told_nameless(path, used=used) for path in without)
    roles = replace(roles, **_optional(known, roles))
    names = _used(known, roles, new_rows)
    pieces = [
        piece for path in files for piece in cut(path, [*names, *_role_columns(roles)], roles.encoding, roles.skip)
    ]
    for path in files:
        if not any(piece.path == str(path) for piece in pieces):
            raise InputError(f"{path} has no rows.")
    rules = Rules(roles, tuple(names), _file_tasks(files, roles))
    return Pieces(tuple(files), tuple(pieces), rules, notes=notes)


def read_rows(piece: Piece, rules: Rules, names: Sequence[str] | None = None, roles: Sequence[str] = ROLES) -> Rows:
    """Read the rows of a piece that are used; only columns that are asked for are read."""
    wanted = list(rules.names if names is None else names)
    others = [column for role in ("task", *roles) if (column := getattr(rules.roles, role)) is not None]
    columns = list(dict.fromkeys([*wanted, *others]))
    frame = read_piece(piece, columns, _role_columns(rules.roles), rules.roles.encoding, rules.texts)
    unread: dict[str, Any] = {role: None for role in ROLES if role != "task" and role not in roles}
    labels = replace(rules.roles, **unread).labels_of(frame)
    tasks = labels["task"]
    at, tasks = _used_rows(np.full(len(frame), rules.tasks[piece.path], object) if tasks is None else tasks, rules)
    X = frame[wanted]
    if len(at) < len(frame):
        X = X.iloc[at].reset_index(drop=True)
    ids, classes = (None if values is None else values[at] for values in (labels["id"], labels["label"]))
    return Rows(X, tasks, ids, classes, at)


def _used_rows(tasks: Array, rules: Rules) -> tuple[Array, Array]:
    """Find the positions of the rows that are used, and their tasks."""
    codes, known = _coded(tasks)
    names = [rules.joined.get(task, task) for task in known]
    fine = np.array([_named(task) and task not in rules.gone for task in names], dtype=bool)
    at = np.flatnonzero((codes >= 0) & fine[codes]) if len(fine) else np.zeros(0, dtype=int)
    return at, np.array(names, dtype=str)[codes[at]]


def without_missing(rows: Rows, rules: Rules) -> Any:
    """Read the columns of rows, with numbers in the place of texts, and markers as missing values."""
    X, ways = rows.X, decoded(rules.written)
    numbers = {name: as_written(X[name], way, rules.missing) for name, way in ways.items() if name in X}
    X = X.assign(**numbers) if numbers else X
    if rules.missing is None:
        return X
    found = {name: without_markers(X[name], rules.missing) for name in X.columns}
    changed = {name: column for name, (column, counts) in found.items() if counts}
    return X.assign(**changed) if changed else X


def count_tasks(piece: Piece, rules: Rules) -> tuple[int, dict[str | None, int], int]:
    """All rows of a piece, those of each task as it is spelt, None for those without one, and the first of these."""
    if rules.roles.task is None and piece.is_parquet:
        return piece.n_rows, {rules.tasks[piece.path]: piece.n_rows}, 0
    columns = [rules.names[0]] if rules.roles.task is None else [rules.roles.task]
    frame = read_piece(piece, columns, _role_columns(rules.roles), rules.roles.encoding)
    if rules.roles.task is None:
        return len(frame), {rules.tasks[piece.path]: len(frame)} if len(frame) else {}, 0
    tasks = replace(rules.roles, id=None, label=None).labels_of(frame)["task"]
    assert tasks is not None
    codes, known = _coded(tasks)
    empty = (codes < 0) | np.isin(codes, [k for k, task in enumerate(known) if not _named(task)])
    sizes = np.bincount(codes[~empty], minlength=len(known)).tolist()
    found: dict[str | None, int] = {task: n for task, n in zip(known, sizes, strict=True) if n}
    return len(frame), found | ({None: int(empty.sum())} if empty.any() else {}), int(empty.argmax())


def refused(error: TableError, piece: Piece, at: Array) -> InputError:
    """Tell what is wrong with a cell, with its file and row; `at` are the positions of the rows in the piece."""
    row = "" if error.row is None else f" in row {piece.first + int(at[error.row]) + 1}"
    advice = ADVICE.get(error.kind, error.advice).format(column=error.column)
    return InputError(f"{piece.path}: {error.problem}{row}: {advice}.")


def _coded(tasks: Array) -> tuple[Array, list[str]]:
    """Find the index of each row's task, -1 where there is none, and the names of the tasks."""
    import pandas as pd

    codes, known = pd.factorize(tasks)
    return codes, [str(task) for task in known]


def _named(task: Any) -> bool:
    return task is not None and bool(str(task).strip())


def _role_columns(roles: ColumnRoles) -> list[str]:
    return [column for role in ROLES if (column := getattr(roles, role)) is not None]


def _check_file(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the files in it.")
    if kind_of(path) not in (*PARQUET, *DELIMITED):
        raise InputError(f"{path}: files larger than memory are read from Parquet and CSV files; convert it.")
    if path.suffix.lower() in COMPRESSED:
        raise InputError(f"{path} is compressed as a whole and cannot be read in parts: unpack it, or use Parquet.")


def _optional(known: dict[Path, list[str]], roles: ColumnRoles) -> dict[str, Any]:
    """Roles whose column no file needs to have, and none has."""
    absent = [role for role in roles.optional if role in ROLES]
    return {role: None for role in absent if not any(getattr(roles, role) in columns for columns in known.values())}


def _file_tasks(files: Sequence[Path], roles: ColumnRoles) -> dict[str, str]:
    """Name the tasks of files that are one each."""
    if roles.task is not None:
        return {}
    stems = [stem(path) for path in files]
    shown = stems if len(set(stems)) == len(stems) else [str(path) for path in files]
    return {str(path): name for path, name in zip(files, shown, strict=True)}


def _used(known: dict[Path, list[str]], roles: ColumnRoles, new_rows: bool) -> list[str]:
    """Find the columns to cluster by, which all files must have."""
    every = list(dict.fromkeys(name for columns in known.values() for name in columns))
    for path, columns in known.items():
        repeated = [name for i, name in enumerate(columns) if name in columns[:i]]
        if repeated:
            raise InputError(f"{path} has several columns named {repeated[0]!r}: column names must be unique.")
        replace(roles, optional=()).found_in(str(path), columns)
    for option in ("drop", "features"):
        absent = [name for name in getattr(roles, option) if name not in every and not new_rows]
        if absent:
            raise InputError(f"No file has a column {absent[0]!r} (--{option}); {columns_of(every)}.")
    names = list(roles.features) if new_rows else features_of(next(iter(known)), every, roles)
    for path, columns in known.items():
        lacking = [name for name in names if name not in columns]
        if lacking:
            of, way = ("the fit has", "") if new_rows else ("other files have", ", or leave them out with --drop")
            which = f"{count(len(lacking), 'column')} that {of}: {listed(map(repr, lacking))}"
            raise InputError(f"{path} lacks {which}. Add them to the file{way}.")
    return names
