"""A program of its own that reads a file to its end, `python _probe.py FILE LIMIT`, and may crash on it."""

import sys


def read_cells(path: str, limit: int) -> None:
    """Read every part of an HDF5 file, and look whether sparse matrices point outside of themselves."""
    import h5py

    total = 0

    def measure(_, item):  # type: ignore[no-untyped-def]
        nonlocal total
        if isinstance(item, h5py.Dataset):
            total += int(item.size or 0) * max(int(item.dtype.itemsize), 1)

    def check(name, item):  # type: ignore[no-untyped-def]
        if isinstance(item, h5py.Dataset):
            item[()]
        elif {"indices", "indptr", "data"} <= set(item) and not within(item):
            sys.exit(f"the sparse matrix {name} points outside of itself.")

    with h5py.File(path, "r") as file:
        file.visititems(measure)
        if total > limit:
            sys.exit(f"it would take {total} bytes of memory, more than the limit of {limit} (--max-bytes).")
        file.visititems(check)


def within(group) -> bool:  # type: ignore[no-untyped-def]
    """Tell whether the parts of a sparse matrix fit together."""
    import numpy as np

    indices, indptr, n = np.asarray(group["indices"]), np.asarray(group["indptr"]), len(group["data"])
    shape, kind = group.attrs.get("shape"), str(group.attrs.get("encoding-type", "csr_matrix"))
    if shape is None or indptr.ndim != 1 or indices.ndim != 1:
        return False
    major, minor = (int(size) for size in (shape if "csr" in kind else shape[::-1]))
    if len(indptr) != major + 1 or indptr[0] != 0 or not int(indptr[-1]) == len(indices) == n:
        return False
    steps = np.diff(indptr.astype(np.int64))
    return bool((steps >= 0).all() and (n == 0 or 0 <= indices.min() <= indices.max() < minor))


def read_matrix(path: str, limit: int) -> None:
    """Read a Matrix Market file."""
    from scipy.io import mmread

    mmread(path)


if __name__ == "__main__":
    file, limit = sys.argv[1], int(sys.argv[2])
    (read_cells if file.endswith(".h5ad") else read_matrix)(file, limit)
