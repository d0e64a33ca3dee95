"""Candidates with a shared metric: what they decide, and what does not matter to them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine

from mtcluster import LSSMTC, SPMTC
from mtcluster.consensus.scales import rounding_variance, within_covariance, without_tails
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import clustering_accuracy

BLOBS = {"n_samples": 100, "n_features": 6, "n_tasks": 3, "n_clusters": 4, "separation": 9, "task_shift": 0.3}


def blobs(seed=0, **options):
    return make_multitask_blobs(**BLOBS | options, random_state=seed)


def presence(y, tasks):
    return np.stack([np.bincount(y[tasks == k], minlength=y.max() + 1) > 0 for k in np.unique(tasks)])


def matched_presence(model, y):
    """`cluster_presence_` with clusters in the order of the classes that they match."""
    table = np.array([[np.sum((y == i) & (model.labels_ == j)) for j in range(model.n_clusters)] for i in np.unique(y)])
    return model.cluster_presence_[:, table.argmax(axis=1)]


@pytest.mark.parametrize("absent", [0, 0.25])
@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("estimator", [SPMTC, LSSMTC])
def test_clusters_correspond_whatever_tasks_hold_and_wherever_they_lie(estimator, absent, offset):
    X, y, tasks = blobs(1, absent=absent, offset=offset)
    model = estimator(4, random_state=0).fit(X, tasks=tasks)
    assert model.decisions_.metric == "shared"
    assert clustering_accuracy(y, model.labels_) > 0.95
    assert_array_equal(matched_presence(model, y), presence(y, tasks))
    assert (model.fitted_.task_offset == "matched") == (offset > 0)


def test_a_cluster_that_is_absent_has_no_rows():
    X, _, tasks = blobs(1, absent=0.25, offset=1)
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    assert_array_equal(model.cluster_presence_, model.cluster_sizes_ > 0)
    assert_array_equal(model.cluster_presence_, model.fitted_.support >= 0.5)
    far = model.predict(X + 2, tasks=tasks)
    for k in range(3):
        assert set(far[tasks == k]) <= set(np.flatnonzero(model.cluster_presence_[k]))
    shared = model.fitted_.centers.M @ model.fitted_.centers.W.T
    k, j = np.argwhere(~model.cluster_presence_)[0]
    np.testing.assert_allclose(model.task_centers_[k, j], model.fitted_.centers.offsets.b[k] + shared[j], atol=1e-8)


def test_of_several_consensuses_the_best_by_the_criterion_counts():
    X, _, tasks = blobs(5, separation=6, n_clusters=5)
    once, often = (SPMTC(5, n_init=n, random_state=0).fit(X, tasks=tasks).decisions_ for n in (1, 4))
    assert (once.n_starts, often.n_starts) == (1, 4)
    assert min(often.consensus.criterion.values()) <= min(once.consensus.criterion.values())


def test_a_task_of_one_cluster_is_not_cut():
    X, y, tasks = blobs(2)
    kept = (tasks > 0) | (y == 1)
    model = SPMTC(4, random_state=0).fit(X[kept], tasks=tasks[kept])
    assert len(np.unique(model.labels_[tasks[kept] == 0])) == 1
    assert clustering_accuracy(y[kept], model.labels_) > 0.95


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_the_units_of_columns_do_not_matter(load):
    X, _ = load(return_X_y=True)
    tasks = np.arange(len(X)) % 3
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, size=X.shape[1])
    before, after = (SPMTC(3, random_state=0).fit(rows, tasks=tasks) for rows in (X, X * units))
    assert before.decisions_.metric == "shared"
    assert_array_equal(before.labels_, after.labels_)
    np.testing.assert_allclose(before.losses_, after.losses_, rtol=1e-3)


@pytest.mark.parametrize("within_weight", [0.0, 0.4])
def test_nor_do_they_in_the_plain_model(within_weight):
    X, _ = load_wine(return_X_y=True)
    tasks, start = np.arange(len(X)) % 3, np.random.default_rng(1).random((len(X), 3))
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, size=X.shape[1])
    how = {"within_weight": within_weight, "metric": "shared", "init": start, "task_offset": "matched"}
    labels = [SPMTC(3, **how).fit(rows, tasks=tasks).labels_ for rows in (X, X * units)]
    assert_array_equal(*labels)


def test_correlated_columns_are_no_obstacle():
    X, y, tasks = blobs(3, correlation=0.9, n_samples=200)
    assert clustering_accuracy(y, SPMTC(4, random_state=0).fit(X, tasks=tasks).labels_) > 0.9


def test_a_task_that_has_nothing_in_common_is_left_alone():
    X, y, tasks = blobs(1, n_clusters=6, n_features=10)
    Z, z, _ = blobs(101, n_tasks=1, n_clusters=6, n_features=10)
    model = SPMTC(6, random_state=0).fit(np.concatenate([X, Z]), tasks=[*tasks, *[3] * len(Z)])
    assert (model.fitted_.within_weight == 1).tolist() == [False, False, False, True]
    assert clustering_accuracy(y, model.labels_[: len(X)]) > 0.95
    assert clustering_accuracy(z, model.labels_[len(X) :]) > 0.9


def test_rows_without_clusters_are_not_measured_by_them():
    X = np.random.default_rng(0).normal(size=(300, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    model = SPMTC(3, random_state=0).fit(X, tasks=np.arange(300) % 2)
    assert (model.decisions_.metric, model.decisions_.metric_reason) == ("euclidean", "no clear clusters")
    assert model.decisions_.consensus.gain < 0.3


def test_a_column_of_two_values_does_not_make_the_clusters():
    X, y, tasks = blobs(4)
    coin = np.random.default_rng(0).integers(2, size=len(X))
    model = SPMTC(4, random_state=0).fit(np.column_stack([X, coin]), tasks=tasks)
    assert clustering_accuracy(y, model.labels_) > 0.95


def test_rounding_of_columns():
    X = np.column_stack([np.arange(6) % 2, np.linspace(0, 1, 6), np.ones(6)])
    np.testing.assert_allclose(rounding_variance([X, 3 * X]), [(0.25 + 2.25) / 2, (0.01 + 0.09) / 2, 0])
    cov = within_covariance([X.astype(float)], [np.ones(6)], np.zeros(3), 0.01)
    assert np.linalg.eigvalsh(cov).min() > 0


def test_tails_are_drawn_in_and_the_middle_stays():
    y = np.random.default_rng(0).normal(size=(500, 1))
    found = without_tails([np.concatenate([y, [[1000.0]]])])[0]
    near = np.abs(y) < 2.5
    np.testing.assert_allclose(found[:-1][near], y[near], atol=0.35)
    assert 10 < found[-1] < 30
    assert np.all(np.diff(found[np.argsort(np.r_[y[:, 0], 1000.0])], axis=0) >= 0)


@pytest.mark.parametrize(("name", "least"), [("cell_lines", 0.99), ("penguins_island", 0.97), ("penguins_sex", 0.97)])
def test_data_sets_that_differ(task_set, name, least):
    X, y, tasks = task_set(name)
    y = np.unique(y, return_inverse=True)[1]
    model = SPMTC(int(y.max()) + 1, random_state=0).fit(X, tasks=tasks)
    assert clustering_accuracy(y, model.labels_) >= least
    k = np.unique(tasks, return_inverse=True)[1]
    assert_array_equal(matched_presence(model, y), presence(y, k))
