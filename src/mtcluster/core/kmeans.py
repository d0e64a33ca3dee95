"""k-means: the solver itself with binary memberships and no within-task term, from k-means++ seeds."""

from __future__ import annotations

import numpy as np

from .arrays import Array, pieces, rows_at
from .blocks import Block, Blocks
from .model import Model
from .offsets import Offsets
from .solver import Result, alternate, first_state, still_best

SEEDINGS = 3  # k-means++ seedings that are tried for a few iterations each; the best goes on
TRIAL_ITER = 5
KMEANS_ITER = 100


def kmeans(blocks: list[Block], n_clusters: int, rng: np.random.Generator, offsets: Offsets | None = None) -> Result:
    """k-means of all rows of the blocks together: several short runs, the best of them to its end."""
    model = Model(n_clusters, 0.0, min(n_clusters, blocks[0].X.shape[1]), offsets=offsets)
    rows, trials = Blocks(blocks), list[Result]()
    for _ in range(SEEDINGS):
        begun = first_state(rows, model, seed(blocks, n_clusters, offsets, rng))
        trials = still_best([*trials, alternate(rows, model, begun, max_iter=TRIAL_ITER, tol=0.0)], _final)
        del begun  # its centres
    return alternate(rows, model, trials[0].state, max_iter=KMEANS_ITER, tol=1e-6)


def _final(result: Result) -> float:
    return float(result.trace[-1])


def seed(blocks: list[Block], n_clusters: int, offsets: Offsets | None, rng: np.random.Generator) -> list[Array]:
    """Labels of the nearest of c rows drawn by greedy k-means++ (Arthur and Vassilvitskii)."""
    u = np.concatenate([b.u for b in blocks]).astype(np.float64)
    n_trials = 2 + int(np.log(n_clusters))
    first = _row(blocks, _draw(u, 1, rng)[0], offsets)
    closest = _distances(blocks, first[None], offsets)[:, 0]
    labels = np.zeros(len(u), dtype=np.intp)
    for j in range(1, n_clusters):
        mass = u * closest
        candidates = np.stack([_row(blocks, i, offsets) for i in _draw(mass if mass.sum() > 0 else u, n_trials, rng)])
        distances = _distances(blocks, candidates, offsets)
        reduced = np.minimum(closest[:, None], distances)
        best = int(np.argmin(u @ reduced))
        labels[distances[:, best] < closest] = j
        closest = reduced[:, best]
    return np.split(labels, np.cumsum([len(b) for b in blocks])[:-1])


def _draw(mass: Array, size: int, rng: np.random.Generator) -> Array:
    cumulative = np.cumsum(mass)
    return np.minimum(np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right"), len(mass) - 1)


def _row(blocks: list[Block], i: int, offsets: Offsets | None) -> Array:
    """A row in the common frame of the tasks."""
    for k, block in enumerate(blocks):
        if i < len(block):
            x = block.X[i : i + 1]
            x = (x.toarray() if hasattr(x, "toarray") else x)[0].astype(np.float64)
            return x if offsets is None else offsets.from_task(x, k)
        i -= len(block)
    raise IndexError(i)


def _distances(blocks: list[Block], points: Array, offsets: Offsets | None) -> Array:
    """Squared distances (n, points) of all rows to points in the common frame."""
    found = []
    for k, block in enumerate(blocks):
        moved = (points if offsets is None else offsets.in_task(points, k)) - block.origin
        dtype = block.X.dtype
        for part in pieces(block.X, len(points)):
            A = rows_at(block.X, part) @ moved.T.astype(dtype) - (moved @ block.origin).astype(dtype)
            D = block.sq[part][:, None] - 2 * A + np.einsum("ij,ij->i", moved, moved)
            found.append(np.maximum(D, 0).astype(np.float64))
    return np.concatenate(found)
