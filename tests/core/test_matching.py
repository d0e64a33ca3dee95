"""Matching clusters: numbers do not matter."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from mtcluster.core.relations import adjusted_rand, match


def test_a_match_is_the_best_of_all_permutations():
    rng = np.random.default_rng(0)
    for _ in range(10):
        gain = rng.normal(size=(4, 4))
        best = max(permutations(range(4)), key=lambda order: sum(gain[i, j] for i, j in enumerate(order)))
        assert_array_equal(match(gain), best)


def test_a_match_finds_the_order_that_clusters_had():
    rng = np.random.default_rng(0)
    labels, order = rng.integers(5, size=60), rng.permutation(5)
    overlap = np.zeros((5, 5))
    np.add.at(overlap, (order[labels], labels), 1)
    assert_array_equal(match(overlap)[order], np.arange(5))


def test_clusters_without_rows_are_no_hindrance():
    overlap = np.zeros((4, 4))
    overlap[0, 2], overlap[1, 3] = 2, 1
    assert_array_equal(match(overlap)[:2], [2, 3])
    assert sorted(match(overlap)) == [0, 1, 2, 3]


@pytest.mark.parametrize("c", [1, 2, 5, 40])
def test_the_adjusted_rand_index_is_scikit_learns(c):
    rng = np.random.default_rng(c)
    a, noise = rng.integers(c, size=50), rng.integers(3, size=50)
    for b in (a, (a + 1) % c, np.where(noise, a, 0), rng.integers(c, size=50), np.zeros(50, dtype=int), np.arange(50)):
        assert adjusted_rand(a.astype(np.uint8), b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
        assert adjusted_rand(b, a) == pytest.approx(adjusted_rand(a, b), abs=1e-12)
