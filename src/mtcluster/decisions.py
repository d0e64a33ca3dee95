"""What the defaults decide, from the data alone: how much tasks share, where they lie, and the start of the fit.

No single fit without labels is good everywhere, so none is chosen. Many cheap fits that differ in what cannot be known
(how much tasks share, how much rows follow their neighbours, the start) vote on every row, on a sample of the rows in
few dimensions. The vote is the start of the one fit that the user gets. A task is left alone if its own best
clustering has nothing to do with the vote, or if its clusters lie in other directions than those of all other tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from .core import starts
from .core.model import Array, Block, Matrix, Settings, make_block
from .core.readout import read_out
from .core.relations import relatedness
from .core.solver import Schedule, first_best, first_state, solve

OFFSET_STARTS = 4  # of k-means of all rows, with and without the means of tasks
UNIT = 1e-3  # rows whose lengths differ by no more than this share are directions


@dataclass(frozen=True)
class Vote:
    """Who votes, and what becomes of it."""

    sample: int = 5000  # rows that the fits of the vote see, all tasks together
    task_sample: int = 100  # of them from each task, where it has as many
    dimensions: int = 50  # of the features that the vote is taken in
    smoothings: tuple[tuple[int, int], ...] = ((5, 1), (5, 2), (5, 4), (10, 2), (10, 4))  # neighbours, steps
    shares: tuple[float, ...] = (0.3, 0.5)  # λ1 of the fits that vote
    starts: int = 4  # of each kind; the lowest sum of losses votes
    own_starts: int = 10  # of a task's own k-means, each the best of several seedings
    chance: float = 0.2  # agreement (adjusted Rand index) below which two clusterings have nothing in common
    gain: float = 0.01  # share by which taking the means of tasks out must tighten the clusters of all rows
    enough: int = 5  # rows a cluster that a task needs before it can be told that it has nothing in common with others
    kinship: float = 0.4  # relatedness to all others below which a task has nothing in common with them
    prominence: bool = True  # may rows count less of which the leading directions show little?
    renumber: bool = True  # are clusters matched across tasks after the vote?


@dataclass(frozen=True)
class Decision:
    """What was decided, and why."""

    within_weight: Array  # (m,) λ1 of each task
    agreement: Array  # (m,) of a task's own best clustering with the vote, 1 if there is one task alone
    kinship: Array  # (m,) relatedness of a task to the one most like it, by the vote
    unanimity: float  # share of the votes that the winning cluster of a row gets, mean over rows
    n_votes: int
    n_rows: int  # rows that were looked at
    n_dimensions: int  # dimensions they were looked at in


@dataclass(frozen=True)
class Evidence:
    """Everything that `explain` reads beside the fitted attributes."""

    parameters: dict[str, Any]  # of the estimator, when it was fitted
    offset: str
    unit_rows: bool
    gain: float | None  # of taking the means of tasks out, if it was asked
    decision: Decision | None = None  # None: there was no vote
    start: str = ""


@dataclass(frozen=True)
class Look:
    """Rows of the tasks in few dimensions, and what each counts."""

    Ys: list[Array]
    us: list[Array]


def task_frame(blocks: list[Block], kind: str) -> tuple[Array | None, Array | None]:
    """Offsets b_k and scales s_k of the tasks, so that (x − b_k) / s_k has the same mean and spread in all of them."""
    if kind == "none":
        return None, None
    sizes = np.array([float(b.u.sum()) for b in blocks])
    means = np.stack([np.asarray(b.X.T @ b.u, dtype=np.float64) for b in blocks]) / sizes[:, None]
    middle = sizes @ means / sizes.sum()
    if kind == "mean":
        return means - middle, None
    # Σ u ‖x − mean‖² = Σ u ‖x − origin‖² − Σ u ‖mean − origin‖², the origin 0 where a sparse X has no entry.
    spread = np.array([float(b.u @ b.sq) for b in blocks]) / sizes
    spread -= np.array([np.sum((mean - b.origin) ** 2) for b, mean in zip(blocks, means, strict=True)])
    widths = np.sqrt(np.maximum(spread, 0))
    usable = widths > 1e-8 * widths.max()
    scales = (
        np.where(usable, widths / np.exp(np.mean(np.log(widths[usable]))), 1.0)
        if usable.any()
        else np.ones_like(widths)
    )
    return means - scales[:, None] * middle, scales


def directional(blocks: list[Block]) -> bool:
    """Whether all rows but those of zeros have one length, as TF-IDF and other normalised rows do.

    Lengths are compared with the distances between rows: rows that lie together far from zero are no directions.
    """
    energy = np.concatenate([_energy(b.X) for b in blocks])
    weights = np.concatenate([b.u for b in blocks]).astype(np.float64) * (energy > 0)
    if not weights.any():
        return False
    mean = np.sum([np.asarray(b.X.T @ b.u, dtype=np.float64) for b in blocks], axis=0) / weights.sum()
    spread = max(float(weights @ energy / weights.sum() - mean @ mean), 0.0)
    return bool(np.ptp(np.sqrt(energy[weights > 0])) <= UNIT * np.sqrt(spread))


def offset_gain(
    blocks: list[Block], settings: Settings, how: Vote, n_clusters: int, random_state: np.random.RandomState
) -> float:
    """By what share k-means of all rows gets tighter when the mean of each task is taken out.

    Much, where tasks lie apart. Not at all where they lie together and their means differ because they hold different
    shares of the clusters: then taking the means out would tear the clusters apart.
    """
    seed = random_state.randint(np.iinfo(np.int32).max)
    sample, _ = take_sample(blocks, how, np.random.default_rng(seed))
    offsets, _ = task_frame(blocks, "mean")
    tightest = []
    for frame in (settings, replace(settings, offsets=offsets)):
        look = look_at(sample, frame, how.dimensions, paced=False, unit_rows=False, seed=seed)
        rows = [make_block(Y, u, Y.mean(axis=0)) for Y, u in zip(look.Ys, look.us, strict=True)]
        rng = np.random.default_rng(seed)
        tightest.append(min(starts.kmeans(rows, n_clusters, rng).trace[-1] for _ in range(OFFSET_STARTS)))
    return 1 - tightest[1] / tightest[0] if tightest[0] > 0 else 0.0


def decide(
    blocks: list[Block],
    settings: Settings,
    how: Vote,
    *,
    n_clusters: int,
    paced: bool,
    unit_rows: bool,
    random_state: np.random.RandomState,
    n_jobs: int | None,
) -> tuple[list[Array], Decision]:
    """Take the vote, and leave alone the tasks that it does not concern: starting memberships, and the evidence.

    `settings` say where the tasks lie, and λ1 of those that are related. `paced`: rows of which the leading directions
    show little count less, as an outlier's do; without, each row counts the same.
    """
    seeds = iter(random_state.randint(np.iinfo(np.int32).max, size=2 + len(how.smoothings) + len(blocks)))
    rng = np.random.default_rng(next(seeds))
    sample, rows = take_sample(blocks, how, rng)
    paced = paced and how.prominence
    look = look_at(sample, settings, how.dimensions, paced=paced, unit_rows=unit_rows, seed=next(seeds))
    fits = [(_smoothed_fits, (look, how, n_clusters, k, steps, next(seeds))) for k, steps in how.smoothings]
    own = [(_own_labels, (Y, u, how, n_clusters, next(seeds))) for Y, u in zip(look.Ys, look.us, strict=True)]
    done: list[Any] = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(call)(*given) for call, given in fits + own)
    votes, owns = [labels for found in done[: len(fits)] for labels in found], done[len(fits) :]
    shares = vote(votes, n_clusters)
    labels, m = [share.argmax(axis=1) for share in shares], len(blocks)
    agreement, kinship, alone = np.ones(m), np.ones(m), np.zeros(m, dtype=bool)
    if m > 1 and n_clusters > 1:
        agreement = np.array([adjusted_rand_score(a, b) for a, b in zip(owns, labels, strict=True)])
        labels = _corresponding(look, labels, n_clusters) if how.renumber else labels
        kinship = (relatedness(*_centers(look, labels, n_clusters)) - np.eye(m)).max(axis=1)
        known = np.array([len(Y) for Y in look.Ys]) >= how.enough * n_clusters
        alone = known & ((agreement < how.chance) | (kinship < how.kinship))
    if alone.any():
        labels = [a if left else b for a, b, left in zip(owns, labels, alone, strict=True)]
        labels = _corresponding(look, labels, n_clusters) if how.renumber else labels
    weights = np.where(alone, 1.0, settings.within_weight)
    decision = Decision(
        within_weight=weights,
        agreement=agreement,
        kinship=kinship,
        unanimity=float(np.concatenate([share.max(axis=1) for share in shares]).mean()),
        n_votes=len(votes),
        n_rows=sum(map(len, look.Ys)),
        n_dimensions=look.Ys[0].shape[1],
    )
    return _for_all_rows(blocks, sample, rows, labels, n_clusters, _binary(settings, weights)), decision


def take_sample(blocks: list[Block], how: Vote, rng: np.random.Generator) -> tuple[list[Block], list[Array]]:
    """Rows of each task, by its share of all rows that count, in their order, and which they are.

    All of them, if they are not too many.
    """
    counting = [np.flatnonzero(b.u > 0) for b in blocks]
    total = sum(map(len, counting))
    sample, taken = [], []
    for block, rows in zip(blocks, counting, strict=True):
        size = max(min(len(rows), how.task_sample), round(how.sample * len(rows) / total))
        if total > how.sample and size < len(rows):
            rows = np.sort(rng.choice(rows, size=size, replace=False))
        whole = len(rows) == len(block.sq)
        sample.append(block if whole else make_block(block.X[rows], block.u[rows], block.origin))
        taken.append(rows)
    return sample, taken


def look_at(
    sample: list[Block], settings: Settings, dimensions: int, *, paced: bool, unit_rows: bool, seed: int
) -> Look:
    """The rows in the common frame of the tasks, on their leading directions where there are many features."""
    d, n = sample[0].X.shape[1], sum(len(b.sq) for b in sample)
    us = [b.u.astype(np.float64) for b in sample]
    frames = [_Rows(b.X, settings, k, np.zeros(d)) for k, b in enumerate(sample)]
    if not unit_rows:  # the middle of all rows, from which they are seen
        sums = [frame.transposed(u) for frame, u in zip(frames, us, strict=True)]
        middle = np.sum(sums, axis=0) / np.sum([u.sum() for u in us])
        frames = [replace(frame, middle=middle) for frame in frames]
    if min(n, d) <= dimensions:
        return Look([frame.dense() for frame in frames], us)
    V = _leading(frames, dimensions, np.random.default_rng(seed))
    Ys = [frame.times(V) for frame in frames]
    if unit_rows:
        kept = [np.einsum("ij,ij->i", Y, Y) for Y in Ys]
        Ys = [Y / np.sqrt(np.where(e > 0, e, 1))[:, None] for Y, e in zip(Ys, kept, strict=True)]
        if paced:  # a direction that is mostly elsewhere would be blown up to the length of the others
            us = [u * _prominence(e) for u, e in zip(us, kept, strict=True)]
    return Look(Ys, us)


def smooth(Y: Array, n_neighbors: int, steps: int) -> Array:
    """Rows moved towards their nearest neighbours in the task: Y ← ½ Y + ½ D⁻¹ G Y, some times."""
    if len(Y) <= 2:
        return Y
    G = kneighbors_graph(Y, min(n_neighbors, len(Y) - 1), include_self=False)
    G = G.maximum(G.T)
    G = sparse.diags(1 / np.asarray(G.sum(axis=1)).ravel()) @ G
    for _ in range(steps):
        Y = 0.5 * Y + 0.5 * (G @ Y)
    return Y


def vote(members: list[list[Array]], n_clusters: int, max_rounds: int = 10) -> list[Array]:
    """The share of the members that put each row into each cluster, clusters renumbered to agree with the others.

    The reference is the member that agrees best with all of them, then the vote itself, until nothing changes.
    """
    labels = [np.concatenate(member) for member in members]
    eye = np.eye(n_clusters)
    agreement = [np.mean([np.mean(_renumbered(l, eye[ref], n_clusters) == ref) for l in labels]) for ref in labels]
    shares = eye[labels[int(np.argmax(agreement))]]
    for _ in range(max_rounds):
        new = np.mean([eye[_renumbered(l, shares, n_clusters)] for l in labels], axis=0)
        if np.array_equal(new, shares):
            break
        shares = new
    return np.split(shares, np.cumsum([len(part) for part in members[0]])[:-1])


def _smoothed_fits(
    look: Look, how: Vote, n_clusters: int, n_neighbors: int, steps: int, seed: int
) -> list[list[Array]]:
    """Labels of the best fit of each kind of start and each λ1, on smoothed rows."""
    rng = np.random.default_rng(seed)
    blocks = [
        make_block(smooth(Y, n_neighbors, steps), u, Y.mean(axis=0)) for Y, u in zip(look.Ys, look.us, strict=True)
    ]
    n_components = min(n_clusters, blocks[0].X.shape[1])
    shares = how.shares if len(blocks) > 1 else how.shares[:1]  # one task shares with nobody
    found = []
    for kind in starts.kinds(len(blocks)):
        begun = [starts.start(kind, blocks, n_clusters, Settings(0.5, n_components), rng) for _ in range(how.starts)]
        for share in shares:
            settings = Settings(share, n_components)
            fits = [
                _read(blocks, settings, solve(blocks, settings, Schedule(tol=1e-5), Ps).state.centers) for Ps in begun
            ]
            found.append(fits[first_best([total for _, total in fits])][0])
    return found


def _own_labels(Y: Array, u: Array, how: Vote, n_clusters: int, seed: int) -> Array:
    """A task's own k-means."""
    rng = np.random.default_rng(seed)
    block = make_block(Y, u, Y.mean(axis=0))
    runs = [starts.kmeans([block], n_clusters, rng) for _ in range(how.own_starts)]
    return runs[first_best([run.trace[-1] for run in runs])].state.Ps[0].argmax(axis=1)


