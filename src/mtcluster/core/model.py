"""The model: what is fixed during a fit, its state, and the loss of each example (paper, eqs. 4, 7 and 8).

For one task with centres M_k, shared centres M in the subspace W, and memberships p of a row x,

    reconstruction:  L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x − p M Wᵀ‖²
    projection:      L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x W − p M‖²

Both are one quadratic of p,  L = e − 2 p·a + p B pᵀ,  and differ in the energy e alone. Where tasks differ by an offset
b_k and a scale s_k, the shared centres of task k are b_k + s_k M Wᵀ. Distances may be those of a metric that all tasks
share (`metric`), and a cluster may cost a row −2 log of its proportion in the task.

R runs are fitted side by side: what differs between them has an axis R first, and one product of the rows with the
centres of all runs serves them all.

Rows live wherever their array library keeps them and are computed on there, through the functions of the array API
standard; centres and sums are small and live in NumPy's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from . import frames, updates
from .arrays import Array
from .blocks import GapSums, PerRow, RowSource
from .centers import Centers
from .couplings import Coupling, Reconstruction
from .covariances import Covariance, Own
from .gaps import Gaps
from .jobs import cluster_sizes, pick_runs, weighted_sums
from .memberships import Binary, Membership
from .metric import Metric, Shape, Spread
from .offsets import Offsets
from .terms import Axes, Terms

if TYPE_CHECKING:
    from .couplings.base import Subspace


@dataclass(frozen=True)
class Model:
    """What the user chose, or the data decided; it does not change during a fit."""

    n_clusters: int  # c
    within_weight: float | Array  # λ1, or (m,) one per task, or (R, 1) one per run, or (R, m)
    n_components: int  # l
    coupling: Coupling = field(default_factory=Reconstruction)
    membership: Membership = field(default_factory=Binary)
    offsets: Offsets | None = None  # None: all tasks lie in the common frame
    present: Array | None = None  # (R, c) or (R, m, c) which of the clusters a run, or its tasks, have; None: all
    metric: Metric | None = None  # the metric that all tasks share, estimated with the clusters; None: Euclidean
    matched: Array | bool = False  # are offsets estimated with the clusters? (R,) for each run
    shrinkage: Array | None = None  # (R,) or (R, m) κ: rows that draw centres to the shared ones; None: λ1 does
    proportions: bool = False  # are those of the clusters in each task estimated?
    log_shares: Array | None = None  # (m, c) or (R, m, c) log of the proportions, where they are given
    covariance: Covariance | None = None  # the form of those of each cluster, beside the metric; None: they have that

    @cached_property
    def shares(self) -> Array:
        """λ1 of all runs or of each, and of all tasks or of each: (1 or R, 1 or m)."""
        return np.atleast_2d(np.asarray(self.within_weight, dtype=np.float64))

    def for_tasks(self, ks: list[int]) -> Model:
        """The model of some tasks."""
        shares = self.shares[:, ks] if self.shares.shape[1] > 1 else self.within_weight
        offsets = None if self.offsets is None else Offsets(self.offsets.b[ks], self.offsets.s[ks])
        present = self.present if self.present is None or self.present.ndim < 3 else self.present[:, ks]
        kappa = self.shrinkage if self.shrinkage is None or self.shrinkage.ndim < 2 else self.shrinkage[:, ks]
        return replace(self, within_weight=shares, offsets=offsets, present=present, shrinkage=kappa)

    def runs(self, at: Array | list[int]) -> Model:
        """The model of some runs."""
        shares = self.shares[at] if len(self.shares) > 1 else self.within_weight
        present, shrinkage = (
            None if a is None else a if len(a) == 1 else a[at] for a in (self.present, self.shrinkage)
        )
        matched = self.matched if np.ndim(self.matched) == 0 else np.asarray(self.matched)[at]
        given = self.log_shares if self.log_shares is None or self.log_shares.ndim < 3 else self.log_shares[at]
        offsets = None if self.offsets is None else self.offsets.runs(at)
        return replace(
            self, within_weight=shares, offsets=offsets, present=present, shrinkage=shrinkage, matched=matched,
            log_shares=given,
        )  # fmt: skip

    @property
    def pools(self) -> bool:
        """Whether λ1 is 0 everywhere, so that the tasks are one data set."""
        return self.shrinkage is None and not np.any(self.shares)

    @property
    def estimates_frame(self) -> bool:
        """Whether more than centres is estimated with the clusters."""
        return self.metric is not None or self.shrinkage is not None or bool(np.any(self.matched))

    def spread(self, rows: RowSource, weights: PerRow) -> Spread | None:
        """What the metric needs to know about the rows at the weights of a stage; None: there is none."""
        if self.metric is None:
            return None
        shares = np.broadcast_to(self.shares, (len(self.shares), len(rows.origins)))
        sharing = np.ones(len(rows.origins), dtype=bool) if self.shrinkage is not None else shares.min(axis=0) < 1
        return self.metric.spread(rows, weights, sharing if sharing.any() else ~sharing)

    def placed(self, centers: Centers, n_tasks: int) -> Array:
        """(R, m, c, d) the shared centres as they lie in each task."""
        Z = centers.shared
        if centers.b is not None:
            return centers.b[:, :, None] + Z[:, None]
        return self.placed_points(Z, n_tasks)

    def placed_points(self, Z: Array, n_tasks: int) -> Array:
        """(R, m, c, d) points (R, c, d) of the common frame as they lie in each task."""
        if self.offsets is None:
            return np.broadcast_to(Z[:, None], (len(Z), n_tasks, *Z.shape[1:]))
        return self.offsets.in_tasks(Z)

    def pooled(self, S: Array, T: Array) -> tuple[Array, Array]:
        """The sums (R, m, …) of all tasks in the common frame, by their shares of the shared term."""
        if self.offsets is not None:
            S, T = self.offsets.pooled(S, T)
        if self.shares.shape[1] == 1:
            return S.sum(axis=1), T.sum(axis=1)
        share, most = 1 - self.shares, 1 - self.shares.min(axis=1, keepdims=True)
        share = np.where(most > 0, share / np.where(most > 0, most, 1), 1)
        share = np.broadcast_to(share, S.shape[:2])
        return np.einsum("rk,rk...->r...", share, S), np.einsum("rk,rkij->rij", share, T)

    @property
    def free_origin(self) -> bool:
        """Whether losses may be computed from a point near the data instead of 0.

        ‖x‖² − 2 p·a + p B pᵀ loses its digits when the data lie far from zero. Sums of squared distances do not
        depend on the origin, so labels with a coupling of distances are free to move it.
        """
        return self.membership.diagonal and self.coupling.free_origin

    def update_centers(
        self,
        S: Array,
        T: Array,
        last: Centers | None,
        subspaces: list[Subspace] | None = None,
        origins: Array | None = None,
        spread: Spread | None = None,
        XX: Array | None = None,
        gaps: GapSums | None = None,
    ) -> Centers:
        """W, M and M_k from the sums of the tasks; (W, M) is one block, M directly after W.

        `subspaces` make W of each run. None: it has room for all shared centres, and can wait. `spread` is what the
        metric is made from, `XX` the second moments of the clusters that have covariances of their own, and `gaps`
        what missing values add.
        """
        if self.estimates_frame:
            assert origins is not None
            return frames.estimate(self, S, T, last, origins, spread, XX, gaps)
        if gaps is not None:
            assert origins is not None
            return updates.observed(self, S, T, last, subspaces, origins, gaps)
        return updates.plain(self, S, T, last, subspaces)

    def terms(
        self, centers: Centers, origins: Array, *, energy: bool = True, shape: Shape | None = None, gaps: bool = False
    ) -> Terms:
        """What the centres mean for the rows of each task, seen from an origin per task.

        Losses hold the energy of the rows, unless they are wanted up to it. `shape` is that of the centres, where it
        is known; `gaps`: values are missing.
        """
        m, shape, alone = len(origins), shape or self.shape(centers), self.alone(len(origins))
        lam = self.shares[:, :, None, None] if self.shrinkage is None else np.ones((1, 1, 1, 1))
        common, moved = self.placed(centers, m), bool(origins.any())
        if moved:
            common = common - origins[:, None]
        diagonal = self.membership.diagonal
        missing = self._gaps(centers, origins, common, shape, alone) if gaps else None
        C = (1 - lam) * common
        if shape is not None:
            C = self._measured(C, centers, shape, alone)
        B = _products(C, common, diagonal)
        del common  # as large as all centres
        if lam.any():
            own = centers.Ms - origins[:, None] if moved else centers.Ms
            weighted = lam * own
            if shape is not None:
                weighted = self._measured(weighted, centers, shape, alone)
            C += weighted
            B += _products(weighted, own, diagonal)
        axes = self._axes(centers, shape, alone, origins) if energy else None
        if not diagonal:
            return Terms(C, np.einsum("rkcc->rkc", B) / 2, B, axes, energy)
        # A is X C, without the origin's share of it; only labels have an origin that is not 0, and h makes up for it.
        h, prior = B / 2, None
        if moved:
            h += np.einsum("kd,rkcd->rkc", origins, C)
        if centers.log_shares is not None:
            prior = -np.broadcast_to(centers.log_shares, h.shape)
            h += prior
        if self.present is not None:
            h[~self.held(h.shape)] = np.inf
        if self.covariance is None or centers.Ks is None:
            return Terms(C, h, None, axes, energy, prior, None, missing)
        h += (self.log_determinants(centers) - self.log_volume(centers)[:, None])[:, None] / 2
        return Terms(C, h, None, None, False, prior, Own(self.covariance, self.covariance.factors(centers.Ks), origins))

    def _gaps(self, centers: Centers, origins: Array, common: Array, shape: Shape | None, alone: Array) -> Gaps:
        """What missing values need: both kinds of centres from the origins, `common` the shared ones."""
        shares = self.shares if self.shrinkage is None else np.ones((1, 1))
        own = common if not shares.any() else centers.Ms - origins[:, None]
        return Gaps(shares, own, common, None if shape is None else shape.inverse, alone, origins)

    def held(self, shape: tuple[int, ...]) -> Array:
        """(R, m, c) which clusters each task of each run holds."""
        if self.present is None:
            return np.ones(shape, dtype=bool)
        return np.broadcast_to(self.present if self.present.ndim == 3 else self.present[:, None], shape)

    def log_determinants(self, centers: Centers) -> Array:
        """(R, 1 or c) log|S|, or log|S_j| of each cluster."""
        d = centers.Z.shape[2]
        if self.covariance is not None and centers.Ks is not None:
            return self.covariance.log_determinants(centers.Ks, d)
        shape = self.shape(centers)
        return np.zeros((len(centers.Z), 1)) if shape is None else shape.log_determinant(d)[:, None]

    def log_volume(self, centers: Centers) -> Array:
        """(R,) the least log|S_j|: losses leave it out, so that none is below 0."""
        return self.log_determinants(centers).min(axis=1)

    def _measured(self, C: Array, centers: Centers, shape: Shape, alone: Array) -> Array:
        """C A, or in tasks that do not share C."""
        if self.covariance is not None and centers.Ks is not None:
            return self.covariance.times(C, centers.Ks)
        found = shape.times(C)
        if alone.any():
            found[:, alone] = C[:, alone]
        return found

    def shape(self, centers: Centers) -> Shape | None:
        """The covariance of each run; None: distances are Euclidean."""
        if self.metric is None or centers.K is None or centers.rest is None:
            return None
        return Shape(self.metric.V, centers.K, centers.rest)

    def complete(self, centers: Centers) -> Centers:
        """Centres with W and M, where they could wait. With a metric Wᵀ A W = I and M = Z A W."""
        shape = self.shape(centers)
        if shape is None:
            return self.coupling.complete(centers, self.n_components)
        round_ = replace(centers, Z=shape.power(centers.Z, 0.5), Q=shape.power(centers.Q, 0.5))
        found = self.coupling.complete(round_, self.n_components)
        assert found.W is not None
        W = np.swapaxes(shape.power(np.swapaxes(found.W, 1, 2), -0.5), 1, 2)
        return replace(centers, W=W, M=found.M)

    def alone(self, n_tasks: int) -> Array:
        """(m,) tasks that share nothing, and do not use the shared metric."""
        if self.shrinkage is not None:
            return np.zeros(n_tasks, dtype=bool)
        return np.broadcast_to(self.shares, (len(self.shares), n_tasks)).min(axis=0) == 1

    def left_alone(self, n_tasks: int) -> Array:
        """(m,) tasks whose distances are Euclidean while others have the shared metric."""
        return self.alone(n_tasks) & (self.metric is not None)

    def _axes(self, centers: Centers, shape: Shape | None, alone: Array, origins: Array) -> list[Axes] | None:
        """How the energy of a row is counted in each task; None: it is its squared distance from the origin."""
        if shape is None:
            W = self.coupling.energy_basis(centers.W)
            if W is None:
                return None
            shares = np.broadcast_to(self.shares, (len(W), len(origins)))
            basis = np.swapaxes(W, 1, 2)
            return [Axes(lam, np.broadcast_to((1 - lam)[:, None], basis.shape[:2]), basis, None) for lam in shares.T]
        a, s, q = shape.axes()
        shared = [Axes(a, s, q, q @ origin) for origin in origins]
        plain = Axes(np.ones_like(a), None, None, None)
        return [plain if left else own for left, own in zip(alone, shared, strict=True)]

    def sizes(self, rows: RowSource, Ps: PerRow) -> Array:
        """Σ u p of each task and cluster, (m, c)."""
        return rows.apply(partial(cluster_sizes, membership=self.membership, n_clusters=self.n_clusters), Ps)[-1]


def total_loss(rows: RowSource, Ls: PerRow) -> float:
    """Σ u L over all rows."""
    return float(rows.apply(weighted_sums, Ls)[-1].sum())


@dataclass(frozen=True)
class State:
    """A point of the alternation of R runs: centres, and memberships, weights and losses of the rows."""

    centers: Centers
    Ps: PerRow  # labels (R, n), or memberships (R, c, n)
    Ls: PerRow  # (R, n)
    weights: PerRow  # `Weight` of the rows: u v

    @property
    def n_runs(self) -> int:
        """R."""
        return len(self.centers.Z)

    def runs(self, rows: RowSource, at: list[int]) -> State:
        """That of some runs."""
        if at == list(range(self.n_runs)):
            return self
        Ps, Ls, weights, _ = rows.apply(partial(pick_runs, at=at), self.Ps, self.Ls, self.weights, outputs=3)
        return State(self.centers.runs(at), Ps, Ls, weights)


def _products(Y: Array, Z: Array, diagonal: bool) -> Array:
    """Y_k Z_kᵀ of each run and task, or the diagonals of that."""
    return np.einsum("rkcd,rkcd->rkc", Y, Z) if diagonal else Y @ np.swapaxes(Z, 2, 3)
