"""Candidates: Gaussian mixtures with one covariance, from several kinds of starts, with and without offsets.

All see the same rows, and one criterion (`judging`) tells which are good; the best of them vote. Everything is done in
coordinates in which the covariance within tasks is the identity, so that units of the columns do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..core import jobs
from ..core.arrays import Array
from ..core.blocks import Blocks
from ..core.geometry import Tied
from ..core.memberships import Binary, Responsibilities
from ..core.model import Model, State
from ..core.renumbering import resized
from ..core.sharing import Offsets, Share, Shrink
from ..core.solver import alternate, first_state
from .embedding import Embedding
from .judging import Judge
from .members import blocks_of, by_task, leading, matched, pooled, sorted_by_task
from .scales import whitened
from .vote import vote

SMOOTHING = (5, 2)  # neighbours and steps of the rows that half of the starts are found on
CANDIDATE_SEED_ITER, CANDIDATE_TRIAL_ITER, CANDIDATE_ITER = (
    8,
    5,
    25,
)  # iterations: of k-means for starts, of all mixtures, of those that go on
SEED_TOL, CANDIDATE_TOL = 5e-4, 1e-4
UNMATCHED = 2.0  # price at which a cluster of a task on its own stays unmatched, in widths of its clusters
SHRINKAGES = (np.inf, 10.0)  # κ: no centres of their own, or such that are drawn to the shared ones by ten rows


@dataclass(frozen=True)
class Chosen:
    """What the candidates decided."""

    shares: list[Array]  # (n_k, c) share of the members that put a row into a cluster
    matched: bool  # do tasks have offsets?
    shrinkage: float  # κ
    n_candidates: int
    n_members: int
    values: dict[bool, float]  # with offsets or without → the least value of the criterion
    gain: float  # by how much it is below that of one cluster for all rows


@dataclass(frozen=True)
class Candidates:
    """How many fits are tried."""

    n_seedings: int  # k-means++ seedings of each kind of start
    n_starts: int  # of them that become starts
    n_kept: int  # mixtures that are fitted to the end
    n_members: int  # that vote

    def choose(
        self,
        embedding: Embedding,
        prior: Array,
        n_clusters: int,
        frames: tuple[bool, ...],
        rng: np.random.Generator,
        known: list[Array] | None = None,
    ) -> Chosen:
        """Fit, judge and vote. `prior` is the covariance within tasks, `frames` whether offsets are tried.

        `known`: labels by an earlier fit, one more start.
        """
        white = replace(embedding, Ys=whitened(embedding.Ys, prior), unit=1.0)
        labels = self._starts(embedding, white, n_clusters, rng)
        if known is not None:
            labels.append(resized(white.Ys, white.us, known, n_clusters))
        rows = Blocks(blocks_of(white.Ys, white.us, 1.0))
        geometry = Tied.of(np.eye(len(prior)))
        settings = [(frame, kappa) for frame in frames for kappa in SHRINKAGES]
        if len(embedding.Ys) == 1:
            settings = [(False, np.inf)]
        free = np.repeat([frame for frame, _ in settings], len(labels))
        kappa = np.repeat([kappa for _, kappa in settings], len(labels))
        model = Model(
            n_clusters, Shrink.of(kappa), n_clusters, membership=Responsibilities(), geometry=geometry,
            proportions=True, offsets=Offsets.none(free),
        )  # fmt: skip
        judge = self._judge(rows, geometry)
        state = first_state(rows, model, labels * len(settings), energy=False)
        found = alternate(rows, model, state, max_iter=CANDIDATE_TRIAL_ITER, tol=CANDIDATE_TOL).state
        best = _order(judge(*sums_of(rows, found, n_clusters), free))[: self.n_kept]
        best = np.sort(best).tolist()
        found = alternate(
            rows, model.take("R", best), found.runs(rows, best), max_iter=CANDIDATE_ITER, tol=CANDIDATE_TOL
        ).state
        free, kappa = free[best], kappa[best]
        values = judge(*sums_of(rows, found, n_clusters), free)
        order = _order(values)
        lead = order[0]
        voters = [int(run) for run in order if free[run] == free[lead]][: self.n_members]
        members = [[P[run].argmax(axis=0) for P in found.Ps] for run in voters]
        least = {bool(frame): float(values[free == frame].min()) for frame in np.unique(free)}
        return Chosen(
            vote(members, n_clusters), bool(free[lead]), float(kappa[lead]), len(labels) * len(settings),
            len(voters), least, float(judge.nothing(bool(free[lead])) - values[lead]),
        )  # fmt: skip

    def _judge(self, rows: Blocks, geometry: Tied) -> Judge:
        weights = rows.apply(jobs.unit_weights, outputs=1)[0]
        spread = geometry.spread(rows, weights, np.ones(len(rows.origins), dtype=bool))
        return Judge(geometry, spread, rows.origins, rows.summary.means)

    def _starts(
        self, embedding: Embedding, white: Embedding, n_clusters: int, rng: np.random.Generator
    ) -> list[list[Array]]:
        """Labels by k-means: of all rows where they lie and around the means of tasks, and of each task on its own."""
        smoothed = replace(embedding, Ys=embedding.smoothed([SMOOTHING])[0])
        together, apart = (Model(n_clusters, Share.of(share), n_clusters) for share in (0.0, 1.0))
        found: list[list[Array]] = []
        for kind, n_starts in ((embedding, self.n_starts), (smoothed, self.n_starts), (white, 1)):
            for Ys in _located(kind):
                rows = Blocks(blocks_of(Ys, kind.us, kind.unit))
                begun = pooled(rows, together, self.n_seedings, rng)
                result = alternate(rows, together, begun, max_iter=CANDIDATE_SEED_ITER, tol=SEED_TOL)
                best = leading(np.array(result.final), 1, n_starts)
                found += [[P[run] for P in result.state.Ps] for run in best]
            if len(kind.Ys) == 1 or kind is white:
                continue
            rows = Blocks(blocks_of(kind.Ys, kind.us, kind.unit))
            state = alternate(
                rows, apart, by_task(rows, apart, self.n_seedings, rng), max_iter=CANDIDATE_SEED_ITER, tol=SEED_TOL
            ).state
            found += matched(rows, apart, sorted_by_task(rows, state, 1, 1), price=UNMATCHED)
        return found


def _order(values: Array) -> Array:
    """From the best to the worst; rounding must not decide between equal ones."""
    return np.argsort(np.round(values, 3), kind="stable")


def _located(embedding: Embedding) -> Iterator[list[Array]]:
    """Yield the rows where they lie, and with the mean of each task removed."""
    yield embedding.Ys
    if len(embedding.Ys) > 1:
        yield [Y - np.average(Y, axis=0, weights=u) for Y, u in zip(embedding.Ys, embedding.us, strict=True)]


def sums_of(rows: Blocks, state: State, n_clusters: int) -> tuple[Array, Array]:
    """Return the sums S and T of the most probable labels."""
    labels = [P.argmax(axis=1) for P in state.Ps]
    job = partial(jobs.totals, membership=Binary(), n_clusters=n_clusters)
    totals = rows.apply(job, labels, state.weights)[-1]
    return totals.S, totals.T
