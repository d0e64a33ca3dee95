"""k-means of weighted rows, where it starts a search."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array

FEW_ITERATIONS = 12  # where clusters need not be found to the end


def kmeans(
    Y: Array, u: Array | None, n_clusters: int, rng: np.random.Generator, n_init: int = 3, *, short: bool = False
) -> KMeans:
    """Fit k-means to rows of weights u (n,), or all alike; of fewer distinct rows than clusters it says nothing."""
    seed, most = int(rng.integers(2**31)), FEW_ITERATIONS if short else 300
    if u is None or np.count_nonzero(u) < n_clusters:
        u = np.ones(len(Y))
    model = KMeans(min(n_clusters, len(Y)), n_init=n_init, max_iter=most, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(Y, sample_weight=u)
