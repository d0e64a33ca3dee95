"""Small data sets."""

import numpy as np


def blobs(centers, size, seed=0, scale=1.0):
    """So many rows around each centre, and their labels."""
    centers = np.asarray(centers, dtype=float)
    y = np.repeat(np.arange(len(centers)), size)
    return centers[y] + scale * np.random.default_rng(seed).normal(size=(len(y), centers.shape[1])), y
