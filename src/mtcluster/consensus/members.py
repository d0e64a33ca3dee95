"""The members of a consensus: quick fits that differ in what cannot be known beforehand.

All of them begin with the same labels, found once. Those of each group run side by side, and those that cannot become
a member any more are dropped early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Block, Blocks, make_block
from ..core.jobs import weighted_sums
from ..core.model import Model, State
from ..core.relations import align, partly_align
from ..core.sharing import Share
from ..core.solver import alternate, first_state, race, state_at
from ..core.starts import seeds

MEMBER_DTYPE = np.float32  # a vote needs no more digits
SEEDED = 600  # rows that seeds are drawn from, where there are more
MEMBER_TRIAL_ITER = 4  # iterations after which the better seedings, and the best starts, go on
TRIAL_WEIGHT = 0.4  # λ1 of the trial of starts
MEMBER_ITER, MEMBER_TOL = 15, 5e-4
LOSS_ROUNDED = 1e-5  # share of a loss that rounding may change


def blocks_of(Ys: list[Array], us: list[Array], unit: float, dtype: Any = MEMBER_DTYPE) -> list[Block]:
    """Return embedded rows as blocks, in some unit, seen from the mean of each task."""
    Ys = [Y / unit for Y in Ys]
    return [make_block(Y.astype(dtype), u.astype(dtype), Y.mean(axis=0)) for Y, u in zip(Ys, us, strict=True)]


def tightest(blocks: list[Block], n_clusters: int, n_runs: int, rng: np.random.Generator) -> float:
    """Return the least sum of squared distances that a few runs of k-means of all rows find."""
    rows, model = Blocks(blocks), Model(n_clusters, Share.of(0.0), n_clusters)
    return min(alternate(rows, model, pooled(rows, model, n_runs, rng), max_iter=MEMBER_ITER, tol=MEMBER_TOL).final)


def pooled(rows: Blocks, model: Model, n: int, rng: np.random.Generator) -> State:
    """Return labels by n seedings of all rows together."""
    Z = seeds(rows.place.blocks, model.n_clusters, rng, n, SEEDED).astype(MEMBER_DTYPE)
    return state_at(rows, model, Z)


def by_task(rows: Blocks, model: Model, n: int, rng: np.random.Generator) -> State:
    """Return labels by n seedings of each task on its own."""
    most = max(SEEDED // len(rows.place.blocks), 20 * model.n_clusters)
    Ms = np.stack([seeds([b], model.n_clusters, rng, n, most) for b in rows.place.blocks], axis=1)
    return state_at(rows, model, Ms[:, 0], Ms)


def sorted_by_task(rows: Blocks, state: State, groups: int, n: int) -> list[list[Array]]:
    """Return labels of the best n runs of each group: the first has those of the best run of each task, and so on."""
    losses = rows.apply(weighted_sums, state.Ls)[-1]  # (m, R)
    order = [leading(own, groups, n) for own in losses]
    return [[P[best[i]] for P, best in zip(state.Ps, order, strict=True)] for i in range(groups * n)]


def matched(
    rows: Blocks,
    model: Model,
    starts: list[list[Array]],
    numbers: list[int] | None = None,
    price: float | None = None,
) -> list[list[Array]]:
    """Return labels of tasks on their own, clusters renumbered so that they correspond across tasks.

    `numbers`: how many clusters each start has, if not all. `price`: tasks may lack clusters, and a cluster may stay
    unmatched for that (`core.relations.partly_align`).
    """
    blocks, state, found = rows.place.blocks, first_state(rows, model, starts), []
    widths = rows.apply(weighted_sums, state.Ls)[-1] / np.array([[float(b.u.sum())] for b in blocks])  # (m, R)
    for run, labels in enumerate(starts):
        c = model.n_clusters if numbers is None else numbers[run]
        pairs = zip(labels, blocks, strict=True)
        sizes, Ms = np.stack([np.bincount(own, weights=b.u, minlength=c) for own, b in pairs]), state.centers.Ms[run]
        if price is None:
            new = [np.argsort(order) for order in align(Ms[:, :c], sizes)]
        else:
            new = partly_align(Ms[:, :c], sizes, widths[:, run], price)
        found.append([number[own] for number, own in zip(new, labels, strict=True)])
    return found


@dataclass(frozen=True)
class Starts:
    """What the members begin with, found at once for all of them."""

    kinds: list[list[list[Array]]]  # kind → labels of `n` starts for each group of members
    n: int
    owns: list[Array]  # each task's own clusters

    @classmethod
    def find(
        cls,
        plain: Blocks,
        smoothed: Blocks,
        n_clusters: int,
        groups: int,
        n_seedings: int,
        n_starts: int,
        n_own: int,
        rng: np.random.Generator,
    ) -> Starts:
        """Return k-means of all rows together, and of each task on its own (λ1 = 1), from many seeds side by side.

        It sees smoothed rows. In each group of members the best `n_starts` of `n_seedings` become starts. The best
        `n_own` of all lead to the clusters of each task on its own, of the plain rows.
        """
        together, apart = (Model(n_clusters, Share.of(share), n_clusters) for share in (0.0, 1.0))
        n_starts = min(n_starts, n_seedings)
        begun = pooled(smoothed, together, groups * n_seedings, rng)
        found = alternate(smoothed, together, begun, max_iter=MEMBER_TRIAL_ITER, tol=MEMBER_TOL)
        best = leading(np.array(found.final), groups, n_starts)
        common = [[P[run] for P in found.state.Ps] for run in best]
        if len(plain.origins) == 1:
            return cls([common], n_starts, common[0])
        begun = by_task(smoothed, apart, groups * n_seedings, rng)
        state = alternate(smoothed, apart, begun, max_iter=MEMBER_TRIAL_ITER, tol=MEMBER_TOL).state
        matching = matched(smoothed, apart, sorted_by_task(smoothed, state, groups, n_starts))
        n_own = min(n_own, groups * n_seedings)
        own = first_state(plain, apart, sorted_by_task(smoothed, state, 1, n_own))
        own = alternate(plain, apart, own, max_iter=MEMBER_ITER, tol=MEMBER_TOL).state
        return cls([matching, common], n_starts, sorted_by_task(plain, own, 1, 1)[0])


def leading(losses: Array, groups: int, n: int) -> Array:
    """Get the runs of the n least losses of each group, group by group; rounding must not decide between equal ones."""
    size = len(losses) // groups
    by_group = losses.reshape(groups, size)
    unit = LOSS_ROUNDED * np.maximum(by_group.min(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    order = np.argsort(np.round(by_group / unit), axis=1, kind="stable")[:, :n]
    return (order + size * np.arange(groups)[:, None]).ravel()


def fit_members(
    smoothed: list[Blocks], n_clusters: int, within_weights: tuple[float, ...], starts: Starts
) -> list[list[Array]]:
    """Return labels by all members: one for each smoothing of the rows, kind of start and λ1."""
    n_kinds = len(starts.kinds)
    shares = within_weights if n_kinds > 1 else within_weights[:1]  # a single task shares with nobody
    entries, runs = np.repeat(np.arange(n_kinds), starts.n), np.repeat(np.arange(n_kinds), len(shares)).tolist()
    trial = Model(n_clusters, Share.of(TRIAL_WEIGHT), n_clusters)
    model = Model(n_clusters, Share.of(np.tile(shares, n_kinds)[:, None]), n_clusters)

    def fits(group: int) -> list[list[Array]]:
        rows = smoothed[group]
        begun = [labels for kind in starts.kinds for labels in kind[group * starts.n : (group + 1) * starts.n]]
        best = race(rows, trial, first_state(rows, trial, begun), entries, max_iter=MEMBER_TRIAL_ITER, tol=MEMBER_TOL)
        found = alternate(rows, model, best.state.runs(rows, runs), max_iter=MEMBER_ITER, tol=MEMBER_TOL)
        return [[P[run] for P in found.state.Ps] for run in range(len(runs))]

    return [labels for group in range(len(smoothed)) for labels in fits(group)]


def fit_from(rows: Blocks, n_clusters: int, within_weight: float, labels: list[Array]) -> list[Array]:
    """Return labels by a member that starts from given ones."""
    model = Model(n_clusters, Share.of(within_weight), n_clusters)
    found = alternate(rows, model, first_state(rows, model, [labels]), max_iter=MEMBER_ITER, tol=MEMBER_TOL)
    return [P[0] for P in found.state.Ps]
