"""The members of a consensus: quick fits that differ in what cannot be known beforehand.

All of them begin with the same labels, found once. Those of each group run side by side, and those that cannot become
a member any more are dropped early.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..core.arrays import Array
from ..core.blocks import Block, Blocks, make_block
from ..core.jobs import weighted_sums
from ..core.kmeans import seeds
from ..core.model import Model, State
from ..core.relations import align
from ..core.solver import alternate, first_state, race
from .embedding import Embedding

DTYPE = np.float32  # a vote needs no more digits
SEEDINGS, STARTS = 8, 4  # k-means++ seedings of each kind, and those of them that become starts
OWN_SEEDINGS, OWN_STARTS = 30, 5  # likewise for the clusters of each task on its own
TRIAL_ITER = 4  # iterations after which the better seedings, and the best starts, go on
TRIAL_WEIGHT = 0.4  # λ1 of the trial of starts
MAX_ITER, TOL = 30, 1e-4


def blocks_of(Ys: list[Array], us: list[Array]) -> list[Block]:
    """Embedded rows as blocks, seen from the mean of each task."""
    pairs = zip(Ys, us, strict=True)
    return [make_block(Y.astype(DTYPE), u.astype(DTYPE), Y.mean(axis=0).astype(DTYPE).astype(float)) for Y, u in pairs]


def pooled_starts(blocks: list[Block], n_clusters: int, n: int, rng: np.random.Generator) -> list[list[Array]]:
    """Labels by a few iterations of k-means of all rows together: the best n of several seedings."""
    rows, model = Blocks(blocks), Model(n_clusters, 0.0, n_clusters)
    state = first_state(rows, model, seeds(blocks, n_clusters, None, rng, SEEDINGS))
    found = alternate(rows, model, state, max_iter=TRIAL_ITER, tol=TOL)
    best = np.argsort(found.final, kind="stable")[:n]
    return [[P[run] for P in found.state.Ps] for run in best]


def own_runs(
    blocks: list[Block], n_clusters: int, n_seedings: int, n: int, max_iter: int, rng: np.random.Generator
) -> State:
    """k-means of each task on its own, side by side: λ1 = 1. In each task, runs are in the order of their losses.

    Of several seedings the best n of each task go on after a few iterations.
    """
    rows, model = Blocks(blocks), Model(n_clusters, 1.0, n_clusters)
    by_task = [seeds([b], n_clusters, None, rng, n_seedings) for b in blocks]
    starts = [[own[run][0] for own in by_task] for run in range(n_seedings)]
    state = alternate(rows, model, first_state(rows, model, starts), max_iter=TRIAL_ITER, tol=TOL).state
    labels = sorted_by_task(rows, state, n)
    if max_iter <= TRIAL_ITER:
        return first_state(rows, model, labels)
    state = alternate(rows, model, first_state(rows, model, labels), max_iter=max_iter - TRIAL_ITER, tol=TOL).state
    return first_state(rows, model, sorted_by_task(rows, state, n))


def sorted_by_task(rows: Blocks, state: State, n: int) -> list[list[Array]]:
    """Labels of n runs: the first has the labels of the best run of each task, and so on."""
    losses = rows.apply(weighted_sums, state.Ls)[-1]  # (m, R)
    order = np.argsort(losses, axis=1, kind="stable")
    return [[P[order[k, i]] for k, P in enumerate(state.Ps)] for i in range(n)]


def matched_starts(state: State, sizes: Array) -> list[list[Array]]:
    """The labels of runs of tasks on their own, clusters matched across tasks."""
    found = []
    for run in range(state.n_runs):
        orders = align(state.centers.Ms[run], sizes[:, run])
        found.append([np.argsort(order)[P[run]] for order, P in zip(orders, state.Ps, strict=True)])
    return found


def fit_members(
    embedding: Embedding,
    n_clusters: int,
    smoothings: list[tuple[int, int]],
    within_weights: tuple[float, ...],
    rng: np.random.Generator,
    parallel: Parallel,
) -> list[list[Array]]:
    """Labels by all members: one for each smoothing (neighbours, steps), kind of start and λ1."""
    m = len(embedding.Ys)
    shares = within_weights if m > 1 else within_weights[:1]  # a single task shares with nobody
    n_kinds = 1 if m == 1 else 2
    seeds_of = rng.integers(np.iinfo(np.int64).max, size=len(smoothings))

    def fits(blocks: list[Block], seed: int) -> list[list[Array]]:
        own = np.random.default_rng(seed)
        begun = starts_of(blocks, n_clusters, own)
        rows = Blocks(blocks)
        trial = Model(n_clusters, TRIAL_WEIGHT, n_clusters)
        entries = np.repeat(np.arange(n_kinds), STARTS)
        best = race(rows, trial, first_state(rows, trial, begun), entries, max_iter=TRIAL_ITER, tol=TOL)
        each = [run for run in range(n_kinds) for _ in shares]
        model = Model(n_clusters, np.tile(shares, n_kinds)[:, None], n_clusters)
        found = alternate(rows, model, best.state.runs(rows, each), max_iter=MAX_ITER, tol=TOL)
        return [[P[run] for P in found.state.Ps] for run in range(len(each))]

    smoothed = [blocks_of(Ys, embedding.us) for Ys in embedding.smoothed(smoothings)]
    groups: Any = parallel(delayed(fits)(blocks, seed) for blocks, seed in zip(smoothed, seeds_of, strict=True))
    return [labels for group in groups for labels in group]


def starts_of(blocks: list[Block], n_clusters: int, rng: np.random.Generator) -> list[list[Array]]:
    """Labels to start with: so many by k-means of each task, clusters matched, and by k-means of all rows."""
    pooled = pooled_starts(blocks, n_clusters, STARTS, rng)
    if len(blocks) == 1:
        return pooled
    own = own_runs(blocks, n_clusters, SEEDINGS, STARTS, TRIAL_ITER, rng)
    return [*matched_starts(own, sizes_of(own, blocks, n_clusters)), *pooled]


def sizes_of(state: State, blocks: list[Block], n_clusters: int) -> Array:
    """Σ u of each task, run and cluster, (m, R, c)."""
    count = partial(np.bincount, minlength=n_clusters)
    return np.stack([[count(own, weights=b.u) for own in P] for P, b in zip(state.Ps, blocks, strict=True)])


def own_labels(embedding: Embedding, n_clusters: int, rng: np.random.Generator) -> list[Array]:
    """Each task's own k-means."""
    blocks = blocks_of(embedding.Ys, embedding.us)
    state = own_runs(blocks, n_clusters, OWN_SEEDINGS, OWN_STARTS, 10 * TRIAL_ITER, rng)
    return [P[0] for P in state.Ps]
