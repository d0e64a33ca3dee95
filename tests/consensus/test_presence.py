"""Which clusters a task holds, from labels of its rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mtcluster.consensus.members import blocks_of
from mtcluster.consensus.presence import find_presence
from mtcluster.core.blocks import Blocks

CENTERS = 10.0 * np.eye(3)


def rows_of(ys, seed=0):
    rng = np.random.default_rng(seed)
    Ys = [CENTERS[y] + rng.normal(size=(len(y), 3)) for y in ys]
    return Blocks(blocks_of(Ys, [np.ones(len(y)) for y in ys], 1.0))


@pytest.fixture
def two():
    """The second task lacks cluster 2, but one of its rows was labelled so."""
    ys = [np.repeat([0, 1, 2], 30), np.repeat([0, 1], 40)]
    given = [ys[0], np.r_[2, ys[1][1:]]]
    return rows_of(ys), ys, given


def test_a_cluster_without_evidence_is_absent_and_its_rows_go_elsewhere(two):
    rows, ys, given = two
    found = find_presence(rows, given, 3, False, np.inf, np.zeros(2, dtype=bool))
    assert_array_equal(found.holds, [[1, 1, 1], [1, 1, 0]])
    assert_array_equal(found.holds, found.support >= 0.5)
    for own, y in zip(found.labels, ys, strict=True):
        assert_array_equal(own, y)


def test_tasks_that_are_left_alone_hold_everything(two):
    rows, _, given = two
    found = find_presence(rows, given, 3, False, np.inf, np.array([False, True]))
    assert found.holds[1].all()
    assert_array_equal(found.labels[1], given[1])


def test_numbers_that_are_known_are_kept(two):
    rows, _, given = two
    found = find_presence(rows, given, 3, False, np.inf, np.zeros(2, dtype=bool), per_task=np.array([2, 2]))
    assert_array_equal(found.holds.sum(axis=1), [2, 2])
    assert found.holds.any(axis=0).all()  # each cluster is held by some task


def test_one_cluster_is_held_by_all():
    rows = rows_of([np.zeros(20, dtype=int)] * 2)
    found = find_presence(rows, [np.zeros(20, dtype=int)] * 2, 1, False, np.inf, np.zeros(2, dtype=bool))
    assert found.holds.all()
    assert_array_equal(found.support, 1)
