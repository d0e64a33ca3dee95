"""Tasks that join a model, and what is new in them, on arrays alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.centers import Centers
from mtcluster.core.geometry import Tied
from mtcluster.core.joining import Prior, followed, join, merged_groups, with_clusters
from mtcluster.core.model import Model
from mtcluster.core.novelty import Flags, Ordinary, label_rows
from mtcluster.core.placing import Effects, Modes, apart_from, effects_of, find_modes, find_position
from mtcluster.core.sharing import Offsets, Share
from mtcluster.core.smoothing import directions, smoothed

Z = np.array([[0.0, 0, 0], [10, 0, 0], [0, 10, 0]])


def known(**changes):
    exists, effects = np.ones(3, dtype=bool), Effects(offset=4.0, own=0.1, between=40.0, n_tasks=4, n_own=30)
    return Prior(**{"exists": exists, "sizes": np.full(3, 50.0), "usual": Share.of(0.5), "effects": effects,
                    "scaled": False, "temperature": 1.0} | changes)  # fmt: skip


def model_at(points=Z, offset=0.0):
    """A model of one task whose shared centres are some points."""
    c, d = points.shape
    offsets = Offsets.of(np.full((1, d), offset))
    seen_in = np.ones((1, c), dtype=bool)
    centers = Centers(np.eye(d), points, points[None], points, points, seen_in, offsets.take("R", 0))
    return Model(c, Share.of(np.zeros(1)), d, offsets=offsets), centers


def rows_of(X):
    return Blocks([make_block(X, np.ones(X.shape[0]), np.zeros(X.shape[1]))])


def draw(counts, rng, points=Z):
    return np.concatenate([points[j] + rng.standard_normal((n, points.shape[1])) for j, n in enumerate(counts)])


@pytest.mark.parametrize("counts", [(30, 30, 30), (80, 10, 10), (50, 40, 0)])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_an_offset_is_found_whatever_the_task_holds(counts, shift):
    X = draw(counts, np.random.default_rng(0)) + shift
    model, centers = model_at()
    found = join(rows_of(X), model, centers, [0], known())
    assert_allclose(found.centers.offsets.b[0], shift, atol=0.6)
    assert_array_equal(found.model.held((1, 1, 3))[0, 0], np.array(counts) > 0)


def test_a_task_of_few_rows_lies_in_the_middle_and_may_hold_everything():
    model, centers = model_at(offset=7.0)
    found = join(rows_of(Z + 1), model, centers, [0], known())
    assert not found.enough[0]
    assert_array_equal(found.centers.offsets.b, 0)
    assert_array_equal(found.centers.Ms[0], Z)
    assert found.model.held((1, 1, 3)).all()


def test_own_centres_are_the_means_of_rows_and_shared_ones_stay():
    X = draw((30, 30, 30), np.random.default_rng(1)) + np.array([1.0, 0, 0])
    model, centers = model_at()
    found = join(rows_of(X), model, centers, [0], known())
    assert_allclose(found.centers.Ms[0], [X[:30].mean(axis=0), X[30:60].mean(axis=0), X[60:].mean(axis=0)])
    assert_array_equal(found.centers.shared, Z)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("n_new", [8, 25, 300])
def test_a_cluster_that_nobody_knows_is_a_group_however_large_it_is(as_sparse, n_new):
    rng = np.random.default_rng(2)
    X = np.concatenate([draw((30, 30, 30), rng), np.array([0.0, 0, 12]) + rng.standard_normal((n_new, 3))])
    model, centers = model_at()
    block = make_block(sparse.csr_matrix(X) if as_sparse else X, np.ones(len(X)), np.zeros(3))
    found = join(Blocks([block]), model, centers, [0], known())
    assert_allclose(found.flags.groups[0], [X[90:].mean(axis=0)], atol=0.05)
    assert_allclose(found.centers.offsets.b[0], 0, atol=0.5)
    labels = label_rows(Blocks([block]).place, model=found.model, centers=found.centers, verdict=found.flags)[0][0]
    assert_array_equal(labels, np.repeat([0, 1, 2, -1], [30, 30, 30, n_new]))


def test_groups_are_the_clusters_whatever_the_order_of_the_rows_and_how_they_are_turned():
    rng = np.random.default_rng(3)
    X, y = draw((60, 20, 40), rng), np.repeat([0, 1, 2], [60, 20, 40])
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for rows in (X, X @ turn, X * 100):
        found = find_modes(rows, np.ones(120), 3)
        assert len(found.sizes) == 3
        assert_array_equal(found.labels[:, None] == found.labels, y[:, None] == y)
    assert find_modes(X[:60], np.ones(60), 3).sizes.tolist() == [60]
    assert find_modes(X, np.ones(120), 3).noise == pytest.approx(1, rel=0.2)


def test_the_offset_is_that_under_which_most_groups_are_known():
    modes = find_modes(draw((40, 40, 40), np.random.default_rng(4)) + 2, np.ones(120), 3)
    found = find_position(modes, Z, known().effects)
    assert_allclose(found.offset(modes.means, Z), 2, atol=0.3)
    assert found.explained.all()
    far = find_position(modes, np.r_[Z[:2], Z[2:] + np.array([0, 0, 40.0])], known().effects)
    assert_array_equal(far.explained, modes.means[:, 1] < 7)
    nowhere = find_position(modes, Z, Effects(offset=1e-9, own=0.1, between=40.0, n_tasks=1e6, n_own=30))
    assert_allclose(nowhere.offset(modes.means, Z), 0, atol=1e-3)


def test_a_scale_is_found_with_the_offset():
    modes = find_modes(draw((40, 40, 40), np.random.default_rng(5), 1.5 * Z) + 1, np.ones(120), 3)
    found = find_position(modes, Z, Effects(offset=4.0, between=40.0, n_own=30, log_scale=0.3), scaled=True)
    assert found.scale == pytest.approx(1.5, abs=0.05)
    assert_allclose(found.offset(modes.means, Z), 1, atol=0.4)


def test_the_halves_of_a_normal_distribution_are_not_apart_and_clusters_are():
    Y = np.random.default_rng(6).standard_normal((600, 2)) * np.array([5.0, 1.0])
    for rows, apart in ((Y, False), (Y + np.outer(Y[:, 0] > 0, [15.0, 0]), True)):
        labels = (Y[:, 0] > 0).astype(int)
        means = np.stack([rows[labels == j].mean(axis=0) for j in (0, 1)])
        modes = Modes(labels, np.bincount(labels).astype(float), means, 1.0, 1.0)
        assert_array_equal(apart_from(rows, np.ones(600), modes, np.array([True, False])), [False, apart])


def test_effects_are_the_variances_that_tasks_were_drawn_with():
    rng = np.random.default_rng(7)
    points, q, m = 20 * rng.standard_normal((5, 6)), 6, 40
    Ys, labels = [], np.repeat(np.arange(5), 50)
    for _ in range(m):
        own = points + 3 * rng.standard_normal(q) + 0.7 * rng.standard_normal((5, q))
        Ys.append(2 * rng.standard_normal((250, q)) + own[labels])
    found = effects_of(Ys, [np.ones(250)] * m, [labels] * m, np.ones(m), 5)
    assert found.noise == pytest.approx(4, rel=0.1)
    assert found.offset == pytest.approx(9, rel=0.35)
    assert found.own == pytest.approx(0.49, rel=0.2)
    assert found.between == pytest.approx(np.var(points, axis=0, ddof=1).mean(), rel=0.1)


def test_limits_are_quantiles_in_units_of_the_task():
    usual = Ordinary(np.arange(1.0, 101), np.arange(1.0, 101) / 50, np.array([60.0]))
    assert usual.loss(0.1) == 91
    assert usual.loss(0.1, 100.0) == pytest.approx(182)
    assert usual.loss(0.1, 1e9) == usual.loss(0.1, 540.0)  # no noise is so large
    assert usual.loss(0.1, -1.0) < 0  # all rows are new
    assert Ordinary().loss(0.1) == np.inf
    rates = [usual.loss(rate, 100.0) for rate in (0.001, 0.01, 0.1, 0.5)]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("noise", [1.0, 2.0])
def test_the_usual_loss_of_a_task_is_that_of_its_explained_rows_however_many_are_new(share, noise):
    rng = np.random.default_rng(8)
    ordinary = np.sort(rng.chisquare(8, 4000))
    usual = Ordinary(ordinary, ordinary / np.median(ordinary), np.array([np.median(ordinary)]))
    new = 100 * noise**2 * (1 + rng.random(int(1000 * share)))
    losses = np.r_[noise**2 * rng.chisquare(8, 1000 - len(new)), new]
    assert usual.scale(losses, np.ones(1000)) == pytest.approx(noise**2 * np.median(ordinary), rel=0.15)


def test_rows_beyond_the_limit_or_in_a_group_get_minus_one():
    model, centers = model_at()
    X = np.array([[0.0, 0, 0], [0, 0, 12], [0, 0, 4], [10, 0, 0]])
    verdict = Flags(np.array([9.0]), {0: np.array([[0.0, 0, 12]])}, np.ones(3, dtype=bool))
    labels = label_rows(rows_of(X).place, model=model, centers=centers, verdict=verdict)[0][0]
    assert_array_equal(labels, [0, -1, -1, 1])


def test_shared_centres_follow_as_if_sums_were_pooled():
    model, centers = model_at()
    S, T = np.array([[50.0, 0, 0]]), np.zeros((1, 3, 3))
    T[0, 0] = 50 * np.array([2.0, 0, 0])
    found = followed(model, centers, np.full(3, 50.0), S, T)
    assert_allclose(found, [[1, 0, 0], [10, 0, 0], [0, 10, 0]])


def test_new_clusters_come_after_the_old_ones_and_old_axes_stay():
    model, centers = model_at(Z[:2])
    W = np.array([[1.0], [0], [0]])
    centers = Centers(W, Z[:2] @ W, Z[None, :2], Z[:2], Z[:2], np.ones((1, 2), dtype=bool), centers.offsets)
    wider, more = with_clusters(model, centers, np.array([[0.0, 5, 0]]), np.array([[True]]))
    assert wider.n_clusters == 3
    assert_array_equal(more.W[:, :1], W)
    assert_allclose(more.shared, [[0, 0, 0], [10, 0, 0], [0, 5, 0]], atol=1e-12)
    assert more.Ms.shape == (1, 3, 3)


def test_groups_of_several_tasks_that_lie_together_are_one_cluster():
    _, centers = model_at()
    centers = replace(centers.concat("m", centers), geometry=Tied(np.eye(3), None, np.eye(3), np.asarray(1.0)))
    groups = {0: np.array([[0.0, 0, 20], [30, 0, 0]]), 1: np.array([[0.0, 1, 20]])}
    found, numbers = merged_groups(groups, centers)
    assert len(found) == 2
    assert numbers == {0: [0, 1], 1: [0]}
    for unit in (1e-3, 1e3):  # of a column: groups are compared in the metric of the model
        U = np.diag([1.0, unit, 1.0])
        scaled = replace(centers, W=U, M=Z, geometry=Tied(U @ U, None, U @ U, np.asarray(1.0)))
        again, numbers = merged_groups({k: own @ U for k, own in groups.items()}, scaled)
        assert numbers == {0: [0, 1], 1: [0]}
        assert_allclose(again, found @ U)


def test_smoothing_keeps_the_mean_place_of_clusters_and_draws_them_together():
    Y = draw((40, 40, 40), np.random.default_rng(5))
    again = smoothed(Y)
    assert again[:40].var(axis=0).sum() < 0.7 * Y[:40].var(axis=0).sum()
    assert_allclose(again[:40].mean(axis=0), Y[:40].mean(axis=0), atol=0.5)
    assert_array_equal(smoothed(Y[:1]), Y[:1])


def test_directions_hold_the_centres_of_sparse_and_dense_rows():
    X = np.random.default_rng(6).standard_normal((30, 80))
    centers = np.random.default_rng(7).standard_normal((3, 80))
    for rows in (X, sparse.csr_matrix(X)):
        V = directions(rows, centers)
        assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-9)
        apart = centers - X.mean(axis=0)
        assert_allclose(apart @ V @ V.T, apart, atol=1e-8)
