"""Stability of clusters under restarts: the same fit with other seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._sklearn_compat import safe_indexing
from .._utils.tasks import as_parts, encode_tasks
from ..consensus import shared_embeddings
from ..core.arrays import Array, host
from ..core.matching import renumber
from ..core.sampling import Sampling, draw_by_task
from ..estimators._baselines import PerTask

__all__ = ["Stability", "restart_stability"]

LEAST = 100  # rows of each task, where it has as many


@dataclass(frozen=True)
class Stability:
    """What `restart_stability` found.

    Attributes
    ----------
    agreement : float
        Share of the rows that get the same cluster again, after clusters are matched; mean over restarts.
    n_restarts : int
        Number of restarts.
    n_rows : int
        Number of rows that were compared.
    clusters : list of float
        For each cluster, the Jaccard index with the cluster that it is matched with, averaged over restarts.
    tasks : list of float
        Agreement in each task.
    """

    agreement: float
    n_restarts: int
    n_rows: int
    clusters: list[float]
    tasks: list[float]


def restart_stability(
    model: Any,
    X: Any,
    *,
    tasks: Any = None,
    n_restarts: int = 5,
    max_rows: int = 3000,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Stability:
    """Fit a model again with other seeds, and count the rows that get the same cluster.

    With more than `max_rows` rows the restarts use a sample of them, so that the result also tells how much the
    clusters depend on the rows at hand.

    Parameters
    ----------
    model : estimator
        Fitted on X and tasks; it is not changed.
    X : array, sparse matrix or data frame of shape (n, d)
        The rows that it was fitted on.
    tasks : sequence of n labels, optional
        The task of each row.
    n_restarts : int, default=5
        Number of restarts.
    max_rows : int, default=3000
        Rows of a restart, or a few more: every task keeps at least 100, if it has as many.
    random_state : int, RandomState or None, default=0
        Seeds of the sample and of the fits.
    n_jobs : int, default=None
        Restarts that run at the same time, in threads.

    Returns
    -------
    stability : Stability
        Agreement over all rows, by cluster and by task.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.model_selection import restart_stability
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, separation=20, random_state=0)
    >>> model = SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks)
    >>> restart_stability(model, X, tasks=tasks, n_restarts=2).agreement
    1.0
    """
    check_is_fitted(model)
    if not has_fit_parameter(model, "tasks"):
        raise TypeError(
            f"model is {type(model).__name__}, which takes no tasks: use an estimator of mtcluster, such as "
            f"Pooled({type(model).__name__}(...))."
        )
    if as_parts(X, "X") is not None:
        raise TypeError("X must be one matrix or data frame, with tasks saying which row belongs where.")
    if n_restarts < 1 or max_rows < 1:
        raise ValueError(f"n_restarts={n_restarts} and max_rows={max_rows} should be at least 1.")
    labels = host(model.labels_)
    names, codes = encode_tasks(tasks, len(labels))
    rng = check_random_state(random_state)
    least = max(LEAST, 2 * len(np.unique(labels)))
    rows = _sample(codes, len(names), Sampling(max_rows, least), rng)
    some, own, at = safe_indexing(X, rows), labels[rows], codes[rows]
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_restarts)
    with shared_embeddings():
        again = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(_fit_again)(model, some, None if tasks is None else names[at], seed) for seed in seeds
        )
    first = min(int(found.min()) for found in (own, *again))  # −1 where there is noise
    own, again = own - first, [found - first for found in again]
    c = max(int(found.max()) for found in (labels - first, *again)) + 1
    apart = at if isinstance(model, PerTask) else np.zeros_like(at)  # numbers of clusters mean something in each alone
    matched = [_matched(found, own, apart, c) for found in again]
    return Stability(
        float(np.mean([found == own for found in matched])),
        n_restarts,
        len(rows),
        [
            float(np.mean([_overlap(found == j, own == j) for found in matched]))
            for j in range(-first if first < 0 else 0, c)
        ],
        [float(np.mean([np.mean((found == own)[at == k]) for found in matched])) for k in range(len(names))],
    )


def _sample(codes: Array, n_tasks: int, how: Sampling, rng: np.random.RandomState) -> Array:
    owns = [np.flatnonzero(codes == k) for k in range(n_tasks)]
    picked = draw_by_task([len(own) for own in owns], how, rng)
    return np.sort(np.concatenate([own[at] for own, at in zip(owns, picked, strict=True)]))


def _fit_again(model: Any, X: Any, tasks: Array | None, seed: int) -> Array:
    fresh = clone(model)
    fresh._draws_map = False  # nobody draws it
    names = [name for name in fresh.get_params() if name.split("__")[-1] == "random_state"]
    return host(fresh.set_params(**dict.fromkeys(names, int(seed))).fit(X, tasks=tasks).labels_)


def _matched(found: Array, own: Array, apart: Array, c: int) -> Array:
    """Labels under the numbers that agree best with others, one matching for each part."""
    out = np.empty_like(found)
    for part in np.unique(apart):
        at = apart == part
        out[at] = renumber(found[at], np.eye(c)[own[at]])
    return out


def _overlap(a: Array, b: Array) -> float:
    either = np.count_nonzero(a | b)
    return np.count_nonzero(a & b) / either if either else 1.0
