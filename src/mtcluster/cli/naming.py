"""Files that come from elsewhere or go there: names that do no harm, and folders as one file."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .readers.base import COMPRESSED

LONGEST_NAME = 100  # characters of the name of a file
PIECE = 2**20  # bytes of a zip file that are given at a time


def safe_name(name: str) -> str:
    r"""Make the name of a file out of what a browser calls it: no folder, no hidden file, nothing that a shell reads.

    Examples
    --------
    >>> safe_name("../../etc/passwd.csv"), safe_name("C:\\data\\wine list.csv"), safe_name("-x.csv"), safe_name("..")
    ('passwd.csv', 'wine list.csv', 'x.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(c if c.isalnum() or c in " ._-()+" else "_" for c in last).strip(" .-_")
    suffixes = Path(kept).suffixes[-2:] if Path(kept).suffix.lower() in COMPRESSED else Path(kept).suffixes[-1:]
    end = "".join(suffixes)[-20:]
    return (kept[: len(kept) - len(end)][: LONGEST_NAME - len(end)] or "table") + end


def free_name(name: str, taken: list[str]) -> str:
    """Number a name that is taken, whatever its case."""
    known, path, n = {one.casefold() for one in taken}, Path(name), 1
    while name.casefold() in known:
        n += 1
        name = f"{path.stem}-{n}{path.suffix}"
    return name


def zipped(folder: Path) -> Iterator[bytes]:
    """Pack a folder, piece by piece."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.write(path, path.relative_to(folder))
    out.seek(0)
    while piece := out.read(PIECE):
        yield piece
