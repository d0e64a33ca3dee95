"""Files whose library may bring the process down are read by another process first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError

SECONDS = 60.0  # that a file may take, and as many again for each of these bytes
BYTES = 2**27
CODE = "import sys; from mtcluster.cli.readers.probing import read; read(sys.argv[1], int(sys.argv[2]))"


def probe(path: Path, limit: int) -> None:
    """Refuse an HDF5 file that a process of its own cannot read, or that unpacks to more than `limit` bytes."""
    seconds = SECONDS * (1 + path.stat().st_size / BYTES)
    command = [sys.executable, "-c", CODE, str(path), str(limit)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        late = f"it takes more than {seconds:.0f} s, so it is probably damaged"
        raise InputError(f"{path} cannot be read as .h5ad: {late}.") from None
    if done.returncode < 0:
        raise InputError(f"{path} is damaged: the HDF5 library crashed on it.")
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it is damaged"])[-1]
        raise InputError(f"{path} cannot be read as .h5ad: {reason[:200]}")


def read(path: str, limit: int) -> None:
    """Read every part of a file, and look whether sparse matrices point outside of themselves."""
    import h5py

    total = 0

    def measure(_: str, item: Any) -> None:
        nonlocal total
        if isinstance(item, h5py.Dataset):
            total += int(item.size or 0) * max(int(item.dtype.itemsize), 1)

    def check(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            item[()]
        elif {"indices", "indptr", "data"} <= set(item) and not _within(item):
            sys.exit(f"the sparse matrix {name} points outside of itself.")

    with h5py.File(path, "r") as file:
        file.visititems(measure)
        if total > limit:
            sys.exit(f"it would take {total} bytes of memory, more than the limit of {limit} (--max-bytes).")
        file.visititems(check)


def _within(group: Any) -> bool:
    """Whether the parts of a sparse matrix fit together."""
    indices, indptr, n = np.asarray(group["indices"]), np.asarray(group["indptr"]), len(group["data"])
    shape, kind = group.attrs.get("shape"), str(group.attrs.get("encoding-type", "csr_matrix"))
    if shape is None or indptr.ndim != 1 or indices.ndim != 1:
        return False
    major, minor = (int(size) for size in (shape if "csr" in kind else shape[::-1]))
    if len(indptr) != major + 1 or indptr[0] != 0 or not int(indptr[-1]) == len(indices) == n:
        return False
    steps = np.diff(indptr.astype(np.int64))
    return bool((steps >= 0).all() and (n == 0 or 0 <= indices.min() <= indices.max() < minor))
