"""The rows as refits see them: a sample in few dimensions, in coordinates in which the units of columns do not matter.

They are the rows that the candidates of a consensus see, so that what is found here concerns what a fit finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..consensus.candidates import SMOOTHING
from ..consensus.embedding import Embedding, nearest
from ..consensus.members import blocks_of
from ..consensus.scales import rounding_variance, whitened, within_covariance, without_tails
from ..core.arrays import Array
from ..core.blocks import Block, Blocks, RowSource
from ..core.geometry import STRENGTH
from .reference import elliptical

if TYPE_CHECKING:
    from ..consensus import Consensus

DTYPE = np.float64  # what is found must not depend on how many fits go side by side, which single precision shows
POWER = 8  # rows far from all others count this power of how much nearer the others are


@dataclass(frozen=True)
class View:
    """A sample of the rows, and what refits do with them first."""

    embedding: Embedding  # rows where they lie, or without the means of tasks
    measured: bool  # is the metric estimated? else rows are compared as they are
    wide: bool  # are they the leading directions of more features?
    sample: list[Block]
    positions: list[Array]  # of the sample among the rows that count

    @cached_property
    def rows(self) -> Blocks:
        """The rows as refits see them."""
        return self._seen(self.embedding)

    @cached_property
    def looks(self) -> list[Blocks]:
        """The rows as refits see them, as they are, and moved towards their neighbours: starts are found in each."""
        seen, us, unit = self.embedding, self.embedding.us, self.embedding.unit
        Yss = [seen.Ys] if self.wide else [seen.Ys, seen.smoothed([SMOOTHING])[0]]  # wide rows are smoothed already
        return [self.rows, *(Blocks(blocks_of(Ys, us, unit, DTYPE)) for Ys in Yss)]

    @cached_property
    def codes(self) -> Array:
        """The task of each row, task by task."""
        return np.repeat(np.arange(len(self.embedding.Ys)), [len(Y) for Y in self.embedding.Ys])

    @cached_property
    def weights(self) -> Array:
        """What each row counts, task by task."""
        return np.concatenate(self.embedding.us)

    def without_clusters(self, rng: np.random.Generator) -> Blocks:
        """Return rows of one elliptical distribution per task, seen in the same way."""
        pairs = zip(self.embedding.Ys, self.embedding.us, strict=True)
        drawn = [elliptical(Y, u, rng) for Y, u in pairs]
        Ys, us = [Y for Y, _ in drawn], [u for _, u in drawn]
        near = [nearest(Y, SMOOTHING[0]) for Y in Ys] if self.measured and self.wide else []
        return self._seen(replace(self.embedding, Ys=Ys, us=us, neighbors=near))

    def _seen(self, embedding: Embedding) -> Blocks:
        if not self.measured:
            return Blocks(blocks_of(embedding.Ys, embedding.us, embedding.unit, DTYPE))
        if self.wide:
            Ys, rounding = embedding.smoothed([SMOOTHING])[0], None
        else:
            Ys = without_tails(embedding.Ys)
            rounding = rounding_variance(Ys)
        prior = within_covariance(Ys, embedding.us, rounding, STRENGTH)
        return Blocks(blocks_of(whitened(Ys, prior), embedding.us, 1.0, DTYPE))


def view_of(rows: RowSource, how: Consensus, offset: str, measured: bool, seeds: tuple[int, int]) -> View:
    """Return the view of a fit whose consensus is `how`; `offset` "mean" or "scale": the means of tasks are removed."""
    embedder = how.embedder(rows, seeds, scaled=measured)
    found = embedder.embedding(offset if offset in ("mean", "scale") else "none").counted()
    if how.downweight:
        found = found.downweighted(how.distant_neighbor, how.distant, POWER if measured else 2)
    return View(found, measured, embedder.V is not None, embedder.sample, embedder.positions)
