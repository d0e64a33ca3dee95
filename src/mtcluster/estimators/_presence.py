"""Which clusters the tasks of a fit hold."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Place
from ..core.memberships import Membership
from ..core.model import Model
from ..engines import Engine


def cluster_presence(engine: Engine, model: Model, memberships: object, sizes: Array) -> Array:
    """(m, c) whether a task holds a cluster: as decided before the fit, and if some row of it has that label.

    `sizes` (m, c) are the weights of the clusters. Mixtures hold a part of every cluster.
    """
    decided = np.ones(sizes.shape, dtype=bool) if model.present is None else model.present[0].copy()
    if not model.membership.labels_only or np.all(sizes[decided] > 0):
        return decided
    job = partial(_counts, membership=model.membership, n_clusters=model.n_clusters)
    return decided & (engine.apply(job, memberships)[-1] > 0)


def _counts(place: Place, labels: list[Array], *, membership: Membership, n_clusters: int) -> tuple[Array]:
    """Number of rows of each task and cluster, (m, c), whatever they weigh."""
    pairs = zip(place.blocks, labels, strict=True)
    return (np.stack([membership.sizes(P, b.xp.ones_like(b.u), n_clusters, b.xp) for b, P in pairs]),)
