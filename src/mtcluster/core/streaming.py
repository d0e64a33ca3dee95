"""Streams: sums that stand for all rows so far, and centres that follow them.

Centres, offsets and the metric are made from sums over rows alone. So the sums are kept, rows are not; multiplied by a
number below 1 at every batch they forget. Second moments are those around an origin of each task that never moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array
from .blocks import Totals
from .centers import Centers, centers_of
from .frames import residual_scatter
from .metric import Metric, Spread
from .model import Model
from .offsets import Offsets


@dataclass(frozen=True)
class Statistics:
    """Sums over the rows so far, by task and cluster."""

    S: Array  # (m, c) weight
    T: Array  # (m, c, d) Σ w x
    origins: Array  # (m, d)
    XX: Array  # (l, l) Σ w (x − origin)(x − origin)ᵀ of tasks that share, in the directions of the metric; (0, 0): none
    energy: float  # Σ w ‖x − origin‖² of these
    prior: Array  # (l, l) what the metric is drawn to, and the variance in all other directions
    rest: float
    weight: float  # of the rows whose losses tell the next two
    loss: float  # mean loss of a row
    limits: Array  # losses above which a row is hardly explained, at some rates

    def forgotten(self, share: float) -> Statistics:
        """The sums, with less weight."""
        return replace(
            self, S=share * self.S, T=share * self.T, XX=share * self.XX, energy=share * self.energy,
            weight=share * self.weight,
        )  # fmt: skip

    def with_tasks(self, origins: Array) -> Statistics:
        """The sums, with tasks that have no rows yet."""
        n, (_, c, d) = len(origins), self.T.shape
        return replace(
            self, S=np.concatenate([self.S, np.zeros((n, c))]), T=np.concatenate([self.T, np.zeros((n, c, d))]),
            origins=np.concatenate([self.origins, origins]),
        )  # fmt: skip

    def with_clusters(self, n_clusters: int) -> Statistics:
        """The sums, with clusters that have no rows yet."""
        more = (0, n_clusters - self.S.shape[1])
        return replace(self, S=np.pad(self.S, ((0, 0), more)), T=np.pad(self.T, ((0, 0), more, (0, 0))))

    def added(
        self, ks: list[int], totals: Totals, spread: Spread | None, V: Array | None, origins: Array
    ) -> Statistics:
        """With the rows of a batch: tasks `ks`, sums of one run, and second moments around other origins."""
        S, T = self.S.copy(), self.T.copy()
        S[ks] += totals.S[0]
        T[ks] += totals.T[0]
        if spread is None:
            return replace(self, S=S, T=T)
        at = spread.sharing
        n, apart = spread.sizes[0, at], (origins - self.origins[ks])[at]
        sums = totals.T[0].sum(axis=1)[at] - n[:, None] * origins[at]  # Σ w (x − origin of the batch)
        energy = float(spread.shared_energy[0]) + float(np.sum(apart * (2 * sums + n[:, None] * apart)))
        inside, sums = (apart, sums) if V is None else (apart @ V, sums @ V)
        cross = inside.T @ sums
        XX = spread.XX[0] + cross + cross.T + (n[:, None] * inside).T @ inside
        return replace(self, S=S, T=T, XX=self.XX + XX, energy=self.energy + energy)

    def judged(self, weight: float, loss: float, limits: Array) -> Statistics:
        """With the losses of the rows of a batch."""
        total = max(self.weight + weight, np.finfo(np.float64).tiny)
        share = weight / total
        return replace(
            self, weight=total, loss=(1 - share) * self.loss + share * loss,
            limits=(1 - share) * self.limits + share * limits,
        )  # fmt: skip

    def spread(self, sharing: Array) -> Spread:
        """What the metric is made from."""
        sizes = self.S.sum(axis=1)[None]
        energy = np.where(sharing, self.energy / max(int(sharing.sum()), 1), 0.0)[None]  # only its sum counts
        return Spread(self.XX[None], energy, sizes, sharing)


def begin(model: Model, centers: Centers, sizes: Array, losses: tuple[float, float, Array]) -> Statistics:
    """The sums that a fitted model stands for, from its centres and metric and the sizes (m, c) of its clusters.

    `losses`: the weight of rows, their mean loss, and losses above which a row is hardly explained. The metric goes on
    from where it is: it is its own prior.
    """
    S, Ms = sizes.astype(np.float64), centers.Ms.astype(np.float64)
    T = S[..., None] * Ms
    totals = S.sum(axis=1)
    origins = T.sum(axis=1) / np.maximum(totals, np.finfo(np.float64).tiny)[:, None]
    if model.metric is None or centers.K is None or centers.rest is None:
        return Statistics(S, T, origins, np.zeros((0, 0)), 0.0, np.zeros((0, 0)), 1.0, *losses)
    K, rest, d = centers.K, float(centers.rest), T.shape[2]
    sharing = shares_of(model, len(S))
    nothing = Spread(np.zeros((1, *K.shape)), np.zeros((1, len(S))), totals[None], sharing)
    G, trace = residual_scatter(model, centers.runs(None), S[None], T[None], origins, nothing)
    N = float(nothing.total[0])
    energy = N * (float(np.trace(K)) + (d - len(K)) * rest) - float(trace[0])
    return Statistics(S, T, origins, N * K - G[0], energy, K, rest, *losses)


def shares_of(model: Model, n_tasks: int) -> Array:
    """(m,) the tasks that shape the metric: those that share, or all."""
    alone = model.alone(n_tasks)
    return np.ones(n_tasks, dtype=bool) if alone.all() else ~alone


def centers_from(model: Model, kept: Statistics, last: Centers) -> Centers:
    """Centres, offsets and metric of one run from the sums; a cluster without rows keeps its last centre."""
    S, T, m = kept.S[None], kept.T[None], len(kept.S)
    spread = None
    if model.metric is not None:
        model = replace(model, metric=Metric(model.metric.V, kept.prior, kept.rest))
        spread = kept.spread(shares_of(model, m))
    subspaces = model.coupling.subspaces(model, _Features(T.shape[3]), None, None, 1)  # type: ignore[arg-type]
    before = replace(last, W=None, M=None, Z=last.shared).runs(None)
    found = model.update_centers(S, T, before, subspaces, kept.origins, spread)
    shape = model.shape(found)
    if shape is not None and model.metric is not None:
        found = replace(found, K=model.metric.bounded(shape).K)
    if model.pools:
        found = replace(found, Ms=centers_of(S, T, model.placed(found, m)))
    return model.complete(found).runs(0)


@dataclass(frozen=True)
class _Features:
    """All that a subspace wants to know about rows."""

    n_features: int


def mean_offsets(kept: Statistics, scales: Array) -> Offsets:
    """Offsets that are the means of tasks, from the sums."""
    sizes = kept.S.sum(axis=1)
    means = kept.T.sum(axis=1) / np.maximum(sizes, np.finfo(np.float64).tiny)[:, None]
    middle = sizes @ means / sizes.sum()
    return Offsets(means - scales[:, None] * middle, scales)


def log_shares(kept: Statistics) -> Array:
    """(m, c) the log of the proportions of the clusters in each task, with one row spread over all of them."""
    c = kept.S.shape[1]
    return np.log((kept.S + 1 / c) / (kept.S.sum(axis=1, keepdims=True) + 1))


def effective(model: Model, centers: Centers) -> Array:
    """(m, c, d) what the rows of a task and cluster are compared with: own and shared centres by their shares."""
    m = len(centers.Ms)
    lam = np.broadcast_to(model.shares[0], (m,))[:, None, None]
    return lam * centers.Ms + (1 - lam) * model.placed(centers.runs(None), m)[0]


def n_cells(model: Model, centers: Centers) -> float:
    """The number of centres that the rows were fitted to: shared ones, and those of tasks by their share."""
    m, c = centers.Ms.shape[:2]
    return c * (1 + float(np.broadcast_to(model.shares[0], (m,)).sum()) * (m > 1))
