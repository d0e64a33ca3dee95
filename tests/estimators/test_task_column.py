"""Tasks that are a column of a data frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import LabelDescription, judge_labels
from mtcluster.model_selection import LeaveOneTaskOut, TaskKFold, joint_accuracy_scorer, select_n_clusters, stability

ISLANDS = np.array(["Biscoe", "Dream", "Torgersen"])


@pytest.fixture(scope="module")
def rows():
    """Rows without the column, the column, and the classes."""
    X, y, tasks = make_multitask_blobs([40, 30, 50], 4, n_tasks=3, n_clusters=3, separation=9, random_state=0)
    return pd.DataFrame(X, columns=list("abcd")), ISLANDS[tasks], y


@pytest.fixture(scope="module")
def frame(rows):
    """Both in one frame, the column among the features."""
    found = rows[0].copy()
    found.insert(1, "island", rows[1])
    return found


@pytest.fixture(scope="module")
def model(frame):
    return SPMTC(3, random_state=0).fit(frame, tasks="island")


@pytest.mark.parametrize(
    "estimator",
    [
        SPMTC(3, random_state=0),
        LSSMTC(3, random_state=0),
        ASI(3, random_state=0),
        MultiTaskGaussianMixture(3, random_state=0),
        PerTask(KMeans(3, random_state=0)),
        Pooled(KMeans(3, random_state=0), center=True),
    ],
)
@pytest.mark.parametrize("as_frame", [lambda frame: frame, lambda frame: pl.DataFrame(frame.to_dict("list"))])
def test_a_column_is_the_task_of_each_row_and_no_feature(estimator, as_frame, frame, rows):
    X, tasks, _ = rows
    expected = estimator.fit(X, tasks=tasks).labels_
    assert_array_equal(estimator.fit_predict(as_frame(frame), tasks="island"), expected)
    assert list(estimator.feature_names_in_) == list("abcd")
    assert_array_equal(estimator.tasks_, [0] if isinstance(estimator, ASI) else ISLANDS)
    assert_array_equal(estimator.predict(as_frame(frame), tasks="island"), estimator.predict(X, tasks=tasks))


@pytest.mark.parametrize("method", ["predict_proba", "score_samples", "score", "transform"])
def test_methods_of_a_fitted_model_take_the_column(method, model, frame, rows):
    X, tasks, _ = rows
    assert_allclose(getattr(model, method)(frame, tasks="island"), getattr(model, method)(X, tasks=tasks))


def test_tasks_make_no_difference_to_the_coordinates(model, rows):
    X, tasks, _ = rows
    assert_allclose(model.transform(X, tasks=tasks), model.transform(X))


def test_fit_transform_takes_the_column(frame, rows):
    X, tasks, _ = rows
    one, other = SPMTC(3, random_state=0), SPMTC(3, random_state=0)
    assert_allclose(one.fit_transform(frame, tasks="island"), other.fit(X, tasks=tasks).transform(X))
    assert list(one.set_output(transform="pandas").transform(frame, tasks="island").index) == list(frame.index)


def test_new_tasks_join_by_the_column(frame, model):
    more = frame[frame.island == "Dream"].assign(island="Gotland")
    assert model.adapt(more, tasks="island").tasks_.tolist() == [*ISLANDS, "Gotland"]
    streamed = SPMTC(3, random_state=0).partial_fit(frame, tasks="island").partial_fit(more, tasks="island")
    assert streamed.tasks_.tolist() == [*ISLANDS, "Gotland"]


def test_selection_stability_and_descriptions_take_the_column(frame, model, rows):
    X, tasks, y = rows
    found = stability(model, frame, tasks="island", n_refits=3, random_state=0)
    assert found.overall == stability(model, X, tasks=tasks, n_refits=3, random_state=0).overall
    assert select_n_clusters(frame, tasks="island", n_clusters=[2, 3], random_state=0).n_clusters == 3
    assert LabelDescription().fit(frame, y, tasks="island").tasks_.tolist() == ISLANDS.tolist()
    assert judge_labels(frame, y, tasks="island").cost == pytest.approx(judge_labels(X, y, tasks=tasks).cost)


@pytest.mark.dask
def test_a_column_of_a_dask_data_frame(frame, model):
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.from_pandas(frame, npartitions=3)
    found = SPMTC(3, random_state=0).fit(lazy, tasks="island")
    assert_array_equal(found.labels_.compute(), model.labels_)
    assert list(found.feature_names_in_) == list("abcd")
    assert_array_equal(found.predict(lazy, tasks="island").compute(), model.labels_)
    with pytest.raises(ValueError, match="pass tasks='island'"):
        found.predict(lazy)
    with pytest.raises(ValueError, match=r"not numbers: 'sex'\. Leave them out, .*TablePreprocessor"):
        SPMTC(3).fit(lazy.assign(sex="x"), tasks="island")
    with pytest.raises(ValueError, match="missing label"):
        SPMTC(3).fit(dd.from_pandas(frame.assign(island=[None, *frame.island[1:]]), npartitions=3), tasks="island")


def test_splitters_and_scorers_take_the_column(frame, rows):
    X, tasks, y = rows
    for splitter in (TaskKFold(3), LeaveOneTaskOut()):
        by_name = [test.tolist() for _, test in splitter.split(frame, tasks="island")]
        assert by_name == [test.tolist() for _, test in splitter.split(X, tasks=tasks)]
    fitted = SPMTC(3, random_state=0).fit(frame, tasks="island")
    assert joint_accuracy_scorer(fitted, frame, y, tasks="island") > 0.9


@pytest.mark.filterwarnings("error")
def test_searches_pass_the_name_on(frame, rows):
    with config_context(enable_metadata_routing=True):
        model = SPMTC(3, random_state=0).set_fit_request(tasks=True).set_score_request(tasks=True)
        scores = cross_val_score(model, frame, cv=TaskKFold(3), params={"tasks": "island"})
        search = GridSearchCV(model, {"n_clusters": [2, 3]}, scoring=joint_accuracy_scorer, cv=TaskKFold(3))
        search.fit(frame, rows[2], tasks="island")
    assert np.isfinite(scores).all()
    assert search.best_params_ == {"n_clusters": 3}


def test_coordinates_in_a_pipeline_need_no_request_for_transform(rows):
    X, tasks, _ = rows
    with config_context(enable_metadata_routing=True):
        model = SPMTC(3, random_state=0).set_fit_request(tasks=True)
        found = make_pipeline(model, StandardScaler()).fit_transform(X, tasks=tasks)
    assert found.shape == (120, 3)


def test_a_column_that_a_step_before_has_lost_is_an_error(frame):
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), SPMTC(3).set_fit_request(tasks=True))
        with pytest.raises(TypeError, match="got 'island', and X is a ndarray"):
            pipeline.fit(frame.assign(island=1), tasks="island")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score", "transform"])
def test_the_column_left_in_the_frame_is_refused_in_words_that_help(method, model, frame):
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- island\nIn fit .* pass tasks='island', or leave"):
        getattr(model, method)(frame)


def test_a_fit_without_the_column_forgets_its_name(frame, rows):
    X, tasks, _ = rows
    again = SPMTC(3, random_state=0).fit(frame, tasks="island").fit(X, tasks=tasks)
    with pytest.raises(ValueError, match="feature names should match") as error:
        again.predict(frame, tasks=tasks)
    assert "held the tasks" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "tasks", "kind", "message"),
    [
        (lambda frame: frame, "iland", ValueError, "tasks='iland': X has no such column; did you mean 'island'?"),
        (lambda frame: frame, "weight", ValueError, r"tasks='weight': X has no such column\."),
        (lambda frame: frame[["island"]], "island", ValueError, "tasks='island' is the only column of X"),
        (lambda frame: frame.to_numpy(), "island", TypeError, "got 'island', and X is a ndarray"),
        (lambda frame: {"a": frame}, "island", ValueError, "tasks must be None when X is a dict"),
        (
            lambda frame: frame.rename(columns={"a": "island"}),
            "island",
            ValueError,
            "X has 2 columns of that name, and one is needed",
        ),
        (
            lambda frame: frame.assign(island=[None, *frame.island[1:]]),
            "island",
            ValueError,
            "tasks has a missing label at row 0",
        ),
        (
            lambda frame: frame.assign(sex="x"),
            "island",
            ValueError,
            r"not numbers: 'sex'\. Leave them out, .* mtcluster\.preprocessing\.TablePreprocessor",
        ),
    ],
)
def test_mistakes_are_named(change, tasks, kind, message, frame):
    for estimator in (SPMTC(3), Pooled(KMeans(3))):
        with pytest.raises(kind, match=message):
            estimator.fit(change(frame), tasks=tasks)
