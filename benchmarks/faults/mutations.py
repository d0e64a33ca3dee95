"""Changes of files: of single bytes anywhere, and of what the parts of a kind of file say about each other."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ZIPPED = ("xlsx", "npz", "skops")
UNPACKED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gz": (gzip.decompress, gzip.compress),
    "bz2": (bz2.decompress, bz2.compress),
    "xz": (lzma.decompress, lzma.compress),
}
TOKENS = (b"\0", b"\xff\xfe", b"nan", b"1e999", b'"', b",,,,", b"-", b"99999999999999999999", b"\n\n", b"{{{{")
NUMBERS = (b"0", b"-1", b"1", b"2147483648", b"9223372036854775807", b"99999999999", b"1e400", b"nan", b"3.5", b"")
CELLS = (b"A1", b"ZZZ9999999", b"XFD1048576", b"A0", b"1A", b"", b"AAAAAAA1", b"B-2", b"$C$3")
TYPES = (b"<f8", b"<f2", b"|O", b"<U1", b"<i8", b"|b1", b"<c16", b"|V8", b">f4", b"<M8[ns]")
Mutation = Callable[[bytes, np.random.Generator], bytes]


def mutated(suffix: str, data: bytes, rng: np.random.Generator) -> bytes:
    """A file with a few changes: a third of the time in its structure, and of archives often within a member."""
    last = suffix.rpartition(".")[2]
    if last in STRUCTURAL and rng.random() < 0.35:
        return STRUCTURAL[last](data, rng)
    if last in ZIPPED and rng.random() < 0.5:
        return within(data, changed, rng)
    if last in UNPACKED and rng.random() < 0.5:
        unpack, pack = UNPACKED[last]
        return pack(changed(unpack(data), rng))
    return changed(data, rng)


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes of some bytes."""
    for _ in range(int(rng.integers(1, 5))):
        at, n = int(rng.integers(len(data) + 1)), int(rng.choice([1, 1, 2, 8, 64]))
        before, here, after = data[:at], data[at : at + n], data[at + n :]
        flipped = bytes(byte ^ (1 << int(rng.integers(8))) for byte in here[:1]) + here[1:]
        inserted = _one(TOKENS, rng)
        choices = (rng.bytes(n), b"", here + rng.bytes(n), here * 50, flipped, inserted + here)
        i = int(rng.integers(len(choices) + 1))
        data = before if i == len(choices) else before + choices[i] + after
    return data


def within(data: bytes, how: Mutation, rng: np.random.Generator, names: str = "") -> bytes:
    """An archive with one member changed or, sometimes, left out; `names`: a pattern of those that may be."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        able = [name for name in old.namelist() if re.search(names, name)]
        chosen = able[int(rng.integers(len(able)))]
        for name in old.namelist():
            content = old.read(name)
            if name == chosen:
                if rng.random() < 0.1:
                    continue
                content = how(content, rng)
            new.writestr(name, content)
    return buffer.getvalue()


def _one(choices: Any, rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _replaced(pattern: bytes, others: tuple[bytes, ...]) -> Mutation:
    """Replace the first group of one or a few matches of a pattern."""

    def how(data: bytes, rng: np.random.Generator) -> bytes:
        for _ in range(int(rng.integers(1, 4))):
            found = list(re.finditer(pattern, data))
            if not found:
                return changed(data, rng)
            one = _one(found, rng)
            data = data[: one.start(1)] + _one(others, rng) + data[one.end(1) :]
        return data

    return how


def _at_the_end(share: float, most: int) -> Mutation:
    """Change bytes in the last part of a file, where Parquet and zip files describe themselves."""

    def how(data: bytes, rng: np.random.Generator) -> bytes:
        n = min(most, int(share * len(data)))
        end = bytearray(data[-n:])
        for _ in range(int(rng.integers(1, 4))):
            end[int(rng.integers(len(end)))] = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))]))
        return data[:-n] + bytes(end)

    return how


def _zip_header(data: bytes, rng: np.random.Generator) -> bytes:
    """Change sizes, names and offsets in the headers of an archive."""
    starts = [one.start() for one in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", data)]
    at = _one(starts, rng) + int(rng.integers(4, 46))
    return data[:at] + rng.bytes(int(rng.choice([1, 2, 4]))) + data[at + int(rng.choice([1, 2, 4])) :]


def _hdf5(data: bytes, rng: np.random.Generator) -> bytes:
    """Change, replace or remove a data set or an attribute."""
    import h5py

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.h5ad")
        path.write_bytes(data)
        with h5py.File(path, "r+") as file:
            names: list[str] = []
            file.visit(names.append)
            chosen = _one(names, rng)
            _change_node(file, chosen, rng)
        return path.read_bytes()


def _change_node(file: Any, name: str, rng: np.random.Generator) -> None:
    node, what = file[name], int(rng.integers(5))
    others = (np.zeros(0), np.full((2, 2), np.nan), np.array([-1, 2**40]), np.bytes_(b"x"), 3.5, np.arange(41))
    if what == 0:
        del file[name]
    elif what == 1 and len(node.attrs):
        key = _one(sorted(node.attrs), rng)
        node.attrs[key] = _one(("csr_matrix", "array", "no such type", 7, np.array([3, 3]), np.array([2**40, 3])), rng)
    elif what == 2 and len(node.attrs):
        del node.attrs[_one(sorted(node.attrs), rng)]
    elif what == 3 and hasattr(node, "shape") and node.shape and node.dtype.kind in "iuf" and node.size:
        node[int(rng.integers(len(node)))] = _one((-1, 2**31 - 1, 100), rng)
    else:
        kept = dict(node.attrs)
        del file[name]
        file[name] = _one(others, rng)
        file[name].attrs.update(kept)


def _several(*ways: Mutation) -> Mutation:
    return lambda data, rng: _one(ways, rng)(data, rng)


_SHEET = _replaced(rb'<c r="([^"]*)"', CELLS)
_CELL = _replaced(
    rb'<c [^>]*?(t="\w+"|s="\d+")', (b't="s"', b't="b"', b't="e"', b't="d"', b's="999"', b't="inlineStr"')
)
_SHAPE = _replaced(rb"'shape': \((\d*),?", NUMBERS)
_KIND = _replaced(rb"'descr': '([^']*)'", TYPES)
STRUCTURAL: dict[str, Mutation] = {
    "parquet": _at_the_end(0.6, 3_000),
    "feather": _at_the_end(0.5, 2_000),
    "xlsx": _several(
        lambda data, rng: within(data, _several(_SHEET, _CELL), rng, r"sheets/"),
        lambda data, rng: within(data, _replaced(rb'="(\d+)"', NUMBERS), rng, r"\.xml$"),
        _zip_header,
    ),
    "npz": _several(lambda data, rng: within(data, _several(_SHAPE, _KIND), rng), _zip_header),
    "skops": _several(lambda data, rng: within(data, _several(_SHAPE, _KIND, changed), rng, "npy|json"), _zip_header),
    "mtx": _replaced(rb"\n *(\d+) ", NUMBERS),
    "h5ad": _hdf5,
    "json": _replaced(rb": ([^,\n]+),", (b"null", b"[]", b"{}", b'"x"', b"1e999", b"-1", b"true", b"NaN", b"")),
}  # fmt: skip
