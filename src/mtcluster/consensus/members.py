"""The members of a consensus: quick fits that differ in what cannot be known beforehand."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed

from ..core.arrays import Array
from ..core.blocks import Block, Blocks, make_block
from ..core.kmeans import kmeans
from ..core.model import Model
from ..core.solver import alternate, first_best, first_state
from ..core.starts import STARTS, SampledStart, tried
from .embedding import Embedding


def blocks_of(Ys: list[Array], us: list[Array], origins: list[Array]) -> list[Block]:
    """Embedded rows as blocks, seen from the mean of each task."""
    return [make_block(Y, u, origin) for Y, u, origin in zip(Ys, us, origins, strict=True)]


def starts_of(blocks: list[Block], n_clusters: int, n_init: int, rng: np.random.Generator) -> list[list[list[Array]]]:
    """Starting labels on embedded rows: for each kind of start so many of them."""
    model = Model(n_clusters, 0.5, min(n_clusters, blocks[0].X.shape[1]))
    kinds = [STARTS[kind] for kind in tried(len(blocks))]
    return [
        [start.labels(blocks, model, rng) for _ in range(n_init)] for start in kinds if isinstance(start, SampledStart)
    ]


def fit_members(
    embedding: Embedding,
    n_clusters: int,
    smoothings: list[tuple[int, int, int]],
    within_weights: tuple[float, ...],
    n_init: int,
    parallel: Parallel,
) -> list[list[Array]]:
    """Labels by all members: one for each smoothing (neighbours, steps, seed), kind of start and λ1."""
    shares = within_weights if len(embedding.Ys) > 1 else within_weights[:1]  # a single task shares with nobody

    def fits(n_neighbors: int, steps: int, seed: int) -> list[list[Array]]:
        means = [Y.mean(axis=0) for Y in embedding.Ys]
        blocks = blocks_of(embedding.smoothed(n_neighbors, steps), embedding.us, means)
        begun = starts_of(blocks, n_clusters, n_init, np.random.default_rng(seed))
        starts = [labels for own in begun for labels in own]
        return best_fits(blocks, n_clusters, starts, n_init, shares)

    found = parallel(delayed(fits)(*smoothing) for smoothing in smoothings)
    return [labels for group in found for labels in group]


def best_fits(
    blocks: list[Block], n_clusters: int, starts: list[list[Array]], n_init: int, within_weights: tuple[float, ...]
) -> list[list[Array]]:
    """For every `n_init` starts and every λ1 the labels of the best joint fit."""
    n = len(starts)
    share = np.repeat(within_weights, n)[:, None]
    model = Model(n_clusters, share, min(n_clusters, blocks[0].X.shape[1]))
    rows, entries = Blocks(blocks), np.arange(len(share)) // n_init
    state = first_state(rows, model, starts * len(within_weights))
    found = alternate(rows, model, state, max_iter=50, tol=1e-5)
    values = np.array(found.final)
    kept = [own[first_best(values[own])] for own in np.split(np.arange(len(share)), len(share) // n_init)]
    return [[P[run] for P in found.state.Ps] for run in kept]


def own_labels(Y: Array, u: Array, n_clusters: int, n_init: int, seed: int) -> Array:
    """A task's own k-means."""
    rng = np.random.default_rng(seed)
    block = make_block(Y, u, Y.mean(axis=0))
    runs = kmeans([block], n_clusters, rng, n_runs=n_init)
    return runs.state.Ps[0][first_best(runs.final)]
