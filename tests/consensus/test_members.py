"""The members of a consensus: their starts, and labels of quick fits."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from mtcluster.consensus import members
from mtcluster.consensus.embedding import Embedder
from mtcluster.consensus.members import (
    Starts,
    blocks_of,
    by_task,
    fit_members,
    matched,
    pooled,
    sorted_by_task,
    tightest,
)
from mtcluster.core.blocks import Blocks
from mtcluster.core.jobs import weighted_sums
from mtcluster.core.model import Model
from mtcluster.core.sampling import Sampling
from mtcluster.core.sharing import Share
from mtcluster.core.solver import alternate
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import clustering_accuracy

SMOOTHINGS, WEIGHTS = ((5, 1), (5, 2), (10, 2)), (0.3, 0.5)
APART, TOGETHER = Model(4, Share.of(1.0), 4), Model(4, Share.of(0.0), 4)


def parts_of(data):
    """Rows and clusters of each task."""
    return [data.X[data.tasks == k] for k in range(3)], [data.y[data.tasks == k] for k in range(3)]


def blocks_with_unit_weights(Xs):
    return blocks_of(Xs, [np.ones(len(X)) for X in Xs], 1.0)


def embedding_of(Xs):
    rows = Blocks(blocks_with_unit_weights(Xs))
    return Embedder(rows, Sampling(3000, 100), 50, 10, seeds=(0, 0)).embedding("mean")


def found_by(embedding, seed=0):
    """Starts, and labels by all members."""
    frames = (embedding.Ys, *embedding.smoothed(SMOOTHINGS))
    plain, *smoothed = (Blocks(blocks_of(Ys, embedding.us, embedding.unit)) for Ys in frames)
    starts = Starts.find(plain, smoothed[0], 4, len(smoothed), 6, 4, 5, np.random.default_rng(seed))
    return starts, fit_members(smoothed, 4, WEIGHTS, starts)


def test_matching_undoes_permutations_of_the_clusters_of_tasks(blobs):
    Xs, ys = parts_of(blobs)
    rng = np.random.default_rng(0)
    starts = [[rng.permutation(4)[y] for y in ys] for _ in range(3)]
    found = matched(Blocks(blocks_with_unit_weights(Xs)), APART, starts)
    for before, after in zip(starts, found, strict=True):
        assert clustering_accuracy(np.concatenate(ys), np.concatenate(before)) < 0.9
        assert clustering_accuracy(np.concatenate(ys), np.concatenate(after)) == 1


def test_rounding_does_not_order_runs_that_are_equally_good():
    losses = np.array([92.42044227, 78.58196990, 78.58196881, 78.58617789, 78.58196808, 78.58617700])
    assert_array_equal(members.leading(losses, 1, 5), [1, 2, 4, 3, 5])
    assert_array_equal(members.leading(1e-30 * losses, 2, 2), [1, 2, 4, 3])
    assert_array_equal(members.leading(np.array([0.0, 1e-12, 0.0]), 1, 3), [0, 2, 1])


def test_the_best_runs_of_each_task_come_first(blobs):
    """In each group: the first labels are those of the best run of each task, whichever that is."""
    rows = Blocks(blocks_with_unit_weights(parts_of(blobs)[0]))
    state = by_task(rows, APART, 12, np.random.default_rng(0))
    losses = rows.apply(weighted_sums, state.Ls)[-1]  # (m, R)
    assert losses.shape == (3, 12)
    for groups, n in ((1, 5), (3, 2), (2, 6)):
        found = sorted_by_task(rows, state, groups, n)
        assert len(found) == groups * n
        for i, labels in enumerate(found):
            runs = np.split(np.arange(12), groups)[i // n]
            for k, own in enumerate(labels):
                run = runs[np.argsort(losses[k, runs], kind="stable")[i % n]]
                assert_array_equal(own, state.Ps[k][run])
    assert len({tuple(own) for own in np.argsort(losses, axis=1)}) > 1  # tasks have other best runs


def test_seedings_are_centers_with_the_nearest_labels(blobs):
    rows = Blocks(blocks_with_unit_weights(parts_of(blobs)[0]))
    for make, model in ((pooled, TOGETHER), (by_task, APART)):
        state = make(rows, model, 5, np.random.default_rng(0))
        assert state.n_runs == 5
        for k, b in enumerate(rows.place.blocks):
            apart = np.sum((b.X[:, None] - state.centers.Ms[:, k, None]) ** 2, axis=3)
            assert_array_equal(state.Ps[k], apart.argmin(axis=2))
            assert np.all(apart.min(axis=1) < 1e-9) or make is pooled  # of each task, its own rows


def test_k_means_gets_tighter_when_shifts_of_tasks_are_removed():
    Xs, _ = parts_of(make_multitask_blobs(60, 5, n_tasks=3, n_clusters=4, task_shift=0, random_state=0))
    shifted = [X + 10 * k for k, X in enumerate(Xs)]
    removed = [X - X.mean(axis=0) for X in shifted]
    rng = np.random.default_rng(0)
    far, near, plain = (tightest(blocks_with_unit_weights(part), 4, 4, rng) for part in (shifted, removed, Xs))
    assert near < 0.7 * far
    assert plain == pytest.approx(near, rel=0.2)


def test_the_tightest_k_means_is_about_as_tight_as_scikit_learns(blobs):
    Xs, _ = parts_of(blobs)
    best = KMeans(4, n_init=10, random_state=0).fit(np.vstack(Xs)).inertia_
    found = tightest(blocks_with_unit_weights(Xs), 4, 4, np.random.default_rng(0))
    assert 0.999 * best < found < 1.05 * best


def test_more_runs_are_never_less_tight(blobs):
    """The first runs are the same: random numbers come run by run."""
    blocks = blocks_with_unit_weights(parts_of(blobs)[0])
    found = [tightest(blocks, 4, n, np.random.default_rng(0)) for n in (1, 3, 9)]
    assert found == sorted(found, reverse=True)


def test_there_is_a_member_for_each_smoothing_kind_of_start_and_share(blobs):
    Xs, ys = parts_of(blobs)
    starts, found = found_by(embedding_of(Xs))
    assert [len(kind) for kind in starts.kinds] == [4 * 3, 4 * 3]
    assert len(found) == 3 * 2 * 2
    for labels in (*found, starts.owns, *starts.kinds[0], *starts.kinds[1]):
        assert [len(own) for own in labels] == [len(X) for X in Xs]
        assert max(own.max() for own in labels) < 4
    for own, y in zip(starts.owns, ys, strict=True):
        assert clustering_accuracy(y, own) > 0.9


def test_a_single_task_has_one_kind_of_start_and_one_share(blobs):
    starts, found = found_by(embedding_of([blobs.X]))
    assert [len(kind) for kind in starts.kinds] == [4 * 3]
    assert len(found) == 3
    assert len(starts.owns) == 1


def test_members_need_no_more_digits_than_float32_has(blobs, monkeypatch):
    embedding = embedding_of(parts_of(blobs)[0])
    assert all(b.X.dtype == b.u.dtype == b.sq.dtype == np.float32 for b in blocks_of(embedding.Ys, embedding.us, 1.0))
    _, single = found_by(embedding)
    monkeypatch.setattr(members, "MEMBER_DTYPE", np.float64)
    _, double = found_by(embedding)
    for a, b in zip(single, double, strict=True):
        assert_array_equal(np.concatenate(a), np.concatenate(b))


def test_the_clusters_of_a_task_on_its_own_do_not_depend_on_how_many_runs_lead_to_others(blobs):
    """Each task's own clusters are as tight as its best run."""
    Xs, _ = parts_of(blobs)
    starts, _ = found_by(embedding_of(Xs))
    rows = Blocks(blocks_with_unit_weights(Xs))
    many = alternate(rows, APART, by_task(rows, APART, 30, np.random.default_rng(1)), max_iter=50, tol=0.0)
    best = rows.apply(weighted_sums, many.state.Ls)[-1].min(axis=1)
    for X, own, least in zip(Xs, starts.owns, best, strict=True):
        centers = np.stack([X[own == j].mean(axis=0) for j in range(4)])
        assert np.sum((X - centers[own]) ** 2) < 1.05 * least
