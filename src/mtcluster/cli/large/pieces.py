"""Files larger than memory, cut into pieces that are read one by one."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..._utils.files import may_pass
from ...preprocessing import TableError
from ...preprocessing._cells import single_values
from ..errors import ADVICE, InputError
from ..readers.base import kind_of
from ..readers.delimited import MISSING_CELLS, separator_of, start_of, titles_in
from ..readers.tables import ROW, check_names, nameless

PIECE_BYTES = 2**24  # bytes of a piece as floats
PARQUET = (".parquet", ".pq")
NAMELESS = ("", "Unnamed: 0")  # how a first column without a name is called in files
ATTEMPTS = 3  # to read a piece, as file systems of networks may fail once
MANY_PIECES = 4  # pieces of one row group from which on it is told that reading takes long


@dataclass(frozen=True)
class Piece:
    """Some rows of a file that are read together."""

    path: str
    first: int = 0  # row in the file; of a text file it is known once rows have been counted
    n_rows: int = 0
    groups: tuple[int, ...] = ()  # of Parquet
    skip: int = 0  # rows of these groups before the first
    start: int = 0  # byte of a text file
    stop: int = 0
    header: bytes = b""

    @property
    def is_parquet(self) -> bool:
        """Whether it is part of a Parquet file, whose columns are read one by one."""
        return kind_of(Path(self.path)) in PARQUET


def columns_in(path: Path, encoding: str | None, skip: int | None = None) -> list[str]:
    """Find the names of the columns of a file, of which little is read."""
    if kind_of(path) in PARQUET:
        names = [name for name in _parquet(path).schema_arrow.names if not name.startswith("__index_level_")]
    else:
        names = list(_parse(_header(path, encoding, skip)[0], b"", [], encoding).columns)
    names = _called(names)
    check_names(path, names)
    return names


def cut(path: Path, columns: Sequence[str], encoding: str | None = None, skip: int | None = None) -> list[Piece]:
    """Read the pieces of a file of which some columns are used."""
    return _cut_parquet(path, columns) if kind_of(path) in PARQUET else _cut_text(path, encoding, skip)


def titles_of(path: Path, encoding: str | None, skip: int | None) -> int:
    """Count the lines above the header of a file that are left out."""
    if kind_of(path) in PARQUET:
        return 0
    if skip is not None:
        return skip
    try:
        return titles_in(start_of(path, encoding))
    except ValueError as error:
        raise InputError(f"{path} cannot be read as {kind_of(path)}: {error}") from error


def read_piece(
    piece: Piece, columns: Sequence[str], kept: Sequence[str], encoding: str | None, texts: Sequence[str] = ()
) -> Any:
    """Take some columns of a piece as a data frame; those that are `kept` are texts in a text file, and so are `texts`.

    Of the columns that are `kept` only empty cells are missing.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            frame = _read_parquet(piece, columns) if piece.is_parquet else _read_text(piece, kept, encoding, texts)
            break
        except MemoryError:
            raise
        except Exception as error:  # pyarrow and the file system have errors of their own for damaged files
            cause = error.__cause__ if isinstance(error, InputError) else error
            if left and isinstance(cause, OSError) and may_pass(cause):
                continue
            if isinstance(error, InputError):
                raise
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(f"{piece.path} cannot be read: {reason}") from error
    lacking = [name for name in columns if name not in frame.columns]
    if lacking:
        raise InputError(f"{piece.path} has no column {lacking[0]!r} any more: was it changed meanwhile?")
    try:
        return single_values(frame[list(columns)])
    except TableError as error:
        raise InputError(f"{piece.path}: {error.problem}: {ADVICE[error.kind]}.") from error


def _called(names: Sequence[Any]) -> list[str]:
    """Names of columns as they are used: a first one without a name holds the ids of the rows."""
    found = [str(name).strip() for name in names]
    return [ROW, *found[1:]] if found and nameless(found[0]) else found


def large_groups(pieces: Sequence[Piece]) -> list[str]:
    """Write a note on Parquet files whose row groups are so large that each is read several times."""
    cuts: dict[tuple[str, tuple[int, ...]], int] = {}
    for piece in pieces:
        if piece.is_parquet and len(piece.groups) == 1:
            key = (piece.path, piece.groups)
            cuts[key] = cuts.get(key, 0) + 1
    slow = sorted({path for (path, _), n in cuts.items() if n >= MANY_PIECES})
    if not slow:
        return []
    others = f" and {len(slow) - 1} others have" if len(slow) > 1 else " has"
    return [f"{slow[0]}{others} large row groups, which are read several times; smaller ones would be read faster."]


def _parquet(path: str | Path) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20)
    except Exception as error:  # pyarrow has errors of its own for damaged files
        raise InputError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())[:200]}") from error


