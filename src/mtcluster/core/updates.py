"""One function for each block of variables (paper, §4.2, step 2).

All of them read the data through two sums over weighted rows, S = PᵀVP (c × c) and T = PᵀVX (c × d). Centres are
small and NumPy's; what is of every row is computed with the library `xp` that its arrays belong to.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .arrays import MOST_ROWS, Array, Matrix, is_sparse, like, numbers, zero
from .model import Quadratic

DEVICE_ROWS = 2**10  # that an accelerator adds up in one sum of a batch of them: what an H200 is fastest with
PIVOT_NUMBERS = 2**21  # of the c × c systems that the exact non-negative solve has in memory at a time
MAX_RATIO = 1e10  # of a multiplicative step: memberships near the smallest float would overflow


def sums(X: Matrix, w: Array, P: Array, n_clusters: int, xp: Any = np) -> tuple[Array, Array]:
    """S = PᵀVP and T = PᵀVX of some rows with weights w = u v; of labels S is diagonal, and its diagonal is given."""
    if P.ndim == 1:
        R = xp.where(P == numbers(n_clusters, P.device, xp)[:, None], w, zero(w.dtype, w.device, xp))
        return xp.sum(R, axis=1, dtype=xp.float64), _times(R, X, xp)
    R = P.T * w
    return xp.astype(R @ P, xp.float64), _times(R, X, xp)


def _times(R: Array, X: Matrix, xp: Any) -> Array:
    """R X, (c, n) by (n, d), in sums over no more rows than single precision bears."""
    if is_sparse(X):
        return (X.T @ R.T).T
    n, size = X.shape[0], _batch(X.shape[0])
    if n <= MOST_ROWS:
        return R @ X
    whole = n - n % size
    batches = xp.permute_dims(xp.reshape(X[:whole, :], (whole // size, size, X.shape[1])), (0, 2, 1))
    total = xp.sum(batches @ xp.permute_dims(_batches(R, size, xp), (1, 2, 0)), axis=0, dtype=xp.float64).T
    return total if whole == n else total + xp.astype(R[:, whole:] @ X[whole:, :], xp.float64)


def _batches(R: Array, size: int, xp: Any) -> Array:
    """R (c, n) as (c, batches, size)."""
    whole = R.shape[1] - R.shape[1] % size
    return xp.reshape(R[:, :whole], (R.shape[0], whole // size, size))


@lru_cache(maxsize=256)
def _batch(n: int) -> int:
    """Rows of each sum of a batch, so that few are left over, or none."""
    return min(range(DEVICE_ROWS, DEVICE_ROWS // 2, -1), key=lambda size: n % size)


def centers_of(S: Array, T: Array, last: Array | None) -> Array:
    """M = (PᵀVP)⁻¹ PᵀVX (eqs. 16, 18), for one task or a stack of them.

    An empty cluster keeps its last centre; None: there is none to keep, and it is 0.
    """
    diagonal = np.einsum("...ii->...i", S)
    if _is_diagonal(S):  # of labels: nothing to decompose
        M = T / np.where(diagonal > 0, diagonal, 1)[..., None]
    else:
        H = inverse_root(S)
        M = H @ (np.swapaxes(H, -1, -2) @ T)
    empty = diagonal <= 0
    return np.where(empty[..., None], 0 if last is None else last, M) if empty.any() else M


def between(S: Array, T: Array) -> Array:
    """Q = (PᵀVP)^(−1/2) PᵀVX (c, d): QᵀQ is the scatter between clusters."""
    if _is_diagonal(S):
        diagonal = np.diag(S)
        return T / np.sqrt(np.where(diagonal > 0, diagonal, 1))[:, None]
    return inverse_root(S).T @ T


def _is_diagonal(S: Array) -> bool:
    return bool(np.count_nonzero(S) == np.count_nonzero(np.einsum("...ii->...i", S)))


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


def subspace_of_reconstruction(Q: Array, Z: Array, n_components: int) -> Array:
    """W = the l leading eigenvectors of the between-cluster scatter QᵀQ, Q = (PᵀVP)^(−1/2) PᵀVX."""
    U, sizes, _ = np.linalg.svd(Q.T, full_matrices=False)
    rank = int(np.sum(sizes > max(Q.shape) * np.finfo(np.float64).eps * sizes[0])) if sizes[0] > 0 else 0
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
    A, xp = form.A, form.xp
    B = np.asarray(form.B)
    up = xp.clip(A, 0, None) + P @ form.small(np.maximum(-B, 0))
    down = xp.clip(-A, 0, None) + P @ form.small(np.maximum(B, 0))
    down = xp.maximum(down, up / MAX_RATIO)
    usable = down > 0
    one = xp.ones_like(down[:1, :1])
    return P * xp.sqrt(xp.where(usable, up / xp.where(usable, down, one), one))


def nearest(form: Quadratic) -> Array:
    """Binary memberships: the label of the centre of least loss (eq. 3)."""
    return form.xp.argmin(form.D, axis=1)


def one_hot(labels: Array, n_clusters: int, like: Array, xp: Any = np) -> Array:
    """Labels as 0/1 memberships (n, c), in the type of another array."""
    number = xp.arange(n_clusters, device=getattr(labels, "device", None))
    return xp.astype(labels[:, None] == number, like.dtype)


def nonnegative_exact(form: Quadratic) -> Array:
    """The least loss over all p ≥ 0, row by row, by block principal pivoting.

    A ridge makes the answer unique where centres are dependent. It is larger than the rounding of A, which would blow
    up along the directions that B does not have.
    """
    G, n, xp = np.asarray(form.B), form.A.shape[0], form.xp
    c = len(G)
    share = max(1e-10, 10 * float(xp.finfo(form.A.dtype).eps))
    ridge = share * max(float(np.trace(G)) / c, np.finfo(np.float64).tiny)
    A = xp.astype(form.A, xp.float64)
    B = like(G + ridge * np.eye(c), A, xp)
    step = max(PIVOT_NUMBERS // (c * c), 1)
    parts = [_pivot(A[i : min(i + step, n), :], B, xp) for i in range(0, n, step)] or [A]
    return xp.astype(xp.concat(parts), form.A.dtype)


def _pivot(A: Array, B: Array, xp: Any) -> Array:
    """Min p B pᵀ − 2 p·a over p ≥ 0 for each row a of A (Kim and Park's exchange rule, batched)."""
    n, c = A.shape
    place = {"device": A.device}
    P, Z = xp.zeros_like(A), xp.zeros_like(A, dtype=xp.bool)  # Z: which entries are free to be positive
    best, patience = xp.full((n,), c + 1, **place), xp.full((n,), 3, **place)
    unit, number, zero = xp.eye(c, dtype=A.dtype, **place), xp.arange(c, **place), xp.zeros_like(A[:1, :1])
    done, answers = [], []  # rows leave as they are solved
    rows = xp.arange(n, **place)
    for _ in range(50 + 20 * c):  # far more than are ever needed: a bound against cycles by rounding
        both = Z[:, :, None] & Z[:, None, :]
        system = xp.where(both, B, zero) + unit * xp.astype(~Z, A.dtype)[:, :, None]
        p = xp.linalg.solve(system, xp.where(Z, A, zero)[:, :, None])[:, :, 0]
        slack = 1e-12 * xp.clip(xp.max(xp.abs(A), axis=1, keepdims=True), float(np.finfo(np.float64).tiny), None)
        wrong = xp.where(Z, p < 0, p @ B - A < -slack)
        P = xp.where(Z, xp.clip(p, 0, None), zero)
        count = xp.sum(xp.astype(wrong, best.dtype), axis=1)
        better = count < best
        patience = xp.where(better, xp.full_like(patience, 3), patience - 1)
        best = xp.minimum(best, count)
        # Full exchanges may cycle; after three without progress only the last wrong variable moves, which cannot.
        last = number == xp.max(xp.where(wrong, number, xp.full_like(number, -1)), axis=1, keepdims=True)
        Z = Z ^ xp.where((patience >= 0)[:, None], wrong, wrong & last)
        solved, open_rows = xp.nonzero(count == 0)[0], xp.nonzero(count > 0)[0]
        done.append(xp.take(rows, solved))
        answers.append(xp.take(P, solved, axis=0))
        rows, A, P, Z, best, patience = (xp.take(x, open_rows, axis=0) for x in (rows, A, P, Z, best, patience))
        if not A.shape[0]:
            break
    order = xp.argsort(xp.concat([*done, rows]))
    return xp.take(xp.concat([*answers, P]), order, axis=0)


def _append(W: Array, w: Array) -> Array:
    for _ in range(2):  # twice is enough for orthogonality to rounding
        w = w - W @ (W.T @ w)
        w = w / np.linalg.norm(w)
    return np.column_stack([W, w])
