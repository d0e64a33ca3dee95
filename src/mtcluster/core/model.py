"""The model: its state, the loss of each example and the objective (paper, eqs. 4, 7 and 8).

For one task with centres M_k, shared centres M in the subspace W, and memberships p of a row x,

    reconstruction:  L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x − p M Wᵀ‖²
    projection:      L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x W − p M‖²

Both are one quadratic of p,  L = e − 2 p·a + p B pᵀ,  and differ in the energy e alone. Where tasks differ by a shift
b_k and a scale s_k, the shared centres of task k are b_k + s_k M Wᵀ.

Rows live wherever their array library keeps them, and are computed on there, through the functions that the array API
standard has; centres and sums are small, and live in NumPy's memory. Binary memberships are kept as labels (n,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .arrays import Array, Matrix, host, is_sparse, like, pieces, rows_at, squared_norms, zero


@dataclass(frozen=True)
class Settings:
    """What the user chose, or the data decided; it does not change during a fit."""

    within_weight: float | Array  # λ1, or (m,) one a task
    n_components: int  # l
    coupling: str = "reconstruction"
    membership: str = "binary"
    offsets: Array | None = None  # (m, d) b_k: where a task lies, for binary memberships alone
    scales: Array | None = None  # (m,) s_k: how wide it is

    def share(self, task: int | None) -> float:
        """λ1 of a task; None, a task that is not known: 0."""
        if task is None:
            return 0.0
        return float(self.within_weight if np.ndim(self.within_weight) == 0 else np.asarray(self.within_weight)[task])

    @property
    def pools(self) -> bool:
        """Whether λ1 is 0 everywhere, so that the tasks are one data set."""
        return not np.any(self.within_weight)

    def spans(self, n_clusters: int, n_features: int) -> bool:
        """Whether the subspace has room for all shared centres, so that M Wᵀ = Z whatever they are."""
        return self.coupling == "reconstruction" and self.n_components >= min(n_clusters, n_features)

    def scale(self, task: int) -> float:
        """s_k of a task."""
        return 1.0 if self.scales is None else float(self.scales[task])

    def in_task(self, Z: Array, task: int | None) -> Array:
        """Shared centres Z as they lie in a task, b_k + s_k Z; None: where they are."""
        if task is None or self.offsets is None:
            return Z
        return self.offsets[task] + self.scale(task) * Z

    def from_task(self, x: Array, task: int, V: Array | None = None) -> Array:
        """A row of a task in the common frame: the inverse of `in_task`; with V, for coordinates x V."""
        if self.offsets is None:
            return x
        offset = self.offsets[task] if V is None else self.offsets[task] @ V
        return (x - offset) / self.scale(task)

    def pooled(self, S: Array, T: Array) -> tuple[Array, Array]:
        """The sums S (m, c, c) and T (m, c, d) of all tasks in the common frame, by their shares of the shared term."""
        if self.offsets is not None:
            scales = np.array([self.scale(k) for k in range(len(S))])
            counts = np.einsum("kii->ki", S)
            T = scales[:, None, None] * (T - counts[:, :, None] * self.offsets[:, None, :])
            S = (scales**2)[:, None, None] * S
        if np.ndim(self.within_weight) == 0:
            return S.sum(axis=0), T.sum(axis=0)
        share = 1 - np.asarray(self.within_weight)
        share = share / share.max() if share.max() > 0 else np.ones_like(share)
        return np.einsum("k,kij->ij", share, S), np.einsum("k,kij->ij", share, T)

    def origin(self, near: Array) -> Array:
        """Where losses are computed from: a point near the data if the model allows it, else 0.

        ‖x‖² − 2 p·a + p B pᵀ loses its digits when the data lie far from zero. Sums of squared distances have no
        origin, so binary memberships with the reconstruction coupling are free to move it.
        """
        free = self.membership == "binary" and self.coupling == "reconstruction"
        return near if free else np.zeros_like(near)


@dataclass(frozen=True)
class Block:
    """Rows of one task, and what never changes about them."""

    X: Matrix  # (n_k, d)
    u: Array  # (n_k,) sample weights
    sq: Array  # (n_k,) ‖x − origin‖²
    origin: Array  # (d,), in NumPy's memory
    xp: Any = np  # the library of the arrays, as the array API standard has it

    def __len__(self) -> int:
        return int(self.X.shape[0])


@dataclass(frozen=True)
class Centers:
    """The small arrays: all that travels between blocks."""

    W: Array | None  # (d, l) orthonormal basis of the shared subspace; None: not wanted yet, it holds all of Z
    M: Array | None  # (c, l) shared centres in the subspace
    Ms: Array  # (m, c, d) centres of the tasks
    Z: Array  # (c, d) pooled centres in the original space, M = Z W
    Q: Array  # (c, d) with QᵀQ the scatter between the pooled clusters
    seen: Array  # (m, c) has this cluster ever had a row in this task?

    @property
    def shared(self) -> Array:
        """M Wᵀ (c, d): the shared centres in the original space, in float64."""
        if self.W is None or self.M is None:
            return self.Z
        return self.M.astype(np.float64) @ self.W.astype(np.float64).T

    def astype(self, dtype: Any) -> Centers:
        """The same centres in another floating type."""
        W, M = (None if a is None else a.astype(dtype, copy=False) for a in (self.W, self.M))
        Ms, Z, Q = (a.astype(dtype, copy=False) for a in (self.Ms, self.Z, self.Q))
        return Centers(W, M, Ms, Z, Q, self.seen)


@dataclass(frozen=True)
class State:
    """A point of the alternation: centres, and memberships, weights and losses of the rows of each block."""

    centers: Centers
    Ps: list[Array]  # (n_k, c), or (n_k,) labels
    vs: list[Array]  # (n_k,)
    Ls: list[Array]  # (n_k,)


@dataclass(frozen=True)
class Quadratic:
    """The loss L = e − 2 p·a + p B pᵀ of some rows, as a function of their memberships p.

    For a label j it is e − 2 a_j + 2 h_j: h is half the diagonal of B, and may hold what a is short of.
    """

    e: Array  # (n,)
    A: Array  # (n, c)
    h: Array  # (c,)
    B: Array | None  # (c, c), in NumPy's memory in float64: it may be close to singular; None: labels do without
    xp: Any = np

    @cached_property
    def D(self) -> Array:  # noqa: N802
        """(n, c) half of what the loss of a label adds to e."""
        return self.h - self.A

    def small(self, values: Array) -> Array:
        """A small array of NumPy's, as the rows have it."""
        return like(values, self.A, self.xp)

    def losses(self, P: Array) -> Array:
        """Loss of each row (eq. 8) for its memberships or its label, at least 0 in spite of rounding."""
        xp = self.xp
        if P.ndim == 1:
            cross = 2 * xp.take_along_axis(self.D, P[:, None], axis=1)[:, 0]
        else:
            cross = xp.sum(P * (P @ self.small(np.asarray(self.B)) - 2 * self.A), axis=1)
        return self._with_energy(cross)

    def least_losses(self, labels: Array) -> Array:
        """Losses for the labels of least loss; an accelerator finds the least again faster than it looks it up."""
        return self.losses(labels) if self.xp is np else self._with_energy(2 * self.xp.min(self.D, axis=1))

    def _with_energy(self, cross: Array) -> Array:
        L = self.e + cross
        return self.xp.maximum(L, zero(L.dtype, L.device, self.xp))


