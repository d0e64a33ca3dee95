"""What the members of a consensus see: a sample of the rows, in the common frame of the tasks, in few dimensions.

The sample is drawn once, embedded once, and its neighbours are searched once; whoever needs them takes them from the
`Embedder`. Moving a task moves its embedded rows, and changes none of its distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ..core.arrays import Array, Summary, pieces, rows_at
from ..core.blocks import Block, RowSource
from ..core.jobs import energies
from ..core.sampling import Sampling, take_sample
from ..core.sharing import OFFSETS, Offsets
from .completion import complete, constant_columns, has_gaps
from .directions import leading_directions, times
from .scales import VALUE_ROUNDING

UNIT = 1e-3  # rows whose lengths differ by no more than this share of their spread are directions


@dataclass(frozen=True)
class Embedding:
    """Rows of the tasks in few dimensions."""

    Ys: list[Array]  # (n_k, l)
    us: list[Array]  # (n_k,) sample weights
    kept: list[Array] | None = None  # (n_k,) squared length that the embedding keeps of directions; None: no directions
    neighbors: list[tuple[Array, Array]] = field(default_factory=list)  # distances and indices (n_k, …), nearest first
    unit: float = 1.0  # about how far rows lie from each other: single precision bears rows in this unit

    def smoothed(self, smoothings: Sequence[tuple[int, int]]) -> list[list[Array]]:
        """For each (number of neighbours, steps) rows moved towards their neighbours: Y ← ½ Y + ½ D⁻¹ G Y.

        The neighbours of a row are its nearest ones in the task, and those that it is one of.
        """
        made: dict[tuple[int, int], list[Array]] = {}
        for k in {k for k, _ in smoothings}:
            Ys = made[k, 0] = self.Ys
            graphs = [_graph(indices[:, :k]) for _, indices in self.neighbors]
            for step in range(1, max(steps for own, steps in smoothings if own == k) + 1):
                Ys = made[k, step] = [
                    Y if G is None else 0.5 * Y + 0.5 * (G @ Y) for Y, G in zip(Ys, graphs, strict=True)
                ]
        return [made[smoothing] for smoothing in smoothings]

    def downweighted(self, neighbor: int, distant: float, power: int = 2) -> Embedding:
        """Let rows that lie far from all others count less: they would take centres for themselves.

        A direction counts (share kept / median share)², if the embedding keeps little of it: unit length would blow up
        what is left. Of other rows, one counts (distant · a / r)^power, with r the distance to a near neighbour and a
        the median of these distances in the task, if its neighbours are much farther away than that.
        """
        if self.kept is not None:
            factors = [_prominence(kept) for kept in self.kept]
        else:
            factors = [_company(distances, neighbor, distant, power) for distances, _ in self.neighbors]
        return replace(self, us=[u * factor for u, factor in zip(self.us, factors, strict=True)])

    def centers(self, labels: list[Array], n_clusters: int) -> tuple[Array, Array]:
        """Return means (m, c, l) and weights (m, c) of the clusters of each task."""
        Ps = [np.eye(n_clusters)[own] * u[:, None] for own, u in zip(labels, self.us, strict=True)]
        sizes = np.stack([P.sum(axis=0) for P in Ps])
        sums = np.stack([P.T @ Y for P, Y in zip(Ps, self.Ys, strict=True)])
        return sums / np.where(sizes > 0, sizes, 1)[..., None], sizes

    def counted(self) -> Embedding:
        """Return the same with weights of 1 on average: what counts as few rows does not depend on their scale."""
        total, n = sum(float(u.sum()) for u in self.us), sum(map(len, self.us))
        return replace(self, us=[u * (n / total) for u in self.us]) if total > 0 else self

    def of_tasks(self, ks: list[int]) -> Embedding:
        """That of some tasks."""
        kept = None if self.kept is None else [self.kept[k] for k in ks]
        Ys, us = ([values[k] for k in ks] for values in (self.Ys, self.us))
        return Embedding(Ys, us, kept, [self.neighbors[k] for k in ks], self.unit)


def _graph(near: Array) -> Any:
    """Compute D⁻¹ G of a task, from the neighbours (n, k) of each row; None: there are too few rows to have any."""
    n, k = near.shape
    if n <= 2:
        return None
    G = sparse.csr_matrix((np.ones(near.size), near.ravel(), np.arange(n + 1) * k), shape=(n, n))
    G = G.maximum(G.T)
    G.data /= np.repeat(np.diff(G.indptr), np.diff(G.indptr))
    return G


def _company(distances: Array, neighbor: int, distant: float, power: int) -> Array:
    """Tell what rows count, by the distance to a near neighbour."""
    if distances.shape[1] < neighbor:
        return np.ones(len(distances))
    away = distances[:, neighbor - 1]
    usual = np.median(away)
    share = distant * usual / np.where(away > 0, away, 1)
    return np.minimum(1, share) ** power if usual > 0 else np.ones(len(away))


def _prominence(kept: Array) -> Array:
    """Tell what directions count, by how much of them the embedding keeps."""
    median = np.median(kept)
    return np.minimum(1, kept / median) ** 2 if median > 0 else np.ones_like(kept)


class Embedder:
    """A sample of the rows in few dimensions, and how it looks in each frame that is asked for."""

    def __init__(
        self,
        rows: RowSource,
        sampling: Sampling,
        dimensions: int,
        n_neighbors: int,
        *,
        seeds: tuple[int, int],
        scaled: bool = False,
    ) -> None:
        self.rows, self.dimensions, self.n_neighbors, self.seed = rows, dimensions, n_neighbors, seeds[1]
        self.scaled = scaled  # are columns, where all of them are kept, divided by their deviation within tasks?
        self.given, self.positions = take_sample(rows, sampling, np.random.default_rng(seeds[0]))
        self.sample = complete(self.given, dimensions) if self.gaps else self.given  # whole rows
        self.unit_rows = directional(rows.summary)
        self._embeddings: dict[str, Embedding] = {}

    @property
    def gaps(self) -> bool:
        """Whether values of the sample are missing."""
        return has_gaps(self.given)

    def with_sample(self, sample: list[Block]) -> Embedder:
        """Return the same with other values in place of those that are missing."""
        found = copy(self)
        for name in ("V", "coordinates", "_whole", "_constant", "scale", "neighbors", "_plain", "unit"):
            found.__dict__.pop(name, None)
        found.sample, found._embeddings = sample, {}
        return found

    @cached_property
    def V(self) -> Array | None:  # noqa: N802
        """(d, l) the directions that rows are embedded in; None: all."""
        if min(sum(map(len, self.sample)), self.sample[0].X.shape[1]) <= self.dimensions:
            return None
        means = None if self.unit_rows else self.rows.summary.means
        return leading_directions(self.sample, means, self.dimensions, np.random.default_rng(self.seed))

    @cached_property
    def coordinates(self) -> list[Array]:
        """The rows of each task in these directions."""
        if self.V is not None:
            return [times(b.X, self.V) for b in self.sample]
        return [np.where(self._constant, 0.0, Y / self.scale) for Y in self._whole]

    @cached_property
    def _whole(self) -> list[Array]:
        whole = [rows_at(b.X, slice(0, len(b))) for b in self.sample]
        return [(X.toarray() if sparse.issparse(X) else X).astype(np.float64) for X in whole]

    @cached_property
    def _constant(self) -> Array:
        """(d,) columns that hold one value alone, up to rounding: they say nothing."""
        return constant_columns(np.concatenate(self._whole))

    @cached_property
    def noise(self) -> Array:
        """(d,) the variance of rounding errors."""
        largest: Array = np.max([np.max(np.abs(X), axis=0) for X in self._whole], axis=0)
        return (VALUE_ROUNDING * largest) ** 2

    @cached_property
    def scale(self) -> Array | float:
        """(d,) the deviation of each column within tasks, or of all rows where it has none; 1: columns as they are."""
        if not self.scaled or self.unit_rows or self.V is not None:
            return 1.0
        us = [b.u.astype(np.float64) for b in self.sample]
        N = sum(u.sum() for u in us)
        pairs = list(zip(self._whole, us, strict=True))
        within = sum(u @ (Y - np.average(Y, axis=0, weights=u)) ** 2 for Y, u in pairs) / N
        middle = sum(u @ Y for Y, u in pairs) / N
        total = sum(u @ (Y - middle) ** 2 for Y, u in pairs) / N
        scale = np.sqrt(np.maximum(within, 1e-6 * total))
        usable = (scale > 0) & ~self._constant
        return np.where(usable, scale, np.median(scale[usable]) if usable.any() else 1.0)

    @cached_property
    def neighbors(self) -> list[tuple[Array, Array]]:
        """For each task, distances to the nearest other rows of the task and their indices, nearest first."""
        return [nearest(Y, self.n_neighbors) for Y in self._plain.Ys]

    @cached_property
    def _plain(self) -> Embedding:
        """The rows where they lie; directions have unit length again."""
        us = [b.u.astype(np.float64) for b in self.sample]
        if not self.unit_rows:
            return Embedding(self.coordinates, us)
        lengths = [np.einsum("ij,ij->i", Y, Y) for Y in self.coordinates]
        if self.V is None:
            return Embedding(self.coordinates, us, [np.ones(len(u)) for u in us])
        pairs = zip(self.coordinates, lengths, strict=True)
        return Embedding([Y / np.sqrt(np.where(e > 0, e, 1))[:, None] for Y, e in pairs], us, lengths)

    @cached_property
    def unit(self) -> float:
        """The root mean square of the coordinates around their middle, as a power of two; 0 if rows are equal."""
        Y, u = np.concatenate(self._plain.Ys), np.concatenate(self._plain.us)
        spread = np.average((Y - np.average(Y, axis=0, weights=u)) ** 2, axis=0, weights=u).sum()
        return power_of_two(np.sqrt(spread)) if spread > 0 else 0.0

    def embedding(self, kind: str) -> Embedding:
        """Return the rows in the frame that a kind of offset gives, seen from the middle of all."""
        if kind not in self._embeddings:
            plain, offsets = self._plain, task_offsets(self.rows, kind)
            Ys = plain.Ys
            if offsets.moves:
                offsets = Offsets(offsets.b / self.scale, offsets.s)
                Ys = [offsets.from_task(Y, k, self.V) for k, Y in enumerate(Ys)]
            if not self.unit_rows:
                middle = np.sum([u @ Y for u, Y in zip(plain.us, Ys, strict=True)], axis=0)
                Ys = [Y - middle / np.sum([u.sum() for u in plain.us]) for Y in Ys]
            scales = np.broadcast_to(offsets.s, (len(Ys),))
            near = [(r / s, at) for (r, at), s in zip(self.neighbors, scales, strict=True)]
            largest = max(float(np.abs(Y).max(initial=0.0)) for Y in Ys)
            unit = self.unit or (power_of_two(largest) if largest > 0 else 1.0)  # of rounding errors, in equal rows
            self._embeddings[kind] = replace(plain, Ys=Ys, neighbors=near, unit=unit)
        return self._embeddings[kind]


def power_of_two(size: float) -> float:
    """Return the power of two that is nearest to a positive size."""
    return float(2.0 ** np.round(np.log2(size)))


def nearest(Y: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Return distances to the nearest other rows and their indices, nearest first."""
    if len(Y) < 2:
        return np.zeros((len(Y), 0)), np.zeros((len(Y), 0), dtype=int)
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(Y) - 1), algorithm="brute")
    return search.fit(Y).kneighbors()


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
    rows: RowSource, sampling: Sampling, dimensions: int, n_neighbors: int, seeds: tuple[int, int], scaled: bool = False
) -> Embedder:
    """Make a sample with its embeddings: one that is shared, if the rows are the same."""
    if not _SHARED:
        return Embedder(rows, sampling, dimensions, n_neighbors, seeds=seeds, scaled=scaled)
    # The same sample in all fits.
    new = Embedder(rows, sampling, dimensions, n_neighbors, seeds=(0, seeds[1]), scaled=scaled)
    with _LOCK:
        return _SHARED[-1].setdefault((sampling, dimensions, n_neighbors, scaled, *_fingerprints(new.sample)), new)


