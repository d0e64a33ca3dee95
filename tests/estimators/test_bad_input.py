"""Every mistake gets an error that names the argument, what came and what would be right."""

import warnings
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled, Schedule

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
TASKS = np.array(["a", "b", "c"])[np.arange(30) % 3]


def spoilt(value, row=7, container=np.asarray):
    bad = X.copy()
    bad[row, 1] = value
    return container(bad)


def frame(columns):
    return pd.DataFrame(X, columns=list(columns))


DATA_MISTAKES = [
    (spoilt(np.inf), TASKS, r"Input X contains infinity in 1 row\(s\) of task 'b', the first of them row 7"),
    (spoilt(np.nan, container=sparse.csr_matrix), TASKS, r"X contains NaN in 1 row\(s\) of task 'b', .* row 7"),
    (spoilt(-np.inf, container=sparse.csc_array), TASKS, r"X contains infinity in 1 row\(s\) of task 'b'"),
    ({"a": X, "b": spoilt(np.inf)}, None, r"X\['b'\] contains infinity in 1 row\(s\) of task 'b', .* row 7"),
    (np.empty((0, 4)), None, "X: Found array with 0 sample"),
    (np.empty((5, 0)), None, "X: Found array with 0 feature"),
    (X[:, 0], None, "X: Expected 2D array"),
    (X, TASKS[:20], "tasks has 20 labels for 30 rows"),
    (X, "abc", "tasks must be a sequence of labels, .* got 'abc', and X is a ndarray"),
    (X, 3, "tasks must be a sequence of 30 labels"),
    (X, TASKS[:, None], "tasks must be one-dimensional"),
    (X, [["a"]] * 30, "tasks must hold hashable labels"),
    (X, ["a", ("a", ["b"])] * 15, "tasks must hold hashable labels .* row 1"),
    (X, ["a", None] * 15, "tasks has a missing label at row 1"),
    (X, [1.0, float("nan")] * 15, "tasks has a missing label at row 1"),
    (X, pd.Series(["a", None] * 15), "tasks has a missing label at row 1"),
    (X, pd.array([1, None] * 15), "tasks has a missing label at row 1"),
    (X[:2], ["a", "b"], r"n_samples=2 should be >= n_clusters=3: take fewer clusters"),
    ([X[:1], X[:1]], None, r"n_samples=2 should be >= n_clusters=3: take fewer clusters"),
    ([X, X[:, :3]], None, r"X\[1\] has 3 features, but X\[0\] has 4"),
    ({"a": X}, TASKS, "tasks must be None when X is a dict or a list of data sets"),
    ({}, None, "X is an empty dict"),
    (frame("pqrs").assign(country="x"), TASKS, r"X has 1 column\(s\) that are not numbers: 'country'"),
    (pl.DataFrame({"x": [1.0] * 30, "y": ["a"] * 30}), None, r"X has 1 column\(s\) that are not numbers: 'y'"),
    ({"a": pd.DataFrame({"p": ["x"] * 5})}, None, r"X\['a'\] has 1 column\(s\) that are not numbers: 'p'"),
    ([frame("pqrs"), X, frame("qprs")], None, r"X\[2\] has other columns .* in another order"),
    (frame("pqrs").assign(day=pd.Timestamp("2020-01-01")), None, r"X has 1 column\(s\) that are dates, .*: 'day'"),
    (pl.DataFrame({"x": [1.0] * 30, "d": [date(2020, 1, 1)] * 30}), None, r"X has 1 column\(s\) that are dates"),
    ([X, X[:, 0]], None, r"X\[1\] has 1 dimension\(s\), other items have 2"),
    (X * 1e160, TASKS, "X holds values whose squares overflow in float64"),
    ((X * 1e19).astype(np.float32), TASKS, "X holds values whose squares overflow in float32"),
    (np.full((30, 2), "text"), None, "X: could not convert string to float"),
    (X + 1j, None, "X: Complex data not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "tasks", "message"), DATA_MISTAKES, ids=[str(i) for i in range(len(DATA_MISTAKES))])
def test_bad_data_are_refused(data, tasks, message):
    models = [SPMTC(3), LSSMTC(3)] if "n_clusters" in message else [SPMTC(3), LSSMTC(3), ASI(3)]  # ASI pools its tasks
    for model in models:
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(data, tasks=tasks)
        assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("data", "tasks", "message"), [m for m in DATA_MISTAKES if "n_clusters" not in m[2] and "overflow" not in m[2]]
)
@pytest.mark.parametrize("baseline", [PerTask, Pooled])
def test_baselines_refuse_bad_data_alike(data, tasks, message, baseline):
    with pytest.raises((ValueError, TypeError), match=message):
        baseline(KMeans(3)).fit(data, tasks=tasks)


@pytest.mark.parametrize(
    ("data", "tasks", "message"),
    [
        (spoilt(np.nan), TASKS, r"Input X contains NaN in 1 row\(s\) of task 'b', the first of them row 7"),
        (spoilt(np.nan, container=pd.DataFrame), TASKS, r"X contains NaN in 1 row\(s\) of task 'b'"),
        ({"a": X, "b": spoilt(np.nan)}, None, r"X\['b'\] contains NaN in 1 row\(s\) of task 'b', .* row 7"),
        ({"a": frame("pqrs"), "b": frame("pqrt")}, None, r"X\['b'\] has other columns than .* \(t\)"),
        ({"a": frame("pqrs"), "b": frame("qprs")}, None, r"X\['b'\] has other columns .* in another order"),
    ],
)
@pytest.mark.parametrize("baseline", [PerTask, Pooled])
def test_baselines_refuse_missing_values_and_other_columns(data, tasks, message, baseline):
    with pytest.raises(ValueError, match=message):
        baseline(KMeans(3)).fit(data, tasks=tasks)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(30), "sample_weight must not be negative: task 'a' has a weight of -1.0"),
        (np.zeros(30), "sample_weight is zero for all 10 rows of task 'a'"),
        (np.where(TASKS == "b", 0, 1), "sample_weight is zero for all 10 rows of task 'b'"),
        (np.ones(29), r"sample_weight has shape \(29,\), but X has 30 rows"),
        (np.ones((30, 2)), r"sample_weight has shape \(30, 2\)"),
        (np.where(np.arange(30) == 3, np.nan, 1), "sample_weight contains NaN"),
        (["x"] * 30, "sample_weight: could not convert"),
        ({}, "sample_weight is an empty dict"),
        ({"a": np.ones(10), "x": np.ones(20)}, r"sample_weight has the tasks \['a', 'x'\], but X has"),
        ({"a": np.ones(10), "b": np.ones(9), "c": np.ones(11)}, r"sample_weight\['b'\] has shape \(9,\)"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SPMTC(3).fit(X, tasks=TASKS, sample_weight=weights)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": 0}, {"n_clusters": 2.5}, {"n_clusters": "many"}, {"weighting": "medium"}, {"pace": "x"},
        {"coupling": "x"}, {"membership": "x"}, {"within_weight": -0.1}, {"within_weight": 1.1},
        {"within_weight": None}, {"n_components": 0}, {"max_iter": 0}, {"tol": -1}, {"init": "somehow"},
        {"n_init": 0}, {"n_init": "some"}, {"random_state": "x"}, {"n_jobs": "x"}, {"verbose": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(parameters):
    [name] = parameters
    model = SPMTC(3).set_params(**parameters)
    with pytest.raises(
        ValueError, match=f"The '{name}' parameter of SPMTC must be .* Got {parameters[name]!r} instead"
    ):
        model.fit(X, tasks=TASKS)


@pytest.mark.parametrize(
    "parameters",
    [
        {"soft_rule": "x"}, {"initial_fraction": 0}, {"initial_fraction": 1.5}, {"fraction_step": 0},
        {"warmup_iter": -1}, {"warmup_iter": "x"}, {"full_weight_share": 0}, {"full_weight_share": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_pace_is_refused_by_name(parameters):
    [(name, value)] = parameters.items()
    with pytest.raises(ValueError, match=f"{name}={value!r} of Schedule should be"):
        Schedule(**parameters)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 5}, "n_components=5 should be at most the number of features of X, 4"),
        ({"init": np.ones((30, 2))}, r"init has shape \(30, 2\), but memberships of shape \(30, 3\) are needed"),
        ({"init": -np.ones((30, 3))}, "init must hold non-negative memberships"),
        ({"init": np.zeros((30, 3))}, "init must hold non-negative memberships, with at least one positive entry"),
        ({"init": np.full((30, 3), np.nan)}, "init contains NaN"),
        ({"init": [["a"] * 3] * 30}, "init: could not convert"),
    ],
)
def test_parameters_that_do_not_fit_the_data_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SPMTC(3, **parameters).fit(X, tasks=TASKS)


def test_a_projection_of_millions_of_rows_and_features_is_refused():
    wide = sparse.csr_matrix((np.ones(30_000), np.arange(30_000), np.arange(30_001)), shape=(30_000, 30_000))
    with pytest.raises(ValueError, match=r"coupling='projection' needs a dense eigenproblem of order .* = 30000"):
        LSSMTC(3, coupling="projection").fit(wide)


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "score_samples", "score", "transform", "get_feature_names_out"]
)
def test_nothing_works_before_fit(method):
    with pytest.raises(NotFittedError, match="This SPMTC instance is not fitted yet"):
        getattr(SPMTC(3), method)(*([] if method.startswith("get") else [X]))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score", "transform"])
