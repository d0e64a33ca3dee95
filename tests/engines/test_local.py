"""Threads and pieces change nothing but the time."""

import threading
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_info

from mtcluster import LSSMTC, SPMTC
from mtcluster.core import arrays
from mtcluster.core import blocks as core_rows
from mtcluster.core.arrays import Picked, pieces
from mtcluster.engines import local


@pytest.fixture
def many():
    """Rows enough for several pieces, tasks in any order."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=6000)
    return rng.normal(size=(4, 40))[y] + rng.normal(size=(6000, 40)), rng.integers(3, size=6000)


def fitted(X, tasks, **parameters):
    return SPMTC(4, **{"within_weight": 0.5, "n_init": 1, "random_state": 0, **parameters}).fit(X, tasks=tasks)


@pytest.mark.slow
@pytest.mark.parametrize("as_matrix", [np.asarray, np.asfortranarray, lambda X: sparse.csr_matrix(np.maximum(X, 0))])
@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
def test_results_do_not_depend_on_the_number_of_threads(many, as_matrix, membership, monkeypatch):
    X, tasks = as_matrix(many[0]), many[1]
    found = []
    monkeypatch.setattr(core_rows, "WORTH_THREADS", 0)
    monkeypatch.setattr(core_rows, "PIECE", 2**12)
    for n_threads in (1, 2, 3, 16):
        monkeypatch.setattr(local, "openmp_threads", lambda n=n_threads: n)
        found.append(fitted(X, tasks, membership=membership, max_iter=5))
    for other in found[1:]:
        for name in ("labels_", "losses_", "task_centers_", "cluster_centers_"):
            assert_array_equal(getattr(other, name), getattr(found[0], name), err_msg=name)


def test_results_do_not_depend_on_the_size_of_pieces(many, monkeypatch):
    whole = fitted(*many)
    monkeypatch.setattr(core_rows, "PIECE", 2**12)
    monkeypatch.setattr(arrays, "MOST_ROWS", 64)
    parts = fitted(*many)
    assert_array_equal(parts.labels_, whole.labels_)
    assert_allclose(parts.losses_, whole.losses_, rtol=1e-9)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_fits_in_several_threads_leave_the_limits_of_blas_as_they_were():
    before = blas_threads()
    entered, left = threading.Event(), threading.Event()

    def second():
        with local.row_threads(1):
            entered.set()
            left.wait(30)

    with local.row_threads(1):
        thread = threading.Thread(target=second)
        thread.start()
        assert entered.wait(30)
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}  # the other one still works
    left.set()
    thread.join()
    assert blas_threads() == before


def test_single_precision_does_not_drift():
    """The mean of many rows far from zero, in float32."""
    rng = np.random.default_rng(0)
    X = (100 + rng.normal(size=(400_000, 3))).astype(np.float32)
    model = LSSMTC(1, within_weight=1.0, n_init=1, max_iter=2, random_state=0).fit(X)
    assert model.task_centers_.dtype == np.float32
    assert_allclose(model.task_centers_[0, 0], X.astype(np.float64).mean(axis=0), rtol=2e-7)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_pieces_cover_all_rows_once(kind):
    X = np.ones((1000, 700)) if kind == "dense" else sparse.eye_array(10_000, 700).tocsr()
    found = pieces(X, 3, 2**12)
    assert_array_equal(np.concatenate([np.arange(X.shape[0])[part] for part in found]), np.arange(X.shape[0]))
    assert pieces(X[:0]) == [slice(0, 0)]


def test_picked_rows_are_those_rows():
    X, index = np.arange(40.0).reshape(10, 4), np.array([7, 1, 1, 4])
    for matrix in (X, np.asfortranarray(X), sparse.csr_matrix(X)):
        rows = Picked(matrix, index)
        assert rows.shape == (4, 4)
        part = rows[1:3]
        assert_array_equal(part.toarray() if sparse.issparse(part) else part, X[[1, 1]])


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"within_weight": 0.5}], ids=["default", "fixed"])
@pytest.mark.parametrize("shape", [(60_000, 64), (1500, 2500)], ids=["tall", "wide"])
def test_interleaved_tasks_are_not_copied(shape, parameters):
    """Beyond X: ten times the size of what is found, and 80 MB: wide rows have a metric of their own."""
    (n, d), c, m = shape, 4, 3
    rng = np.random.default_rng(0)
    X, tasks = rng.normal(size=shape), rng.integers(m, size=n)
    tracemalloc.start()
    SPMTC(c, random_state=0, **parameters).fit(X, tasks=tasks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 8 * 10 * (n * c + m * c * d) + 80e6


def test_an_engine_that_is_entered_twice_keeps_its_threads_until_the_end(many, monkeypatch):
    X, tasks = many
    monkeypatch.setattr(core_rows, "WORTH_THREADS", 0)
    monkeypatch.setattr(core_rows, "PIECE", 2**12)
    model = fitted(X[tasks != 2], tasks[tasks != 2])
    labels = []
    for n in (1, 2):
        monkeypatch.setattr(local, "openmp_threads", lambda n=n: n)
        labels.append(model.adapt(X[tasks == 2], tasks=tasks[tasks == 2], novelty="none").labels_)
    assert_array_equal(*labels)
