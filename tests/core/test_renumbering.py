"""Numbers of clusters that outlive a fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core.renumbering import Numbering, continued, resized


def numbers_of(common, moved=None, room=None):
    common = np.array(common, dtype=float)
    moved = np.zeros(common.shape) if moved is None else np.array(moved, dtype=float)
    return continued(common, moved, np.full(len(common), np.inf) if room is None else np.array(room, dtype=float))


def test_a_permutation_is_undone():
    assert_array_equal(numbers_of([[0, 9, 0], [0, 0, 7], [8, 0, 1]]), [2, 0, 1])


def test_a_new_cluster_is_not_forced_into_the_number_of_a_dead_one():
    assert_array_equal(numbers_of([[50, 40], [0, 3]]), [0, -1])  # three stray rows do not make it the dead one


def test_of_the_parts_of_a_cluster_the_larger_keeps_the_number():
    assert_array_equal(numbers_of([[30, 50]]), [-1, 0])


def test_of_two_that_were_one_the_one_that_stayed_keeps_the_number():
    assert_array_equal(numbers_of([[30, 50]], moved=[[0.1, 80]], room=[100]), [0, -1])


def test_a_cluster_as_far_away_as_another_would_be_is_another():
    assert_array_equal(numbers_of([[50]], moved=[[120]], room=[100]), [-1])
    assert_array_equal(numbers_of([[50]], moved=[[20]], room=[100]), [0])


def test_the_largest_of_those_that_merge_gives_its_number_unless_an_older_one_is_about_as_large():
    assert_array_equal(numbers_of([[20], [50]]), [1])
    assert_array_equal(numbers_of([[40], [50]]), [0])


def test_numbers_after_the_last():
    found = Numbering.after(np.array([2, -1, 0, -1]), 3)
    assert_array_equal(found.numbers, [2, 3, 0, 4])
    assert found.width == 5
    assert_array_equal(np.flatnonzero(found.absent), [1])


def test_arrays_have_room_for_clusters_that_are_no_more():
    found = Numbering.after(np.array([2, 0]), 3)
    assert_array_equal(found.spread(np.array([[5.0, 6.0]]), 1, 0.0), [[6, 0, 5]])
    kept = np.array([[1.0], [2.0], [3.0]])
    assert_array_equal(found.spread(np.array([[5.0], [6.0]]), 0, kept), [[6], [2], [5]])


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4, 6])
def test_labels_are_resized_to_any_number(n_clusters):
    rng = np.random.default_rng(0)
    Y = np.repeat([[0.0, 0], [10, 0], [0, 10], [10, 10]], 10, axis=0) + rng.normal(size=(40, 2))
    labels = np.repeat([7, 2, 5, 0], 10)
    found = np.concatenate(
        resized([Y[:20], Y[20:]], [np.ones(20), np.ones(20)], [labels[:20], labels[20:]], n_clusters)
    )
    assert sorted(set(found.tolist())) == list(range(n_clusters))
    if n_clusters >= 4:  # no part is in two of the old clusters
        assert all(len(set(labels[found == j])) == 1 for j in range(n_clusters))


def test_rows_that_do_not_differ_stay_together():
    [found] = resized([np.ones((5, 2))], [np.ones(5)], [np.zeros(5, dtype=int)], 3)
    assert_allclose(found, 0)