def test_other_features_than_in_fit_are_refused(method):
    model = SPMTC(3, random_state=0).fit(X, tasks=TASKS)
    with pytest.raises(ValueError, match="X has 3 features, but SPMTC is expecting 4 features"):
        getattr(model, method)(X[:, :3])


def test_a_frame_with_other_columns_than_in_fit_is_refused():
    model = SPMTC(3, random_state=0).fit({"a": frame("pqrs"), "b": frame("pqrs")})
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(frame("qprs"), tasks=["a"] * 30)
    with pytest.raises(ValueError, match=r"X\['b'\] has none of the columns of the fit \('p', .*: it has 'w'"):
        model.predict({"a": frame("pqrs"), "b": frame("wxyz")})


def test_rows_too_large_to_score_are_refused():
    model = SPMTC(3, random_state=0).fit(X, tasks=TASKS)
    with pytest.raises(ValueError, match="squares overflow"):
        model.score_samples(X * 1e160)


def test_other_rows_than_labels_are_refused_in_predict():
    model = SPMTC(3, random_state=0).fit(X, tasks=TASKS)
    with pytest.raises(ValueError, match="tasks has 30 labels for 5 rows"):
        model.predict(X[:5], tasks=TASKS)


def test_a_baseline_needs_a_clusterer():
    with pytest.raises(ValueError, match="The 'clusterer' parameter of PerTask must be"):
        PerTask("k-means").fit(X)


