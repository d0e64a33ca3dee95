"""Labels of other clusterers, described as models are."""

from operator import attrgetter

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mtcluster import SPMTC, Pooled
from mtcluster.inspection import LabelDescription, easiness, outlier_scores


def test_centres_sizes_and_losses_are_those_of_the_labels(blobs, as_container):
    X, y, tasks = blobs
    found = LabelDescription().fit(as_container(X), y, tasks=tasks)
    np.testing.assert_array_equal(found.labels_, y)
    for k in range(3):
        for j in range(4):
            own = X[(tasks == k) & (y == j)]
            assert found.cluster_sizes_[k, j] == len(own)
            np.testing.assert_allclose(found.task_centers_[k, j], own.mean(axis=0), atol=1e-10)
    losses = np.sum((X - found.task_centers_[tasks, y]) ** 2, axis=1)
    np.testing.assert_allclose(found.losses_, losses, atol=1e-9)
    pooled = np.stack([X[y == j].mean(axis=0) for j in range(4)])
    np.testing.assert_allclose(found.cluster_centers_, pooled, atol=1e-10)


def test_it_has_what_reports_and_pictures_read(blobs):
    X, y, tasks = blobs
    found, model = LabelDescription().fit(X, y, tasks=tasks), SPMTC(4, random_state=0).fit(X, tasks=tasks)
    assert {name for name in vars(model) if name.endswith("_")} == {*vars(found), "decisions_"} - {
        "method",
        "_n_features_out",
    }
    for name in ("memberships_", "task_relatedness_", "cluster_presence_", "weights_"):
        assert getattr(found, name).shape == getattr(model, name).shape, name
    for name in ("support", "rows.map", "rows.map_rows", "rows.tasks"):
        one, other = (attrgetter(name)(each.fitted_) for each in (found, model))
        assert one.shape == other.shape, name
    found.fitted_.check({"m": 3, "c": 4, "d": 6, "n": 120})


def test_a_label_that_a_task_has_not_is_there_with_no_rows(blobs):
    X, y, tasks = blobs
    y = np.where((tasks == 0) & (y == 3), 0, y)
    found = LabelDescription().fit(X, y, tasks=tasks)
    assert found.cluster_sizes_[0, 3] == 0
    assert found.fitted_.support[0, 3] == 0
    assert not found.cluster_presence_[0, 3]
    assert np.isfinite(found.task_centers_).all()


@pytest.mark.parametrize(
    ("labels", "words"), [([0, 1], "2 labels"), (np.full(120, -1), "from 0"), (np.zeros(120), "float64")]
)
def test_labels_that_are_none(labels, words, blobs):
    X, _, tasks = blobs
    with pytest.raises(ValueError, match=words):
        LabelDescription().fit(X, labels, tasks=tasks)


def test_clusters_that_follow_the_data_set_are_related_to_nothing(blobs):
    X, _, tasks = blobs
    apart = X + 100 * np.eye(3, 6)[tasks]
    labels = Pooled(KMeans(3, n_init=10, random_state=0)).fit(apart, tasks=tasks).labels_
    assert len(np.unique(labels[tasks == 0])) == 1
    assert LabelDescription().fit(apart, labels, tasks=tasks).fitted_.support.min() == 0


def test_easiness_is_a_rank_and_outlier_scores_are_multiples_in_each_task():
    rng = np.random.default_rng(0)
    losses, tasks = rng.gamma(2, size=101), np.r_[np.zeros(50, int), np.ones(51, int)]
    scaled = losses * np.where(tasks == 0, 1000, 1)
    np.testing.assert_allclose(easiness(losses, tasks), easiness(scaled, tasks))
    np.testing.assert_allclose(outlier_scores(losses, tasks), outlier_scores(scaled, tasks))
    assert sorted(easiness(losses, tasks)[tasks == 0]) == pytest.approx(np.arange(1, 51) / 50)
    assert np.median(outlier_scores(losses, tasks)[tasks == 1]) == 1


def test_rows_that_all_fit_exactly_are_all_easy():
    zeros, tasks = np.zeros(4), np.zeros(4, int)
    assert easiness(zeros, tasks).tolist() == [1, 1, 1, 1]
    assert outlier_scores(zeros, tasks).tolist() == [1, 1, 1, 1]
    assert np.isfinite(outlier_scores(np.array([0.0, 0, 0, 5]), tasks)).all()