def _read(blocks: list[Block], settings: Settings, centers: Any) -> tuple[list[Array], float]:
    readings = [read_out(b.X, settings, centers, k) for k, b in enumerate(blocks)]
    total = sum(float(b.u @ L) for b, (_, L) in zip(blocks, readings, strict=True))
    return [P.argmax(axis=1) for P, _ in readings], total


def _corresponding(look: Look, labels: list[Array], n_clusters: int) -> list[Array]:
    """The labels of each task renumbered so that clusters correspond: the vote may mean different things in tasks."""
    orders = starts.align(*_centers(look, labels, n_clusters))
    return [np.argsort(order)[l] for order, l in zip(orders, labels, strict=True)]


def _centers(look: Look, labels: list[Array], n_clusters: int) -> tuple[Array, Array]:
    """Centres (m, c, d) and sizes (m, c) of the clusters of each task."""
    Ps = [np.eye(n_clusters)[l] for l in labels]
    sizes = np.stack([u @ P for u, P in zip(look.us, Ps, strict=True)])
    sums = np.stack([P.T @ (u[:, None] * Y) for P, u, Y in zip(Ps, look.us, look.Ys, strict=True)])
    return sums / np.where(sizes > 0, sizes, 1)[:, :, None], sizes


def _for_all_rows(
    blocks: list[Block],
    sample: list[Block],
    rows: list[Array],
    labels: list[Array],
    n_clusters: int,
    settings: Settings,
) -> list[Array]:
    """0/1 memberships of all rows from the labels of a sample; a row that was not in it goes to the nearest centre."""
    Ps = [np.eye(n_clusters, dtype=b.sq.dtype)[l] for b, l in zip(sample, labels, strict=True)]
    if all(a is b for a, b in zip(sample, blocks, strict=True)):
        return Ps
    centers = first_state(sample, settings, Ps, None).centers
    found = [read_out(b.X, settings, centers, k)[0] for k, b in enumerate(blocks)]
    for everyone, own, chosen in zip(found, Ps, rows, strict=True):
        everyone[chosen] = own
    return found


