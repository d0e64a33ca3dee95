"""Which rows are easy, hard or outliers, from their losses: ranks and multiples within their own task."""

from __future__ import annotations

import numpy as np

from .core.arrays import Array


def easiness(losses: Array, task_indices: Array) -> Array:
    """The share of a task's rows that fit no better than a row does: 1 for the easiest, near 0 for the hardest.

    Examples
    --------
    >>> easiness(np.array([1.0, 3.0, 2.0, 2.0]), np.array([0, 0, 0, 0])).tolist()
    [1.0, 0.25, 0.75, 0.75]
    """
    found = np.empty(len(losses))
    for k in np.unique(task_indices):
        own = losses[task_indices == k]
        found[task_indices == k] = 1 - np.searchsorted(np.sort(own), own, side="left") / len(own)
    return found


def outlier_scores(losses: Array, task_indices: Array) -> Array:
    """The loss of each row as a multiple of the usual one in its task, the median: 1 is usual, 10 is far out.

    Where half of a task's rows or more fit exactly, the usual loss is the mean; where all do, every row scores 1.

    Examples
    --------
    >>> outlier_scores(np.array([1.0, 2.0, 20.0]), np.array([0, 0, 0])).tolist()
    [0.5, 1.0, 10.0]
    """
    found = np.ones(len(losses))
    for k in np.unique(task_indices):
        own = losses[task_indices == k].astype(np.float64)
        usual = np.median(own) or own.mean()
        if usual > 0:
            found[task_indices == k] = own / usual
    return found
