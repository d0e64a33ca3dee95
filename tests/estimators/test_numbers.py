"""The number of clusters, where it is left to the data."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators import base
from mtcluster.estimators.numbers import asked_numbers, read_numbers
from mtcluster.model_selection import TaskKFold, select_n_clusters


@pytest.fixture(scope="module")
def three():
    return make_multitask_blobs([60, 50, 40], 4, n_tasks=3, n_clusters=3, separation=9, random_state=0)


@pytest.mark.parametrize("estimator", [SPMTC, LSSMTC, MultiTaskGaussianMixture])
def test_the_number_is_chosen(three, estimator):
    X, _, tasks = three
    model = estimator(n_clusters=(2, 6), random_state=0).fit(X, tasks=tasks)
    assert model.n_clusters == (2, 6)
    assert model.n_clusters_ == model.selection_.n_clusters == 3
    assert set(model.labels_) == {0, 1, 2}
    assert model.task_centers_.shape == (3, 3, 4)
    assert model.predict_proba(X, tasks=tasks).shape == (150, 3)
    assert model.memberships_.shape == (150, 3)
    assert_array_equal(model.predict(X, tasks=tasks), model.labels_)


def test_auto_compares_numbers_up_to_ten(three):
    X, _, tasks = three
    model = SPMTC("auto", random_state=0).fit(X, tasks=tasks)
    assert model.n_clusters_ == 3
    assert model.selection_.table["n_clusters"] == list(range(1, 11))
    assert "n_clusters='auto'" in repr(model)


def test_pooled_tasks_and_other_memberships_have_a_number_too(three):
    X, _, tasks = three
    models = [ASI((2, 4), random_state=0)]
    models.append(LSSMTC((2, 4), membership="nonnegative", within_weight=0.5, random_state=0))
    for model in models:
        model.fit(np.abs(X), tasks=tasks)
        assert model.memberships_.shape == (150, model.n_clusters_)


def test_a_given_number_needs_no_choice(three, monkeypatch):
    X, _, tasks = three
    monkeypatch.setattr(base, "choose_number", None)
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    assert model.n_clusters_ == 3
    assert isinstance(model.n_clusters_, int)
    assert not hasattr(model, "selection_")
    assert SPMTC(np.int64(3), random_state=0).fit(X, tasks=tasks).n_clusters_ == 3


def test_a_refit_with_a_given_number_forgets_the_choice(three):
    X, _, tasks = three
    model = SPMTC((2, 4), random_state=0).fit(X, tasks=tasks)
    model.set_params(n_clusters=2).fit(X, tasks=tasks)
    assert model.n_clusters_ == 2
    assert not hasattr(model, "selection_")


def test_the_fit_is_that_of_the_chosen_number_and_repeatable(three):
    X, _, tasks = three
    one, same = (SPMTC((2, 4), random_state=1).fit(X, tasks=tasks) for _ in range(2))
    assert_array_equal(one.labels_, same.labels_)
    assert str(one.selection_) == str(same.selection_)


def test_parameters_are_kept_as_they_are():
    for value in ("auto", (2, 6), 5):
        model = SPMTC(n_clusters=value)
        assert model.get_params()["n_clusters"] == clone(model).n_clusters == value


def test_one_cluster_where_there_is_nothing():
    X = np.random.default_rng(0).normal(size=(200, 4))
    model = SPMTC((2, 5), random_state=0).fit(X, tasks=np.arange(200) % 2)
    assert model.n_clusters_ == 1
    assert not model.labels_.any()


def test_a_warning_where_no_number_is_stable(three, monkeypatch):
    X, _, tasks = three
    found = select_n_clusters(X, tasks=tasks, n_clusters=[2, 3], random_state=0)
    object.__setattr__(found, "n_clusters", None)
    monkeypatch.setattr(base, "choose_number", lambda *arguments: found)
    with pytest.warns(UserWarning, match=r"n_clusters was left to the data\. .* The sharpest number was taken"):
        model = SPMTC("auto", random_state=0).fit(X, tasks=tasks)
    assert model.n_clusters_ == found.best in (2, 3)


def test_pipelines_and_searches(three):
    X, _, tasks = three
    with sklearn.config_context(enable_metadata_routing=True):
        model = SPMTC((2, 4), random_state=0).set_fit_request(tasks=True).set_score_request(tasks=True)
        line = make_pipeline(StandardScaler(), model).fit(X, tasks=tasks)
        assert line[-1].n_clusters_ == 3
        search = GridSearchCV(model, {"n_clusters": [2, 3, (2, 4)]}, cv=TaskKFold(2)).fit(X, tasks=tasks)
    assert search.best_estimator_.n_clusters_ in (2, 3)


def test_weights_of_rows_count(three):
    X, _, tasks = three
    rows, codes = np.r_[X, 1000 + X[:30]], np.r_[tasks, tasks[:30]]
    weights = np.r_[np.ones(150), np.zeros(30)]
    assert SPMTC((2, 4), random_state=0).fit(rows, tasks=codes, sample_weight=weights).n_clusters_ == 3


def test_numbers_that_are_asked_for():
    assert asked_numbers(3) is None
    assert asked_numbers("auto") == list(range(2, 11))
    assert asked_numbers((1, 4)) == asked_numbers([2, 4]) == [2, 3, 4]
    assert asked_numbers((np.int64(2), 3)) == [2, 3]
    assert read_numbers([5, 1, 3, 3]) == [3, 5]
    assert read_numbers(4) == [4]


@pytest.mark.parametrize("value", [(3, 2), (2, 3, 4), (2,), (2.5, 4), (1, 1), (0, 3), ("a", "b"), (True, 3), ()])
def test_wrong_pairs_are_named(value, three):
    with pytest.raises(ValueError, match=r"n_clusters=.* should be a number, 'auto', or the least and the largest"):
        SPMTC(value).fit(three.X)


@pytest.mark.parametrize("value", ["best", 0, -1, 2.5, None])
def test_wrong_numbers_are_named(value, three):
    with pytest.raises(ValueError, match="The 'n_clusters' parameter of SPMTC must be"):
        SPMTC(value).fit(three.X)


def test_what_does_not_go_together_is_named(three):
    X, y, tasks = three
    with pytest.raises(ValueError, match=r"n_clusters up to 90 needs 180 rows that count, .* compare numbers up to 75"):
        SPMTC((2, 90)).fit(X, tasks=tasks)
    with pytest.raises(ValueError, match="n_components=2 below n_clusters=3: take n_components=None"):
        SPMTC((3, 4), metric="shared", n_components=2).fit(X, tasks=tasks)
    with pytest.raises(ValueError, match=r"init has shape \(150, 2\), but memberships of shape \(150, 3\)"):
        SPMTC((2, 4), init=np.eye(2)[y % 2], random_state=0).fit(X, tasks=tasks)


@pytest.mark.dask
def test_dask_arrays(three):
    da = pytest.importorskip("dask.array")
    X, _, tasks = three
    lazy, codes = da.from_array(X, chunks=(60, 4)), da.from_array(tasks, chunks=60)
    assert SPMTC((2, 4), random_state=0).fit(lazy, tasks=codes).n_clusters_ == 3


@pytest.mark.gpu
def test_arrays_of_other_libraries(three):
    xp = pytest.importorskip("array_api_strict")
    X, _, tasks = three
    with sklearn.config_context(array_api_dispatch=True):
        model = SPMTC((2, 4), random_state=0).fit(xp.asarray(X), tasks=tasks)
    assert model.n_clusters_ == 3
    assert model.fitted_.centers.M.shape[0] == 3


def test_auto_compares_no_more_clusters_than_there_are_rows_for():
    X = np.r_[np.zeros((5, 2)), np.full((5, 2), 9.0)] + np.random.default_rng(0).normal(size=(10, 2))
    assert SPMTC("auto", random_state=0).fit(X).selection_.table["n_clusters"] == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="up to 10 needs 20 rows"):
        SPMTC((2, 10), random_state=0).fit(X)


@pytest.mark.parametrize("estimator", [ASI("auto", random_state=0), LSSMTC("auto", membership="nonnegative")])
def test_every_estimator_gets_the_number_of_the_same_comparison(estimator):
    X, _, tasks = make_multitask_blobs(80, 4, n_tasks=2, n_clusters=3, separation=12, random_state=0)
    assert estimator.set_params(random_state=0).fit(X, tasks=tasks).n_clusters_ == 3
