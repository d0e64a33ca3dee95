"""Solve from several starts side by side, and keep the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..core.blocks import PerRow
from ..core.centers import Centers
from ..core.model import Model, total_loss
from ..core.pacing import Schedule
from ..core.readout import read_out
from ..core.solver import Fit, solve, still_best
from ..engines import Engine
from ._progress import FitProgress

Maker = Callable[[np.random.Generator], PerRow]  # draws starting memberships


@dataclass(frozen=True)
class Run:
    """A fit without its last state, and what is read off its centres, in the type of the data."""

    fit: Fit
    centers: Centers
    memberships: PerRow
    losses: PerRow
    total: float  # Σ L over all rows: what starts are compared by


def best_of(
    rows: Engine,
    model: Model,
    pace: Schedule,
    makers: Sequence[Maker],
    *,
    random_state: np.random.RandomState,
    n_jobs: int | None,
    progress: FitProgress,
) -> Run:
    """The run of lowest Σ L over all rows; seeds are drawn beforehand, so that `n_jobs` changes nothing."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=len(makers))

    def run(index: int) -> Run:
        Ps = makers[index](np.random.default_rng(seeds[index]))
        watch = progress.start(index)
        fit = solve(rows, model, pace, Ps, watch)
        watch.end()
        centers = fit.state.centers.astype(rows.dtype)
        memberships, losses, _ = rows.apply(partial(read_out, model=model, centers=centers), outputs=2)
        return Run(replace(fit, state=None), centers, memberships, losses, total_loss(rows, losses))

    parallel: Any = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    best: list[Run] = []
    for one in parallel(delayed(run)(i) for i in range(len(makers))):  # keep no more than may still be the best
        best = still_best([*best, one], lambda kept: kept.total)
    return best[0]
