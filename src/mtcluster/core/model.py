"""The model: what is fixed during a fit, its state, and the loss of each example (paper, eqs. 4, 7 and 8).

For one task with centres M_k, shared centres M in the subspace W, and memberships p of a row x,

    reconstruction:  L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x − p M Wᵀ‖²
    projection:      L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x W − p M‖²

Both are one quadratic of p,  L = e − 2 p·a + p B pᵀ,  and differ in the energy e alone. Where tasks differ by an offset
b_k and a scale s_k, the shared centres of task k are b_k + s_k M Wᵀ. Distances are those of a `Geometry`, a `Sharing`
ties own and shared centres together, and a cluster may cost a row −2 log of its proportion in the task.

R runs are fitted side by side: what differs between them has an axis R first, and one product of the rows with the
centres of all runs serves them all.

Rows live wherever their array library keeps them and are computed on there, through the functions of the array API
standard; centres and sums are small and live in NumPy's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from .arrays import Array
from .blocks import PerRow, RowSource
from .centers import Centers
from .couplings import Coupling, Reconstruction
from .gaps import Gaps
from .geometry import Geometry, Identity, Tied
from .jobs import cluster_sizes, pick_runs, weighted_sums
from .memberships import Binary, Membership
from .record import Record, axes
from .sharing import Offsets, Sharing
from .sums import Spread
from .terms import Axes, Terms

HOLDS_ALL = np.ones((1, 1, 1), dtype=bool)


@dataclass(frozen=True, eq=False)
class Model(Record):
    """What the user chose, or the data decided; it does not change during a fit."""

    n_clusters: int  # c
    sharing: Sharing  # how own and shared centres belong together
    n_components: int  # l
    coupling: Coupling = field(default_factory=Reconstruction)
    membership: Membership = field(default_factory=Binary)
    offsets: Offsets = field(default_factory=Offsets.none)  # where tasks lie, or that it is estimated
    holds: Array = axes("R? m? c?", fill=False, default=HOLDS_ALL)  # which clusters a task holds
    geometry: Geometry = field(default_factory=Identity)  # how distances are measured where the fit starts
    proportions: bool = False  # are those of the clusters in each task estimated?
    log_shares: Array | None = axes("R? m c", default=None)  # log of the proportions, where they are given

    @property
    def estimates_frame(self) -> bool:
        """Whether more than centres is estimated with the clusters."""
        return self.geometry.estimated or self.sharing.draws or bool(np.any(self.offsets.free))

    def spread(self, rows: RowSource, weights: PerRow) -> Spread | None:
        """Add up what the geometry is estimated from, at the weights of a stage; None: nothing is."""
        if not isinstance(tied := self.geometry.tied, Tied):
            return None
        return tied.spread(rows, weights, self.shaping(len(rows.origins)))

    def shaping(self, n_tasks: int) -> Array:
        """Compute (m,) the tasks that the geometry is estimated from: those that share, or all."""
        alone = self.sharing.alone(n_tasks)
        return np.ones(n_tasks, dtype=bool) if alone.all() else ~alone

    def pooled(self, S: Array, T: Array) -> tuple[Array, Array]:
        """Add up the sums (R, m, …) of all tasks in the common frame, by their shares of the shared term."""
        S, T = self.offsets.pooled(S, T)
        within = self.sharing.within
        if within.shape[1] == 1:
            return S.sum(axis=1), T.sum(axis=1)
        share, most = 1 - within, 1 - within.min(axis=1, keepdims=True)
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

    def terms(self, centers: Centers, origins: Array, *, energy: bool = True, gaps: bool = False) -> Terms:
        """Compute what the centres mean for the rows of each task, seen from origins (m, d).

        Losses hold the energy of the rows, unless they are wanted up to it; `gaps`: values are missing.
        """
        geometry, alone = centers.geometry, self.left_alone(len(origins))
        lam = self.sharing.lam[:, :, None, None]
        common, moved = centers.placed, bool(origins.any())
        if moved:
            common = common - origins[:, None]
        diagonal = self.membership.diagonal
        missing = self._gaps(centers, origins, common, alone) if gaps else None
        C = geometry.times((1 - lam) * common, alone)
        B = _products(C, common, diagonal)
        del common  # as large as all centres
        if lam.any():
            own = centers.Ms - origins[:, None] if moved else centers.Ms
            weighted = geometry.times(lam * own, alone)
            C += weighted
            B += _products(weighted, own, diagonal)
        axes = self._axes(centers, alone, origins) if energy else None
        if not diagonal:
            return Terms(C, np.einsum("rkcc->rkc", B) / 2, B, axes, energy)
        # A is X C, without the origin's share of it; only labels have an origin that is not 0, and h makes up for it.
        h, prior = B / 2, None
        if moved:
            h += np.einsum("kd,rkcd->rkc", origins, C)
        if centers.log_shares is not None:
            prior = -np.broadcast_to(centers.log_shares, h.shape)
            h += prior
        if not self.holds.all():
            h[~self.held(h.shape)] = np.inf
        own_covariances = geometry.own(origins)
        if own_covariances is None:
            return Terms(C, h, None, axes, energy, prior, None, missing)
        logs = geometry.log_determinants(C.shape[3])
        h += (logs - logs.min(axis=1, keepdims=True))[:, None] / 2
        return Terms(C, h, None, None, False, prior, own_covariances)

    def _gaps(self, centers: Centers, origins: Array, common: Array, alone: Array) -> Gaps:
        """Gather what missing values need: both kinds of centres from the origins, `common` the shared ones."""
        lam, tied = self.sharing.lam, centers.geometry.tied
        own = common if not lam.any() else centers.Ms - origins[:, None]
        return Gaps(lam, own, common, tied.inverse if isinstance(tied, Tied) else None, alone, origins)

    def held(self, shape: tuple[int, ...]) -> Array:
        """Compute (R, m, c) which clusters each task of each run holds."""
        return np.broadcast_to(self.holds, shape)

    def log_volume(self, centers: Centers) -> Array:
        """Compute (R,) the least log|S_j|: losses leave it out, so that none is below 0."""
        return centers.geometry.log_determinants(centers.Z.shape[2]).min(axis=1)

    def complete(self, centers: Centers) -> Centers:
        """Find W and M, where they could wait. Wᵀ A W = I and M = Z A W."""
        geometry = centers.geometry
        if not geometry.estimated:
            return self.coupling.complete(centers, self.n_components)
        round_ = replace(centers, Z=geometry.power(centers.Z, 0.5), Q=geometry.power(centers.Q, 0.5))
        found = self.coupling.complete(round_, self.n_components)
        assert found.W is not None
        W = np.swapaxes(geometry.power(np.swapaxes(found.W, 1, 2), -0.5), 1, 2)
        return replace(centers, W=W, M=found.M)

    def left_alone(self, n_tasks: int) -> Array:
        """Compute (m,) tasks whose distances are Euclidean while others have the shared metric."""
        return self.sharing.alone(n_tasks) & self.geometry.estimated

    def _axes(self, centers: Centers, alone: Array, origins: Array) -> list[Axes] | None:
        """Tell how the energy of a row is counted in each task; None: it is its squared distance from the origin."""
        tied = centers.geometry.tied
        if not isinstance(tied, Tied):
            W = self.coupling.energy_basis(centers.W)
            if W is None:
                return None
            shares = np.broadcast_to(self.sharing.lam, (len(W), len(origins)))
            basis = np.swapaxes(W, 1, 2)
            return [Axes(lam, np.broadcast_to((1 - lam)[:, None], basis.shape[:2]), basis, None) for lam in shares.T]
        a, s, q = tied.principal()
        shared = [Axes(a, s, q, q @ origin) for origin in origins]
        plain = Axes(np.ones_like(a), None, None, None)
        return [plain if left else own for left, own in zip(alone, shared, strict=True)]

    def sizes(self, rows: RowSource, Ps: PerRow) -> Array:
        """Compute Σ u p of each task and cluster, (m, c)."""
        return rows.apply(partial(cluster_sizes, membership=self.membership, n_clusters=self.n_clusters), Ps)[-1]


def total_loss(rows: RowSource, Ls: PerRow) -> float:
    """Add up u L over all rows."""
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
        """Take some runs."""
        if at == list(range(self.n_runs)):
            return self
        Ps, Ls, weights, _ = rows.apply(partial(pick_runs, at=at), self.Ps, self.Ls, self.weights, outputs=3)
        return State(self.centers.take("R", at), Ps, Ls, weights)


def _products(Y: Array, Z: Array, diagonal: bool) -> Array:
    """Compute Y_k Z_kᵀ of each run and task, or the diagonals of that."""
    return np.einsum("rkcd,rkcd->rkc", Y, Z) if diagonal else Y @ np.swapaxes(Z, 2, 3)
