"""Sparse rows stay sparse."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from mtcluster import LSSMTC, SPMTC, Schedule


def wide_rows(n=3000, d=60_000, per_row=30):
    rng = np.random.default_rng(0)
    indices = rng.integers(d, size=(n, per_row))
    indices.sort(axis=1)
    return sparse.csr_matrix(
        (rng.random(n * per_row), indices.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, d)
    )


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
def test_sparse_rows_are_never_made_dense(membership):
    X, tasks = wide_rows(), np.arange(3000) % 3
    tracemalloc.start()
    model = SPMTC(4, membership=membership, n_init=1, max_iter=2, pace=Schedule(warmup_iter=2), random_state=0).fit(
        X, tasks=tasks
    )
    model.predict(X, tasks=tasks)
    model.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    dense = 8 * X.shape[0] * X.shape[1]
    assert peak < dense / 10


@pytest.mark.slow
def test_the_memory_beyond_the_data_grows_with_rows_and_clusters_not_with_their_product_with_features():
    X, peaks = np.random.default_rng(0).normal(size=(40_000, 100)), []
    for part in (X[:20_000], X):
        tracemalloc.start()
        LSSMTC(5, n_init=1, max_iter=3, random_state=0).fit(part)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < X.nbytes  # what a consensus needs does not grow with the rows
    assert peaks[1] - peaks[0] < (X.nbytes / 2) / 10
