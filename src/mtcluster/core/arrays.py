"""Rows of any array library: dense, sparse or picked from a matrix, piece by piece, and what one look at them tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # or an array of another library, where it holds something of every row
Matrix = Any  # rows: a dense array, a CSR matrix, or `Picked` rows of one of them; what has `shape` and `[a:b]`
Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]  # `map`, or one that uses threads

PIECE = 2**18  # numbers of X and of what belongs to its rows that are worked on at a time: they stay in the cache
LARGEST_PIECE = 2**21  # many threads need larger ones: between its calls of NumPy a piece keeps all others waiting
MOST_ROWS, LEAST_ROWS = 2**13, 2**6  # of a piece: in longer sums single precision would drift
DEVICE_PIECE = 2**28  # an accelerator has no such cache, and starting a piece costs it more
_MADE: dict[tuple[Any, str, str, str], Array] = {}  # see `zero` and `numbers`


@dataclass(frozen=True)
class Picked:
    """Rows of a matrix that stand apart in it, fetched when they are asked for: a copy of all would double X."""

    matrix: Any
    index: Array
    xp: Any = np

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features)."""
        return int(self.index.shape[0]), self.matrix.shape[1]

    @property
    def dtype(self) -> Any:
        """Floating type."""
        return self.matrix.dtype

    def __getitem__(self, part: Any) -> Any:
        if hasattr(self.matrix, "tocsr") or self.xp is np:  # np.take would copy all of a matrix that lies by columns
            return self.matrix[self.index[part]]
        return self.xp.take(self.matrix, self.index[part], axis=0)


def is_sparse(X: Matrix) -> bool:
    """Whether the rows are sparse, of SciPy's kind or CuPy's."""
    return hasattr(getattr(X, "matrix", X), "tocsr")


def rows_at(X: Matrix, part: slice) -> Any:
    """Some rows, one after the other; all of them cost nothing."""
    if isinstance(X, Picked):
        return X[part]
    if part.start == 0 and part.stop == X.shape[0]:
        return X
    return X[part] if is_sparse(X) else X[part, ...]


def pieces(X: Matrix, n_clusters: int = 1, numbers: int = PIECE) -> list[slice]:
    """Parts of the rows of X, of about so many numbers together with what is computed for them."""
    n, d = X.shape
    matrix: Any = getattr(X, "matrix", X)
    if is_sparse(matrix):
        nonzeros = max(matrix.nnz / max(matrix.shape[0], 1), 1)  # of a row
        # Every piece brings a sum of the size of the centres, which must not outweigh it.
        rows = max(int(numbers / (nonzeros + 4 * n_clusters)), int(4 * d / nonzeros), LEAST_ROWS)
    elif isinstance(matrix, np.ndarray):
        rows = max(min(numbers // (d + 4 * n_clusters), MOST_ROWS), LEAST_ROWS, 2 * n_clusters)
    else:
        rows = max(DEVICE_PIECE // (d + 4 * n_clusters), MOST_ROWS)
    if rows >= n:
        return [slice(0, n)]
    return [slice(a, min(a + rows, n)) for a in range(0, n, rows)]


def squared_norms(X: Matrix, origin: Array, xp: Any = np) -> Array:
    """‖x − origin‖² of each row, the origin 0 where a sparse X has no entry; infinite where it overflows."""
    with np.errstate(over="ignore"):
        if is_sparse(X):
            values = X.data - like(origin, X.data, xp)[X.indices] if origin.any() else X.data
            squares = type(X)((values**2, X.indices, X.indptr), shape=X.shape)
            return xp.asarray(squares.sum(axis=1), dtype=X.dtype).ravel()
        moved = X - like(origin, X, xp) if origin.any() else X
        return xp.sum(moved * moved, axis=1)


@dataclass(frozen=True)
class Summary:
    """What one look at the rows of each task tells: how many, where, and how long they are."""

    sizes: Array  # (m,) Σ u
    sums: Array  # (m, d) Σ u x
    counting: Array  # (m,) rows with u > 0
    energy: float  # Σ u ‖x‖² over all tasks
    filled: float  # Σ u over the rows that are not all zero
    shortest: float  # least and largest ‖x‖² > 0 of rows that count
    longest: float

    @property
    def means(self) -> Array:
        """(m, d) the mean of each task."""
        return self.sums / np.where(self.sizes > 0, self.sizes, 1)[:, None]

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            self.sizes + other.sizes,
            self.sums + other.sums,
            self.counting + other.counting,
            self.energy + other.energy,
            self.filled + other.filled,
            min(self.shortest, other.shortest),
            max(self.longest, other.longest),
        )


def summarize(Xs: Sequence[Matrix], us: Sequence[Array], xp: Any = np) -> Summary:
    """Rows of tasks, each seen once."""
    m, d = len(Xs), int(Xs[0].shape[1])
    sums, energy, filled, shortest, longest = np.zeros((m, d)), 0.0, 0.0, np.inf, 0.0
    for k, (X, u) in enumerate(zip(Xs, us, strict=True)):
        for part in pieces(X) if X.shape[0] else []:
            rows, w = rows_at(X, part), u[part]
            sums[k] += host(rows.T @ w)
            squares, w = host(squared_norms(rows, np.zeros(d), xp)).astype(np.float64), host(w).astype(np.float64)
            energy += float(w @ squares)
            filled += float(w[squares > 0].sum())
            squares = squares[(w > 0) & (squares > 0)]
            shortest, longest = squares.min(initial=shortest), squares.max(initial=longest)
    sizes = np.array([float(xp.sum(u, dtype=xp.float64)) for u in us])
    counting = np.array([int(np.count_nonzero(host(u) > 0)) for u in us])
    return Summary(sizes, sums, counting, energy, filled, float(shortest), float(longest))


def host(values: Any) -> Array:
    """An array of any library in NumPy's memory."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    if hasattr(values, "cpu"):  # PyTorch
        return np.asarray(values.detach().cpu())
    if hasattr(values, "get"):  # CuPy
        return np.asarray(values.get())
    return np.from_dlpack(values, device="cpu")


def like(values: Array, array: Array, xp: Any) -> Array:
    """A small array of NumPy's in the type and in the place of another."""
    if xp is np:
        return values.astype(array.dtype, copy=False)
    name = str(array.dtype).rpartition(".")[2]
    return xp.asarray(values.astype(name), dtype=array.dtype, device=array.device)


def zero(dtype: Any, device: Any, xp: Any) -> Array:
    """A 0 to compare or choose with, made once for each place: an accelerator is slow to make small arrays."""
    key = ("zero", str(dtype), str(device), xp.__name__)
    if key not in _MADE:
        _MADE[key] = xp.zeros((1,), dtype=dtype, device=device)
    return _MADE[key]


def numbers(n: int, device: Any, xp: Any) -> Array:
    """0, …, n − 1, made once for each place."""
    key = (n, "", str(device), xp.__name__)
    if key not in _MADE:
        _MADE[key] = xp.arange(n, device=device)
    return _MADE[key]
