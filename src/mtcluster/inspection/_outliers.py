"""Which rows are easy, hard or outliers, from their losses: ranks and multiples within their own task."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array


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
    """The loss of each row as a multiple of the usual one in its task: 1 is usual, 10 is far out.

    Examples
    --------
    >>> outlier_scores(np.array([1.0, 2.0, 20.0]), np.array([0, 0, 0])).tolist()
    [0.5, 1.0, 10.0]
    """
    found = np.ones(len(losses))
    for k in np.unique(task_indices):
        usual = usual_loss(losses[task_indices == k])
        if usual > 0:
            found[task_indices == k] = losses[task_indices == k].astype(np.float64) / usual
    return found


def usual_loss(losses: Array) -> float:
    """The median; the mean, where half of the rows or more fit exactly; 0, where all do."""
    values = losses.astype(np.float64)
    exact = 100 * np.finfo(losses.dtype).eps * values.max(initial=0)  # rounding leaves as much
    median = float(np.median(values))
    return median if median > exact else float(values.mean())
