"""Random memberships."""

from __future__ import annotations

import numpy as np

from ..blocks import PerRow, RowSource
from ..model import Model
from .base import Start


class Random(Start):
    """Memberships drawn at random for every row."""

    name = "random"
    n_init = 1

    def __call__(self, rows: RowSource, model: Model, rng: np.random.Generator) -> PerRow:
        """Starting memberships of all rows."""
        sizes = rows.summary.rows.tolist()
        return rows.scatter([model.membership.random(n, model.n_clusters, rng, rows.dtype) for n in sizes])
