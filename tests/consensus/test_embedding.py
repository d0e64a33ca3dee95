"""What the members of a consensus see: a sample, in the common frame of the tasks, in few dimensions."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from mtcluster import SPMTC
from mtcluster.consensus import directions, shared_embeddings
from mtcluster.consensus import embedding as embeddings
from mtcluster.consensus.embedding import Embedder, Embedding, directional, task_offsets
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


def embedder_of(*Xs, dimensions=50, n_neighbors=10, rows=None):
    """All rows of the tasks, embedded."""
    return Embedder(rows or rows_of(*Xs), Sampling(10**6, 1), dimensions, n_neighbors, seeds=(0, 0))


def embedded(*Xs, kind="none", **more):
    return embedder_of(*Xs, **more).embedding(kind)


def closeness(V, other):
    """The cosine of the largest angle between two subspaces with orthonormal bases: 1 where they are the same."""
    return np.linalg.svd(V.T @ other)[1].min()


def by_svd(rows, l):
    """The leading right singular vectors (d, l)."""
    return np.linalg.svd(rows, full_matrices=False)[2][:l].T


def decaying(n, d, rank=4, noise=1e-3, seed=0):
    """Rows that differ in few directions, and hardly in the others."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, rank)))[0].T
    return rng.normal(size=(n, rank)) * np.arange(rank + 3, 3, -1) @ basis + noise * rng.normal(size=(n, d))


def test_smoothing_moves_rows_towards_their_neighbours_and_keeps_apart_what_is_apart():
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.normal(size=(40, 3)), 50 + rng.normal(size=(40, 3))])
    found = embedded(Y)
    [[smoothed], [as_it_was]] = found.smoothed([(5, 4), (5, 0)])
    [plain] = found.Ys
    for part in (slice(40), slice(40, 80)):
        assert np.var(smoothed[part], axis=0).sum() < 0.6 * np.var(plain[part], axis=0).sum()
        assert_allclose(smoothed[part].mean(axis=0), plain[part].mean(axis=0), atol=0.5)
    assert_array_equal(as_it_was, plain)


def test_smoothing_is_half_the_row_and_half_the_mean_of_its_neighbours():
    Y = np.array([[0.0], [1.0], [10.0], [11.0]])
    [[smoothed]] = embedded(Y).smoothed([(1, 1)])
    assert_allclose(smoothed + Y.mean(), [[0.5], [0.5], [10.5], [10.5]])


def test_smoothings_asked_for_together_are_those_asked_for_one_by_one():
    rng = np.random.default_rng(0)
    found, pairs = embedded(rng.normal(size=(30, 3)), rng.normal(size=(20, 3))), [(5, 2), (10, 4), (5, 1), (10, 0)]
    for pair, together in zip(pairs, found.smoothed(pairs), strict=True):
        for a, b in zip(together, found.smoothed([pair])[0], strict=True):
            assert_array_equal(a, b)
    twice = replace(found, Ys=found.smoothed([(5, 1)])[0]).smoothed([(5, 1)])[0]
    for a, b in zip(found.smoothed([(5, 2)])[0], twice, strict=True):
        assert_allclose(a, b)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tasks_of_no_more_than_two_rows_are_not_smoothed(n):
    rng = np.random.default_rng(0)
    found = embedded(rng.normal(size=(n, 3)), rng.normal(size=(20, 3)))
    assert_array_equal(found.smoothed([(5, 4)])[0][0], found.Ys[0])
    assert_array_equal(found.downweighted(NEIGHBOR, DISTANT).us[0], np.ones(n))


