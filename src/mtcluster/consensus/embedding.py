"""What the members of a consensus see: a sample of the rows, in the common frame of the tasks, in few dimensions.

The sample is drawn once, embedded once per frame, and its neighbours are searched once; whoever needs them takes them
from the `Embedder`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.neighbors import NearestNeighbors

from ..core.arrays import Array, Matrix, Picked, Summary, is_sparse, pieces, rows_at
from ..core.blocks import Block, RowSource
from ..core.jobs import energies
from ..core.offsets import OFFSETS, Offsets
from ..core.sampling import Sampling, take_sample

LARGE = 2**21  # numbers in dense rows from which on the leading directions are found by subspace iteration
OVERSAMPLED, ROUNDS = 20, 6  # vectors beyond those wanted, and rounds, of that iteration
UNIT = 1e-3  # rows whose lengths differ by no more than this share of their spread are directions


@dataclass(frozen=True)
class Embedding:
    """Rows of the tasks in few dimensions."""

    Ys: list[Array]  # (n_k, l)
    us: list[Array]  # (n_k,) sample weights
    kept: list[Array] | None = None  # (n_k,) squared length that the embedding keeps of directions; None: no directions
    n_neighbors: int = 10  # that are searched for each row

    @cached_property
    def neighbors(self) -> list[tuple[Array, Array]]:
        """For each task, distances to the nearest other rows of the task and their indices, nearest first."""
        return [
            NearestNeighbors(n_neighbors=min(self.n_neighbors, len(Y) - 1)).fit(Y).kneighbors()
            if len(Y) > 1
            else (np.zeros((len(Y), 0)), np.zeros((len(Y), 0), dtype=int))
            for Y in self.Ys
        ]

    def smoothed(self, n_neighbors: int, steps: int) -> list[Array]:
        """Rows moved towards their nearest neighbours in the task: Y ← ½ Y + ½ D⁻¹ G Y, `steps` times."""
        found = []
        for Y, (_, indices) in zip(self.Ys, self.neighbors, strict=True):
            if len(Y) > 2:
                near = indices[:, :n_neighbors]
                starts = np.arange(len(Y) + 1) * near.shape[1]
                G = sparse.csr_matrix((np.ones(near.size), near.ravel(), starts), shape=(len(Y), len(Y)))
                G = G.maximum(G.T)
                G = sparse.diags(1 / np.asarray(G.sum(axis=1)).ravel()) @ G
                for _ in range(steps):
                    Y = 0.5 * Y + 0.5 * (G @ Y)
            found.append(Y)
        return found

    def downweighted(self, neighbor: int, distant: float) -> Embedding:
        """Rows that lie far from all others count less: they would take centres for themselves.

        A direction counts (share kept / median share)², if the embedding keeps little of it: unit length would blow up
        what is left. Of other rows, one counts (distant · a / r)², where r is the distance to a near neighbour and a
        the median of these distances in the task, if its neighbours are much farther away than that.
        """
        if self.kept is not None:
            factors = [_prominence(kept) for kept in self.kept]
        else:
            factors = [_company(distances, neighbor, distant) for distances, _ in self.neighbors]
        found = replace(self, us=[u * factor for u, factor in zip(self.us, factors, strict=True)])
        if "neighbors" in self.__dict__:
            found.__dict__["neighbors"] = self.neighbors  # weights change no distance
        return found

    def of_tasks(self, ks: list[int]) -> Embedding:
        """That of some tasks."""
        kept = None if self.kept is None else [self.kept[k] for k in ks]
        some = replace(self, Ys=[self.Ys[k] for k in ks], us=[self.us[k] for k in ks], kept=kept)
        some.__dict__["neighbors"] = [self.neighbors[k] for k in ks]
        return some


def _company(distances: Array, neighbor: int, distant: float) -> Array:
    """What rows count, by the distance to a near neighbour."""
    if distances.shape[1] < neighbor:
        return np.ones(len(distances))
    away = distances[:, neighbor - 1]
    usual = np.median(away)
    return np.minimum(1, distant * usual / np.where(away > 0, away, 1)) ** 2 if usual > 0 else np.ones(len(away))


def _prominence(kept: Array) -> Array:
    """What directions count, by how much of them the embedding keeps."""
    median = np.median(kept)
    return np.minimum(1, kept / median) ** 2 if median > 0 else np.ones_like(kept)


class Embedder:
    """A sample of the rows, and its embedding in each frame that is asked for."""

    def __init__(
        self, rows: RowSource, sampling: Sampling, dimensions: int, n_neighbors: int, *, seeds: tuple[int, int]
    ) -> None:
        self.rows, self.dimensions, self.n_neighbors, self.seed = rows, dimensions, n_neighbors, seeds[1]
        self.sample, self.positions = take_sample(rows, sampling, np.random.default_rng(seeds[0]))
        self.unit_rows = directional(rows.summary)
        self._embeddings: dict[str, Embedding] = {}

    def embedding(self, kind: str) -> Embedding:
        """The rows in the frame that a kind of offset gives."""
        if kind not in self._embeddings:
            offsets = task_offsets(self.rows, kind)
            found = embed(self.sample, offsets, self.dimensions, unit_rows=self.unit_rows, seed=self.seed)
            self._embeddings[kind] = replace(found, n_neighbors=self.n_neighbors)
        return self._embeddings[kind]


_SHARED: list[dict[tuple[Any, ...], Embedder]] = []  # one per `shared_embeddings` that is open
_LOCK = Lock()


@contextmanager
def shared_embeddings() -> Iterator[None]:
    """Meanwhile fits of the same rows share one sample and its embeddings, whatever their seeds are."""
    _SHARED.append(_SHARED[-1] if _SHARED else {})
    try:
        yield
    finally:
        _SHARED.pop()


def open_embedder(
    rows: RowSource, sampling: Sampling, dimensions: int, n_neighbors: int, seeds: tuple[int, int]
) -> Embedder:
    """A sample with its embeddings: one that is shared, if the rows are the same."""
    if not _SHARED:
        return Embedder(rows, sampling, dimensions, n_neighbors, seeds=seeds)
    new = Embedder(rows, sampling, dimensions, n_neighbors, seeds=(0, seeds[1]))  # the same sample in all fits
    with _LOCK:
        return _SHARED[-1].setdefault((sampling, dimensions, n_neighbors, *_fingerprints(new.sample)), new)


def _fingerprints(sample: list[Block]) -> list[bytes]:
    """A random direction of the rows of each task, in their order: other rows, or another order, look different."""
    r = np.random.default_rng(0).standard_normal(sample[0].X.shape[1])
    parts = [[np.asarray(rows_at(b.X, part) @ r) for part in pieces(b.X)] + [np.asarray(b.u)] for b in sample]
    return [sha256(np.concatenate(part).tobytes()).digest() for part in parts]


def task_offsets(rows: RowSource, kind: str) -> Offsets | None:
    """Offsets and scales such that (x − b_k) / s_k has the same mean, or mean and spread, in all tasks."""
    energy = rows.apply(energies)[-1] if kind == "scale" else np.zeros(0)
    return OFFSETS[kind](rows.summary, energy, rows.origins)


def directional(summary: Summary) -> bool:
    """Whether all rows but those of zeros have one length, as TF-IDF and other normalised rows do.

    Lengths are compared with the distances between rows: rows that lie together far from zero are no directions.
    """
    if not summary.filled:
        return False
    mean = summary.sums.sum(axis=0) / summary.filled
    with np.errstate(over="ignore", invalid="ignore"):  # values whose squares overflow are refused later
        spread = max(summary.energy / summary.filled - mean @ mean, 0.0)
    return bool(np.sqrt(summary.longest) - np.sqrt(summary.shortest) <= UNIT * np.sqrt(spread))


def embed(sample: list[Block], offsets: Offsets | None, dimensions: int, *, unit_rows: bool, seed: int) -> Embedding:
    """The rows in the common frame of the tasks, on their leading directions where there are many features."""
    d, n = sample[0].X.shape[1], sum(map(len, sample))
    us = [b.u.astype(np.float64) for b in sample]
    frames = [_Frame(b.X, offsets, k, np.zeros(d)) for k, b in enumerate(sample)]
    if not unit_rows:  # seen from the middle of all rows
        sums = [frame.transposed(u) for frame, u in zip(frames, us, strict=True)]
        middle = np.sum(sums, axis=0) / np.sum([u.sum() for u in us])
        frames = [replace(frame, middle=middle) for frame in frames]
    if min(n, d) <= dimensions:
        return Embedding([frame.dense() for frame in frames], us, [np.ones(len(u)) for u in us] if unit_rows else None)
    V = _leading(frames, dimensions, np.random.default_rng(seed))
    Ys = [frame.times(V) for frame in frames]
    if not unit_rows:
        return Embedding(Ys, us, None)
    kept = [np.einsum("ij,ij->i", Y, Y) for Y in Ys]
    return Embedding([Y / np.sqrt(np.where(e > 0, e, 1))[:, None] for Y, e in zip(Ys, kept, strict=True)], us, kept)


@dataclass(frozen=True)
class _Frame:
    """The rows of a task in the common frame, (x − b_k) / s_k − middle, without writing them down."""

    X: Matrix
    offsets: Offsets | None
    task: int
    middle: Array

    @property
    def scale(self) -> float:
        return 1.0 if self.offsets is None else float(self.offsets.s[self.task])

    @property
    def origin(self) -> Array:
        """What is subtracted from a row before it is scaled."""
        return self.middle if self.offsets is None else self.offsets.in_task(self.middle, self.task)

    def dense(self) -> Array:
        """The rows, written down."""
        X = rows_at(self.X, slice(0, self.X.shape[0]))
        X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
        return (X if self.offsets is None else self.offsets.from_task(X, self.task)) - self.middle

    def times(self, V: Array) -> Array:
        """Product with d × l."""
        found = [np.asarray(rows_at(self.X, part) @ V, dtype=np.float64) for part in _pieces(self.X)]
        return (np.concatenate(found) - self.origin @ V) / self.scale

    def transposed(self, u: Array) -> Array:
        """Product of the transposed rows with one number per row."""
        found = sum(np.asarray(rows_at(self.X, part).T @ u[part], dtype=np.float64) for part in _pieces(self.X))
        return (found - self.origin * u.sum()) / self.scale

    def scatter(self, V: Array) -> Array:
        """Product of the transposed rows with the rows with d × l: each is read once."""
        shift, total, found = self.origin @ V, np.zeros(V.shape[1]), np.zeros_like(V)
        for part in pieces(self.X, V.shape[1]):
            X = rows_at(self.X, part)
            Y = np.asarray(X @ V, dtype=np.float64) - shift
            found += X.T @ Y
            total += Y.sum(axis=0)
        return (found - np.outer(self.origin, total)) / self.scale**2


def _pieces(X: Matrix) -> list[slice]:
    """Rows that have to be fetched go piece by piece."""
    return pieces(X) if isinstance(X, Picked) else [slice(0, X.shape[0])]


def _leading(frames: list[_Frame], dimensions: int, rng: np.random.Generator) -> Array:
    """The leading right singular vectors (d, l) of all rows in the common frame."""
    d = frames[0].X.shape[1]
    sizes = [frame.X.shape[0] for frame in frames]
    cuts = np.cumsum(sizes)[:-1]

    def down(v: Array) -> Array:
        return np.concatenate([frame.times(v.ravel()) for frame in frames])

    def up(u: Array) -> Array:
        parts = np.split(u.ravel(), cuts)
        return np.sum([frame.transposed(part) for frame, part in zip(frames, parts, strict=True)], axis=0)

    operator = LinearOperator((sum(sizes), d), matvec=down, rmatvec=up, dtype=np.float64)
    start = rng.standard_normal(min(operator.shape))
    if not np.any(operator.T @ (operator @ rng.standard_normal(d))):
        return np.eye(d, dimensions)  # all rows are zero
    if not is_sparse(frames[0].X) and sum(sizes) * d > LARGE:
        return _leading_block(frames, dimensions, rng)
    _, _, Vt = svds(operator, k=dimensions, v0=start, tol=1e-3)
    return Vt[::-1].T


def _leading_block(frames: list[_Frame], dimensions: int, rng: np.random.Generator) -> Array:
    """The same by subspace iteration, which reads rows a few times; Lanczos reads them for each vector."""
    V = rng.standard_normal((frames[0].X.shape[1], min(dimensions + OVERSAMPLED, frames[0].X.shape[1])))
    for _ in range(ROUNDS):
        V = np.linalg.qr(sum(frame.scatter(V) for frame in frames))[0]
    _, turn = np.linalg.eigh(V.T @ sum(frame.scatter(V) for frame in frames))
    return (V @ turn)[:, ::-1][:, :dimensions]
