"""One model of several fits whose rows have no column in common."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core.centers import Centers
from mtcluster.core.composing import FitPart, compose
from mtcluster.core.geometry import Identity, Tied
from mtcluster.core.model import Model
from mtcluster.core.sharing import Offsets, Share


def part(tasks, columns, numbers, seed, measured=False, moved=None):
    """A fit with centres of its own."""
    rng = np.random.default_rng(seed)
    m, d, c = len(tasks), len(columns), len(numbers)
    W, M = np.linalg.qr(rng.normal(size=(d, d)))[0], rng.normal(size=(c, d))
    offsets = Offsets.of(np.zeros((m, d)) if moved is None else moved)
    geometry = Tied.of((1 + seed) * np.eye(d)) if measured else Identity()
    centers = Centers(
        W, M, rng.normal(size=(m, c, d)), M @ W.T, M @ W.T, np.ones((m, c), dtype=bool), offsets.take("R", 0),
        geometry.take("R", 0),
    )  # fmt: skip
    model = Model(c, Share.of(0.5), d, offsets=offsets, geometry=geometry)
    return FitPart(model, centers, np.ones((m, c)), np.array(tasks), np.array(columns), np.arange(c), np.array(numbers))


def test_each_part_keeps_its_centres_in_its_tasks_and_columns():
    first, second = part([0, 2], [0, 3], [0, 1, 2], 0), part([1], [1, 2, 4], [2, 0, 3], 1)
    model, centers = compose([first, second], 4)
    assert model.n_clusters == 4
    assert_array_equal(model.holds[0], [[1, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 0]])
    assert_allclose(centers.shared[np.ix_([0, 1, 2], [0, 3])], first.centers.Z)
    assert_allclose(centers.shared[np.ix_([2, 0, 3], [1, 2, 4])], second.centers.Z)
    assert_allclose(centers.Ms[np.ix_([0, 2], [0, 1, 2], [0, 3])], first.centers.Ms)
    assert_allclose(centers.Ms[np.ix_([1], [2, 0, 3], [1, 2, 4])], second.centers.Ms)
    assert_allclose(centers.W.T @ centers.W, np.eye(5), atol=1e-12)


def test_what_no_task_has_lies_in_the_middle_of_the_others():
    first, second = part([0], [0, 1], [0, 1], 0), part([1], [2, 3], [2, 3], 1)
    _, centers = compose([first, second], 4)
    assert_allclose(centers.shared[0, 2:], second.centers.Z.mean(axis=0))
    assert_allclose(centers.Ms[1, 3, :2], first.centers.Z.mean(axis=0))


def test_metrics_are_blocks_and_offsets_stay_with_their_tasks():
    first = part([0], [0, 1], [0, 1], 0, measured=True, moved=np.array([[1.0, 2.0]]))
    second = part([1], [2, 3], [0, 1], 1, measured=True)
    model, centers = compose([first, second], 2)
    assert model.holds.all()
    assert_allclose(centers.geometry.K, np.diag([1.0, 1, 2, 2]))
    assert_allclose(centers.offsets.b, [[1, 2, 0, 0], [0, 0, 0, 0]])
