"""How many clusters: each number is judged on its own, by labels that a search finds for it, and cold refits to halves.

A number is separated if its clusters are found again in halves and there are gaps between them. The largest such number
is suggested, and the coarser ones are named. Where no number is, the one of the highest silhouette among those that are
found again is suggested, if the rows are cut more sharply than data without clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform

from ..core.arrays import Array
from ..search.finding import Finder
from ..search.mixtures import FRAMES, place
from ..search.rows import Rows
from ..search.view import View
from .agreement import agreement, known_mean
from .cold import renamed
from .gaps import gaps, whitener
from .parts import halves
from .reference import elliptical
from .verdict import FAIRLY_STABLE, MUCH_MORE, NARROW_GAP, STABLE

N_HALVES = 2
AS_SHARP = 0.93  # of the highest silhouette of a separated number: a finer one is a cut of one cluster
WIDE_GAP = 0.8  # of two halves: narrower ones are noise
N_REFERENCES = 2
FRAMES_TRIED = ("none", "offsets", "scales")
CROSSING = 0.1  # share of the rows of a finer number that may lie in another cluster of a coarser one
PART = 0.02  # share of the rows of a task from which on a cluster has rows there
FEWEST_ROWS = 10  # of a cluster


@dataclass(frozen=True)
class Number:
    """What is known about one number of clusters."""

    n_clusters: int
    labels: Array  # of the sample, task by task
    stability: float  # share of the rows that keep their cluster in halves
    weakest: float  # least Jaccard index of a cluster
    between: float  # how wide the path between the two neighbours that are separated least stays
    silhouette: float
    reference: Array  # (B,) silhouettes of data without clusters
    n_cells: int  # pairs of a task and a cluster with rows
    wide: bool = False  # are rows seen in directions? Gaps say little in many of them

    @property
    def beats(self) -> bool:
        """Whether the rows are cut more sharply than all data sets without clusters, by more than these differ."""
        return bool(self.silhouette > self.reference.max() + np.ptp(self.reference))

    @property
    def far_sharper(self) -> bool:
        """Whether wide rows are cut so much more sharply that clusters may run into each other."""
        sharp = bool(self.silhouette >= self.reference.max() + MUCH_MORE)
        return self.wide and self.stability >= STABLE and sharp

    @property
    def found_again(self) -> bool:
        """Whether most rows of each cluster keep it."""
        return self.stability >= FAIRLY_STABLE and self.weakest >= FAIRLY_STABLE

    @property
    def separated(self) -> bool:
        """Whether the number counts."""
        large = int(np.bincount(self.labels, minlength=self.n_clusters).min()) >= FEWEST_ROWS
        return large and self.found_again and self.stability >= STABLE and self.between <= WIDE_GAP


@dataclass(frozen=True)
class Counted:
    """The suggestion."""

    numbers: list[Number]
    n_clusters: int | None
    named: list[int]  # numbers that are supported, the coarsest first
    why: str  # "separated", "sharpest", "unstable" or "none"

    def number(self, n_clusters: int) -> Number:
        """Tell what is known about a number that was asked for."""
        return next(one for one in self.numbers if one.n_clusters == n_clusters)


def count_clusters(
    look: Callable[[int], View], numbers: list[int], seed: int, tell: Callable[[], None] = lambda: None
) -> Counted:
    """Judge each number of clusters, at least 2, and choose; `look` makes the view for a number."""
    found = []
    for number in numbers:
        found.append(_number(look(number), number, seed))
        tell()
    return Counted(found, *choose(found))


def choose(found: list[Number]) -> tuple[int | None, list[int], str]:
    """Return the suggested number, those that are supported, and why."""
    kept = consistent([one for one in found if one.separated])
    sharpest = max((one.silhouette for one in kept), default=0.0)
    while kept and not (kept[-1].beats and kept[-1].silhouette >= AS_SHARP * sharpest):
        kept.pop()
    if kept:
        return kept[-1].n_clusters, [one.n_clusters for one in kept], "separated"
    sharper = [one for one in found if one.beats]
    if not sharper:
        return 1, [], "none"
    again = [one for one in sharper if one.found_again and (one.between <= NARROW_GAP or one.far_sharper)]
    if not again:
        return (
            (None, [one.n_clusters for one in sharper], "unstable")
            if any(one.between <= NARROW_GAP for one in sharper)
            else (1, [], "none")
        )
    best = max(again, key=lambda one: one.silhouette)
    return best.n_clusters, [one.n_clusters for one in again], "sharpest"


def consistent(found: list[Number]) -> list[Number]:
    """Without numbers that contradict others.

    A larger number has to cut clusters within tasks: calling the same cluster of two tasks by two names is no cluster
    more. And clusters of a larger number have to lie within those of a smaller one; else the less separated of the two
    goes.
    """
    kept: list[Number] = []
    for one in found:
        if all(one.n_cells - other.n_cells >= one.n_clusters - other.n_clusters for other in kept):
            kept.append(one)
    while True:
        pairs = ((fine, coarse) for i, fine in enumerate(kept) for coarse in kept[:i])
        crossing = next((pair for pair in pairs if crossed(pair[0].labels, pair[1].labels) > CROSSING), None)
        if crossing is None:
            return kept
        kept.remove(max(crossing, key=lambda one: one.between))


def crossed(fine: Array, coarse: Array) -> float:
    """Get the share of rows outside the cluster of the coarse labels in which most rows of their fine cluster lie."""
    table = np.zeros((int(fine.max()) + 1, int(coarse.max()) + 1))
    np.add.at(table, (fine, coarse), 1)
    return float(1 - table.max(axis=1).sum() / table.sum())


def _number(view: View, c: int, seed: int) -> Number:
    rows, rng = view.looks[0], np.random.default_rng([seed, c])
    labels = _searched(rows, c, rng)
    codes, sizes = rows.ids, rows.sizes.tolist()
    others, widths = [], []
    for at in halves(sizes, N_HALVES, np.random.default_rng([seed, 0])):
        seen = np.zeros(len(codes), dtype=bool)
        seen[np.concatenate([part.start + own for part, own in zip(rows.parts, at, strict=True)])] = True
        half = rows.part(seen)
        other = np.empty(len(codes), dtype=int)
        other[seen] = _searched(half, c, rng)
        other[~seen] = nearest_labels(rows, seen, other, c)
        others.append(other)
        widths.append(_widths(view, renamed(labels, other, c), seen, c, seed))
    found = agreement(labels, np.stack(others), codes)
    known = known_mean(np.stack(widths))
    known = known[np.isfinite(known)]
    counts = rows.sums(labels, c)[0]
    cells = int(np.sum(counts > np.maximum(2, PART * counts.sum(axis=1, keepdims=True))))
    drawn = [_elliptical(rows, np.random.default_rng([seed, 3, b])) for b in range(N_REFERENCES)]
    return Number(
        n_clusters=c,
        labels=labels,
        stability=float(found.kept.mean()),
        weakest=float(np.min(np.nan_to_num(known_mean(found.clusters), nan=0.0))),
        between=float(known.max()) if len(known) else 1.0,
        silhouette=silhouette(rows, labels, c),
        reference=np.array([silhouette(one, _quick(one, c), c) for one in drawn]),
        n_cells=cells,
        wide=view.V is not None,
    )


def _searched(rows: Rows, c: int, rng: np.random.Generator) -> Array:
    """Return labels by a short search."""
    return Finder(rows, c, _frames(rows), rng, 2, 1).find()[0].labels


def _quick(rows: Rows, c: int) -> Array:
    """Return labels by the shortest search, as if nothing were known."""
    return Finder(rows, c, _frames(rows)[-1:], np.random.default_rng(0), 1, 0).find()[0].labels


def _frames(rows: Rows) -> tuple[str, ...]:
    return ("none", "offsets") if rows.round else FRAMES_TRIED


def nearest_labels(rows: Rows, seen: Array, labels: Array, c: int) -> Array:
    """Label the rows that were not seen by the nearest cluster of those that were, in the metric of these."""
    half = rows.part(seen)
    N, T = half.sums(labels[seen], c)
    mu, b, _ = place(N[None], T[None], FRAMES["offsets" if len(rows.sizes) > 1 else "none"])
    middle = rows.Y[seen].mean(axis=0) - half.Y.mean(axis=0)
    Y = rows.Y - middle - b[0][rows.ids]
    L = whitener(Y[seen], labels[seen], c)
    if rows.round:
        L = np.eye(len(L))
    Y, Z = Y[~seen] @ L, mu[0] @ L
    D = (Z**2).sum(axis=1) - 2 * Y @ Z.T
    D[:, N.sum(axis=0) == 0] = np.inf
    return np.asarray(D.argmin(axis=1))


def _widths(view: View, labels: Array, seen: Array, c: int, seed: int) -> Array:
    """Measure the gaps between clusters; rounded values are spread out."""
    rows = view.seen
    Y = spread_out(view, rows, c, seed)
    if len(rows.sizes) > 1:
        N, T = rows.sums(np.maximum(labels, 0), c)
        Y = Y - place(N[None], T[None], FRAMES["offsets"])[1][0][rows.ids]
    return gaps(Y[seen], labels[seen], Y[~seen], labels[~seen], c)


def spread_out(view: View, rows: Rows, c: int, seed: int) -> Array:
    """Return rows with rounded values spread out: steps of a scale are no gaps, but where each step is a cluster."""
    if view.V is not None or len(np.unique(rows.Y[: 100 * c], axis=0)) <= c:
        return rows.Y
    return rows.Y + np.random.default_rng([seed, 4]).standard_normal(rows.Y.shape) * np.sqrt(rows.rounding)


def silhouette(rows: Rows, labels: Array, c: int) -> float:
    """Compute the mean silhouette around the means of the tasks."""
    D = squareform(pdist(rows.apart))
    ones = np.eye(c)[labels]
    sizes = ones.sum(axis=0)
    total = D @ ones
    own = np.take_along_axis(total, labels[:, None], axis=1)[:, 0] / np.maximum(sizes[labels] - 1, 1)
    mean = np.where(sizes > 0, total / np.maximum(sizes, 1), np.inf)
    np.put_along_axis(mean, labels[:, None], np.inf, axis=1)
    other = mean.min(axis=1)
    worse = np.maximum(own, other)
    with np.errstate(invalid="ignore"):
        values = np.where((sizes[labels] > 1) & np.isfinite(other) & (worse > 0), (other - own) / worse, 0.0)
    return float(values.mean())


def _elliptical(rows: Rows, rng: np.random.Generator) -> Rows:
    """Return data of the same shape without clusters."""
    drawn = [elliptical(rows.Y[part], rows.u[part], rng) for part in rows.parts]
    return Rows.of([Y for Y, _ in drawn], [u for _, u in drawn], rows.rounded, rows.round)
