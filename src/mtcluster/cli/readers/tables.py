"""Tables: what all kinds share, and Parquet, Feather and Excel files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..._utils.text import count, listed
from ...preprocessing import Finding
from ...preprocessing._cells import told_cells
from ...preprocessing._findings import shown
from ..errors import InputError, need
from .base import ColumnRoles, Dataset, Reader, columns_of, row_numbers
from .titles import LINES, titles_above, told_titles

ROW = "(row)"  # the name given to a first column without one
SHEET = "(sheet)"  # the name of the column with the sheet of each row


class TableReader(Reader):
    """Reads a kind of table; a new kind needs `frame` only."""

    package = "pyarrow"  # what pandas needs for it

    @abstractmethod
    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """Read the table as a pandas data frame, and notes for the user."""

    def read(self, path: Path, roles: ColumnRoles) -> Dataset:
        """Read a table, and split it into tasks, ids, classes and features."""
        for package in ("pandas", self.package):
            need(package, "files", f"{path}: reading this kind of file")
        frame, notes = self.frame(path, roles)
        if any(level is not None for level in frame.index.names):
            frame = frame.reset_index()
        frame.columns = [str(column).strip() for column in frame.columns]
        check_names(path, frame.columns)
        frame, roles, more = _named(path, frame, roles)
        frame, findings = _told_apart(frame)
        columns = list(frame.columns)
        if SHEET in columns and roles.task is None:
            roles = replace(roles, task=SHEET)
        roles = roles.found_in(str(path), columns)
        lacking = roles.lacking_in(str(path), columns)
        used = features_of(path, columns, roles)
        known = {*used, roles.task, roles.id, roles.label, *roles.drop}
        others = tuple(c for c in columns if c not in known)
        labels = roles.labels_of(frame)
        ids = row_numbers(len(frame)) if labels["id"] is None else labels["id"]
        X, more_findings = told_cells(frame[used], lambda row: f"row {row + 1}")
        data = Dataset((path,), X, used, labels["task"], ids, labels["label"], notes=(*notes, *more))
        return replace(data, lacking=lacking, others=others, findings=(*findings, *more_findings))


class ArrowReader(TableReader):
    """Reads a kind of file of Arrow: "parquet" or "feather"."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """Read with pyarrow; a damaged file may point outside of itself, which is checked before it is used."""
        table = import_module(f"pyarrow.{self.kind}").read_table(path)
        for name, column in zip(table.column_names, table.columns, strict=True):
            try:
                column.validate(full=True)
            except Exception as error:
                raise ValueError(f"column {shown(name)} is damaged: {error}") from error
        return table.to_pandas(), ()


class ExcelReader(TableReader):
    """Reads a sheet of an Excel file, or all: each is a task then, unless a column names the tasks."""

    package = "openpyxl"
    has_sheets = True

    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """Read with pandas, and note what was read if there are several sheets."""
        import pandas as pd

        with pd.ExcelFile(path) as book:
            sheets = [str(name) for name in book.sheet_names]
            if roles.sheet is None or roles.sheet in sheets:
                name = roles.sheet or sheets[0]
                which = "" if roles.sheet else "the first, "
                note = f"{path.name} has {len(sheets)} sheets; {which}{name!r}, was read. Others: --sheet NAME|all."
                frame, skip = _sheet(book, name, roles.skip)
                titles = (told_titles(path, skip),) if skip and roles.skip is None else ()
                return frame, (*((note,) if len(sheets) > 1 else ()), *titles)
            if roles.sheet != "all":
                raise InputError(f"{path} has no sheet {roles.sheet!r} (--sheet); it has {listed(map(repr, sheets))}.")
            parts = {name: part for name in sheets if len(part := _sheet(book, name, roles.skip)[0])}
        if not parts:
            raise InputError(f"{path} has no rows in any of its {count(len(sheets), 'sheet')}.")
        each = [part if roles.task in part else part.assign(**{SHEET: name}) for name, part in parts.items()]
        left_out = listed(repr(name) for name in sheets if name not in parts)
        note = f"{path.name}: {count(len(parts), 'sheet')} were read" + f"; empty: {left_out}" * bool(left_out) + "."
        return pd.concat(each, ignore_index=True), (note,)


def _sheet(book: Any, name: str, skip: int | None) -> tuple[Any, int]:
    """Read a sheet with the names of its columns as they are, as pandas would number those that repeat.

    Also returns the number of rows above the header.
    """
    import pandas as pd

    if skip is None:
        rows = book.parse(name, header=None, nrows=LINES).astype(object)
        skip = titles_above(rows.where(rows.notna(), None).to_numpy().tolist())
    frame = book.parse(name, skiprows=skip)
    if len(frame.columns):
        head = book.parse(name, header=None, nrows=1, skiprows=skip).iloc[0].tolist()
        if len(head) == len(frame.columns):
            frame.columns = [old if pd.isna(own) else own for own, old in zip(head, frame.columns, strict=True)]
    return frame, skip


def _told_apart(frame: Any) -> tuple[Any, tuple[Finding, ...]]:
    """Number columns of one name, and what to say about them."""
    repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
    if not repeated:
        return frame, ()
    seen: dict[str, int] = {}
    names = []
    for name in frame.columns:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    found = f"Several columns are named {listed(map(shown, repeated))}."
    done = "Column names must be unique: rename them in the file."
    return frame.set_axis(names, axis=1), (Finding("header", tuple(repeated), found, done, stops=True),)


def _named(path: Path, frame: Any, roles: ColumnRoles) -> tuple[Any, ColumnRoles, tuple[str, ...]]:
    """Use a first column without a name, as pandas writes its index, for the ids of the rows if there are no others."""
    if not len(frame.columns) or not nameless(frame.columns[0]):
        return frame, roles, ()
    if roles.id not in (None, ROW):
        return frame.iloc[:, 1:], roles, (told_nameless(path, used=False),)
    frame.columns = [ROW, *frame.columns[1:]]
    return frame, replace(roles, id=ROW), (told_nameless(path, used=True),)


def nameless(name: str) -> bool:
    """Tell whether a column has no name; pandas gives such a column one."""
    return name == "" or name.startswith("Unnamed: ")


def told_nameless(path: Path, *, used: bool) -> str:
    """Write a note on a first column without a name."""
    done = "; it was used for the ids of the rows." if used else " and was left out."
    return f"The first column of {path.name} has no name{done}"


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse columns without a name, but for the first, and names that not all libraries can hold."""
    without = [i for i, name in enumerate(names) if i and nameless(name)]
    if without:
        raise InputError(f"{path}: column {without[-1] + 1} has no name: every column needs one.")
    zero = [i for i, name in enumerate(names) if "\0" in name]
    if zero:
        raise InputError(f"{path}: the name of column {zero[0] + 1} holds a zero byte: rename it.")


def features_of(path: Path, columns: Sequence[str], roles: ColumnRoles) -> list[str]:
    """Find the columns to cluster by."""
    special = {roles.task, roles.id, roles.label}
    wanted = [*roles.features, *roles.text] if roles.features else [name for name in columns if name not in special]
    there = set(columns) - set(roles.drop)
    used = [column for column in dict.fromkeys(wanted) if column in there]
    both = [column for column in (*used, *roles.text) if column in special]
    if both:
        raise InputError(f"column {both[0]!r} cannot be both a feature and the --task, --id or --label.")
    if not used:
        raise InputError(f"{path} has no column left to cluster by; {columns_of(columns)}.")
    return used
