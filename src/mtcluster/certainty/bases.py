"""Labels for each of several numbers of clusters, as the candidates of a consensus find them.

What is found for a number does not depend on which others are asked for: each is fitted on its own, from its own seeds.
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


def find_base(view: View, number: int, seed: int) -> Setting:
    """The best labels found for a number of clusters, and what they say about the tasks."""
    return _measured(view, number, seed) if view.measured else _plain(view, number, seed)


def _measured(view: View, number: int, seed: int) -> Setting:
    """By Gaussian mixtures with one covariance, with offsets and without; the criterion of the candidates chooses."""
    rows, m, starts = view.rows, len(view.rows.origins), _starts(view, number, seed)
    choices = [(frame, kappa) for frame in (False, True) for kappa in SHRINKAGES] if m > 1 else [(False, np.inf)]
    free = np.repeat([frame for frame, _ in choices], len(starts))
    kappa = np.repeat([value for _, value in choices], len(starts))
    metric = Metric(None, np.eye(rows.n_features))
    model = Model(
        number, 0.0, number, membership=Responsibilities(), metric=metric, proportions=True, matched=free,
        shrinkage=kappa,
    )  # fmt: skip
    weights = rows.apply(jobs.unit_weights, outputs=1)[0]
    judge = Judge(metric, metric.spread(rows, weights, np.ones(m, dtype=bool)), rows.origins, rows.summary.means)
    state = first_state(rows, model, starts * len(choices), energy=False)
    state = alternate(rows, model, state, max_iter=TRIAL_ITER, tol=TOL).state
    best = sorted(_leading(judge(*sums_of(rows, state, number), free), KEPT))
    state = alternate(rows, model.runs(best), state.runs(rows, best), max_iter=MAX_ITER, tol=TOL).state
    values = judge(*sums_of(rows, state, number), free[best])
    [lead] = _leading(values, 1)
    N, run = float(judge.spread.total[0]), best[lead]
    value = float(values[lead]) + PRICE * number * rows.n_features * np.log(N) / N
    labels = [P[lead].argmax(axis=0) for P in state.Ps]
    return _described(rows, labels, number, bool(free[run]), float(kappa[run]), value)


def _described(rows: Blocks, labels: list[Array], number: int, free: bool, kappa: float, value: float) -> Setting:
    """What the labels of a mixture say about the tasks: where they lie, how much they share and what they hold."""
    m = len(labels)
    held = find_presence(rows, labels, number, free, kappa, np.zeros(m, dtype=bool))
    share = np.zeros(m)
    if np.isfinite(kappa):
        sizes = np.stack([np.bincount(own, minlength=number) for own in held.labels])
        share = np.sum(sizes**2 / (sizes + kappa), axis=1) / np.maximum(sizes.sum(axis=1), 1)
    b = located(rows, held.labels, number) if free else np.zeros(rows.origins.shape)
    return Setting(held.labels, number, b, np.minimum(share, 0.99), held.present, value=value)


def _plain(view: View, number: int, seed: int) -> Setting:
    """By votes of quick fits with the Euclidean metric, each of which may leave tasks alone."""
    m = len(view.rows.origins)
    ballot = Ballot(LIGHT, view.embedding, number, np.random.default_rng([seed, 8, number]))
    shares, owns = ballot.vote(view.embedding)
    labels, _, _, alone = ballot.compare(shares, owns)
    if alone.any():
        labels = ballot.again(shares, owns, alone)
    share = np.where(alone, 1.0, LIGHT.within_weight if m > 1 else 0.0)
    return Setting(labels, number, np.zeros(view.rows.origins.shape), share, np.ones((m, number), bool))


def _leading(values: Array, n: int) -> list[int]:
    """The best n of some runs; rounding must not decide between equal ones."""
    return np.argsort(np.round(values, 3), kind="stable")[:n].tolist()


def _starts(view: View, number: int, seed: int) -> list[list[Array]]:
    """Labels by k-means: of all rows where they lie and without the means of tasks, and of each task on its own."""
    found: list[list[Array]] = []
    m = len(view.rows.origins)
    for i, rows in enumerate(view.looks):
        places = [None, Offsets(centered(rows), np.ones(m))] if m > 1 else [None]
        found += [_kmeans(rows, number, place, [seed, 6, 2 * i + j]) for j, place in enumerate(places)]
    return [*found, _by_task(view.looks[-1], number, [seed, 7])] if m > 1 else found


def _kmeans(rows: Blocks, number: int, offsets: Offsets | None, seed: list[int]) -> list[Array]:
    """The best of some seedings of all rows."""
    rng = np.random.default_rng([*seed, number])
    Z = seeds(rows.place.blocks, number, offsets, rng, SEEDINGS, SEEDED)
    model = Model(number, 0.0, number, offsets=offsets)
    state = state_at(rows, model, Z, model.placed_points(Z, len(rows.origins)))
    result = alternate(rows, model, state, max_iter=SEED_ITER, tol=SEED_TOL)
    return [P[int(np.argmin(result.final))] for P in result.state.Ps]


def _by_task(rows: Blocks, number: int, seed: list[int]) -> list[Array]:
    """Each task on its own, clusters matched across tasks."""
    rng, model = np.random.default_rng([*seed, number]), Model(number, 1.0, number)
    Ms = np.stack([seeds([b], number, None, rng, SEEDINGS, SEEDED) for b in rows.place.blocks], axis=1)
    state = alternate(rows, model, state_at(rows, model, Ms[:, 0], Ms), max_iter=SEED_ITER, tol=SEED_TOL).state
    return matched(rows, model, sorted_by_task(rows, state, 1, 1), price=UNMATCHED)[0]
