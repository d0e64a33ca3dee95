"""A refit that continues an earlier model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators.changes import Changes
from mtcluster.inspection import explain
from mtcluster.interop import dump, load, to_kmeans
from mtcluster.model_selection import stability
from mtcluster.plotting import plot_cluster_sizes

MODELS = {
    "SPMTC": SPMTC(5),
    "euclidean": SPMTC(5, metric="euclidean"),
    "plain": SPMTC(5, within_weight=0.5),
    "LSSMTC": LSSMTC(5),
    "nonnegative": LSSMTC(5, membership="nonnegative"),
    "projection": SPMTC(5, coupling="projection"),
    "ASI": ASI(5),
    "mixture": MultiTaskGaussianMixture(5),
    "full": MultiTaskGaussianMixture(5, covariance_type="full"),
}


@pytest.fixture(scope="module")
def rows():
    return make_multitask_blobs([80, 60, 90], 6, n_tasks=3, n_clusters=5, separation=9, task_shift=2, random_state=0)


@pytest.fixture(scope="module")
def fitted(rows):
    X, _, tasks = rows
    return SPMTC(5, random_state=0).fit(X, tasks=tasks)


@pytest.fixture(scope="module")
def smaller(rows, fitted):
    """A refit to rows of four of the five clusters."""
    X, y, tasks = rows
    kept = y != 1
    return SPMTC(4, random_state=3).fit(X[kept], tasks=tasks[kept], previous=fitted), kept


def refit(model, seed, X, tasks, previous=None, **params):
    fresh = clone(model).set_params(random_state=seed, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fresh.fit(X, tasks=tasks, previous=previous)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_rows_keep_their_numbers(name, rows):
    X, _, tasks = rows
    first = refit(MODELS[name], 0, X, tasks)
    again = refit(MODELS[name], 7, X, tasks, first)
    assert np.mean(again.labels_ == first.labels_) > 0.99
    assert again.task_centers_.shape == first.task_centers_.shape
    assert again.changes_.n_moved <= 2
    assert not hasattr(first, "changes_")


@pytest.mark.parametrize("name", MODELS)
def test_a_number_is_the_index_in_every_array_though_a_cluster_has_died(name, rows):
    X, y, tasks = rows
    kept = y != 1
    first = refit(MODELS[name], 0, X, tasks)
    model = refit(MODELS[name], 3, X[kept], tasks[kept], first, n_clusters=4)
    [gone] = model.changes_.died
    assert first.labels_[y == 1][0] == gone
    assert np.mean(model.labels_ == first.labels_[kept]) > 0.95
    assert model.n_clusters_ == 4
    assert model.task_centers_.shape[1] == model.fitted_.centers.M.shape[0] == model.memberships_.shape[1] == 5
    assert model.cluster_sizes_[:, gone].sum() == 0
    assert not model.cluster_presence_[:, gone].any()
    assert_array_equal(model.predict(X[kept], tasks=tasks[kept]), model.labels_)
    probabilities = model.predict_proba(X, tasks=tasks)
    assert np.all(probabilities[:, gone] == 0)
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
    assert np.isfinite(model.transform(X)).all()


def test_a_dead_cluster_keeps_its_centre(fitted, smaller):
    model, _ = smaller
    [gone] = model.changes_.died
    assert_allclose(model.task_centers_[:, gone], fitted.task_centers_[:, gone])


def test_a_new_cluster_comes_after_the_last_number_and_no_number_is_used_twice(rows, smaller):
    X, _, tasks = rows
    model = SPMTC(5, random_state=4).fit(X, tasks=tasks, previous=smaller[0])
    assert model.changes_.born == [5]
    assert model.task_centers_.shape[1] == 6
    assert model.n_clusters_ == 5
    assert any("Born: cluster 5" in line for line in model.changes_.sentences)


def test_the_number_may_be_chosen_from_the_data(rows, fitted):
    X, y, tasks = rows
    kept = y != 2
    model = SPMTC("auto", random_state=1).fit(X[kept], tasks=tasks[kept], previous=fitted)
    assert model.n_clusters_ == 4
    assert model.changes_.died == [int(fitted.labels_[y == 2][0])]
    assert np.mean(model.labels_ == fitted.labels_[kept]) > 0.98


def test_tasks_that_are_new_are_placed(rows, fitted):
    X, _, tasks = rows
    moved = X + np.array([3.0, -2.0, 0.0, 1.0, 0.0, 2.0])
    model = SPMTC(5, random_state=1).fit(moved, tasks=[f"new {task}" for task in tasks], previous=fitted)
    assert np.mean(model.labels_ == fitted.labels_) > 0.95


def test_an_old_model_that_fits_no_more_does_not_win(rows):
    X, _, tasks = rows
    wrong = LSSMTC(5, within_weight=0.5, init=np.eye(5)[np.random.default_rng(0).integers(5, size=len(X))], max_iter=1)
    wrong.fit(X, tasks=tasks)
    plain = SPMTC(5, random_state=0).fit(X, tasks=tasks)
    model = SPMTC(5, random_state=0).fit(X, tasks=tasks, previous=wrong)
    groups = {tuple(sorted({int(a) for a in model.labels_[plain.labels_ == j]})) for j in range(5)}
    assert len(groups) == 5
    assert all(len(group) == 1 for group in groups)


def test_a_model_may_continue_itself(rows):
    X, _, tasks = rows
    model = SPMTC(5, random_state=0).fit(X, tasks=tasks)
    before = model.labels_.copy()
    model.set_params(random_state=9).fit(X, tasks=tasks, previous=model)
    assert_array_equal(model.labels_, before)


def test_split_and_merged(rows, fitted):
    X, _, tasks = rows
    fewer, more = (refit(SPMTC(c), 0, X, tasks, fitted) for c in (4, 6))
    assert len(fewer.changes_.merged) == len(fewer.changes_.died) == 1
    assert len(more.changes_.born) == 1
    assert len(more.changes_.split) == 1
    assert fewer.changes_.n_rows == len(X)
    assert sum(fewer.changes_.table["rows"]) == len(X)
    assert "Merged" in str(fewer.changes_)


@pytest.mark.parametrize("convert", [lambda X: X.astype(np.float32), sparse.csr_matrix, pd.DataFrame])
def test_rows_of_any_kind(convert, rows, fitted):
    X, _, tasks = rows
    model = SPMTC(5, random_state=4).fit(convert(X), tasks=tasks, previous=fitted)
    assert np.mean(model.labels_ == fitted.labels_) > 0.99


@pytest.mark.dask
def test_dask(rows, fitted):
    da = pytest.importorskip("dask.array")
    X, _, tasks = rows
    model = SPMTC(5, random_state=4).fit(da.from_array(X, chunks=(50, 6)), tasks=tasks, previous=fitted)
    assert np.mean(np.asarray(model.labels_) == fitted.labels_) > 0.99


def test_what_is_told_about_it(rows, smaller, tmp_path):
    X, _, tasks = rows
    model, kept = smaller
    [gone] = model.changes_.died
    text = str(explain(model))
    assert text.startswith("SPMTC: 4 clusters in 3 tasks")
    assert f"Died: cluster {gone}" in text
    assert f"No more in any task: cluster {gone}." in text
    report = model.report()
    assert report.summary["n_clusters"] == 4
    assert report.summary["sizes"]["empty"] == []
    assert "Compared with the previous model" in report.html
    assert len(set(model.relations().table["cluster"])) == 5
    assert stability(model, X[kept], tasks=tasks[kept], n_refits=2, random_state=0).verdict
    assert len(plot_cluster_sizes(model).get_xticks()) == 5
    assert_array_equal(to_kmeans(model, 1).predict(X[kept][tasks[kept] == 1]), model.labels_[tasks[kept] == 1])
    dump(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert str(again.changes_) == str(model.changes_)
    assert_array_equal(again.predict(X, tasks=tasks), model.predict(X, tasks=tasks))


@pytest.mark.parametrize(
    ("previous", "error", "message"),
    [
        ("model.skops", TypeError, "mtcluster.interop.load"),
        (KMeans(2), TypeError, "previous must be a fitted SPMTC"),
        (SPMTC(3), ValueError, "not fitted"),
    ],
)
def test_what_is_no_fitted_model_is_refused(previous, error, message, rows):
    X, _, tasks = rows
    with pytest.raises(error, match=message):
        SPMTC(3).fit(X, tasks=tasks, previous=previous)


def test_other_columns_are_named(rows, fitted):
    X, _, tasks = rows
    with pytest.raises(ValueError, match="X has 5 features, but previous was fitted with 6"):
        SPMTC(5).fit(X[:, :5], tasks=tasks, previous=fitted)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = SPMTC(5, random_state=0).fit(frame, tasks=tasks)
    with pytest.raises(ValueError, match="X has 'g' instead of 'f'"):
        SPMTC(5).fit(frame.rename(columns={"f": "g"}), tasks=tasks, previous=named)
    with pytest.raises(ValueError, match="another order"):
        SPMTC(5).fit(frame[list("bacdef")], tasks=tasks, previous=named)
    assert_array_equal(named.predict(frame, tasks=tasks), named.labels_)


def test_it_is_not_routed_unless_it_is_asked_for(rows, fitted):
    X, _, tasks = rows
    with config_context(enable_metadata_routing=True):
        silent = make_pipeline(StandardScaler(), SPMTC(5).set_fit_request(tasks=True))
        with pytest.raises(ValueError, match="previous"):
            silent.fit(X, tasks=tasks, previous=fitted)


# What is told


def told(counts, now=None, inside=None):
    """Changes from counts of rows by old and new label."""
    counts = np.array(counts)
    living = np.ones(len(counts), dtype=bool)
    now = counts.any(axis=0) if now is None else np.array(now, dtype=bool)
    return Changes(counts, living, now, np.ones(counts.shape, dtype=bool) if inside is None else np.array(inside))


def test_a_part_of_a_split_is_not_told_as_born():
    changes = told([[50, 0, 0], [0, 30, 30]])
    assert changes.split == {1: [1, 2]}
    assert changes.born == [2]
    assert "Split: cluster 1 into 1 and 2." in changes.sentences
    assert not any("Born" in line for line in changes.sentences)
    assert changes.sentences[0] == "30 of 110 rows (27.3 %) have another cluster than the previous model gives them."


def test_a_cluster_that_lives_on_is_not_merged_with_another():
    assert told([[20, 0, 30], [0, 0, 40]]).merged == {}
    assert told([[0, 0, 30], [0, 0, 40]]).merged == {2: [0, 1]}
    assert told([[30, 0], [40, 0]]).merged == {0: [0, 1]}


def test_a_cluster_that_died_has_a_line_of_its_own():
    changes = told([[30, 0, 0], [0, 0, 0], [0, 0, 9]])
    assert changes.died == [1]
    assert {"before": 1, "after": 1, "rows": 0, "share": 0.0} in changes.rows()
