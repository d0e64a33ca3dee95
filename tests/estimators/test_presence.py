"""Which clusters tasks hold: in labels, in predictions, and as the user says."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mtcluster import ASI, LSSMTC, SPMTC
from mtcluster.datasets import make_multitask_blobs


@pytest.fixture(scope="module")
def different():
    """Four tasks that lack clusters and lie apart."""
    return make_multitask_blobs(150, n_tasks=4, n_clusters=6, absent=0.4, offset=1, random_state=2)


@pytest.fixture(scope="module")
def model(different):
    return SPMTC(6, random_state=0).fit(different.X, tasks=different.tasks)


def absent_labels(model, labels, tasks):
    """Rows whose task does not hold the cluster of their label."""
    k = np.searchsorted(model.tasks_, tasks)
    return np.count_nonzero(~model.cluster_presence_[k, labels])


def test_no_row_has_the_label_of_a_cluster_that_its_task_does_not_hold(model, different):
    assert not model.cluster_presence_.all()
    assert absent_labels(model, model.labels_, different.tasks) == 0
    assert_array_equal(model.cluster_sizes_ > 0, model.cluster_presence_)


def test_predictions_keep_to_what_a_task_holds(model, different):
    X, _, tasks = different
    assert_array_equal(model.predict(X, tasks=tasks), model.labels_)
    swapped = (tasks + 1) % 4  # rows of other tasks lie at clusters that this one lacks
    assert absent_labels(model, model.predict(X, tasks=swapped), swapped) == 0
    assert absent_labels(model, model.predict_proba(X, tasks=swapped).argmax(axis=1), swapped) == 0


def test_a_new_task_may_hold_every_cluster(model, different):
    used = set(np.flatnonzero(model.cluster_presence_.any(axis=0)))
    assert set(model.predict(different.X)) == used
    with pytest.warns(UserWarning, match="not in fit"):
        labels = model.predict(different.X, tasks=["new"] * len(different.X))
    assert set(labels) - {-1} == used  # −1: ordinary rows too, at the rate of the novelty


@pytest.mark.parametrize("estimator", [LSSMTC(3, within_weight=0.0, random_state=0), SPMTC(3, metric="euclidean")])
def test_a_cluster_without_rows_in_a_task_is_not_present_there(estimator):
    X, y, tasks = make_multitask_blobs(60, 5, n_tasks=2, n_clusters=3, separation=12, random_state=0)
    kept = (tasks == 0) | (y != 1)
    model = estimator.set_params(random_state=0).fit(X[kept], tasks=tasks[kept])
    counts = np.stack([np.bincount(model.labels_[tasks[kept] == k], minlength=3) for k in range(2)])
    assert_array_equal(model.cluster_presence_, counts > 0)
    again = model.predict(X, tasks=np.ones(len(X), dtype=int))
    assert absent_labels(model, again, np.ones(len(X), dtype=int)) == 0


def test_a_row_of_weight_0_counts_as_a_row_of_its_cluster(blobs):
    weights = np.ones(len(blobs.X))
    plain = LSSMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    weights[(blobs.tasks == 0) & (plain.labels_ == 2)] = 0
    model = LSSMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks, sample_weight=weights)
    assert absent_labels(model, model.labels_, blobs.tasks) == 0
    assert_array_equal(model.predict(blobs.X, tasks=blobs.tasks), model.labels_)


def test_shapes_are_tasks_by_clusters(model, blobs):
    assert model.cluster_presence_.shape == model.fitted_.support.shape == model.cluster_sizes_.shape == (4, 6)
    assert ASI(3, random_state=0).fit(blobs.X).cluster_presence_.shape == (1, 3)


# The number of clusters of each task, as the user knows it


@pytest.mark.parametrize("given", [{0: 4, 1: 3, 2: 4, 3: 4}, [4, 3, 4, 4], np.array([4, 3, 4, 4])])
def test_tasks_hold_as_many_clusters_as_the_user_says(different, given):
    model = SPMTC(6, n_clusters_per_task=given, random_state=0).fit(different.X, tasks=different.tasks)
    assert_array_equal(model.cluster_presence_.sum(axis=1), [4, 3, 4, 4])
    assert absent_labels(model, model.labels_, different.tasks) == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({0: 2, 1: 2}, "n_clusters_per_task lacks task 2"),
        ({0: 2, 1: 2, 2: 2, "x": 1}, "n_clusters_per_task holds 'x', which is no task"),
        ([2, 2], "n_clusters_per_task has 2 entries, but there are 3 tasks"),
        ([2, 5, 2], r"n_clusters_per_task of task 1 is 5; a whole number from 1 to n_clusters=4"),
        ([2, 0, 2], r"n_clusters_per_task of task 1 is 0"),
        ([2, 1.5, 2], r"n_clusters_per_task of task 1 is 1.5"),
        ([1, 1, 1], "n_clusters_per_task adds up to 3, below n_clusters=4: some cluster would be in no task"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"within_weight": 0.5}])
def test_numbers_per_task_are_checked(blobs, given, message, options):
    with pytest.raises(ValueError, match=message):
        SPMTC(4, n_clusters_per_task=given, **options).fit(blobs.X, tasks=blobs.tasks)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"within_weight": 0.5}, "init='search', or 'auto' with within_weight='auto'"),
        ({"init": "pooled"}, "init='search', or 'auto' with within_weight='auto'"),
    ],
)
def test_numbers_per_task_are_refused_where_nothing_follows_them(blobs, options, why):
    with pytest.raises(ValueError, match=f"n_clusters_per_task needs a search: {why}"):
        LSSMTC(4, n_clusters_per_task=[4, 4, 3], **options).fit(blobs.X, tasks=blobs.tasks)


# Few rows


@pytest.mark.parametrize("estimator", [SPMTC(4, random_state=0), LSSMTC(4, random_state=0)])
@pytest.mark.parametrize("options", [{}, {"metric": "euclidean"}, {"within_weight": 0.5}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_task_may_have_fewer_rows_than_there_are_clusters(blobs, estimator, options):
    few = (blobs.tasks != 2) | (np.cumsum(blobs.tasks == 2) <= 2)
    model = estimator.set_params(**options).fit(blobs.X[few], tasks=blobs.tasks[few])
    assert np.isfinite(model.losses_).all()
    assert model.cluster_presence_[2].sum() <= 2
    assert_array_equal(model.predict(blobs.X[few], tasks=blobs.tasks[few]), model.labels_)


def test_fewer_rows_in_all_than_clusters_are_refused(blobs):
    with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=4"):
        SPMTC(4).fit(blobs.X[:3], tasks=[0, 1, 2])


def test_a_start_of_ones_own_is_not_held_to_what_others_decided(different):
    """Clusters of a start have other numbers than those of the consensus."""
    X, y, tasks = different
    y = np.unique(y, return_inverse=True)[1]
    c = y.max() + 1
    for order in (np.arange(c), np.roll(np.arange(c), 2)):
        model = SPMTC(c, init=np.eye(c)[order[y]], random_state=0).fit(X, tasks=tasks)
        assert np.mean(model.labels_ == order[y]) > 0.95
