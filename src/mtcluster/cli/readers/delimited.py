"""Tables in text files: CSV and TSV, with any usual separator, decimal sign and compression."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...preprocessing._written import decimal_signs, grouped, reading_of
from .base import DELIMITED, ROLES, ColumnRoles, kind_of
from .tables import TableReader
from .titles import LINES, header_in, told_titles

SEPARATORS = ",;\t|"
MISSING_CELLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "<NA>", "None", "#N/A", "#NA"]
SEEN = 5000  # rows that show whether numbers are written with decimal commas
START = 2**20  # bytes from which the separator is guessed


class DelimitedReader(TableReader):
    """Reads CSV and TSV files; columns of tasks, ids and classes keep their text ("007", "NA")."""

    has_encoding = True

    def frame(self, path: Path, roles: ColumnRoles) -> tuple[Any, tuple[str, ...]]:
        """Read with pyarrow, or with pandas what pyarrow refuses."""
        kept = [getattr(roles, role) for role in ROLES if getattr(roles, role) is not None]
        start = start_of(path, roles.encoding)
        skip = titles_in(start) if roles.skip is None else roles.skip
        frame = read_delimited(path, kept, roles.encoding, skip)
        doubtful = doubtful_points(frame, [path], roles)
        if doubtful:
            texts = read_delimited(path, kept, roles.encoding, skip, doubtful)
            frame = frame.assign(**{name: texts[name] for name in doubtful if grouped(texts[name])})
        return frame, (told_titles(path, skip),) if skip and roles.skip is None else ()


def doubtful_points(frame: Any, files: Sequence[Path], roles: ColumnRoles) -> list[str]:
    """Name columns of numbers of text files whose points may stand between thousands, and have to be seen as texts."""
    names = frame.columns.tolist()
    found = [name for name in names if names.count(name) == 1 and _may_be_grouped(frame[name])]
    texts = [path for path in files if kind_of(path) in DELIMITED]
    if not found or not texts:
        return []
    return found if roles.points or shows_commas(frame) or any(_has_semicolons(path, roles) for path in texts) else []


def _may_be_grouped(column: Any) -> bool:
    """Tell whether numbers have three decimals at most, and no zero before these."""
    values = column.dropna().to_numpy() if column.dtype.kind == "f" else np.zeros(0)
    if not np.isfinite(values).all():
        return False
    whole = values % 1 == 0
    thousands = np.abs(1000 * values - np.rint(1000 * values)) < 1e-6 * np.maximum(1, np.abs(values))
    return bool(len(values) and not whole.all() and thousands.all() and (whole | (np.abs(values) >= 1)).all())


def _has_semicolons(path: Path, roles: ColumnRoles) -> bool:
    start = start_of(path, roles.encoding)
    return separator_of(without_lines(start, titles_in(start) if roles.skip is None else roles.skip)) == ";"


def shows_commas(frame: Any) -> bool:
    """Tell whether a column of texts holds numbers with decimal commas for certain."""
    some = frame.head(SEEN)
    readings = (reading_of(some.iloc[:, j]) for j in range(some.shape[1]))
    return decimal_signs(one for one in readings if one is not None) == {","}


def read_delimited(
    path: Path, kept: Sequence[str], encoding: str | None = None, skip: int = 0, texts: Sequence[str] = ()
) -> Any:
    """Read the table as a data frame; only empty cells of the columns `kept` are missing, and all others are texts.

    `skip` are lines above the header, and `texts` columns whose cells stay as they are written.
    """
    import pyarrow as pa
    import pyarrow.csv

    start = without_lines(start_of(path, encoding), skip)
    separator = separator_of(start)
    parse = pa.csv.ParseOptions(delimiter=separator, newlines_in_values='"' in start)
    types = {name: pa.string() for name in (*kept, *texts)}
    convert = pa.csv.ConvertOptions(column_types=types, null_values=MISSING_CELLS, strings_can_be_null=False)
    try:
        read = pa.csv.ReadOptions(encoding=encoding or "utf8", skip_rows=skip)
        table = pa.csv.read_csv(path, read, parse, convert)
        slow = pa.binary() in table.schema.types
        frame = _read_slowly(path, separator, kept, encoding, skip, texts) if slow else table.to_pandas()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeError):  # numbers among texts, say
        frame = _read_slowly(path, separator, kept, encoding, skip, texts)
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if column.dtype.kind in "OUT" or str(column.dtype) in ("str", "string"):
            frame.isetitem(j, column.mask(column.isin([""] if name in kept else MISSING_CELLS)))
    return frame


def separator_of(start: str) -> str:
    """Find the separator of a text, by its first line."""
    return max(SEPARATORS, key=_outside_quotes(start.split("\n", 1)[0]).count)


def _read_slowly(
    path: Path, separator: str, kept: Sequence[str], encoding: str | None, skip: int, texts: Sequence[str]
) -> Any:
    """Read with pandas, which accepts columns of several types and says where bytes are not UTF-8."""
    import pandas as pd

    options: dict[str, Any] = {"sep": separator, "encoding": encoding or "utf-8-sig", "skiprows": skip}
    try:
        head = pd.read_csv(path, nrows=1, header=None, dtype=str, keep_default_na=False, **options)
        names = pd.read_csv(path, nrows=0, **options).columns
        missing = {name: [""] if name in kept else MISSING_CELLS for name in names}
        frame = pd.read_csv(
            path,
            dtype=dict.fromkeys([*kept, *texts], str),
            keep_default_na=False,
            na_values=missing,
            low_memory=False,
            **options,
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


def without_lines(text: str, n: int) -> str:
    """Leave out the first lines of a text."""
    return "".join(text.splitlines(keepends=True)[n:]) if n else text


def titles_in(start: str) -> int:
    """Count the lines above the header of a text: they have one cell alone, and the ones below have as many as it."""
    lines, found = start.splitlines()[:LINES], []
    for separator in SEPARATORS:
        with suppress(csv.Error):
            found.append(header_in(list(csv.reader(lines, delimiter=separator))))
    return min((at for at in found if at is not None), default=0)
