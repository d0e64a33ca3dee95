"""Sums that stand for rows, and groups of rows that no cluster explains."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mtcluster import LSSMTC, SPMTC
from mtcluster.core.births import find_birth
from mtcluster.core.streaming import begin


@pytest.mark.parametrize("settings", [{}, {"metric": "euclidean"}, {"task_offset": "matched"}, {"task_offset": "mean"}])
def test_the_sums_of_a_fitted_model_lead_back_to_it(blobs, settings):
    X, _, tasks = blobs
    fitted = SPMTC(4, random_state=0, **settings).fit(X, tasks=tasks)
    model, centers = fitted.fitted_.model, fitted.fitted_.centers
    kept = begin(model, centers, fitted.cluster_sizes_, (1.0, 1.0, np.ones(2)))
    found = kept.centers(model, "none", centers)
    assert_allclose(found.Ms, centers.Ms, atol=1e-8)
    if centers.geometry.estimated:
        spread = kept.spread(np.ones(3, dtype=bool))
        assert_allclose(spread.XX[0], spread.XX[0].T, atol=1e-6)
        assert_allclose(found.geometry.K, centers.geometry.K, rtol=0.2)  # pacing gave hard rows less weight


def test_forgetting_scales_all_sums(blobs):
    X, _, tasks = blobs
    fitted = LSSMTC(4, random_state=0).fit(X, tasks=tasks)
    model, centers = fitted.fitted_.model, fitted.fitted_.centers
    kept = begin(model, centers, fitted.cluster_sizes_, (1.0, 1.0, np.ones(2)))
    less = kept.forgotten(0.25)
    assert_allclose(less.S.sum(), 0.25 * len(X))
    assert_allclose(less.centers(model, "none", centers).Ms, kept.centers(model, "none", centers).Ms)


def cloud(center, n, rng):
    return np.asarray(center) + rng.normal(size=(n, 2))


def born(Y, labels, centers, tasks=None):
    losses = np.sum((Y - centers[labels]) ** 2, axis=1)
    tasks = np.zeros(len(Y), dtype=int) if tasks is None else tasks
    return find_birth(Y, np.ones(len(Y)), tasks, losses, labels, centers, np.array([12.0, 6.0]))


def test_a_group_beside_the_rows_of_its_nearest_cluster_is_born():
    rng, centers = np.random.default_rng(0), np.array([[0.0, 0.0], [20.0, 0.0]])
    Y = np.concatenate([cloud([0, 0], 40, rng), cloud([20, 0], 40, rng), cloud([0, 8], 20, rng)])
    group = born(Y, np.repeat([0, 1, 0], [40, 40, 20]), centers)
    assert group is not None
    assert group[80:].mean() > 0.8
    assert not group[:80].any()


def test_a_cluster_that_moved_is_not_born():
    rng, centers = np.random.default_rng(0), np.array([[0.0, 0.0], [20.0, 0.0]])
    Y = np.concatenate([cloud([0, 5], 40, rng), cloud([20, 0], 40, rng)])
    assert born(Y, np.repeat([0, 1], 40), centers) is None


def test_a_cluster_that_moved_in_one_task_alone_is_not_born():
    rng, centers = np.random.default_rng(0), np.array([[0.0, 0.0], [20.0, 0.0]])
    Y = np.concatenate([cloud([0, 0], 40, rng), cloud([0, 6], 40, rng)])
    assert born(Y, np.zeros(80, dtype=int), centers, np.repeat([0, 1], 40)) is None


def test_rows_farther_away_than_the_clusters_lie_apart_are_born_though_the_cluster_is_gone():
    rng, centers = np.random.default_rng(0), np.array([[0.0, 0.0], [20.0, 0.0]])
    Y = np.concatenate([cloud([-25, 0], 40, rng), cloud([20, 0], 40, rng)])
    group = born(Y, np.repeat([0, 1], 40), centers)
    assert group is not None
    assert group[:40].mean() > 0.8


def test_tails_and_scattered_outliers_are_not_born():
    rng, centers = np.random.default_rng(0), np.array([[0.0, 0.0], [20.0, 0.0]])
    Y = np.concatenate([rng.standard_t(3, size=(300, 2)), 200 * rng.normal(size=(10, 2))])
    assert born(Y, np.zeros(310, dtype=int), centers) is None
