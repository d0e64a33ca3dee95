"""Judging labels by the rows alone: shifts are told from composition, and nothing else matters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.cluster import KMeans

from mtcluster import PerTask, Pooled
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import judge_labels

KMEANS = KMeans(6, n_init=10, random_state=0)
OPTIONS = {"n_samples": 150, "n_tasks": 4, "n_clusters": 6}


def values(judgement):
    return [judgement.explained, judgement.correspondence, judgement.shift, judgement.cost]


def by_least_squares(X, labels, tasks):
    """The same with one large design matrix."""
    design = np.hstack([np.eye(tasks.max() + 1)[tasks], np.eye(labels.max() + 1)[labels]])
    rest = X - design @ np.linalg.lstsq(design, X, rcond=None)[0]
    means = np.stack([X[tasks == k].mean(axis=0) for k in range(tasks.max() + 1)])
    return 1 - np.sum(rest**2) / np.sum((X - means[tasks]) ** 2)


@pytest.mark.parametrize("absent", [0.0, 0.4])
def test_explained_is_that_of_the_linear_model(absent):
    X, y, tasks = make_multitask_blobs(**OPTIONS, absent=absent, offset=1, random_state=0)
    assert_allclose(judge_labels(X, y, tasks=tasks).explained, by_least_squares(X, y, tasks))


@pytest.mark.parametrize("offset", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("absent", [0.0, 0.2, 0.4])
def test_where_tasks_lie_apart_pooled_clusters_describe_them_worse(absent, offset):
    X, _, tasks = make_multitask_blobs(**OPTIONS, absent=absent, offset=offset, random_state=0)
    pooled = judge_labels(X, Pooled(KMEANS).fit(X, tasks=tasks).labels_, tasks=tasks)
    centered = judge_labels(X, Pooled(KMEANS, center=True).fit(X, tasks=tasks).labels_, tasks=tasks)
    assert centered.cost < pooled.cost


def different_contents():
    """Two clusters; one task holds both, the others one each; nothing is shifted."""
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(100) % 2, np.zeros(100, dtype=int), np.ones(100, dtype=int)]
    X = rng.normal(size=(300, 5)) + 4 * y[:, None]
    return X, y, np.repeat([0, 1, 2], 100)


def test_tasks_that_hold_different_clusters_are_not_held_against_the_right_answer():
    X, y, tasks = different_contents()
    right = judge_labels(X, y, tasks=tasks)
    centered = judge_labels(X, Pooled(KMeans(2, n_init=10, random_state=0), center=True).fit(X, tasks=tasks).labels_,
                            tasks=tasks)  # fmt: skip
    assert right.correspondence > 0.99
    assert right.shift < 0.01
    assert centered.shift > 0.2
    assert right.cost < centered.cost


def test_where_location_and_contents_cannot_be_told_apart_the_smaller_shift_is_taken():
    X, y, tasks = different_contents()
    alone = tasks > 0
    judged = judge_labels(X[alone], y[alone], tasks=tasks[alone])  # each task has its own cluster
    assert judged.shift == pytest.approx(0, abs=1e-12)
    assert judged.correspondence == 1


def test_numbers_that_do_not_correspond_are_seen():
    X, y, tasks = make_multitask_blobs(**OPTIONS, random_state=0)
    mixed = judge_labels(X, PerTask(KMEANS).fit(X, tasks=tasks).labels_, tasks=tasks)
    right = judge_labels(X, y, tasks=tasks)
    assert mixed.correspondence < 0.5 < 0.9 < right.correspondence


def test_the_form_of_rows_and_the_names_of_clusters_make_no_difference():
    X, y, tasks = make_multitask_blobs(**OPTIONS, absent=0.2, offset=1, random_state=0)
    expected = values(judge_labels(X, y, tasks=tasks))
    assert_allclose(values(judge_labels(sparse.csr_matrix(X), y, tasks=tasks)), expected)
    assert_allclose(values(judge_labels(X, np.array(list("abcdef"))[y], tasks=[f"t{k}" for k in tasks])), expected)
    assert_allclose(values(judge_labels(3 * X + 100, y, tasks=tasks)), expected, rtol=1e-6)
    order = np.argsort(tasks, kind="stable")
    assert_allclose(values(judge_labels([X[tasks == k] for k in range(4)], y[order])), expected)


def test_the_cost_does_not_depend_on_units_nor_on_features_that_repeat_others():
    X, y, tasks = make_multitask_blobs(**OPTIONS, absent=0.2, offset=1, random_state=0)
    expected = judge_labels(X, y, tasks=tasks).cost
    turned = X @ np.random.default_rng(0).normal(size=(10, 10))
    for other in (X * np.logspace(-3, 3, 10), turned, np.hstack([X, X[:, :3], np.ones((len(X), 1))])):
        assert judge_labels(other, y, tasks=tasks).cost == pytest.approx(expected, rel=1e-6)


def test_clusters_that_are_long_in_one_direction_are_judged_by_their_width():
    """k-means cuts them across; classes cost less."""
    X, y, tasks = make_multitask_blobs(200, 5, n_clusters=3, correlation=0.95, cluster_std=2.0, random_state=0)
    cut = judge_labels(X, Pooled(KMeans(3, n_init=10, random_state=0)).fit(X, tasks=tasks).labels_, tasks=tasks)
    right = judge_labels(X, y, tasks=tasks)
    assert cut.explained > right.explained
    assert cut.cost > right.cost


def test_many_features_are_judged_in_their_leading_directions():
    rng = np.random.default_rng(0)
    X, y, tasks = make_multitask_blobs(**OPTIONS, random_state=0)
    wide = np.hstack([X, 0.01 * rng.normal(size=(len(X), 90))])
    judged = judge_labels(wide, y, tasks=tasks)
    assert judged.explained == pytest.approx(judge_labels(X, y, tasks=tasks).explained, abs=0.01)
    thin = judge_labels(sparse.csr_matrix(wide), y, tasks=tasks)
    assert thin.explained == pytest.approx(judged.explained, abs=0.01)


def test_rows_that_are_all_alike_are_no_problem():
    judged = judge_labels(np.ones((6, 2)), [0, 0, 1, 1, 0, 1], tasks=[0, 0, 0, 1, 1, 1])
    assert judged.correspondence == 1
    assert np.isfinite(judged.cost)


def test_as_many_labels_as_rows_are_needed():
    with pytest.raises(ValueError, match="labels has 2 entries, but X has 3 rows"):
        judge_labels(np.eye(3), [0, 1])
