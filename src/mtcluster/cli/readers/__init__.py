"""Files → rows, with their tasks, ids and, where they are known, classes.

Either one file has a column that names the task of each row, or there are several files, one per task. To read another
kind of file, write a `Reader` (a `TableReader` for tables) and add it to `READERS`.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..._utils.text import listed
from ...preprocessing import Finding
from ..errors import InputError
from .base import LISTS, ColumnRoles, Dataset, Reader, kind_of, stem
from .delimited import DelimitedReader
from .joining import joined, with_columns
from .limits import LONGEST_NAME, check_size, default_limit
from .matrices import AnnDataReader, MatrixMarketReader, TaskSetReader
from .tables import ArrowReader, ExcelReader, TableReader

__all__ = [
    "LISTS",
    "READERS",
    "ColumnRoles",
    "Dataset",
    "Reader",
    "TableReader",
    "read_files",
    "reader_of",
    "with_columns",
]

READERS: dict[str, Reader] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), DelimitedReader()),
    **dict.fromkeys((".parquet", ".pq"), ArrowReader("parquet")),
    **dict.fromkeys((".feather", ".arrow"), ArrowReader("feather")),
    **dict.fromkeys((".xlsx", ".xlsm"), ExcelReader()),
    ".npz": TaskSetReader(),
    ".mtx": MatrixMarketReader(),
    ".h5ad": AnnDataReader(),
}


def read_files(paths: Sequence[Path], roles: ColumnRoles, *, one_task: bool = False) -> Dataset:
    """Read the rows of one file with a column of tasks, or of several files, one per task.

    A single file without a column of tasks is one task, named after the file; unless `one_task`, this is a finding.
    """
    _check_paths(paths)
    _check_formats(paths, roles)
    reading = replace(roles, optional=(*roles.optional, *LISTS)) if len(paths) > 1 else roles
    parts = [_read(path, reading) for path in paths]
    _check_options(parts, roles)
    if len(parts) == 1 and parts[0].tasks is None and not one_task:
        parts = [replace(parts[0], findings=(*parts[0].findings, _no_tasks(paths[0], parts[0])))]
    stems = [stem(path) for path in paths]
    shown = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    for k, (part, name) in enumerate(zip(parts, shown, strict=True)):
        if part.tasks is None:
            part = replace(part, tasks=np.full(len(part), name, dtype=object))
        if len(paths) > 1 and roles.id is None and not reader_of(paths[0]).names_rows:
            part = replace(part, ids=np.array([f"{name}:{i}" for i in part.ids]))
        parts[k] = part
    return parts[0] if len(parts) == 1 else joined(parts)


def reader_of(path: Path) -> Reader:
    """Find the reader of a file, by its suffix."""
    try:
        return READERS[kind_of(path)]
    except KeyError:
        suffix = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        known = listed(sorted(READERS), shown=len(READERS))
        raise InputError(f"{path} has {suffix}, which is not supported; use one of {known}.") from None


def _check_paths(paths: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist.")
        if path.is_dir():
            raise InputError(f"{path} is a folder: name the files in it.")
        if path.resolve() in seen:
            raise InputError(f"{path} is given twice: each file is a task of its own.")
        seen.add(path.resolve())


def _check_options(parts: Sequence[Dataset], roles: ColumnRoles) -> None:
    """Refuse columns that options name and no file has."""
    for option, name in sorted(frozenset.intersection(*(part.lacking for part in parts))):
        if option not in roles.optional:
            raise InputError(f"No file has a column {name!r} (--{option}).")


def _check_formats(paths: Sequence[Path], roles: ColumnRoles) -> None:
    """Refuse options that no file can use, and encodings that nobody knows."""
    if roles.encoding is not None:
        try:
            codecs.lookup(roles.encoding)
        except LookupError:
            raise InputError(f"--encoding {roles.encoding} is not known: use utf-8, cp1252 or another.") from None
    readers = [reader_of(path) for path in paths]
    for value, option, able, kinds in (
        (roles.encoding, "encoding", "has_encoding", "text files (.csv, .tsv)"),
        (roles.sheet, "sheet", "has_sheets", "Excel files"),
    ):
        if value is not None and not any(getattr(reader, able) for reader in readers):
            raise InputError(f"--{option} is for {kinds}, and there are none among the files.")


def _no_tasks(path: Path, part: Dataset) -> Finding:
    advice = reader_of(path).one_task.format(hint=_task_hint(part))
    found = f"{path.name} does not say which task each row belongs to."
    return Finding("no_tasks", (), found, f"All rows are one task. Where there are several, {advice}.")


def _read(path: Path, roles: ColumnRoles) -> Dataset:
    reader = reader_of(path)
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    try:
        check_size(path, roles.max_bytes or default_limit())
        part = reader.read(path, roles)
    except (InputError, MemoryError, ImportError, PermissionError):
        raise
    except Exception as error:  # each library has errors of its own for damaged files
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path} cannot be read as {kind_of(path)}: {reason}") from error
    if not len(part):
        raise InputError(f"{path} has no rows.")
    long = [j for j, name in enumerate(part.names) if len(name) > LONGEST_NAME]
    if long:
        n = len(part.names[long[0]])
        raise InputError(f"{path}: a column has a name of {n} characters: is the first line a header?")
    return replace(part, counts=(len(part),))


def _task_hint(part: Dataset) -> str:
    """Columns that may name the tasks."""
    if not part.is_table:
        return ""
    most = min(50, max(2, len(part) // 2))
    few = [repr(name) for name in part.names if 2 <= part.X[name].nunique() <= most]
    return f" (perhaps {', '.join(few[:3])})" if few else ""
