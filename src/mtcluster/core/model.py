"""The model: its state, the loss of each example and the objective (paper, eqs. 4, 7 and 8).

For one task with centres M_k, shared centres M in the subspace W, and memberships p of a row x,

    reconstruction:  L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x − p M Wᵀ‖²
    projection:      L = λ1 ‖x − p M_k‖² + (1 − λ1) ‖x W − p M‖²

Both are one quadratic of p,  L = e − 2 p·a + p B pᵀ,  and differ in the energy e alone. Where tasks differ by a shift
b_k and a scale s_k, the shared centres of task k are b_k + s_k M Wᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Matrix = Any  # a dense array or a SciPy CSR matrix: what has `@` and `.T`


@dataclass(frozen=True)
class Settings:
    """What the user chose, or the data decided; it does not change during a fit."""

    within_weight: float | Array  # λ1, or (m,) one a task
    n_components: int  # l
    coupling: str = "reconstruction"
    membership: str = "binary"
    offsets: Array | None = None  # (m, d) b_k: where a task lies, for binary memberships alone
    scales: Array | None = None  # (m,) s_k: how wide it is

    def share(self, task: int) -> float:
        """λ1 of a task."""
        return float(self.within_weight if np.ndim(self.within_weight) == 0 else np.asarray(self.within_weight)[task])

    def scale(self, task: int) -> float:
        """s_k of a task."""
        return 1.0 if self.scales is None else float(self.scales[task])

    def in_task(self, Z: Array, task: int | None) -> Array:
        """Shared centres Z as they lie in a task, b_k + s_k Z; None: where they are."""
        if task is None or self.offsets is None:
            return Z
        return self.offsets[task] + self.scale(task) * Z

    def from_task(self, x: Array, task: int) -> Array:
        """A row of a task in the common frame: the inverse of `in_task`."""
        if self.offsets is None:
            return x
        return (x - self.offsets[task]) / self.scale(task)

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
    origin: Array  # (d,)


@dataclass(frozen=True)
class Centers:
    """The small arrays: all that travels between blocks."""

    W: Array  # (d, l) orthonormal basis of the shared subspace
    M: Array  # (c, l) shared centres in the subspace
    Ms: Array  # (m, c, d) centres of the tasks
    Z: Array  # (c, d) pooled centres in the original space, M = Z W
    seen: Array  # (m, c) has this cluster ever had a row in this task?

    def astype(self, dtype: Any) -> Centers:
        """The same centres in another floating type."""
        W, M, Ms, Z = (a.astype(dtype) for a in (self.W, self.M, self.Ms, self.Z))
        return Centers(W, M, Ms, Z, self.seen)


@dataclass(frozen=True)
class State:
    """A point of the alternation: centres, and memberships, weights and losses of the rows of each block."""

    centers: Centers
    Ps: list[Array]  # (n_k, c)
    vs: list[Array]  # (n_k,)
    Ls: list[Array]  # (n_k,)


@dataclass(frozen=True)
class Quadratic:
    """The loss L = e − 2 p·a + p B pᵀ of every row of a block, as a function of its memberships p."""

    e: Array  # (n_k,)
    A: Array  # (n_k, c)
    B: Array  # (c, c), in float64 whatever the data: it may be close to singular

    def losses(self, P: Array) -> Array:
        """Loss of each row (eq. 8), at least 0 in spite of rounding."""
        cross = np.einsum("ij,ij->i", P, P @ self.B.astype(P.dtype) - 2 * self.A)
        return np.maximum(self.e + cross, 0)


def make_block(X: Matrix, u: Array, origin: Array) -> Block:
    """A block with its squared distances to the origin, which a sparse X allows in columns without zeros alone."""
    if hasattr(X, "tocsr"):
        origin = np.where(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0], origin, 0)
    with np.errstate(over="ignore"):
        sq = squared_norms(X, origin)
        if not np.isfinite(100 * sq.sum()):
            raise ValueError(
                f"X holds values whose squares overflow in {X.dtype}: the largest is {abs(X).max():.1e}. Rescale X."
            )
    return Block(X, u, sq, origin)


def squared_norms(X: Matrix, origin: Array, chunk: int = 4096) -> Array:
    """‖x − origin‖² of each row, the origin 0 where a sparse X has no entry; a dense X goes in chunks."""
    if hasattr(X, "tocsr"):
        squares = type(X)(((X.data - origin[X.indices]) ** 2, X.indices, X.indptr), shape=X.shape)
        return np.asarray(squares.sum(axis=1)).ravel().astype(X.dtype)
    moved = (X[i : i + chunk] - origin.astype(X.dtype) for i in range(0, X.shape[0], chunk))
    return np.concatenate([np.einsum("ij,ij->i", part, part) for part in moved])


def products(block: Block, C: Array) -> Array:
    """(x − origin)·c for each row x of the block and each row c of C: the one product with X that gives distances."""
    return block.X @ C.T.astype(block.X.dtype) - (block.origin @ C.T).astype(block.X.dtype)


def quadratic(block: Block, settings: Settings, centers: Centers, task: int | None) -> Quadratic:
    """The loss of the rows of a block under the centres of a task; None: under the shared centres alone."""
    lam = settings.share(task) if task is not None else 0.0
    M, W = centers.M.astype(np.float64), centers.W.astype(np.float64)
    shared = settings.in_task(M @ W.T, task) - block.origin
    own = centers.Ms[task].astype(np.float64) - block.origin if task is not None else shared
    C = lam * own + (1 - lam) * shared
    A = products(block, C)
    B = lam * own @ own.T + (1 - lam) * shared @ shared.T
    e = block.sq
    if settings.coupling == "projection":
        XW = block.X @ centers.W.astype(block.X.dtype)
        e = lam * block.sq + (1 - lam) * np.einsum("ij,ij->i", XW, XW)
    return Quadratic(e, A, B)


def objective(blocks: list[Block], vs: list[Array], Ls: list[Array]) -> float:
    """Σ v L over all rows, sample weights included (eq. 7 without its constant −f)."""
    return float(sum(np.sum(b.u * v * L, dtype=np.float64) for b, v, L in zip(blocks, vs, Ls, strict=True)))
