"""Tables in text files: CSV and TSV, with any usual separator, decimal sign and compression."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .base import ROLES, ColumnRoles
from .tables import TableReader

SEPARATORS = ",;\t|"
MISSING_CELLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "<NA>", "None", "#N/A", "#NA"]
START = 2**20  # bytes from which the separator is guessed


class DelimitedReader(TableReader):
    """Reads CSV and TSV files; columns of tasks, ids and classes keep their text ("007", "NA")."""

    has_encoding = True

    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """Read with pyarrow, or with pandas what pyarrow refuses."""
        kept = [getattr(roles, role) for role in ROLES if getattr(roles, role) is not None]
        return read_delimited(path, kept, roles.encoding), ()


def read_delimited(path: Path, kept: Sequence[str], encoding: str | None = None) -> Any:
    """Read the table as a data frame; only empty cells of the columns `kept` are missing, and all others are texts."""
    import pyarrow as pa
    import pyarrow.csv

    start = start_of(path, encoding)
    separator = separator_of(start)
    parse = pa.csv.ParseOptions(delimiter=separator, newlines_in_values='"' in start)
    types = {name: pa.string() for name in kept}
    convert = pa.csv.ConvertOptions(column_types=types, null_values=MISSING_CELLS, strings_can_be_null=False)
    try:
        table = pa.csv.read_csv(path, pa.csv.ReadOptions(encoding=encoding or "utf8"), parse, convert)
        slow = pa.binary() in table.schema.types
        frame = _read_slowly(path, separator, kept, encoding) if slow else table.to_pandas()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeError):  # numbers among texts, say
        frame = _read_slowly(path, separator, kept, encoding)
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if column.dtype.kind in "OUT" or str(column.dtype) in ("str", "string"):
            column = column.mask(column.isin([""] if name in kept else MISSING_CELLS))
            frame.isetitem(j, column if separator == "," or name in kept else _with_points(column))
    return frame


def separator_of(start: str) -> str:
    """Find the separator of a text, by its first line."""
    return max(SEPARATORS, key=_outside_quotes(start.split("\n", 1)[0]).count)


def _read_slowly(path: Path, separator: str, kept: Sequence[str], encoding: str | None) -> Any:
    """Read with pandas, which accepts columns of several types and says where bytes are not UTF-8."""
    import pandas as pd

    options: dict[str, Any] = {"sep": separator, "encoding": encoding or "utf-8-sig"}
    try:
        head = pd.read_csv(path, nrows=1, header=None, dtype=str, keep_default_na=False, **options)
        names = pd.read_csv(path, nrows=0, **options).columns
        missing = {name: [""] if name in kept else MISSING_CELLS for name in names}
        frame = pd.read_csv(
            path, dtype=dict.fromkeys(kept, str), keep_default_na=False, na_values=missing, low_memory=False, **options
        )
    except UnicodeDecodeError as error:
        raise ValueError(_not_text(error.start, encoding)) from error
    except pd.errors.EmptyDataError as error:
        raise ValueError("it is empty.") from error
    if head.shape[1] == frame.shape[1]:  # pandas numbers names that repeat
        own = zip(head.iloc[0].tolist(), frame.columns, strict=True)
        frame.columns = [name.strip() or old for name, old in own]
    return frame


def _not_text(byte: int, encoding: str | None) -> str:
    if encoding is not None:
        return f"it is not encoded as {encoding} (see byte {byte}); name another --encoding."
    return f"it is not encoded as UTF-8 (see byte {byte}); try --encoding cp1252 (Windows), or save it as UTF-8."


def start_of(path: Path, encoding: str | None = None) -> str:
    """Find the first part of a file of text."""
    if path.suffix.lower() in (".bz2", ".xz", ".zst"):
        return "\t" if path.with_suffix("").suffix == ".tsv" else ","
    with (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rb") as file:
        start = file.read(START)
    if encoding is not None:
        return start.decode(encoding, errors="replace").lstrip("\ufeff")
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError("it is encoded as UTF-16, like Excel's 'Unicode text': add --encoding utf-16.")
    if b"\0" in start:
        raise ValueError("it is not a text file, as it contains zero bytes.")
    return start.decode("utf-8-sig", errors="replace")


def _outside_quotes(line: str) -> str:
    return "".join(part for i, part in enumerate(line.split('"')) if i % 2 == 0)


def _with_points(column: Any) -> Any:
    """Convert a column to numbers if all its values are numbers with a decimal comma."""
    given = column.dropna().astype(str)
    numbers = len(given) and bool(given.str.fullmatch(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*").all())
    return column.str.replace(",", ".").astype(float) if numbers else column
