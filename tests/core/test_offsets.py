"""Offsets: there and back again, and the frame that all tasks share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core.arrays import summarize
from mtcluster.core.sharing import OFFSETS, Offsets

RNG = np.random.default_rng(0)


def offsets_of(kind, Xs, us=None):
    us = [np.ones(len(X)) for X in Xs] if us is None else us
    energy = np.array([u @ np.sum(X**2, axis=1) for X, u in zip(Xs, us, strict=True)])
    return OFFSETS[kind](summarize(Xs, us), energy, np.zeros((len(Xs), Xs[0].shape[1])))


def test_to_the_task_and_back_changes_nothing():
    where = Offsets.of(RNG.normal(size=(3, 4)), RNG.random(3) + 0.5)
    Z, V = RNG.normal(size=(6, 4)), np.linalg.qr(RNG.normal(size=(4, 2)))[0]
    for k in range(3):
        there = where.in_tasks(Z[None], 3)[0, k]
        assert_allclose(where.from_task(there, k), Z)
        assert_allclose(where.from_task(there @ V, k, V), Z @ V)


def test_no_offset_moves_nothing():
    where, Z = offsets_of("none", [RNG.normal(size=(5, 2))]), RNG.normal(size=(1, 4, 2))
    assert not where.moves
    assert_array_equal(where.in_tasks(Z, 3), np.repeat(Z[:, None], 3, axis=1))
    assert_array_equal(where.from_task(Z[0], 2), Z[0])


@pytest.mark.parametrize("kind", ["mean", "scale"])
def test_one_task_stays_where_it_is(kind):
    where = offsets_of(kind, [RNG.normal(size=(20, 3)) + 7])
    assert_allclose(where.b, 0, atol=1e-12)
    assert_allclose(where.s, 1)


def test_the_frame_lies_in_the_middle_of_all_rows():
    Xs = [RNG.normal(size=(n, 3)) + 10 * k for k, n in enumerate((10, 30, 20))]
    where = offsets_of("mean", Xs)
    moved = [where.from_task(X, k) for k, X in enumerate(Xs)]
    for Y in moved:
        assert_allclose(Y.mean(axis=0), np.vstack(Xs).mean(axis=0))
    assert_array_equal(where.s, 1)


def test_scales_have_a_geometric_mean_of_1_and_widths_become_equal():
    Xs = [width * RNG.normal(size=(40, 3)) for width in (1.0, 5.0, 0.2)]
    where = offsets_of("scale", Xs)
    assert np.exp(np.mean(np.log(where.s))) == pytest.approx(1)
    widths = [np.var(where.from_task(X, k), axis=0).sum() for k, X in enumerate(Xs)]
    assert_allclose(widths, widths[0])


def test_a_task_of_equal_rows_is_not_scaled():
    where = offsets_of("scale", [RNG.normal(size=(30, 2)), np.ones((4, 2)), 3 * RNG.normal(size=(30, 2))])
    assert where.s[1] == 1
    assert np.isfinite(where.b).all()
    assert where.s[0] * where.s[2] == pytest.approx(1)


def test_equal_rows_everywhere_are_not_scaled():
    where = offsets_of("scale", [np.zeros((3, 2)), np.ones((4, 2))])
    assert_array_equal(where.s, 1)


def test_pooled_sums_are_those_of_moved_rows():
    """Σ s² over rows and Σ s² (x − b) / s: rows of wide tasks count by their scale."""
    where = Offsets.of(RNG.normal(size=(2, 3)), np.array([0.5, 2.0]))
    Xs, labels = [RNG.normal(size=(8, 3)) for _ in range(2)], [RNG.integers(2, size=8) for _ in range(2)]
    Ps = [np.eye(2)[l] for l in labels]
    counts, sums = np.stack([P.sum(axis=0) for P in Ps]), np.stack([P.T @ X for P, X in zip(Ps, Xs, strict=True)])
    S, T = (found[0] for found in where.pooled(counts[None], sums[None]))
    for k, (P, X) in enumerate(zip(Ps, Xs, strict=True)):
        w = where.s[k] ** 2
        assert_allclose(S[k], w * P.sum(axis=0))
        assert_allclose(T[k], w * P.T @ where.from_task(X, k))
