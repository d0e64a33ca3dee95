"""Gaps between clusters."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mtcluster.certainty.gaps import gaps, whitener


def worst(Y, c):
    """The narrowest gap between clusters of every other row, measured on the rows in between."""
    model = KMeans(c, n_init=5, random_state=0).fit(Y[::2])
    found = gaps(Y[::2], model.labels_, Y[1::2], model.predict(Y[1::2]), c)
    assert np.isnan(found[np.tril_indices(c)]).all()
    return np.nanmax(found)


def separated(separation, c, d, n=600, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(c, d))
    near = min(np.linalg.norm(centers[i] - centers[j]) for i in range(c) for j in range(i))
    return (centers * separation / near)[rng.integers(0, c, n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize("d", [2, 5, 20])
@pytest.mark.parametrize("c", [2, 4])
def test_clusters_far_apart_have_a_gap(c, d):
    assert worst(separated(8, c, d), c) < 0.65


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("c", [2, 4])
def test_parts_of_one_distribution_have_none(draw, c, d):
    assert worst(getattr(np.random.default_rng(0), draw)(size=(600, d)), c) > 0.9


def test_a_path_may_be_curved():
    t = np.random.default_rng(0).uniform(0, 4.5, 1000)
    Y = 5 * np.c_[np.cos(t), np.sin(t)] + 0.5 * np.random.default_rng(1).normal(size=(1000, 2))
    assert worst(Y, 4) > 0.9


def test_units_do_not_matter():
    Y = separated(5, 3, 4)
    scale = np.array([1e-3, 1, 1e3, 10])
    labels = KMeans(3, n_init=5, random_state=0).fit_predict(Y)
    found = [gaps(X[::2], labels[::2], X[1::2], labels[1::2], 3) for X in (Y, Y * scale)]
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_whitened_clusters_are_round():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(5000, 3)) @ rng.normal(size=(3, 3))
    np.testing.assert_allclose(np.cov((Y @ whitener(Y, np.zeros(5000, dtype=int), 1)).T), np.eye(3), atol=0.15)


def test_one_cluster_has_no_neighbour():
    Y = np.random.default_rng(0).normal(size=(20, 2))
    assert np.isnan(gaps(Y, np.zeros(20, dtype=int), Y, np.zeros(20, dtype=int), 2)).all()
