"""Records: what is done along an axis reaches all arrays that have it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mtcluster.core.centers import Centers
from mtcluster.core.geometry import Tied
from mtcluster.core.model import Model
from mtcluster.core.sharing import Offsets, Share, Shrink

RNG = np.random.default_rng(0)
R, M, C, D = 4, 3, 2, 5


def centers_of_runs():
    return Centers(
        None, None, RNG.normal(size=(R, M, C, D)), RNG.normal(size=(R, C, D)), RNG.normal(size=(R, C, D)),
        np.ones((R, M, C), dtype=bool), Offsets(RNG.normal(size=(R, M, D)), np.ones(M)),
        Tied(np.eye(D), None, RNG.random((R, D, D)), np.ones(R)), RNG.normal(size=(R, M, C)),
    )  # fmt: skip


def test_what_differs_between_runs_is_picked():
    within, log_shares = RNG.random((R, M)), RNG.normal(size=(R, M, C))
    holds, free = RNG.random((R, M, C)) > 0.5, np.array([True, False, True, False])
    model = Model(C, Share.of(within), C, holds=holds, offsets=Offsets.none(free), log_shares=log_shares)
    some = model.take("R", [3, 1, 1])
    assert_array_equal(some.sharing.within, within[[3, 1, 1]])
    assert_array_equal(some.log_shares, log_shares[[3, 1, 1]])
    assert_array_equal(some.holds, holds[[3, 1, 1]])
    assert_array_equal(some.offsets.free, [False, False, False])
    kappa = RNG.random(R)
    assert_array_equal(Shrink.of(kappa).take("R", [2, 0]).rows[:, 0], kappa[[2, 0]])


def test_offsets_of_each_run_place_and_pool_its_own_points():
    b, s, Z = RNG.normal(size=(R, M, D)), np.array([1.0, 2.0, 0.5]), RNG.normal(size=(R, C, D))
    S, T = RNG.random((R, M, C)), RNG.normal(size=(R, M, C, D))
    offsets = Offsets(b, s)
    placed, (_, sums) = offsets.in_tasks(Z, M), offsets.pooled(S, T)
    for run in range(R):
        alone = Offsets.of(b[run], s)
        assert_array_equal(placed[run], alone.in_tasks(Z[[run]], M)[0])
        assert_array_equal(sums[run], alone.pooled(S[[run]], T[[run]])[1][0])
    assert_array_equal(offsets.take("R", [2, 0]).b, b[[2, 0]])


def test_what_all_runs_share_is_kept():
    where = Offsets.of(RNG.normal(size=(M, D)))
    model = Model(C, Share.of(0.5), C, log_shares=RNG.normal(size=(1, M, C)), offsets=where)
    some = model.take("R", [2])
    assert some.log_shares is model.log_shares
    assert some.offsets.b is where.b
    assert some.holds.shape == (1, 1, 1)
    assert_array_equal(some.sharing.within, [[0.5]])


@pytest.mark.parametrize("axis", ["R", "m", "c"])
def test_parts_that_are_joined_again_are_the_whole(axis):
    whole, size = centers_of_runs(), {"R": R, "m": M, "c": C}[axis]
    first, rest = whole.take(axis, [0]), whole.take(axis, list(range(1, size)))
    again = first.concat(axis, rest)
    for name in ("Ms", "Z", "seen", "log_shares"):
        assert_array_equal(getattr(again, name), getattr(whole, name))
    assert_array_equal(again.offsets.b, whole.offsets.b)
    assert_array_equal(again.geometry.K, whole.geometry.K)


def test_one_run_does_without_the_axis_and_gets_it_back():
    whole = centers_of_runs()
    one = whole.take("R", 2)
    assert one.Ms.shape == (M, C, D)
    assert_array_equal(one.take("m", [1]).Ms[0], whole.Ms[2, 1])
    back = one.take("R", None)
    assert_array_equal(back.Ms, whole.Ms[[2]])
    assert_array_equal(back.geometry.K, whole.geometry.K[[2]])
    assert_array_equal(one.copies(3).offsets.b, np.repeat(whole.offsets.b[[2]], 3, axis=0))


def test_room_that_a_record_gains_holds_what_its_arrays_say():
    whole = centers_of_runs().take("R", 0)
    more = whole.grow("c", 2)
    assert_array_equal(more.Ms[:, :C], whole.Ms)
    assert not more.Ms[:, C:].any()
    assert not more.seen[:, C:].any()
    assert more.geometry.K.shape == (D, D)
    order = [2, 0, 1, 3]
    assert_array_equal(more.take("c", order).Z, more.Z[order])


def test_sizes_that_disagree_are_named():
    whole = centers_of_runs()
    sizes = {"d": D}
    whole.check(sizes)
    assert sizes == {"d": D, "R": R, "m": M, "c": C, "q": D}
    wrong = replace(whole, Ms=np.zeros((R, M, 9, D)), Z=np.zeros((R, 9, D)), Q=np.zeros((R, 9, D)))
    with pytest.raises(ValueError, match=r"seen has the shape \(4, 3, 2\) instead of \(4, 3, 9\)"):
        wrong.check({})
