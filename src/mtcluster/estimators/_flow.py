"""A model on its way through a stream: all tasks and clusters so far, and the centres that sums lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.centers import Centers
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.renumbering import Numbering
from ..core.streaming import Statistics, centers_from, log_shares, mean_offsets


@dataclass(frozen=True)
class Flow:
    """A model on its way: all tasks and clusters so far."""

    model: Model
    centers: Centers
    kept: Statistics
    kind: str  # what is done about the location of tasks

    def of_tasks(self, ks: list[int]) -> tuple[Model, Centers]:
        """The model of the tasks of a batch."""
        return self.model.for_tasks(ks), self.centers.for_tasks(ks)

    def follow(self, kept: Statistics) -> Flow:
        """The centres that sums lead to, and what else is made from them."""
        model = self.model
        if self.kind == "scale" and model.offsets is not None:
            model = replace(model, offsets=mean_offsets(kept, model.offsets.s))
        if self.centers.log_shares is not None:
            alone = model.alone(len(kept.S))
            model = replace(model, log_shares=np.where(alone[:, None], 0.0, log_shares(kept)))
        matched = self.kind in ("matched", "mean")  # batches may hold other clusters, which would move their mean
        centers = centers_from(replace(model, offsets=None, matched=True) if matched else model, kept, self.centers)
        if matched and centers.b is not None:
            model = replace(model, offsets=Offsets(centers.b, np.ones(len(centers.b))))
        shares = centers.log_shares
        if shares is None and self.centers.log_shares is not None:
            shares = model.log_shares
        return replace(self, model=model, centers=replace(centers, b=None, log_shares=shares), kept=kept)

    def with_cluster(self, center: Array, ks: list[int]) -> Flow:
        """One more cluster, at a point of the common frame, which the tasks of the batch may hold."""
        c, m = self.model.n_clusters, len(self.centers.Ms)
        numbering = Numbering(np.arange(c), c + 1)
        Z = np.concatenate([self.centers.shared, center[None]])
        Ms = self.model.placed_points(Z[None], m)[0]
        model = numbering.model(self.model, m)
        assert model.present is not None
        model.present[:, ks, c] = True
        model = replace(model, n_components=min(c + 1, Z.shape[1]))
        centers = numbering.centers(replace(self.centers, W=None, M=None, Z=self.centers.shared), model, Z, Ms)
        return replace(self, model=model, centers=centers, kept=self.kept.with_clusters(c + 1))

    @property
    def held(self) -> Array:
        """(m, c) which clusters each task may hold."""
        return self.model.held((1, *self.centers.Ms.shape[:2]))[0]

    @property
    def living(self) -> Array:
        """(c,) which clusters some task may hold."""
        return np.asarray(self.held.any(axis=0))
