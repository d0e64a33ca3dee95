"""k-means of each task, with clusters matched across tasks."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..blocks import Block
from ..kmeans import kmeans
from ..model import Model
from ..relations import align
from .base import SampledStart


class PerTask(SampledStart):
    """Labels by k-means of each task on its own, clusters renumbered so that they correspond."""

    name = "per-task"

    def labels(self, blocks: list[Block], model: Model, rng: np.random.Generator) -> list[Array]:
        """Labels of the rows of some blocks."""
        c = model.n_clusters
        results = [kmeans([b], c, rng) for b in blocks]
        labels = [r.state.Ps[0][0] for r in results]
        sizes = np.stack([np.bincount(l, weights=b.u, minlength=c) for b, l in zip(blocks, labels, strict=True)])
        orders = align(np.stack([r.state.centers.Z[0] for r in results]), sizes)
        return [np.argsort(order)[l] for l, order in zip(labels, orders, strict=True)]
