"""Means and shares as they are counted in the rows, wherever a report tells them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import Subject
from .._words import rounded
from .columns import Columns


def count_means(subject: Subject, columns: Columns, features: dict[str, Any], least: int) -> None:
    """Replace centres of the fit in the descriptions of clusters by means of their rows, and of those of the others.

    The centres of a fit are drawn together and moved to the average location of the tasks, where no row need lie. The
    others are rows of the same tasks, weighted as those of the cluster. Means of fewer than `least` rows are left out.
    """
    readers = {feature.name: feature for feature in columns.features}
    counted: dict[str, tuple[Array, Array]] = {}
    for j, task, told in _told(features):
        if told["name"] not in readers:
            continue
        if told["name"] not in counted:
            counted[told["name"]] = _sums(subject, readers[told["name"]].read())
        n, sums = (values if task is None else values[task : task + 1] for values in counted[told["name"]])
        told["here"], told["rest"] = means_of(n, sums, j, least)


def means_of(n: Array, sums: Array, j: int, least: int = 1) -> tuple[float | None, float | None]:
    """Compute the mean of a cluster and that of the others, from counts and sums (m, c).

    Examples
    --------
    >>> n, sums = np.array([[2.0, 2.0], [0.0, 4.0]]), np.array([[2.0, 6.0], [0.0, 40.0]])
    >>> means_of(n, sums, 0), means_of(n, sums, 1)
    ((1.0, 3.0), (7.667, 1.0))
    """
    own, others = n[:, j], n.sum(axis=1) - n[:, j]
    rest = np.divide(sums.sum(axis=1) - sums[:, j], others, out=np.zeros(len(n)), where=others > 0)
    both = np.where(others > 0, own, 0)
    here = rounded([sums[:, j].sum() / own.sum()])[0] if own.sum() >= max(least, 1) else None
    if both.sum() and others[both > 0].min() >= least:
        return here, rounded([both @ rest / both.sum()])[0]
    total = others.sum()
    return here, rounded([(sums.sum() - sums[:, j].sum()) / total])[0] if total >= max(least, 1) else None


def _told(features: dict[str, Any]) -> Iterator[tuple[int, int | None, dict[str, Any]]]:
    """List what is told of each cluster, over all tasks and in each."""
    for cluster in features["clusters"]:
        yield from ((cluster["cluster"], None, told) for told in cluster["shared"])
        for part in cluster["tasks"]:
            yield from ((cluster["cluster"], part["task"], told) for told in part["features"])


def _sums(subject: Subject, values: Array) -> tuple[Array, Array]:
    """Count the rows of each task and cluster that have a value, and add these up, both (m, c)."""
    (m, c, _), rows = subject.shape, subject.rows
    some = np.isfinite(values) & (rows.labels >= 0)
    at = (rows.tasks * c + rows.labels)[some]
    n, sums = (np.bincount(at, weights=weights, minlength=m * c).reshape(m, c) for weights in (None, values[some]))
    return n.astype(np.float64), sums
