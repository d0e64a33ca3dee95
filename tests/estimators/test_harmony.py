"""Harmony before a clusterer: tasks that lie apart come together, and what it cannot do is said."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from mtcluster import Pooled
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators.harmony import Harmonized
from mtcluster.metrics import clustering_accuracy

KMEANS = KMeans(3, n_init=10, random_state=0)


def test_without_harmonypy_the_error_says_how_to_install_it(blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "harmonypy", None)
    with pytest.raises(ImportError, match=r"pip install 'mtcluster\[harmony\]'"):
        Harmonized(KMEANS).fit(blobs.X, tasks=blobs.tasks)


@pytest.fixture
def apart():
    pytest.importorskip("harmonypy", reason="needs harmonypy")
    return make_multitask_blobs(100, 5, n_tasks=2, n_clusters=3, separation=12, offset=0.5, random_state=1)


def test_tasks_that_lie_apart_come_together(apart):
    X, y, tasks = apart
    model = Harmonized(KMEANS).fit(X, tasks=tasks)
    gaps = [np.linalg.norm(Z[tasks == 0].mean(axis=0) - Z[tasks == 1].mean(axis=0)) for Z in (X, model.embedding_)]
    assert gaps[1] < 0.5 * gaps[0]
    assert clustering_accuracy(y, model.labels_) >= clustering_accuracy(y, Pooled(KMEANS).fit(X).labels_)
    assert not hasattr(model, "predict")


def test_the_order_of_rows_is_kept_for_a_dict_of_tasks(apart):
    X, _, tasks = apart
    parts = {k: X[tasks == k] for k in range(2)}
    stacked = np.concatenate(list(parts.values()))
    listed = Harmonized(KMEANS).fit(parts)
    vector = Harmonized(KMEANS).fit(stacked, tasks=np.repeat([0, 1], 100))
    assert_array_equal(listed.embedding_, vector.embedding_)
    assert_array_equal(listed.labels_, vector.labels_)


def test_one_task_is_left_as_it_is(apart):
    model = Harmonized(KMEANS).fit(apart.X)
    assert_array_equal(model.embedding_, apart.X)


def test_as_many_rows_as_features_are_not_turned(apart):
    rng = np.random.default_rng(0)
    square = rng.normal(size=(20, 20))
    assert Harmonized(KMEANS).fit(square, tasks=[0, 1] * 10).embedding_.shape == (20, 20)


def test_sparse_rows_are_refused(apart):
    with pytest.raises(TypeError, match="Harmony needs dense rows"):
        Harmonized(KMEANS).fit(sparse.csr_matrix(apart.X), tasks=apart.tasks)
