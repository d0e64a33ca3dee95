"""Starts: k-means as good as scikit-learn's, and clusters that correspond."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from mtcluster.core import starts as kmeans
from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.relations import align
from mtcluster.core.sharing import Offsets
from mtcluster.core.solver import first_state
from mtcluster.core.starts import STARTS
from mtcluster.metrics import clustering_accuracy

from .tools import model_of

KINDS = ("per-task", "pooled")
FOUR, THREE = (model_of(0.5, 3, c=c) for c in (4, 3))


def start(kind, blocks, model, seed=0):
    return STARTS[kind](Blocks(blocks), model, np.random.default_rng(seed))


def block_of(X, u=None):
    return make_block(X, np.ones(X.shape[0]) if u is None else u, np.zeros(X.shape[1]))


def test_k_means_is_as_good_as_scikit_learns(blobs):
    X = blobs.X
    ours = kmeans.kmeans([block_of(X)], 4, np.random.default_rng(0))
    theirs = KMeans(4, n_init=10, random_state=0).fit(X)
    assert ours.final[0] <= theirs.inertia_ * 1.02


def test_k_means_of_blocks_is_k_means_of_all_rows(blobs):
    parts = np.array_split(blobs.X, 3)
    whole = kmeans.kmeans([block_of(blobs.X)], 4, np.random.default_rng(0))
    blocks = kmeans.kmeans([block_of(part) for part in parts], 4, np.random.default_rng(0))
    assert_array_equal(np.concatenate(blocks.state.Ps, axis=1), whole.state.Ps[0])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_rows_of_weight_0_are_never_seeds(container):
    """Though they lie farthest from all others, and are the first, the last and many."""
    X = np.random.default_rng(0).random((40, 2))
    u = np.where(np.arange(40) % 3, 1.0, 0.0)
    X[u == 0] += 100
    blocks = [block_of(container(X[:15]), u[:15]), block_of(container(X[15:]), u[15:])]
    for seed in range(10):
        assert kmeans.seeds(blocks, 4, np.random.default_rng(seed), 5).max() <= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_seeds_of_several_runs_are_those_one_by_one(blobs, dtype):
    """From the same random numbers; runs differ."""
    blocks = [
        make_block(blobs.X[blobs.tasks == k].astype(dtype), np.ones(np.sum(blobs.tasks == k), dtype), np.zeros(6))
        for k in range(3)
    ]
    together = kmeans.seeds(blocks, 4, np.random.default_rng(0), 6)
    rng = np.random.default_rng(0)
    alone = [kmeans.seeds(blocks, 4, rng, 1)[0] for _ in range(6)]
    assert together.shape == (6, 4, 6)
    assert_array_equal(together, alone)
    assert len(np.unique(together[:, 0], axis=0)) > 1


def test_seeds_are_different_rows(blobs):
    for found in kmeans.seeds([block_of(blobs.X)], 10, np.random.default_rng(0), 5):
        assert len(np.unique(found, axis=0)) == 10
        assert all(np.any(np.all(row == blobs.X, axis=1)) for row in found)


def test_seeds_of_equal_rows_are_these_rows():
    assert_array_equal(kmeans.seeds([block_of(np.ones((5, 2)))], 3, np.random.default_rng(0), 2), 1)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_seeds_may_be_drawn_among_few_rows(blobs, container):
    parts = [container(part) for part in np.split(blobs.X, [30, 90])]
    found = kmeans.seeds([block_of(part) for part in parts], 4, np.random.default_rng(0), 50, most=12)
    drawn = np.unique(found.reshape(-1, 6), axis=0)
    assert 4 <= len(drawn) <= 12
    assert all(np.any(np.all(row == blobs.X, axis=1)) for row in drawn)
    everyone = kmeans.seeds([block_of(part) for part in parts], 4, np.random.default_rng(0), 50, most=120)
    assert_array_equal(everyone, kmeans.seeds([block_of(part) for part in parts], 4, np.random.default_rng(0), 50))


def test_alignment_finds_the_permutations(blobs):
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(5, 8))
    orders = [rng.permutation(5) for _ in range(4)]
    Ms = np.stack([(reference + 0.1 * rng.normal(size=(5, 8)))[order] for order in orders])
    found = align(Ms, np.ones((4, 5)))
    aligned = [Ms[k][found[k]] for k in range(4)]
    assert_allclose(aligned, np.broadcast_to(aligned[0], (4, 5, 8)), atol=1.0)


def test_alignment_does_not_mind_a_shift_of_a_whole_task():
    rng = np.random.default_rng(0)
    Ms, sizes = rng.normal(size=(3, 4, 5)), rng.integers(1, 9, size=(3, 4)).astype(float)
    shifted = Ms + 100 * rng.normal(size=(3, 1, 5))
    for a, b in zip(align(Ms, sizes), align(shifted, sizes), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_k_means_starts_make_clusters_correspond(blobs, kind):
    blocks = [block_of(blobs.X[blobs.tasks == k]) for k in range(3)]
    Ps = start(kind, blocks, FOUR)
    y = np.concatenate([blobs.y[blobs.tasks == k] for k in range(3)])
    assert clustering_accuracy(y, np.concatenate(Ps)) > 0.8


@pytest.mark.parametrize("kind", [*KINDS, "random"])
@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_starts_are_memberships_of_the_asked_form(blobs, kind, membership, dtype):
    X = blobs.X.astype(dtype)
    blocks = [make_block(X[:60], np.ones(60, dtype), np.zeros(6)), make_block(X[60:], np.ones(60, dtype), np.zeros(6))]
    model = model_of(0.5, 4, membership=membership, c=4)
    for P in first_state(Blocks(blocks), model, [start(kind, blocks, model)]).Ps:
        if membership == "binary":
            assert P.shape == (1, 60)
            assert set(P[0].tolist()) <= set(range(4))
        else:
            assert P.dtype == dtype
            assert np.all(P > 0)


def test_starts_of_sparse_rows_are_those_of_dense_rows(counts):
    X, _, _ = counts
    for kind in [*KINDS, "random"]:
        dense = start(kind, [block_of(X)], THREE)
        thin = start(kind, [block_of(sparse.csr_matrix(X))], THREE)
        assert_array_equal(dense[0], thin[0])


def test_a_cluster_of_few_rows_does_not_displace_others():
    """The small cluster of the second task lies on the reference of the first; the large one only near it."""
    Ms = np.array([[[0.0, 0], [10, 0], [0, 10]], [[9.0, 0], [10.5, 0], [0, 10]]])
    sizes = np.array([[10.0, 10, 10], [100, 1, 100]])
    first, second = (order.tolist() for order in align(Ms, sizes))
    assert second[first.index(1)] == 0


@pytest.mark.parametrize("kind", ["pooled", "per-task"])
def test_starts_see_tasks_where_they_lie(blobs, kind):
    """A known shift and scale of the tasks changes nothing."""
    parts = [blobs.X[blobs.tasks == k] for k in range(3)]
    offsets = np.random.default_rng(0).normal(scale=50, size=(3, 6))
    plain = start(kind, [block_of(part) for part in parts], FOUR)
    moved = [block_of(part + b) for part, b in zip(parts, offsets, strict=True)]
    found = start(kind, moved, model_of(0.5, 3, c=4, offsets=Offsets.of(offsets)))
    for a, b in zip(plain, found, strict=True):
        assert_array_equal(a, b)
