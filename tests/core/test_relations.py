"""Which tasks are alike, and which clusters are present where."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster import SPMTC
from mtcluster.core.relations import align, partly_align, relatedness, spread, support
from mtcluster.datasets import load_digits_tasks, make_multitask_blobs

RNG = np.random.default_rng(0)


def test_spread_is_the_root_of_the_between_cluster_scatter():
    y = RNG.integers(3, size=50)
    X = RNG.normal(size=(50, 4)) + np.eye(4)[y]
    sizes = np.bincount(y, minlength=3).astype(float)
    Ms = np.stack([X[y == j].mean(axis=0) for j in range(3)])
    between = sum(n * np.outer(M - X.mean(axis=0), M - X.mean(axis=0)) for n, M in zip(sizes, Ms, strict=True)) / 50
    Q = spread(Ms[None], sizes[None])[0]
    assert_allclose(Q.T @ Q, between, atol=1e-12)


def test_relatedness_does_not_mind_shift_scale_and_relabelling():
    Ms, sizes = RNG.normal(size=(3, 4, 5)), RNG.integers(1, 20, size=(3, 4)).astype(float)
    everywhere = np.ones((3, 4), dtype=bool)
    R = relatedness(Ms, sizes, everywhere)
    assert_array_equal(np.diag(R), 1)
    assert_allclose(R, R.T)
    assert np.all((R >= 0) & (R <= 1))
    moved = np.array([1.0, 3.0, 0.5])[:, None, None] * Ms + 10 * RNG.normal(size=(3, 1, 5))
    assert_allclose(relatedness(moved, sizes, everywhere), R, atol=1e-9)
    order = RNG.permutation(4)
    assert_allclose(relatedness(Ms[:, order], sizes[:, order], everywhere), R)
    twins = relatedness(np.stack([Ms[0], 2 * Ms[0] + 7]), sizes[[0, 0]], everywhere[:2])
    assert_allclose(twins, 1)


@pytest.mark.parametrize(("m", "c", "d"), [(4, 5, 3), (20, 6, 2), (5, 2, 1), (3, 1, 2)])
def test_relatedness_is_the_correlation_of_spreads_over_the_clusters_in_common(m, c, d):
    Ms, sizes = 3 * RNG.normal(size=(m, c, d)) + 7, RNG.integers(0, 20, size=(m, c)).astype(float)
    present = RNG.random((m, c)) < 0.7
    found = relatedness(Ms, sizes, present)
    for k, l in np.ndindex(m, m):
        at = present[k] & present[l]
        if k == l or at.sum() < 2:
            assert found[k, l] == (k == l or at.any())
            continue
        one, other = (spread(Ms[[i]][:, at], sizes[[i]][:, at]).ravel() for i in (k, l))
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        usual = np.clip(one @ other / lengths, 0, 1) if lengths > 0 else float(not one.any() and not other.any())
        assert_allclose(found[k, l], usual, atol=1e-9)


def test_tasks_without_any_spread_are_unrelated_to_others():
    Ms = np.stack([np.zeros((3, 4)), RNG.normal(size=(3, 4)), np.ones((3, 4))])
    assert_array_equal(relatedness(Ms, np.ones((3, 3)), np.ones((3, 3), dtype=bool)), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_a_task_that_was_left_alone_says_nothing_about_the_support_of_others():
    Ms, sizes = RNG.normal(size=(3, 4, 5)), np.full((3, 4), 10.0)
    Ms[2] = Ms[1]
    sharing = np.array([False, True, True])
    S = support(Ms, sizes, sharing)
    assert_allclose(S[1:], 1)
    Ms[0] *= -3
    assert_allclose(support(Ms, sizes, sharing)[1:], S[1:])


def test_support_of_an_empty_cluster_is_0_and_of_one_task_1():
    Ms, sizes = RNG.normal(size=(3, 4, 5)), np.full((3, 4), 10.0)
    sizes[1, 2] = 0
    everyone = np.ones(3, dtype=bool)
    S = support(Ms, sizes, everyone)
    assert S.shape == (3, 4)
    assert S[1, 2] == 0
    assert np.all((S >= 0) & (S <= 1))
    assert_array_equal(support(Ms[:1], np.ones((1, 4)), everyone[:1]), 1)
    assert_allclose(support(np.stack([Ms[0]] * 3), np.full((3, 4), 10.0), everyone), 1)


def test_a_cluster_that_is_missing_does_not_move_the_others():
    Ms, sizes = np.stack([RNG.normal(size=(5, 6))] * 3), np.full((3, 5), 10.0)
    sizes[1, 2] = 0
    found = support(Ms, sizes, np.ones(3, dtype=bool))
    assert found[1, 2] == 0
    assert_allclose(np.delete(found[1], 2), 1)


def test_a_cluster_of_one_task_alone_is_present_there():
    Ms, sizes = RNG.normal(size=(3, 4, 5)), np.full((3, 4), 10.0)
    sizes[1:, 3] = 0
    assert_array_equal(support(Ms, sizes, np.ones(3, dtype=bool))[:, 3], [1, 0, 0])


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="the search lets such a task share clusters that lie elsewhere")
def test_an_unrelated_task_stands_out():
    for seed in range(3):
        data = make_multitask_blobs(n_tasks=4, n_clusters=4, random_state=seed)
        strange = make_multitask_blobs(200, n_tasks=1, n_clusters=4, random_state=100 + seed)
        X, rows = data.X.copy(), data.tasks == 3
        X[rows] = strange.X[: rows.sum()]
        R = SPMTC(4, random_state=0).fit(X, tasks=data.tasks).task_relatedness_
        assert R[3, :3].max() < 0.6 < 0.8 < R[:3, :3].min()


def test_a_cluster_in_the_middle_is_present_whatever_its_direction():
    rng = np.random.default_rng(0)
    line = np.array([-1.0, 0.0, 1.0])[:, None] * np.ones(5)
    Ms = np.stack([line + 0.05 * rng.normal(size=line.shape) for _ in range(4)])
    S = support(Ms, np.full((4, 3), 20.0), np.ones(4, dtype=bool))
    assert S.min() > 0.95
    swapped = Ms.copy()
    swapped[0] = swapped[0][::-1]
    assert support(swapped, np.full((4, 3), 20.0), np.ones(4, dtype=bool))[0, [0, 2]].max() == 0
    assert_allclose(support(Ms * np.array([1, 9, 0.1, 1])[:, None, None], np.full((4, 3), 20.0), np.ones(4, bool)), S)


@pytest.mark.slow
def test_a_class_that_is_absent_from_a_task_has_no_support_there():
    for digit, task in ((0, "plain"), (6, "slanted"), (4, "blurred")):
        X, y, tasks = load_digits_tasks()
        kept = (tasks != task) | (y != digit)
        X, y, tasks = X[kept], y[kept], tasks[kept]
        model = SPMTC(10, random_state=0).fit(X, tasks=tasks)
        cluster = np.bincount(model.labels_[y == digit], minlength=10).argmax()
        k = model.tasks_.tolist().index(task)
        assert model.fitted_.support[k, cluster] < 0.3
        assert_array_equal(model.cluster_presence_[:, cluster], np.arange(3) != k)
        assert model.cluster_presence_.sum() >= 27


def test_a_piece_of_a_cut_cluster_stays_unmatched_and_gets_the_number_of_the_whole():
    """The second task lacks the third cluster, and its first one was cut in two."""
    Ms = np.array([[[0.0, 0], [10, 0], [0, 10]], [[-0.5, 0], [10, 0], [0.5, 0]]])
    sizes, widths = np.array([[20.0, 20, 1], [10, 20, 10]]), np.ones(2)
    first, second = partly_align(Ms, sizes, widths, 0.5)
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == [0, 1, 0]


def test_clusters_that_correspond_are_matched_as_by_a_permutation():
    rng = np.random.default_rng(0)
    Ms, sizes = rng.normal(scale=9, size=(1, 4, 3)) + rng.normal(size=(3, 4, 3)), np.full((3, 4), 20.0)
    Ms[1] = Ms[1][[2, 0, 3, 1]]
    for order, new in zip(align(Ms, sizes), partly_align(Ms, sizes, np.ones(3), 0.5), strict=True):
        assert_array_equal(np.argsort(order), new)
