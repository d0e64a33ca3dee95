"""The model of some of the runs."""

import numpy as np
from numpy.testing import assert_array_equal

from mtcluster.core.model import Model
from mtcluster.core.offsets import Offsets

RNG = np.random.default_rng(0)


def test_what_differs_between_runs_is_picked():
    shares, log_shares = RNG.random((4, 3)), RNG.normal(size=(4, 3, 2))
    present, kappa, matched = RNG.random((4, 3, 2)) > 0.5, RNG.random(4), np.array([True, False, True, False])
    model = Model(2, shares, 2, present=present, shrinkage=kappa, matched=matched, log_shares=log_shares)
    some = model.runs([3, 1, 1])
    assert_array_equal(some.shares, shares[[3, 1, 1]])
    assert_array_equal(some.log_shares, log_shares[[3, 1, 1]])
    assert_array_equal(some.present, present[[3, 1, 1]])
    assert_array_equal(some.shrinkage, kappa[[3, 1, 1]])
    assert_array_equal(some.matched, [False, False, False])


def test_offsets_of_each_run_place_and_pool_its_own_points():
    b, s, Z = RNG.normal(size=(4, 3, 5)), np.array([1.0, 2.0, 0.5]), RNG.normal(size=(4, 2, 5))
    S, T = RNG.random((4, 3, 2)), RNG.normal(size=(4, 3, 2, 5))
    model = Model(2, 0.5, 2, offsets=Offsets(b, s))
    placed, (_, sums) = model.placed_points(Z, 3), model.offsets.pooled(S, T)
    for run in range(4):
        alone = Offsets(b[run], s)
        assert_array_equal(placed[run], alone.in_tasks(Z[[run]])[0])
        assert_array_equal(sums[run], alone.pooled(S[[run]], T[[run]])[1][0])
    assert_array_equal(model.runs([2, 0]).offsets.b, b[[2, 0]])


def test_what_all_runs_share_is_kept():
    log_shares, where = RNG.normal(size=(3, 2)), Offsets(RNG.normal(size=(3, 5)), np.ones(3))
    model = Model(2, 0.5, 2, log_shares=log_shares, offsets=where, present=np.ones((1, 3, 2), dtype=bool))
    some = model.runs([2])
    assert some.log_shares is log_shares
    assert some.offsets is where
    assert some.present.shape == (1, 3, 2)
    assert some.within_weight == 0.5