def test_zeros_in_a_nonnegative_start_warn():
    with pytest.warns(UserWarning, match="init holds zeros, which membership='nonnegative' never leaves"):
        LSSMTC(3, membership="nonnegative", init=np.eye(3)[np.arange(30) % 3]).fit(X)


# Numbers at the ends of their range


@pytest.mark.parametrize(
    ("change", "weights", "message"),
    [
        (lambda X: X * 1e152, None, "squares overflow in float64: the norm of the longest row"),
        (lambda X: X * 1e200, None, "squares overflow in float64"),
        (lambda X: X, 1e200, "sample_weight adds up to .* rescale the weights"),
        (lambda X: X, 1e308, "sample_weight adds up to inf"),
        (lambda X: X * 1e149, 1e8, "X together with sample_weight holds values whose squares overflow"),
        (lambda X: X, 1e30, r"sample_weight adds up to 1\.0e\+31 in task 'a'; that should be between 5e-18 and 2e\+17"),
        (lambda X: X, 1e-200, "sample_weight adds up to .* rescale the weights"),
        (lambda X: X.astype(np.float32), 1e100, "sample_weight contains infinity or a value too large"),
    ],
)
@pytest.mark.parametrize("estimator", [SPMTC, LSSMTC])
def test_numbers_out_of_range_are_refused_without_a_warning(change, weights, message, estimator):
    weights = None if weights is None else np.full(len(X), weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            estimator(2, random_state=0).fit(change(X), tasks=TASKS, sample_weight=weights)


@pytest.mark.parametrize("scale", [1e-100, 1, 1e100])
def test_no_warning_of_numpy_whatever_the_scale_of_the_rows(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = LSSMTC(2, random_state=0).fit(X * scale, tasks=TASKS)
    assert np.all(np.isfinite(model.task_centers_))


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_are_all_the_same(seed):
    """What is left of them are rounding errors."""
    rows = np.repeat(1e100 * np.random.default_rng(seed).normal(size=(1, 30)), 3, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = MultiTaskGaussianMixture(3, random_state=0).fit(rows)
    assert np.all(np.isfinite(model.task_centers_))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_rows_of_single_precision_in_tasks_that_lie_far_apart():
    """With memberships that are not negative losses are measured from 0."""
    rows = (X + 1e4 * np.array([-1, 0, 1])[np.arange(30) % 3, None]).astype(np.float32)
    model = SPMTC(3, membership="nonnegative", within_weight=0.5, random_state=0).fit(rows, tasks=TASKS)
    for trace in model.objective_trace_:
        assert np.all(np.diff(trace) <= 1e-9 * np.max(trace) + 1e-3)


@pytest.mark.parametrize("seed", [4, 6, 7, 10])
def test_equal_rows_with_missing_values(seed):
    """What is left of them within tasks are rounding errors."""
    rows = np.repeat(5 * np.random.default_rng(seed).normal(size=(2, 8)), [4, 1], axis=0)
    rows[[2, 3, 3], [5, 0, 2]] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = LSSMTC(2, random_state=0).fit(rows, tasks=["b"] * 4 + ["a"])
    assert len(set(model.labels_[:4].tolist())) == 1


def test_rows_that_are_far_apart_are_measured_from_zero():
    """One row per task lies on the mean of its task."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="squares overflow in float64"):
            SPMTC(1).fit(X[:3] * 1e200, tasks=[0, 1, 2])


@pytest.mark.parametrize("offset", [0, 1e3, 1e5])
def test_the_objective_of_single_precision_does_not_rise(offset):
    rows = (X + offset).astype(np.float32)
    model = LSSMTC(2, membership="nonnegative", within_weight=0.5, random_state=0).fit(rows, tasks=TASKS)
    for trace in model.objective_trace_:
        assert np.all(np.diff(trace) <= 1e-6 * np.abs(trace[0]))
    np.testing.assert_array_equal(model.predict(rows, tasks=TASKS), model.labels_)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    for model in (SPMTC(2, random_state=0), PerTask(SPMTC(2, random_state=0))):
        model.fit(X, tasks=TASKS)
        before = dict(vars(model))
        for wrong in (np.full((20, 7), np.nan), X[:, :2] * np.inf, "text", X[:0]):
            with pytest.raises((ValueError, TypeError)):
                model.fit(wrong)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)
        np.testing.assert_array_equal(model.predict(X, tasks=TASKS), model.labels_)


def test_labels_of_tasks_may_differ_by_a_zero_character():
    names = ["a", "a\0", "b"]
    tasks = [names[i % 3] for i in range(len(X))]
    model = SPMTC(2, random_state=0).fit(X, tasks=tasks)
    assert model.tasks_.tolist() == names
    np.testing.assert_array_equal(model.predict(X, tasks=tasks), model.labels_)


@pytest.mark.parametrize(("dtype", "scale"), [(np.float64, 1e-200), (np.float64, 1e-158), (np.float32, 1e-20)])
@pytest.mark.parametrize("kind", [SPMTC, LSSMTC, MultiTaskGaussianMixture])
def test_values_whose_squares_vanish_are_refused(kind, dtype, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=rf"so small that their squares vanish in {np.dtype(dtype)}.* Rescale X"):
            kind(2, random_state=0).fit((X * scale).astype(dtype), tasks=TASKS)


def test_a_column_out_of_range_is_no_error_of_linear_algebra():
    small = np.random.default_rng(0).normal(size=(60, 4))
    small[:, 0] *= 1e-158
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = LSSMTC(2, random_state=0).fit(small, tasks=np.arange(60) % 3)
        except ValueError as error:
            assert "Rescale them" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(model.losses_).all()


def test_masked_values_are_missing():
    rng = np.random.default_rng(0)
    rows, tasks = rng.normal(size=(60, 4)), np.arange(60) % 3
    mask = rng.random(rows.shape) < 0.2
    masked = SPMTC(2, random_state=0).fit(np.ma.masked_array(rows, mask), tasks=tasks)
    missing = SPMTC(2, random_state=0).fit(np.where(mask, np.nan, rows), tasks=tasks)
    np.testing.assert_array_equal(masked.labels_, missing.labels_)
    np.testing.assert_array_equal(masked.predict(np.ma.masked_array(rows, mask), tasks=tasks), masked.labels_)
    with pytest.raises(ValueError, match="tasks has a masked label at row 1"):
        SPMTC(2).fit(rows, tasks=np.ma.masked_array(tasks, tasks == 1))
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        SPMTC(2).fit(rows, tasks=tasks, sample_weight=np.ma.masked_array(np.ones(60), tasks == 1))


def test_so_many_numbers_of_clusters_are_refused_before_they_are_listed():
    with pytest.raises(ValueError, match="n_clusters holds 999999999 numbers to compare: up to 10000"):
        SPMTC(n_clusters=(2, 10**9)).fit(X, tasks=TASKS)


@pytest.mark.parametrize("number", [np.inf, np.nan, "a", None, [1]])
def test_numbers_of_clusters_of_tasks_that_are_none(number):
    with pytest.raises(ValueError, match=r"n_clusters_per_task of task .* a whole number from 1 to"):
        SPMTC(2, n_clusters_per_task=[number] * len(set(TASKS))).fit(X, tasks=TASKS)


@pytest.mark.parametrize("way", ["partial_fit", "adapt"])
@pytest.mark.parametrize("scale", [1e160, 1e-200])
def test_rows_that_follow_are_checked_like_those_of_a_fit(way, scale):
    model = SPMTC(2, random_state=0).fit(X, tasks=TASKS)
    before = dict(vars(model))
    tasks = TASKS if way == "partial_fit" else np.full(len(X), 99)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="Rescale X"):
            getattr(model, way)(X * scale, tasks=tasks)
    assert all(vars(model)[name] is value for name, value in before.items())


def test_weights_of_rows_that_follow_are_checked_like_those_of_a_fit():
    model = SPMTC(2, random_state=0).fit(X, tasks=TASKS)
    with pytest.raises(ValueError, match="sample_weight adds up to"):
        model.partial_fit(X, tasks=TASKS, sample_weight=np.full(len(X), 1e200))


def test_the_metric_of_rows_in_single_precision_is_a_covariance():
    rng = np.random.default_rng(0)
    rows = (1e4 * rng.normal(size=(4, 8)))[np.arange(40) % 4].astype(np.float32)
    for kind in (SPMTC, LSSMTC, MultiTaskGaussianMixture):
        model = kind(2, random_state=0).fit(rows + rng.normal(scale=0.01, size=rows.shape).astype(np.float32))
        if model.decisions_.metric == "shared":
            values = np.linalg.eigvalsh(model.fitted_.centers.geometry.tied.K.astype(np.float64))
            assert values[0] > -1e-6 * values[-1]


@pytest.mark.parametrize("offset", ["none", "mean", "matched", "scale"])
@pytest.mark.parametrize("kind", [SPMTC, LSSMTC])
def test_rows_that_are_all_the_same_and_large(kind, offset):
    for seed in range(5):
        rows = np.tile(1e103 * np.random.default_rng(seed).normal(size=(1, 30)), (41, 1))
        model = kind(3, init="random", task_offset=offset, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows, tasks=np.arange(41) % 4)
        assert np.isfinite(model.losses_).all()


def test_tasks_of_one_row_are_told():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[::2] += 50
    with pytest.warns(UserWarning, match="There are 60 tasks of 60 rows, so the labels mean little"):
        SPMTC(2, random_state=0).fit(X, tasks=np.arange(60))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        SPMTC(2, random_state=0).fit(X, tasks=np.arange(60) // 2)
        SPMTC(2, random_state=0).fit(X)
