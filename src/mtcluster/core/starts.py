"""Starting memberships: random, k-means of each task with matched centres, k-means of all rows.

k-means is the solver itself: binary memberships, no within-task term, from k-means++ seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .arrays import Array, pieces, rows_at
from .blocks import UNLOCK, LocalRows
from .model import Block, Settings
from .relations import spread
from .solver import Result, alternate, first_state, still_best

SEEDINGS = 3  # k-means++ seedings that are tried a few iterations each; the best goes on
TRIAL_ITER = 5
KMEANS_ITER = 100

KINDS = ("per-task", "pooled")  # what "auto" tries


def kinds(n_tasks: int) -> tuple[str, ...]:
    """The kinds of start that differ."""
    return KINDS if n_tasks > 1 else ("pooled",)


def start(kind: str, blocks: list[Block], n_clusters: int, settings: Settings, rng: np.random.Generator) -> list[Array]:
    """Starting memberships of every block: labels, or random ones as the model has them."""
    if kind == "random":
        return random([len(b) for b in blocks], n_clusters, settings, rng, blocks[0].sq.dtype)
    return per_task(blocks, n_clusters, rng) if kind == "per-task" else kmeans(blocks, n_clusters, rng, settings)


def random(sizes: list[int], n_clusters: int, settings: Settings, rng: np.random.Generator, dtype: Any) -> list[Array]:
    """Memberships drawn at random, for so many rows a task."""
    if settings.membership == "binary":
        return [rng.integers(n_clusters, size=n) for n in sizes]
    return [(rng.random((n, n_clusters)) + UNLOCK).astype(dtype) for n in sizes]


def per_task(blocks: list[Block], n_clusters: int, rng: np.random.Generator) -> list[Array]:
    """Labels by k-means of each task on its own, clusters renumbered so that they correspond."""
    results = [run_kmeans([b], n_clusters, rng) for b in blocks]
    labels = [r.state.Ps[0] for r in results]
    sizes = np.stack([np.bincount(l, weights=b.u, minlength=n_clusters) for b, l in zip(blocks, labels, strict=True)])
    orders = align(np.stack([r.state.centers.Z for r in results]), sizes)
    return [np.argsort(order)[l] for l, order in zip(labels, orders, strict=True)]


def kmeans(
    blocks: list[Block], n_clusters: int, rng: np.random.Generator, frame: Settings | None = None
) -> list[Array]:
    """Labels by k-means of all rows of the blocks together."""
    return run_kmeans(blocks, n_clusters, rng, frame).state.Ps


def run_kmeans(blocks: list[Block], n_clusters: int, rng: np.random.Generator, frame: Settings | None = None) -> Result:
    """k-means of all rows of the blocks together: several short runs, the best of them to its end.

    The tasks lie as the offsets and scales of `frame` say.
    """
    offsets, scales = (frame.offsets, frame.scales) if frame is not None else (None, None)
    settings = Settings(0.0, min(n_clusters, blocks[0].X.shape[1]), offsets=offsets, scales=scales)
    rows, trials = LocalRows(blocks, n_clusters), list[Result]()
    for _ in range(SEEDINGS):
        begun = first_state(rows, settings, seed(blocks, n_clusters, settings, rng))
        trials = still_best([*trials, alternate(rows, settings, begun, max_iter=TRIAL_ITER, tol=0.0)], _final)
        del begun  # its centres
    return alternate(rows, settings, trials[0].state, max_iter=KMEANS_ITER, tol=1e-6)


def _final(result: Result) -> float:
    return float(result.trace[-1])


def seed(blocks: list[Block], n_clusters: int, settings: Settings, rng: np.random.Generator) -> list[Array]:
    """Labels of the nearest of c rows drawn by greedy k-means++ (Arthur and Vassilvitskii)."""
    u = np.concatenate([b.u for b in blocks]).astype(np.float64)
    n_trials = 2 + int(np.log(n_clusters))
    first = _row(blocks, _draw(u, 1, rng)[0], settings)
    closest = _distances(blocks, first[None], settings)[:, 0]
    labels = np.zeros(len(u), dtype=np.intp)
    for j in range(1, n_clusters):
        mass = u * closest
        candidates = np.stack([_row(blocks, i, settings) for i in _draw(mass if mass.sum() > 0 else u, n_trials, rng)])
        distances = _distances(blocks, candidates, settings)
        reduced = np.minimum(closest[:, None], distances)
        best = int(np.argmin(u @ reduced))
        labels[distances[:, best] < closest] = j
        closest = reduced[:, best]
    return np.split(labels, np.cumsum([len(b) for b in blocks])[:-1])


def align(Ms: Array, sizes: Array, max_rounds: int = 20) -> list[Array]:
    """For each task, the order of its clusters that brings its centres (m, c, d) closest to those of the others.

    What is compared is what a cluster adds to the spread between clusters of its task: its distance from the task's
    mean by the root of its share of the rows, `sizes` (m, c). So a shift of a whole task does not matter, and a cluster
    of few rows, whose centre is mostly noise, cannot displace others. Descends Σ_k Σ_j ‖Q_kj − mean of the tasks' j-th
    rows of Q‖² by one Hungarian matching a task at a time.
    """
    Ms = spread(Ms, sizes)
    orders = [np.arange(Ms.shape[1]) for _ in Ms]
    by_size = np.argsort(sizes.sum(axis=1), kind="stable")[::-1]
    reference = Ms[by_size[0]].copy()
    for placed, k in enumerate(by_size[1:], start=1):
        orders[k] = _match(Ms[k], reference)
        reference += (Ms[k][orders[k]] - reference) / (placed + 1)
    for _ in range(max_rounds):
        changed = False
        for k in range(len(Ms)):
            others = np.mean([Ms[i][orders[i]] for i in range(len(Ms)) if i != k], axis=0) if len(Ms) > 1 else Ms[k]
            order = _match(Ms[k], others)
            changed |= bool(np.any(order != orders[k]))
            orders[k] = order
        if not changed:
            break
    return orders


def _match(own: Array, reference: Array) -> Array:
    """Which of its own clusters a task puts in each place of the reference."""
    return linear_sum_assignment(reference @ own.T, maximize=True)[1]


def _draw(mass: Array, size: int, rng: np.random.Generator) -> Array:
    cumulative = np.cumsum(mass)
    return np.minimum(np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right"), len(mass) - 1)


def _row(blocks: list[Block], i: int, settings: Settings) -> Array:
    """A row in the common frame of the tasks."""
    for k, block in enumerate(blocks):
        if i < len(block):
            x = block.X[i : i + 1]
            x = (x.toarray() if hasattr(x, "toarray") else x)[0].astype(np.float64)
            return settings.from_task(x, k)
        i -= len(block)
    raise IndexError(i)


def _distances(blocks: list[Block], points: Array, settings: Settings) -> Array:
    """Squared distances (n, points) of all rows to points in the common frame."""
    found = []
    for k, block in enumerate(blocks):
        moved = settings.in_task(points, k) - block.origin
        dtype = block.X.dtype
        for part in pieces(block.X, len(points)):
            A = rows_at(block.X, part) @ moved.T.astype(dtype) - (moved @ block.origin).astype(dtype)
            D = block.sq[part][:, None] - 2 * A + np.einsum("ij,ij->i", moved, moved)
            found.append(np.maximum(D, 0).astype(np.float64))
    return np.concatenate(found)
