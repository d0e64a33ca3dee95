"""Scores of a clustering against known classes, for tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ._utils.tables import Table
from ._utils.tasks import encode_tasks

__all__ = ["clustering_accuracy", "joint_accuracy", "normalized_mutual_info_score", "task_scores"]


def clustering_accuracy(y: Any, labels: Any) -> float:
    """Share of rows that agree under the best one-to-one matching of clusters and classes (ACC).

    Parameters
    ----------
    y : array of shape (n,)
        True classes, numbers or strings.
    labels : array of shape (n,)
        Clusters. There may be more or fewer clusters than classes; unmatched ones count as wrong.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    counts = _counts(y, labels)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / counts.sum())


def joint_accuracy(y: Any, labels: Any, tasks: Any) -> float:
    """Share of rows that agree under one matching for all tasks, as a mean over tasks.

    It measures whether clusters correspond across tasks. Each task counts the same. The result is at most the mean of
    the tasks' own accuracies, and equal to it when cluster j means the same class in every task.

    Parameters
    ----------
    y, labels : arrays of shape (n,)
        True classes and clusters.
    tasks : sequence of n labels
        The task of each row.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> joint_accuracy([0, 1, 0, 1], [0, 1, 1, 0], tasks=["a", "a", "b", "b"])
    0.5
    """
    return float(np.mean(_joint(y, labels, tasks)[1]))


def task_scores(y: Any, labels: Any, tasks: Any = None) -> Table:
    """Scores by task.

    Parameters
    ----------
    y, labels : arrays of shape (n,)
        True classes and clusters.
    tasks : sequence of n labels, optional
        The task of each row. None: one task.

    Returns
    -------
    table : Table
        Columns `task`, `n`, `accuracy` (own matching), `nmi` (arithmetic normalisation) and `joint_accuracy` (the
        matching that is best for all tasks).

    Examples
    --------
    >>> print(task_scores([0, 1, 0, 1], [0, 1, 1, 0], tasks=["a", "a", "b", "b"]))
    task  n  accuracy    nmi  joint_accuracy
    a     2     1.000  1.000           1.000
    b     2     1.000  1.000           0.000
    """
    names, shares = _joint(y, labels, tasks)
    y, labels = _checked(y, labels)
    _, codes = encode_tasks(tasks, len(y))
    return Table.from_rows(
        {
            "task": name,
            "n": int(np.sum(codes == k)),
            "accuracy": clustering_accuracy(y[codes == k], labels[codes == k]),
            "nmi": float(normalized_mutual_info_score(y[codes == k], labels[codes == k])),
            "joint_accuracy": float(shares[k]),
        }
        for k, name in enumerate(names.tolist())
    )


def _counts(y: Any, labels: Any) -> Any:
    """Rows of each class in each cluster."""
    return contingency_matrix(*_checked(y, labels))


def _checked(y: Any, labels: Any) -> tuple[Any, Any]:
    """Classes and clusters as arrays of one length, without missing values."""
    y, labels = column_or_1d(y), column_or_1d(labels)
    check_consistent_length(y, labels)
    if not len(y):
        raise ValueError("y and labels are empty: at least one row is needed.")
    for name, values in (("y", y), ("labels", labels)):
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise ValueError(f"{name} contains NaN: every row needs a value.")
    return y, labels


def _joint(y: Any, labels: Any, tasks: Any) -> tuple[Any, Any]:
    """Tasks, and the share of each that agrees under the matching that is best for their mean."""
    y, labels = _checked(y, labels)
    names, codes = encode_tasks(tasks, len(y))
    classes, y_codes = np.unique(y, return_inverse=True)
    clusters, label_codes = np.unique(labels, return_inverse=True)
    shares = np.zeros((len(names), len(classes), len(clusters)))
    np.add.at(shares, (codes, y_codes, label_codes), 1)
    shares /= shares.sum(axis=(1, 2), keepdims=True)
    rows, columns = linear_sum_assignment(shares.sum(axis=0), maximize=True)
    return names, shares[:, rows, columns].sum(axis=1)
