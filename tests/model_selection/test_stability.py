"""How sure one can be: the same fit from other starts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.exceptions import NotFittedError

from mtcluster import SPMTC, PerTask, Pooled
from mtcluster.datasets import make_multitask_blobs
from mtcluster.model_selection import restart_stability


@pytest.fixture
def clear():
    return make_multitask_blobs([60, 50], 5, n_tasks=2, n_clusters=3, separation=30, task_shift=1, random_state=0)


@pytest.mark.parametrize(
    "model", [SPMTC(3, random_state=0), PerTask(KMeans(3, random_state=0)), Pooled(KMeans(3, random_state=0))]
)
def test_clear_clusters_are_found_again_whatever_their_numbers(model, clear, as_container):
    X, _, tasks = clear
    model.fit(as_container(X), tasks=tasks)
    found = restart_stability(model, as_container(X), tasks=tasks, n_restarts=3)
    assert found.agreement == 1
    assert found.clusters == [1, 1, 1]
    assert found.tasks == [1, 1]
    assert (found.n_restarts, found.n_rows) == (3, 110)


def test_noise_has_no_stable_clusters():
    X = np.random.default_rng(0).normal(size=(300, 8))
    model = Pooled(KMeans(6, n_init=1, random_state=0)).fit(X)
    found = restart_stability(model, X, n_restarts=4)
    assert found.agreement < 0.8
    assert max(found.clusters) < 0.95


def test_many_rows_are_sampled_with_some_of_each_task():
    X, _, tasks = make_multitask_blobs([900, 150], 5, n_tasks=2, n_clusters=3, separation=30, random_state=0)
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    found = restart_stability(model, sparse.csr_matrix(X), tasks=tasks, n_restarts=1, max_rows=300)
    assert 300 <= found.n_rows <= 360
    assert found.agreement > 0.99


def test_the_model_is_left_as_it_is(clear):
    X, _, tasks = clear
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    before = model.labels_.copy()
    restart_stability(model, X, tasks=tasks, n_restarts=1)
    assert model.random_state == 0
    np.testing.assert_array_equal(model.labels_, before)


def test_noise_is_a_group_like_any_other(clear):
    X, _, tasks = clear
    X = np.concatenate([X, 1000 * np.eye(5)])
    tasks = np.r_[tasks, [0, 1, 0, 1, 0]]
    model = Pooled(DBSCAN(eps=4)).fit(X, tasks=tasks)
    assert (model.labels_ == -1).any()
    found = restart_stability(model, X, tasks=tasks, n_restarts=2)
    assert found.agreement == 1
    assert found.clusters == [1, 1, 1]


def test_what_it_refuses(clear):
    X, _, tasks = clear
    with pytest.raises(NotFittedError):
        restart_stability(SPMTC(3), X, tasks=tasks)
    with pytest.raises(TypeError, match=r"Pooled\(KMeans"):
        restart_stability(KMeans(3).fit(X), X)
    with pytest.raises(TypeError, match="one matrix"):
        restart_stability(SPMTC(3, random_state=0).fit(X, tasks=tasks), {"a": X})
    with pytest.raises(ValueError, match="n_restarts=0"):
        restart_stability(SPMTC(3, random_state=0).fit(X, tasks=tasks), X, tasks=tasks, n_restarts=0)
