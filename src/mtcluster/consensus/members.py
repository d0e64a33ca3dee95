"""The members of a consensus: quick fits that differ in what cannot be known beforehand."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed

from ..core.arrays import Array
from ..core.blocks import Block, Blocks, make_block
from ..core.kmeans import kmeans
from ..core.model import Model
from ..core.pacing import Schedule
from ..core.solver import best_fit, first_best
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
        rows, l = Blocks(blocks), min(n_clusters, blocks[0].X.shape[1])
        begun = starts_of(blocks, n_clusters, n_init, np.random.default_rng(seed))
        return [
            best_fit(rows, Model(n_clusters, share, l), Schedule(tol=1e-5), own).state.Ps
            for own in begun
            for share in shares
        ]

    found = parallel(delayed(fits)(*smoothing) for smoothing in smoothings)
    return [labels for group in found for labels in group]


def own_labels(Y: Array, u: Array, n_clusters: int, n_init: int, seed: int) -> Array:
    """A task's own k-means."""
    rng = np.random.default_rng(seed)
    block = make_block(Y, u, Y.mean(axis=0))
    runs = [kmeans([block], n_clusters, rng) for _ in range(n_init)]
    return runs[first_best([run.trace[-1] for run in runs])].state.Ps[0]
