"""Arrays of any library: dense rows, sparse rows, rows picked from a matrix; pieces of them, and their summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Foreign = Any  # type: ignore[explicit-any]  # what array libraries have that NumPy does not know: arrays, devices
Dtype = Foreign  # of numbers, as NumPy or another library has it
Array = NDArray[Foreign]  # or an array of another library, where it holds a value per row
Matrix = Foreign  # rows: a dense array, a CSR matrix, or `Picked` rows of one of them; what has `shape` and `[a:b]`
Part: TypeAlias = "slice[int, int, None]"  # rows that stand together
Each = Callable[[Callable[[Foreign], Foreign], Sequence[Foreign]], Iterable[Foreign]]  # `map`, or one with threads

PIECE = 2**18  # numbers of X, and of values per row, that are worked on at a time: they stay in the cache
LARGEST_PIECE = 2**21  # large data are cut into larger pieces: between NumPy calls a piece keeps all others waiting
MOST_PIECES = 512  # from which pieces become larger
MOST_ROWS, LEAST_ROWS = 2**13, 2**6  # of a piece: in longer sums single precision would drift
DEVICE_ROWS = 2**10  # rows that an accelerator adds up in one sum of a batch: what an H200 is fastest with
NOTHING = 1e-5  # share of a weight that may be rounding of a sum in single precision
MOST_SMALL = 64
_KEPT: dict[tuple[object, ...], Array] = {}
DEVICE_PIECE = 2**28  # an accelerator has no such cache, and starting a piece costs it more


@dataclass(frozen=True)
class Picked:
    """Rows of a matrix that stand apart in it, fetched when they are asked for: a copy of all would double X."""

    matrix: Matrix
    index: Array
    xp: ModuleType = np

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features)."""
        return int(self.index.shape[0]), self.matrix.shape[1]

    @property
    def dtype(self) -> Dtype:
        """Floating type."""
        return self.matrix.dtype

    def __getitem__(self, part: Foreign) -> Matrix:
        if hasattr(self.matrix, "tocsr") or self.xp is np:  # np.take would copy all of a matrix that lies by columns
            return self.matrix[self.index[part]]
        return self.xp.take(self.matrix, self.index[part], axis=0)


def is_sparse(X: Matrix) -> bool:
    """Tell whether the rows are sparse, of SciPy's kind or CuPy's."""
    return hasattr(getattr(X, "matrix", X), "tocsr")


def dense(X: Matrix) -> Array:
    """Make a dense array of rows, or take them as they are."""
    return X.toarray() if is_sparse(X) else X


def rows_at(X: Matrix, part: Part) -> Matrix:
    """Take some rows, one after the other; to take all of them costs nothing."""
    if isinstance(X, Picked):
        return X[part]
    if part.start == 0 and part.stop == X.shape[0]:
        return X
    return X[part] if is_sparse(X) else X[part, ...]


