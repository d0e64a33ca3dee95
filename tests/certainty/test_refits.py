"""Refits: parts of the rows, and the same model fitted to them again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.certainty.agreement import agreement
from mtcluster.certainty.refits import centered, folds, halves, located, refit
from tests.certainty.tools import blobs, by_task, setting, view

FAR = [[0, 0], [12, 0], [0, 12]]


@pytest.fixture(params=[True, False], ids=["measured", "plain"])
def far(request):
    """Two tasks with three clusters far apart: the view, and their labels task by task."""
    X, y = blobs(FAR, 40)
    tasks = np.arange(len(X)) % 2
    return view(X, tasks, measured=request.param), by_task(y, tasks)


def test_two_halves_make_up_all_rows():
    parts = halves([7, 4, 1], 6, np.random.default_rng(0))
    assert len(parts) == 6
    for first, second in zip(parts[::2], parts[1::2], strict=True):
        for a, b, size in zip(first.weights, second.weights, [7, 4, 1], strict=True):
            assert_array_equal(a + b, np.ones(size))
            assert abs(a.sum() - b.sum()) <= 1
        assert first.left_out == second.left_out == []
    assert any(not np.array_equal(parts[0].weights[0], part.weights[0]) for part in parts[2::2])


def test_an_odd_number_of_halves():
    assert len(halves([4], 3, np.random.default_rng(0))) == 3


def test_each_task_that_shares_is_left_out_once():
    sharing = np.array([True, True, False, True, True])
    parts = folds([2, 3, 4, 2, 1], sharing, 3, np.random.default_rng(0))
    assert len(parts) == 3
    assert sorted(k for part in parts for k in part.left_out) == [0, 1, 3, 4]
    for part in parts:
        for k, weights in enumerate(part.weights):
            assert_array_equal(weights, float(k not in part.left_out))


def test_one_task_that_shares_cannot_be_left_out():
    assert folds([5, 5], np.array([True, False]), 5, np.random.default_rng(0)) == []


@pytest.mark.parametrize("given", [True, False])
def test_refits_of_clusters_far_apart_agree_fully(far, given):
    seen, labels = far
    parts = halves([60, 60], 4, np.random.default_rng(0)) + folds(
        [60, 60], np.ones(2, bool), 5, np.random.default_rng(0)
    )
    fits = refit(seen.rows, setting(labels, 3), parts, seen.measured, 3, np.random.default_rng(0), given)
    assert fits.labels.shape == (6, 120)
    assert agreement(fits, seen.codes, seen.weights).kept.all()


def test_a_refit_does_not_know_the_rows_that_it_did_not_see(far):
    """Rows that do not count are labelled by centres that they did not move."""
    seen, labels = far
    parts = halves([60, 60], 2, np.random.default_rng(0))
    fits = refit(seen.rows, setting(labels, 3), parts, seen.measured, 2, np.random.default_rng(0))
    X = [block.X.astype(float) for block in seen.rows.place.blocks]
    for r, part in enumerate(parts):
        own = np.split(fits.labels[r], [60])
        rows = np.concatenate([x[w > 0] for x, w in zip(X, part.weights, strict=True)])
        found = np.concatenate([y[w > 0] for y, w in zip(own, part.weights, strict=True)])
        means = [rows[found == j].mean(axis=0) for j in range(3)]
        assert_allclose(fits.centers.Z[r], means, atol=1e-4)


def test_the_same_seed_gives_the_same_refits(far):
    seen, labels = far
    parts = halves([60, 60], 4, np.random.default_rng(0))
    first, second = (
        refit(seen.rows, setting(labels, 3), parts, seen.measured, 2, np.random.default_rng(1)) for _ in range(2)
    )
    assert_array_equal(first.labels, second.labels)


def test_tasks_that_are_left_alone_are_fitted_on_their_own():
    X, y = blobs(FAR, 20)
    X = np.r_[X, -X]  # the second task is another world
    seen = view(X, np.repeat([0, 1], 60), measured=False)
    given = setting([y, y], 3, share=[1, 1])
    fits = refit(seen.rows, given, halves([60, 60], 4, np.random.default_rng(0)), False, 2, np.random.default_rng(0))
    assert agreement(fits, seen.codes, seen.weights).kept.all()


def test_a_task_gets_no_more_clusters_than_it_holds(far):
    seen, labels = far
    given = setting([labels[0], np.minimum(labels[1], 1)], 3, present=[[1, 1, 1], [1, 1, 0]])
    parts = halves([60, 60], 4, np.random.default_rng(0))
    fits = refit(seen.rows, given, parts, seen.measured, 2, np.random.default_rng(0))
    assert all(len(np.unique(own[:60])) == 3 and len(np.unique(own[60:])) <= 2 for own in fits.labels)


def test_a_cluster_that_nobody_holds_is_never_used(far):
    seen, labels = far
    given = setting(labels, 5, present=np.repeat([[True, True, True, False, False]], 2, axis=0))
    assert given.anywhere.tolist() == [[True, True, True, False, False]] * 2
    parts = halves([60, 60], 4, np.random.default_rng(0))
    fits = refit(seen.rows, given, parts, seen.measured, 2, np.random.default_rng(0))
    assert fits.labels.max() == 2
    assert agreement(fits, seen.codes, seen.weights).kept.all()


def test_proportions_of_a_setting():
    given = setting([[0, 0, 1, 1], [0, 0, 0, 0]], 2, share=[0, 1])
    shares = given.log_shares([np.ones(4), np.ones(4)])
    assert_allclose(np.exp(shares), [[0.5, 0.5], [1, 1]])
    assert_array_equal(setting([[0, 1]], 2, labelled=False).log_shares([np.ones(2)]), 0)


def test_tasks_are_located_by_their_common_clusters():
    X, y = blobs(FAR, 50)
    shift = np.array([3.0, -2.0])
    seen = view(np.r_[X, X[y < 2] + shift], np.r_[np.zeros(150, int), np.ones(100, int)], measured=False)
    b = located(seen.rows, [y, y[y < 2]], 3) * seen.embedding.unit
    assert_allclose(b[1] - b[0], shift, atol=1e-3)
    means = centered(seen.rows) * seen.embedding.unit
    assert np.abs(means[1] - means[0] - shift).max() > 1  # the second task lacks a cluster
