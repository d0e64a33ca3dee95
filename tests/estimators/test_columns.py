"""Data sets with other columns: matched by name, in any order."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from mtcluster import LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import joint_accuracy

NAMES = list("abcdef")


@pytest.fixture(scope="module")
def data():
    X, y, tasks = make_multitask_blobs(60, 6, n_tasks=3, n_clusters=4, separation=9, random_state=2)
    order = np.argsort(tasks, kind="stable")  # as data frames come one after the other
    return X[order], y[order], tasks[order]


def frames(X, tasks, columns, kind=pd.DataFrame):
    """One data frame per task, with some of the columns."""
    return {
        k: kind({name: X[tasks == k, NAMES.index(name)] for name in own})
        for k, own in zip(range(3), columns, strict=True)
    }


MOSAIC = ("abcd", "cdef", "abef")


@pytest.mark.parametrize(
    "model",
    [
        SPMTC(4, random_state=0),
        LSSMTC(4, random_state=0),
        SPMTC(4, metric="euclidean", random_state=0),
        MultiTaskGaussianMixture(4, random_state=0),
    ],
    ids=str,
)
def test_clusters_correspond_across_other_columns(data, model):
    X, y, tasks = data
    found = model.fit(frames(X, tasks, MOSAIC))
    assert joint_accuracy(y, found.labels_, tasks) > 0.9
    assert_array_equal(found.feature_names_in_, NAMES)
    assert_array_equal(found.fitted_.has, [[name in own for name in NAMES] for own in MOSAIC])
    assert np.isfinite(found.task_centers_).all()
    assert_array_equal(found.predict(frames(X, tasks, MOSAIC)), found.labels_)


def test_the_order_of_columns_does_not_matter(data):
    X, _, tasks = data
    first = SPMTC(4, random_state=0).fit(frames(X, tasks, MOSAIC))
    other = SPMTC(4, random_state=0).fit(frames(X, tasks, ("dbca", "fdec", "eafb")))
    assert_array_equal(other.labels_, first.labels_)
    same = SPMTC(4, random_state=0).fit(frames(X, tasks, ("abcdef", "fedcba", "bdface")))
    assert_array_equal(same.labels_, SPMTC(4, random_state=0).fit(frames(X, tasks, ["abcdef"] * 3)).labels_)
    assert same.fitted_.has.all()


def test_frames_of_polars_are_matched_too(data):
    X, _, tasks = data
    wanted = SPMTC(4, random_state=0).fit(frames(X, tasks, MOSAIC)).labels_
    assert_array_equal(SPMTC(4, random_state=0).fit(frames(X, tasks, MOSAIC, pl.DataFrame)).labels_, wanted)


@pytest.mark.dask
def test_dask_frames_are_matched_too(data):
    dd = pytest.importorskip("dask.dataframe")
    X, _, tasks = data
    local = SPMTC(4, random_state=0).fit(frames(X, tasks, MOSAIC))
    lazy = {k: dd.from_pandas(frame, npartitions=2) for k, frame in frames(X, tasks, MOSAIC).items()}
    model = SPMTC(4, random_state=0).fit(lazy)
    assert_array_equal(model.labels_.compute(), local.labels_)
    assert_array_equal(model.fitted_.has, local.fitted_.has)
    assert_array_equal(model.predict(lazy).compute(), local.labels_)


def test_a_column_that_one_task_alone_has_is_used(data):
    X, y, tasks = data
    own = X.copy()
    shuffled = np.random.default_rng(0).permutation(60)
    for name in "abc":  # in task 0 these say nothing
        column = NAMES.index(name)
        own[tasks == 0, column] = own[tasks == 0, column][shuffled]
    with_it = SPMTC(4, random_state=0).fit(frames(own, tasks, ("abcdef", "abc", "abc")))
    without = SPMTC(4, random_state=0).fit(frames(own, tasks, ("abc", "abc", "abc")))
    scores = [joint_accuracy(y[tasks == 0], m.labels_[tasks == 0], np.zeros(60)) for m in (with_it, without)]
    assert scores[0] > scores[1] + 0.1


def test_new_rows_are_matched_by_name(data):
    X, _, tasks = data
    model = SPMTC(4, random_state=0).fit(frames(X, tasks, MOSAIC))
    first = pd.DataFrame(X[tasks == 0], columns=NAMES)
    assert_array_equal(model.predict(first[list("dcba")], tasks=[0] * 60), model.labels_[tasks == 0])
    with pytest.warns(UserWarning, match=r"X\['new'\] has columns that were not in fit, which are left out: 'z'"):
        found = model.adapt({"new": first[list("bdf")].assign(z=1.0)})
    assert_array_equal(found.fitted_.has[3], [False, True, False, True, False, True])
    with pytest.raises(ValueError, match=r"X\['new'\] has none of the columns of the fit"):
        model.predict({"new": first[["a"]].rename(columns={"a": "q"})})


def test_what_nothing_links_is_refused_with_what_overlaps(data):
    X, _, tasks = data
    message = (
        r"No column links 1 to 0, so their clusters cannot correspond: 0 and 1 have 0 columns in common, "
        r"0 and 2 have 2 columns in common, 1 and 2 have 0 columns in common"
    )
    with pytest.raises(ValueError, match=message):
        SPMTC(4).fit(frames(X, tasks, ("abc", "f", "bcd")))
    linked = SPMTC(4, random_state=0).fit(frames(X, tasks, ("abc", "ef", "cde")))  # by the third
    assert len(linked.tasks_) == 3


def test_names_must_be_texts_of_their_own(data):
    X, _, _ = data
    pair = {"a": pd.DataFrame(X[:60]), "b": pd.DataFrame(X[60:120, :4])}
    with pytest.raises(ValueError, match=r"X\['a'\] has columns whose names are not text \(0, 1"):
        SPMTC(4).fit(pair)
    twice = pd.DataFrame(X[:60, :3], columns=["p", "p", "q"])
    with pytest.raises(ValueError, match=r"X\['a'\] has several columns named 'p'"):
        SPMTC(4).fit({"a": twice, "b": pd.DataFrame(X[60:120, :1], columns=["q"])})


def test_weights_count_in_other_columns_too(data):
    X, _, tasks = data
    own = frames(X, tasks, MOSAIC)
    doubled = {k: pd.concat([frame, frame.iloc[:5]]) for k, frame in own.items()}
    weights = {k: np.where(np.arange(60) < 5, 2.0, 1.0) for k in own}
    params = {"within_weight": 0.5, "init": "pooled", "random_state": 0, "metric": "euclidean"}
    first = SPMTC(4, **params).fit(own, sample_weight=weights)
    second = SPMTC(4, **params).fit(doubled)
    assert_array_equal(first.cluster_sizes_.sum(axis=1), second.cluster_sizes_.sum(axis=1))


def test_frames_after_arrays_in_which_tasks_lack_columns(data):
    """Arrays have no names, so that columns are those at the same place."""
    X, _, tasks = data
    X = X.copy()
    X[tasks == 0, 0], X[tasks == 1, 1] = np.nan, np.nan
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    for kind in (pd.DataFrame, pl.DataFrame):
        with pytest.warns(UserWarning, match="X has feature names"):
            labels = model.predict(kind(dict(zip(NAMES, X.T, strict=True))), tasks=tasks)
        assert_array_equal(labels, model.labels_)
