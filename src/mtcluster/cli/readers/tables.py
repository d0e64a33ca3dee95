"""Tables: what all kinds share, and Parquet, Feather and Excel files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InputError, need
from .base import ColumnRoles, Dataset, Reader, columns_of, row_numbers

ROW = "(row)"  # the name given to a first column without one


class TableReader(Reader):
    """Reads a kind of table; a new kind needs `frame` only."""

    package = "pyarrow"  # what pandas needs for it

    @abstractmethod
    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """The table as a pandas data frame, and notes for the user."""

    def read(self, path: Path, roles: ColumnRoles) -> Dataset:
        """Read a table, and split it into tasks, ids, classes and features."""
        for package in ("pandas", self.package):
            need(package, "files", f"{path}: reading this kind of file")
        frame, notes = self.frame(path, roles)
        if any(level is not None for level in frame.index.names):
            frame = frame.reset_index()
        frame.columns = [str(column).strip() for column in frame.columns]
        frame, roles, more = _named(path, frame, roles)
        repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
        if repeated:
            raise InputError(f"{path} has several columns named {repeated[0]!r}: column names must be unique.")
        columns = list(frame.columns)
        roles = roles.found_in(str(path), columns)
        lacking = roles.lacking_in(str(path), columns)
        used = _features(path, columns, roles)
        others = tuple(c for c in columns if c not in (*used, roles.task, roles.id, roles.label, *roles.drop))
        labels = roles.labels_of(str(path), frame)
        ids = row_numbers(len(frame)) if labels["id"] is None else labels["id"]
        data = Dataset((path,), frame[used], used, labels["task"], ids, labels["label"], notes=(*notes, *more))
        return replace(data, lacking=lacking, others=others)


class PandasReader(TableReader):
    """Reads a kind of file for which pandas has a function, such as "read_parquet"."""

    def __init__(self, function: str) -> None:
        self.function = function

    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """Read with pandas."""
        import pandas as pd

        return getattr(pd, self.function)(path), ()


class ExcelReader(TableReader):
    """Reads the first sheet of Excel files."""

    package = "openpyxl"

    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """Read with pandas, and note that other sheets were ignored."""
        import pandas as pd

        with pd.ExcelFile(path) as book:
            sheets = book.sheet_names
            note = f"{path.name} has {len(sheets)} sheets; the first, {sheets[0]!r}, was read."
            return book.parse(0), (note,) if len(sheets) > 1 else ()


def _named(path: Path, frame: Any, roles: ColumnRoles) -> tuple[Any, ColumnRoles, tuple[str, ...]]:
    """Use a first column without a name, as pandas writes its index, for the ids of the rows if there are no others."""
    nameless = [i for i, name in enumerate(frame.columns) if name == "" or name.startswith("Unnamed: ")]
    if not nameless:
        return frame, roles, ()
    if nameless != [0]:
        raise InputError(f"{path}: column {nameless[-1] + 1} has no name: every column needs one.")
    note = f"The first column of {path.name} has no name"
    if roles.id is not None:
        return frame.iloc[:, 1:], roles, (f"{note} and was left out.",)
    frame.columns = [ROW, *frame.columns[1:]]
    return frame, replace(roles, id=ROW), (f"{note}; it was used for the ids of the rows.",)


def _features(path: Path, columns: Sequence[str], roles: ColumnRoles) -> list[str]:
    """The columns to cluster by."""
    special = {roles.task, roles.id, roles.label}
    wanted = [*roles.features, *roles.text] if roles.features else [name for name in columns if name not in special]
    used = [column for column in dict.fromkeys(wanted) if column in columns and column not in roles.drop]
    both = [column for column in (*used, *roles.text) if column in special]
    if both:
        raise InputError(f"column {both[0]!r} cannot be both a feature and the --task, --id or --label.")
    if not used:
        raise InputError(f"{path} has no column left to cluster by; {columns_of(columns)}.")
    return used
