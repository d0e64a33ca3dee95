"""Tables: CSV and its kin, Parquet, Feather, Excel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .collection import Collection, InputError, Reading, columns_of, kind_of, meant, names_of, need, without
from .text_tables import read_text_table

ROW = "(row)"  # the name that a first column without one gets


def read_table(path: Path, how: Reading) -> Collection:
    """The rows of a table."""
    need("pandas", "files", f"{path}: reading tables")
    frame = TABLES[kind_of(path)](path, how)
    frame.columns = [str(column).strip() for column in frame.columns]
    said = [frame.attrs.pop("note")] if "note" in frame.attrs else []
    frame, how, notes = _without_index(path, frame, how)
    repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
    if repeated:
        raise InputError(f"{path} has several columns named {repeated[0]!r}: every column needs a name of its own.")
    return replace(_taken_apart(path, frame, how), notes=(*said, *notes))


def _read_text(path: Path, how: Reading) -> Any:
    need("pyarrow", "files", f"{path}: reading tables")
    return read_text_table(path, [name for name in (how.task, how.id, how.label) if name is not None])


def _read_excel(path: Path, how: Reading) -> Any:
    import pandas as pd

    need("openpyxl", "files", f"{path}: reading Excel files")
    with pd.ExcelFile(path) as book:
        frame = book.parse(0)
        if len(book.sheet_names) > 1:
            first = book.sheet_names[0]
            frame.attrs["note"] = f"{path.name} has {len(book.sheet_names)} sheets; the first, {first!r}, was read."
    return frame


def _pandas(name: str) -> Callable[[Path, Reading], Any]:
    def read(path: Path, how: Reading) -> Any:
        import pandas as pd

        need("pyarrow", "files", f"{path}: reading this kind of file")
        frame = getattr(pd, name)(path)
        named = [level is not None for level in frame.index.names]
        return frame.reset_index() if any(named) else frame

    return read


def _without_index(path: Path, frame: Any, how: Reading) -> tuple[Any, Reading, tuple[str, ...]]:
    """A first column without a name is the index that pandas writes: it names the rows, unless something else does."""
    nameless = [i for i, name in enumerate(frame.columns) if name == "" or name.startswith("Unnamed: ")]
    if not nameless:
        return frame, how, ()
    if nameless != [0]:
        raise InputError(f"{path}: column {nameless[-1] + 1} has no name: every column needs one.")
    if how.id is not None:
        return frame.iloc[:, 1:], how, (f"The first column of {path.name} has no name and was left out.",)
    frame.columns = [ROW, *frame.columns[1:]]
    return (
        frame,
        replace(how, id=ROW),
        (f"The first column of {path.name} has no name: it was taken to name the rows.",),
    )


def _taken_apart(path: Path, frame: Any, how: Reading) -> Collection:
    """Task, name and class of each row, and the columns that are used."""
    columns = list(frame.columns)
    for option in ("task", "id", "label"):
        column = getattr(how, option)
        if column is not None and column not in columns:
            if option not in how.optional:
                raise InputError(
                    f"{path} has no column {column!r} (--{option}){meant(column, columns)}; {columns_of(columns)}."
                )
            how = without(how, option)
    for option in ("features", "text", "drop"):
        unknown = [column for column in getattr(how, option) if column not in columns]
        if unknown:
            raise InputError(
                f"{path} has no column {', '.join(map(repr, unknown))} (--{option}); {columns_of(columns)}."
            )
    special = [column for column in (how.task, how.id, how.label) if column is not None]
    wanted = (
        [*how.features, *(column for column in how.text if column not in how.features)] if how.features else columns
    )
    left_out = {*how.drop, *(() if how.features else special)}
    used = [column for column in wanted if column not in left_out]
    both = [column for column in used if column in special]
    if both:
        raise InputError(f"column {both[0]!r} cannot be a feature and the --task, --id or --label at once.")
    if not used:
        raise InputError(f"{path} has no column left to cluster by; {columns_of(columns)}.")
    tasks = None if how.task is None else names_of(path, frame, how.task, "every row needs a task")
    ids = (
        np.arange(1, len(frame) + 1).astype(str)
        if how.id is None
        else names_of(path, frame, how.id, "every row needs a name")
    )
    classes = None if how.label is None else names_of(path, frame, how.label)
    return Collection((path,), frame[used], used, tasks, ids, classes)


TABLES: dict[str, Callable[[Path, Reading], Any]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), _read_text),
    **dict.fromkeys((".parquet", ".pq"), _pandas("read_parquet")),
    **dict.fromkeys((".feather", ".arrow"), _pandas("read_feather")),
    **dict.fromkeys((".xlsx", ".xlsm"), _read_excel),
}
