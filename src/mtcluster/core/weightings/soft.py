"""Soft weights: falling from 1 to 0 between two thresholds (eqs. 12, 13)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .base import Weighting
from .hard import hard

LEAST_LOWER = 0.01  # of the upper threshold: where most rows fit exactly, the others must not lose all weight


class Soft(Weighting):
    """The soft rule; a subclass says where the lower threshold comes from.

    λ2 lies just above the quantile at the fraction, so that the example at the quantile counts as selected and the
    last stage selects all.
    """

    name = "soft"
    explanation = "At each stage the hardest {rest} of the selected rows have a smaller weight."

    @classmethod
    def make(cls, *, soft_rule: str, full_weight_share: float) -> Weighting:
        """The rule of a name."""
        return SOFT_RULES[soft_rule](full_weight_share)

    @abstractmethod
    def lower(self, found: Sequence[float], upper: float) -> float:
        """The lower threshold."""

    def weights(self, L: Array, found: Sequence[float], xp: Any = np) -> Array:
        """Falling from 1 at the lower threshold to 0 at λ2."""
        upper = found[0] * (1 + 1e-6)
        return soft(L, self.lower(found, upper), upper, xp)


class SoftQuantile(Soft):
    """Both thresholds are quantiles of the task's losses, so that no task can starve."""

    def __init__(self, full_weight_share: float = 0.8) -> None:
        self.share = full_weight_share

    @property
    def full_weight_share(self) -> float:
        """As set."""
        return self.share

    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """At the fraction, and at the share of it that has full weight."""
        return (fraction, self.share * fraction)

    def lower(self, found: Sequence[float], upper: float) -> float:
        """The second quantile."""
        return max(found[1], LEAST_LOWER * upper)


class SoftPaper(Soft):
    """The paper's choice γ = λ2 / 2: the lower threshold is a third of the upper one."""

    explanation = "At each stage the rows above a third of the largest selected loss have a smaller weight."

    def __init__(self, full_weight_share: float = 1.0) -> None:
        pass

    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """At the fraction."""
        return (fraction,)

    def lower(self, found: Sequence[float], upper: float) -> float:
        """λ2 / 3."""
        return upper / 3


SOFT_RULES = {"quantile": SoftQuantile, "paper": SoftPaper}


def soft(L: Array, lower: float, upper: float, xp: Any = np) -> Array:
    """v minimising v L − γ ln(v + γ/λ2) (eq. 13), with λ2 = upper and γ = lower · λ2 / (λ2 − lower)."""
    if lower >= upper:
        return hard(L, upper, xp)
    gamma = lower / (1 - lower / upper)
    one = xp.ones_like(L[:1], dtype=xp.float64)
    between = gamma / xp.where(L > lower, xp.astype(L, xp.float64), one) - gamma / upper
    return xp.astype(xp.where(L <= lower, one, xp.clip(between, 0, 1)), L.dtype)
