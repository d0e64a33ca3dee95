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
    others are rows of the same tasks, weighted as those of the cluster; differences are in units of the spread within
    clusters. Means of fewer than `least` rows are left out.
    """
    readers = {feature.name: feature for feature in columns.features}
    counted: dict[str, tuple[Array, Array, float]] = {}
    for j, task, own in _told(features):
        for told in own:
            name = told["name"]
            if name not in readers:
                continue
            if name not in counted:
                counted[name] = _sums(subject, readers[name].read())
            n, sums, spread = counted[name]
            n, sums = (values if task is None else values[task : task + 1] for values in (n, sums))
            told["here"], told["rest"] = here, rest = means_of(n, sums, j, least)
            if here is not None and rest is not None and spread > 0:
                told["difference"] = rounded([(here - rest) / spread])[0]
        own.sort(key=lambda told: (told["difference"] < 0, -abs(told["difference"])))


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


def _told(features: dict[str, Any]) -> Iterator[tuple[int, int | None, list[dict[str, Any]]]]:
    """List what is told of each cluster, over all tasks and in each."""
    for cluster in features["clusters"]:
        yield cluster["cluster"], None, cluster["shared"]
        yield from ((cluster["cluster"], part["task"], part["features"]) for part in cluster["tasks"])


def _sums(subject: Subject, values: Array) -> tuple[Array, Array, float]:
    """Count the rows of each task and cluster that have a value, add these up, both (m, c); and the spread within."""
    (m, c, _), rows = subject.shape, subject.rows
    some = np.isfinite(values) & (rows.labels >= 0)
    at, values = (rows.tasks * c + rows.labels)[some], values[some]
    n, sums = (np.bincount(at, weights=weights, minlength=m * c) for weights in (None, values))
    within = float(np.sum((values - (sums / np.maximum(n, 1))[at]) ** 2))
    spread = np.sqrt(within / max(len(values) - int(np.count_nonzero(n)), 1)) or float(
        values.std() if len(values) else 0.0
    )
    return n.astype(np.float64).reshape(m, c), sums.reshape(m, c), float(spread)
