"""The temperature of probabilities, and what is made of it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core import calibration
from mtcluster.core.geometry import Tied
from mtcluster.core.pacing import Stages
from mtcluster.core.readout import probabilities, read_out, softened
from tests.core.tools import model_of, quadratic, rows_of, solved, weighting_of


def tasks_of(rng, sizes=(120, 90), d=5, gap=4.0):
    """Three round clusters in each task, and their numbers."""
    M = np.eye(3, d) * gap
    ys = [rng.integers(3, size=n) for n in sizes]
    return [M[y] + rng.normal(size=(len(y), d)) for y in ys], ys


def fitted(Xs, ys, model):
    rows = rows_of(Xs, model)
    return rows, solved(rows, model, Stages(), ys).centers


def temperature(rows, model, centers, seed=0):
    return calibration.temperatures(rows, model, Stages(), centers, np.random.default_rng(seed))


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_the_temperature_of_round_clusters_is_their_variance(lam):
    Xs, ys = tasks_of(np.random.default_rng(0), (1500, 1200))
    model = model_of(lam, 3)
    rows, centers = fitted(Xs, ys, model)
    assert_allclose(temperature(rows, model, centers), 1, rtol=0.1)
    rows, centers = fitted([X * 20 for X in Xs], ys, model)
    assert_allclose(temperature(rows, model, centers), 400, rtol=0.1)


def test_many_features_and_few_rows_raise_it():
    Xs, ys = tasks_of(np.random.default_rng(0), (40, 40), d=60, gap=5.0)
    model = model_of(0.5, 3)
    assert temperature(*_swapped(*fitted(Xs, ys, model), model))[0] > 1.3


def _swapped(rows, centers, model):
    return rows, model, centers


def test_distances_along_the_directions_of_the_centers_are_those_of_the_projected_rows():
    rng = np.random.default_rng(0)
    Xs, ys = tasks_of(rng, (30, 20))
    S = np.cov(rng.normal(size=(30, 5)).T)
    model = replace(model_of(0.4, 3), geometry=Tied.of(S))
    rows, centers = fitted(Xs, ys, model)
    runs = centers.take("R", None)
    none = [np.zeros((1, len(X)), dtype=bool) for X in Xs]
    seen = list(calibration._compared(rows, model, runs, ys, none, [1.0, 1.0]))
    A = np.linalg.inv(centers.geometry.K)
    root = np.linalg.cholesky(A)
    for k, (X, part) in enumerate(zip(Xs, seen, strict=True)):
        E = (0.4 * centers.Ms[k] + 0.6 * centers.placed[k]) @ root
        Q = np.linalg.svd(E - E.mean(axis=0), full_matrices=False)[2][:2]
        wanted = np.sum((((X @ root)[:, None] - E) @ Q.T) ** 2, axis=2)
        assert_allclose(part.far, wanted.T, atol=1e-8)
        assert_array_equal(part.q, 2)
        assert_array_equal(part.S.max(axis=0), 0)


def test_halves_are_balanced_and_each_row_is_held_out_as_often_as_fitted():
    halves = calibration._halves([1, 1, 7, 40], np.random.default_rng(0))
    for half in halves:
        assert_array_equal(half.sum(axis=0), 3)
    assert set(np.abs(sum(half.sum(axis=1) for half in halves) - 24.5)) == {0.5}


def test_one_cluster_one_row_and_equal_centers_have_the_temperature_1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    one = model_of(0.5, 1, c=1)
    assert_array_equal(temperature(*_swapped(*fitted([X], [np.zeros(20, int)], one), one)), 1)
    model = model_of(0.5, 3)
    for rows in (X[:1], np.ones((20, 3))):
        ys = [np.arange(len(rows)) % 3]
        assert_array_equal(temperature(*_swapped(*fitted([rows], ys, model), model)), 1)


def test_clusters_without_any_variance_are_certain():
    X = np.repeat(np.eye(3) * 5, 10, axis=0)
    model = model_of(0.5, 3)
    rows, centers = fitted([X], [np.repeat(np.arange(3), 10)], model)
    T = temperature(rows, model, centers)
    assert np.all((T > 0) & (T < 1e-3))
    [P], _ = rows.apply(partial(probabilities, model=model, centers=centers, temperatures=T.tolist()))
    assert_array_equal(P, np.repeat(np.eye(3), 10, axis=0))


def test_tasks_left_alone_have_a_temperature_of_their_own():
    Xs, ys = tasks_of(np.random.default_rng(0), (300, 300, 300))
    Xs[2] = 30 * Xs[2]
    model = replace(model_of(np.array([0.3, 0.3, 1.0]), 3), geometry=Tied.of(np.eye(5)))
    T = temperature(*_swapped(*fitted(Xs, ys, model), model))
    assert T[0] == T[1]
    assert_allclose(T[:2], 1, rtol=0.2)
    assert_allclose(T[2], 900, rtol=0.2)


def test_few_rows_far_away_that_have_little_weight_hardly_raise_it():
    rng = np.random.default_rng(0)
    Xs, ys = tasks_of(rng, (600, 500))
    model = model_of(0.5, 3)
    rows, centers = fitted(Xs, ys, model)
    far = [np.vstack([X, X[:15] + 40 * rng.normal(size=(15, 5))]) for X in Xs]
    pace = Stages(weighting=weighting_of("soft", share=0.9))
    found = calibration.temperatures(rows_of(far, model), model, pace, centers, np.random.default_rng(0))
    assert found[0] < 1.5 * temperature(rows, model, centers)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_label_has_the_largest_probability_even_if_others_are_as_near(dtype):
    eps = np.finfo(dtype).eps
    X, C = np.zeros((1, 2), dtype), np.eye(2, dtype=dtype) * np.array([[1 + 4 * eps], [1]], dtype)
    P = softened(quadratic(X, C), model_of(0.5, 2, c=2), 1e6)
    assert P.argmax(axis=1) == 1
    assert_allclose(P, 0.5, rtol=1e-6)
    P = softened(quadratic(X, np.eye(2, dtype=dtype)), model_of(0.5, 2, c=2), 1.0)
    assert P.argmax(axis=1) == 0
    assert_allclose(P, 0.5, rtol=1e-5)


def test_probabilities_are_shares_of_the_exponentials_of_half_the_losses():
    Xs, ys = tasks_of(np.random.default_rng(0), (30, 20))
    present = np.array([[[True, True, True], [True, False, True]]])
    model = replace(model_of(0.4, 3), holds=present)
    rows, centers = fitted(Xs, ys, model)
    Ps, _ = rows.apply(partial(probabilities, model=model, centers=centers, temperatures=[2.0, 3.0]))
    labels = rows.apply(partial(read_out, model=model, centers=centers))[0]
    for k, (X, T) in enumerate(zip(Xs, (2.0, 3.0), strict=True)):
        near = [((X[:, None] - M) ** 2).sum(axis=2) for M in (centers.Ms[k], centers.Z)]
        E = np.exp(-(0.4 * near[0] + 0.6 * near[1]) / (2 * T)) * present[0, k]
        assert_allclose(Ps[k], E / E.sum(axis=1, keepdims=True), atol=1e-12)
        assert_array_equal(Ps[k].argmax(axis=1), labels[k])
