"""The loss of some rows as one quadratic of their memberships (eq. 8), in each of R runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .arrays import Array, like, zero


@dataclass(frozen=True)
class Quadratic:
    """The loss L = e − 2 p·a + p B pᵀ of some rows, as a function of their memberships p.

    For a label j it is e − 2 a_j + 2 h_j, where h is half the diagonal of B plus a correction for the origin. Rows come
    last: the least over clusters is then found for many rows at a time.
    """

    e: Array | None  # (n,), or (R, n); None: losses are wanted up to it
    A: Array  # (R, c, n)
    h: Array  # (R, c, 1)
    B: Array | None  # (R, c, c), in NumPy's memory in float64: it may be close to singular; None: labels do without
    xp: Any = np
    prior: Array | None = None  # (R, c, 1) the part of h that proportions of the clusters make

    @cached_property
    def D(self) -> Array:  # noqa: N802
        """(R, c, n) half of what a label adds to e. It takes the place of A where only labels are asked for."""
        if self.xp is np and self.B is None and self.A.flags.c_contiguous:
            return np.subtract(self.h, self.A, out=self.A)
        return np.subtract(self.h, self.A, order="C") if self.xp is np else self.h - self.A

    @cached_property
    def least(self) -> Array:
        """(R, n) the least of D."""
        return self.xp.min(self.D, axis=1)

    def small(self, values: Array) -> Array:
        """A small NumPy array in the type and place of the rows."""
        return like(values, self.A, self.xp)

    def with_energy(self, cross: Array) -> Array:
        """E + cross, at least 0 in spite of rounding; `cross` is given up."""
        if self.e is None:
            return cross
        if self.xp is np:
            L = np.add(cross, self.e, out=cross)
            return np.maximum(L, 0, out=L)
        L = self.e + cross
        return self.xp.maximum(L, zero(L.dtype, L.device, self.xp))
