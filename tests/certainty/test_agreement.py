"""How far labellings agree."""

import numpy as np
import pytest

from mtcluster.certainty.agreement import agreement, known_mean
from mtcluster.certainty.parts import halves


def test_names_of_clusters_do_not_matter():
    labels = np.array([0, 0, 1, 1, 2, 2])
    found = agreement(labels, np.array([[2, 2, 0, 0, 1, 1]]), np.zeros(6, dtype=int))
    assert found.kept.all()
    assert found.within.all()
    np.testing.assert_array_equal(found.clusters, [[1, 1, 1]])


def test_clusters_that_are_found_in_each_task_need_not_correspond():
    labels, tasks = np.tile([0, 0, 1, 1], 2), np.repeat([0, 1], 4)
    swapped = np.where(tasks == 1, 1 - labels, labels)
    found = agreement(labels, swapped[None], tasks)
    assert found.within.all()
    assert found.kept.mean() == 0.5


def test_jaccard_of_clusters_and_cells():
    labels, other, tasks = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 0, 1])
    found = agreement(labels, other[None], tasks)
    np.testing.assert_allclose(found.clusters[0], [2 / 3, 3 / 4])
    np.testing.assert_allclose(found.cells[0], [[1, 1], [0, 2 / 3]])


def test_no_cluster_is_a_label_of_its_own():
    found = agreement(np.array([-1, 0, 0, 1]), np.array([[-1, 1, 1, 0]]), np.zeros(4, dtype=int))
    assert found.kept.all()


@pytest.mark.parametrize("n", [2, 3, 4])
def test_each_two_halves_make_up_all_rows(n):
    found = halves([7, 1, 4], n, np.random.default_rng(0))
    assert len(found) == n
    for first, second in zip(found[::2], found[1::2], strict=False):
        for k, size in enumerate([7, 1, 4]):
            assert sorted([*first[k], *second[k]]) == list(range(size))
            assert abs(len(first[k]) - size / 2) <= 0.5


def test_mean_of_what_is_known():
    np.testing.assert_array_equal(known_mean(np.array([[1, np.nan, np.nan], [3, 2, np.nan]])), [2, 2, np.nan])