def _fingerprints(sample: list[Block]) -> list[bytes]:
    """Get a random direction of the rows of each task, in their order: other rows, or another order, look different."""
    r = np.random.default_rng(0).standard_normal(sample[0].X.shape[1])
    parts = [[np.asarray(rows_at(b.X, part) @ r) for part in pieces(b.X)] + [np.asarray(b.u)] for b in sample]
    return [sha256(np.concatenate(part).tobytes()).digest() for part in parts]


def task_offsets(rows: RowSource, kind: str) -> Offsets:
    """Return offsets and scales such that (x − b_k) / s_k has the same mean, or mean and spread, in all tasks."""
    energy = rows.apply(energies)[-1] if kind == "scale" else np.zeros(0)
    return OFFSETS[kind](rows.summary, energy, rows.origins)


def directional(summary: Summary) -> bool:
    """Tell whether all rows but those of zeros have one length, as TF-IDF and other normalised rows do.

    Lengths are compared with the distances between rows: rows that lie together far from zero are no directions.
    """
    if not summary.filled:
        return False
    mean = summary.sums.sum(axis=0) / summary.filled
    with np.errstate(over="ignore", invalid="ignore"):  # values whose squares overflow are refused later
        spread = max(summary.energy / summary.filled - mean @ mean, 0.0)
        return bool(np.sqrt(summary.longest) - np.sqrt(summary.shortest) <= UNIT * np.sqrt(spread))
