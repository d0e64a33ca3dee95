"""Centres from the sums over weighted rows, S = PᵀVP (c × c) and T = PᵀVX (c × d): eqs. 16 and 18.

Arrays have the axis of the runs that are fitted side by side first. Of labels S is diagonal, and its diagonal stands
for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .arrays import Array

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Centers:
    """The small arrays: all that travels between blocks of rows. Those of one run have no axis R."""

    W: Array | None  # (R, d, l) orthonormal basis of the shared subspace; None: not needed yet, it spans all of Z
    M: Array | None  # (R, c, l) shared centres in the subspace
    Ms: Array  # (R, m, c, d) centres of the tasks
    Z: Array  # (R, c, d) pooled centres in the original space, M = Z W
    Q: Array  # (R, c, d) with QᵀQ the scatter between the pooled clusters
    seen: Array  # (R, m, c) has this cluster ever had a row in this task?
    b: Array | None = None  # (R, m, d) offsets of the tasks, where they are estimated with the clusters
    K: Array | None = None  # (R, l, l) covariance within clusters, where it is estimated, in the directions V
    rest: Array | None = None  # (R,) its variance in every other direction
    log_shares: Array | None = None  # (R, m, c) log of the proportions of the clusters in each task
    Ks: Array | None = None  # (R, c, …) covariance of each cluster, where they differ
    common: Array | None = None  # (R, …) what these are drawn to

    @property
    def shared(self) -> Array:
        """M Wᵀ (R, c, d): the shared centres in the original space, in float64."""
        if self.W is None or self.M is None:
            return self.Z
        return self.M.astype(np.float64) @ np.swapaxes(self.W.astype(np.float64), -1, -2)

    def each(self, change: Callable[[Array], Array]) -> Centers:
        """The centres with all of their arrays changed."""
        return Centers(*(None if a is None else change(a) for a in vars(self).values()))  # type: ignore[arg-type]

    def runs(self, at: Any) -> Centers:
        """Those of some runs, or of one; `None` gives centres of one run the axis of the runs."""
        return self.each(lambda a: a[at])

    def for_tasks(self, ks: list[int]) -> Centers:
        """Those of some tasks, of one run."""
        b, shares = (None if a is None else a[ks] for a in (self.b, self.log_shares))
        return replace(self, Ms=self.Ms[ks], seen=self.seen[ks], b=b, log_shares=shares)

    def astype(self, dtype: Any) -> Centers:
        """The same centres in another floating type; what is estimated with them keeps its digits."""
        kept = {name: getattr(self, name) for name in ("b", "K", "rest", "log_shares", "Ks", "common")}
        return replace(self.each(lambda a: a if a.dtype == bool else a.astype(dtype, copy=False)), **kept)


def joined(parts: list[Centers], order: Array) -> Centers:
    """The runs of several centres, in another order."""
    columns = [[getattr(part, field.name) for part in parts] for field in fields(Centers)]
    return Centers(*(None if some[0] is None else np.concatenate(some)[order] for some in columns))  # type: ignore[arg-type]


def coordinate_means(N: Array, T: Array, otherwise: Array) -> Array:
    """T / N coordinate by coordinate, where any row has it."""
    return np.where(N > 0, T / np.where(N > 0, N, 1), otherwise)


def centers_of(S: Array, T: Array, last: Array | None) -> Array:
    """M = (PᵀVP)⁻¹ PᵀVX (eqs. 16, 18), for a stack of sums.

    An empty cluster keeps its last centre; None: there is none to keep, and it is 0.
    """
    if S.ndim < T.ndim:  # of labels: nothing to decompose
        sizes = S
        M = T / np.where(S > 0, S, 1)[..., None]
    else:
        sizes, H = np.einsum("...ii->...i", S), inverse_root(S)
        M = H @ (np.swapaxes(H, -1, -2) @ T)
    empty = sizes <= 0
    return np.where(empty[..., None], 0 if last is None else last, M) if empty.any() else M


def between(S: Array, T: Array) -> Array:
    """Q = (PᵀVP)^(−1/2) PᵀVX (…, c, d): QᵀQ is the scatter between clusters."""
    if S.ndim < T.ndim:
        return T / np.sqrt(np.where(S > 0, S, 1))[..., None]
    return np.swapaxes(inverse_root(S), -1, -2) @ T


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