def test_neighbours_are_searched_once_for_all_frames_and_whatever_becomes_of_the_weights(monkeypatch):
    rng = np.random.default_rng(0)
    embedder = embedder_of(rng.normal(size=(30, 3)), 9 + rng.normal(size=(20, 3)))
    found = embedder.embedding("none")
    monkeypatch.setattr(embeddings, "NearestNeighbors", None)
    moved = embedder.embedding("mean")
    for (_, ours), (_, theirs) in zip(moved.neighbors, found.neighbors, strict=True):
        assert ours is theirs
    assert found.downweighted(NEIGHBOR, DISTANT).neighbors is found.neighbors
    assert found.of_tasks([1]).neighbors[0] is found.neighbors[1]
    assert len(found.of_tasks([1]).smoothed([(5, 1)])[0]) == 1


@pytest.mark.parametrize("kind", ["none", "mean", "scale"])
@pytest.mark.parametrize("d", [3, 80])
def test_neighbours_are_those_in_every_frame(kind, d):
    rng = np.random.default_rng(0)
    Xs = [(k + 1) * rng.normal(size=(30, d)) + 20 * k for k in range(2)]
    found = embedded(*Xs, kind=kind, dimensions=5, n_neighbors=7)
    for Y, (distances, near) in zip(found.Ys, found.neighbors, strict=True):
        apart = np.linalg.norm(Y[:, None] - Y, axis=2)
        np.fill_diagonal(apart, np.inf)
        assert_allclose(distances, np.sort(apart, axis=1)[:, :7])
        assert_array_equal(near, np.argsort(apart, axis=1)[:, :7])


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
        assert_allclose(offsets.in_tasks(moved[1][None], 3)[0, 1], Xs[1])
    assert not task_offsets(rows, "none").moves


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
@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
def test_the_embedding_of_wide_rows_keeps_their_products(unit_rows, as_matrix):
    X = decaying(90, 80, rank=3)
    X = normalize(X) if unit_rows else X + 100
    Y = np.vstack(embedded(as_matrix(X[:40]), as_matrix(X[40:]), dimensions=3).Ys)
    seen = X if unit_rows else X - X.mean(axis=0)
    assert Y.shape == (90, 3) if unit_rows else len(Y) == 90
    assert_allclose(Y @ Y.T, seen @ seen.T, atol=1e-2 * np.abs(seen @ seen.T).max())


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("d", [60, directions.FEW_FEATURES + 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_directions_are_the_leading_ones_of_rows_seen_from_the_mean_of_their_task(as_matrix, d, dtype):
    """All at once, by iteration or by Lanczos' method: whatever the rows are fit for."""
    parts = [decaying(80, d).astype(dtype), decaying(60, d, seed=1).astype(dtype)]
    means = np.stack([X.mean(axis=0, dtype=np.float64) for X in parts])
    shifts = np.zeros((2, d), dtype)
    shifts[1] = 30 / np.sqrt(d)
    sample = [block_of(as_matrix(X + b)) for X, b in zip(parts, shifts, strict=True)]
    V = directions.leading_directions(sample, means + shifts, 8, np.random.default_rng(0))
    centered = np.vstack([X - mean for X, mean in zip(parts, means, strict=True)]).astype(np.float64)
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-5)
    assert closeness(V[:, :8], by_svd(centered, 8)) == pytest.approx(1, abs=1e-4)
    for l in (1, 3, 8):  # the first of them keep most
        most = np.linalg.norm(centered @ by_svd(centered, l))
        assert np.linalg.norm(centered @ V[:, :l]) == pytest.approx(most, rel=1e-4)


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("d", [60, directions.FEW_FEATURES + 40])
def test_directions_of_unit_rows_are_the_leading_ones_seen_from_zero(as_matrix, d):
    X = normalize(decaying(90, d) + 0.5)
    V = directions.leading_directions(
        [block_of(as_matrix(X[:40])), block_of(as_matrix(X[40:]))], None, 4, np.random.default_rng(0)
    )
    assert V.shape == (d, 4)
    assert closeness(V, by_svd(X, 4)) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
def test_the_means_of_tasks_keep_their_distances_in_few_dimensions(as_matrix):
    """Though tasks lie apart where their rows do not differ at all."""
    rng = np.random.default_rng(0)
    Xs = [np.zeros((40, 70)) for _ in range(4)]
    for k, X in enumerate(Xs):
        X[:, :6] = rng.normal(size=(40, 6))
        X[:, 60 + k] = 10 * (k + 1)
    found = embedded(*map(as_matrix, Xs), dimensions=3)
    means, seen = (np.stack([part.mean(axis=0) for part in parts]) for parts in (Xs, found.Ys))
    assert found.Ys[0].shape[1] == 3 + 3
    away, kept = (np.linalg.norm(part[:, None] - part, axis=2) for part in (means, seen))
    assert_allclose(kept, away, rtol=1e-2)


def test_tasks_lie_apart_in_no_more_directions_than_allowed():
    rng = np.random.default_rng(0)
    Xs = [rng.normal(size=(10, 60)) + 20 * rng.normal(size=60) for _ in range(15)]
    assert embedder_of(*Xs, dimensions=3).V.shape == (60, 3 + directions.MOST_APART)


@pytest.mark.parametrize("d", [4, 60])
def test_a_frame_only_moves_and_scales_the_coordinates_of_tasks(d):
    rng = np.random.default_rng(0)
    Xs = [(k + 1) * rng.normal(size=(50, d)) + 20 * k for k in range(3)]
    embedder = embedder_of(*Xs, dimensions=5)
    plain = embedder.embedding("none")
    for kind in ("mean", "scale"):
        found, offsets = embedder.embedding(kind), task_offsets(embedder.rows, kind)
        means = [Y.mean(axis=0) for Y in found.Ys]
        assert_allclose(means, np.zeros_like(means), atol=1e-9)
        for Y, other, s in zip(found.Ys, plain.Ys, offsets.s, strict=True):
            assert_allclose(s * (Y - Y.mean(axis=0)), other - other.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("kind", ["none", "mean", "scale"])
def test_the_embedding_is_that_of_rows_moved_to_the_frame(kind):
    """Where rows differ in few directions: then the embedding loses nothing, however tasks are moved."""
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(3, 60))
    Xs = [(k + 1) * rng.normal(size=(50, 3)) @ basis + 20 * k for k in range(2)]
    rows = rows_of(*Xs)
    offsets = task_offsets(rows, kind)
    Y = np.vstack(embedded(rows=rows, dimensions=3, kind=kind).Ys)
    moved = np.vstack([X if offsets is None else offsets.from_task(X, k) for k, X in enumerate(Xs)])
    moved -= moved.mean(axis=0)
    assert_allclose(Y @ Y.T, moved @ moved.T, atol=1e-8 * np.abs(moved @ moved.T).max())


@pytest.mark.parametrize("dimensions", [3, 50])
def test_unit_rows_keep_unit_length_in_few_dimensions(dimensions):
    unit = normalize(np.random.default_rng(0).random((60, 20)))
    found = embedded(unit[:25], unit[25:], dimensions=dimensions)
    for Y in found.Ys:
        assert_allclose(np.linalg.norm(Y, axis=1), 1)
    kept = np.concatenate(found.kept)
    assert np.all(kept < 1) if dimensions == 3 else np.all(kept == 1)


def test_a_direction_of_zeros_stays_zero():
    X = normalize(np.random.default_rng(0).random((60, 20)))
    X[7] = 0
    [Y] = embedded(X, dimensions=3).Ys
    assert_array_equal(Y[7], 0)
    assert_allclose(np.linalg.norm(np.delete(Y, 7, axis=0), axis=1), 1)


@pytest.mark.parametrize("d", [70, directions.FEW_FEATURES + 40])
@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
def test_rows_that_are_fetched_piece_by_piece_have_the_same_embedding(d, as_matrix):
    X = as_matrix(decaying(120, d, noise=0.1))
    order = np.random.default_rng(1).permutation(120)
    picked = [Picked(X, np.sort(order[:50])), Picked(X, np.sort(order[50:]))]
    for dimensions in (4, 1000):
        whole = embedded(*(part[:] for part in picked), dimensions=dimensions)
        found = embedded(*picked, dimensions=dimensions)
        for a, b in zip(found.Ys, whole.Ys, strict=True):
            assert_allclose(np.abs(a), np.abs(b), atol=1e-6)


def test_rows_that_the_leading_directions_hardly_show_count_less():
    rng = np.random.default_rng(0)
    X = np.zeros((120, 100))
    X[:, :3] = rng.random((120, 3)) + 0.2
    X[:10] = 0
    X[np.arange(10), 50 + np.arange(10)] = 1  # each row in a direction of its own
    found = embedded(normalize(X), dimensions=3)
    paced = found.downweighted(NEIGHBOR, DISTANT)
    assert paced.us[0][:10].max() < 0.01 < 0.5 < paced.us[0][10:].min()
    assert_array_equal(found.us[0], 1)


def test_directions_that_are_all_kept_count_the_same():
    unit = normalize(np.random.default_rng(0).random((20, 4)))
    found = embedded(unit)
    assert_array_equal(found.downweighted(NEIGHBOR, DISTANT).us[0], 1)
    nothing = Embedding([np.zeros((3, 2))], [np.ones(3)], [np.zeros(3)], [(np.zeros((3, 0)), np.zeros((3, 0), int))])
    assert_array_equal(nothing.downweighted(NEIGHBOR, DISTANT).us[0], 1)
    assert nothing.of_tasks([0]).kept[0] is nothing.kept[0]


def test_rows_far_from_all_others_count_less_whatever_the_scale():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 3)), [[40, 0, 0], [0, -60, 0]]])

    found = embedded(X).downweighted(NEIGHBOR, DISTANT).us[0]
    assert found[-2:].max() < 0.1
    assert found.min() > 0
    assert np.mean(found[:-2] == 1) > 0.95
    assert_allclose(embedded(1000 * X + 7).downweighted(NEIGHBOR, DISTANT).us[0], found)
    assert_array_equal(embedded(X).us[0], 1)


