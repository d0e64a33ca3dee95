"""What a picture of the rows shows: where they lie in the shared subspace."""

import numpy as np
import pytest
from scipy import sparse

from mtcluster import ASI, SPMTC
from mtcluster.core import projecting
from mtcluster.core.relations import directions
from mtcluster.core.sampling import Sampling


@pytest.fixture
def fitted(blobs):
    X, _, tasks = blobs
    return X, SPMTC(4, random_state=0).fit(X, tasks=tasks)


def test_the_map_is_an_orthonormal_view_of_the_shared_subspace_in_the_common_frame(fitted):
    X, model = fitted
    k = model.fitted_.rows.tasks
    there = (X - model.fitted_.centers.offsets.b[k]) / model.fitted_.centers.offsets.s[k][:, None]
    axes = np.linalg.solve(model.fitted_.centers.geometry.tied.K, model.fitted_.centers.W)
    V = axes @ np.linalg.lstsq(there @ axes, model.fitted_.rows.map)[0]
    np.testing.assert_allclose(V.T @ model.fitted_.centers.geometry.tied.K @ V, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(there @ V, model.fitted_.rows.map, atol=1e-8)
    np.testing.assert_array_equal(model.fitted_.rows.map_rows, np.arange(len(X)))


def test_its_first_axis_tells_shared_centres_apart_best(fitted):
    _, model = fitted
    Z, share = model.fitted_.centers.M @ model.fitted_.centers.W.T, model.cluster_sizes_.sum(axis=0)
    share = share / share.sum()
    V = directions(Z, model.fitted_.centers.W, share, 4)
    spread = share @ ((Z - share @ Z) @ V) ** 2
    assert np.all(np.diff(spread) <= 1e-12)
    random = np.linalg.qr(model.fitted_.centers.W @ np.random.default_rng(0).normal(size=(4, 4)))[0]
    assert spread[0] >= (share @ ((Z - share @ Z) @ random) ** 2).max()


def test_indices_name_the_task_of_each_row(blobs):
    X, _, tasks = blobs
    names = np.array(["b", "c", "a"])[tasks]
    model = SPMTC(4, random_state=0).fit(X, tasks=names)
    np.testing.assert_array_equal(model.tasks_[model.fitted_.rows.tasks], names)


def test_a_map_of_many_rows_is_a_sample_with_some_of_each_task(blobs, monkeypatch):
    monkeypatch.setattr(projecting, "MAP", Sampling(30, 8))
    X, _, tasks = blobs
    whole = SPMTC(4, random_state=0, within_weight=0.5).fit(sparse.csr_matrix(X), tasks=tasks)
    rows = whole.fitted_.rows.map_rows
    assert 30 <= len(rows) <= 35
    assert np.all(np.diff(rows) > 0)
    assert np.bincount(whole.fitted_.rows.tasks[rows]).min() >= 8
    monkeypatch.undo()
    everyone = SPMTC(4, random_state=0, within_weight=0.5).fit(X, tasks=tasks)
    np.testing.assert_allclose(whole.fitted_.rows.map, everyone.fitted_.rows.map[rows], atol=1e-8)


def test_rows_without_weight_are_not_on_the_map(blobs):
    X, _, tasks = blobs
    weight = np.ones(len(X))
    weight[::7] = 0
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks, sample_weight=weight)
    np.testing.assert_array_equal(model.fitted_.rows.map_rows, np.flatnonzero(weight))


@pytest.mark.parametrize(("n_clusters", "n_features"), [(1, 3), (2, 3), (3, 1)])
def test_few_clusters_or_features_have_a_map_of_as_many_axes_as_the_subspace(n_clusters, n_features):
    X = np.random.default_rng(0).normal(size=(30, n_features))
    model = ASI(n_clusters, random_state=0).fit(X)
    assert model.fitted_.rows.map.shape == (30, min(n_clusters, n_features))
    assert np.isfinite(model.fitted_.rows.map).all()
