"""k-means: the solver itself with binary memberships and no within-task term, from k-means++ seeds."""

from __future__ import annotations

import numpy as np

from .arrays import Array, is_sparse, pieces, rows_at
from .blocks import Block, Blocks
from .model import Model
from .offsets import Offsets
from .sharing import Share
from .solver import Result, alternate, race, state_at

SEEDINGS = 3  # k-means++ seedings that are tried for a few iterations each; the best goes on
TRIAL_ITER = 5
KMEANS_ITER = 100
NOWHERE = Offsets.none()


def kmeans(
    blocks: list[Block], n_clusters: int, rng: np.random.Generator, offsets: Offsets = NOWHERE, n_runs: int = 1
) -> Result:
    """k-means of all rows of the blocks together, so many times: of several short runs the best goes to its end."""
    model = Model(n_clusters, Share.of(0.0), min(n_clusters, blocks[0].X.shape[1]), offsets=offsets)
    rows = Blocks(blocks)
    Z = seeds(blocks, n_clusters, rng, n_runs * SEEDINGS, offsets=offsets)
    state = state_at(rows, model, Z)
    best = race(rows, model, state, np.repeat(np.arange(n_runs), SEEDINGS), max_iter=TRIAL_ITER, tol=0.0)
    return alternate(rows, model, best.state, max_iter=KMEANS_ITER, tol=1e-6)


def seeds(
    blocks: list[Block],
    n_clusters: int,
    rng: np.random.Generator,
    n_runs: int,
    most: int | None = None,
    offsets: Offsets = NOWHERE,
) -> Array:
    """For each run c rows (R, c, d) drawn by greedy k-means++ (Arthur and Vassilvitskii), in the common frame.

    `most`: they are drawn among so many rows.
    """
    if most is not None and sum(map(len, blocks)) > most:
        blocks = _some(blocks, most, rng)
    u = np.concatenate([b.u for b in blocks]).astype(np.float64)
    n_trials, runs = 2 + int(np.log(n_clusters)), np.arange(n_runs)
    draws = rng.random((n_runs, 1 + (n_clusters - 1) * n_trials))
    found = np.zeros((n_runs, n_clusters, blocks[0].X.shape[1]))
    found[:, 0] = _rows(blocks, _draw(np.broadcast_to(u, (n_runs, len(u))), draws[:, :1]).ravel(), offsets)
    closest = _distances(blocks, found[:, 0], offsets)
    for j in range(1, n_clusters):
        mass = closest * u
        mass[mass.sum(axis=1) <= 0] = u
        drawn = _draw(mass, draws[:, 1 + (j - 1) * n_trials : 1 + j * n_trials])
        points = _rows(blocks, drawn.ravel(), offsets)
        distances = _distances(blocks, points, offsets).reshape(n_runs, n_trials, -1)
        np.minimum(distances, closest[:, None], out=distances)
        best = np.argmin(distances @ u, axis=1)
        closest = distances[runs, best]
        found[:, j] = points.reshape(n_runs, n_trials, -1)[runs, best]
    return found


def _some(blocks: list[Block], most: int, rng: np.random.Generator) -> list[Block]:
    """So many of all rows, drawn at random."""
    edges = np.cumsum([0, *map(len, blocks)])
    at = np.sort(rng.choice(edges[-1], size=most, replace=False))
    owns = np.split(at, np.searchsorted(at, edges[1:-1]))
    pairs = zip(blocks, owns, edges, strict=False)
    return [_picked(b, own - first) for b, own, first in pairs]


def _picked(b: Block, at: Array) -> Block:
    """Some rows of a block."""
    return Block(b.X[at], b.u[at], b.sq[at], b.origin, observed=None if b.observed is None else b.observed[at])


def _draw(mass: Array, draws: Array) -> Array:
    """For each run the numbers of some rows, drawn by their mass (R, n)."""
    cumulative = np.cumsum(mass, axis=1, dtype=np.float64)
    pairs = zip(cumulative, draws, strict=True)
    found = np.stack([np.searchsorted(own, draw * own[-1], side="right") for own, draw in pairs])
    return np.minimum(found, mass.shape[1] - 1)


def _rows(blocks: list[Block], at: Array, offsets: Offsets) -> Array:
    """Some of all rows, in the common frame of the tasks."""
    found = np.zeros((len(at), blocks[0].X.shape[1]))
    first = 0
    for k, block in enumerate(blocks):
        own = np.flatnonzero((at >= first) & (at < first + len(block)))
        if len(own):
            X = block.X[at[own] - first]
            X = (X.toarray() if is_sparse(X) else block.filled(X)[0]).astype(np.float64)
            found[own] = offsets.from_task(X, k)
        first += len(block)
    return found


def _distances(blocks: list[Block], points: Array, offsets: Offsets) -> Array:
    """Squared distances (points, n) of points in the common frame to all rows."""
    found, placed = [], offsets.in_tasks(points[None], len(blocks))[0]
    for k, block in enumerate(blocks):
        moved = placed[k] - block.origin
        dtype = block.X.dtype
        near, shift = moved.astype(dtype), moved @ block.origin + np.einsum("ij,ij->i", moved, moved) / 2
        for part in pieces(block.X, len(points)):
            X, G = block.filled(rows_at(block.X, part))
            A = np.ascontiguousarray((X @ near.T).T) if is_sparse(X) else near @ X.T
            A -= shift.astype(dtype)[:, None]
            if G is not None:
                A += (near**2 / 2) @ G.T
            A *= -2
            A += block.sq[part]
            found.append(np.maximum(A, 0, out=A))
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)
