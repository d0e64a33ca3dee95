"""k-means of all rows together."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..blocks import Block
from ..kmeans import kmeans
from ..model import Model
from .base import SampledStart


class Pooled(SampledStart):
    """Labels by k-means of all rows, in the common frame of the tasks."""

    name = "pooled"

    def labels(self, blocks: list[Block], model: Model, rng: np.random.Generator) -> list[Array]:
        """Labels of the rows of some blocks."""
        return [P[0] for P in kmeans(blocks, model.n_clusters, rng, model.offsets).state.Ps]
