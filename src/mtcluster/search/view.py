"""What a search sees: a sample of the rows in few dimensions, and how it looks with more or less smoothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ..core.arrays import Array, Summary, rows_at
from ..core.blocks import Block, RowSource
from ..core.jobs import energies
from ..core.sharing import OFFSETS, Offsets
from .completion import complete, constant_columns
from .directions import leading_directions, times
from .kmeans import kmeans, nearest_centers
from .rows import SAME, Rows, deviations, rounding_errors, within_covariance

UNIT = 1e-3  # rows whose lengths differ by no more than this share of their spread are directions
FEW_ROWS = 2  # per column; with fewer, rows are seen in their leading directions, too
FEW_COLUMNS = 50  # up to so many columns are kept; wider rows are seen in their leading directions
DIRECTIONS = (5, 10, 20)  # numbers of them, of which the evidence takes one
DIRECTIONS_OF_LENGTHS = 50  # of rows that are compared by Euclidean distances or angles
NEAR = 5  # the neighbour that tells whether a row has company
DISTANT = 2.0  # multiple of its usual distance from which on a row has none
SCATTERED = 2.0  # nats per value: rows are about seven times as scattered as clusters
SMOOTHINGS = ((5, 2), (10, 2), (5, 4))  # neighbours and steps of smoothing
LEAST_WEIGHT = 0.1  # smoothing below it is none


@dataclass(frozen=True, eq=False)
class View:
    """A sample of the rows, and its looks."""

    given: list[Block]  # the sample as it is
    positions: list[Array]  # of the sample among the rows that count
    sample: list[Block]  # with what is expected in place of missing values
    V: Array | None  # (d, l) the directions that are seen; None: all columns
    scale: Array  # (d,) what columns are divided by, where all are kept
    seen: Rows  # in these coordinates
    looks: list[Rows]  # more or less smoothed; where there is nothing to smooth, the rows as they are
    plain: list[Array]  # coordinates of the rows of each task, in their own units
    smoothing: float  # how far rows are moved towards their neighbours, from 0 to 1
    directional: bool  # do all rows have one length?
    round: bool  # are rows compared by Euclidean distances?
    n_distant: int  # rows that have no near neighbours and do not count

    @property
    def gaps(self) -> bool:
        """Whether values of the sample are missing."""
        return has_gaps(self.given)

    @cached_property
    def prior(self) -> tuple[Array, float]:
        """(l, l) the covariance within tasks, in the units of X, and the variance in every other direction."""
        rounding = None if self.V is not None else self.seen.rounding * self.scale**2
        us = [block.u.astype(np.float64) for block in self.sample]
        found = within_covariance(self.plain, us, rounding)
        if self.V is None:
            noise = rounding_errors(np.concatenate(self.plain))
            return found + np.diag(np.maximum(noise - np.diag(found), 0)), 1.0
        d, l = self.V.shape
        energy = sum(float(b.u @ b.sq) for b in self.sample) / sum(float(u.sum()) for u in us)
        rest = max(energy - float(np.trace(found)), 1e-3 * energy) / max(d - l, 1)
        return found, rest if rest > 0 else 1.0


def has_gaps(sample: list[Block]) -> bool:
    """Tell whether values are missing."""
    return any(block.observed is not None for block in sample)


def view_of(
    rows: RowSource, given: list[Block], positions: list[Array], n_clusters: int, offset: str, round: bool, seed: int,
    sample: list[Block] | None = None,
) -> View:  # fmt: skip
    """Make the view of a sample.

    `offset`: "mean" or "scale", where the location of tasks is removed beforehand; `round`: rows are compared by
    Euclidean distances; `sample`: the rows without missing values, if they are known.
    """
    sample = sample or (complete(given, FEW_COLUMNS) if has_gaps(given) else given)
    unit = round and directional(rows.summary)
    V = _directions(rows, sample, unit, round, seed)
    us = [block.u.astype(np.float64) for block in sample]
    plain, scale = _coordinates(sample, us, V, round)
    Ys = [Y / scale for Y in plain]
    offsets = task_offsets(rows, offset)
    if offsets.moves:
        offsets = Offsets(offsets.b / (scale if V is None else 1.0), offsets.s)
        Ys = [offsets.from_task(Y, k, V) for k, Y in enumerate(Ys)]
    if unit:
        if V is not None:
            us = [u * weight for u, weight in zip(us, _prominence(Ys), strict=True)]
        Ys = [Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), np.finfo(float).tiny) for Y in Ys]
    near = [nearest(Y, max(k for k, _ in SMOOTHINGS)) for Y in Ys]
    far = np.zeros(sum(map(len, Ys)), dtype=bool) if unit else scattered(Ys, us, [r for r, _ in near], n_clusters)
    us = np.split(np.where(far, 0.0, np.concatenate(us)), np.cumsum([len(Y) for Y in Ys])[:-1])
    seen = Rows.of(Ys, us, rounded=V is None, round=round)
    looks, weight = _looks(seen, Ys, near, n_clusters, V is not None, V is not None or unit)
    return View(given, positions, sample, V, scale, seen, looks, plain, weight, unit, round, int(far.sum()))


def _directions(rows: RowSource, sample: list[Block], unit: bool, round: bool, seed: int) -> Array | None:
    """Return the directions (d, l) that wide rows are seen in."""
    most = DIRECTIONS_OF_LENGTHS if round else DIRECTIONS[-1]
    if sample[0].X.shape[1] <= min(FEW_COLUMNS, sum(map(len, sample)) / FEW_ROWS):
        return None
    return leading_directions(sample, None if unit else rows.summary.means, most, np.random.default_rng(seed))


def _coordinates(sample: list[Block], us: list[Array], V: Array | None, round: bool) -> tuple[list[Array], Array]:
    """Return the rows in the directions V, or in all columns, and what these are divided by."""
    if V is not None:
        return [times(b.X, V) for b in sample], np.ones(V.shape[1])
    whole = [rows_at(b.X, slice(0, len(b))) for b in sample]
    whole = [np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64) for X in whole]
    constant = constant_columns(np.concatenate(whole))
    plain = [np.where(constant, 0.0, X) for X in whole]
    return plain, np.ones(len(constant)) if round else deviations(plain, us)


def _looks(
    seen: Rows, Ys: list[Array], near: list[tuple[Array, Array]], c: int, wide: bool, curved: bool
) -> tuple[list[Rows], float]:
    """Return rows that may be curved smoothed in several ways, as far as neighbours know more than clusters do."""
    weight = smoothing_weight(seen, c) if curved else 0.0
    if weight < LEAST_WEIGHT:
        looks, weight = [seen], 0.0
    else:
        looks = [replace(seen, Y=Y - seen.u @ Y / seen.u.sum()) for Y in _smoothed(Ys, near, c, weight)]
    if wide and not seen.round:
        looks = [_in_directions(look, c) for look in looks]
    return looks, weight


def smoothing_weight(rows: Rows, n_clusters: int) -> float:
    """Estimate how far rows should be moved towards their neighbours, from 0 to 1.

    Neighbours in every other direction predict what a row has in the remaining ones, beyond what its cluster does. The
    weight is that of their mean in a linear prediction: 0 where clusters are all that there is.
    """
    E = rows.apart
    labels = kmeans(E, None, n_clusters, np.random.default_rng(0)).labels
    both = total = 0.0
    for part in rows.parts:
        own, z = E[part], labels[part]
        if len(own) < 3:
            continue
        for first in (0, 1):
            seen, told = own[:, first::2], own[:, 1 - first :: 2]
            sizes = np.bincount(z, minlength=n_clusters)
            sums = np.zeros((n_clusters, told.shape[1]))
            np.add.at(sums, z, told)
            rest = told - (sums / np.maximum(sizes, 1)[:, None])[z]
            mean = rest[nearest(seen, NEAR)[1]].mean(axis=1)
            both += float(np.sum(rest * mean))
            total += float(np.sum(mean * mean))
    return float(np.clip(both / total, 0, 1)) if total > 0 else 0.0


def _smoothed(Ys: list[Array], near: list[tuple[Array, Array]], c: int, weight: float) -> list[Array]:
    """Return all rows moved towards their neighbours in the task: Y ← (1 − w/2) Y + w/2 D⁻¹ G Y.

    Few enough neighbours that a cluster of the task has as many rows.
    """
    found = []
    for k, steps in SMOOTHINGS:
        moved = []
        for Y, (_, at) in zip(Ys, near, strict=True):
            few = min(k, len(Y) // (2 * c), at.shape[1])
            G = _graph(at[:, :few]) if few else None
            for _ in range(steps if few else 0):
                Y = (1 - weight / 2) * Y + weight / 2 * (G @ Y)
            moved.append(Y)
        found.append(np.concatenate(moved))
    return found


def _graph(near: Array) -> sparse.csr_matrix:
    """Compute D⁻¹ G: the neighbours (n, k) of each row, and those that it is one of."""
    n, k = near.shape
    G = sparse.csr_matrix((np.ones(near.size), near.ravel(), np.arange(n + 1) * k), shape=(n, n))
    G = G.maximum(G.T)
    G.data /= np.repeat(np.diff(G.indptr), np.diff(G.indptr))
    return G


def _in_directions(rows: Rows, c: int) -> Rows:
    """Take as many of the leading directions as the evidence of quick clusters speaks for; others tell no clusters."""
    d = rows.Y.shape[1]
    tried = [l for l in DIRECTIONS if l < d] + [min(d, DIRECTIONS[-1])]
    alone = [rows.column(j).one_cluster for j in range(d)]
    values = []
    for l in tried:
        seen = rows.leading(l)
        labels = kmeans(seen.apart, None, c, np.random.default_rng(0)).labels
        values.append(seen.evidence(*seen.sums(labels, c)).value + sum(alone[l:]))
    return rows.leading(tried[int(np.argmax(values))])


def _prominence(Ys: list[Array]) -> list[Array]:
    """Tell what directions count, (share kept / median share)²: unit length would blow up what little is kept."""
    found = []
    for Y in Ys:
        kept = np.einsum("ij,ij->i", Y, Y)
        median = np.median(kept)
        found.append(np.minimum(1, kept / median) ** 2 if median > 0 else np.ones_like(kept))
    return found


def scattered(Ys: list[Array], us: list[Array], distances: list[Array], n_clusters: int) -> Array:
    """Find rows (n,) far from all others, if they are too scattered to be part of the clusters.

    They are if a distribution of their own makes them more probable, by `SCATTERED` nats per value, than the clusters
    that are quickly found without them.
    """
    far = np.concatenate(
        [_without_company(own, float(np.abs(Y).max(initial=0))) for own, Y in zip(distances, Ys, strict=True)]
    )
    counts = np.concatenate(us) > 0
    if not (far & counts).any() or np.count_nonzero(~far & counts) <= n_clusters:
        return np.zeros(len(far), dtype=bool)
    rows = Rows.of(Ys, us, rounded=False)
    kept = replace(rows, u=np.where(far, 0.0, rows.u))
    model = kmeans(kept.apart, kept.u, n_clusters, np.random.default_rng(0))
    labels = nearest_centers(kept.apart, model.centers)
    others = replace(rows, u=np.where(far, rows.u, 0.0), sizes=np.array([len(far)]))
    values = [one.evidence(*one.sums(labels, n_clusters)).value for one in (rows, kept)]
    gain = values[1] + others.one_cluster - values[0]
    return far if gain > SCATTERED * float(others.u.sum()) * rows.Y.shape[1] else np.zeros(len(far), dtype=bool)


def _without_company(distances: Array, largest: float) -> Array:
    """Find rows (n,) whose neighbours are much farther away than is usual in the task; `largest`: value of these."""
    if distances.shape[1] < NEAR:
        return np.zeros(len(distances), dtype=bool)
    away = distances[:, NEAR - 1]
    usual = np.median(away)
    equal = usual <= SAME * largest  # most rows are alike but for rounding
    return np.zeros(len(away), dtype=bool) if equal else np.asarray(away > DISTANT * usual)


def nearest(Y: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Return distances to the nearest other rows and their indices, nearest first."""
    if len(Y) < 2:
        return np.zeros((len(Y), 0)), np.zeros((len(Y), 0), dtype=int)
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(Y) - 1), algorithm="brute")
    return search.fit(Y).kneighbors()


def task_offsets(rows: RowSource, kind: str) -> Offsets:
    """Return offsets and scales such that (x − b_k) / s_k has the same mean, or mean and spread, in all tasks."""
    if kind not in ("mean", "scale"):
        return Offsets.none()
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
