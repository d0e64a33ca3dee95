"""What an estimator asks of a start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..blocks import Block, PerRow, RowSource
from ..model import Model
from ..sampling import Sampling, label_all, take_sample


class Start(ABC):
    """Starting memberships, and how a fit that begins with them goes on where that is left open ("auto")."""

    name: ClassVar[str]
    max_iter: int = 50  # iterations per stage
    warmup_iter: int = 20  # iterations with all rows before the first stage
    full_weight_share: float = 0.8  # of the soft rule
    n_init: int = 3  # how often it is drawn

    @abstractmethod
    def __call__(self, rows: RowSource, model: Model, rng: np.random.Generator) -> PerRow:
        """Starting memberships of all rows."""


class SampledStart(Start):
    """Labels found on a sample of the rows where they are many; other rows start at the nearest centre."""

    sample: int = 5_000  # rows that are looked at, or more:
    cluster_sample: int = 100  # rows for each cluster of each task

    @abstractmethod
    def labels(self, blocks: list[Block], model: Model, rng: np.random.Generator) -> list[Array]:
        """Labels of the rows of some blocks, one block per task."""

    def __call__(self, rows: RowSource, model: Model, rng: np.random.Generator) -> PerRow:
        """Starting labels of all rows."""
        c, m = model.n_clusters, len(rows.origins)
        how = Sampling(max(self.sample, self.cluster_sample * c * m), self.cluster_sample * c)
        sample, positions = take_sample(rows, how, rng)
        return label_all(rows, sample, positions, self.labels(sample, model, rng), model)
