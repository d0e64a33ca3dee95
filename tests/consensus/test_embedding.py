"""What the members of a consensus see: a sample, in the common frame of the tasks, in few dimensions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from mtcluster import SPMTC
from mtcluster.consensus import embedding as embeddings
from mtcluster.consensus import shared_embeddings
from mtcluster.consensus.embedding import Embedder, Embedding, directional, embed, task_offsets
from mtcluster.core.arrays import Picked
from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.sampling import Sampling
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import joint_accuracy

NEIGHBOR, DISTANT = 5, 4.0  # as in `Consensus`


def block_of(X, u=None):
    return make_block(X, np.ones(X.shape[0]) if u is None else u, np.zeros(X.shape[1]))


def rows_of(*Xs):
    return Blocks([block_of(X) for X in Xs])


def leading(V):
    """The projection on what V spans."""
    Q = np.linalg.qr(V)[0]
    return Q @ Q.T


def test_smoothing_moves_rows_towards_their_neighbours_and_keeps_apart_what_is_apart():
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.normal(size=(40, 3)), 50 + rng.normal(size=(40, 3))])
    found = Embedding([Y], [np.ones(80)])
    [smoothed] = found.smoothed(5, 4)
    for part in (slice(40), slice(40, 80)):
        assert np.var(smoothed[part], axis=0).sum() < 0.6 * np.var(Y[part], axis=0).sum()
        assert_allclose(smoothed[part].mean(axis=0), Y[part].mean(axis=0), atol=0.5)
    assert_array_equal(found.smoothed(5, 0)[0], Y)


def test_smoothing_is_half_the_row_and_half_the_mean_of_its_neighbours():
    Y = np.array([[0.0], [1.0], [10.0], [11.0]])
    [smoothed] = Embedding([Y], [np.ones(4)]).smoothed(1, 1)
    assert_allclose(smoothed, [[0.5], [0.5], [10.5], [10.5]])


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tasks_of_no_more_than_two_rows_are_not_smoothed(n):
    Y = np.random.default_rng(0).normal(size=(n, 3))
    found = Embedding([Y], [np.ones(n)])
    assert_array_equal(found.smoothed(5, 4)[0], Y)
    assert_array_equal(found.downweighted(NEIGHBOR, DISTANT).us[0], np.ones(n))


def test_neighbours_are_searched_once_whatever_becomes_of_the_weights(monkeypatch):
    rng = np.random.default_rng(0)
    found = Embedding([rng.normal(size=(30, 3)), rng.normal(size=(20, 3))], [np.ones(30), np.ones(20)])
    neighbors = found.neighbors
    monkeypatch.setattr(embeddings, "NearestNeighbors", None)
    assert found.downweighted(NEIGHBOR, DISTANT).neighbors is neighbors
    assert found.of_tasks([1]).neighbors[0] is neighbors[1]
    assert len(found.of_tasks([1]).smoothed(5, 1)) == 1


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
def test_the_frame_gives_all_tasks_the_same_mean_and_spread(as_matrix):
    rng = np.random.default_rng(0)
    Xs = [(k + 1) * rng.random((30 + k, 4)) + 10 * k for k in range(3)]
    us = [rng.random(len(X)) for X in Xs]
    rows = Blocks([block_of(as_matrix(X), u) for X, u in zip(Xs, us, strict=True)])
    for kind in ("mean", "scale"):
        offsets = task_offsets(rows, kind)
        moved = [offsets.from_task(X, k) for k, X in enumerate(Xs)]
        means = [np.average(Y, axis=0, weights=u) for Y, u in zip(moved, us, strict=True)]
        assert_allclose(means, np.broadcast_to(means[0], (3, 4)))
        assert_allclose(means[0], np.average(np.vstack(Xs), axis=0, weights=np.concatenate(us)))
        widths = [np.average(((Y - m) ** 2).sum(axis=1), weights=u) for Y, m, u in zip(moved, means, us, strict=True)]
        assert np.ptp(widths) < 1e-9 * widths[0] if kind == "scale" else np.ptp(widths) > 0.1
        assert_allclose(offsets.in_task(moved[1], 1), Xs[1])
    assert task_offsets(rows, "none") is None


def test_only_rows_of_one_length_are_directions():
    rng = np.random.default_rng(0)
    X = rng.random((20, 5))
    unit = normalize(X)
    assert directional(rows_of(unit).summary)
    assert directional(rows_of(sparse.csr_matrix(unit), np.vstack([unit, np.zeros(5)])).summary)
    assert not directional(rows_of(X).summary)
    assert not directional(rows_of(unit + 1e6).summary)
    assert not directional(rows_of(np.zeros((4, 5))).summary)


@pytest.mark.parametrize("unit_rows", [False, True])
def test_the_embedding_of_wide_rows_is_their_leading_subspace(unit_rows):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(80, 3)))[0].T
    X = rng.normal(size=(90, 3)) * [5, 4, 3] @ basis + 1e-3 * rng.normal(size=(90, 80))
    X = normalize(X) if unit_rows else X + 100
    for as_matrix in (np.asarray, sparse.csr_matrix):
        blocks = [block_of(as_matrix(X[:40])), block_of(as_matrix(X[40:]))]
        Y = np.vstack(embed(blocks, None, 3, unit_rows=unit_rows, seed=0).Ys)
        seen = X if unit_rows else X - X.mean(axis=0)
        assert Y.shape == (90, 3)
        assert_allclose(Y @ Y.T, seen @ seen.T, atol=0.05 * np.abs(seen @ seen.T).max())


@pytest.mark.parametrize("kind", ["none", "mean", "scale"])
def test_few_dimensions_are_the_leading_ones_of_rows_in_the_common_frame(kind):
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(3, 60))
    Xs = [(k + 1) * rng.normal(size=(50, 3)) @ basis + 20 * k for k in range(2)]
    rows = rows_of(*Xs)
    offsets = task_offsets(rows, kind)
    Ys = embed(rows.take(None), offsets, 3, unit_rows=False, seed=0).Ys
    moved = np.vstack([X if offsets is None else offsets.from_task(X, k) for k, X in enumerate(Xs)])
    moved -= moved.mean(axis=0)
    left, lengths, _ = np.linalg.svd(moved, full_matrices=False)
    Y = np.vstack(Ys)
    assert_allclose(Y @ Y.T, (left[:, :3] * lengths[:3] ** 2) @ left[:, :3].T, atol=1e-3 * lengths[0] ** 2)


def test_subspace_iteration_finds_what_lanczos_finds(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)) * [8, 6, 5, 4] @ rng.normal(size=(4, 70)) + 1e-3 * rng.normal(size=(90, 70))
    blocks = [block_of(X[:40]), block_of(X[40:])]
    lanczos = np.vstack(embed(blocks, None, 4, unit_rows=False, seed=0).Ys)
    monkeypatch.setattr(embeddings, "LARGE", 0)
    iterated = np.vstack(embed(blocks, None, 4, unit_rows=False, seed=0).Ys)
    assert_allclose(leading(iterated), leading(lanczos), atol=1e-4)
    assert_allclose(np.linalg.norm(iterated), np.linalg.norm(lanczos), rtol=1e-6)


def test_rows_that_are_fetched_piece_by_piece_have_the_same_embedding():
    X = np.random.default_rng(0).normal(size=(120, 70))
    order = np.random.default_rng(1).permutation(120)
    picked = [Picked(X, np.sort(order[:50])), Picked(X, np.sort(order[50:]))]
    for dimensions in (5, 100):
        whole = embed([block_of(part[:]) for part in picked], None, dimensions, unit_rows=False, seed=0)
        found = embed([block_of(part) for part in picked], None, dimensions, unit_rows=False, seed=0)
        for a, b in zip(found.Ys, whole.Ys, strict=True):
            assert_allclose(np.abs(a), np.abs(b), atol=1e-8)


def test_rows_that_the_leading_directions_hardly_show_count_less():
    rng = np.random.default_rng(0)
    X = np.zeros((120, 100))
    X[:, :3] = rng.random((120, 3)) + 0.2
    X[:10] = 0
    X[np.arange(10), 50 + np.arange(10)] = 1  # each row in a direction of its own
    found = embed([block_of(normalize(X))], None, 3, unit_rows=True, seed=0)
    paced = found.downweighted(NEIGHBOR, DISTANT)
    assert paced.us[0][:10].max() < 0.01 < 0.5 < paced.us[0][10:].min()
    assert_array_equal(found.us[0], 1)


def test_directions_that_are_all_kept_count_the_same():
    unit = normalize(np.random.default_rng(0).random((20, 4)))
    found = embed([block_of(unit)], None, 50, unit_rows=True, seed=0)
    assert_array_equal(found.downweighted(NEIGHBOR, DISTANT).us[0], 1)
    nothing = Embedding([np.zeros((3, 2))], [np.ones(3)], [np.zeros(3)])
    assert_array_equal(nothing.downweighted(NEIGHBOR, DISTANT).us[0], 1)
    assert nothing.of_tasks([0]).kept[0] is nothing.kept[0]


def test_rows_far_from_all_others_count_less_whatever_the_scale():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 3)), [[40, 0, 0], [0, -60, 0]]])

    def embedded(X):
        return embed([make_block(X, np.ones(len(X)), X.mean(axis=0))], None, 50, unit_rows=False, seed=0)

    found = embedded(X).downweighted(NEIGHBOR, DISTANT).us[0]
    assert found[-2:].max() < 0.1
    assert found.min() > 0
    assert np.mean(found[:-2] == 1) > 0.95
    assert_allclose(embedded(1000 * X + 7).downweighted(NEIGHBOR, DISTANT).us[0], found)
    assert_array_equal(embedded(X).us[0], 1)


def test_equal_rows_count_the_same():
    found = Embedding([np.ones((20, 3))], [np.ones(20)]).downweighted(NEIGHBOR, DISTANT)
    assert_array_equal(found.us[0], 1)


def test_an_embedder_embeds_each_frame_once_and_all_frames_see_the_same_rows():
    rng = np.random.default_rng(0)
    rows = rows_of(rng.normal(size=(100, 3)), 30 + rng.normal(size=(80, 3)))
    embedder = Embedder(rows, Sampling(60, 10), 50, 7, seeds=(1, 2))
    plain, moved = embedder.embedding("none"), embedder.embedding("mean")
    assert embedder.embedding("none") is plain
    assert [len(Y) for Y in plain.Ys] == [len(Y) for Y in moved.Ys] == [33, 27]
    assert plain.n_neighbors == 7
    assert plain.neighbors[0][0].shape == (33, 7)
    assert_allclose(plain.Ys[0] - plain.Ys[0].mean(axis=0), moved.Ys[0] - moved.Ys[0].mean(axis=0), atol=1e-9)
    assert np.linalg.norm(plain.Ys[0].mean(axis=0) - plain.Ys[1].mean(axis=0)) > 40
    assert np.linalg.norm(moved.Ys[0].mean(axis=0) - moved.Ys[1].mean(axis=0)) < 2


def test_rows_of_zeros_have_an_embedding():
    for X in (np.zeros((60, 70)), sparse.csr_matrix((60, 70))):
        [Y] = embed([block_of(X)], None, 50, unit_rows=False, seed=0).Ys
        assert_array_equal(Y, np.zeros((60, 50)))


def test_shared_embeddings_tell_the_order_of_rows_apart():
    """Whole numbers have the same sums in any order."""
    X, y, tasks = make_multitask_blobs(60, 5, n_tasks=2, n_clusters=3, separation=9, random_state=0)
    X, order = np.round(10 * X), np.random.default_rng(0).permutation(len(X))
    with shared_embeddings():
        first = SPMTC(3, random_state=0).fit(X, tasks=tasks).labels_
        other = SPMTC(3, random_state=0).fit(X[order], tasks=tasks[order]).labels_
    assert joint_accuracy(y, first, tasks) > 0.95
    assert joint_accuracy(y[order], other, tasks[order]) > 0.95


def test_fits_of_the_same_rows_share_one_embedding(monkeypatch):
    X, _, tasks = make_multitask_blobs(60, 5, n_tasks=2, n_clusters=3, random_state=0)
    calls, plain = [], embeddings.embed
    monkeypatch.setattr(embeddings, "embed", lambda *given, **more: calls.append(1) or plain(*given, **more))
    with shared_embeddings():
        for seed in range(3):
            SPMTC(3, random_state=seed).fit(X, tasks=tasks)
    assert len(calls) == 2  # with and without offsets
    SPMTC(3, random_state=0).fit(X, tasks=tasks)
    assert len(calls) == 4
