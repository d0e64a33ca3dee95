"""Matching clusters: numbers do not matter."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from mtcluster.core.relations import adjusted_rand, match, renumber


def test_a_match_is_the_best_of_all_permutations():
    rng = np.random.default_rng(0)
    for _ in range(10):
        gain = rng.normal(size=(4, 4))
        best = max(permutations(range(4)), key=lambda order: sum(gain[i, j] for i, j in enumerate(order)))
        assert_array_equal(match(gain), best)


def test_renumbered_labels_agree_with_the_reference_they_were_made_from():
    rng = np.random.default_rng(0)
    labels, order = rng.integers(5, size=60), rng.permutation(5)
    assert_array_equal(renumber(order[labels], np.eye(5)[labels]), labels)


def test_renumbering_changes_numbers_and_no_cluster():
    rng = np.random.default_rng(0)
    labels, reference = rng.integers(4, size=50), rng.random((50, 4))
    found = renumber(labels, reference)
    for j in range(4):
        assert len(set(found[labels == j])) == 1
    assert len(set(found)) == len(set(labels))


def test_renumbering_maximises_the_agreement_with_shares():
    rng = np.random.default_rng(0)
    labels, reference = rng.integers(3, size=30), rng.random((30, 3))
    at = np.arange(30)
    best = max(reference[at, np.array(order)[labels]].sum() for order in permutations(range(3)))
    assert np.isclose(reference[at, renumber(labels, reference)].sum(), best)


def test_clusters_without_rows_are_no_hindrance():
    reference = np.eye(4)[[2, 2, 3]]
    assert_array_equal(renumber(np.array([0, 0, 1]), reference), [2, 2, 3])


@pytest.mark.parametrize("c", [1, 2, 5, 40])
def test_the_adjusted_rand_index_is_scikit_learns(c):
    rng = np.random.default_rng(c)
    a, noise = rng.integers(c, size=50), rng.integers(3, size=50)
    for b in (a, (a + 1) % c, np.where(noise, a, 0), rng.integers(c, size=50), np.zeros(50, dtype=int), np.arange(50)):
        assert adjusted_rand(a.astype(np.uint8), b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
        assert adjusted_rand(b, a) == pytest.approx(adjusted_rand(a, b), abs=1e-12)
