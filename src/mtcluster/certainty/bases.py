"""Labels for each of several numbers of clusters, as the candidates of a consensus find them.

All numbers are fitted side by side, each from its own seeds: what is found for one does not depend on the others.
"""

from __future__ import annotations

import numpy as np

from ..consensus import Consensus
from ..consensus.ballot import Ballot
from ..consensus.candidates import SEED_TOL, SHRINKAGES, UNMATCHED, sums_of
from ..consensus.judging import Judge
from ..consensus.members import matched, sorted_by_task
from ..consensus.presence import find_presence
from ..core import jobs
from ..core.arrays import Array
from ..core.blocks import Blocks
from ..core.geometry import Tied
from ..core.memberships import Responsibilities
from ..core.model import Model
from ..core.sharing import Offsets, Share, Shrink
from ..core.solver import alternate, first_state, state_at
from ..core.starts import NOWHERE, seeds
from .refits import HALF_SEEDED, Setting, centered, located
from .view import View

BASE_SEEDINGS = 4  # of each kind of start for each number
BASE_SEED_ITER, BASE_TRIAL_ITER, BASE_ITER, BASE_TOL = 8, 5, 15, 1e-4
PARAMETER_PRICE = 0.5  # of a parameter of a centre, in units of log N / N
BASE_KEPT = 2  # mixtures of each number that are fitted to the end
LIGHT_CONSENSUS = Consensus(smoothings=((5, 2), (10, 4), (15, 4)), n_seedings=6, n_init_member=2, n_init_own=3)


def find_bases(view: View, numbers: list[int], seed: int) -> list[Setting]:
    """Return the best labels found for each number of clusters, and what they say about the tasks."""
    if view.measured:
        return _measured(view, numbers, seed)
    return [_plain(view, number, seed) for number in numbers]


def _measured(view: View, numbers: list[int], seed: int) -> list[Setting]:
    """By Gaussian mixtures with one covariance, with offsets and without; the criterion of the candidates chooses."""
    rows, m, c, starts = view.rows, len(view.rows.origins), max(numbers), _starts(view, numbers, seed)
    choices = [(False, np.inf), *((True, kappa) for kappa in SHRINKAGES)] if m > 1 else [(False, np.inf)]
    each = len(starts) // len(numbers)
    asked = np.tile(np.repeat(numbers, each), len(choices))  # by each mixture
    free = np.repeat([frame for frame, _ in choices], len(starts))
    kappa = np.repeat([value for _, value in choices], len(starts))
    geometry = Tied.of(np.eye(rows.n_features))
    model = Model(
        c, Shrink.of(kappa), c, membership=Responsibilities(), geometry=geometry, proportions=True,
        offsets=Offsets.none(free), holds=(np.arange(c) < asked[:, None])[:, None],
    )  # fmt: skip
    weights = rows.apply(jobs.unit_weights, outputs=1)[0]
    judge = Judge(geometry, geometry.spread(rows, weights, np.ones(m, dtype=bool)), rows.origins, rows.summary.means)
    state = first_state(rows, model, starts * len(choices), energy=False)
    state = alternate(rows, model, state, max_iter=BASE_TRIAL_ITER, tol=BASE_TOL).state
    values = judge(*sums_of(rows, state, c), free, asked)
    best = sorted(run for number in numbers for run in _leading(values, asked == number, BASE_KEPT))
    state = alternate(rows, model.take("R", best), state.runs(rows, best), max_iter=BASE_ITER, tol=BASE_TOL).state
    values = judge(*sums_of(rows, state, c), free[best], asked[best])
    N, settings = float(judge.spread.total[0]), []
    for number in numbers:
        [lead] = _leading(values, asked[best] == number, 1)
        value = float(values[lead]) + PARAMETER_PRICE * number * rows.n_features * np.log(N) / N
        labels, run = [P[lead].argmax(axis=0) for P in state.Ps], best[lead]
        settings.append(_described(rows, labels, number, bool(free[run]), float(kappa[run]), value))
    return settings


def _described(rows: Blocks, labels: list[Array], number: int, free: bool, kappa: float, value: float) -> Setting:
    """Tell what the labels of a mixture say about the tasks: where they lie, how much they share and what they hold."""
    m = len(labels)
    held = find_presence(rows, labels, number, free, kappa, np.zeros(m, dtype=bool))
    share = np.zeros(m)
    if np.isfinite(kappa):
        sizes = np.stack([np.bincount(own, minlength=number) for own in held.labels])
        share = np.sum(sizes**2 / (sizes + kappa), axis=1) / np.maximum(sizes.sum(axis=1), 1)
    b = located(rows, held.labels, number) if free else np.zeros(rows.origins.shape)
    return Setting(held.labels, number, b, np.minimum(share, 0.99), held.holds, value=value)


