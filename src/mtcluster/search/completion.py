"""Missing values of a sample: what is expected in their place, so that a search sees whole rows.

Narrow rows follow the model itself (`core.gaps`): at first one cluster per task, or many small ones, with a covariance
that all share; then the clusters that were found. Wide rows follow their leading directions, as a search does.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Block, Blocks, make_block
from ..core.gaps import completed
from ..core.geometry import Tied
from ..core.model import Model
from ..core.sharing import Shrink
from ..core.solver import alternate, first_state
from ..core.starts import kmeans
from .rows import VALUE_ROUNDING, within_covariance

FREE = 1e-9  # κ: the centre of a task is the mean of its rows
SMALL_CLUSTER, FEWEST_SMALL, MOST_SMALL_CLUSTERS = (
    50,
    10,
    30,
)  # rows of a small cluster, and how many of these there are
COMPLETION_ITER, FEW_ITER, COMPLETION_TOL = (
    8,
    2,
    1e-3,
)  # of a model, and of one whose many clusters only stand for a density
COMPLETED_DIRECTIONS, COMPLETION_ROUNDS = 10, 20  # that wide rows follow, and how often these are found again


def complete(sample: list[Block], dimensions: int) -> list[Block]:
    """Return the rows with what is expected in place of missing values, before clusters are known.

    First by the task of a row; then, if there are enough rows, by the nearest of many small clusters of all tasks.
    """
    n, d = sum(map(len, sample)), sample[0].X.shape[1]
    if min(n, d) > dimensions:
        return _by_directions(sample)
    prior = np.diag(_variances(sample))
    model = Model(1, Shrink.of(FREE), 1, geometry=Tied.of(prior))
    found = by_clusters(sample, model, [np.zeros(len(block), dtype=np.intp) for block in sample])
    many = min(n // SMALL_CLUSTER, MOST_SMALL_CLUSTERS)
    if many < FEWEST_SMALL:
        return found
    us = [block.u.astype(np.float64) for block in sample]
    cov = within_covariance([_rows(block) for block in found], us, None)
    turn = np.linalg.cholesky(np.linalg.inv(cov))
    white = [
        make_block(Y, u, Y.mean(axis=0)) for Y, u in ((_rows(b) @ turn, u) for b, u in zip(found, us, strict=True))
    ]
    labels = [P[0] for P in kmeans(white, many, np.random.default_rng(0)).state.Ps]
    model = Model(many, Shrink.of(np.inf), many, geometry=Tied.of(cov))
    return by_clusters(sample, model, labels, FEW_ITER)


def by_clusters(sample: list[Block], model: Model, labels: list[Array], max_iter: int = COMPLETION_ITER) -> list[Block]:
    """Return the rows with what their cluster expects, after a few iterations of a model from these labels."""
    rows = Blocks([make_block(_rows(b), b.u.astype(np.float64), b.origin.astype(np.float64)) for b in sample])
    state = alternate(rows, model, first_state(rows, model, [labels]), max_iter=max_iter, tol=COMPLETION_TOL).state
    terms = model.terms(state.centers, rows.origins, gaps=True)
    assert terms.gaps is not None
    found = []
    for k, block in enumerate(rows.place.blocks):
        own = terms.gaps.of_task(k, block.sq, np)
        found.append(completed(block, own, np.asarray(state.Ps[k][0], dtype=np.intp)))
    return _as_blocks(found, sample)


def _as_blocks(Xs: list[Array], sample: list[Block]) -> list[Block]:
    """Whole rows in the type that the sample has; nothing is expected beyond what was seen in a column."""
    with np.errstate(invalid="ignore"):
        seen = np.concatenate([_rows(block) for block in sample])
        low, high = np.nanmin(seen, axis=0), np.nanmax(seen, axis=0)
    return [make_block(np.clip(X, low, high).astype(b.X.dtype), b.u, b.origin) for X, b in zip(Xs, sample, strict=True)]


def _rows(block: Block) -> Array:
    return np.asarray(block.X[:], dtype=np.float64)


def _variances(sample: list[Block]) -> Array:
    """Compute (d,) of each column around the means of the tasks; that of a usual column where it has none."""
    apart = np.concatenate([_rows(block) - block.origin for block in sample])
    found = np.nanmean(apart**2, axis=0)
    usable = (
        found > (VALUE_ROUNDING * np.nanmax(np.abs(np.concatenate([_rows(block) for block in sample])), axis=0)) ** 2
    )
    return np.where(usable, found, np.median(found[usable]) if usable.any() else 1.0)


def constant_columns(X: Array) -> Array:
    """Compute (d,) columns that hold one value alone, up to rounding: they say nothing."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return high - low <= VALUE_ROUNDING * np.maximum(np.abs(low), np.abs(high))


def _by_directions(sample: list[Block]) -> list[Block]:
    """Wide rows: a probabilistic principal component analysis around the means of the tasks."""
    whole = [_rows(block) for block in sample]
    gaps = np.concatenate([np.isnan(X) for X in whole])
    code = np.repeat(np.arange(len(whole)), [len(X) for X in whole])
    u = np.concatenate([block.u for block in sample]).astype(np.float64)
    means = np.stack([block.origin for block in sample]).astype(np.float64)
    seen = np.where(gaps, 0, np.concatenate(whole) - means[code])
    Y = seen
    for _ in range(COMPLETION_ROUNDS):
        Y = np.where(gaps, _expected(Y, u), seen)
    X = means[code] + Y
    return _as_blocks(np.split(X, np.cumsum([len(own) for own in whole])[:-1]), sample)


def _expected(Y: Array, u: Array) -> Array:
    """Return rows projected on their leading directions, each by the share of its variance that is not noise."""
    n, d = Y.shape
    weighted = np.sqrt(u / u.sum())[:, None] * Y
    if n < d:
        _, lengths, turn = np.linalg.svd(weighted, full_matrices=False)
        variances, V = lengths**2, turn.T
    else:
        variances, V = np.linalg.eigh(weighted.T @ weighted)
        variances, V = variances[::-1], V[:, ::-1]
    l = min(COMPLETED_DIRECTIONS, len(variances) - 1)
    noise = max(float(variances[l:].sum()), 0.0) / max(d - l, 1)
    kept = np.maximum(variances[:l] - noise, 0) / np.maximum(variances[:l], np.finfo(np.float64).tiny)
    return (Y @ V[:, :l]) * kept @ V[:, :l].T
