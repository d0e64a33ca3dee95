"""Self-paced weights of the examples: one class per rule, registered by name (paper, §4.2, step 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np

from .arrays import Array, Dtype

BITS = 11  # of a loss that one histogram tells apart

SLACK = 1 - 1e-12  # keeps 0.7 · 10 = 7 from becoming 8

Asked = tuple[int, int, float]  # (task, run, share)
Histograms = Callable[[list[tuple[int, int, int]], int], Array]  # (task, run, first bits) of each, level: `masses`


@dataclass(frozen=True)
class Gathered:
    """Losses (R, n) and sample weights (n,) of each task, in one place."""

    Ls: list[Array]
    us: list[Array]
    xp: ModuleType = np

    def __add__(self, other: Gathered) -> Gathered:
        Ls = [self.xp.concat(pair, axis=1) for pair in zip(self.Ls, other.Ls, strict=True)]
        return Gathered(Ls, [self.xp.concat(pair) for pair in zip(self.us, other.us, strict=True)], self.xp)

    def quantiles(self, shares: tuple[float, ...]) -> list[list[list[float]]]:
        """Return weighted inverted-CDF quantiles: task → run → share."""
        return [
            [self._of_run(L[run, :], u, shares) for run in range(L.shape[0])]
            for L, u in zip(self.Ls, self.us, strict=True)
        ]

    def _of_run(self, L: Array, u: Array, shares: tuple[float, ...]) -> list[float]:
        xp = self.xp
        order = xp.argsort(L)
        mass = xp.cumulative_sum(xp.astype(xp.take(u, order), xp.float64))
        wanted = [q * SLACK * float(mass[-1]) for q in shares]
        at = xp.searchsorted(mass, xp.asarray(wanted, dtype=mass.dtype, device=mass.device))
        return [float(value) for value in xp.take(L, xp.take(order, at))]


def quantiles(histograms: Histograms, asked: list[Asked], dtype: Dtype) -> list[float]:
    """Weighted inverted-CDF quantiles of the losses of tasks, `asked` for as (task, run, share), from histograms alone.

    Numbers that are not negative are ordered as their bits are. So the quantile is found BITS of them at a time, from
    the first: `histograms(probes, level)` tells for each (task, run, bits found so
    far) how much weight has which bits next.
    Only histograms travel, however many rows there are and wherever they live.
    """
    found = [0] * len(asked)
    below, wanted = np.zeros(len(asked)), np.zeros(len(asked))
    for level in range(_levels(dtype)):
        tables = histograms([(task, run, bits) for (task, run, _), bits in zip(asked, found, strict=True)], level)
        for i, table in enumerate(tables):
            mass = np.cumsum(table)
            if level == 0:
                wanted[i] = asked[i][2] * mass[-1] * SLACK
            j = int(np.searchsorted(mass, wanted[i] - below[i]))
            j = min(j, int(np.flatnonzero(table)[-1]) if table.any() else 0)
            below[i] += mass[j - 1] if j else 0
            found[i] = (found[i] << BITS) | j
    kind = _bits_of(dtype)
    return [float(np.array(bits, dtype=kind).view(dtype)) for bits in found]


def masses(Ls: list[Array], us: list[Array], probes: list[tuple[int, int, int]], level: int) -> Array:
    """For each (task, run, first bits of a loss), how much weight has which bits next: (probes, 2^BITS)."""
    out = np.zeros((len(probes), 2**BITS))
    for table, (task, run, bits) in zip(out, probes, strict=True):
        L = Ls[task][run]
        keys = np.ascontiguousarray(L + L.dtype.type(0)).view(_bits_of(L.dtype))  # + 0: there is a negative zero
        shift = BITS * (_levels(L.dtype) - 1 - level)
        keys, u = keys >> keys.dtype.type(shift), us[task]
        if level:
            inside = keys >> keys.dtype.type(BITS) == bits
            keys, u = keys[inside], u[inside]
        table += np.bincount((keys & keys.dtype.type(2**BITS - 1)).astype(np.intp), weights=u, minlength=2**BITS)
    return out


def _bits_of(dtype: Dtype) -> Dtype:
    return np.uint32 if np.dtype(dtype) == np.float32 else np.uint64


def _levels(dtype: Dtype) -> int:
    return -(-8 * np.dtype(dtype).itemsize // BITS)


class Weighting(ABC):
    """Losses of a task → weights v of its examples, at a stage that selects a fraction of them."""

    name: ClassVar[str]
    explanation: ClassVar[str]  # a sentence; {rest} is the share of the selected examples without full weight
    full_weight_share: float = 1.0  # of the selected examples, as far as the rule fixes it

    @classmethod
    def make(cls, *, soft_rule: str, full_weight_share: float) -> Weighting:
        """Return the rule with the options of an estimator, of which it takes those that it knows."""
        return cls()

    @abstractmethod
    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """Return the quantiles of a task's losses that its weights are made from."""

    @abstractmethod
    def weights(self, L: Array, found: Sequence[float], xp: ModuleType = np) -> Array:
        """Return weights of examples, from the values of these quantiles."""


