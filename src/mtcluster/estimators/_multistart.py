"""Solve from several starts, side by side, and keep the best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from ..consensus.embedding import Sampling, from_sample, take_sample
from ..core import starts
from ..core.arrays import Array
from ..core.blocks import Rows
from ..core.model import Centers, Settings
from ..core.pacing import Schedule
from ..core.solver import Fit, solve, still_best
from ._progress import FitProgress

AUTO_STARTS = 3  # k-means starts of each kind; a random start is drawn once
SAMPLE = 5_000  # rows that starts by k-means look at, or more:
SAMPLE_CLUSTER = 100  # of them for each cluster of each task


@dataclass(frozen=True)
class Run:
    """A fit, its last state forgotten, and what is read off its centres: as it is stored, in the type of the data."""

    fit: Fit
    centers: Centers
    memberships: list[Array]
    losses: list[Array]
    total: float  # Σ L over all rows: what starts are compared by


def kinds_of_starts(init: str, n_init: str | int, n_tasks: int, coupling: str) -> list[str]:
    """The kind of each start, in the order in which ties are broken."""
    kinds = [init] if init != "auto" else list(starts.kinds(n_tasks))
    if isinstance(n_init, str):  # the projection coupling solves an eigenproblem of the size of the data a stage
        n_init = 1 if init == "random" or coupling == "projection" else AUTO_STARTS
    return kinds * n_init


def best_of(
    rows: Rows,
    settings: Settings,
    pace: Schedule,
    kinds: list[str],
    given: list[Array] | None,
    *,
    sizes: list[int],
    dtype: np.dtype,
    random_state: np.random.RandomState,
    n_jobs: int | None,
    progress: FitProgress,
) -> Run:
    """The run of least Σ L over all rows; seeds are drawn beforehand, so that `n_jobs` changes nothing."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=len(kinds))

    def run(index: int) -> Run:
        rng = np.random.default_rng(seeds[index])
        Ps = given or start(kinds[index], rows, settings, sizes, dtype, rng)
        watch = progress.start(index)
        fit = solve(rows, settings, pace, Ps, watch)
        watch.end()
        centers = fit.state.centers.astype(dtype)
        memberships, losses = rows.read_out(settings, centers)
        return Run(replace(fit, state=None), centers, memberships, losses, float(rows.sum(losses).sum()))

    parallel = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    best: list[Run] = []
    for one in parallel(delayed(run)(i) for i in range(len(kinds))):  # no more are kept than may still be the best
        best = still_best([*best, one], lambda kept: kept.total)
    return best[0]


def start(
    kind: str, rows: Rows, settings: Settings, sizes: list[int], dtype: np.dtype, rng: np.random.Generator
) -> list[Array]:
    """Starting memberships of a kind; k-means looks at a sample of the rows where they are many."""
    c, m = rows.n_clusters, len(rows.origins)
    if kind == "random":
        return rows.place(starts.random(sizes, c, settings, rng, dtype))
    how = Sampling(sample=max(SAMPLE, SAMPLE_CLUSTER * c * m), task_sample=SAMPLE_CLUSTER * c)
    sample, positions = take_sample(rows, how, rng)
    labels = starts.start(kind, sample, c, replace(settings, membership="binary"), rng)
    return from_sample(rows, sample, positions, labels, c, settings)
