"""Solve from several starts side by side, and keep the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..core.blocks import PerRow
from ..core.centers import Centers
from ..core.model import Model, total_loss
from ..core.pacing import Schedule
from ..core.readout import read_out
from ..core.solver import Fit, side_by_side, solve, still_best
from ..engines import Engine
from ._progress import FitProgress

Maker = Callable[[np.random.Generator], PerRow]  # draws starting memberships


@dataclass(frozen=True)
class Run:
    """A fit, and what is read off its centres, in the type of the data."""

    fit: Fit
    centers: Centers
    memberships: PerRow
    losses: PerRow
    total: float  # Σ L over all rows, and N log|S| with a metric: what starts are compared by


def best_of(
    rows: Engine,
    model: Model,
    pace: Schedule,
    makers: Sequence[Maker],
    *,
    random_state: np.random.RandomState,
    progress: FitProgress,
) -> Run:
    """The run of lowest Σ L over all rows; seeds are drawn beforehand, so that it does not matter which go together."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=len(makers))
    best: list[Run] = []
    for group in side_by_side(rows, model, len(makers)):
        starts = [makers[i](np.random.default_rng(seeds[i])) for i in group]
        watches = [progress.start(i) for i in group]
        fits = solve(rows, model, pace, starts, watches)
        for watch in watches:
            watch.end()
        for run in _runs(rows, model, fits):  # keep no more than may still be the best
            best = still_best([*best, run], lambda kept: kept.total)
    return best[0]


def _runs(rows: Engine, model: Model, fits: list[Fit]) -> Iterator[Run]:
    for fit in fits:
        centers = fit.centers.astype(rows.dtype)
        memberships, losses, _ = rows.apply(partial(read_out, model=model, centers=centers), outputs=2)
        volume = float(model.log_volume(centers.runs(None))[0]) * float(rows.summary.sizes.sum())
        yield Run(fit, centers, memberships, losses, total_loss(rows, losses) + volume)
