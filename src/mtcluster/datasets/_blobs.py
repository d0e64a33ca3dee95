"""Gaussian clusters that several tasks share, as they are or with differences on request."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from ._task_set import Array, TaskSet


def make_multitask_blobs(
    n_samples: int | Sequence[int] = 100,
    n_features: int = 10,
    *,
    n_tasks: int = 3,
    n_clusters: int = 4,
    cluster_std: float = 1.0,
    separation: float = 6.0,
    task_shift: float = 1.0,
    balance: float = 1.0,
    outliers: float = 0.0,
    absent: float = 0.0,
    offset: float = 0.0,
    correlation: float = 0.0,
    scales: Sequence[float] | None = None,
    random_state: Any = None,
) -> TaskSet:
    """Gaussian clusters that several tasks share.

    Parameters
    ----------
    n_samples : int or sequence of n_tasks ints, default=100
        Number of rows of each task.
    n_features : int, default=10
        Number of features.
    n_tasks, n_clusters : int, default=3 and 4
        Numbers of tasks and of clusters.
    cluster_std : float, default=1.0
        Standard deviation of a cluster in each feature: the overlap, together with `separation`.
    separation : float, default=6.0
        Typical distance between two shared centres.
    task_shift : float, default=1.0
        Typical distance of a task's centre from the shared one, drawn independently for each cluster.
    balance : float in (0, 1], default=1.0
        Size of each cluster relative to the previous one; the order differs between tasks. 1: equal sizes.
    outliers : float in [0, 1), default=0.0
        Share of rows that are replaced by rows far from all clusters; their y is −1.
    absent : float in [0, 1), default=0.0
        Share of the clusters that each task lacks, rounded to whole clusters and drawn for each task. Each task keeps
        at least one cluster, and each cluster is in at least one task. `y` numbers the clusters of all tasks.
    offset : float, default=0.0
        Length of a shift of each task as a whole, in a direction of its own, in units of the mean distance between
        the shared centres. The same random state with another offset gives the same rows, shifted differently far.
    correlation : float in [0, 1), default=0.0
        Correlation of each two features within a cluster.
    scales : sequence of n_features floats, optional
        Factor of each feature, for features in unequal units. None: 1 for each.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.

    Returns
    -------
    task_set : TaskSet
        Rows in random order, tasks interleaved.

    Examples
    --------
    >>> X, y, tasks = make_multitask_blobs(n_samples=[50, 80], n_tasks=2, random_state=0)
    >>> X.shape
    (130, 10)
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=4, absent=0.5, random_state=0)
    >>> [sorted(set(y[tasks == k].tolist())) for k in range(2)]
    [[1, 3], [0, 2]]
    """
    _check_at_least(1, n_features=n_features, n_tasks=n_tasks, n_clusters=n_clusters)
    _check_at_least(0, cluster_std=cluster_std, separation=separation, task_shift=task_shift, offset=offset)
    _check_share(outliers=outliers, absent=absent, correlation=correlation)
    if not 0 < balance <= 1:
        raise ValueError(f"balance={balance} should be in (0, 1].")
    factors = _read_scales(scales, n_features)
    kept = _n_present(n_clusters, n_tasks, absent)
    sizes = _read_sizes(n_samples, n_tasks, kept)
    rng = check_random_state(random_state)
    shared = rng.normal(scale=separation / np.sqrt(2 * n_features), size=(n_clusters, n_features))
    clusters = _draw_clusters(n_clusters, n_tasks, kept, rng)
    Xs, ys = [], []
    for size, own in zip(sizes, clusters, strict=True):
        centers = shared + rng.normal(scale=task_shift / np.sqrt(n_features), size=shared.shape)
        shares = rng.permutation(balance ** np.arange(n_clusters))[own]
        y = own[np.r_[np.arange(kept), rng.choice(kept, size=size - kept, p=shares / shares.sum())]]
        X = centers[y] + _correlated(rng.normal(scale=cluster_std, size=(size, n_features)), correlation)
        strange = rng.permutation(size)[: int(outliers * size)]
        direction = _directions(rng, len(strange), n_features)
        X[strange] = centers.mean(axis=0) + direction * (3 * separation + 3 * cluster_std * np.sqrt(n_features))
        y[strange] = -1
        Xs.append(X)
        ys.append(y)
    order = rng.permutation(sum(sizes))
    tasks = np.repeat(np.arange(n_tasks), sizes)[order]
    X = np.concatenate(Xs)[order]
    if offset:  # drawn last, so that other offsets shift the same rows
        unit = pdist(shared).mean() if n_clusters > 1 else separation
        X += (offset * unit * _directions(rng, n_tasks, n_features))[tasks]
    return TaskSet(X * factors, np.concatenate(ys)[order], tasks, "blobs")


def _draw_clusters(n_clusters: int, n_tasks: int, kept: int, rng: np.random.RandomState) -> list[Array]:
    """The clusters of each task: all are dealt out once, then each task draws up to its number from the others."""
    if kept == n_clusters:
        return [np.arange(n_clusters)] * n_tasks
    dealt = rng.permutation(n_clusters)
    found = []
    for first in rng.permutation(n_tasks):
        own = dealt[first::n_tasks]
        others = rng.permutation(np.setdiff1d(np.arange(n_clusters), own))
        found.append(np.sort(np.r_[own, others[: kept - len(own)]]))
    return found


def _correlated(noise: Array, correlation: float) -> Array:
    """Independent columns of one variance → columns of the same variance, each two of which are correlated."""
    if not correlation:
        return noise
    d = noise.shape[1]
    along = noise.mean(axis=1, keepdims=True)
    low, high = np.sqrt(1 - correlation), np.sqrt(1 + (d - 1) * correlation)
    return low * (noise - along) + high * along


def _directions(rng: np.random.RandomState, n: int, n_features: int) -> Array:
    """Random vectors of length 1."""
    found = rng.normal(size=(n, n_features))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _n_present(n_clusters: int, n_tasks: int, absent: float) -> int:
    """Number of clusters of each task."""
    kept = max(1, n_clusters - round(absent * n_clusters))
    if kept * n_tasks < n_clusters:
        raise ValueError(
            f"absent={absent} leaves {kept} of n_clusters={n_clusters} to each task, so n_tasks={n_tasks} cannot hold "
            f"all of them: a share of at most {1 - -(-n_clusters // n_tasks) / n_clusters:.2f} is needed."
        )
    return kept


def _read_sizes(n_samples: Any, n_tasks: int, kept: int) -> list[int]:
    sizes: list[Any] = [n_samples] * n_tasks if isinstance(n_samples, Real) else list(n_samples)
    if len(sizes) != n_tasks:
        raise ValueError(f"n_samples has {len(sizes)} entries, but n_tasks={n_tasks}: one per task is needed.")
    if any(size != int(size) or size < kept for size in sizes):
        raise ValueError(f"n_samples={sizes} should be whole and at least {kept}, the number of clusters of a task.")
    return [int(size) for size in sizes]


def _read_scales(scales: Sequence[float] | None, n_features: int) -> Array:
    if scales is None:
        return np.ones(n_features)
    factors = np.asarray(scales, dtype=np.float64)
    if factors.shape != (n_features,) or not (np.isfinite(factors) & (factors > 0)).all():
        raise ValueError(f"scales={scales} should hold n_features={n_features} positive numbers.")
    return factors


def _check_at_least(least: int, **values: float) -> None:
    for name, value in values.items():
        if not value >= least:
            raise ValueError(f"{name}={value} should be at least {least}.")


def _check_share(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name}={value} should be in [0, 1).")
