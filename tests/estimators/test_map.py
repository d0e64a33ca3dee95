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
    k = model.task_indices_
    there = (X - model.task_offsets_[k]) / model.task_scales_[k][:, None]
    axes = np.linalg.solve(model.metric_covariance_, model.subspace_)
    V = axes @ np.linalg.lstsq(there @ axes, model.map_)[0]
    np.testing.assert_allclose(V.T @ model.metric_covariance_ @ V, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(there @ V, model.map_, atol=1e-8)
    np.testing.assert_array_equal(model.map_rows_, np.arange(len(X)))


def test_its_first_axis_tells_shared_centres_apart_best(fitted):
    _, model = fitted
    Z, share = model.shared_centers_ @ model.subspace_.T, model.cluster_sizes_.sum(axis=0)
    share = share / share.sum()
    V = directions(Z, model.subspace_, share, 4)
    spread = share @ ((Z - share @ Z) @ V) ** 2
    assert np.all(np.diff(spread) <= 1e-12)
    random = np.linalg.qr(model.subspace_ @ np.random.default_rng(0).normal(size=(4, 4)))[0]
    assert spread[0] >= (share @ ((Z - share @ Z) @ random) ** 2).max()


def test_indices_name_the_task_of_each_row(blobs):
    X, _, tasks = blobs
    names = np.array(["b", "c", "a"])[tasks]
    model = SPMTC(4, random_state=0).fit(X, tasks=names)
    np.testing.assert_array_equal(model.tasks_[model.task_indices_], names)


def test_a_map_of_many_rows_is_a_sample_with_some_of_each_task(blobs, monkeypatch):
    monkeypatch.setattr(projecting, "MAP", Sampling(30, 8))
    X, _, tasks = blobs
    whole = SPMTC(4, random_state=0, within_weight=0.5).fit(sparse.csr_matrix(X), tasks=tasks)
    rows = whole.map_rows_
    assert 30 <= len(rows) <= 35
    assert np.all(np.diff(rows) > 0)
    assert np.bincount(whole.task_indices_[rows]).min() >= 8
    monkeypatch.undo()
    everyone = SPMTC(4, random_state=0, within_weight=0.5).fit(X, tasks=tasks)
    np.testing.assert_allclose(whole.map_, everyone.map_[rows], atol=1e-8)


def test_rows_without_weight_are_not_on_the_map(blobs):
    X, _, tasks = blobs
    weight = np.ones(len(X))
    weight[::7] = 0
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks, sample_weight=weight)
    np.testing.assert_array_equal(model.map_rows_, np.flatnonzero(weight))


@pytest.mark.parametrize(("n_clusters", "n_features"), [(1, 3), (2, 3), (3, 1)])
def test_few_clusters_or_features_have_a_map_of_as_many_axes_as_the_subspace(n_clusters, n_features):
    X = np.random.default_rng(0).normal(size=(30, n_features))
    model = ASI(n_clusters, random_state=0).fit(X)
    assert model.map_.shape == (30, min(n_clusters, n_features))
    assert np.isfinite(model.map_).all()
