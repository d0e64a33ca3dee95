"""The clusters of fits whose rows have no column in common, matched by the geometry of their centres."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._utils.text import listed
from ..consensus import Matching
from ..core.arrays import Array, host
from ..core.blocks import Block
from ..core.centers import Centers
from ..core.composing import Part, compose
from ..core.geometry import Arrangement, rank, stability
from ..core.model import Model
from ..core.sampling import Sampling, take_whole
from ..engines import Engine
from ._progress import warn_user

HELD = 0.9  # what the evidence for a matching, and its share of samples, have to reach
DRAWS = 100  # samples of the rows
SAMPLE = Sampling(4000, 400)
STARTS = 20  # of the solver, where not all matchings can be looked at


@dataclass(frozen=True)
class Fitted:
    """A fit of tasks that common columns link."""

    estimator: Any
    model: Model
    centers: Centers
    tasks: Array  # (m,) numbers of its tasks
    columns: Array  # (d,) numbers of its columns
    unit: float = 1.0  # of its losses, in which they are measured in the whole

    @property
    def sizes(self) -> Array:
        """(m, c) weights of its clusters."""
        return host(self.estimator.cluster_sizes_)

    @property
    def living(self) -> Array:
        """Numbers of the clusters that have rows."""
        return np.flatnonzero(self.sizes.sum(axis=0) > 0)

    @property
    def names(self) -> list[Any]:
        """Labels of its tasks."""
        return host(self.estimator.tasks_).tolist()

    def part(self, own: Array, numbers: Array) -> Part:
        """It in a whole in which some of its clusters have these numbers."""
        return Part(self.model, self.centers, self.sizes, self.tasks, self.columns, own, numbers)


@dataclass(frozen=True)
class View:
    """What the geometry of a fit is read from."""

    D: Array  # (a, a) distances between the centres of living clusters
    drawn: Array  # (B, a, a) the same of samples of the rows


def views_of(engine: Engine, fits: list[Fitted], rng: np.random.Generator) -> list[View]:
    """The geometry of each fit, and of samples of its rows, with what its clusters expect where values are missing."""
    ends = np.cumsum([len(fit.living) for fit in fits])
    parts = [fit.part(fit.living, np.arange(end - len(fit.living), end)) for fit, end in zip(fits, ends, strict=True)]
    sample = take_whole(engine, SAMPLE, rng, *compose(parts, int(ends[-1])))[0]
    return [_view([sample[k] for k in fit.tasks], fit, rng) for fit in fits]


def _view(sample: list[Block], fit: Fitted, rng: np.random.Generator) -> View:
    C = fit.centers.shared[fit.living]
    shape = fit.model.shape(fit.centers.runs(None)) if fit.estimator.metric_ == "shared" else None
    shares = np.broadcast_to(fit.model.shares[0], (len(sample),))
    counted = np.flatnonzero(shares < 1) if (shares < 1).any() else np.arange(len(sample))
    rows = []
    for k in counted.tolist():
        Y = np.asarray(sample[k].X[:], dtype=np.float64)[:, fit.columns]
        rows.append(Y if fit.model.offsets is None else fit.model.offsets.from_task(Y, k))
    tasks = np.repeat(counted, [len(Y) for Y in rows])
    seen = Arrangement(np.concatenate(rows), tasks, C, None if shape is None else shape.inverse[0])
    return View(seen.distances(), seen.redrawn(DRAWS, rng))


def match_clusters(fits: list[Fitted], views: list[View]) -> tuple[list[Array], list[Matching]]:
    """Numbers of the clusters of each fit (-1: none), and how each but the first was matched with one before it."""
    c = fits[0].centers.Z.shape[0]
    numbers, found = [np.arange(c)], []
    for i in range(1, len(fits)):
        tried = [(_matching(fits, views, numbers, j, i), j) for j in range(i)]
        (matching, pairs), j = max(tried, key=lambda one: (one[0][0].held, one[0][0].evidence))
        own = np.full(fits[i].centers.Z.shape[0], -1)
        if matching.held:
            own[pairs[:, 1]] = numbers[j][pairs[:, 0]]
        new = [k for k in fits[i].living if own[k] < 0]
        own[new] = 1 + max(int(one.max()) for one in numbers) + np.arange(len(new))
        named = np.stack([numbers[j][pairs[:, 0]], own[pairs[:, 1]]], axis=1)
        found.append(replace(matching, pairs=named[np.argsort(named[:, 0])]))
        numbers.append(own)
    return numbers, found


def _matching(fits: list[Fitted], views: list[View], numbers: list[Array], j: int, i: int) -> tuple[Matching, Array]:
    """The best matching of the clusters of fit i with those of fit j, and pairs of these in their own numbers."""
    few, many = (j, i) if len(views[j].D) <= len(views[i].D) else (i, j)
    ranking = rank(views[few].D, views[many].D, _propose)
    kept = stability(views[few].drawn, views[many].drawn, ranking)
    pairs = np.stack([fits[few].living, fits[many].living[ranking.best]], axis=1)
    held = min(ranking.evidence, kept) >= HELD
    matching = Matching(
        fits[i].names, fits[j].names, pairs, held, ranking.misfit, ranking.second_misfit, ranking.evidence, kept, HELD
    )
    return matching, pairs if few == j else pairs[:, ::-1]


def _propose(D: Array, E: Array) -> Array:
    """(k, a) matchings from partial Gromov–Wasserstein couplings of a clusters with b, from several starts."""
    solve, rng = solver(), np.random.default_rng(0)
    a, b = len(D), len(E)
    D, E = D / max(D.mean(), 1e-300), E / max(E.mean(), 1e-300)
    p, q, found = np.full(a, 1 / b), np.full(b, 1 / b), []
    for start in range(STARTS):
        between = [np.eye(b)[rng.permutation(b)[:a]] / (2 * b) for _ in range(2)]
        T = solve(D, E, p, q, m=a / b, G0=None if not start else between[0] + between[1])
        found.append(linear_sum_assignment(T, maximize=True)[1])
    return np.unique(np.stack(found), axis=0)


def solver() -> Any:
    """POT's, imported where it is needed."""
    try:
        from ot.gromov import partial_gromov_wasserstein
    except ImportError as error:
        raise ImportError(
            "match='geometry' with more than 8 clusters needs POT: pip install 'mtcluster[geometry]'."
        ) from error
    return partial_gromov_wasserstein


def warn_unmatched(found: list[Matching]) -> None:
    """Say which clusters could not be matched."""
    for one in found:
        if not one.held:
            warn_user(
                f"the clusters of {listed(map(repr, one.tasks))} could not be matched with those of "
                f"{listed(map(repr, one.reference))} by the geometry of their centres (evidence {one.evidence:.2f}, "
                f"the same in {100 * one.stability:.0f} % of samples; {one.threshold:g} of both is needed): they have "
                "numbers of their own."
            )
