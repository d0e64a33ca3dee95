"""Starts of a search: k-means of each task and of all rows, where they lie, around the means of tasks, and scaled."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..core.arrays import Array
from ..core.relations import align
from .kmeans import kmeans_of_each
from .rows import Rows

NEIGHBORS = 5  # that predict a column
SPLITS = 4  # of the columns into those that find neighbours and those that are predicted
SEEN = 600  # rows that tell it, where there are more


def starting_labels(rows: Rows, n_clusters: int, n_init: int, rng: np.random.Generator) -> Array:
    """Return labels (R, n): of all rows where they lie, centred and scaled, and last of each task on its own, matched.

    Those of all rows also in coordinates in which the covariance within tasks is the identity, and with columns that
    count as much as neighbours in others predict them.
    """
    several = len(rows.sizes) > 1
    looks = [rows.Y, rows.apart] if several else [rows.Y]
    Ys = [*looks]
    if not rows.round:
        scaled = [rows.scaled.apart] if several else []
        Ys += [Y @ rows.whitener for Y in looks] + [part for Y in scaled for part in (Y, Y @ rows.scaled.whitener)]
        told = predicted(rows, rng)
        Ys += [Y * told for Y in looks + scaled]
    found = [one.labels for one in kmeans_of_each(Ys, [rows.u] * len(Ys), n_clusters, rng, n_init)]
    if several:
        Ys, us = ([values[part] for part in rows.parts] for values in (rows.Y, rows.u))
        own = np.concatenate([one.labels for one in kmeans_of_each(Ys, us, n_clusters, rng, n_init)])
        found.append(matched(rows, own, n_clusters))
    return np.stack(found)


def predicted(rows: Rows, rng: np.random.Generator) -> Array:
    """Estimate (d,) how much of each column neighbours in other columns predict: clusters show in several columns."""
    n, d = rows.Y.shape
    some = rng.choice(n, SEEN, replace=False) if n > SEEN else np.arange(n)
    Y = rows.apart[some] / np.sqrt(np.where(rows.within > 0, rows.within, 1))
    both, total = np.zeros(d), np.zeros(d)
    for _ in range(SPLITS if d > 1 and len(Y) > NEIGHBORS else 0):
        order = rng.permutation(d)
        for seen, told in ((order[: d // 2], order[d // 2 :]), (order[d // 2 :], order[: d // 2])):
            near = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(Y[:, seen])
            mean = Y[:, told][near.kneighbors(return_distance=False)].mean(axis=1)
            both[told] += np.sum(Y[:, told] * mean, axis=0)
            total[told] += np.sum(Y[:, told] ** 2, axis=0)
    found = np.clip(both / np.where(total > 0, total, 1), 0, None)
    return found if found.any() else np.ones(d)


def matched(rows: Rows, labels: Array, n_clusters: int) -> Array:
    """Renumber the clusters of each task so that they correspond, around the means of the tasks."""
    N, T = rows.sums(labels, n_clusters)
    T = T - N[..., None] * rows.means[:, None]
    orders = align(T / np.maximum(N, 1e-9)[..., None], N)
    found = labels.copy()
    for part, order in zip(rows.parts, orders, strict=True):
        found[part] = np.argsort(order)[labels[part]]
    return found
