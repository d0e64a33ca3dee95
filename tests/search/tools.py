"""Small data sets in tasks."""

import numpy as np


def blobs(n=60, d=4, c=3, m=3, separation=8.0, offset=0.0, seed=0):
    """Rows, their tasks and clusters: round clusters, the nearest two `separation` apart."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(c, d))
    near = min(np.linalg.norm(centers[i] - centers[j]) for i in range(c) for j in range(i))
    labels, tasks = np.tile(np.arange(c), m * n // c), np.repeat(np.arange(m), n)
    shift = offset * rng.normal(size=(m, d))
    return rng.normal(size=(m * n, d)) + centers[labels] * separation / near + shift[tasks], tasks, labels


def by_task(values, tasks):
    return [values[tasks == k] for k in np.unique(tasks)]
