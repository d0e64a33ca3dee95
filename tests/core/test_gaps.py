"""Missing values: losses over what is observed, conditional means, and an objective that never rises."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core.arrays import summarize
from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.centers import Centers
from mtcluster.core.gaps import completed, counted, empty_rows, patterns, without_values
from mtcluster.core.geometry import Identity, Tied
from mtcluster.core.memberships import Responsibilities
from mtcluster.core.pacing import Stages
from mtcluster.core.readout import read_out
from mtcluster.core.sharing import Offsets
from mtcluster.core.solver import alternate, first_state, solve

from .tools import model_with

NOWHERE = Offsets.none().take("R", 0)


def rows_with_gaps(sizes=(40, 30), d=5, share=0.25, seed=0, dtype=np.float64):
    """Rows of three clusters in each task, without some of their values, and their labels."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=4, size=(3, d))
    ys = [rng.integers(3, size=n) for n in sizes]
    Xs = [centers[y] + k + rng.normal(size=(len(y), d)) for k, y in enumerate(ys)]
    for X in Xs:
        gone = rng.random(X.shape) < share
        gone[gone.all(axis=1), 0] = False
        X[gone] = np.nan
    return [X.astype(dtype) for X in Xs], ys


def blocks_of(Xs):
    us = [np.ones(len(X), X.dtype) for X in Xs]
    origins = summarize(Xs, us).centers
    return Blocks([make_block(X, u, origin) for X, u, origin in zip(Xs, us, origins, strict=True)])


def models(d=5):
    """Models of all kinds that bear missing values."""
    prior = np.diag(np.linspace(0.5, 2, d))
    tied = Tied.of(prior)
    return {
        "euclidean": model_with(3, 0.4),
        "pooled": model_with(3, 0.0),
        "alone": model_with(3, 1.0),
        "matched": model_with(3, 0.4, matched=True),
        "metric": model_with(3, 0.4, geometry=tied),
        "metric, matched": model_with(3, 0.4, geometry=tied, matched=True),
        "metric, pooled": model_with(3, 0.0, geometry=tied),
        "metric, one alone": model_with(3, np.array([1.0, 0.3]), geometry=tied),
        "kappa": model_with(3, kappa=10.0, geometry=tied, matched=True),
        "mixture": model_with(3, kappa=5.0, geometry=tied, membership=Responsibilities(), proportions=True),
    }


@pytest.mark.parametrize("kind", models())
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_rises(kind, seed):
    Xs, _ = rows_with_gaps(seed=seed)
    rows, model = blocks_of(Xs), models()[kind]
    rng = np.random.default_rng(seed)
    state = first_state(rows, model, [[rng.integers(3, size=len(X)) for X in Xs]])
    [trace] = alternate(rows, model, state, max_iter=25, tol=0.0).traces
    assert np.all(np.diff(trace) <= 1e-9 * np.abs(trace[:-1]).max())
    assert np.isfinite(trace).all()


@pytest.mark.parametrize("kind", ["euclidean", "metric", "mixture"])
def test_runs_side_by_side_are_those_alone(kind):
    Xs, ys = rows_with_gaps()
    rows, model = blocks_of(Xs), models()[kind]
    others = [[np.random.default_rng(1).integers(3, size=len(X)) for X in Xs], ys]
    both = alternate(rows, model, first_state(rows, model, others), max_iter=5, tol=0.0).traces
    for start, trace in zip(others, both, strict=True):
        [alone] = alternate(rows, model, first_state(rows, model, [start]), max_iter=5, tol=0.0).traces
        assert_allclose(trace, alone, rtol=1e-9)


def observed_loss(x, M, A):
    """‖x − M‖² over what is observed, in the metric of the covariance there."""
    seen = ~np.isnan(x)
    S = np.linalg.inv(A)
    r = (x - M)[seen]
    return r @ np.linalg.inv(S[np.ix_(seen, seen)]) @ r


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_losses_are_those_of_what_is_observed(measured, share):
    (X,), _ = rows_with_gaps((20,))
    rng = np.random.default_rng(3)
    K = np.cov(rng.normal(size=(30, 5)).T) if measured else np.eye(5)
    Z, Ms = rng.normal(size=(3, 5)), rng.normal(size=(1, 3, 5))
    geometry = Tied.of(K) if measured else Identity()
    model = model_with(3, share, geometry=geometry)
    centers = Centers(None, None, Ms, Z, Z, np.ones((1, 3), dtype=bool), NOWHERE, geometry.take("R", 0))
    A = np.linalg.inv(K) if measured and share < 1 else np.eye(5)  # a task that shares nothing is Euclidean
    (labels,), (losses,), _ = read_out(blocks_of([X]).place, model=model, centers=centers)
    wanted = np.array(
        [[share * observed_loss(x, Ms[0, j], A) + (1 - share) * observed_loss(x, Z[j], A) for j in range(3)] for x in X]
    )
    assert_array_equal(labels, wanted.argmin(axis=1))
    assert_allclose(losses, wanted.min(axis=1) / np.mean(~np.isnan(X), axis=1), rtol=1e-8)


