"""The pace of a fit: which share of the examples takes part at which stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real

import numpy as np

from .arrays import Array
from .blocks import PerRow, RowSource
from .jobs import bring_to_host, by_observed, gathered_losses, loss_histograms, weigh
from .weightings import SOFT_RULES, Hard, Weighting, quantiles


def fractions_of(initial: float, step: float) -> tuple[float, ...]:
    """Return the fractions of the stages: initial, initial + step, …, exactly 1."""
    before = int(np.ceil((1 - initial) / step - 1e-9))
    return (*(round(initial + i * step, 12) for i in range(before)), 1.0)


@dataclass(frozen=True)
class Schedule:
    """The pace of a fit, for the parameter `pace` of `SPMTC`: which examples are admitted at which stage.

    Parameters
    ----------
    initial_fraction : float in (0, 1], default=0.5
        Fraction of each task's examples that is selected in the first stage.
    fraction_step : float in (0, 1], default=0.1
        What each further stage adds to the fraction. The last stage selects all examples.
    soft_rule : {"quantile", "paper"}, default="quantile"
        Thresholds of the soft weights. "quantile": both are quantiles of the task's losses, so that no task starves.
        "paper": the lower threshold is a third of the upper one (γ = λ2/2).
    full_weight_share : "auto" or float in (0, 1], default="auto"
        Share of the selected examples that have full weight under `soft_rule="quantile"`. "auto": as the start
        recommends, 0.95 for a search and 0.8 for other starts.
    warmup_iter : "auto" or int, default="auto"
        Iterations with all examples before the first stage, which the first losses come from. "auto": as the start
        recommends, 0 for a search and 20 for other starts.

    Examples
    --------
    >>> from mtcluster import SPMTC, Schedule
    >>> SPMTC(4, pace=Schedule(initial_fraction=0.7)).pace.initial_fraction
    0.7
    """

    initial_fraction: float = 0.5
    fraction_step: float = 0.1
    soft_rule: str = "quantile"
    full_weight_share: float | str = "auto"
    warmup_iter: int | str = "auto"

    def __post_init__(self) -> None:
        for name in ("initial_fraction", "fraction_step", "full_weight_share"):
            value = getattr(self, name)
            auto = name == "full_weight_share" and isinstance(value, str) and value == "auto"
            if not auto and not (isinstance(value, Real) and 0 < float(value) <= 1):
                raise ValueError(f"{name}={value!r} of Schedule should be above 0 and at most 1.")
        value = self.warmup_iter
        whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0
        if not whole and not (isinstance(value, str) and value == "auto"):
            raise ValueError(f"warmup_iter={value!r} of Schedule should be 'auto' or a whole number of at least 0.")
        if self.soft_rule not in SOFT_RULES:
            names = " or ".join(map(repr, SOFT_RULES))
            raise ValueError(f"soft_rule={self.soft_rule!r} of Schedule should be {names}.")


@dataclass(frozen=True)
class Stages:
    """The stages of a fit, with nothing left open."""

    fractions: tuple[float, ...] = (1.0,)
    weighting: Weighting = field(default_factory=Hard)
    warmup_iter: int = 0
    max_iter: int = 50
    tol: float = 1e-4

    def weights(self, rows: RowSource, Ls: PerRow, fraction: float, n_runs: int = 1) -> PerRow:
        """Return the weights v of a stage that selects a fraction of the rows of each task, in each run."""
        if rows.gaps:
            Ls = rows.apply(by_observed, Ls, outputs=1)[0]
        shares, m = self.weighting.quantiles(fraction), len(rows.summary.rows)
        thresholds: list[list[list[float]]] = [[[] for _ in range(n_runs)] for _ in range(m)]
        if shares and n_runs * rows.summary.rows.sum() <= rows.few:
            thresholds = rows.apply(gathered_losses, Ls)[-1].quantiles(shares)
        elif shares:
            near, us, _ = rows.apply(bring_to_host, Ls, outputs=2)

            def histograms(probes: list[tuple[int, int, int]], level: int) -> Array:
                return rows.apply(partial(loss_histograms, probes=probes, level=level), near, us)[-1]

            asked = [(k, run, q) for k in range(m) for run in range(n_runs) for q in shares]
            found = np.reshape(quantiles(histograms, asked, rows.dtype), (m, n_runs, len(shares)))
            thresholds = found.tolist()
        return rows.apply(partial(weigh, weighting=self.weighting, thresholds=thresholds), Ls, outputs=1)[0]
