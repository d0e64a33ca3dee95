"""The leading directions of a sample: those in which its rows differ most, and those in which the tasks lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from ..core.arrays import Array, Matrix, Picked, is_sparse, pieces, rows_at
from ..core.blocks import Block

FEW_FEATURES = 2**9  # up to so many, all directions are found at once, from the scatter of the rows
OVERSAMPLED, POWER_ROUNDS = 20, 3  # vectors beyond those wanted, and rounds, of the subspace iteration of dense rows
MOST_APART = 10  # directions in which the tasks lie apart, besides those in which rows differ
NEGLIGIBLE = 1e-6  # share of the length of the means of tasks that counts as nothing


def leading_directions(sample: list[Block], means: Array | None, dimensions: int, rng: np.random.Generator) -> Array:
    """Return orthonormal directions V (d, l): the leading ones of the rows, seen from the mean (m, d) of their task.

    `means` None: the rows are directions themselves and are seen from zero. Else the directions in which the means lie
    apart follow, so that rows keep their distances wherever the tasks are moved to.
    """
    origins = np.zeros((len(sample), sample[0].X.shape[1])) if means is None else means
    V = _leading([_Moved(b.X, origin) for b, origin in zip(sample, origins, strict=True)], dimensions, rng)
    if means is None:
        return V
    apart = means - means.mean(axis=0)
    rest = apart - (apart @ V) @ V.T
    _, lengths, turn = np.linalg.svd(rest, full_matrices=False)
    kept = lengths[:MOST_APART] > NEGLIGIBLE * np.linalg.norm(apart)
    return np.column_stack([V, turn[:MOST_APART][kept].T])


@dataclass(frozen=True)
class _Moved:
    """Rows of a task minus an origin, without writing them down."""

    X: Matrix
    origin: Array

    def times(self, V: Array) -> Array:
        """Return product with d × l."""
        return times(self.X, V) - self.origin @ V

    def transposed(self, u: Array) -> Array:
        """Return the product of the transposed rows with one number per row."""
        found = sum(np.asarray(rows_at(self.X, part).T @ u[part], dtype=np.float64) for part in _parts(self.X))
        return found - self.origin * u.sum()

    def scatter(self, V: Array) -> Array:
        """Return the product of the transposed rows with the rows with d × l: each is read once."""
        shift, total, found = self.origin @ V, np.zeros(V.shape[1]), np.zeros_like(V)
        for part in pieces(self.X, V.shape[1]):
            X = rows_at(self.X, part)
            Y = np.asarray(X @ V, dtype=np.float64) - shift
            found += X.T @ Y
            total += Y.sum(axis=0)
        return found - np.outer(self.origin, total)


def times(X: Matrix, V: Array) -> Array:
    """Compute X V, in float64."""
    return np.concatenate([np.asarray(rows_at(X, part) @ V, dtype=np.float64) for part in _parts(X)])


def _parts(X: Matrix) -> list[slice]:
    """Fetch rows that stand elsewhere piece by piece."""
    return pieces(X) if isinstance(X, Picked) else [slice(0, X.shape[0])]


def _leading(frames: list[_Moved], dimensions: int, rng: np.random.Generator) -> Array:
    """Return the leading right singular vectors (d, l) of all rows."""
    d, thin = frames[0].X.shape[1], is_sparse(frames[0].X)
    start = rng.standard_normal(d)
    if not any(np.any(frame.scatter(start[:, None])) for frame in frames):
        return np.eye(d, dimensions)  # all rows are zero
    if thin:
        return _lanczos(frames, dimensions, rng)
    return _all_at_once(frames, dimensions) if d <= FEW_FEATURES else _by_iteration(frames, dimensions, rng)


def _all_at_once(frames: list[_Moved], dimensions: int) -> Array:
    """From the scatter of the rows."""
    scatter = 0
    for frame in frames:
        for part in pieces(frame.X):
            Y = rows_at(frame.X, part).astype(np.float64) - frame.origin
            scatter = scatter + Y.T @ Y
    return np.linalg.eigh(scatter)[1][:, ::-1][:, :dimensions]


def _by_iteration(frames: list[_Moved], dimensions: int, rng: np.random.Generator) -> Array:
    """By subspace iteration, which reads rows a few times."""
    d = frames[0].X.shape[1]
    V = rng.standard_normal((d, min(dimensions + OVERSAMPLED, d)))
    for _ in range(POWER_ROUNDS):
        V = np.linalg.qr(sum(frame.scatter(V) for frame in frames))[0]
    _, turn = np.linalg.eigh(V.T @ sum(frame.scatter(V) for frame in frames))
    return (V @ turn)[:, ::-1][:, :dimensions]


def _lanczos(frames: list[_Moved], dimensions: int, rng: np.random.Generator) -> Array:
    """By Lanczos' method, which multiplies sparse rows with one vector at a time."""
    sizes = [frame.X.shape[0] for frame in frames]
    cuts = np.cumsum(sizes)[:-1]

    def down(v: Array) -> Array:
        return np.concatenate([frame.times(v.ravel()) for frame in frames])

    def up(u: Array) -> Array:
        parts = np.split(u.ravel(), cuts)
        return np.sum([frame.transposed(part) for frame, part in zip(frames, parts, strict=True)], axis=0)

    operator = LinearOperator((sum(sizes), frames[0].X.shape[1]), matvec=down, rmatvec=up, dtype=np.float64)
    start = rng.standard_normal(min(operator.shape))
    return svds(operator, k=dimensions, v0=start, tol=1e-3)[2][::-1].T
