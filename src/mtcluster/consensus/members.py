"""The members of a consensus: quick fits that differ in what cannot be known beforehand.

All of them begin with the same labels, found once. Those of each group run side by side, and those that cannot become
a member any more are dropped early.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Block, Blocks, make_block
from ..core.jobs import weighted_sums
from ..core.kmeans import seeds
from ..core.model import Model, State
from ..core.relations import align
from ..core.solver import alternate, first_state, race, state_at
from .embedding import Embedding

DTYPE = np.float32  # a vote needs no more digits
SEEDINGS, STARTS = 6, 4  # k-means++ seedings of each kind and group, and those of them that become starts
SEEDED = 600  # rows that seeds are drawn from
OWN_STARTS = 5  # of the seedings of each task those that go on to its own clusters
TRIAL_ITER = 4  # iterations after which the better seedings, and the best starts, go on
TRIAL_WEIGHT = 0.4  # λ1 of the trial of starts
OFFSET_RUNS = 4  # runs of k-means of all rows that are compared in two frames
MAX_ITER, TOL = 15, 5e-4


def blocks_of(Ys: list[Array], us: list[Array]) -> list[Block]:
    """Embedded rows as blocks, seen from the mean of each task."""
    pairs = zip(Ys, us, strict=True)
    return [make_block(Y.astype(DTYPE), u.astype(DTYPE), Y.mean(axis=0)) for Y, u in pairs]


def tightest(blocks: list[Block], n_clusters: int, rng: np.random.Generator) -> float:
    """The least sum of squared distances that a few runs of k-means of all rows find."""
    rows, model = Blocks(blocks), Model(n_clusters, 0.0, n_clusters)
    return min(alternate(rows, model, pooled(rows, model, OFFSET_RUNS, rng), max_iter=MAX_ITER, tol=TOL).final)


def pooled(rows: Blocks, model: Model, n: int, rng: np.random.Generator) -> State:
    """Labels by n seedings of all rows together."""
    Z = seeds(rows.place.blocks, model.n_clusters, None, rng, n, SEEDED).astype(DTYPE)
    return state_at(rows, model, Z, model.placed(Z, len(rows.place.blocks)))


def by_task(rows: Blocks, model: Model, n: int, rng: np.random.Generator) -> State:
    """Labels by n seedings of each task on its own."""
    most = max(SEEDED // len(rows.place.blocks), 20 * model.n_clusters)
    Ms = np.stack([seeds([b], model.n_clusters, None, rng, n, most) for b in rows.place.blocks], axis=1)
    return state_at(rows, model, Ms[:, 0], Ms)


def sorted_by_task(rows: Blocks, state: State, groups: int, n: int) -> list[list[Array]]:
    """Labels of the best n runs of each group: the first has those of the best run of each task, and so on."""
    losses = rows.apply(weighted_sums, state.Ls)[-1]  # (m, R)
    m, size = len(losses), state.n_runs // groups
    order = np.argsort(losses.reshape(m, groups, size), axis=2, kind="stable")[:, :, :n]
    order = (order + size * np.arange(groups)[:, None]).reshape(m, groups * n)
    return [[P[order[k, i]] for k, P in enumerate(state.Ps)] for i in range(groups * n)]


def matched(rows: Blocks, model: Model, starts: list[list[Array]]) -> list[list[Array]]:
    """Labels of tasks on their own, clusters renumbered so that they correspond across tasks."""
    blocks = rows.place.blocks
    first, found = first_state(rows, model, starts), []
    for run, labels in enumerate(starts):
        sizes = [
            np.bincount(own, weights=b.u, minlength=model.n_clusters) for own, b in zip(labels, blocks, strict=True)
        ]
        orders = align(first.centers.Ms[run], np.stack(sizes))
        found.append([np.argsort(order)[own] for order, own in zip(orders, labels, strict=True)])
    return found


@dataclass(frozen=True)
class Starts:
    """What the members begin with, found once on the rows as they are."""

    kinds: list[list[list[Array]]]  # kind → labels, so many for each group of members
    owns: list[Array]  # each task's own clusters

    @classmethod
    def find(cls, embedding: Embedding, n_clusters: int, groups: int, rng: np.random.Generator) -> Starts:
        """k-means of all rows together, and of each task on its own, side by side from many seeds."""
        raw = Blocks(blocks_of(embedding.Ys, embedding.us))
        rows = Blocks(blocks_of(embedding.smoothed([(5, 1)])[0], embedding.us))
        together, apart = Model(n_clusters, 0.0, n_clusters), Model(n_clusters, 1.0, n_clusters)
        n = groups * SEEDINGS
        found = alternate(rows, together, pooled(rows, together, n, rng), max_iter=TRIAL_ITER, tol=TOL)
        order = np.argsort(np.reshape(found.final, (groups, SEEDINGS)), axis=1, kind="stable")[:, :STARTS]
        best = (order + SEEDINGS * np.arange(groups)[:, None]).ravel()
        common = [[P[run] for P in found.state.Ps] for run in best]
        if len(embedding.Ys) == 1:
            return cls([common], common[0])
        state = alternate(rows, apart, by_task(rows, apart, n, rng), max_iter=TRIAL_ITER, tol=TOL).state
        starts = matched(rows, apart, sorted_by_task(rows, state, groups, STARTS))
        own = first_state(raw, apart, sorted_by_task(rows, state, 1, OWN_STARTS))
        own = alternate(raw, apart, own, max_iter=MAX_ITER, tol=TOL).state
        return cls([starts, common], sorted_by_task(raw, own, 1, 1)[0])


def fit_members(
    embedding: Embedding,
    n_clusters: int,
    smoothings: list[tuple[int, int]],
    within_weights: tuple[float, ...],
    starts: Starts,
) -> list[list[Array]]:
    """Labels by all members: one for each smoothing (neighbours, steps), kind of start and λ1."""
    shares = within_weights if len(embedding.Ys) > 1 else within_weights[:1]  # a single task shares with nobody
    smoothed, n_kinds = embedding.smoothed(smoothings), len(starts.kinds)
    entries, runs = np.repeat(np.arange(n_kinds), STARTS), np.repeat(np.arange(n_kinds), len(shares)).tolist()
    trial = Model(n_clusters, TRIAL_WEIGHT, n_clusters)
    model = Model(n_clusters, np.tile(shares, n_kinds)[:, None], n_clusters)

    def fits(group: int) -> list[list[Array]]:
        rows = Blocks(blocks_of(smoothed[group], embedding.us))
        begun = [labels for kind in starts.kinds for labels in kind[group * STARTS : (group + 1) * STARTS]]
        best = race(rows, trial, first_state(rows, trial, begun), entries, max_iter=TRIAL_ITER, tol=TOL)
        found = alternate(rows, model, best.state.runs(rows, runs), max_iter=MAX_ITER, tol=TOL)
        return [[P[run] for P in found.state.Ps] for run in range(len(runs))]

    return [labels for group in range(len(smoothed)) for labels in fits(group)]
