"""The model: what is fixed during a fit, its state, and the loss of each example (paper, eqs. 4, 7 and 8).

For one task with centres M_k, shared centres M in the subspace W, and memberships p of a row x,

    reconstruction:  L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x − p M Wᵀ‖²
    projection:      L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x W − p M‖²

Both are one quadratic of p,  L = e − 2 p·a + p B pᵀ,  and differ in the energy e alone. Where tasks differ by an offset
b_k and a scale s_k, the shared centres of task k are b_k + s_k M Wᵀ.

Rows live wherever their array library keeps them and are computed on there, through the functions of the array API
standard; centres and sums are small and live in NumPy's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import Array, Matrix, is_sparse, like
from .blocks import Block, PerRow, RowSource
from .centers import Centers, between, centers_of
from .couplings import Coupling, Reconstruction
from .jobs import cluster_sizes, weighted_sums
from .memberships import Binary, Membership
from .offsets import Offsets
from .quadratic import Quadratic

if TYPE_CHECKING:
    from .couplings.base import Subspace


@dataclass(frozen=True)
class Model:
    """What the user chose, or the data decided; it does not change during a fit."""

    n_clusters: int  # c
    within_weight: float | Array  # λ1, or (m,) one per task
    n_components: int  # l
    coupling: Coupling = field(default_factory=Reconstruction)
    membership: Membership = field(default_factory=Binary)
    offsets: Offsets | None = None  # None: all tasks lie in the common frame

    @property
    def shares(self) -> Array:
        """λ1, of all tasks or of each."""
        return np.atleast_1d(np.asarray(self.within_weight, dtype=np.float64))

    def for_tasks(self, ks: list[int]) -> Model:
        """The model of some tasks."""
        shares = self.within_weight if np.ndim(self.within_weight) == 0 else self.shares[ks]
        offsets = None if self.offsets is None else Offsets(self.offsets.b[ks], self.offsets.s[ks])
        return replace(self, within_weight=shares, offsets=offsets)

    @property
    def pools(self) -> bool:
        """Whether λ1 is 0 everywhere, so that the tasks are one data set."""
        return not np.any(self.shares)

    def placed(self, Z: Array, n_tasks: int) -> Array:
        """(m, c, d) shared centres as they lie in each task."""
        if self.offsets is None:
            return np.broadcast_to(Z, (n_tasks, *Z.shape))
        return np.stack([self.offsets.in_task(Z, k) for k in range(n_tasks)])

    def pooled(self, S: Array, T: Array) -> tuple[Array, Array]:
        """The sums S (m, c, c) and T (m, c, d) of all tasks in the common frame, by their shares of the shared term."""
        if self.offsets is not None:
            S, T = self.offsets.pooled(S, T)
        if np.ndim(self.within_weight) == 0:
            return S.sum(axis=0), T.sum(axis=0)
        share = 1 - self.shares
        share = share / share.max() if share.max() > 0 else np.ones_like(share)
        return np.einsum("k,kij->ij", share, S), np.einsum("k,kij->ij", share, T)

    @property
    def free_origin(self) -> bool:
        """Whether losses may be computed from a point near the data instead of 0.

        ‖x‖² − 2 p·a + p B pᵀ loses its digits when the data lie far from zero. Sums of squared distances do not
        depend on the origin, so labels with a coupling of distances are free to move it.
        """
        return self.membership.labels_only and self.coupling.free_origin

    def update_centers(self, S: Array, T: Array, last: Centers | None, subspace: Subspace | None = None) -> Centers:
        """W, M and M_k from the sums of the tasks; (W, M) is one block, M directly after W.

        `subspace` makes W. None: it has room for all shared centres, and can wait.
        """
        S_all, T_all = self.pooled(S, T)
        mean = T_all.sum(axis=0) / max(S_all.sum(), np.finfo(np.float64).tiny)
        Z, Q = centers_of(S_all, T_all, mean if last is None else last.Z), between(S_all, T_all)
        W = None if subspace is None else subspace(Q, Z, self.n_components)
        M = None if W is None else Z @ W  # eq. 16
        shared = Z if W is None or M is None else M @ W.T
        if self.pools:  # centres of tasks do not count: they are found at the end
            return Centers(W, M, np.broadcast_to(shared, T.shape), Z, Q, np.ones(T.shape[:2], dtype=bool))
        seen = np.einsum("kii->ki", S) > 0
        fallback = None
        if not seen.all():
            fallback = self.placed(shared, len(S))
            if last is not None:
                fallback = np.where(last.seen[:, :, None], last.Ms, fallback)
                seen = seen | last.seen
        return Centers(W, M, centers_of(S, T, fallback), Z, Q, seen)

    def terms(self, centers: Centers, origins: Array) -> Terms:
        """What the centres mean for the rows of each task, seen from an origin per task."""
        m = len(origins)
        lam = np.broadcast_to(self.shares, (m,))[:, None, None]
        common, moved = self.placed(centers.shared, m), bool(origins.any())
        if moved:
            common = common - origins[:, None]
        diagonal = self.membership.labels_only
        C = (1 - lam) * common
        B = _products(C, common, diagonal)
        del common  # as large as all centres
        if lam.any():
            own = centers.Ms - origins[:, None] if moved else centers.Ms
            weighted = lam * own
            C += weighted
            B += _products(weighted, own, diagonal)
        W, shares = self.coupling.energy_basis(centers.W), lam[:, 0, 0]
        if not diagonal:
            return Terms(C, np.einsum("kcc->kc", B) / 2, B, shares, W)
        # A is X C, without the origin's share of it; only labels have an origin that is not 0, and h makes up for it.
        h = B / 2
        return Terms(C, h + np.einsum("kd,kcd->kc", origins, C) if moved else h, None, shares, W)

    def sizes(self, rows: RowSource, Ps: PerRow) -> Array:
        """Σ u p of each task and cluster, (m, c)."""
        return rows.apply(partial(cluster_sizes, membership=self.membership, n_clusters=self.n_clusters), Ps)[-1]


def total_loss(rows: RowSource, Ls: PerRow) -> float:
    """Σ u L over all rows."""
    return float(rows.apply(weighted_sums, Ls)[-1].sum())


@dataclass(frozen=True)
class State:
    """A point of the alternation: centres, and memberships, weights and losses of the rows."""

    centers: Centers
    Ps: PerRow
    vs: PerRow
    Ls: PerRow
    weights: PerRow  # `Weight` of the rows: u v


@dataclass(frozen=True)
class Terms:
    """What the centres mean for the rows of each task: everything in their losses that does not depend on the row."""

    C: Array  # (m, c, d) λ1 M_k + (1 − λ1) M Wᵀ, from the origin
    h: Array  # (m, c) half the diagonals of B, and the product of the origin with C
    B: Array | None  # (m, c, c); None: labels do without
    shares: Array  # (m,) λ1
    W: Array | None  # where the energy of a row is counted in a subspace

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.C.shape[1]

    def where(self, block: Block) -> list[TaskTerms]:
        """The terms of each task in the place and the type of the rows of a block, in one transfer."""
        xp, near = block.xp, block.sq
        both = like(np.concatenate([self.C, self.h[:, :, None]], axis=2), near, xp) if xp is not np else None
        C, h = (both[..., :-1], both[..., -1]) if both is not None else (like(self.C, near, xp), like(self.h, near, xp))
        W = None if self.W is None else like(self.W.T, near, xp)
        Cs = [C[k, ...] for k in range(len(self.shares))]
        if is_sparse(block.X):
            Cs = [xp.ascontiguousarray(part.T).T for part in Cs]
        Bs = [None] * len(Cs) if self.B is None else self.B
        return [TaskTerms(Cs[k], h[k, ...], Bs[k], float(lam), W, xp) for k, lam in enumerate(self.shares)]


@dataclass(frozen=True)
class TaskTerms:
    """The terms of one task, as its rows need them."""

    C: Array  # (c, d)
    h: Array
    B: Array | None
    share: float
    W: Array | None  # (l, d), transposed
    xp: Any

    def quadratic(self, X: Matrix, sq: Array) -> Quadratic:
        """The loss of some rows of the task: the one product with X that gives distances."""
        A, e = _times(X, self.C), sq
        if self.W is not None:
            XW = _times(X, self.W)
            e = self.share * sq + (1 - self.share) * self.xp.sum(XW * XW, axis=1)
        return Quadratic(e, A, self.h, self.B, self.xp)


def _products(Y: Array, Z: Array, diagonal: bool) -> Array:
    """Y_k Z_kᵀ of each task, or the diagonals of that."""
    return np.einsum("kcd,kcd->kc", Y, Z) if diagonal else Y @ Z.transpose(0, 2, 1)


def _times(X: Matrix, C: Array) -> Array:
    """X Cᵀ; off NumPy in the layout in which the least of a row is found fast."""
    if is_sparse(X) or isinstance(X, np.ndarray):
        return X @ C.T
    return (C @ X.T).T
