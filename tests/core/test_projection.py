"""The paper's own W-step: exact, in the span of the data, and what it does in the null space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from mtcluster.core import couplings as projection
from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.solver import first_state

from .tools import model_of


@pytest.mark.parametrize(("n", "d"), [(50, 8), (12, 40)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_the_span_reproduces_rows_and_their_scatter(n, d, container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d))  # rank 5
    blocks = [make_block(container(part), np.ones(len(part)), np.zeros(d)) for part in np.array_split(X, 2)]
    span, v = projection.span_of(blocks), rng.random(n)
    assert span.basis.shape == (d, 5)
    assert_allclose(X @ span.basis @ span.basis.T, X, atol=1e-8)
    scatter = span.scatter(blocks, np.array_split(v, 2))
    assert_allclose(
        scatter.outward(np.diag(scatter.values)) @ scatter.outward(np.eye(5)).T,
        span.basis.T @ (X.T @ (v[:, None] * X)) @ span.basis,
        atol=1e-8,
    )


def test_the_projection_prefers_between_cluster_scatter_among_directions_without_residual():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 40)), np.arange(12) % 2
    settings = model_of(0.5, 2, "projection", "binary", c=2)
    blocks = [make_block(X, np.ones(12), np.zeros(40))]
    centers = first_state(Blocks(blocks), settings, [[y]], projection.span_of(blocks)).centers.take("R", 0)
    XW = X @ centers.W
    assert_allclose(XW, np.eye(2)[y] @ centers.M, atol=1e-8)  # no residual
    assert np.all(np.linalg.norm(XW, axis=0) > 0.1)  # but energy: not the null space of the data


def diagonal_problem(n, r, c, selected, seed=0):
    """diag(values) − QQᵀ of random rows in random clusters, of which so many are selected."""
    rng = np.random.default_rng(seed)
    X, P = rng.normal(size=(n, r)) * np.linspace(0.1, 2, r), rng.random((n, c))
    v = np.where(np.arange(n) < selected, rng.random(n), 0)
    values, vectors = np.linalg.eigh(X.T @ (v[:, None] * X))
    T, S = P.T @ (v[:, None] * X) @ vectors, P.T @ (v[:, None] * P)
    return np.maximum(values, 0), T.T @ np.linalg.inv(np.linalg.cholesky(S)).T


@pytest.mark.parametrize("l", [1, 3, 6])
@pytest.mark.parametrize(
    ("n", "selected"),
    [(150, 150), (60, 60), (63, 40), (40, 30)],
    ids=["full rank", "as many rows", "unselected rows", "few rows"],
)
def test_the_structured_solution_is_the_dense_one(n, selected, l):
    values, Q = diagonal_problem(n, 60, 3, selected)
    within = np.diag(values) - Q @ Q.T
    dense, structured = projection._smallest_dense(values, Q, l), projection._smallest_structured(values, Q, l)
    assert_allclose(structured.T @ structured, np.eye(l), atol=1e-8)
    scale = values.sum()
    assert_allclose(np.trace(structured.T @ within @ structured), np.trace(dense.T @ within @ dense), atol=1e-9 * scale)
    between = [np.sum((V.T @ Q) ** 2) for V in (structured, dense)]
    assert_allclose(between[0], between[1], rtol=1e-5, atol=1e-7 * scale)


def test_large_problems_go_the_structured_way_and_stay_orthonormal():
    values, Q = diagonal_problem(800, 400, 3, 800)
    V = projection.smallest(values, Q, 4)
    assert V.shape == (400, 4)
    assert_allclose(V.T @ V, np.eye(4), atol=1e-8)
    expected = np.linalg.eigvalsh(np.diag(values) - Q @ Q.T)[:4].sum()
    assert_allclose(np.trace(V.T @ (np.diag(values) - Q @ Q.T) @ V), expected, rtol=1e-6)


def test_without_weights_the_basis_is_the_eigenvectors():
    X = np.random.default_rng(0).normal(size=(50, 8))
    blocks = [make_block(X, np.ones(50), np.zeros(8))]
    assert projection.span_of(blocks).scatter(blocks, [np.ones(50)]).vectors is None
