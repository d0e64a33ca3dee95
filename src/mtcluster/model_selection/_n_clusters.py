"""Choosing the number of clusters without labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .._utils.tables import Table
from ..consensus import Consensus
from ..consensus.embedding import Embedding
from ..consensus.members import SEEDED, TRIAL_ITER, blocks_of, leading, matched, sorted_by_task
from ..core.arrays import Array
from ..core.blocks import Blocks
from ..core.centers import Centers
from ..core.jobs import weighted_sums
from ..core.kmeans import seeds
from ..core.matching import adjusted_rand
from ..core.model import Model, State
from ..core.solver import alternate, first_state, race, state_at
from ..engines import Engine
from ..estimators._validation import open_rows

__all__ = ["Selection", "select_n_clusters"]

SPLITS = 5  # of the rows into halves
SEEDINGS, STARTS = 6, 2  # of each kind for each fit on a half, and those of them that are tried
MAX_ITER, TOL = 50, 1e-4
WITHIN_WEIGHT = 0.5  # λ1 of these fits
CLEAR = 0.5  # stability that some number of clusters must reach
AS_GOOD = 0.9  # of the highest stability counts as the highest
WORTH = 0.02  # of what is explained, that one more cluster must add


@dataclass(frozen=True)
class Selection:
    """What `select_n_clusters` found.

    Attributes
    ----------
    table : Table
        A row for each number of clusters: `n_clusters`, `stability` (mean over splits), `error` (its standard error),
        `explained` (share of the variance within tasks that the clusters of the other half explain).
    n_clusters : int or None
        The suggestion; None if there is no clear structure.
    reason : str
        The suggestion in words.
    """

    table: Table
    n_clusters: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.table}\n\n{self.reason}"

    def plot(self, ax: Any = None) -> Any:
        """Stability by number of clusters, the suggestion marked.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. None: new axes.

        Returns
        -------
        ax : matplotlib axes
            With the drawing.
        """
        from ..plotting import plot_selection

        return plot_selection(self, ax, clear=CLEAR)


class _Reader(BaseEstimator):
    """An estimator that records the features of X."""


def select_n_clusters(
    X: Any,
    *,
    tasks: Any = None,
    n_clusters: Iterable[int] | int = range(2, 11),
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Selection:
    """Choose the number of clusters that the tasks have together, by stability.

    The rows of each task are split into halves several times. Each half is clustered, all tasks together, in the
    embedding that the consensus of `SPMTC` uses, and its centres label the other half. The stability of a number of
    clusters is the adjusted Rand index between these labels and the other half's own clusters. Merging well separated
    clusters is stable too, so the largest number is suggested that is about as stable as the best (within 10 %), as
    long as the last cluster explains at least 2 % more of the other half. No number is suggested if none reaches a
    stability of 0.5.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
        The rows of all tasks, or one item per task.
    tasks : sequence of n hashable labels, optional
        The task of each row of X. None: one task.
    n_clusters : iterable of int, default=range(2, 11)
        The numbers of clusters to compare, each at least 2.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of splits that run at the same time, in threads. It does not change the result.

    Returns
    -------
    selection : Selection
        The table, the suggestion and its reason; `selection.plot()` draws it.

    Examples
    --------
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.model_selection import select_n_clusters
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=3, random_state=0)
    >>> select_n_clusters(X, tasks=tasks, n_clusters=range(2, 6), random_state=0).n_clusters
    3
    """
    numbers = _read_numbers(n_clusters)
    rng = check_random_state(random_state)
    with open_rows(_Reader(), X, tasks, reset=True, sample_weight=sample_weight) as engine:
        found = _embedding(engine, numbers, rng)
    _check_rows(numbers, min(map(len, found.Ys)))
    seeds = rng.randint(np.iinfo(np.int32).max, size=SPLITS)
    splits = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(_split)(found, numbers, seed) for seed in seeds)
    values = np.array(splits)  # (splits, numbers, 2)
    stability, explained = values[:, :, 0].mean(axis=0), values[:, :, 1].mean(axis=0)
    error = values[:, :, 0].std(axis=0, ddof=1) / np.sqrt(SPLITS)
    table = Table(n_clusters=numbers, stability=stability.tolist(), error=error.tolist(), explained=explained.tolist())
    return Selection(table, *_suggest(numbers, stability, explained))


def _read_numbers(n_clusters: Any) -> list[int]:
    try:
        given = [n_clusters] if isinstance(n_clusters, Integral) else list(n_clusters)
    except TypeError as error:
        raise ValueError(f"n_clusters={n_clusters!r} should be whole numbers such as range(2, 11).") from error
    if not given or not all(isinstance(c, Integral) and int(c) >= 2 for c in given):
        raise ValueError(f"n_clusters={given} should be whole numbers of at least 2, at least one of them.")
    return sorted({int(c) for c in given})


def _check_rows(numbers: list[int], smallest: int) -> None:
    if 2 * numbers[-1] > smallest:
        most = smallest // 2
        instead = f"give n_clusters=range(2, {most + 1}) at most, or leave" if most >= 2 else "leave"
        raise ValueError(
            f"n_clusters up to {numbers[-1]} needs {2 * numbers[-1]} rows that count in each task, twice as many as "
            f"clusters, but the smallest task has {smallest}: {instead} that task out."
        )


def _embedding(rows: Engine, numbers: list[int], rng: np.random.RandomState) -> Embedding:
    """The rows as the members of the consensus of `SPMTC` see them."""
    how = Consensus()
    middle = min(numbers[len(numbers) // 2], min(rows.sizes))
    offset, _, embedder = how.locate(rows, middle, rng)
    seed = rng.randint(np.iinfo(np.int32).max)
    embedder = embedder or how.embedder(rows, (seed, seed))
    return embedder.embedding(offset).downweighted(how.distant_neighbor, how.distant)


def _split(found: Embedding, numbers: list[int], seed: int) -> list[tuple[float, float]]:
    """For each number of clusters, the agreement between halves and the variance that the other half explains."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(Y)) for Y in found.Ys]
    halves = [
        Blocks(
            blocks_of(
                [Y[order[part::2]] for Y, order in zip(found.Ys, orders, strict=True)],
                [u[order[part::2]] for u, order in zip(found.us, orders, strict=True)],
                found.unit,
            )
        )
        for part in (0, 1)
    ]
    fits = [_fits(half, numbers, rng) for half in halves]
    values = [_compare(halves[own], numbers, fits[own], fits[1 - own].centers) for own in (0, 1)]
    return [(float(stability), float(explained)) for stability, explained in np.mean(values, axis=0)]


