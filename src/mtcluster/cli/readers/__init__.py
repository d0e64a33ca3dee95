"""Files → rows, with the task, the name and, where it is known, the class of each.

One file with a column that names the task of each row, or several files, one a task. Tables (CSV, TSV, Parquet,
Feather, Excel) come as data frames; task sets (.npz), Matrix Market files and AnnData as matrices with named columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .collection import Collection, InputError, Reading, kind_of, need, stem
from .matrices import read_h5ad, read_mtx, read_npz
from .tables import TABLES, read_table

__all__ = ["Collection", "InputError", "Reading", "kind_of", "need", "read_files", "stem"]

READERS: dict[str, Callable[[Path, Reading], Collection]] = {
    **dict.fromkeys(TABLES, read_table),
    ".npz": read_npz,
    ".mtx": read_mtx,
    ".h5ad": read_h5ad,
}


def read_files(paths: Sequence[Path], how: Reading, *, one_task: bool = False) -> Collection:
    """Rows of one file with a task column, or of several files, one a task.

    `one_task`: a file that does not say its tasks is one, named after the file.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file.")
        if path.is_dir():
            raise InputError(f"{path} is a folder: name the files in it.")
    twice = [path for i, path in enumerate(paths) if path.resolve() in [other.resolve() for other in paths[:i]]]
    if twice:
        raise InputError(f"{twice[0]} is named twice: every file is a task of its own.")
    parts = [_read(path, how) for path in paths]
    if len(parts) == 1 and parts[0].tasks is None and not one_task:
        raise InputError(_no_task(parts[0]))
    stems = [stem(path) for path in paths]
    shown = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    named = [
        part if part.tasks is not None else _as_one_task(part, name) for part, name in zip(parts, shown, strict=True)
    ]
    return named[0] if len(named) == 1 else _joined(named, how, shown)


def _read(path: Path, how: Reading) -> Collection:
    kind = kind_of(path)
    if kind not in READERS:
        known = ", ".join(sorted(READERS))
        raise InputError(f"{path}: files that end in {path.suffix or 'nothing'!r} are not known; known are {known}.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    try:
        part = READERS[kind](path, how)
    except (InputError, MemoryError, ImportError, PermissionError):
        raise
    except Exception as error:  # every reader has failures of its own
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path} cannot be read as {kind}: {reason}") from error
    if not len(part):
        raise InputError(f"{path} has a header but no rows.")
    return replace(part, counts=(len(part),))


def _as_one_task(part: Collection, name: str) -> Collection:
    return replace(part, tasks=np.full(len(part), name, dtype=object))


def _joined(parts: list[Collection], how: Reading, shown: list[str]) -> Collection:
    """Rows of several files under the columns of the first."""
    first = parts[0]
    if any(part.is_table != first.is_table for part in parts):
        raise InputError("tables cannot be joined with matrices (.npz, .mtx, .h5ad): give files of one kind.")
    values, wanted = [first.values], set(first.names)
    for part in parts[1:]:
        there = set(part.names)
        lacking = [name for name in first.names if name not in there]
        extra = [name for name in part.names if name not in wanted]
        if lacking or extra:
            column, has = (lacking[0], "lacks") if lacking else (extra[0], "alone has")
            raise InputError(
                f"{part.files[0]} {has} the column {column!r}: all files need the same; --features names those to use."
            )
        if part.is_table:
            values.append(part.values[first.names])
        else:
            values.append(_reordered(part, first))
    if first.is_table:
        import pandas as pd

        stacked = pd.concat(values, ignore_index=True)
    elif any(sparse.issparse(X) for X in values):
        stacked = sparse.vstack([sparse.csr_matrix(X) for X in values], format="csr")
    else:
        stacked = np.concatenate(values)
    own = how.id is not None or kind_of(first.files[0]) == ".h5ad"
    ids = [
        part.ids if own else np.array([f"{name}:{i}" for i in part.ids])
        for part, name in zip(parts, shown, strict=True)
    ]
    classes = [part.classes for part in parts if part.classes is not None]
    return Collection(
        tuple(path for part in parts for path in part.files),
        stacked,
        first.names,
        np.concatenate([part.tasks for part in parts if part.tasks is not None]),
        np.concatenate(ids),
        np.concatenate(classes) if len(classes) == len(parts) else None,
        tuple(count for part in parts for count in part.counts),
        tuple(note for part in parts for note in part.notes),
    )


def _reordered(part: Collection, first: Collection) -> Any:
    """The matrix of a file with its columns in the order of the first file."""
    if part.names == first.names:
        return part.values
    repeated = [name for name, count in Counter(first.names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{part.files[0]} has its columns in another order than {first.files[0]}, and several are named "
            f"{repeated[0]!r}: every column needs a name of its own."
        )
    index = {name: j for j, name in enumerate(part.names)}
    return part.values[:, [index[name] for name in first.names]]


def _no_task(part: Collection) -> str:
    path = part.files[0]
    if kind_of(path) == ".mtx":
        return f"{path} alone is one data set: give several Matrix Market files, one a task."
    unsaid = f"{path} alone does not say the task of each row: name its column"
    if not part.is_table:
        return f"{unsaid} of obs with --task, or give several files."
    few = [name for name in part.names if 2 <= part.values[name].nunique() <= min(50, max(2, len(part) // 2))]
    hint = f" (perhaps {', '.join(map(repr, few[:3]))})" if few else ""
    return f"{unsaid} with --task{hint}, or give several files, one a task."
