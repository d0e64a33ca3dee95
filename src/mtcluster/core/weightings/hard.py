"""Hard weights: the easiest examples of a task count, the others do not (eqs. 10, 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .base import Weighting


class Hard(Weighting):
    """1 for the easiest fraction of a task, else 0; all 1 in the last stage."""

    name = "hard"
    explanation = "At each stage the rows that are not selected have no weight."

    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """λ2 is the quantile at the fraction."""
        return () if fraction == 1 else (fraction,)

    def weights(self, L: Array, found: Sequence[float], xp: Any = np) -> Array:
        """1 up to λ2."""
        return hard(L, found[0], xp) if found else xp.ones_like(L)


def hard(L: Array, upper: float, xp: Any = np) -> Array:
    """v = 1 for L ≤ λ2, else 0: minimises v L − λ2 v (eq. 11)."""
    return xp.astype(L <= upper, L.dtype)
