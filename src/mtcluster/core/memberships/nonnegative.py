"""Non-negative memberships: rows are mixtures of centres, as in semi-NMF (eq. 22)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, host, like
from ..capabilities import Capabilities
from ..quadratic import Quadratic
from .base import Membership
from .binary import one_hot

UNLOCK = 0.2  # added to 0/1 starts: a multiplicative update never leaves 0
MAX_RATIO = 1e10  # of a multiplicative step: memberships near the smallest float would overflow
PIVOT_NUMBERS = 2**21  # entries of the c × c systems that the exact solve keeps in memory at a time


class NonNegative(Membership):
    """Non-negative mixtures of centres, (n, c)."""

    name = "nonnegative"
    supports = Capabilities(offsets=False, missing=False)
    explanation = "Rows are non-negative mixtures of centres, so zero must have a meaning in X."

    def start(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """Memberships that are not locked at 0."""
        P = P if P.ndim == 2 else one_hot(P, n_clusters, like.dtype, xp) + UNLOCK
        return np.ascontiguousarray(P.T) if xp is np else P.T

    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Any) -> Array:
        """Memberships drawn at random."""
        return (rng.random((n, n_clusters)) + UNLOCK).astype(dtype)

    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """One multiplicative step P ← P √((A⁺ + PB⁻) / (A⁻ + PB⁺)) (eq. 22); 0/0 is read as 1."""
        A, xp = form.A, form.xp
        B = np.asarray(form.B)
        up = xp.clip(A, 0, None) + form.small(np.maximum(-B, 0)) @ P
        down = xp.clip(-A, 0, None) + form.small(np.maximum(B, 0)) @ P
        down = xp.maximum(down, up / MAX_RATIO)
        usable = down > 0
        one = xp.ones_like(down[:1, :1, :1])
        new = P * xp.sqrt(xp.where(usable, up / xp.where(usable, down, one), one))
        new = new if selected is None else xp.where(selected[:, None, :], new, P)
        return new, self.losses(new, form)

    def exact(self, form: Quadratic) -> Array:
        """The least loss over all p ≥ 0, row by row, by block principal pivoting.

        A ridge makes the answer unique where centres are dependent. It is larger than the rounding of A, which would
        be amplified along the directions that B lacks.
        """
        xp, Bs = form.xp, np.asarray(form.B)
        runs, c, n = form.A.shape
        share = max(1e-10, 10 * float(xp.finfo(form.A.dtype).eps))
        step = max(PIVOT_NUMBERS // (c * c), 1)
        found = []
        for r in range(runs):
            ridge = share * max(float(np.trace(Bs[r])) / c, np.finfo(np.float64).tiny)
            A = xp.astype(form.A[r, :, :].T, xp.float64)
            B = like(Bs[r] + ridge * np.eye(c), A, xp)
            parts = [_pivot(A[i : min(i + step, n), :], B, xp) for i in range(0, n, step)] or [A]
            found.append(xp.astype(xp.concat(parts), form.A.dtype).T)
        return xp.stack(found)

    def losses(self, P: Array, form: Quadratic) -> Array:
        """Losses at the given memberships."""
        return form.with_energy(form.xp.sum(P * (form.small(np.asarray(form.B)) @ P - 2 * form.A), axis=1))

    def columns(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """P itself."""
        return P

    def moments(self, P: Array, weighted: Array, xp: Any = np) -> Array:
        """PᵀVP."""
        return xp.astype(weighted @ xp.permute_dims(P, (0, 2, 1)), xp.float64)

    def reported(self, P: Array, form: Quadratic) -> Array:
        """Memberships that sum to 1; a row without any, such as an all-zero row, belongs to the nearest centre."""
        xp, P = form.xp, P[0, :, :].T
        total = xp.sum(P, axis=1, keepdims=True)
        some = total > 0
        nearest = one_hot(xp.argmin(form.D[0, :, :], axis=0), P.shape[1], P.dtype, xp)
        return xp.where(some, P / xp.where(some, total, 1), nearest)

    def sizes(self, P: Array, u: Array, n_clusters: int, xp: Any = np) -> Array:
        """Σ u p of each cluster."""
        return host(xp.astype(u, xp.float64) @ xp.astype(P, xp.float64))

    def fitted(self, P: Array, M: Array) -> Array:
        """The mixture of centres of each row."""
        return P.T @ M


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
