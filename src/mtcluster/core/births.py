"""Births: groups of rows that no cluster explains.

Rows are points in coordinates in which clusters are about round with variance 1 in each direction. A group opens a new
cluster if it is larger than the tails of the clusters would be, and if it stands apart from the rows of the nearest
cluster: two clusters then describe both shorter than one that moved. A group that lies farther from the nearest cluster
than the clusters lie from each other is new whatever became of that cluster.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import poisson

from .arrays import Array

# Shares of rows that are hardly explained though they belong to a cluster: at the first, small groups far away are
# looked for, at the second, larger ones whose rows overlap with clusters.
RATES = (0.01, 0.05)
SURE = 0.999  # probability with which the tails hold fewer rows than a group
LEAST_BORN = 5  # rows of a group
BIRTH_ROUNDS = 10  # of a group and its centre in turn


def find_birth(
    Y: Array, u: Array, tasks: Array, losses: Array, labels: Array, centers: Array, limits: Array
) -> Array | None:
    """Tell which rows (n,) form a new cluster; None: there is none.

    Y (n, q) are the rows, u their weights, `losses` their squared distances from the centres (c, q) of their `labels`,
    and `limits` the squared distances that all but a share `RATES` of the rows of clusters have. Centres that are not
    finite have died.
    """
    for rate, limit in zip(RATES, limits.tolist(), strict=True):
        group = _at_rate(Y, u, tasks, losses, labels, centers, rate, limit)
        if group is not None:
            return group
    return None


def _at_rate(
    Y: Array, u: Array, tasks: Array, losses: Array, labels: Array, centers: Array, rate: float, limit: float
) -> Array | None:
    """Make a group among the rows beyond one of the limits."""
    far, n = (losses > limit) & (u > 0), np.count_nonzero(u > 0)
    least = max(LEAST_BORN, float(poisson.ppf(SURE, rate * n)) + 1)
    while np.count_nonzero(far) >= least:
        group = _densest(Y, far, limit)
        if np.count_nonzero(group) >= least and _apart(Y, u, tasks, labels, centers, group):
            return group
        far = far & ~group
        if not group.any():
            break
    return None


def _apart(Y: Array, u: Array, tasks: Array, labels: Array, centers: Array, group: Array) -> bool:
    """Whether a group is more than a part of the nearest cluster, which may have moved in the tasks of the group."""
    nearest = int(np.bincount(labels[group], minlength=len(centers)).argmax())
    if _is_far(Y[group], centers, nearest):
        return True
    names, counts = np.unique(tasks[group], return_counts=True)
    own = np.isin(tasks, names[counts >= min(LEAST_BORN, counts.max())])
    others = (labels == nearest) & ~group & (u > 0) & own
    price = _price(group, others, Y.shape[1], int(np.count_nonzero(u > 0)), len(centers))
    return _gain(Y[group], Y[others]) > price


def _densest(Y: Array, far: Array, limit: float) -> Array:
    """Compute (n,) the rows around the place where most of those that are far from all clusters lie."""
    some = Y[far]
    apart = np.sum(some**2, axis=1)[:, None] + np.sum(some**2, axis=1) - 2 * some @ some.T
    middle = some[np.argmax(np.sum(apart <= 2 * limit, axis=1))]
    group = far
    for _ in range(BIRTH_ROUNDS):
        found = far & (np.sum((Y - middle) ** 2, axis=1) <= limit)
        if not found.any() or np.array_equal(found, group):
            return found
        group, middle = found, Y[found].mean(axis=0)
    return group


def _is_far(own: Array, centers: Array, nearest: int) -> bool:
    """Tell whether rows lie farther from a centre than the other centres do."""
    usable: Array = np.asarray(np.isfinite(centers).all(axis=1))
    usable[nearest] = False
    if not usable.any():
        return False
    room = np.min(np.sum((centers[usable] - centers[nearest]) ** 2, axis=1))
    return bool(np.sum((own.mean(axis=0) - centers[nearest]) ** 2) > room)


def _gain(a: Array, b: Array) -> float:
    """Tell by how much two centres lower the sum of squares of the rows of two groups."""
    if not len(b):
        return 0.0
    return float(len(a) * len(b) / (len(a) + len(b)) * np.sum((a.mean(axis=0) - b.mean(axis=0)) ** 2))


def _price(group: Array, others: Array, d: int, n: int, c: int) -> float:
    """Return twice the nats of one more centre, in the space of all centres, and of telling which rows are its own."""
    a, b = np.count_nonzero(group), np.count_nonzero(others)
    shares = np.array([a, b]) / max(a + b, 1)
    shares = shares[shares > 0]
    return float(min(d + 1, c + 1) * np.log(max(n, 2)) - 2 * (a + b) * np.sum(shares * np.log(shares)))
