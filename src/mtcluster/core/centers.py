"""Centres from the sums over weighted rows, S = PᵀVP (c × c) and T = PᵀVX (c × d): eqs. 16 and 18.

Arrays have the axis of the runs that are fitted side by side first. Of labels S is diagonal, and its diagonal stands
for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .arrays import Array, Dtype
from .geometry import Geometry, Identity
from .record import Record, axes
from .sharing import Offsets

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Centers(Record):
    """What is estimated with the clusters: all that travels between blocks of rows. Those of one run have no axis R."""

    W: Array | None = axes("R d l")  # orthonormal basis of the shared subspace; None: not needed yet, it spans all of Z
    M: Array | None = axes("R c l")  # shared centres in the subspace
    Ms: Array = axes("R m c d")  # centres of the tasks
    Z: Array = axes("R c d")  # pooled centres in the original space, M = Z W
    Q: Array = axes("R c d")  # with QᵀQ the scatter between the pooled clusters
    seen: Array = axes("R m c", fill=False)  # has this cluster ever had a row in this task?
    offsets: Offsets = field(default_factory=Offsets.none)  # where the tasks lie
    geometry: Geometry = field(default_factory=Identity)
    log_shares: Array | None = axes("R m c", least=-np.inf, most=1e-6, default=None)  # log of proportions

    @classmethod
    def at(cls, Z: Array, Ms: Array, offsets: Offsets, geometry: Geometry) -> Centers:
        """Make centres of each run from shared ones (R, c, d) and those of the tasks (R, m, c, d)."""
        return cls(None, None, Ms, Z, Z, np.ones(Ms.shape[:3], dtype=bool), offsets, geometry)

    @property
    def shared(self) -> Array:
        """M Wᵀ (R, c, d): the shared centres in the original space, in float64."""
        if self.W is None or self.M is None:
            return self.Z
        return self.M.astype(np.float64) @ np.swapaxes(self.W.astype(np.float64), -1, -2)

    @property
    def placed(self) -> Array:
        """(R, m, c, d) the shared centres as they lie in each task."""
        if self.Z.ndim == 2:
            return self.take("R", None).placed[0]
        return self.offsets.in_tasks(self.shared, self.Ms.shape[1])

    @property
    def basis(self) -> Array:
        """W, where it is known."""
        assert self.W is not None
        return self.W

    def copies(self, n: int) -> Centers:
        """Return the only run, n times."""
        found = self.take("R", None).take("R", [0] * n)
        return replace(found, offsets=found.offsets.whole(R=n), geometry=found.geometry.whole(R=n))

    def astype(self, dtype: Dtype) -> Centers:
        """Return the same centres in another floating type; what is estimated with them keeps its digits."""
        W, M = (None if a is None else a.astype(dtype, copy=False) for a in (self.W, self.M))
        Ms, Z, Q = (a.astype(dtype, copy=False) for a in (self.Ms, self.Z, self.Q))
        return replace(self, W=W, M=M, Ms=Ms, Z=Z, Q=Q)


def coordinate_means(N: Array, T: Array, otherwise: Array) -> Array:
    """Compute T / N coordinate by coordinate, where any row has it."""
    return np.where(N > 0, T / np.where(N > 0, N, 1), otherwise)


def centers_of(S: Array, T: Array, last: Array | None) -> Array:
    """Compute M = (PᵀVP)⁻¹ PᵀVX (eqs. 16, 18), for a stack of sums.

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
    """Compute Q = (PᵀVP)^(−1/2) PᵀVX (…, c, d): QᵀQ is the scatter between clusters."""
    if S.ndim < T.ndim:
        return T / np.sqrt(np.where(S > 0, S, 1))[..., None]
    return np.swapaxes(inverse_root(S), -1, -2) @ T


def inverse_root(S: Array) -> Array:
    """Compute H with H Hᵀ = S⁺, for one S or a stack of them; rows of empty clusters are 0.

    S is scaled to a unit diagonal first: the scale of a column of P means nothing.
    """
    diagonal = np.einsum("...ii->...i", S)
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)
    values, vectors = np.linalg.eigh(scale[..., :, None] * S * scale[..., None, :])
    floor = S.shape[-1] * np.finfo(np.float64).eps * np.maximum(values[..., -1:], 0)
    kept = values > floor
    root = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)
    return scale[..., :, None] * vectors * root[..., None, :]
