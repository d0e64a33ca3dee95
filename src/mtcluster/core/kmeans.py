"""k-means: the solver itself with binary memberships and no within-task term, from k-means++ seeds."""

from __future__ import annotations

import numpy as np

from .arrays import Array, is_sparse, pieces, rows_at
from .blocks import Block, Blocks
from .model import Model
from .offsets import Offsets
from .solver import Result, alternate, first_state, race

SEEDINGS = 3  # k-means++ seedings that are tried for a few iterations each; the best goes on
TRIAL_ITER = 5
KMEANS_ITER = 100


def kmeans(
    blocks: list[Block], n_clusters: int, rng: np.random.Generator, offsets: Offsets | None = None, n_runs: int = 1
) -> Result:
    """k-means of all rows of the blocks together, so many times: of several short runs the best goes to its end."""
    model = Model(n_clusters, 0.0, min(n_clusters, blocks[0].X.shape[1]), offsets=offsets)
    rows = Blocks(blocks)
    state = first_state(rows, model, seeds(blocks, n_clusters, offsets, rng, n_runs * SEEDINGS))
    best = race(rows, model, state, np.repeat(np.arange(n_runs), SEEDINGS), max_iter=TRIAL_ITER, tol=0.0)
    return alternate(rows, model, best.state, max_iter=KMEANS_ITER, tol=1e-6)


def seeds(
    blocks: list[Block], n_clusters: int, offsets: Offsets | None, rng: np.random.Generator, n_runs: int
) -> list[list[Array]]:
    """For each run the labels of the nearest of c rows drawn by greedy k-means++ (Arthur and Vassilvitskii)."""
    u = np.concatenate([b.u for b in blocks]).astype(np.float64)
    n_trials, runs = 2 + int(np.log(n_clusters)), np.arange(n_runs)
    draws = rng.random((n_runs, 1 + (n_clusters - 1) * n_trials))
    points = _rows(blocks, _draw(np.broadcast_to(u, (n_runs, len(u))), draws[:, :1]).ravel(), offsets)
    closest = _distances(blocks, points, offsets)
    labels = np.zeros((n_runs, len(u)), dtype=np.intp)
    for j in range(1, n_clusters):
        mass = u * closest
        mass[mass.sum(axis=1) <= 0] = u
        drawn = _draw(mass, draws[:, 1 + (j - 1) * n_trials : 1 + j * n_trials])
        distances = _distances(blocks, _rows(blocks, drawn.ravel(), offsets), offsets).reshape(n_runs, n_trials, -1)
        best = np.argmin(np.minimum(closest[:, None], distances) @ u, axis=1)
        nearer = distances[runs, best]
        labels[nearer < closest] = j
        np.minimum(closest, nearer, out=closest)
    cuts = np.cumsum([len(b) for b in blocks])[:-1]
    return [np.split(own, cuts) for own in labels]


def _draw(mass: Array, draws: Array) -> Array:
    """For each run the numbers of some rows, drawn by their mass (R, n)."""
    cumulative = np.cumsum(mass, axis=1)
    pairs = zip(cumulative, draws, strict=True)
    found = np.stack([np.searchsorted(own, draw * own[-1], side="right") for own, draw in pairs])
    return np.minimum(found, mass.shape[1] - 1)


def _rows(blocks: list[Block], at: Array, offsets: Offsets | None) -> Array:
    """Some of all rows, in the common frame of the tasks."""
    found = np.zeros((len(at), blocks[0].X.shape[1]))
    first = 0
    for k, block in enumerate(blocks):
        own = np.flatnonzero((at >= first) & (at < first + len(block)))
        if len(own):
            X = block.X[at[own] - first]
            X = (X.toarray() if is_sparse(X) else X).astype(np.float64)
            found[own] = X if offsets is None else offsets.from_task(X, k)
        first += len(block)
    return found


def _distances(blocks: list[Block], points: Array, offsets: Offsets | None) -> Array:
    """Squared distances (points, n) of points in the common frame to all rows."""
    found = []
    for k, block in enumerate(blocks):
        moved = (points if offsets is None else offsets.in_task(points, k)) - block.origin
        dtype = block.X.dtype
        near, shift = moved.astype(dtype), moved @ block.origin + np.einsum("ij,ij->i", moved, moved) / 2
        for part in pieces(block.X, len(points)):
            X = rows_at(block.X, part)
            A = (X @ near.T).T if is_sparse(X) else near @ X.T
            D = block.sq[part] - 2 * (A - shift.astype(dtype)[:, None])
            found.append(np.maximum(D, 0))
    return np.concatenate(found, axis=1).astype(np.float64, copy=False)
