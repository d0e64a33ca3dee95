"""The loss of some rows as one quadratic of their memberships (eq. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .arrays import Array, like, zero


@dataclass(frozen=True)
class Quadratic:
    """The loss L = e − 2 p·a + p B pᵀ of some rows, as a function of their memberships p.

    For a label j it is e − 2 a_j + 2 h_j, where h is half the diagonal of B plus a correction for the origin.
    """

    e: Array  # (n,)
    A: Array  # (n, c)
    h: Array  # (c,)
    B: Array | None  # (c, c), in NumPy's memory in float64: it may be close to singular; None: labels do without
    xp: Any = np

    @cached_property
    def D(self) -> Array:  # noqa: N802
        """(n, c) half of what a label adds to e."""
        return self.h - self.A

    def small(self, values: Array) -> Array:
        """A small NumPy array in the type and place of the rows."""
        return like(values, self.A, self.xp)

    def least_losses(self) -> Array:
        """Losses at the labels of least loss, without looking the labels up."""
        return self.with_energy(2 * self.xp.min(self.D, axis=1))

    def with_energy(self, cross: Array) -> Array:
        """E + cross, at least 0 in spite of rounding."""
        L = self.e + cross
        return self.xp.maximum(L, zero(L.dtype, L.device, self.xp))
