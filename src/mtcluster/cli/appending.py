"""The tables that came in, with the columns of the result appended, in the format that they came in."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array
from .readers import ColumnRoles, Dataset
from .readers.base import OPENERS, kind_of
from .readers.delimited import separator_of, start_of, titles_in, without_lines
from .readers.titles import LINES, titles_above

Columns = dict[str, list[Any]]  # one value per row of a file, None for rows that were left out
UNCOUNTED = "its rows could not be counted"


def append_all(folder: Path, data: Dataset, columns: dict[str, Array], roles: ColumnRoles) -> list[str]:
    """Write each file again into a folder, with further columns; returns a note for each that could not be written.

    `columns` have one value per row of `data`; rows of the files that `data` lacks get empty cells.
    """
    rows = np.arange(len(data)) if data.rows is None else data.rows
    total, notes, start = sum(data.counts), [], 0
    full: Columns = {}
    for name, values in columns.items():
        cells: list[Any] = [None] * total
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            cells[row] = None if isinstance(value, float) and np.isnan(value) else value
        full[name] = cells
    names = [path.name for path in data.files]
    for k, (path, n) in enumerate(zip(data.files, data.counts, strict=True)):
        own = {name: cells[start : start + n] for name, cells in full.items()}
        start += n
        append = APPENDERS.get(kind_of(path))
        if append is None:
            continue
        folder.mkdir(exist_ok=True)
        target = folder / (path.name if names.count(path.name) == 1 else f"{k + 1}-{path.name}")
        if reason := append(path, target, own, roles):
            target.unlink(missing_ok=True)
            notes.append(f"{path.name} was not written again with clusters, as {reason}.")
    if folder.exists() and not any(folder.iterdir()):
        folder.rmdir()
    return notes


def _append_text(path: Path, target: Path, columns: Columns, roles: ColumnRoles) -> str:
    """Copy a delimited file cell by cell, as text; a reason if its lines are not the rows that were read."""
    suffix = path.suffix.lower()
    if suffix == ".zst":
        return UNCOUNTED
    opened, encoding = OPENERS.get(suffix, open), roles.encoding or "utf-8-sig"
    start, n = start_of(path, roles.encoding), len(next(iter(columns.values())))
    skip = titles_in(start) if roles.skip is None else roles.skip
    separator = separator_of(without_lines(start, skip))
    written = "utf-8" if encoding == "utf-8-sig" else encoding
    done = 0
    with (
        opened(path, "rt", encoding=encoding, newline="") as source,
        opened(target, "wt", encoding=written, newline="") as copy,
    ):
        copy.writelines(islice(source, skip))
        lines, writer = _records(source, separator), csv.writer(copy, delimiter=separator, lineterminator="\n")
        head = next(lines)
        writer.writerow([*head, *_free(columns, head)])
        cells = zip(*columns.values(), strict=True)
        for line in lines:
            if done == n:
                return UNCOUNTED
            writer.writerow([*line, *("" if cell is None else cell for cell in next(cells))])
            done += 1
    return "" if done == n else UNCOUNTED


def _records(source: Any, separator: str) -> Iterator[list[str]]:
    """Read the records of a text, without blank lines, which readers skip too."""
    csv.field_size_limit(2**31 - 1)
    return (line for line in csv.reader(source, delimiter=separator) if line)


def _append_excel(path: Path, target: Path, columns: Columns, roles: ColumnRoles) -> str:
    """Copy a workbook, and write the columns beside the table on the sheets that were read."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, keep_vba=path.suffix.lower() == ".xlsm")
    except (OSError, MemoryError):
        raise
    except Exception:  # whatever openpyxl meets in styles, names and the like, which reading the rows does not need
        return "it is damaged beside its rows"
    first = book.sheetnames[0]
    names = book.sheetnames if roles.sheet == "all" and "all" not in book.sheetnames else [roles.sheet or first]
    start, n = 0, len(next(iter(columns.values())))
    for name in names:
        sheet = book[name]
        skip = roles.skip
        if skip is None:
            skip = titles_above([list(row) for row in sheet.iter_rows(max_row=LINES, values_only=True)])
        head, rows = [cell.value for cell in sheet[skip + 1]], _last_row(sheet) - skip - 1
        if rows < 1:
            continue
        for j, (title, cells) in enumerate(zip(_free(columns, head), columns.values(), strict=True)):
            at = len(head) + 1 + j
            sheet.cell(skip + 1, at, title)
            for i, cell in enumerate(cells[start : start + rows]):
                sheet.cell(skip + i + 2, at, cell)
        start += rows
    if start != n:
        return UNCOUNTED
    book.save(target)
    return ""


def _last_row(sheet: Any) -> int:
    """Find the last row of a sheet that has a value."""
    row = sheet.max_row
    while row > 1 and all(cell.value is None for cell in sheet[row]):
        row -= 1
    return int(row)


def _append_arrow(path: Path, target: Path, columns: Columns, roles: ColumnRoles) -> str:
    """Copy a Parquet or Feather file with further columns."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    is_parquet = kind_of(path) in (".parquet", ".pq")
    table = parquet.read_table(path) if is_parquet else feather.read_table(path)
    if table.num_rows != len(next(iter(columns.values()))):
        return UNCOUNTED
    for title, cells in zip(_free(columns, table.column_names), columns.values(), strict=True):
        table = table.append_column(title, pa.array(cells))
    if is_parquet:
        parquet.write_table(table, target)
    else:
        feather.write_feather(table, target)
    return ""


def _free(columns: Columns, taken: Any) -> list[str]:
    """Find names of the columns, changed where the table has such a column."""
    found = []
    for name in columns:
        while name in taken:
            name += " (mtcluster)"
        found.append(name)
    return found


APPENDERS: dict[str, Callable[[Path, Path, Columns, ColumnRoles], str]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), _append_text),
    **dict.fromkeys((".xlsx", ".xlsm"), _append_excel),
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow"), _append_arrow),
}
