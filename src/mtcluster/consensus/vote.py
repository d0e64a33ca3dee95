"""What the defaults decide, from the data alone: how much tasks share, where they lie, and the start of the fit.

No single fit without labels is good everywhere, so none is chosen. Many cheap fits that differ in what cannot be known
(how much tasks share, how much rows follow their neighbours, the start) vote on every row, on a sample of the rows in
few dimensions. The vote is the start of the one fit that the user gets. A task is left alone if its own best
clustering has nothing to do with the vote, or if its clusters lie in other directions than those of all other tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from ..core import starts
from ..core.arrays import Array
from ..core.blocks import LocalRows, Rows
from ..core.model import Settings, make_block
from ..core.pacing import Schedule
from ..core.relations import relatedness
from ..core.solver import best_fit, first_best
from .embedding import Look, Sampling, directional, from_sample, look_at, smooth, take_sample, task_frame

OFFSET_STARTS = 4  # of k-means of all rows, with and without the means of tasks


@dataclass(frozen=True)
class Vote(Sampling):
    """Who votes, and what becomes of it."""

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
    n_far: int = 0  # of these rows, those that counted less because they lie far from all others


@dataclass(frozen=True)
class Evidence:
    """Everything that `explain` reads beside the fitted attributes."""

    parameters: dict[str, Any]  # of the estimator, when it was fitted
    offset: str
    unit_rows: bool
    gain: float | None  # of taking the means of tasks out, if it was asked
    decision: Decision | None = None  # None: there was no vote
    start: str = ""
    pace: Schedule = field(default_factory=Schedule)


def locate(rows: Rows, how: Vote, n_clusters: int, random_state: np.random.RandomState) -> tuple[str, float | None]:
    """Whether the means of tasks are to be taken out, and by what share that tightens clusters, if it was asked.

    It is not asked of one task, nor of directions: they have no location.
    """
    if len(rows.origins) == 1 or directional(rows.summary):
        return "none", None
    gain = offset_gain(rows, how, n_clusters, random_state)
    return "mean" if gain >= how.gain else "none", gain


def offset_gain(rows: Rows, how: Vote, n_clusters: int, random_state: np.random.RandomState) -> float:
    """By what share k-means of all rows gets tighter when the mean of each task is taken out.

    Much, where tasks lie apart. Not at all where they lie together and their means differ because they hold different
    shares of the clusters: then taking the means out would tear the clusters apart.
    """
    seed = random_state.randint(np.iinfo(np.int32).max)
    sample, _ = take_sample(rows, how, np.random.default_rng(seed))
    tightest = []
    for kind in ("none", "mean"):
        frame = Settings(0.5, 1, offsets=task_frame(rows, kind)[0])
        look = look_at(sample, frame, how.dimensions, paced=False, unit_rows=False, seed=seed)
        blocks = [make_block(Y, u, Y.mean(axis=0)) for Y, u in zip(look.Ys, look.us, strict=True)]
        rng = np.random.default_rng(seed)
        tightest.append(min(starts.run_kmeans(blocks, n_clusters, rng).trace[-1] for _ in range(OFFSET_STARTS)))
    return 1 - tightest[1] / tightest[0] if tightest[0] > 0 else 0.0


def decide(
    rows: Rows,
    settings: Settings,
    how: Vote,
    *,
    n_clusters: int,
    paced: bool,
    unit_rows: bool,
    random_state: np.random.RandomState,
    n_jobs: int | None,
) -> tuple[list[Array], Decision]:
    """Take the vote, and leave alone the tasks that it does not concern: starting labels, and the evidence.

    `settings` say where the tasks lie, and λ1 of those that are related. `paced`: rows far from all others count less,
    and of directions those of which the leading ones show little; without, each row counts the same.
    """
    seeds = iter(random_state.randint(np.iinfo(np.int32).max, size=2 + len(how.smoothings) + len(rows.origins)))
    rng = np.random.default_rng(next(seeds))
    sample, positions = take_sample(rows, how, rng)
    paced = paced and how.prominence
    look = look_at(sample, settings, how.dimensions, paced=paced, unit_rows=unit_rows, seed=next(seeds))
    smoothings = [(k, steps, next(seeds)) for k, steps in how.smoothings]
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem")
    votes = _votes(look, how, n_clusters, smoothings, parallel)
    jobs = zip(look.Ys, look.us, seeds, strict=True)
    owns: list[Array] = parallel(delayed(_own_labels)(Y, u, how, n_clusters, seed) for Y, u, seed in jobs)
    shares = vote(votes, n_clusters)
    labels, m = [share.argmax(axis=1) for share in shares], len(sample)
    agreement, kinship, alone = np.ones(m), np.ones(m), np.zeros(m, dtype=bool)
    if m > 1 and n_clusters > 1:
        agreement = np.array([adjusted_rand_score(a, b) for a, b in zip(owns, labels, strict=True)])
        labels = _corresponding(look, labels, n_clusters) if how.renumber else labels
        kinship = (relatedness(*_centers(look, labels, n_clusters)) - np.eye(m)).max(axis=1)
        known = np.array([len(Y) for Y in look.Ys]) >= how.enough * n_clusters
        alone = known & ((agreement < how.chance) | (kinship < how.kinship))
    if alone.any():
        if not alone.all():  # those that are left vote again, without the tasks that have nothing to do with theirs
            related = np.flatnonzero(~alone).tolist()
            rest = Look([look.Ys[k] for k in related], [look.us[k] for k in related])
            again = vote(_votes(rest, how, n_clusters, smoothings, parallel), n_clusters)
            for k, share in zip(related, again, strict=True):
                shares[k] = share
        labels = [own if left else share.argmax(axis=1) for own, share, left in zip(owns, shares, alone, strict=True)]
        labels = _corresponding(look, labels, n_clusters) if how.renumber else labels
    weights = np.where(alone, 1.0, settings.within_weight)
    binary = replace(settings, within_weight=weights, coupling="reconstruction", membership="binary")
    decision = Decision(
        within_weight=weights,
        agreement=agreement,
        kinship=kinship,
        unanimity=float(np.concatenate([share.max(axis=1) for share in shares]).mean()),
        n_votes=len(votes),
        n_rows=sum(map(len, look.Ys)),
        n_dimensions=look.Ys[0].shape[1],
        n_far=0 if unit_rows else sum(int(np.sum(u < b.u)) for u, b in zip(look.us, sample, strict=True)),
    )
    return from_sample(rows, sample, positions, labels, n_clusters, binary), decision


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


def _votes(
    look: Look, how: Vote, n_clusters: int, smoothings: list[tuple[int, int, int]], parallel: Parallel
) -> list[list[Array]]:
    """Labels of all quick fits: of each smoothing (neighbours, steps, seed), start and λ1."""
    found = parallel(delayed(_smoothed_fits)(look, how, n_clusters, *smoothing) for smoothing in smoothings)
    return [labels for fits in found for labels in fits]


def _smoothed_fits(
    look: Look, how: Vote, n_clusters: int, n_neighbors: int, steps: int, seed: int
) -> list[list[Array]]:
    """Labels of the best fit of each kind of start and each λ1, on smoothed rows."""
    rng = np.random.default_rng(seed)
    blocks = [
        make_block(smooth(Y, n_neighbors, steps), u, Y.mean(axis=0)) for Y, u in zip(look.Ys, look.us, strict=True)
    ]
    rows, n_components = LocalRows(blocks, n_clusters), min(n_clusters, blocks[0].X.shape[1])
    shares = how.shares if len(blocks) > 1 else how.shares[:1]  # one task shares with nobody
    found = []
    for kind in starts.kinds(len(blocks)):
        begun = [starts.start(kind, blocks, n_clusters, Settings(0.5, n_components), rng) for _ in range(how.starts)]
        for share in shares:
            settings = Settings(share, n_components)
            best = best_fit(rows, settings, Schedule(tol=1e-5), begun)
            found.append(best.state.Ps)
    return found


def _own_labels(Y: Array, u: Array, how: Vote, n_clusters: int, seed: int) -> Array:
    """A task's own k-means."""
    rng = np.random.default_rng(seed)
    block = make_block(Y, u, Y.mean(axis=0))
    runs = [starts.run_kmeans([block], n_clusters, rng) for _ in range(how.own_starts)]
    return runs[first_best([run.trace[-1] for run in runs])].state.Ps[0]


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


def _renumbered(labels: Array, reference: Array, n_clusters: int) -> Array:
    """Labels under the matching that agrees best with the shares of a reference."""
    overlap = np.zeros((n_clusters, n_clusters))
    np.add.at(overlap, labels, reference)
    return linear_sum_assignment(overlap, maximize=True)[1][labels]
