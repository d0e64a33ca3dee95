"""Centres from the sums over weighted rows, S = PᵀVP (c × c) and T = PᵀVX (c × d): eqs. 16 and 18."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array


@dataclass(frozen=True)
class Centers:
    """The small arrays: all that travels between blocks of rows."""

    W: Array | None  # (d, l) orthonormal basis of the shared subspace; None: not needed yet, it spans all of Z
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

    def for_tasks(self, ks: list[int]) -> Centers:
        """Those of some tasks."""
        return Centers(self.W, self.M, self.Ms[ks], self.Z, self.Q, self.seen[ks])

    def astype(self, dtype: Any) -> Centers:
        """The same centres in another floating type."""
        W, M = (None if a is None else a.astype(dtype, copy=False) for a in (self.W, self.M))
        Ms, Z, Q = (a.astype(dtype, copy=False) for a in (self.Ms, self.Z, self.Q))
        return Centers(W, M, Ms, Z, Q, self.seen)


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