def _plain(view: View, number: int, seed: int) -> Setting:
    """By votes of quick fits with the Euclidean metric, each of which may leave tasks alone."""
    m = len(view.rows.origins)
    ballot = Ballot(LIGHT_CONSENSUS, view.embedding, number, np.random.default_rng([seed, 8, number]))
    shares, owns = ballot.vote(view.embedding)
    labels, _, _, alone = ballot.compare(shares, owns)
    if alone.any():
        labels = ballot.again(shares, owns, alone)
    share = np.where(alone, 1.0, LIGHT_CONSENSUS.within_weight if m > 1 else 0.0)
    return Setting(labels, number, np.zeros(view.rows.origins.shape), share, np.ones((m, number), bool))


def _leading(values: Array, own: Array, n: int) -> list[int]:
    """Return the best n of some of the runs; rounding must not decide between equal ones."""
    at = np.flatnonzero(own)
    return at[np.argsort(np.round(values[at], 3), kind="stable")[:n]].tolist()


def _starts(view: View, numbers: list[int], seed: int) -> list[list[Array]]:
    """Return labels by k-means: of all rows where they lie and without the means of tasks, and of each task on its own.

    They are ordered by the number of clusters.
    """
    kinds, m = [], len(view.rows.origins)
    for i, rows in enumerate(view.looks):
        places = [NOWHERE, Offsets.of(centered(rows))] if m > 1 else [NOWHERE]
        kinds += [_kmeans(rows, numbers, place, [seed, 6, 2 * i + j]) for j, place in enumerate(places)]
    if m > 1:
        kinds.append(_by_task(view.looks[-1], numbers, [seed, 7]))
    return [kind[g] for g in range(len(numbers)) for kind in kinds]


def _kmeans(rows: Blocks, numbers: list[int], offsets: Offsets, seed: list[int]) -> list[list[Array]]:
    """Return the best of some seedings of all rows, for each number."""
    c, Z = max(numbers), np.zeros((len(numbers) * BASE_SEEDINGS, max(numbers), rows.n_features))
    for g, number in enumerate(numbers):
        rng, at = np.random.default_rng([*seed, number]), slice(g * BASE_SEEDINGS, (g + 1) * BASE_SEEDINGS)
        Z[at, :number] = seeds(rows.place.blocks, number, rng, BASE_SEEDINGS, HALF_SEEDED, offsets)
    model = Model(c, Share.of(0.0), c, holds=_first(numbers), offsets=offsets)
    state = state_at(rows, model, Z)
    result = alternate(rows, model, state, max_iter=BASE_SEED_ITER, tol=SEED_TOL)
    best = np.reshape(result.final, (len(numbers), BASE_SEEDINGS)).argmin(axis=1) + BASE_SEEDINGS * np.arange(
        len(numbers)
    )
    return [[P[run] for P in result.state.Ps] for run in best]


def _by_task(rows: Blocks, numbers: list[int], seed: list[int]) -> list[list[Array]]:
    """Return each task on its own, clusters matched across tasks, for each number."""
    c, blocks = max(numbers), rows.place.blocks
    Ms = np.zeros((len(numbers) * BASE_SEEDINGS, len(blocks), c, rows.n_features))
    for g, number in enumerate(numbers):
        rng, at = np.random.default_rng([*seed, number]), slice(g * BASE_SEEDINGS, (g + 1) * BASE_SEEDINGS)
        Ms[at, :, :number] = np.stack([seeds([b], number, rng, BASE_SEEDINGS, HALF_SEEDED) for b in blocks], axis=1)
    model = Model(c, Share.of(1.0), c, holds=_first(numbers))
    state = alternate(rows, model, state_at(rows, model, Ms[:, 0], Ms), max_iter=BASE_SEED_ITER, tol=SEED_TOL).state
    labels = sorted_by_task(rows, state, len(numbers), 1)
    return matched(rows, Model(c, Share.of(1.0), c), labels, numbers, price=UNMATCHED)


def _first(numbers: list[int]) -> Array:
    """Compute (R, 1, c) the clusters of each seeding: the first of all, as many as its number."""
    return (np.arange(max(numbers)) < np.repeat(numbers, BASE_SEEDINGS)[:, None])[:, None]