class Hard(Weighting):
    """1 for the easiest fraction of a task, else 0; all 1 in the last stage."""

    name = "hard"
    explanation = "At each stage the rows that are not selected have no weight."

    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """λ2 is the quantile at the fraction."""
        return () if fraction == 1 else (fraction,)

    def weights(self, L: Array, found: Sequence[float], xp: ModuleType = np) -> Array:
        """1 up to λ2."""
        return hard(L, found[0], xp) if found else xp.ones_like(L)


def hard(L: Array, upper: float, xp: ModuleType = np) -> Array:
    """Compute v = 1 for L ≤ λ2, else 0: minimises v L − λ2 v (eq. 11)."""
    return xp.astype(L <= upper, L.dtype)


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
        """Return the rule of a name."""
        return SOFT_RULES[soft_rule](full_weight_share)

    @abstractmethod
    def lower(self, found: Sequence[float], upper: float) -> float:
        """Return the lower threshold."""

    def weights(self, L: Array, found: Sequence[float], xp: ModuleType = np) -> Array:
        """Falling from 1 at the lower threshold to 0 at λ2."""
        upper = found[0] * (1 + 1e-6)
        return soft(L, self.lower(found, upper), upper, xp)


class SoftQuantile(Soft):
    """Both thresholds are quantiles of the task's losses, so that no task can starve."""

    def __init__(self, full_weight_share: float) -> None:
        self.full_weight_share = full_weight_share

    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """At the fraction, and at the share of it that has full weight."""
        return (fraction, self.full_weight_share * fraction)

    def lower(self, found: Sequence[float], upper: float) -> float:
        """Return the second quantile."""
        return max(found[1], LEAST_LOWER * upper)


class SoftPaper(Soft):
    """The paper's choice γ = λ2 / 2: the lower threshold is a third of the upper one."""

    explanation = "At each stage the rows above a third of the largest selected loss have a smaller weight."

    def __init__(self, full_weight_share: float) -> None:
        pass

    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """At the fraction."""
        return (fraction,)

    def lower(self, found: Sequence[float], upper: float) -> float:
        """λ2 / 3."""
        return upper / 3


SOFT_RULES = {"quantile": SoftQuantile, "paper": SoftPaper}


def soft(L: Array, lower: float, upper: float, xp: ModuleType = np) -> Array:
    """Compute v minimising v L − γ ln(v + γ/λ2) (eq. 13), with λ2 = upper and γ = lower · λ2 / (λ2 − lower)."""
    if lower >= upper:
        return hard(L, upper, xp)
    gamma = lower / (1 - lower / upper)
    one = xp.ones_like(L[:1], dtype=xp.float64)
    between = gamma / xp.where(L > lower, xp.astype(L, xp.float64), one) - gamma / upper
    return xp.astype(xp.where(L <= lower, one, xp.clip(between, 0, 1)), L.dtype)


WEIGHTINGS: dict[str, type[Weighting]] = {rule.name: rule for rule in (Hard, Soft)}
