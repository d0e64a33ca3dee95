"""Data without clusters: the mean, the covariance and the tails of a task, and nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.certainty.reference import elliptical
from tests.certainty.tools import blobs


def mahalanobis(Y, mean, covariance):
    return np.sqrt(np.einsum("ij,jk,ik->i", Y - mean, np.linalg.inv(covariance), Y - mean))


def test_mean_and_covariance_are_kept():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(20_000, 3)) @ rng.normal(size=(3, 3)) + [5, -3, 1]
    drawn, u = elliptical(Y, np.ones(len(Y)), rng)
    assert drawn.shape == Y.shape
    assert_array_equal(u, 1)
    assert_allclose(drawn.mean(axis=0), Y.mean(axis=0), atol=0.05)
    assert_allclose(np.cov(drawn.T), np.cov(Y.T), atol=0.15)


def test_radii_are_those_of_the_rows_and_lend_their_weights():
    rng = np.random.default_rng(0)
    Y, u = rng.standard_t(3, size=(500, 3)), rng.uniform(0.1, 1, size=500)
    drawn, weights = elliptical(Y, u, rng)
    mean = np.average(Y, axis=0, weights=u)
    covariance = (u[:, None] * (Y - mean)).T @ (Y - mean) / u.sum()
    own, new = mahalanobis(Y, mean, covariance), mahalanobis(drawn, mean, covariance)
    at = np.abs(own[None] - new[:, None]).argmin(axis=1)
    assert_allclose(own[at], new, rtol=1e-8)
    assert_allclose(u[at], weights)


def test_clusters_are_gone():
    Y, _ = blobs([[-10, 0], [10, 0]], 500)
    drawn, _ = elliptical(Y, np.ones(len(Y)), np.random.default_rng(0))
    assert np.mean(np.abs(Y[:, 0]) < 4) == 0
    assert np.mean(np.abs(drawn[:, 0]) < 4) > 0.15


def test_in_one_dimension_two_clusters_are_not_two_again():
    Y, _ = blobs([[-10], [10]], 2000)
    drawn, _ = elliptical(Y, np.ones(len(Y)), np.random.default_rng(0))
    assert_allclose([drawn.mean(), drawn.std()], [Y.mean(), Y.std()], atol=0.5)
    density, _ = np.histogram(np.abs(drawn - Y.mean()), bins=8)
    assert np.all(np.diff(density) < 100)  # nowhere much denser than nearer to the mean
    one = np.random.default_rng(1).normal(size=(4000, 1))
    drawn, _ = elliptical(one, np.ones(len(one)), np.random.default_rng(0))
    assert_allclose(
        np.quantile(drawn, [0.1, 0.3, 0.5, 0.7, 0.9]), np.quantile(one, [0.1, 0.3, 0.5, 0.7, 0.9]), atol=0.1
    )


def test_directions_without_variance_stay_without():
    rng = np.random.default_rng(0)
    Y = np.c_[rng.normal(size=(100, 2)), np.full(100, 7.0)]
    assert_allclose(elliptical(Y, np.ones(100), rng)[0][:, 2], 7)


@pytest.mark.parametrize("Y", [np.zeros((1, 3)), np.ones((20, 2))])
def test_rows_without_any_variance_are_left_as_they_are(Y):
    drawn, u = elliptical(Y, np.ones(len(Y)), np.random.default_rng(0))
    assert_array_equal(drawn, Y)
    assert_array_equal(u, 1)
