"""Easy rows, hard rows and outliers: ranks and multiples of the losses within each task."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array


def easiness(losses: Array, task_indices: Array) -> Array:
    """Rank the rows of each task by their loss.

    Parameters
    ----------
    losses : array of shape (n,)
        Loss of each row, such as `model.losses_`.
    task_indices : array of shape (n,)
        Task of each row, such as `model.fitted_.rows.tasks`.

    Returns
    -------
    easiness : array of shape (n,)
        Share of the rows of the same task whose loss is at least as large: 1 for the easiest row, near 0 for the
        hardest.

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
    """Compare the loss of each row with the typical loss of its task.

    Parameters
    ----------
    losses : array of shape (n,)
        Loss of each row, such as `model.losses_`.
    task_indices : array of shape (n,)
        Task of each row, such as `model.fitted_.rows.tasks`.

    Returns
    -------
    scores : array of shape (n,)
        Loss divided by the median loss of the task: 1 is typical, 10 is far out. Where at least half of the rows of a
        task have no loss, the mean takes the place of the median; where no row has any, all scores are 1.

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
    """Take the median loss; the mean where at least half of the losses are zero but for rounding."""
    values = losses.astype(np.float64)
    rounding = 100 * np.finfo(losses.dtype).eps * values.max(initial=0)
    median = float(np.median(values))
    return median if median > rounding else float(values.mean())
