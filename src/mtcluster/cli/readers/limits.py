"""What a file would unpack to, told before it is read: a small file must not exhaust the memory."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InputError
from .base import COMPRESSED, OPENERS, kind_of

CHUNK = 2**22  # bytes that are read at a time
MOST_RATIO = 1100  # to which gzip can compress
CELL_PLACE = re.compile(rb'<c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
CELL_BYTES = 64  # of a cell of Excel in memory
NUMBER_BYTES = 8
NAME_BYTES = 64  # of the name of a feature in memory
LONGEST_NAME = 1000  # characters of the name of a column


def default_limit() -> int:
    """Half of the memory of this machine, in bytes; 8 GiB where the system does not tell it."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) // 2
    except (AttributeError, OSError, ValueError):
        return 2**33


def check_size(path: Path, limit: int) -> None:
    """Refuse a file that would unpack to more than so many bytes, as far as that can be told before."""
    measure = MEASURES.get(kind_of(path))
    if path.suffix.lower() in COMPRESSED:
        measure = _of_compressed
    size = 0 if measure is None else measure(path, limit)
    if size > limit:
        raise InputError(
            f"{path} would take {_readable(size)} of memory, more than the limit of {_readable(limit)}: raise it with "
            "--max-bytes if that is right, or see --out-of-core."
        )


def _of_compressed(path: Path, limit: int) -> int:
    suffix, size = path.suffix.lower(), 0
    if suffix == ".gz" and path.stat().st_size * MOST_RATIO < limit:
        return 0
    with _opened(path, suffix) as file:
        while size <= limit and (part := file.read(CHUNK)):
            size += len(part)
    return size


def _opened(path: Path, suffix: str) -> Any:
    if suffix in OPENERS:
        return OPENERS[suffix](path, "rb")
    import pyarrow as pa

    return pa.input_stream(str(path), compression="zstd")


def _of_feather(path: Path, limit: int) -> int:
    """Batches of rows in memory, one after the other; files of Feather's first version are not compressed."""
    import pyarrow as pa

    size = 0
    with pa.memory_map(str(path)) as source:
        if source.read(4) == b"FEA1":
            return path.stat().st_size
        with pa.ipc.open_file(source) as file:
            for i in range(file.num_record_batches):
                size += file.get_batch(i).nbytes
                if size > limit:
                    break
    return size


def _of_zip(path: Path, limit: int) -> int:
    with zipfile.ZipFile(path) as archive:
        return sum(item.file_size for item in archive.infolist())


def _of_excel(path: Path, limit: int) -> int:
    """Cells of the largest sheet, from the first to the last one that has a value in either direction."""
    unpacked = _of_zip(path, limit)
    if unpacked > limit:
        return unpacked
    most = 0
    with zipfile.ZipFile(path) as archive:
        sheets = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
        for name in sheets:
            with archive.open(name) as file:
                most = max(most, _cells(file))
    return most * CELL_BYTES


def _cells(file: Any) -> int:
    columns = rows = 0
    tail = b""
    while part := file.read(CHUNK):
        for letters, digits in CELL_PLACE.findall(tail + part):
            columns, rows = max(columns, _column(letters)), max(rows, int(digits))
        tail = part[-200:]
    return columns * rows


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _of_parquet(path: Path, limit: int) -> int:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        found = file.metadata
        encoded = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
        return max(encoded, NUMBER_BYTES * found.num_rows * found.num_columns)


def _of_market(path: Path, limit: int) -> int:
    """Numbers of a Matrix Market file, by its first lines; zero bytes are refused: SciPy's reader crashes on them."""
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            if b"\0" in part:
                raise InputError(f"{path} cannot be read as .mtx: it is not a text file, as it contains zero bytes.")
        file.seek(0)
        head = file.readline(1000).lower()
        line = file.readline(10_000)
        while line.lstrip().startswith(b"%") or line.strip() == b"":
            if not line:
                return 0
            line = file.readline(10_000)
    sizes = [int(word) for word in line.split() if word.isdigit()]
    if b"coordinate" not in head:
        return NUMBER_BYTES * sizes[0] * sizes[1] if len(sizes) > 1 else 0
    return NUMBER_BYTES * (sizes[0] + 3 * sizes[2]) + NAME_BYTES * sizes[1] if len(sizes) > 2 else 0


def _readable(size: int) -> str:
    for unit, n in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= n:
            return f"{size / n:,.1f} {unit}"
    return f"{size} bytes"


MEASURES: dict[str, Callable[[Path, int], int]] = {
    ".npz": _of_zip,
    **dict.fromkeys((".xlsx", ".xlsm"), _of_excel),
    **dict.fromkeys((".parquet", ".pq"), _of_parquet),
    **dict.fromkeys((".feather", ".arrow"), _of_feather),
    ".mtx": _of_market,
}