def _fits(rows: Blocks, numbers: list[int], rng: np.random.Generator) -> State:
    """For each number of clusters the best of several fits: all of them side by side, from the same seeds."""
    m, most, n = len(rows.origins), numbers[-1], len(numbers)
    present = np.arange(most) < np.array(numbers)[:, None]
    together, apart = (Model(most, lam, most, present=np.repeat(present, SEEDINGS, axis=0)) for lam in (0.0, 1.0))
    Z = np.tile(seeds(rows.place.blocks, most, None, rng, SEEDINGS, SEEDED), (n, 1, 1))
    found = alternate(
        rows, together, state_at(rows, together, Z, together.placed_points(Z, m)), max_iter=TRIAL_ITER, tol=TOL
    )
    starts = [[P[run] for P in found.state.Ps] for run in leading(np.array(found.final), n, STARTS)]
    if m > 1:
        own = [np.tile(seeds([b], most, None, rng, SEEDINGS, SEEDED), (n, 1, 1)) for b in rows.place.blocks]
        state = state_at(rows, apart, own[0], np.stack(own, axis=1))
        state = alternate(rows, apart, state, max_iter=TRIAL_ITER, tol=TOL).state
        labels = sorted_by_task(rows, state, n, STARTS)
        starts += matched(rows, Model(most, 1.0, most), labels, np.repeat(numbers, STARTS).tolist())
    entries = np.resize(np.repeat(np.arange(n), STARTS), len(starts))
    trial = Model(most, WITHIN_WEIGHT, most, present=present[entries])
    best = race(rows, trial, first_state(rows, trial, starts), entries, max_iter=TRIAL_ITER, tol=TOL)
    model = Model(most, WITHIN_WEIGHT, most, present=present)
    return alternate(rows, model, best.state, max_iter=MAX_ITER, tol=TOL).state


def _compare(rows: Blocks, numbers: list[int], own: State, centers: Centers) -> list[tuple[float, float]]:
    """For each number of clusters how well the centres of the other half label these rows, and explain them."""
    present = np.arange(numbers[-1]) < np.array(numbers)[:, None]
    model = Model(numbers[-1], WITHIN_WEIGHT, numbers[-1], present=present)
    other = state_at(rows, model, centers.Z, centers.Ms)
    ours, theirs = (np.concatenate(state.Ps, axis=1) for state in (own, other))
    total = sum(
        float(b.u @ np.sum((b.X - np.average(b.X, axis=0, weights=_positive(b.u))) ** 2, axis=1))
        for b in rows.place.blocks
    )
    left = rows.apply(weighted_sums, other.Ls)[-1].sum(axis=0)
    explained = 1 - left / total if total > 0 else np.zeros(len(numbers))
    return [(adjusted_rand(a, b), value) for a, b, value in zip(ours, theirs, explained, strict=True)]


def _positive(u: Array) -> Array:
    return u if u.sum() > 0 else np.ones_like(u)


def _suggest(numbers: list[int], stability: Array, explained: Array) -> tuple[int | None, str]:
    best = float(stability.max())
    if best < CLEAR:
        return None, (
            f"No clear structure: the highest stability is {best:.2f} ({numbers[int(stability.argmax())]} clusters), "
            f"below {CLEAR:g}. Halves of the data do not lead to the same clusters, whatever their number."
        )
    if explained.max() <= 0:
        return None, "No clear structure: clusters explain nothing, the rows of each task are all alike."
    gains = np.diff(explained) / np.diff(numbers)
    worth = np.r_[True, gains > WORTH * np.maximum(explained[1:], 0)]
    worth[int(stability.argmax())] = True
    chosen = max(c for c, value, ok in zip(numbers, stability, worth, strict=True) if ok and value >= AS_GOOD * best)
    value = float(stability[numbers.index(chosen)])
    if value == best:
        reason = f"{chosen} clusters: the halves of the data agree best on them (stability {value:.2f})."
    else:
        reason = f"{chosen} clusters: about as stable ({value:.2f}) as the best ({best:.2f}), and they explain more."
    return chosen, reason + (" It is the largest number compared: try larger ones." if chosen == numbers[-1] else "")
