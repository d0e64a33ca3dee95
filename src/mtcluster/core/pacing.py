"""The pace of a fit: which share of the examples takes part at which stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .blocks import PerRow, RowSource
from .jobs import bring_to_host, by_observed, gathered_losses, loss_histograms, weigh
from .weightings import Hard, Weighting
from .weightings.quantiles import quantiles


def fractions_of(initial: float, step: float) -> tuple[float, ...]:
    """The fractions of the stages: initial, initial + step, …, exactly 1."""
    before = int(np.ceil((1 - initial) / step - 1e-9))
    return (*(round(initial + i * step, 12) for i in range(before)), 1.0)


@dataclass(frozen=True)
class Schedule:
    """The stages of a fit."""

    fractions: tuple[float, ...] = (1.0,)
    weighting: Weighting = field(default_factory=Hard)
    warmup_iter: int = 0
    max_iter: int = 50
    tol: float = 1e-4

    def weights(self, rows: RowSource, Ls: PerRow, fraction: float, n_runs: int = 1) -> PerRow:
        """The weights v of a stage that selects a fraction of the rows of each task, in each run."""
        if rows.gaps:
            Ls = rows.apply(by_observed, Ls, outputs=1)[0]
        shares, m = self.weighting.quantiles(fraction), len(rows.summary.rows)
        thresholds: list[list[list[float]]] = [[[] for _ in range(n_runs)] for _ in range(m)]
        if shares and n_runs * rows.summary.rows.sum() <= rows.few:
            thresholds = rows.apply(gathered_losses, Ls)[-1].quantiles(shares)
        elif shares:
            near, us, _ = rows.apply(bring_to_host, Ls, outputs=2)

            def histograms(probes: list[tuple[int, int, int]], level: int) -> np.ndarray:
                return rows.apply(partial(loss_histograms, probes=probes, level=level), near, us)[-1]

            asked = [(k, run, q) for k in range(m) for run in range(n_runs) for q in shares]
            found = np.reshape(quantiles(histograms, asked, rows.dtype), (m, n_runs, len(shares)))
            thresholds = found.tolist()
        return rows.apply(partial(weigh, weighting=self.weighting, thresholds=thresholds), Ls, outputs=1)[0]
