"""Streams: sums that stand for all rows so far, and centres that follow them.

Centres, offsets and the metric are made from sums over rows alone. So the sums are kept, rows are not; multiplied by a
number below 1 at every batch they forget. Second moments are those around an origin of each task that never moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .arrays import Array
from .blocks import Totals
from .centers import TINY, Centers, centers_of
from .geometry import Tied
from .model import Model
from .mstep import proportions_of, residual_scatter, update, whole_sums
from .record import Record, axes
from .sharing import Offsets
from .sums import Spread


@dataclass(frozen=True, eq=False)
class StreamSums(Record):
    """Sums over the rows so far, by task and cluster."""

    energy: float  # Σ w ‖x − origin‖² of tasks that share
    rest: float  # the variance in the other directions of what the metric is drawn to
    weight: float  # of the rows whose losses tell the next two
    loss: float  # mean loss of a row
    limits: Array  # losses above which a row is hardly explained, at some rates
    S: Array = axes("m c")  # weight
    T: Array = axes("m c d")  # Σ w x
    origins: Array = axes("m d")
    XX: Array = axes("q q")  # Σ w (x − origin)(x − origin)ᵀ of tasks that share, in the directions of the metric
    prior: Array = axes("q q")  # what the metric is drawn to

    def forgotten(self, share: float) -> StreamSums:
        """Return the sums, with less weight."""
        return replace(
            self, S=share * self.S, T=share * self.T, XX=share * self.XX, energy=share * self.energy,
            weight=share * self.weight,
        )  # fmt: skip

    def added(
        self, ks: list[int], S: Array, T: Array, spread: Spread | None, tied: Tied | None, origins: Array
    ) -> StreamSums:
        """With the rows of a batch: tasks `ks`, sums S (m, c), T (m, c, d), and second moments around other origins."""
        mine, sums = self.S.copy(), self.T.copy()
        mine[ks] += S
        sums[ks] += T
        if spread is None or tied is None:
            return replace(self, S=mine, T=sums)
        at = spread.sharing
        n, apart = spread.sizes[0, at], (origins - self.origins[ks])[at]
        moved = T.sum(axis=1)[at] - n[:, None] * origins[at]  # Σ w (x − origin of the batch)
        energy = float(spread.shared_energy[0]) + float(np.sum(apart * (2 * moved + n[:, None] * apart)))
        inside, moved = (apart, moved) if tied.V is None else (apart @ tied.V, moved @ tied.V)
        cross = inside.T @ moved
        XX = spread.XX[0] + cross + cross.T + (n[:, None] * inside).T @ inside
        return replace(self, S=mine, T=sums, XX=self.XX + XX, energy=self.energy + energy)

    def judged(self, weight: float, loss: float, limits: Array) -> StreamSums:
        """With the losses of the rows of a batch."""
        total = max(self.weight + weight, np.finfo(np.float64).tiny)
        share = weight / total
        return replace(
            self, weight=total, loss=(1 - share) * self.loss + share * loss,
            limits=(1 - share) * self.limits + share * limits,
        )  # fmt: skip

    def spread(self, sharing: Array) -> Spread:
        """Tell what the metric is made from."""
        sizes = self.S.sum(axis=1)[None]
        energy = np.where(sharing, self.energy / max(int(sharing.sum()), 1), 0.0)[None]  # only its sum counts
        return Spread(self.XX[None], energy, sizes, sharing)

    def centers(self, model: Model, kind: str, last: Centers) -> Centers:
        """Estimate centres of one run, offsets and metric from the sums; a cluster without rows keeps its last centre.

        `kind` says what is done about the location of tasks.
        """
        S, T, m, spread = self.S[None], self.T[None], len(self.S), None
        offsets = last.offsets.take("R", None)
        if kind == "scale":
            offsets = self.mean_offsets(offsets.s)
        if kind in ("matched", "mean"):  # batches may hold other clusters, which would move their mean
            offsets = Offsets.none(free=True)
        logs = None
        if last.log_shares is not None:
            free = proportions_of(S, np.ones_like(S, dtype=bool))
            logs = np.where(model.sharing.alone(m)[:, None], 0.0, free)
        before = model.geometry
        if isinstance(last.geometry, Tied):
            before = replace(last.geometry.take("R", None), prior=self.prior, prior_rest=self.rest)
            model, spread = replace(model, geometry=before), self.spread(model.shaping(m))
        model = replace(model, offsets=offsets, log_shares=logs)
        start = replace(replace(last, W=None, M=None, Z=last.shared).take("R", None), geometry=before, log_shares=logs)
        totals, subspaces = Totals(S, T, np.zeros(1)), model.coupling.subspaces(model, T.shape[3], 1)
        found = update(model, totals, start, self.origins, subspaces, spread)
        if isinstance(found.geometry, Tied):
            found = replace(found, geometry=found.geometry.bounded())
        if model.sharing.pools:
            found = replace(found, Ms=centers_of(S, T, found.placed))
        return model.complete(replace(found, log_shares=logs)).take("R", 0)

    def mean_offsets(self, scales: Array) -> Offsets:
        """Return offsets that are the means of tasks."""
        sizes = self.S.sum(axis=1)
        means = self.T.sum(axis=1) / np.maximum(sizes, TINY)[:, None]
        middle = sizes @ means / sizes.sum()
        return Offsets.of(means - scales[:, None] * middle, scales)


@dataclass
class Stream:
    """The centre step of a stream: the rows of a batch count beside the sums of all before."""

    before: StreamSums  # of all tasks and clusters so far
    ks: list[int]  # the tasks of the batch
    model: Model  # of all tasks
    kept: StreamSums  # with the batch
    centers: Centers  # of all tasks
    kind: str  # what is done about the location of tasks
    totals: Totals | None = None  # of the batch, whole

    measures: ClassVar[bool] = True

    def update(self, model: Model, totals: Totals, last: Centers, origins: Array, spread: Spread | None) -> Centers:
        """Add the sums of the batch, let the centres of all tasks follow, and take those of the batch."""
        gaps, tied = totals.gaps, self.centers.geometry
        if spread is not None and gaps is not None and gaps.XX is not None:
            spread = replace(spread, XX=spread.XX + gaps.XX)
        shaping = self.model.shaping(len(self.before.S))[self.ks]
        measured = tied if isinstance(tied, Tied) and shaping.any() else None
        self.totals = replace(totals, T=whole_sums(model, totals))
        self.kept = self.before.added(self.ks, totals.S[0], self.totals.T[0], spread, measured, origins)
        self.centers = self.kept.centers(self.model, self.kind, self.centers)
        return self.centers.take("m", self.ks).take("R", None)


def begin(model: Model, centers: Centers, sizes: Array, losses: tuple[float, float, Array]) -> StreamSums:
    """Make the sums that a fitted model stands for, from its centres and metric and the sizes (m, c) of its clusters.

    `losses`: the weight of rows, their mean loss, and losses above which a row is hardly explained. The metric goes on
    from where it is: it is its own prior.
    """
    S, Ms = sizes.astype(np.float64), centers.Ms.astype(np.float64)
    T = S[..., None] * Ms
    totals = S.sum(axis=1)
    origins = T.sum(axis=1) / np.maximum(totals, TINY)[:, None]
    if not isinstance(tied := centers.geometry, Tied):
        return StreamSums(0.0, 1.0, *losses, S, T, origins, np.zeros((0, 0)), np.zeros((0, 0)))
    K, rest, d = tied.K, float(tied.rest), T.shape[2]
    nothing = Spread(np.zeros((1, *K.shape)), np.zeros((1, len(S))), totals[None], model.shaping(len(S)))
    G, trace = residual_scatter(model, centers.take("R", None), S[None], (T[None], T[None]), origins, nothing)
    N = float(nothing.total[0])
    energy = N * (float(np.trace(K)) + (d - len(K)) * rest) - float(trace[0])
    return StreamSums(energy, rest, *losses, S, T, origins, N * K - G[0], K)


def effective(model: Model, centers: Centers) -> Array:
    """Get (m, c, d) what the rows of a task and cluster are compared with: own and shared centres by their shares."""
    lam = np.broadcast_to(model.sharing.within[0], (len(centers.Ms),))[:, None, None]
    return lam * centers.Ms + (1 - lam) * centers.placed


def n_cells(model: Model, centers: Centers) -> float:
    """Count the centres that the rows were fitted to: shared ones, and those of tasks by their share."""
    m, c = centers.Ms.shape[:2]
    return c * (1 + float(np.broadcast_to(model.sharing.within[0], (m,)).sum()) * (m > 1))
