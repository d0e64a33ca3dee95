"""Weighted quantiles of the losses of tasks, from histograms alone: only these travel, wherever the rows live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array

BITS = 11  # of a loss that one histogram tells apart

SLACK = 1 - 1e-12  # keeps 0.7 · 10 = 7 from becoming 8

Asked = tuple[int, int, float]  # (task, run, share)
Histograms = Callable[[list[tuple[int, int, int]], int], Array]  # (task, run, first bits) of each, level: `masses`


@dataclass(frozen=True)
class Gathered:
    """Losses (R, n) and sample weights (n,) of each task, in one place."""

    Ls: list[Array]
    us: list[Array]
    xp: Any = np

    def __add__(self, other: Gathered) -> Gathered:
        Ls = [self.xp.concat(pair, axis=1) for pair in zip(self.Ls, other.Ls, strict=True)]
        return Gathered(Ls, [self.xp.concat(pair) for pair in zip(self.us, other.us, strict=True)], self.xp)

    def quantiles(self, shares: tuple[float, ...]) -> list[list[list[float]]]:
        """Weighted inverted-CDF quantiles: task → run → share."""
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


def quantiles(histograms: Histograms, asked: list[Asked], dtype: Any) -> list[float]:
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


def _bits_of(dtype: Any) -> Any:
    return np.uint32 if np.dtype(dtype) == np.float32 else np.uint64


def _levels(dtype: Any) -> int:
    return -(-8 * np.dtype(dtype).itemsize // BITS)
