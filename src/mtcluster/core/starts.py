"""Starting memberships: random, k-means of each task with matched centres, k-means of all rows.

k-means is the solver itself: binary memberships, no within-task term, from k-means++ seeds.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .model import Array, Block, Quadratic, Settings, products
from .relations import spread
from .solver import Result, alternate, first_best, first_state
from .updates import nearest

SEEDINGS = 3  # k-means++ seedings that are tried a few iterations each; the best goes on
TRIAL_ITER = 5
KMEANS_ITER = 100
UNLOCK = 0.2  # added to non-negative starts: a multiplicative update never leaves 0

KINDS = ("per-task", "pooled")  # what "auto" tries


def kinds(n_tasks: int) -> tuple[str, ...]:
    """The kinds of start that differ."""
    return KINDS if n_tasks > 1 else ("pooled",)


def start(kind: str, blocks: list[Block], n_clusters: int, settings: Settings, rng: np.random.Generator) -> list[Array]:
    """Starting memberships of every block."""
    if kind == "random":
        Ps = [_random(len(b.sq), n_clusters, settings.membership, rng).astype(b.sq.dtype) for b in blocks]
    elif kind == "per-task":
        Ps = per_task(blocks, n_clusters, rng)
    else:
        Ps = kmeans(blocks, n_clusters, rng, settings).state.Ps
    return unlocked(Ps, settings)


def unlocked(Ps: list[Array], settings: Settings) -> list[Array]:
    """Binary memberships as the solver can start from them."""
    return Ps if settings.membership == "binary" else [P + np.asarray(UNLOCK, P.dtype) for P in Ps]


def per_task(blocks: list[Block], n_clusters: int, rng: np.random.Generator) -> list[Array]:
    """k-means of each task on its own, clusters renumbered so that they correspond."""
    results = [kmeans([b], n_clusters, rng) for b in blocks]
    sizes = np.stack([b.u @ r.state.Ps[0] for b, r in zip(blocks, results, strict=True)])
    orders = align(np.stack([r.state.centers.Z for r in results]), sizes)
    return [r.state.Ps[0][:, order] for r, order in zip(results, orders, strict=True)]


def kmeans(blocks: list[Block], n_clusters: int, rng: np.random.Generator, frame: Settings | None = None) -> Result:
    """k-means of all rows of the blocks together: several short runs, the best of them to its end.

    The tasks lie as the offsets and scales of `frame` say.
    """
    offsets, scales = (frame.offsets, frame.scales) if frame is not None else (None, None)
    settings = Settings(0.0, min(n_clusters, blocks[0].X.shape[1]), offsets=offsets, scales=scales)
    trials = []
    for _ in range(SEEDINGS):
        state = first_state(blocks, settings, seed(blocks, n_clusters, settings, rng), None)
        trials.append(alternate(blocks, settings, state, max_iter=TRIAL_ITER, tol=0.0))
    best = trials[first_best([trial.trace[-1] for trial in trials])]
    return alternate(blocks, settings, best.state, max_iter=KMEANS_ITER, tol=1e-6)


def seed(blocks: list[Block], n_clusters: int, settings: Settings, rng: np.random.Generator) -> list[Array]:
    """Memberships of the nearest of c rows drawn by greedy k-means++ (Arthur and Vassilvitskii)."""
    u = np.concatenate([b.u for b in blocks]).astype(np.float64)
    n_trials = 2 + int(np.log(n_clusters))
    chosen = [_row(blocks, _draw(u, 1, rng)[0], settings)]
    closest = _distances(blocks, chosen[0][None], settings)[:, 0]
    while len(chosen) < n_clusters:
        mass = u * closest
        candidates = np.stack([_row(blocks, i, settings) for i in _draw(mass if mass.sum() > 0 else u, n_trials, rng)])
        reduced = np.minimum(closest[:, None], _distances(blocks, candidates, settings))
        best = int(np.argmin(u @ reduced))
        chosen.append(candidates[best])
        closest = reduced[:, best]
    return [nearest(_to_points(b, settings.in_task(np.stack(chosen), k))) for k, b in enumerate(blocks)]


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


def _random(n: int, c: int, membership: str, rng: np.random.Generator) -> Array:
    return np.eye(c)[rng.integers(c, size=n)] if membership == "binary" else rng.random((n, c))


def _draw(mass: Array, size: int, rng: np.random.Generator) -> Array:
    cumulative = np.cumsum(mass)
    return np.minimum(np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right"), len(mass) - 1)


def _row(blocks: list[Block], i: int, settings: Settings) -> Array:
    """A row in the common frame of the tasks."""
    for k, block in enumerate(blocks):
        if i < len(block.sq):
            x = block.X[[i]]
            x = (x.toarray() if hasattr(x, "toarray") else x)[0].astype(np.float64)
            return settings.from_task(x, k)
        i -= len(block.sq)
    raise IndexError(i)


def _to_points(block: Block, points: Array) -> Quadratic:
    moved = points - block.origin
    return Quadratic(block.sq, products(block, moved), moved @ moved.T)


def _distances(blocks: list[Block], points: Array, settings: Settings) -> Array:
    forms = [_to_points(b, settings.in_task(points, k)) for k, b in enumerate(blocks)]
    return np.concatenate([np.maximum(f.e[:, None] - 2 * f.A + np.diag(f.B), 0).astype(np.float64) for f in forms])