def test_equal_rows_count_the_same():
    found = embedded(np.ones((20, 3))).downweighted(NEIGHBOR, DISTANT)
    assert_array_equal(found.us[0], 1)


def test_an_embedder_embeds_each_frame_once_and_all_frames_see_the_same_rows():
    rng = np.random.default_rng(0)
    rows = rows_of(rng.normal(size=(100, 3)), 30 + rng.normal(size=(80, 3)))
    embedder = Embedder(rows, Sampling(60, 10), 50, 7, seeds=(1, 2))
    plain, moved = embedder.embedding("none"), embedder.embedding("mean")
    assert embedder.embedding("none") is plain
    assert [len(Y) for Y in plain.Ys] == [len(Y) for Y in moved.Ys] == [33, 27]
    assert plain.neighbors[0][0].shape == (33, 7)
    assert_allclose(plain.Ys[0] - plain.Ys[0].mean(axis=0), moved.Ys[0] - moved.Ys[0].mean(axis=0), atol=1e-9)
    assert np.linalg.norm(plain.Ys[0].mean(axis=0) - plain.Ys[1].mean(axis=0)) > 40
    assert np.linalg.norm(moved.Ys[0].mean(axis=0) - moved.Ys[1].mean(axis=0)) < 2


@pytest.mark.parametrize("d", [70, directions.FEW_FEATURES + 40])
def test_rows_of_zeros_have_an_embedding(d):
    for X in (np.zeros((60, d)), sparse.csr_matrix((60, d))):
        [Y] = embedded(X).Ys
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
    calls, plain = [], embeddings.nearest
    monkeypatch.setattr(embeddings, "nearest", lambda *given: calls.append(1) or plain(*given))
    with shared_embeddings():
        for seed in range(3):
            SPMTC(3, random_state=seed).fit(X, tasks=tasks)
    assert len(calls) == 2  # of each task, with and without offsets
    SPMTC(3, random_state=0).fit(X, tasks=tasks)
    assert len(calls) == 4
