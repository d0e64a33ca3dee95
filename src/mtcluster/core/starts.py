"""Starting memberships: one class per kind of start, registered by name; and the k-means that most begin with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from .arrays import Array, is_sparse, pieces, rows_at
from .blocks import Block, Blocks, PerRow, RowSource
from .model import Model
from .relations import align
from .sampling import Sampling, label_all, take_sample
from .sharing import Offsets, Share
from .solver import Result, alternate, race, state_at

KMEANS_SEEDINGS = 3  # k-means++ seedings that are tried for a few iterations each; the best goes on
KMEANS_TRIAL_ITER = 5
KMEANS_ITER = 100
NOWHERE = Offsets.none()


def kmeans(blocks: list[Block], n_clusters: int, rng: np.random.Generator, offsets: Offsets = NOWHERE) -> Result:
    """Get k-means of all rows of the blocks together: of several short runs the best goes to its end."""
    model = Model(n_clusters, Share.of(0.0), min(n_clusters, blocks[0].X.shape[1]), offsets=offsets)
    rows = Blocks(blocks)
    Z = seeds(blocks, n_clusters, rng, KMEANS_SEEDINGS, offsets=offsets)
    state = state_at(rows, model, Z)
    best = race(rows, model, state, np.zeros(KMEANS_SEEDINGS, dtype=int), max_iter=KMEANS_TRIAL_ITER, tol=0.0)
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
    """Return some rows of a block."""
    return Block(b.X[at], b.u[at], b.sq[at], b.origin, observed=None if b.observed is None else b.observed[at])


def _draw(mass: Array, draws: Array) -> Array:
    """For each run the numbers of some rows, drawn by their mass (R, n)."""
    cumulative = np.cumsum(mass, axis=1, dtype=np.float64)
    pairs = zip(cumulative, draws, strict=True)
    found = np.stack([np.searchsorted(own, draw * own[-1], side="right") for own, draw in pairs])
    return np.minimum(found, mass.shape[1] - 1)


def _rows(blocks: list[Block], at: Array, offsets: Offsets) -> Array:
    """Return some of all rows, in the common frame of the tasks."""
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
    """Return squared distances (points, n) of points in the common frame to all rows."""
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


class Start(ABC):
    """Starting memberships, and how a fit that begins with them goes on where that is left open ("auto")."""

    name: ClassVar[str]
    max_iter: int = 50  # iterations per stage
    warmup_iter: int = 20  # iterations with all rows before the first stage
    full_weight_share: float = 0.8  # of the soft rule
    n_init: int = 3  # how often it is drawn

    @abstractmethod
    def __call__(self, rows: RowSource, model: Model, rng: np.random.Generator) -> PerRow:
        """Return starting memberships of all rows."""


class SampledStart(Start):
    """Labels found on a sample of the rows where they are many; other rows start at the nearest centre."""

    sample: int = 5_000  # rows that are looked at, or more:
    cluster_sample: int = 100  # rows for each cluster of each task

    @abstractmethod
    def labels(self, blocks: list[Block], model: Model, rng: np.random.Generator) -> list[Array]:
        """Return labels of the rows of some blocks, one block per task."""

    def __call__(self, rows: RowSource, model: Model, rng: np.random.Generator) -> PerRow:
        """Return starting labels of all rows."""
        c, m = model.n_clusters, len(rows.origins)
        how = Sampling(max(self.sample, self.cluster_sample * c * m), self.cluster_sample * c)
        sample, positions = take_sample(rows, how, rng)
        return label_all(rows, sample, positions, self.labels(sample, model, rng), model)


class RandomStart(Start):
    """Memberships drawn at random for every row."""

    name = "random"
    n_init = 1

    def __call__(self, rows: RowSource, model: Model, rng: np.random.Generator) -> PerRow:
        """Return starting memberships of all rows."""
        sizes = rows.summary.rows.tolist()
        return rows.scatter([model.membership.random(n, model.n_clusters, rng, rows.dtype) for n in sizes])


class PerTaskStart(SampledStart):
    """Labels by k-means of each task on its own, clusters renumbered so that they correspond."""

    name = "per-task"

    def labels(self, blocks: list[Block], model: Model, rng: np.random.Generator) -> list[Array]:
        """Return labels of the rows of some blocks."""
        c = model.n_clusters
        results = [kmeans([b], c, rng) for b in blocks]
        labels = [r.state.Ps[0][0] for r in results]
        sizes = np.stack([np.bincount(l, weights=b.u, minlength=c) for b, l in zip(blocks, labels, strict=True)])
        orders = align(np.stack([r.state.centers.Z[0] for r in results]), sizes)
        return [np.argsort(order)[l] for l, order in zip(labels, orders, strict=True)]


class PooledStart(SampledStart):
    """Labels by k-means of all rows, in the common frame of the tasks."""

    name = "pooled"

    def labels(self, blocks: list[Block], model: Model, rng: np.random.Generator) -> list[Array]:
        """Return labels of the rows of some blocks."""
        return [P[0] for P in kmeans(blocks, model.n_clusters, rng, model.offsets).state.Ps]


STARTS: dict[str, Start] = {start.name: start for start in (RandomStart(), PerTaskStart(), PooledStart())}
TRIED = ("per-task", "pooled")  # by init="auto" where there is no search


def tried(n_tasks: int) -> list[str]:
    """List the kinds of start that differ: with one task, per-task is pooled."""
    return list(TRIED) if n_tasks > 1 else ["pooled"]
