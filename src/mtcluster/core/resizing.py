"""Labels with another number of clusters: the nearest clusters are joined, the widest are cut in two."""

from __future__ import annotations

import numpy as np

from .arrays import Array


def resized(Ys: list[Array], us: list[Array], labels: list[Array], n_clusters: int) -> list[Array]:
    """Labels of the rows Ys of each task, with weights us, as exactly so many clusters from 0, as far as rows differ.

    Two clusters are joined that raise the sum of squares within clusters the least (Ward); the one with the largest sum
    of squares is cut at its mean, along the direction in which it is widest.
    """
    Y, u = np.concatenate(Ys).astype(np.float64), np.concatenate(us).astype(np.float64)
    found = np.unique(np.concatenate(labels), return_inverse=True)[1].reshape(-1)
    while found.max(initial=0) + 1 > n_clusters:
        found = _joined(Y, u, found)
    while found.max(initial=0) + 1 < n_clusters:
        before, found = found, _cut(Y, u, found)
        if found is before:
            break
    return np.split(found, np.cumsum([len(own) for own in labels])[:-1])


def _means(Y: Array, u: Array, labels: Array) -> tuple[Array, Array]:
    sizes = np.maximum(np.bincount(labels, weights=u), np.finfo(np.float64).tiny)
    hot = labels == np.arange(len(sizes))[:, None]
    return sizes, (hot * u) @ Y / sizes[:, None]


def _joined(Y: Array, u: Array, labels: Array) -> Array:
    n, means = _means(Y, u, labels)
    apart = np.sum((means[:, None] - means) ** 2, axis=2) * n[:, None] * n / (n[:, None] + n)
    np.fill_diagonal(apart, np.inf)
    a, b = sorted(np.unravel_index(np.argmin(apart), apart.shape))
    labels = np.where(labels == b, a, labels)
    return labels - (labels > b)


def _cut(Y: Array, u: Array, labels: Array) -> Array:
    """The same labels, if no cluster has two different rows."""
    means = _means(Y, u, labels)[1]
    rest = Y - means[labels]
    squares = np.bincount(labels, weights=u * np.sum(rest**2, axis=1))
    widest = int(np.argmax(squares))
    own = rest[labels == widest]
    across = own @ np.linalg.svd(own, full_matrices=False)[2][0]
    side = across > 0
    if not squares[widest] > 0 or not side.any() or side.all():
        return labels
    found = labels.copy()
    found[np.flatnonzero(labels == widest)[side]] = labels.max() + 1
    return found
