"""Covariances of clusters: each form agrees with matrices that are written out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mtcluster.core.covariances import COVARIANCES, Own
from mtcluster.core.geometry import Tied

R, M, C, D, N = 2, 3, 4, 5, 30


def spread_out(K, d=D):
    """Covariances of any form as matrices."""
    if K.ndim == 4:
        return K
    return K[..., None] * np.eye(d) if K.ndim == 3 else K[..., None, None] * np.eye(d)


NOBODY, BASE = np.zeros(M, dtype=bool), Tied.of(np.eye(D))


@pytest.fixture(params=COVARIANCES)
def form(request):
    return COVARIANCES[request.param].of(BASE, 3.0)


def at(form, K, common=None):
    """The form with some covariances."""
    return replace(form, K=K, common=common)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def covariances(form, rng):
    """Some covariances (R, c, …) of the form."""
    Y = rng.normal(size=(R, 8, C, D))
    return form.outer(Y, Y)


def test_products_determinants_and_traces_are_those_of_the_matrices(form, rng, covariances):
    full, points = spread_out(covariances), rng.normal(size=(R, M, C, D))
    A = np.linalg.inv(full)
    assert_allclose(at(form, covariances).times(points, NOBODY), np.einsum("rkci,rcij->rkcj", points, A))
    assert_allclose(at(form, covariances).log_determinants(D), np.linalg.slogdet(full)[1])
    common = covariances[:, 0]
    assert_allclose(at(form, covariances, common).traces(D), np.einsum("rcij,rji->rc", A, full[:, 0]))


def test_energies_and_moments_of_rows(form, rng, covariances):
    X, origin = rng.normal(size=(N, D)), rng.normal(size=D)
    Y, F = X - origin, rng.random((R, C, N))
    own = Own(form, at(form, covariances).factors(), origin[None]).of_task(0, X[:, 0], np)
    sq, A = np.sum(Y**2, axis=1), np.linalg.inv(spread_out(covariances))
    assert_allclose(own.energies(X, sq, np), np.einsum("ni,rcij,nj->rcn", Y, A, Y))
    expected = sum(form.outer(F[:, None, :, i, None] * Y[i], np.broadcast_to(Y[i], (R, 1, C, D))) for i in range(N))
    assert_allclose(own.moments(X, sq, F, np), expected)


def test_an_offset_minimises_what_it_should(form, rng, covariances):
    Y, weights = rng.normal(size=(R, M, C, D)), rng.random((R, M, C))

    def cost(b):
        apart = Y - b[:, :, None]
        return np.einsum("rkc,rkcd,rkcd->rk", weights, at(form, covariances).times(apart, NOBODY), apart)

    best = at(form, covariances).mean(Y, weights)
    for _ in range(5):
        assert (cost(best) <= cost(best + 0.01 * rng.normal(size=best.shape))).all()


def test_the_estimate_minimises_the_penalised_objective(form, rng, covariances):
    sizes, common = np.full((R, C), 20.0), covariances.mean(axis=1)
    G = 20 * covariances

    def objective(K):
        one = at(form, K, common)
        found = sizes * one.log_determinants(D) + np.einsum(
            "rcij,rcji->rc", spread_out(G), np.linalg.inv(spread_out(K))
        )
        return found.sum(axis=1) + one.penalty(np.zeros(R), D)

    best = at(form, covariances, common).estimate(BASE, G, sizes, D).K
    for factor in (0.97, 1.03):
        assert (objective(best) < objective(factor * best)).all()
    some = rng.normal(size=(R, 1, C, D))
    assert (objective(best) < objective(best + 1e-3 * form.outer(some, some))).all()


def test_a_cluster_without_rows_has_the_common_covariance(form, covariances):
    common = covariances[:, 0]
    found = at(form, covariances, common).estimate(BASE, np.zeros_like(covariances), np.zeros((R, C)), D).K
    assert_allclose(found, np.broadcast_to(common[:, None], found.shape))


def test_drawn_noise_has_the_covariance(form, rng, covariances):
    one = at(form, covariances[0])
    found = np.cov(one.draw(rng.standard_normal((100_000, D)), 0).T)
    expected = spread_out(covariances)[0, 0]
    assert_allclose(found, expected, atol=0.03 * np.abs(expected).max())


@pytest.mark.parametrize("name", COVARIANCES)
def test_the_common_covariance_of_wide_rows_is_that_of_the_matrix(name, rng):
    V = np.linalg.qr(rng.normal(size=(D, 2)))[0]
    K = np.array([[[2.0, 0.5], [0.5, 1.0]]])
    base = Tied(K[0], V, K, np.array([0.3]))
    S = V @ K[0] @ V.T + 0.3 * (np.eye(D) - V @ V.T)
    expected = {"full": S, "diag": np.diag(S), "spherical": np.trace(S) / D}[name]
    assert_allclose(COVARIANCES[name].in_common(base, D)[0], expected)


def test_sums_that_are_rounding_errors_make_covariances_all_the_same(form):
    common = form.in_common(BASE, D)
    shape = (1, 2, *common.shape[1:])
    G = np.broadcast_to(np.diag([1e8, -3e3, 1.0, -2.0, 5.0][:D]) if common.ndim == 3 else -3e3, shape)
    found = form.estimate(BASE, G, np.array([[10.0, 0.0]]), D)
    K = found.K
    values = np.linalg.eigvalsh(K) if common.ndim == 3 else K
    assert values.min() >= 3 / 13 - 1e-6
    assert np.isfinite(found.log_determinants(D)).all()
