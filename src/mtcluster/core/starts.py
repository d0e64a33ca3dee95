"""Starting memberships: random, k-means of each task with matched centres, k-means of all rows.

k-means is the solver itself: binary memberships, no within-task term, from k-means++ seeds.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .model import Array, Block, Quadratic, Settings, products
from .solver import Result, alternate, first_best, first_state
from .updates import nearest

SEEDINGS = 3  # k-means++ seedings that are tried a few iterations each; the best goes on
TRIAL_ITER = 5
KMEANS_ITER = 100
UNLOCK = 0.2  # added to non-negative starts: a multiplicative update never leaves 0

KINDS = ("per-task", "pooled")  # what "auto" tries


def start(kind: str, blocks: list[Block], n_clusters: int, membership: str, rng: np.random.Generator) -> list[Array]:
    """Starting memberships of every block."""
    if kind == "random":
        Ps = [_random(len(b.sq), n_clusters, membership, rng).astype(b.sq.dtype) for b in blocks]
    elif kind == "per-task":
        Ps = per_task(blocks, n_clusters, rng)
    else:
        Ps = kmeans(blocks, n_clusters, rng).state.Ps
    return Ps if membership == "binary" else [P + np.asarray(UNLOCK, P.dtype) for P in Ps]


def per_task(blocks: list[Block], n_clusters: int, rng: np.random.Generator) -> list[Array]:
    """k-means of each task on its own, clusters renumbered so that they correspond."""
    results = [kmeans([b], n_clusters, rng) for b in blocks]
    sizes = [float(b.u.sum()) for b in blocks]
    orders = align(np.stack([r.state.centers.Z for r in results]), sizes)
    return [r.state.Ps[0][:, order] for r, order in zip(results, orders, strict=True)]


def kmeans(blocks: list[Block], n_clusters: int, rng: np.random.Generator) -> Result:
    """k-means of all rows of the blocks together: several short runs, the best of them to its end."""
    settings = Settings(within_weight=0.0, n_components=min(n_clusters, blocks[0].X.shape[1]))
    trials = []
    for _ in range(SEEDINGS):
        state = first_state(blocks, settings, seed(blocks, n_clusters, rng), None)
        trials.append(alternate(blocks, settings, state, max_iter=TRIAL_ITER, tol=0.0))
    best = trials[first_best([trial.trace[-1] for trial in trials])]
    return alternate(blocks, settings, best.state, max_iter=KMEANS_ITER, tol=1e-6)


def seed(blocks: list[Block], n_clusters: int, rng: np.random.Generator) -> list[Array]:
    """Memberships of the nearest of c rows drawn by greedy k-means++ (Arthur and Vassilvitskii)."""
    u = np.concatenate([b.u for b in blocks]).astype(np.float64)
    n_trials = 2 + int(np.log(n_clusters))
    chosen = [_row(blocks, _draw(u, 1, rng)[0])]
    closest = _distances(blocks, chosen[0][None])[:, 0]
    while len(chosen) < n_clusters:
        mass = u * closest
        candidates = np.stack([_row(blocks, i) for i in _draw(mass if mass.sum() > 0 else u, n_trials, rng)])
        reduced = np.minimum(closest[:, None], _distances(blocks, candidates))
        best = int(np.argmin(u @ reduced))
        chosen.append(candidates[best])
        closest = reduced[:, best]
    return [nearest(_to_points(b, np.stack(chosen))) for b in blocks]


def align(Ms: Array, sizes: list[float], max_rounds: int = 20) -> list[Array]:
    """For each task, the order of its clusters that brings its centres (m, c, d) closest to those of the others.

    Descends Σ_k Σ_j ‖M_kj − mean of the tasks' j-th centres‖² by one Hungarian matching a task at a time. A shift of a
    whole task does not matter: it adds the same to every matching.
    """
    orders = [np.arange(Ms.shape[1]) for _ in Ms]
    by_size = np.argsort(sizes)[::-1]
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


def _random(n: int, c: int, membership: str, rng: np.random.Generator) -> Array:
    return np.eye(c)[rng.integers(c, size=n)] if membership == "binary" else rng.random((n, c))


def _draw(mass: Array, size: int, rng: np.random.Generator) -> Array:
    cumulative = np.cumsum(mass)
    return np.minimum(np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right"), len(mass) - 1)


def _row(blocks: list[Block], i: int) -> Array:
    for block in blocks:
        if i < len(block.sq):
            x = block.X[[i]]
            return (x.toarray() if hasattr(x, "toarray") else x)[0].astype(np.float64)
        i -= len(block.sq)
    raise IndexError(i)


def _to_points(block: Block, points: Array) -> Quadratic:
    moved = points - block.origin
    return Quadratic(block.sq, products(block, moved), moved @ moved.T)


def _distances(blocks: list[Block], points: Array) -> Array:
    forms = [_to_points(b, points) for b in blocks]
    return np.concatenate([np.maximum(f.e[:, None] - 2 * f.A + np.diag(f.B), 0).astype(np.float64) for f in forms])
