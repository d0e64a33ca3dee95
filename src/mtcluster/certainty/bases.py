"""Labels for each of several numbers of clusters: the candidates of a consensus, for all numbers side by side.

What is found for a number does not depend on which others are asked for: each has seeds of its own.
"""

from __future__ import annotations

import numpy as np

from ..consensus import Consensus
from ..consensus.ballot import Ballot
from ..consensus.candidates import SEED_TOL, SHRINKAGES, SMOOTHING, UNMATCHED, sums_of
from ..consensus.judging import Judge
from ..consensus.members import blocks_of, matched, sorted_by_task
from ..consensus.presence import find_presence
from ..core import jobs
from ..core.arrays import Array
from ..core.blocks import Blocks
from ..core.kmeans import seeds
from ..core.memberships import Responsibilities
from ..core.metric import Metric
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.solver import alternate, first_state, state_at
from .refits import SEEDED, Setting, centered, located
from .view import View

SEEDINGS = 4  # of each kind of start for each number
SEED_ITER, TRIAL_ITER, MAX_ITER, TOL = 8, 5, 15, 1e-4
PRICE = 0.5  # of a parameter of a centre, in units of log N / N
KEPT = 2  # mixtures of each number that are fitted to the end
LIGHT = Consensus(smoothings=((5, 2), (10, 4), (15, 4)), n_seedings=6, n_init_member=2, n_init_own=3)


def find_bases(view: View, numbers: list[int], seed: int) -> list[Setting]:
    """The best labels found for each number of clusters, and what they say about the tasks."""
    return _measured(view, numbers, seed) if view.measured else _plain(view, numbers, seed)


def _measured(view: View, numbers: list[int], seed: int) -> list[Setting]:
    """By Gaussian mixtures with one covariance, with offsets and without; the criterion of the candidates chooses."""
    rows, m, c = view.rows, len(view.rows.origins), max(numbers)
    starts = _starts(view, numbers, seed)  # (number, labels)
    choices = [(frame, kappa) for frame in (False, True) for kappa in SHRINKAGES] if m > 1 else [(False, np.inf)]
    owner = np.array([g for g, _ in starts] * len(choices))
    free = np.repeat([frame for frame, _ in choices], len(starts))
    kappa = np.repeat([value for _, value in choices], len(starts))
    present = np.arange(c) < np.array(numbers)[owner][:, None]
    metric = Metric(None, np.eye(rows.n_features))
    model = Model(
        c, 0.0, c, membership=Responsibilities(), metric=metric, proportions=True, matched=free, shrinkage=kappa,
        present=present,
    )  # fmt: skip
    weights = rows.apply(jobs.unit_weights, outputs=1)[0]
    judge = Judge(metric, metric.spread(rows, weights, np.ones(m, dtype=bool)), rows.origins, rows.summary.means)

    def values(state: object, at: list[int]) -> Array:
        S, T = sums_of(rows, state, c)
        return judge(S, T, free[at], np.array(numbers)[owner[at]])

    every = list(range(len(owner)))
    state = first_state(rows, model, [labels for _, labels in starts] * len(choices), energy=False)
    state = alternate(rows, model, state, max_iter=TRIAL_ITER, tol=TOL).state
    found = values(state, every)
    best = np.sort(np.concatenate([_leading(found, owner == g, KEPT) for g in range(len(numbers))])).tolist()
    state = alternate(rows, model.runs(best), state.runs(rows, best), max_iter=MAX_ITER, tol=TOL).state
    found = values(state, best)
    settings, N = [], float(judge.spread.total[0])
    for g, number in enumerate(numbers):
        lead = int(_leading(found, owner[best] == g, 1)[0])
        labels = [P[lead].argmax(axis=0) for P in state.Ps]
        run = best[lead]
        alone = np.zeros(m, dtype=bool)
        held = find_presence(rows, labels, number, bool(free[run]), float(kappa[run]), alone)
        share = np.zeros(m)
        if np.isfinite(kappa[run]):
            sizes = np.stack([np.bincount(own, minlength=number) for own in held.labels])
            share = np.sum(sizes**2 / (sizes + kappa[run]), axis=1) / np.maximum(sizes.sum(axis=1), 1)
        b = located(rows, held.labels, number) if free[run] else np.zeros(rows.origins.shape)
        settings.append(
            Setting(
                held.labels,
                number,
                b,
                np.minimum(share, 0.99),
                held.present,
                value=float(found[lead]) + PRICE * number * rows.n_features * np.log(N) / N,
            )
        )
    return settings


