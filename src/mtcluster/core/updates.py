"""One function for each block of variables (paper, §4.2, step 2).

All of them read the data through two sums over weighted rows, S = PᵀVP (c × c) and T = PᵀVX (c × d).
"""

from __future__ import annotations

import numpy as np

from .model import Array, Block, Quadratic

PIVOT_NUMBERS = 2**21  # of the c × c systems that the exact non-negative solve has in memory at a time
MAX_RATIO = 1e10  # of a multiplicative step: memberships near the smallest float would overflow


def sums(block: Block, P: Array, v: Array) -> tuple[Array, Array]:
    """S = PᵀVP and T = PᵀVX of a block of rows."""
    R = (block.u * v)[:, None] * P
    return (R.T @ P).astype(np.float64), (block.X.T @ R).T.astype(np.float64)


def inverse_root(S: Array) -> Array:
    """H with H Hᵀ = S⁺, for one S or a stack of them; rows of empty clusters are 0.

    S is scaled to a unit diagonal first: the scale of a column of P means nothing.
    """
    diagonal = np.einsum("...ii->...i", S)
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)
    values, vectors = np.linalg.eigh(scale[..., :, None] * S * scale[..., None, :])
    floor = S.shape[-1] * np.finfo(np.float64).eps * np.maximum(values[..., -1:], 0)
    kept = values > floor
    root = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)
    return scale[..., :, None] * vectors * root[..., None, :]


def centers_of(H: Array, S: Array, T: Array, last: Array) -> Array:
    """M_k = (PᵀVP)⁻¹ PᵀVX (eqs. 16, 18); an empty cluster keeps its last centre."""
    empty = np.einsum("...ii->...i", S) <= 0
    return np.where(empty[..., None], last, H @ (np.swapaxes(H, -1, -2) @ T))


def subspace_of_reconstruction(H: Array, T: Array, Z: Array, n_components: int) -> Array:
    """W = the l leading eigenvectors of the between-cluster scatter QQᵀ, Q = XᵀVP (PᵀVP)^(−1/2)."""
    U, sizes, _ = np.linalg.svd(T.T @ H, full_matrices=False)
    rank = int(np.sum(sizes > max(T.shape) * np.finfo(np.float64).eps * sizes[0])) if sizes[0] > 0 else 0
    return complete(fix_signs(U[:, : min(rank, n_components)]), n_components, Z)


def complete(W: Array, n_components: int, Z: Array) -> Array:
    """Orthonormal columns added to W in a fixed way, towards the centres Z first and unit vectors after.

    The directions of Z matter to clusters that have run empty: their centres must not be projected away.
    """
    sizes = np.linalg.norm(Z, axis=1)
    for z, size in zip(Z, sizes, strict=True):
        if W.shape[1] == n_components:
            break
        rest = z - W @ (W.T @ z)
        if np.linalg.norm(rest) > 1e-6 * size > 0:
            W = _append(W, rest)
    while W.shape[1] < n_components:
        unit = np.zeros(W.shape[0])
        unit[np.argmin(np.einsum("ij,ij->i", W, W))] = 1
        W = _append(W, unit)
    return W


def fix_signs(W: Array) -> Array:
    """Columns with their largest entry positive, so that a basis does not depend on LAPACK's mood."""
    largest = W[np.argmax(np.abs(W), axis=0), np.arange(W.shape[1])]
    return W * np.where(largest < 0, -1, 1)


def nonnegative_step(P: Array, form: Quadratic) -> Array:
    """One multiplicative step P ← P √((A⁺ + PB⁻) / (A⁻ + PB⁺)) (eq. 22); 0/0 is read as 1."""
    A, B = form.A, form.B.astype(form.A.dtype)
    up = np.maximum(A, 0) + P @ np.maximum(-B, 0)
    down = np.maximum(-A, 0) + P @ np.maximum(B, 0)
    down = np.maximum(down, up / MAX_RATIO)
    usable = down > 0
    return P * np.sqrt(np.where(usable, up / np.where(usable, down, 1), 1))


def nearest(form: Quadratic) -> Array:
    """Binary memberships: 1 for the centre of least loss (eq. 3)."""
    P = np.zeros_like(form.A)
    P[np.arange(len(P)), np.argmin(np.diag(form.B).astype(form.A.dtype) - 2 * form.A, axis=1)] = 1
    return P


def nonnegative_exact(form: Quadratic) -> Array:
    """The least loss over all p ≥ 0, row by row, by block principal pivoting.

    A ridge makes the answer unique where centres are dependent. It is larger than the rounding of A, which would blow
    up along the directions that B does not have.
    """
    c = len(form.B)
    share = max(1e-10, 10 * float(np.finfo(form.A.dtype).eps))
    ridge = share * max(float(np.trace(form.B)) / c, np.finfo(np.float64).tiny)
    B = form.B + ridge * np.eye(c)
    n_parts = -(-len(form.A) * c * c // PIVOT_NUMBERS)
    parts = [_pivot(A.astype(np.float64), B) for A in np.array_split(form.A, n_parts)]
    return np.concatenate(parts).astype(form.A.dtype)


def _pivot(A: Array, B: Array) -> Array:
    """Min p B pᵀ − 2 p·a over p ≥ 0 for each row a of A (Kim and Park's exchange rule, batched)."""
    n, c = A.shape
    P, passive = np.zeros((n, c)), np.zeros((n, c), dtype=bool)
    best, patience = np.full(n, c + 1), np.full(n, 3)
    open_rows = np.arange(n)
    for _ in range(50 + 20 * c):  # far more than are ever needed: a bound against cycles by rounding
        a, Z = A[open_rows], passive[open_rows]
        both = Z[:, :, None] & Z[:, None, :]
        system = np.where(both, B, 0) + np.eye(c) * ~Z[:, :, None]
        p = np.linalg.solve(system, np.where(Z, a, 0)[:, :, None])[:, :, 0]
        slack = 1e-12 * np.maximum(np.abs(a).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        wrong = np.where(Z, p < 0, p @ B - a < -slack)
        P[open_rows] = np.where(Z, np.maximum(p, 0), 0)
        count = wrong.sum(axis=1)
        better = count < best[open_rows]
        patience[open_rows] = np.where(better, 3, patience[open_rows] - 1)
        best[open_rows] = np.minimum(best[open_rows], count)
        # Full exchanges may cycle; after three without progress only the last wrong variable moves, which cannot.
        last = np.arange(c) == (c - 1 - np.argmax(wrong[:, ::-1], axis=1))[:, None]
        passive[open_rows] = Z ^ np.where((patience[open_rows] >= 0)[:, None], wrong, wrong & last)
        open_rows = open_rows[count > 0]
        if not len(open_rows):
            break
    return P


def _append(W: Array, w: Array) -> Array:
    for _ in range(2):  # twice is enough for orthogonality to rounding
        w = w - W @ (W.T @ w)
        w = w / np.linalg.norm(w)
    return np.column_stack([W, w])