@dataclass(frozen=True)
class Terms:
    """What the centres mean for the rows of some tasks: everything in their losses that is not of a row."""

    C: Array  # (m, c, d) λ1 M_k + (1 − λ1) M Wᵀ, from the origin
    h: Array  # (m, c) half the diagonals of B, and what the origin has with C
    B: Array | None  # (m, c, c); None: labels do without
    shares: Array  # (m,) λ1
    W: Array | None  # projection coupling: the energy is that in the subspace

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


def terms(settings: Settings, centers: Centers, origins: Array, tasks: Sequence[int | None]) -> Terms:
    """The terms of some tasks, seen from an origin each; None: a task that only knows the shared centres."""
    shares = np.array([settings.share(k) for k in tasks])
    shared, lam, moved = centers.shared, shares[:, None, None], bool(origins.any())
    if settings.offsets is not None:
        shared = np.stack([settings.in_task(shared, k) for k in tasks])
    common = shared - origins[:, None] if moved else np.broadcast_to(shared, (len(shares), *shared.shape[-2:]))
    W = centers.W if settings.coupling == "projection" else None
    binary = settings.membership == "binary"
    C = (1 - lam) * common
    B = _products(C, common, binary)
    del common, shared  # these are as large as all centres
    if shares.any():
        own = centers.Ms if len(shares) == len(centers.Ms) else centers.Ms[[k or 0 for k in tasks]]
        own = own - origins[:, None] if moved else own
        weighted = lam * own
        C += weighted
        B += _products(weighted, own, binary)
    if not binary:
        return Terms(C, np.einsum("kcc->kc", B) / 2, B, shares, W)
    # A is X C, short of what the origin has with C; only labels have an origin that is not 0, and h makes up for it.
    h = B / 2
    return Terms(C, h + np.einsum("kd,kcd->kc", origins, C) if moved else h, None, shares, W)


def _products(Y: Array, Z: Array, diagonal: bool) -> Array:
    """Y_k Z_kᵀ of each task, or the diagonals of that."""
    return np.einsum("kcd,kcd->kc", Y, Z) if diagonal else Y @ Z.transpose(0, 2, 1)


def make_block(X: Matrix, u: Any, origin: Array, xp: Any = np) -> Block:
    """A block with its squared distances to the origin, which a sparse X allows in columns without zeros alone."""
    parts = pieces(X)
    if origin.any() and is_sparse(X):
        filled = sum(host(xp.bincount(rows_at(X, part).indices, minlength=X.shape[1])) for part in parts)
        origin = np.where(filled == X.shape[0], origin, 0)
    with np.errstate(over="ignore"):
        found = [squared_norms(rows_at(X, part), origin, xp) for part in parts]
        sq = found[0] if len(found) == 1 else xp.concat(found)
        if not np.isfinite(100 * float(xp.sum(sq))):
            largest = max(_largest(rows_at(X, part), xp) for part in parts)
            raise ValueError(
                f"X holds values whose squares overflow in {X.dtype}: the largest is {largest:.1e}. Rescale X."
            )
    return Block(X, u, sq, origin, xp)


def _largest(X: Matrix, xp: Any) -> float:
    return float(abs(X).max()) if is_sparse(X) else float(xp.max(xp.abs(X)))


def _times(X: Matrix, C: Array) -> Array:
    """X Cᵀ; off NumPy in the layout in which the least of a row is found fast."""
    if is_sparse(X) or isinstance(X, np.ndarray):
        return X @ C.T
    return (C @ X.T).T
