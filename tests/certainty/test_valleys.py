"""Gaps: nothing between two clusters far apart, everything in the middle of one cluster that was cut."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.certainty.agreement import agreement
from mtcluster.certainty.refits import halves, refit
from mtcluster.certainty.valleys import counts, ratios
from tests.certainty.tools import blobs, by_task, setting, view


def between(X, labels, c, tasks=None, measured=True, n=6, **others):
    tasks = np.zeros(len(X), dtype=int) if tasks is None else tasks
    seen = view(X, tasks, measured)
    given = setting(by_task(labels, tasks), c, dimensions=X.shape[1], **others)
    sizes = np.bincount(tasks).tolist()
    fits = refit(seen.rows, given, halves(sizes, n, np.random.default_rng(0)), measured, 2, np.random.default_rng(0))
    orders = agreement(fits, seen.codes, seen.weights).orders
    return counts(seen.rows, fits, orders, seen.codes, seen.weights)


@pytest.mark.parametrize("measured", [True, False])
def test_there_is_nothing_between_two_clusters_far_apart(measured):
    X, y = blobs([[0, 0], [12, 0]], 200)
    found = between(X, y, 2, measured=measured)
    assert found[0, 1, 0] == 0
    assert ratios(found)[0, 1] < 0.02
    assert np.isnan(ratios(found)[1, 0])


def test_one_gaussian_that_is_cut_is_densest_in_the_middle():
    X = np.random.default_rng(0).normal(size=(600, 2)) * [3, 1]
    assert ratios(between(X, (X[:, 0] > 0).astype(int), 2))[0, 1] > 1.2


def test_a_square_that_is_cut_is_as_dense_everywhere():
    X = np.random.default_rng(0).uniform(size=(1500, 2)) * [2, 1]
    assert ratios(between(X, (X[:, 0] > 1).astype(int), 2))[0, 1] == pytest.approx(1, abs=0.15)


def test_each_row_counts_about_once_however_many_refits():
    X, y = blobs([[0, 0], [12, 0]], 200)
    few, many = between(X, y, 2, n=2), between(X, y, 2, n=8)
    assert_allclose(few[0, 1, 1:], many[0, 1, 1:], rtol=0.1)
    assert many.sum() <= len(X)


def test_clusters_with_another_in_between_are_no_neighbours():
    X, y = blobs([[0, 0], [10, 0], [20, 0]], 100)
    found = ratios(between(X, y, 3))
    assert np.isfinite(found[0, 1])
    assert np.isfinite(found[1, 2])
    assert np.isnan(found[0, 2])


def test_numbers_of_clusters_do_not_matter():
    X, y = blobs([[0, 0], [10, 0], [20, 0]], 100)
    new = np.array([2, 0, 1])
    found, renamed = ratios(between(X, y, 3)), ratios(between(X, new[y], 3))
    assert np.isnan(renamed[1, 2])  # what was 0 and 2
    assert_allclose([renamed[0, 2], renamed[0, 1]], [found[0, 1], found[1, 2]], atol=0.01)


def test_tasks_that_are_left_alone_have_their_own_clusters():
    """The numbers of one task mean nothing in the other, and yet there is a gap in both."""
    X, y = blobs([[0, 0], [12, 0]], 150)
    tasks = np.repeat([0, 1], 300)
    found = between(np.r_[X, X @ [[0, 1], [1, 0]]], np.r_[y, 1 - y], 2, tasks, measured=False, share=[1, 1])
    assert found[0, 1, 0] == 0
    assert found[0, 1, 1:].min() > 50


def test_a_cluster_that_a_task_lacks_is_no_neighbour_there():
    X, y = blobs([[0, 0], [12, 0]], 100)
    tasks = np.r_[np.arange(100) % 2, np.zeros(100, int)]
    found = between(X, y, 2, tasks, present=[[1, 1], [1, 0]])
    assert np.isfinite(ratios(found)[0, 1])
    alone = between(X[:100], y[:100], 2, tasks[:100], present=[[1, 0], [1, 0]])
    assert_array_equal(alone, 0)


def test_ratios_by_hand():
    found = np.zeros((3, 3, 3))
    found[0, 1], found[1, 2] = [9.5, 19.5, 99.5], [0, 4.5, 2.0]
    assert_allclose(ratios(found)[[0, 1], [1, 2]], [0.5, 0.2])
    assert np.isnan(ratios(found)[0, 2])


def test_gaps_do_not_depend_on_units_of_columns():
    X, y = blobs([[0, 0], [4, 0]], 200)
    one, other = (ratios(between(X * scale, y, 2))[0, 1] for scale in ([1, 1], [1, 1000]))
    assert one == pytest.approx(other, abs=0.02)
