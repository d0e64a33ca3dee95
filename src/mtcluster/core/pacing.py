"""Self-paced weights: losses of a task → weights of its examples (paper, §4.2, step 1)."""

from __future__ import annotations

import numpy as np

from .model import Array

LOWER_SHARE = 0.8  # soft rule "quantile": this share of the selected examples has weight 1
LEAST_LOWER = 0.01  # of the upper threshold: where most rows fit exactly, the others must not lose all weight


def schedule(initial: float, step: float) -> list[float]:
    """The fractions of the stages: initial, initial + step, …, exactly 1."""
    before = int(np.ceil((1 - initial) / step - 1e-9))
    return [round(initial + i * step, 12) for i in range(before)] + [1.0]


def quantile(L: Array, u: Array, q: float) -> float:
    """The weighted inverted-CDF quantile: the least loss with at least a share q of the weight at or below it."""
    order = np.argsort(L)
    mass = np.cumsum(u[order], dtype=np.float64)
    # The slack keeps 0.7 · 10 copies = 7 from becoming 8 by rounding.
    return float(L[order[np.searchsorted(mass, q * mass[-1] * (1 - 1e-12))]])


def hard(L: Array, upper: float) -> Array:
    """v = 1 for L ≤ λ2, else 0: minimises v L − λ2 v (eq. 11)."""
    return (L <= upper).astype(L.dtype)


def soft(L: Array, lower: float, upper: float) -> Array:
    """v minimising v L − γ ln(v + γ/λ2) (eq. 13), with λ2 = upper and γ = lower · λ2 / (λ2 − lower)."""
    if lower >= upper:
        return hard(L, upper)
    gamma = lower / (1 - lower / upper)
    between = gamma / np.where(L > lower, L, 1).astype(np.float64) - gamma / upper
    return np.where(L <= lower, 1, np.clip(between, 0, 1)).astype(L.dtype)


def weights(
    L: Array, u: Array, fraction: float, weighting: str, soft_rule: str, lower_share: float = LOWER_SHARE
) -> Array:
    """Weights of the examples of one task at a stage that selects a fraction of them.

    Hard weights of the last stage are all 1. The soft rule's λ2 lies just above the quantile, so that the example at
    the quantile counts as selected, and the last stage selects all.
    """
    if weighting == "hard":
        return np.ones_like(L) if fraction == 1 else hard(L, quantile(L, u, fraction))
    upper = quantile(L, u, fraction) * (1 + 1e-6)
    if soft_rule == "paper":  # γ = λ2 / 2
        return soft(L, upper / 3, upper)
    return soft(L, max(quantile(L, u, lower_share * fraction), LEAST_LOWER * upper), upper)
