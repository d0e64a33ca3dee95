"""The generated sets of the integration benchmark: tasks that lie apart, and tasks that hold different clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from ..datasets import TaskSet, make_multitask_blobs

ABSENT = (0.0, 0.2, 0.4, 0.6)  # shares of the clusters that each task lacks
OFFSETS = (0.0, 0.5, 1.0, 2.0, 3.0)  # in mean distances between clusters
BLOBS: dict[str, Any] = {"n_features": 10, "n_clusters": 6, "separation": 6.0}
DIFFERENT: dict[str, Any] = {"absent": 0.2, "offset": 0.5}  # of the sets outside the phase diagram


def cell(absent: float, offset: float) -> str:
    """Name of a set of the phase diagram."""
    return f"absent {absent:g} offset {offset:g}"


def _blobs(n_samples: Any = 150, n_tasks: int = 4, **options: Any) -> Callable[[int], TaskSet]:
    return lambda seed: make_multitask_blobs(
        n_samples, n_tasks=n_tasks, random_state=seed, **(BLOBS | DIFFERENT | options)
    )


def _one_unrelated(seed: int) -> TaskSet:
    """Three tasks with the same four clusters, and one with four others; all eight are classes."""
    options = BLOBS | {"n_clusters": 4}
    related = make_multitask_blobs(150, n_tasks=3, offset=0.5, random_state=seed, **options)
    other = make_multitask_blobs(150, n_tasks=1, random_state=seed + 1000, **options)
    return TaskSet(
        np.concatenate([related.X, other.X]), np.r_[related.y, other.y + 4], np.r_[related.tasks, other.tasks + 3]
    )


PHASE = {cell(absent, offset): _blobs(absent=absent, offset=offset) for absent in ABSENT for offset in OFFSETS}
OTHERS = {
    "unequal tasks": _blobs([50, 5000], n_tasks=2),
    "small tasks": _blobs(40, n_tasks=30),
    "one unrelated task": _one_unrelated,
    "outliers": _blobs(outliers=0.2),
    "correlated features": _blobs(correlation=0.8, scales=np.logspace(-1, 1, 10).tolist()),
}
SETS = OTHERS | PHASE


def linked(y: Any, tasks: Any) -> bool:
    """Whether all tasks hang together by pairs of tasks that have at least two classes in common.

    Otherwise the shift of some task cannot be told from what it holds.
    """
    _, k = np.unique(tasks, return_inverse=True)
    _, j = np.unique(y, return_inverse=True)
    holds = np.zeros((k.max() + 1, j.max() + 1), dtype=int)
    holds[k, j] = 1
    return connected_components(holds @ holds.T >= 2, directed=False)[0] == 1