def _binary(settings: Settings, weights: Array) -> Settings:
    return Settings(weights, settings.n_components, offsets=settings.offsets, scales=settings.scales)


def _renumbered(labels: Array, reference: Array, n_clusters: int) -> Array:
    """Labels under the matching that agrees best with the shares of a reference."""
    overlap = np.zeros((n_clusters, n_clusters))
    np.add.at(overlap, labels, reference)
    return linear_sum_assignment(overlap, maximize=True)[1][labels]


def _prominence(kept: Array) -> Array:
    """What a row counts: 1 if the leading directions show as much of it as of the median row, else less."""
    median = np.median(kept)
    return np.minimum(1, kept / median) ** 2 if median > 0 else np.ones_like(kept)


def _energy(X: Matrix) -> Array:
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.asarray(squares, dtype=np.float64).ravel()


def _dense(X: Matrix) -> Array:
    return (X.toarray() if sparse.issparse(X) else X).astype(np.float64)


@dataclass(frozen=True)
class _Rows:
    """The rows of a task in the common frame, (x − b_k) / s_k − middle, without writing them down."""

    X: Matrix
    settings: Settings
    task: int
    middle: Array

    def dense(self) -> Array:
        return self.settings.from_task(_dense(self.X), self.task) - self.middle

    def times(self, V: Array) -> Array:
        """Product with d × l."""
        origin = self.settings.in_task(self.middle, self.task)
        return (np.asarray(self.X @ V, dtype=np.float64) - origin @ V) / self._scale()

    def transposed(self, u: Array) -> Array:
        """Product of the transposed rows with one number a row."""
        origin = self.settings.in_task(self.middle, self.task)
        return (np.asarray(self.X.T @ u, dtype=np.float64) - origin * u.sum()) / self._scale()

    def _scale(self) -> float:
        return 1.0 if self.settings.scales is None else float(self.settings.scales[self.task])


def _leading(frames: list[_Rows], dimensions: int, rng: np.random.Generator) -> Array:
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
    _, _, Vt = svds(operator, k=dimensions, v0=start, tol=1e-3)
    return Vt[::-1].T
