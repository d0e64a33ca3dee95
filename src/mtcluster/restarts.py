"""Solve from several starts, side by side, and keep the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from ._progress import FitProgress
from .core import starts
from .core.model import Array, Block, Centers, Settings
from .core.readout import read_out
from .core.solver import Fit, Schedule, first_best, solve

AUTO_STARTS = 3  # k-means starts of each kind; a random start is drawn once


@dataclass(frozen=True)
class Run:
    """A fit and what is read off its centres, which are in the type of the data: as they are stored."""

    fit: Fit
    centers: Centers
    memberships: list[Array]
    losses: list[Array]
    total: float  # Σ L over all rows: what starts are compared by


def kinds_of_starts(init: str, n_init: str | int, n_tasks: int) -> list[str]:
    """The kind of each start, in the order in which ties are broken."""
    kinds = [init] if init != "auto" else list(starts.kinds(n_tasks))
    if isinstance(n_init, str):
        n_init = 1 if init == "random" else AUTO_STARTS
    return kinds * n_init


def best_of(
    blocks: list[Block],
    settings: Settings,
    pace: Schedule,
    kinds: list[str],
    given: list[Array] | None,
    *,
    n_clusters: int,
    random_state: np.random.RandomState,
    n_jobs: int | None,
    progress: FitProgress,
) -> Run:
    """The run of least Σ L over all rows; seeds are drawn beforehand, so that `n_jobs` changes nothing."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=len(kinds))

    def run(index: int) -> Run:
        rng = np.random.default_rng(seeds[index])
        Ps = given or starts.start(kinds[index], blocks, n_clusters, settings, rng)
        watch = progress.start(index)
        fit = solve(blocks, settings, pace, Ps, watch)
        watch.end()
        centers = fit.state.centers.astype(blocks[0].X.dtype)
        readings = [read_out(b.X, settings, centers, k) for k, b in enumerate(blocks)]
        losses = [L for _, L in readings]
        total = sum(float(np.sum(b.u * L, dtype=np.float64)) for b, L in zip(blocks, losses, strict=True))
        return Run(fit, centers, [P for P, _ in readings], losses, total)

    runs = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(run)(i) for i in range(len(kinds)))
    return runs[first_best([one.total for one in runs])]
