"""The model: what is fixed during a fit, its state, and the loss of each example (paper, eqs. 4, 7 and 8).

For one task with centres M_k, shared centres M in the subspace W, and memberships p of a row x,

    reconstruction:  L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x − p M Wᵀ‖²
    projection:      L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x W − p M‖²

Both are one quadratic of p,  L = e − 2 p·a + p B pᵀ,  and differ in the energy e alone. Where tasks differ by an offset
b_k and a scale s_k, the shared centres of task k are b_k + s_k M Wᵀ.

R runs are fitted side by side: what differs between them has an axis R first, and one product of the rows with the
centres of all runs serves them all.

Rows live wherever their array library keeps them and are computed on there, through the functions of the array API
standard; centres and sums are small and live in NumPy's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import Array, Matrix, is_sparse, like
from .blocks import Block, PerRow, RowSource
from .centers import Centers, between, centers_of
from .couplings import Coupling, Reconstruction
from .jobs import cluster_sizes, pick_runs, weighted_sums
from .memberships import Binary, Membership
from .offsets import Offsets
from .quadratic import Quadratic

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
    present: Array | None = None  # (R, c) which of the clusters a run has, where memberships are labels; None: all

    @cached_property
    def shares(self) -> Array:
        """λ1 of all runs or of each, and of all tasks or of each: (1 or R, 1 or m)."""
        return np.atleast_2d(np.asarray(self.within_weight, dtype=np.float64))

    def for_tasks(self, ks: list[int]) -> Model:
        """The model of some tasks."""
        shares = self.shares[:, ks] if self.shares.shape[1] > 1 else self.within_weight
        offsets = None if self.offsets is None else Offsets(self.offsets.b[ks], self.offsets.s[ks])
        return replace(self, within_weight=shares, offsets=offsets)

    def runs(self, at: Array | list[int]) -> Model:
        """The model of some runs."""
        shares = self.shares[at] if len(self.shares) > 1 else self.within_weight
        return replace(self, within_weight=shares, present=None if self.present is None else self.present[at])

    @property
    def pools(self) -> bool:
        """Whether λ1 is 0 everywhere, so that the tasks are one data set."""
        return not np.any(self.shares)

    def placed(self, Z: Array, n_tasks: int) -> Array:
        """(R, m, c, d) shared centres (R, c, d) as they lie in each task."""
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
        return self.membership.labels_only and self.coupling.free_origin

    def update_centers(
        self, S: Array, T: Array, last: Centers | None, subspaces: list[Subspace] | None = None
    ) -> Centers:
        """W, M and M_k from the sums of the tasks; (W, M) is one block, M directly after W.

        `subspaces` make W of each run. None: it has room for all shared centres, and can wait.
        """
        S_all, T_all = self.pooled(S, T)
        if last is None:
            size = S_all.sum(axis=tuple(range(1, S_all.ndim)))
            mean = T_all.sum(axis=1, keepdims=True) / np.maximum(size, np.finfo(np.float64).tiny)[:, None, None]
        Z, Q = centers_of(S_all, T_all, mean if last is None else last.Z), between(S_all, T_all)
        W = M = None
        shared = Z
        if subspaces is not None:
            W = np.stack([make(q, z, self.n_components) for make, q, z in zip(subspaces, Q, Z, strict=True)])
            M = Z @ W  # eq. 16
            shared = M @ np.swapaxes(W, 1, 2)
        if self.pools:  # centres of tasks do not count: they are found at the end
            Ms = np.broadcast_to(shared[:, None], T.shape)
            return Centers(W, M, Ms, Z, Q, np.ones(T.shape[:3], dtype=bool))
        seen = (S if S.ndim < T.ndim else np.einsum("rkii->rki", S)) > 0
        fallback = None
        if not seen.all():
            fallback = self.placed(shared, S.shape[1])
            if last is not None:
                fallback = np.where(last.seen[..., None], last.Ms, fallback)
                seen = seen | last.seen
        return Centers(W, M, centers_of(S, T, fallback), Z, Q, seen)

    def terms(self, centers: Centers, origins: Array) -> Terms:
        """What the centres mean for the rows of each task, seen from an origin per task."""
        m = len(origins)
        lam = self.shares[:, :, None, None]
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
        W, shares = self.coupling.energy_basis(centers.W), np.broadcast_to(self.shares, C.shape[:2])
        if not diagonal:
            return Terms(C, np.einsum("rkcc->rkc", B) / 2, B, shares, W)
        # A is X C, without the origin's share of it; only labels have an origin that is not 0, and h makes up for it.
        h = B / 2
        if moved:
            h += np.einsum("kd,rkcd->rkc", origins, C)
        if self.present is not None:
            h[~np.broadcast_to(self.present[:, None], h.shape)] = np.inf
        return Terms(C, h, None, shares, W)

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


@dataclass(frozen=True)
class Terms:
    """What the centres mean for the rows of each task: everything in their losses that does not depend on the row."""

    C: Array  # (R, m, c, d) λ1 M_k + (1 − λ1) M Wᵀ, from the origin
    h: Array  # (R, m, c) half the diagonals of B, and the product of the origin with C
    B: Array | None  # (R, m, c, c); None: labels do without
    shares: Array  # (R, m) λ1
    W: Array | None  # (R, d, l), where the energy of a row is counted in a subspace

    @property
    def n_columns(self) -> int:
        """Clusters of all runs."""
        return self.C.shape[0] * self.C.shape[2]

    def where(self, block: Block) -> list[TaskTerms]:
        """The terms of each task in the place and the type of the rows of a block, in one transfer."""
        xp, near = block.xp, block.sq
        runs, m, c, d = self.C.shape
        h = self.h[..., None]
        if xp is np:
            Cs, h = like(self.C, near, xp), like(h, near, xp)
        else:
            both = like(np.concatenate([self.C, h], axis=3), near, xp)
            Cs, h = both[..., :-1], both[..., -1:]
        W = None if self.W is None else like(np.swapaxes(self.W, 1, 2), near, xp)
        found = []
        for k in range(m):
            C = xp.reshape(Cs[:, k, :, :], (runs * c, d))
            if is_sparse(block.X):
                C = xp.ascontiguousarray(C.T).T
            B = None if self.B is None else self.B[:, k]
            found.append(TaskTerms(C, h[:, k, :, :], B, self.shares[:, k], W, xp))
        return found


@dataclass(frozen=True)
class TaskTerms:
    """The terms of one task, as its rows need them."""

    C: Array  # (R c, d)
    h: Array  # (R, c, 1)
    B: Array | None
    shares: Array  # (R,)
    W: Array | None  # (R, l, d), transposed
    xp: Any

    def quadratic(self, X: Matrix, sq: Array) -> Quadratic:
        """The loss of some rows of the task: the one product with X that gives distances."""
        xp, (runs, c, _) = self.xp, self.h.shape
        A, e = xp.reshape(_times(X, self.C), (runs, c, X.shape[0])), sq
        if self.W is not None:
            XW = [_times(X, self.W[r, :, :]) for r in range(runs)]
            parts = zip(self.shares.tolist(), XW, strict=True)
            e = xp.stack([lam * sq + (1 - lam) * xp.sum(Y * Y, axis=0) for lam, Y in parts])
        return Quadratic(e, A, self.h, self.B, xp)


def _products(Y: Array, Z: Array, diagonal: bool) -> Array:
    """Y_k Z_kᵀ of each run and task, or the diagonals of that."""
    return np.einsum("rkcd,rkcd->rkc", Y, Z) if diagonal else Y @ np.swapaxes(Z, 2, 3)


def _times(X: Matrix, C: Array) -> Array:
    """C Xᵀ."""
    return (X @ C.T).T if is_sparse(X) else C @ X.T
