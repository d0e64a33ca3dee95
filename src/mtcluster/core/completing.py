"""Rows with missing values: whole rows from them, and rows that have no value at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, Matrix, has_gaps, is_sparse, pieces, rows_at
from .blocks import Block, Place, make_block
from .gaps import Measured, TaskGaps
from .patterns import Patterns, conditional, patterns

MOST_FEATURES = 50  # of rows that are completed by a covariance


def columns_there(block: Block) -> Array:
    """(d,) columns in which some row of a block has a value."""
    if block.observed is None:
        return np.ones(block.X.shape[1], dtype=bool)
    return ~np.isnan(np.asarray(block.X[:])).all(axis=0)


def by_itself(block: Block) -> Block:
    """The rows with what the mean and the covariance of all of them expect in place of missing values.

    Nothing is assumed about clusters. Rows of many features have means.
    """
    if block.observed is None:
        return block
    X = np.asarray(block.X[:], dtype=np.float64)
    G = np.isnan(X)
    n = np.maximum(np.sum(~G, axis=0), 1)
    mean = np.where(G.all(axis=0), block.origin, np.sum(np.where(G, 0, X), axis=0) / n)
    Y = np.where(G, 0, X - mean)
    if X.shape[1] <= MOST_FEATURES:
        seen = (~G).astype(np.float64)
        cov = (Y.T @ Y) / np.maximum(seen.T @ seen, 1)
        variances = np.diag(cov)
        cov = 0.9 * cov + np.diag(0.1 * variances + np.where(variances > 0, 0, 1))  # pairs have rows of their own
        values, vectors = np.linalg.eigh(cov)
        A = (vectors / np.maximum(values, 0.01 * np.median(values))) @ vectors.T
        for group in patterns(G):
            P = conditional(A, group)[group.pattern]
            U = (Y[group.rows] @ A)[np.arange(len(group.rows))[:, None], group.cells]
            Y[group.rows[:, None], group.cells] = -np.einsum("nkl,nl->nk", P, U)
    return make_block((mean + Y).astype(block.X.dtype), block.u, block.origin)


def without_values(X: Matrix, xp: Any = np) -> Array | None:
    """(n,) rows that have no value at all; None: all have."""
    if is_sparse(X):
        return None
    parts = [rows_at(X, part) for part in pieces(X)]
    if not any(has_gaps(rows, xp) for rows in parts):
        return None
    return xp.concat([xp.all(xp.isnan(rows), axis=1) for rows in parts])


def empty_rows(place: Place) -> tuple[Any, ...]:
    """Which rows have no value at all."""
    found = []
    for X in place.Xs:
        empty = without_values(X, place.xp)
        found.append(_none(X, place.xp) if empty is None else empty)
    return found, None


def _none(X: Matrix, xp: Any) -> Array:
    matrix: Any = getattr(X, "matrix", X)
    device = {} if xp is np else {"device": matrix.device}
    return xp.zeros((X.shape[0],), dtype=xp.bool, **device)


def counted(X: Matrix, u: Array, xp: Any = np) -> Array:
    """Sample weights, 0 for rows that have no value at all: they count nothing."""
    empty = without_values(X, xp)
    return u if empty is None else xp.where(empty, xp.zeros_like(u), u)


def completed(block: Block, terms: TaskGaps, labels: Array) -> Array:
    """The rows of a block with what is expected in place of missing values, in the cluster (n,) of each; of one run."""
    X, G = block.filled(block.X[:])
    if G is None:
        return X
    if terms.A is None:
        means = [C[0][labels] for C, _ in terms.parts]
    else:
        met = Measured(terms, X, G, Patterns(list(patterns(G))))
        means = [found[0] for found in met.expected(labels[None])]
    expected = sum(share[0] * mean for mean, (_, share) in zip(means, terms.parts, strict=True))
    return np.where(G, block.origin + expected, X)
