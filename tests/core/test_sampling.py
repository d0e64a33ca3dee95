"""Samples: each task has its share and some rows at least, and labels of a sample become labels of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.sampling import Sampling, draw_by_task, label_all, take_sample

from .tools import model_of

RNG = np.random.default_rng(0)


def block_of(X, u=None):
    return make_block(X, np.ones(len(X)) if u is None else u, np.zeros(X.shape[1]))


@pytest.mark.parametrize("counts", [[1000], [600, 300, 100], [990, 10], [1, 1, 998]])
def test_every_task_has_its_share_or_the_least_that_is_asked(counts):
    how = Sampling(sample=200, task_sample=20)
    for count, at in zip(counts, draw_by_task(counts, how, RNG), strict=True):
        assert len(at) == max(min(count, 20), round(200 * count / 1000))
        assert np.all(np.diff(at) > 0)
        assert at.min() >= 0
        assert at.max() < count


def test_few_rows_are_all_taken():
    for total in ([50, 50], [100], [0, 100]):
        for count, at in zip(total, draw_by_task(total, Sampling(100, 5), RNG), strict=True):
            assert_array_equal(at, np.arange(count))


def test_the_same_seed_draws_the_same_rows():
    first, second = (draw_by_task([500, 100], Sampling(50, 5), np.random.default_rng(3)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)


def test_a_sample_has_each_tasks_share_and_no_row_of_weight_0():
    blocks = [block_of(RNG.random((n, 2)), np.r_[np.zeros(5), np.ones(n - 5)]) for n in (3000, 6000, 40)]
    sample, rows = take_sample(Blocks(blocks), Sampling(900, 100), RNG)
    assert [len(b.sq) for b in sample] == [299, 598, 35]
    assert all(b.u.min() == 1 for b in sample)
    for part, chosen, block in zip(sample, rows, blocks, strict=True):
        assert_array_equal(part.X, block.X[5:][chosen])
    whole = [block_of(RNG.random((30, 2)))]
    assert take_sample(Blocks(whole), Sampling(5000, 100), RNG)[0][0].X is whole[0].X


def test_labels_of_all_rows_are_taken_as_they_are():
    rows = Blocks([block_of(RNG.random((20, 2))), block_of(RNG.random((10, 2)))])
    labels = [RNG.integers(3, size=20), RNG.integers(3, size=10)]
    sample, positions = take_sample(rows, Sampling(100, 10), RNG)
    for found, own in zip(label_all(rows, sample, positions, labels, model_of(0.5, 2)), labels, strict=True):
        assert_array_equal(found, own)


@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
def test_rows_outside_the_sample_go_to_the_nearest_centre_and_those_within_keep_their_label(membership):
    y = RNG.integers(3, size=300)
    X = 20 * np.eye(3)[y] + RNG.normal(size=(300, 3))
    rows = Blocks([block_of(X[:200]), block_of(X[200:])])
    sample, positions = take_sample(rows, Sampling(60, 10), RNG)
    given = [y[:200][positions[0]].copy(), y[200:][positions[1]].copy()]
    given[0][0] = (given[0][0] + 1) % 3  # a wrong label is kept
    found = label_all(rows, sample, positions, given, model_of(0.5, 3, membership=membership))
    wrong = np.flatnonzero(np.concatenate(found) != y)
    assert_array_equal(wrong, [positions[0][0]])


def test_rows_of_weight_0_get_a_label_of_the_nearest_centre():
    y = np.arange(60) % 3
    X = 20 * np.eye(3)[y] + RNG.normal(size=(60, 3))
    u = np.ones(60)
    u[::4] = 0
    rows = Blocks([block_of(X, u)])
    sample, positions = take_sample(rows, Sampling(5000, 100), RNG)
    assert len(sample[0]) == 45
    [found] = label_all(rows, sample, positions, [y[u > 0]], model_of(0.5, 3))
    assert_array_equal(found, y)