def test_missing_values_are_expected_at_their_conditional_mean():
    (X,), (y,) = rows_with_gaps((15,))
    rng = np.random.default_rng(0)
    K, Z = np.cov(rng.normal(size=(40, 5)).T), rng.normal(size=(3, 5))
    tied = Tied.of(K)
    model = model_with(3, 0.0, geometry=tied)
    centers = Centers(None, None, Z[None], Z, Z, np.ones((1, 3), dtype=bool), NOWHERE, tied.take("R", 0))
    rows = blocks_of([X])
    [block] = rows.place.blocks
    terms = model.terms(centers.take("R", None), rows.origins, gaps=True)
    found = completed(block, terms.gaps.of_task(0, block.sq, np), y)
    for x, whole, j in zip(X, found, y, strict=True):
        m, o = np.isnan(x), ~np.isnan(x)
        assert_array_equal(whole[o], x[o])
        mean = Z[j, m] + K[np.ix_(m, o)] @ np.linalg.solve(K[np.ix_(o, o)], x[o] - Z[j, o])
        assert_allclose(whole[m], mean, rtol=1e-7, atol=1e-9)


def test_a_mixture_fits_like_em_written_down_row_by_row():
    (X,), (y,) = rows_with_gaps((60,), d=3)
    K0 = np.eye(3)
    geometry = Tied.of(K0, strength=1e-9)
    model = model_with(3, kappa=np.inf, geometry=geometry, membership=Responsibilities(), proportions=True)
    rows = blocks_of([X])
    state = first_state(rows, model, [[y]])
    before = state.centers
    after = alternate(rows, model, state, max_iter=1, tol=0.0).state.centers
    Z, K, R = before.Z[0], before.geometry.K[0], np.eye(3)[y]
    filled, G = np.zeros((60, 3, 3)), np.zeros((3, 3))
    for i, j in itertools.product(range(60), range(3)):
        m, o = np.isnan(X[i]), ~np.isnan(X[i])
        filled[i, j] = np.where(m, 0, X[i])
        if m.any():
            B = K[np.ix_(m, o)] @ np.linalg.inv(K[np.ix_(o, o)])
            filled[i, j, m] = Z[j, m] + B @ (X[i, o] - Z[j, o])
            G[np.ix_(m, m)] += R[i, j] * (K[np.ix_(m, m)] - B @ K[np.ix_(o, m)])
    new = np.einsum("ij,ijd->jd", R, filled) / R.sum(axis=0)[:, None]
    G += np.einsum("ij,ijd,ije->de", R, filled - new, filled - new)
    assert_allclose(after.Z[0], new, rtol=1e-7, atol=1e-9)
    assert_allclose(after.geometry.K[0], G / 60, rtol=1e-6, atol=1e-8)


def test_centers_are_means_of_the_rows_that_have_a_coordinate():
    Xs, ys = rows_with_gaps()
    Xs[1][:, 2] = np.nan  # a column that a task lacks
    model = model_with(3, 0.5)
    centers = first_state(blocks_of([Xs[0], Xs[1]]), model, [ys]).centers
    X, y = np.concatenate(Xs), np.concatenate(ys)
    for j in range(3):
        assert_allclose(centers.Z[0, j], np.nanmean(X[y == j], axis=0))
        assert_allclose(centers.Ms[0, 0, j], np.nanmean(Xs[0][ys[0] == j], axis=0))
        assert centers.Ms[0, 1, j, 2] == centers.Z[0, j, 2]  # nobody knows better


def test_rows_with_gaps_do_not_look_easy_to_the_pace():
    X = np.array([[2.0, 2.0], [2.0, np.nan], [0.5, 0.5], [0.0, 0.1]])
    rows = Blocks([make_block(X, np.ones(4), np.zeros(2))])
    centers = np.zeros((1, 2))
    model = model_with(1, 0.0)
    place = Centers(None, None, centers[None], centers, centers, np.ones((1, 1), dtype=bool), NOWHERE)
    _, (L,), _ = read_out(rows.place, model=model, centers=place)
    assert_allclose(L, [8, 8, 0.5, 0.01])
    [v] = Stages().weights(rows, [np.array([[8.0, 4.0, 0.5, 0.01]])], 0.5)
    assert_array_equal(v[0], [0, 0, 1, 1])


def test_no_gaps_change_nothing():
    Xs, ys = rows_with_gaps(share=0.0)
    rows, model = blocks_of(Xs), models()["metric, matched"]
    assert not rows.gaps
    assert all(block.observed is None for block in rows.place.blocks)
    [fit] = solve(rows, model, Stages(), [ys])
    assert np.isfinite(fit.centers.Ms).all()


def test_float32_gives_nearly_the_same_centers():
    fits = []
    for dtype in (np.float32, np.float64):
        Xs, ys = rows_with_gaps(dtype=dtype)
        [fit] = solve(blocks_of(Xs), models()["metric"], Stages(), [ys])
        fits.append(fit.centers.Ms)
    assert_allclose(*fits, atol=1e-3)


def test_patterns_hold_every_missing_value_once():
    G = np.random.default_rng(0).random((50, 6)) < 0.3
    again = np.zeros_like(G)
    for group in patterns(G):
        again[group.rows[:, None], group.cells] = True
        assert_array_equal(group.kinds[group.pattern], group.cells)
    assert_array_equal(again, G)


def test_rows_without_any_value_count_nothing():
    X = np.array([[1.0, 2.0], [np.nan, np.nan], [np.nan, 3.0]])
    assert_array_equal(without_values(X), [False, True, False])
    assert_array_equal(counted(X, np.ones(3)), [1, 0, 1])
    assert without_values(np.ones((2, 2))) is None
    assert_array_equal(empty_rows(blocks_of([X]).place)[0][0], [False, True, False])