def _plain(view: View, numbers: list[int], seed: int) -> list[Setting]:
    """By votes of quick fits with the Euclidean metric, each of which may leave tasks alone."""
    settings, m = [], len(view.rows.origins)
    for number in numbers:
        ballot = Ballot(LIGHT, view.embedding, number, np.random.default_rng([seed, 8, number]))
        shares, owns = ballot.vote(view.embedding)
        labels, _, _, alone = ballot.compare(shares, owns)
        if alone.any():
            labels = ballot.again(shares, owns, alone)
        share = np.where(alone, 1.0, LIGHT.within_weight if m > 1 else 0.0)
        settings.append(Setting(labels, number, np.zeros(view.rows.origins.shape), share, np.ones((m, number), bool)))
    return settings


def _leading(values: Array, own: Array, n: int) -> Array:
    """The best n of some runs; rounding must not decide between equal ones."""
    at = np.flatnonzero(own)
    return at[np.argsort(np.round(values[at], 3), kind="stable")[:n]]


def _starts(view: View, numbers: list[int], seed: int) -> list[tuple[int, list[Array]]]:
    """Labels by k-means: of all rows where they lie and without the means of tasks, and of each task on its own."""
    found: list[tuple[int, list[Array]]] = []
    embedding = view.embedding
    kinds = [view.rows, Blocks(blocks_of(embedding.Ys, embedding.us, embedding.unit))]
    if not view.wide:  # wide rows are smoothed already
        smoothed = embedding.smoothed([SMOOTHING])[0]
        kinds.append(Blocks(blocks_of(smoothed, embedding.us, embedding.unit)))
    several = len(view.rows.origins) > 1
    for i, rows in enumerate(kinds):
        found += _kmeans(rows, numbers, seed, 2 * i)
        if several:
            found += _kmeans(
                rows, numbers, seed, 2 * i + 1, offsets=Offsets(centered(rows), np.ones(len(rows.origins)))
            )
    if several:
        found += _by_task(kinds[-1], numbers, seed, UNMATCHED)
    return found


def _kmeans(
    rows: Blocks, numbers: list[int], seed: int, kind: int, n: int = 1, offsets: Offsets | None = None
) -> list[tuple[int, list[Array]]]:
    """The best n of some seedings of all rows, for each number."""
    c, m = max(numbers), len(rows.origins)
    owner = np.repeat(np.arange(len(numbers)), SEEDINGS)
    Z = np.zeros((len(owner), c, rows.n_features))
    for g, number in enumerate(numbers):
        rng = np.random.default_rng([seed, 6, kind, number])
        Z[owner == g, :number] = seeds(rows.place.blocks, number, offsets, rng, SEEDINGS, SEEDED)
    model = Model(c, 0.0, c, present=np.arange(c) < np.array(numbers)[owner][:, None], offsets=offsets)
    state = state_at(rows, model, Z, model.placed_points(Z, m))
    result = alternate(rows, model, state, max_iter=SEED_ITER, tol=SEED_TOL)
    final = np.array(result.final)
    best = [(g, int(run)) for g in range(len(numbers)) for run in _first(final, owner == g, n)]
    return [(g, [P[run] for P in result.state.Ps]) for g, run in best]


def _first(values: Array, own: Array, n: int) -> Array:
    at = np.flatnonzero(own)
    return at[np.argsort(values[at], kind="stable")[:n]]


def _by_task(rows: Blocks, numbers: list[int], seed: int, price: float | None) -> list[tuple[int, list[Array]]]:
    """Each task on its own, clusters matched across tasks, for each number."""
    c, blocks = max(numbers), rows.place.blocks
    owner = np.repeat(np.arange(len(numbers)), SEEDINGS)
    Ms = np.zeros((len(owner), len(blocks), c, rows.n_features))
    for g, number in enumerate(numbers):
        rng = np.random.default_rng([seed, 7, number])
        for k, block in enumerate(blocks):
            Ms[owner == g, k, :number] = seeds([block], number, None, rng, SEEDINGS, SEEDED)
    model = Model(c, 1.0, c, present=np.arange(c) < np.array(numbers)[owner][:, None])
    state = alternate(rows, model, state_at(rows, model, Ms[:, 0], Ms), max_iter=SEED_ITER, tol=SEED_TOL).state
    labels = sorted_by_task(rows, state, len(numbers), 1)
    return list(enumerate(matched(rows, Model(c, 1.0, c), labels, numbers, price=price)))
