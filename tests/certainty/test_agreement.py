"""Agreement by hand, on a few labels."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.certainty.agreement import agreement
from tests.certainty.tools import refitted, setting

CODES = np.repeat([0, 1], 4)


def test_numbers_of_clusters_do_not_matter():
    given = setting([[0, 0, 1, 1], [0, 0, 1, 1]], 2)
    found = agreement(refitted(given, [1, 1, 0, 0, 1, 1, 0, 0]), CODES, np.ones(8))
    assert found.kept.all()
    assert_array_equal(found.clusters, [[1, 1]])
    assert_array_equal(found.cells, np.ones((1, 2, 2)))
    assert_array_equal(found.orders, [[[1, 0], [1, 0]]])


def test_jaccard_indices_by_cluster_and_by_task():
    given = setting([[0, 0, 1, 1], [0, 0, 1, 1]], 2)
    found = agreement(refitted(given, [0, 0, 1, 0, 0, 0, 1, 1]), CODES, np.ones(8))
    assert_array_equal(found.kept[0], [1, 1, 1, 0, 1, 1, 1, 1])
    assert_allclose(found.clusters, [[4 / 5, 3 / 4]])
    assert_allclose(found.cells, [[[2 / 3, 1 / 2], [1, 1]]])


def test_rows_count_by_their_weights():
    given = setting([[0, 0, 1, 1]], 2)
    weights = np.array([1.0, 1.0, 1.0, 4.0])
    found = agreement(refitted(given, [0, 0, 1, 0]), np.zeros(4, dtype=int), weights)
    assert_array_equal(found.kept[0], [0, 0, 0, 1])  # cluster 0 of the refit is mostly the heavy row
    assert_allclose(found.clusters, [[0, 4 / 7]])
    found = agreement(refitted(given, [0, 0, 1, 0]), np.zeros(4, dtype=int), np.ones(4))
    assert_array_equal(found.kept[0], [1, 1, 1, 0])


def test_a_cluster_without_rows_is_unknown():
    given = setting([[0, 0, 1, 1], [0, 0, 0, 0]], 3)
    found = agreement(refitted(given, [0, 0, 1, 1, 0, 0, 0, 0]), CODES, np.ones(8))
    assert_array_equal(found.clusters, [[1, 1, np.nan]])
    assert_array_equal(found.cells, [[[1, 1, np.nan], [1, np.nan, np.nan]]])


def test_tasks_that_are_left_alone_are_matched_on_their_own():
    labels = [1, 1, 0, 0, 0, 0, 1, 1]
    apart = agreement(refitted(setting([[0, 0, 1, 1], [0, 0, 1, 1]], 2, share=[1, 1]), labels), CODES, np.ones(8))
    assert apart.kept.all()
    assert_array_equal(apart.orders, [[[1, 0], [0, 1]]])
    together = agreement(refitted(setting([[0, 0, 1, 1], [0, 0, 1, 1]], 2), labels), CODES, np.ones(8))
    assert together.kept.mean() == 0.5


def test_a_task_that_was_left_out_does_not_help_with_the_matching():
    given = setting([[0, 0, 1, 1], [0, 0, 1, 1]], 2)
    found = agreement(refitted(given, [0, 0, 1, 1, 1, 1, 0, 0], [[1]]), CODES, np.ones(8))
    assert_array_equal(found.kept[0], [1, 1, 1, 1, 0, 0, 0, 0])


def test_clusters_that_no_other_task_holds_are_not_compared():
    given = setting([[0, 0, 1, 1], [2, 2, 1, 1]], 3, present=[[1, 1, 0], [0, 1, 1]])
    found = agreement(refitted(given, [0, 0, 1, 1, 0, 0, 1, 1], [[1]]), CODES, np.ones(8))
    assert found.kept.all()
    assert_array_equal(found.clusters[0, :2], [1, 1])
    assert np.isnan(found.clusters[0, 2])