def _cut_parquet(path: Path, columns: Sequence[str]) -> list[Piece]:
    """Groups of rows together up to the size of a piece, or parts of one that is larger."""
    found = _parquet(path).metadata
    share = len(columns) / max(found.num_columns, 1)
    pieces: list[Piece] = []
    first = 0
    for g in range(found.num_row_groups):
        group = found.row_group(g)
        wide = max(8 * len(columns), share * group.total_byte_size / max(group.num_rows, 1), 1)
        most, n = max(int(PIECE_BYTES // wide), 1), group.num_rows
        last = pieces[-1] if pieces else None
        if last is not None and not last.skip and last.n_rows + n <= most:
            pieces[-1] = replace(last, n_rows=last.n_rows + n, groups=(*last.groups, g))
        else:
            parts = -(-n // most)
            edges = [n * i // max(parts, 1) for i in range(parts + 1)]
            pieces += [Piece(str(path), first + i, j - i, (g,), i) for i, j in pairwise(edges)]
        first += n
    return pieces


def _read_parquet(piece: Piece, columns: Sequence[str]) -> Any:
    import pyarrow as pa

    file = _parquet(piece.path)
    known = file.schema_arrow.names
    names = [name for name, called in zip(known, _called(known), strict=True) if called in columns]
    whole = sum(file.metadata.row_group(g).num_rows for g in piece.groups) == piece.n_rows
    if whole:
        table = file.read_row_groups(list(piece.groups), columns=names, use_threads=False)
    else:
        table = pa.Table.from_batches(_batches(file, piece, names))
    called = [name for name in _called(known) if name in columns]
    frame = table.to_pandas(ignore_metadata=True, use_threads=False, split_blocks=True, self_destruct=True)
    return frame.set_axis(called, axis=1)


def _batches(file: Any, piece: Piece, names: list[str]) -> list[Any]:
    """Read the rows of a piece that is part of a group; those before it are read and forgotten."""
    found, at = [], 0
    for batch in file.iter_batches(2**16, row_groups=list(piece.groups), columns=names, use_threads=False):
        low, high = max(piece.skip - at, 0), min(piece.skip + piece.n_rows - at, len(batch))
        at += len(batch)
        if low < high:
            found.append(batch.slice(low, high - low))
        if at >= piece.skip + piece.n_rows:
            break
    return found


def _header(path: Path, encoding: str | None, skip: int | None) -> tuple[bytes, int]:
    """Read the line with the names of the columns, and find the byte where it ends."""
    with path.open("rb") as file:
        for _ in range(titles_of(path, encoding, skip)):
            file.readline()
        header = file.readline()
        return header, file.tell()


def _cut_text(path: Path, encoding: str | None, skip: int | None) -> list[Piece]:
    """Ranges of bytes; a line belongs to the range in which it begins."""
    (header, end), size = _header(path, encoding, skip), path.stat().st_size
    starts = [*range(end, size, PIECE_BYTES // 2), size]
    return [Piece(str(path), start=start, stop=stop, header=header) for start, stop in pairwise(starts)]


def _read_text(piece: Piece, kept: Sequence[str], encoding: str | None, texts: Sequence[str]) -> Any:
    with open(piece.path, "rb") as file:
        file.seek(piece.start - 1)
        begin = piece.start if file.read(1) == b"\n" else piece.start + len(file.readline())
        file.seek(max(begin, piece.start))
        body = file.read(max(piece.stop - begin, 0))
        if body and not body.endswith(b"\n"):
            body += file.readline()
    return _parse(piece.header, body, kept, encoding, texts)


def _parse(header: bytes, body: bytes, kept: Sequence[str], encoding: str | None, texts: Sequence[str] = ()) -> Any:
    """Lines of a text file as a data frame; only empty cells of columns that are `kept` are missing there."""
    import pyarrow as pa
    import pyarrow.csv

    text = header.decode(encoding or "utf-8-sig", errors="replace")
    separator = separator_of(text)
    convert = pa.csv.ConvertOptions(
        column_types={name: pa.string() for name in (*kept, *texts, *(NAMELESS if ROW in kept else ()))},
        null_values=MISSING_CELLS,
        strings_can_be_null=False,
    )
    read = pa.csv.ReadOptions(encoding=encoding or "utf8", use_threads=False, block_size=2**24)
    parse = pa.csv.ParseOptions(delimiter=separator)
    frame = pa.csv.read_csv(io.BytesIO(header + body), read, parse, convert).to_pandas(use_threads=False)
    frame.columns = _called(frame.columns)
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if column.dtype.kind == "O" or str(column.dtype) in ("str", "string"):
            frame.isetitem(j, column.mask(column.isin([""] if name in kept else MISSING_CELLS)))
    return frame
