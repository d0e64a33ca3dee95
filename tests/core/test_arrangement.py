"""Matching clusters by the distances between their centres."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mtcluster.core import arrangement as arrangement_of_centers
from mtcluster.core.arrangement import Arrangement, distances, misfits, rank, stability, whitener


def never(D, E):
    raise AssertionError("all matchings can be looked at")


def arrangement(c, q, seed=0):
    return 5 * np.random.default_rng(seed).normal(size=(c, q))


def turned(C, seed=1):
    q = C.shape[1]
    return C @ np.linalg.qr(np.random.default_rng(seed).normal(size=(q, q)))[0]


def test_distances_are_euclidean():
    C = arrangement(5, 3)
    assert_allclose(distances(C), cdist(C, C), atol=1e-12)
    assert_allclose(distances(np.stack([C, 2 * C]))[1], 2 * distances(C))


def test_the_misfit_is_what_the_best_change_of_unit_leaves_over():
    D, E = distances(arrangement(4, 3)), distances(arrangement(4, 3, seed=1))
    i, j = np.triu_indices(4, 1)
    for order in permutations(range(4)):
        x, y = D[i, j], E[np.ix_(order, order)][i, j]
        s = x @ y / (y @ y)
        assert_allclose(misfits(D, E, np.array([order])), np.sum((x - s * y) ** 2) / np.sum(x**2))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_same_arrangement_is_found_again_in_any_order_turn_and_unit(unit):
    C = arrangement(5, 4)
    order = np.array([3, 0, 4, 1, 2])
    found = rank(distances(C), distances(unit * turned(C)[order]), never)
    assert_array_equal(order[found.best], np.arange(5))
    assert found.evidence > 0.99
    assert found.misfit < found.second_misfit


def test_the_second_best_is_the_next_of_all_permutations():
    D, E = distances(arrangement(4, 3)), distances(arrangement(4, 3, seed=1))
    maps = np.array(list(permutations(range(4))))
    costs = misfits(D, E, maps)
    best, second = np.argsort(costs)[:2]
    found = rank(D, E, never)
    assert_array_equal(found.best, maps[best])
    assert_array_equal(found.second, maps[second])
    assert_allclose([found.misfit, found.second_misfit], costs[[best, second]])
    assert_allclose(found.evidence, costs[best] ** -2.5 / np.sum(costs**-2.5))


def test_fewer_clusters_are_matched_with_some_of_the_others():
    C = arrangement(6, 4)
    found = rank(distances(C[[4, 0, 3, 1]]), distances(turned(C)), never)
    assert_array_equal(found.best, [4, 0, 3, 1])


@pytest.mark.parametrize(
    "C", [np.eye(4), np.array([[0.0], [1.0]]), np.zeros((3, 2)), np.array([[0, 0], [0, 1], [1, 0]])]
)
def test_symmetric_arrangements_have_no_best_matching(C):
    assert rank(distances(C), distances(C), never).evidence <= 0.5 + 1e-9


def test_unrelated_arrangements_have_little_evidence():
    found = [rank(distances(arrangement(5, 4, s)), distances(arrangement(5, 4, 100 + s)), never) for s in range(40)]
    assert np.mean([one.evidence >= 0.9 for one in found]) <= 0.05


def test_a_single_cluster_has_one_matching():
    found = rank(np.zeros((1, 1)), np.zeros((1, 1)), never)
    assert found.second is None
    assert found.evidence == 1
    assert stability(np.zeros((3, 1, 1)), np.zeros((3, 1, 1)), found) == 1


def test_exchanges_of_proposals_find_what_enumeration_finds(monkeypatch):
    C = arrangement(6, 4)
    D, E = distances(C[:5]), distances(turned(C)[::-1] + 0.1 * arrangement(6, 4, seed=3))
    whole = rank(D, E, never)
    monkeypatch.setattr(arrangement_of_centers, "ENUMERATED", 1)
    rng = np.random.default_rng(0)
    found = rank(D, E, lambda D, E: np.stack([rng.permutation(6)[:5] for _ in range(20)]))
    assert_array_equal(found.best, whole.best)
    assert_allclose(found.misfit, whole.misfit)
    drawn = np.stack([D] * 3), np.stack([E] * 3)
    assert stability(*drawn, found) == 1


def test_equal_matchings_are_not_stable():
    D = distances(np.eye(3))
    assert stability(np.stack([D] * 4), np.stack([D] * 4), rank(D, D, never)) == 0


def rows_around(C, n=400, seed=0):
    rng = np.random.default_rng(seed)
    return C[rng.integers(len(C), size=n)] + rng.normal(size=(n, C.shape[1]))


def test_units_of_columns_do_not_change_distances_in_a_shared_metric():
    C = arrangement(4, 3)
    Y, tasks, units = rows_around(C), np.zeros(400), np.array([1e-3, 1.0, 1e3])
    own = Arrangement(Y, tasks, C, np.eye(3)).distances()
    other = Arrangement(Y * units, tasks, C * units, np.diag(units**-2)).distances()
    assert_allclose(own, other)
    assert_allclose(own, distances(C), rtol=0.15)


def test_rows_that_are_drawn_again_vary_around_the_distances():
    C = arrangement(4, 3)
    seen = Arrangement(rows_around(C), np.repeat([0, 1], 200), C, None)
    drawn = seen.redrawn(50, np.random.default_rng(0))
    assert drawn.shape == (50, 4, 4)
    assert_allclose(drawn.mean(axis=0), seen.distances(), atol=0.5)
    assert np.all(drawn.std(axis=0)[np.triu_indices(4, 1)] > 0)


def test_a_cluster_without_rows_keeps_its_centre():
    C = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 50.0]])
    seen = Arrangement(np.zeros((5, 2)), np.zeros(5), C, None)
    assert_allclose(seen.redrawn(2, np.random.default_rng(0))[0], distances(C))


def test_a_whitener_of_many_rows_is_that_of_their_covariance():
    rng = np.random.default_rng(0)
    R = rng.normal(size=(20000, 3)) @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 3.0]])
    T = whitener(R)
    assert_allclose(np.linalg.inv(T @ T.T), R.T @ R / len(R), atol=0.02)


@pytest.mark.parametrize("R", [np.zeros((3, 2)), np.ones((1, 4)), np.random.default_rng(0).normal(size=(3, 20))])
def test_a_whitener_of_few_rows_is_finite(R):
    assert np.isfinite(whitener(R)).all()
