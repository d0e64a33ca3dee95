"""Strange but legal data: an answer, finite, and a warning where the user should know."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from mtcluster import LSSMTC, SPMTC, Schedule
from mtcluster.metrics import clustering_accuracy

RNG = np.random.default_rng(0)
MODELS = {
    "binary": {},
    "hard": {"weighting": "hard"},
    "paper": {"pace": Schedule(soft_rule="paper")},
    "nonnegative": {"membership": "nonnegative"},
    "projection": {"coupling": "projection"},
    "nonnegative-projection": {"membership": "nonnegative", "coupling": "projection"},
}
DATA = {
    "duplicates": np.repeat(RNG.normal(size=(8, 5)), 5, axis=0),
    "constant feature": np.column_stack([RNG.normal(size=(40, 4)), np.full(40, 7.0)]),
    "constant and zero features": np.column_stack([RNG.normal(size=(40, 2)), np.full(40, 7.0), np.zeros((40, 3))]),
    "zero rows": np.vstack([np.zeros((6, 5)), RNG.normal(size=(34, 5))]),
    "more features than rows": RNG.normal(size=(12, 60)),
    "one feature": RNG.normal(size=(40, 1)),
    "all rows equal": np.ones((12, 4)),
    "all rows zero": np.zeros((12, 4)),
    "two distinct rows": np.repeat([[0.0, 0.0, 1.0], [1.0, 5.0, 1.0]], 10, axis=0),
    "tiny": 1e-150 * RNG.normal(size=(40, 5)),
    "huge": 1e120 * RNG.normal(size=(40, 5)),
}


@pytest.mark.slow
@pytest.mark.parametrize("parameters", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("X", DATA.values(), ids=DATA.keys())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_strange_data_get_a_finite_answer(X, parameters, dtype):
    if dtype == np.float32 and np.abs(X).max() > 1e30:
        pytest.skip("these values are infinite in float32")
    X, tasks = X.astype(dtype), np.arange(len(X)) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)  # a division by zero on the way is a fault
        model = SPMTC(3, random_state=0, **parameters).fit(X, tasks=tasks)
    kept = model.fitted_
    for values in (model.memberships_, model.losses_, kept.rows.weights, model.task_centers_, kept.centers.M):
        assert np.all(np.isfinite(values))
    assert np.all(np.isfinite(kept.centers.W))
    assert_allclose(model.memberships_.sum(axis=1), 1, rtol=1e-5)
    W, l = model.fitted_.centers.W.astype(np.float64), model.fitted_.centers.W.shape[1]
    measured = (
        W
        if model.decisions_.metric == "euclidean"
        else np.linalg.solve(model.fitted_.centers.geometry.tied.take("R", None).dense()[0], W)
    )
    assert_allclose(W.T @ measured, np.eye(l), atol=1e-8 if dtype == np.float64 else 5e-5)
    assert_array_equal(model.predict(X, tasks=tasks), model.labels_)


@pytest.mark.parametrize("parameters", MODELS.values(), ids=MODELS.keys())
def test_one_cluster_is_the_mean(parameters):
    X = RNG.normal(size=(30, 4)) + 3
    model = SPMTC(
        1,
        random_state=0,
        within_weight=0.5,
        weighting="hard",
        **{k: v for k, v in parameters.items() if k != "weighting"},
    )
    model.fit(X, tasks=np.arange(30) % 2)
    assert np.all(model.labels_ == 0)
    if "membership" not in parameters:
        assert_allclose(model.task_centers_[0, 0], X[::2].mean(axis=0), rtol=1e-6)


def test_duplicates_share_a_cluster():
    X = DATA["duplicates"]
    labels = SPMTC(3, random_state=0).fit(X).labels_.reshape(8, 5)
    assert np.all(labels == labels[:, :1])


def test_fewer_distinct_rows_than_clusters_warn():
    with pytest.warns(ConvergenceWarning, match="2 of 3 clusters have no rows in any task"):
        SPMTC(3, random_state=0).fit(np.ones((12, 4)))


def test_a_cluster_that_runs_empty_warns_and_keeps_its_center():
    X = np.vstack([RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2)) + 50])
    start = np.eye(3)[
        np.r_[np.zeros(19, int), 2, np.ones(20, int)]
    ]  # cluster 2 begins with one row, between the others' means
    X[19] = X[:19].mean(axis=0) + 0.01
    far = np.array([[1e3, 1e3]])
    with pytest.warns(ConvergenceWarning, match="of 4 clusters have no rows"):
        model = LSSMTC(4, init=np.column_stack([start, np.zeros(40)])).fit(X)
    assert np.all(np.isfinite(model.task_centers_))
    assert model.predict(far)[0] in range(4)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", MODELS.values(), ids=MODELS.keys())
def test_many_small_tasks(parameters):
    centers = 6 * RNG.normal(size=(3, 5))
    y = RNG.integers(3, size=2000)
    X, tasks = centers[y] + RNG.normal(size=(2000, 5)), np.repeat(np.arange(200), 10)
    plain = {"within_weight": 0.5, "n_init": 1, "max_iter": 3}
    pace = replace(parameters.get("pace", Schedule()), warmup_iter=2)
    model = SPMTC(3, random_state=0, **plain | parameters | {"pace": pace}).fit(X, tasks=tasks)
    assert model.task_centers_.shape == (200, 3, 5)
    assert np.all(np.isfinite(model.losses_))


@pytest.mark.slow
def test_many_small_tasks_find_a_consensus():
    rng = np.random.default_rng(0)
    centers = 6 * rng.normal(size=(3, 5))
    y = rng.integers(3, size=600)
    X, tasks = centers[y] + rng.normal(size=(600, 5)), np.repeat(np.arange(60), 10)
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    assert np.all(model.fitted_.within_weight < 1)
    assert clustering_accuracy(y, model.labels_) > 0.9


def test_a_task_without_one_of_the_clusters():
    centers = 8 * np.eye(3)
    y = np.r_[np.repeat([0, 1, 2], 20), np.repeat([0, 1], 20)]
    X = centers[y] + RNG.normal(size=(100, 3))
    model = SPMTC(3, random_state=0).fit(X, tasks=np.repeat([0, 1], [60, 40]))
    assert len(set(model.labels_[60:])) == 2
    absent = ({0, 1, 2} - set(model.labels_[60:])).pop()
    shared = (model.fitted_.centers.M @ model.fitted_.centers.W.T)[absent]
    assert_allclose(model.task_centers_[1, absent], shared + model.fitted_.centers.offsets.b[1], atol=0.5)


def test_a_fit_of_as_many_clusters_as_rows():
    X = RNG.normal(size=(6, 3))
    model = SPMTC(6, random_state=0).fit(X)
    assert_allclose(model.losses_, 0, atol=1e-12)