def pieces(X: Matrix, n_columns: int = 1, numbers: int = PIECE) -> list[Part]:
    """Get parts of the rows of X, of at most so many numbers together with the columns that are computed for them."""
    n, d = X.shape
    matrix: Matrix = getattr(X, "matrix", X)
    if is_sparse(matrix):
        nonzeros = max(matrix.nnz / max(matrix.shape[0], 1), 1)  # of a row
        # Every piece brings a sum of the size of the centres, which must not outweigh it.
        rows = max(int(numbers / (nonzeros + 4 * n_columns)), int(4 * d / nonzeros), LEAST_ROWS)
    elif isinstance(matrix, np.ndarray):
        rows = max(min(numbers // (d + 4 * n_columns), MOST_ROWS), LEAST_ROWS, 2 * n_columns)
    else:
        rows = max(DEVICE_PIECE // (d + 4 * n_columns), MOST_ROWS)
    if rows >= n:
        return [slice(0, n)]
    count = -(-n // rows)
    return [slice(i * n // count, (i + 1) * n // count) for i in range(count)]


def squared_norms(X: Matrix, origin: Array, xp: ModuleType = np) -> Array:
    """Compute ‖x − origin‖² of each row, the origin 0 where a sparse X has no entry; infinite where it overflows."""
    with np.errstate(over="ignore"):
        if is_sparse(X):
            values = X.data - like(origin, X.data, xp)[X.indices] if origin.any() else X.data
            squares = type(X)((values**2, X.indices, X.indptr), shape=X.shape)
            return xp.asarray(squares.sum(axis=1), dtype=X.dtype).ravel()
        moved = X - like(origin, X, xp) if origin.any() else X
        squares = xp.sum(moved * moved, axis=1)
        return xp.sum(without_gaps(moved, xp) ** 2, axis=1) if has_gaps(squares, xp) else squares


def has_gaps(values: Array, xp: ModuleType = np) -> bool:
    """Tell whether some values are not there (NaN)."""
    return bool(xp.isnan(xp.sum(values)))


def without_gaps(X: Array, xp: ModuleType = np, instead: float | Array = 0.0) -> Array:
    """Return dense rows with something else in place of NaN."""
    return xp.where(xp.isnan(X), xp.asarray(instead, dtype=X.dtype, device=getattr(X, "device", None)), X)


@dataclass(frozen=True)
class ColumnPlaces:
    """Where the columns of a data set stand among those of all."""

    own: tuple[int, ...]  # numbers of its columns
    among: tuple[int, ...]  # their numbers among all
    width: int  # number of all

    def place(self, X: Array) -> Array:
        """Make a matrix with all columns; values that it has not are missing."""
        out = np.full((X.shape[0], self.width), np.nan, dtype=X.dtype)
        out[:, list(self.among)] = X[:, list(self.own)]
        return out


def entry_counts(X: Matrix, xp: ModuleType = np) -> Array:
    """Compute (d,) entries of a sparse X in each column."""
    return host(xp.bincount(X.indices, minlength=X.shape[1]))


@dataclass(frozen=True)
class Summary:
    """What one pass over the rows of each task tells: how many there are, where they lie and how long they are."""

    rows: Array  # (m,) number of rows
    counting: Array  # (m,) number of rows with u > 0
    sizes: Array  # (m,) Σ u
    sums: Array  # (m, d) Σ u x
    entries: Array  # (m, d) rows with an entry in each column, or (m, 1) where rows are dense
    energy: float  # Σ u ‖x‖² over all tasks
    filled: float  # Σ u over the rows that are not all zero
    shortest: float  # smallest and largest ‖x‖² > 0 of the rows with u > 0
    longest: float
    observed: Array  # (m, d) Σ u over the rows that have a value in a column, or (m, 1) where none is missing
    gaps: int = 0  # number of values that are missing

    @property
    def means(self) -> Array:
        """(m, d) mean of each task; of all tasks in columns that it has not."""
        found = self.sums / np.where(self.observed > 0, self.observed, 1)
        if self.gaps and np.any(self.observed == 0):
            total = np.broadcast_to(self.observed, self.sums.shape).sum(axis=0)
            found = np.where(self.observed > 0, found, self.sums.sum(axis=0) / np.where(total > 0, total, 1))
        return found

    @property
    def missing(self) -> Array:
        """(m, d) share of the rows of each task, by u, without a value in a column; rows without any are left out."""
        if not self.gaps:
            return np.zeros(self.sums.shape)
        sizes = np.where(self.sizes > 0, self.sizes, 1)[:, None]
        return np.broadcast_to(np.clip(1 - self.observed / sizes, 0, 1), self.sums.shape).copy()

    @property
    def centers(self) -> Array:
        """(m, d) means, but 0 in columns where a sparse X has zeros: from there distances keep their digits."""
        return np.where(self.entries == self.rows[:, None], self.means, 0)

    def __add__(self, other: Summary) -> Summary:
        pairs = {field.name: (getattr(self, field.name), getattr(other, field.name)) for field in fields(self)}
        extremes = {"shortest": min(pairs.pop("shortest")), "longest": max(pairs.pop("longest"))}
        return Summary(**{name: a + b for name, (a, b) in pairs.items()}, **extremes)


@np.errstate(over="ignore", invalid="ignore")  # what cannot be worked with is refused by those who ask for sums
def summarize(Xs: Sequence[Matrix], us: Sequence[Array], xp: ModuleType = np) -> Summary:
    """Return the summary of the rows of each task, each read once."""
    m, d = len(Xs), int(Xs[0].shape[1])
    sums, energy, filled, shortest, longest = np.zeros((m, d)), 0.0, 0.0, np.inf, 0.0
    rows = np.array([X.shape[0] for X in Xs])
    sizes = np.array([float(xp.sum(u, dtype=xp.float64)) for u in us])
    entries = np.zeros((m, d), dtype=int) if is_sparse(Xs[0]) else rows[:, None]
    missing, gaps = np.zeros((m, d)), 0
    for k, (X, u) in enumerate(zip(Xs, us, strict=True)):
        for part in pieces(X) if X.shape[0] else []:
            some, w = rows_at(X, part), u[part]
            total = host(some.T @ w)
            if not is_sparse(some) and np.isnan(total).any():
                G = xp.isnan(some)
                gaps += int(xp.sum(xp.astype(G, xp.int64)))
                missing[k] += host(xp.astype(G, w.dtype).T @ w)
                total = host(without_gaps(some, xp).T @ w)
            sums[k] += total
            if is_sparse(some):
                entries[k] += entry_counts(some, xp)
            squares, w = host(squared_norms(some, np.zeros(d), xp)).astype(np.float64), host(w).astype(np.float64)
            energy += float(w @ squares)
            filled += float(w[squares > 0].sum())
            squares = squares[(w > 0) & (squares > 0)]
            shortest, longest = squares.min(initial=shortest), squares.max(initial=longest)
    observed = remaining(sizes[:, None], missing) if gaps else sizes[:, None]
    counting = np.array([int(np.count_nonzero(host(u) > 0)) for u in us])
    return Summary(
        rows, counting, sizes, sums, entries, energy, filled, float(shortest), float(longest), observed, gaps
    )


def remaining(total: Array, missing: Array) -> Array:
    """Return the weight of the rows that have a value; 0 where the rest is rounding."""
    found = total - missing
    return np.where(found > NOTHING * total, found, 0.0)


def host(values: Foreign) -> Array:
    """Make an array of any library in NumPy's memory."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    if hasattr(values, "cpu"):  # PyTorch
        return np.asarray(values.detach().cpu())
    if hasattr(values, "get"):  # CuPy
        return np.asarray(values.get())
    return np.from_dlpack(values, device="cpu")


def like(values: Array, array: Array, xp: ModuleType) -> Array:
    """Make a small array of NumPy's in the type and in the place of another."""
    if xp is np:
        return values.astype(array.dtype, copy=False)
    name = str(array.dtype).rpartition(".")[2]
    return xp.asarray(values.astype(name), dtype=array.dtype, device=array.device)


def zero(dtype: Dtype, device: Foreign, xp: ModuleType) -> Array:
    """Make a 0 to compare with."""
    return _kept(("zero", str(dtype), str(device), xp.__name__), lambda: xp.zeros((1,), dtype=dtype, device=device))


def arange(n: int, device: Foreign, xp: ModuleType) -> Array:
    """Compute 0, …, n − 1."""
    return _kept((n, "", str(device), xp.__name__), lambda: xp.arange(n, device=device))


def _kept(key: tuple[object, ...], make: Callable[[], Array]) -> Array:
    """Make a small array, kept for the next time, because accelerators are slow at making them; few are kept."""
    if key not in _KEPT:
        if len(_KEPT) >= MOST_SMALL:
            _KEPT.clear()
        _KEPT[key] = make()
    return _KEPT[key]


@lru_cache(maxsize=256)
def batch_of(n: int) -> int:
    """Return rows of each sum of a batch, such that few rows or none are left over."""
    return min(range(DEVICE_ROWS, DEVICE_ROWS // 2, -1), key=lambda size: n % size)


def not_finite(X: Matrix, xp: ModuleType = np, *, missing: bool = False) -> Array:
    """Tell which rows hold NaN or infinity; `missing`: NaN in dense rows is a value that is not there."""
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if missing and not is_sparse(X) and not np.isfinite(float(xp.sum(values))):
            return np.flatnonzero(host(xp.any(xp.isinf(values), axis=1)))
        if np.isfinite(float(xp.sum(values))) or bool(xp.all(xp.isfinite(values))):
            return np.zeros(0, dtype=np.intp)
        if is_sparse(X):
            marked = type(X)((~xp.isfinite(values) * 1.0, X.indices, X.indptr), shape=X.shape)
            return np.flatnonzero(host(marked.sum(axis=1)).ravel())
        return np.flatnonzero(~host(xp.all(xp.isfinite(values), axis=1)))
