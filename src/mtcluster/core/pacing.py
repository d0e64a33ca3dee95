"""Self-paced weights: losses of a task → weights of its examples (paper, §4.2, step 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array

LOWER_SHARE = 0.8  # soft rule "quantile": this share of the selected examples has weight 1
LEAST_LOWER = 0.01  # of the upper threshold: where most rows fit exactly, the others must not lose all weight
BITS = 11  # of a loss that one histogram tells apart

Histograms = Callable[[list[tuple[int, int]], int], Array]  # (task, first bits) of each, level → (…, 2^BITS): `masses`


def schedule(initial: float, step: float) -> list[float]:
    """The fractions of the stages: initial, initial + step, …, exactly 1."""
    before = int(np.ceil((1 - initial) / step - 1e-9))
    return [round(initial + i * step, 12) for i in range(before)] + [1.0]


def quantile(L: Array, u: Array, q: float) -> float:
    """The weighted inverted-CDF quantile: the least loss with at least a share q of the weight at or below it."""
    return quantiles(lambda probes, level: masses([L], [u], probes, level), [(0, q)], L.dtype)[0]


def quantiles(histograms: Histograms, asked: list[tuple[int, float]], dtype: Any) -> list[float]:
    """Weighted inverted-CDF quantiles of the losses of tasks, `asked` for as (task, share), from histograms alone.

    Numbers that are not negative are ordered as their bits are. So the quantile is found BITS of them at a time, from
    the first: `histograms(probes, level)` tells for each (task, bits found so far) how much weight has which bits next.
    Only histograms travel, however many rows there are and wherever they live.
    """
    found = [0] * len(asked)
    below, wanted = np.zeros(len(asked)), np.zeros(len(asked))
    for level in range(_levels(dtype)):
        tables = histograms([(task, bits) for (task, _), bits in zip(asked, found, strict=True)], level)
        for i, table in enumerate(tables):
            mass = np.cumsum(table)
            if level == 0:
                wanted[i] = asked[i][1] * mass[-1] * (1 - 1e-12)  # the slack keeps 0.7 · 10 = 7 from becoming 8
            j = int(np.searchsorted(mass, wanted[i] - below[i]))
            j = min(j, int(np.flatnonzero(table)[-1]) if table.any() else 0)
            below[i] += mass[j - 1] if j else 0
            found[i] = (found[i] << BITS) | j
    kind = _bits_of(dtype)
    return [float(np.array(bits, dtype=kind).view(dtype)) for bits in found]


def masses(Ls: list[Array], us: list[Array], probes: list[tuple[int, int]], level: int) -> Array:
    """For each (task, first bits of a loss), how much weight has which bits next: (probes, 2^BITS)."""
    out = np.zeros((len(probes), 2**BITS))
    for table, (task, bits) in zip(out, probes, strict=True):
        L = Ls[task]
        keys = np.ascontiguousarray(L + L.dtype.type(0)).view(_bits_of(L.dtype))  # + 0: there is a negative zero
        shift = BITS * (_levels(L.dtype) - 1 - level)
        keys, u = keys >> keys.dtype.type(shift), us[task]
        if level:
            inside = keys >> keys.dtype.type(BITS) == bits
            keys, u = keys[inside], u[inside]
        table += np.bincount((keys & keys.dtype.type(2**BITS - 1)).astype(np.intp), weights=u, minlength=2**BITS)
    return out


def hard(L: Array, upper: float, xp: Any = np) -> Array:
    """v = 1 for L ≤ λ2, else 0: minimises v L − λ2 v (eq. 11)."""
    return xp.astype(L <= upper, L.dtype)


def soft(L: Array, lower: float, upper: float, xp: Any = np) -> Array:
    """v minimising v L − γ ln(v + γ/λ2) (eq. 13), with λ2 = upper and γ = lower · λ2 / (λ2 − lower)."""
    if lower >= upper:
        return hard(L, upper, xp)
    gamma = lower / (1 - lower / upper)
    one = xp.ones_like(L[:1], dtype=xp.float64)
    between = gamma / xp.where(L > lower, xp.astype(L, xp.float64), one) - gamma / upper
    return xp.astype(xp.where(L <= lower, one, xp.clip(between, 0, 1)), L.dtype)


@dataclass(frozen=True)
class Schedule:
    """The pace: how many examples take part when."""

    fractions: tuple[float, ...] = (1.0,)
    weighting: str = "hard"
    soft_rule: str = "quantile"
    warmup_iter: int = 0
    max_iter: int = 50
    tol: float = 1e-4
    lower_share: float = LOWER_SHARE  # soft rule "quantile": share of the selected examples with weight 1

    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """The quantiles of the losses of a task that its weights are made from, at a stage that selects a fraction."""
        if self.weighting == "hard":
            return () if fraction == 1 else (fraction,)
        return (fraction,) if self.soft_rule == "paper" else (fraction, self.lower_share * fraction)

    def thresholds(self, fraction: float, n_tasks: int, histograms: Histograms, dtype: Any) -> list[list[float]]:
        """The values of these quantiles, for each task."""
        shares = self.quantiles(fraction)
        found = quantiles(histograms, [(k, q) for k in range(n_tasks) for q in shares], dtype) if shares else []
        return [found[k * len(shares) : (k + 1) * len(shares)] for k in range(n_tasks)]

    def weights(self, L: Array, found: Sequence[float], xp: Any = np) -> Array:
        """Weights of examples of a task from the quantiles found.

        Hard weights of the last stage are all 1. The soft rule's λ2 lies just above the quantile, so that the example
        at the quantile counts as selected, and the last stage selects all.
        """
        if not found:
            return xp.ones_like(L)
        if self.weighting == "hard":
            return hard(L, found[0], xp)
        upper = found[0] * (1 + 1e-6)
        if self.soft_rule == "paper":  # γ = λ2 / 2
            return soft(L, upper / 3, upper, xp)
        return soft(L, max(found[1], LEAST_LOWER * upper), upper, xp)


def weights(
    L: Array, u: Array, fraction: float, weighting: str, soft_rule: str, lower_share: float = LOWER_SHARE
) -> Array:
    """Weights of the examples of one task at a stage that selects a fraction of them."""
    pace = Schedule((fraction,), weighting, soft_rule, lower_share=lower_share)
    return pace.weights(L, [quantile(L, u, q) for q in pace.quantiles(fraction)])


def _bits_of(dtype: Any) -> Any:
    return np.uint32 if np.dtype(dtype) == np.float32 else np.uint64


def _levels(dtype: Any) -> int:
    return -(-8 * np.dtype(dtype).itemsize // BITS)
