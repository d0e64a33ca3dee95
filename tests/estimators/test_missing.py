"""Missing values (NaN) in X: they count nothing, whatever the estimator, the engine and the type of X."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import joint_accuracy

MODELS = {
    "SPMTC": SPMTC(3, random_state=0),
    "euclidean": SPMTC(3, metric="euclidean", random_state=0),
    "random": SPMTC(3, within_weight=0.5, init="random", n_init=5, random_state=0),
    "matched": SPMTC(3, within_weight=0.5, metric="shared", task_offset="matched", random_state=0),
    "LSSMTC": LSSMTC(3, random_state=0),
    "ASI": ASI(3, random_state=0),
    "mixture": MultiTaskGaussianMixture(3, random_state=0),
}


@pytest.fixture(scope="module")
def blobs():
    """Rows of three clusters in three tasks, of which every tenth value is missing."""
    X, y, tasks = make_multitask_blobs(60, 5, n_tasks=3, n_clusters=3, separation=9, random_state=1)
    gone = np.random.default_rng(0).random(X.shape) < 0.1
    gone[gone.all(axis=1), 0] = False
    return np.where(gone, np.nan, X), y, tasks, X


@pytest.mark.parametrize("name", MODELS)
def test_clusters_are_found_in_spite_of_missing_values(blobs, name):
    X, y, tasks, _ = blobs
    model = MODELS[name].fit(X, tasks=tasks)
    assert joint_accuracy(y, model.labels_, tasks) > 0.9
    assert_array_equal(model.predict(X, tasks=tasks), model.labels_)
    for values in (model.losses_, model.task_centers_, model.cluster_centers_, model.fitted_.rows.map):
        assert np.isfinite(values).all()
    assert np.isfinite(model.score(X, tasks=tasks))
    assert np.isfinite(model.transform(X)).all()
    assert_allclose(model.predict_proba(X, tasks=tasks).sum(axis=1), 1)
    for trace in model.objective_trace_:
        assert np.all(np.diff(trace) <= 1e-9 * np.abs(trace).max())


@pytest.mark.parametrize("name", ["SPMTC", "euclidean", "mixture"])
def test_rows_without_any_value_get_minus_one_and_a_note(blobs, name):
    X, _, tasks, _ = blobs
    X = X.copy()
    X[[4, 70]] = np.nan
    with pytest.warns(UserWarning, match=r"2 row\(s\) of X have no value at all: they get the label -1"):
        model = MODELS[name].fit(X, tasks=tasks)
    assert_array_equal(np.flatnonzero(model.labels_ == -1), [4, 70])
    assert_array_equal(model.weights_[[4, 70]], 0)
    with pytest.warns(UserWarning, match="no value at all"):
        assert_array_equal(model.predict(X, tasks=tasks), model.labels_)
    assert np.isfinite(model.losses_).all()
    others = np.setdiff1d(np.arange(len(X)), [4, 70])
    if name != "mixture":
        assert not model.memberships_[[4, 70]].any()
    again = MODELS[name].fit(X[others], tasks=tasks[others])
    assert_array_equal(again.labels_, MODELS[name].fit(X, tasks=tasks).labels_[others])


def test_missing_values_of_rows_without_weight_do_not_matter(blobs):
    _, _, tasks, X = blobs
    weights = np.where(np.arange(len(X)) % 7 == 0, 0.0, 1.0)
    spoilt = X.copy()
    spoilt[weights == 0, 2] = np.nan
    first, second = (SPMTC(3, random_state=0).fit(A, tasks=tasks, sample_weight=weights) for A in (X, spoilt))
    assert_allclose(
        first.fitted_.centers.M @ first.fitted_.centers.W.T,
        second.fitted_.centers.M @ second.fitted_.centers.W.T,
        atol=0.5,
    )
    assert_array_equal(first.labels_[weights > 0], second.labels_[weights > 0])


def test_the_loss_of_a_row_is_that_of_a_whole_one(blobs):
    _, _, tasks, X = blobs
    model = SPMTC(3, metric="euclidean", within_weight=0.0, task_offset="none", random_state=0).fit(X, tasks=tasks)
    half = X.copy()
    half[:, :2] = np.nan
    Z = model.fitted_.centers.M @ model.fitted_.centers.W.T
    apart = np.nansum((half[:, None] - Z) ** 2, axis=2)
    assert_allclose(-model.score_samples(half, tasks=tasks), apart.min(axis=1) * 5 / 3, rtol=1e-6)


@pytest.mark.parametrize("name", ["SPMTC", "euclidean", "mixture"])
def test_float32_frames_and_threads_give_the_same_labels(blobs, name):
    X, _, tasks, _ = blobs
    wanted = MODELS[name].fit(X, tasks=tasks).labels_
    for other in (X.astype(np.float32), pd.DataFrame(X), pd.DataFrame(X).convert_dtypes()):
        assert_array_equal(MODELS[name].fit(other, tasks=tasks).labels_, wanted)
    model = MODELS[name].set_params(n_jobs=2).fit(X, tasks=tasks)
    assert_array_equal(model.labels_, wanted)
    MODELS[name].set_params(n_jobs=None)


@pytest.mark.dask
@pytest.mark.parametrize("name", ["SPMTC", "euclidean", "mixture"])
def test_dask_arrays_give_the_same_labels(blobs, name):
    da = pytest.importorskip("dask.array")
    X, _, tasks, _ = blobs
    X = X.copy()
    X[4] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        wanted = MODELS[name].fit(X, tasks=tasks).labels_
        model = MODELS[name].fit(da.from_array(X, chunks=(50, 5)), tasks=tasks)
        assert_array_equal(model.labels_.compute(), wanted)
        assert_array_equal(model.predict(da.from_array(X, chunks=(33, 5)), tasks=tasks).compute(), wanted)


@pytest.mark.parametrize("metric", ["shared", "euclidean"])
def test_a_column_that_a_task_lacks_changes_little(blobs, metric):
    _, y, tasks, X = blobs
    X = X.copy()
    X[tasks == 1, 3] = np.nan
    model = SPMTC(3, metric=metric, random_state=0).fit(X, tasks=tasks)
    assert joint_accuracy(y, model.labels_, tasks) > 0.95
    assert_array_equal(model.fitted_.has, [[True] * 5, [True, True, True, False, True], [True] * 5])


def test_units_of_columns_do_not_matter_with_a_shared_metric(blobs):
    X, _, tasks, _ = blobs
    first = SPMTC(3, random_state=0).fit(X, tasks=tasks).labels_
    assert_array_equal(SPMTC(3, random_state=0).fit(X * [1e-3, 1, 1e3, 10, 0.1], tasks=tasks).labels_, first)


def test_wide_rows(blobs):
    X, y, tasks = make_multitask_blobs(60, 80, n_tasks=3, n_clusters=3, separation=9, random_state=1)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    assert joint_accuracy(y, SPMTC(3, random_state=0).fit(X, tasks=tasks).labels_, tasks) > 0.95
    with pytest.raises(ValueError, match="metric='shared' cannot go with missing values in more than 50 features"):
        SPMTC(3, metric="shared").fit(X, tasks=tasks)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SPMTC(3, membership="nonnegative"), "membership='nonnegative' cannot work with missing values, and X holds"),
        (SPMTC(3, coupling="projection"), "coupling='projection' cannot work with missing values"),
        (MultiTaskGaussianMixture(3, covariance_type="full"), "covariance_type='full' cannot work with missing values"),
        (MultiTaskGaussianMixture(3, covariance_type="diag"), ".*take covariance_type='tied', or fill them in"),
    ],
)
def test_what_cannot_work_with_missing_values_says_so(blobs, model, message):
    X, _, tasks, whole = blobs
    with pytest.raises(ValueError, match=message):
        model.fit(X, tasks=tasks)
    assert not hasattr(model, "labels_")
    model.fit(np.abs(whole), tasks=tasks)
    with pytest.raises(ValueError, match=message):
        model.predict(X, tasks=tasks)
    for name in list(vars(model)):  # unfitted again, for other tests
        if name.endswith("_") or name.startswith("_"):
            delattr(model, name)


def test_bad_input_gets_a_sentence(blobs):
    X, _, tasks, _ = blobs
    empty = X.copy()
    empty[:, [1, 3]] = np.nan
    with pytest.raises(ValueError, match=r"X has 2 column\(s\) without any value: 1, 3. Leave them out"):
        SPMTC(3).fit(empty, tasks=tasks)
    with pytest.raises(ValueError, match=r"without any value: 'b'"):
        SPMTC(3).fit(pd.DataFrame(empty, columns=list("abcde")).assign(d=1.0), tasks=tasks)
    nothing = X.copy()
    nothing[tasks == 1] = np.nan
    with pytest.raises(ValueError, match=r"X has no value in any of the 60 row\(s\) of task 1: leave the task out"):
        SPMTC(3).fit(nothing, tasks=tasks)
    with pytest.raises(ValueError, match=r"contains NaN .* Missing values are taken in dense X alone"):
        SPMTC(3).fit(sparse.csr_matrix(X), tasks=tasks)
    with pytest.raises(ValueError, match="contains infinity"):
        SPMTC(3).fit(np.where(np.arange(len(X))[:, None] == 3, np.inf, X), tasks=tasks)


def test_a_task_of_one_row_with_a_gap(blobs):
    X, y, tasks, _ = blobs
    tasks = tasks.copy()
    tasks[0], X = 9, X.copy()
    X[0, 0] = np.nan
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    assert joint_accuracy(y[1:], model.labels_[1:], tasks[1:]) > 0.95
    assert model.labels_[0] >= 0


def test_a_column_of_one_value_and_many_gaps(blobs):
    X, y, tasks, _ = blobs
    more = np.where(np.random.default_rng(0).random(len(X)) < 0.7, np.nan, 3.0)
    model = SPMTC(3, random_state=0).fit(np.column_stack([X, more]), tasks=tasks)
    assert joint_accuracy(y, model.labels_, tasks) > 0.95


def test_gaps_in_a_refit_a_stream_and_a_task_that_joins(blobs):
    X, y, tasks, _ = blobs
    first = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    again = SPMTC(3, random_state=5).fit(X, tasks=tasks, previous=first)
    assert np.mean(again.labels_ == first.labels_) > 0.97
    stream = SPMTC(3, random_state=0)
    for part in range(3):
        at = np.arange(len(X)) % 3 == part
        stream.partial_fit(X[at], tasks=tasks[at])
        assert joint_accuracy(y[at], stream.labels_, tasks[at]) > 0.9
    old = tasks < 2
    joined = SPMTC(3, random_state=0).fit(X[old], tasks=tasks[old]).adapt(X[~old], tasks=tasks[~old])
    assert (
        joint_accuracy(
            y[~old][joined.labels_ >= 0], joined.labels_[joined.labels_ >= 0], tasks[~old][joined.labels_ >= 0]
        )
        > 0.9
    )
    assert np.mean(joined.labels_ >= 0) > 0.9


@pytest.mark.parametrize("model", [SPMTC(4, random_state=0), LSSMTC(4, random_state=0)], ids=str)
@pytest.mark.parametrize("kind", ["gaps", "columns"])
@pytest.mark.parametrize("seed", [1, 3])
def test_the_scale_of_weights_does_not_matter_where_values_are_missing(model, kind, seed):
    X, _, tasks = make_multitask_blobs(60, 6, n_tasks=3, n_clusters=4, separation=5, absent=0.3, random_state=seed)
    rng = np.random.default_rng(seed)
    if kind == "gaps":
        X = np.where(rng.random(X.shape) < 0.15, np.nan, X)
    else:
        X[tasks[:, None] == np.arange(6)] = np.nan
    weights = rng.choice([0.5, 1.0, 3.0], len(X))
    labels = [model.fit(X, tasks=tasks, sample_weight=scale * weights).labels_ for scale in (1, 1e-3, 1e3)]
    assert_array_equal(labels[1], labels[0])
    assert_array_equal(labels[2], labels[0])
