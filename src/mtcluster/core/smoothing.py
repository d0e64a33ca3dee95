"""Wide rows in a few directions, and moved towards their neighbours, where clusters are easier to tell apart."""

from __future__ import annotations

import numpy as np

from .arrays import Array, Matrix, is_sparse
from .centers import centers_of

DIRECTIONS = 50  # in which wide rows are seen
DIRECTION_NUMBERS, FEWEST_DIRECTIONS = 2**18, 10  # numbers of these directions, and how many there are at least
SMOOTHING_NEIGHBORS, SMOOTHING_STEPS = 5, 2  # as candidates for wide rows have it
SMOOTHED_ITER = 10
MOST_PRODUCTS = 2**22  # distances that are compared at a time


def directions(X: Matrix, centers: Array) -> Array:
    """(d, at most DIRECTIONS + c) the leading directions of the rows around their mean, and those of the centres."""
    n, d = X.shape
    mean = np.asarray(X.mean(axis=0)).reshape(1, -1)
    most = max(DIRECTION_NUMBERS // d, FEWEST_DIRECTIONS)
    V = np.random.default_rng(0).standard_normal((d, min(DIRECTIONS, n, most)))
    for _ in range(3):
        U = np.linalg.qr(X @ V - mean @ V)[0]
        V = np.linalg.qr(X.T @ U - mean.T @ U.sum(axis=0)[None])[0]
    return np.linalg.qr(np.concatenate([V, centers.T - mean.T], axis=1))[0]


def distances(Y: Array, points: Array) -> Array:
    """Compute (points, n) squared distances."""
    found = np.sum(Y * Y, axis=1) - 2 * points @ Y.T + np.sum(points * points, axis=1)[:, None]
    return np.maximum(found, 0, out=found)


def smoothed(Y: Array) -> Array:
    """Return rows moved half way to the mean of their neighbours, SMOOTHING_STEPS times."""
    k = min(SMOOTHING_NEIGHBORS, len(Y) - 1)
    if k < 1:
        return Y
    near = []
    for first in range(0, len(Y), max(MOST_PRODUCTS // len(Y), 1)):
        part = slice(first, first + max(MOST_PRODUCTS // len(Y), 1))
        D = distances(Y, Y[part])
        D[np.arange(len(D)), np.arange(first, first + len(D))] = np.inf
        near.append(np.argpartition(D, k - 1, axis=1)[:, :k])
    at = np.concatenate(near)
    for _ in range(SMOOTHING_STEPS):
        Y = 0.5 * Y + 0.5 * Y[at].mean(axis=1)
    return Y


def smoothed_centers(X: Matrix, u: Array, placed: Array, share: float) -> Array:
    """Get (c, d) means of rows by their labels after smoothing; those of clusters without rows are `placed` (c, d)."""
    V, c = directions(X, placed), len(placed)
    Y, u = smoothed(np.asarray(X @ V, dtype=np.float64)), np.asarray(u, dtype=np.float64)
    P = E = placed @ V
    for _ in range(SMOOTHED_ITER):
        F = (distances(Y, E).argmin(axis=0) == np.arange(c)[:, None]) * u
        E = P + share * (centers_of(F.sum(axis=1), F @ Y, P) - P)
    T = (X.T @ F.T).T if is_sparse(X) else F @ X
    return centers_of(F.sum(axis=1), np.asarray(T, dtype=np.float64), placed)
