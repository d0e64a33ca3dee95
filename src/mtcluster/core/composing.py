"""One model of several fits whose rows have no column in common: each keeps its own columns and tasks.

Tasks miss the columns of the other fits, so that the objective is the sum of those of the fits, S is block-diagonal,
and the composed centres are where each fit has its own. Coordinates of a cluster in columns that no task with that
cluster has lie in the middle of the clusters that do have them; no row depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array
from .centers import Centers
from .metric import Metric
from .model import Model
from .offsets import Offsets


@dataclass(frozen=True)
class Part:
    """A fit, and where it stands in the whole."""

    model: Model
    centers: Centers  # of one run
    sizes: Array  # (m, c) weights of its clusters
    tasks: Array  # (m,) numbers of its tasks
    columns: Array  # (d,) numbers of its columns
    own: Array  # (a,) which of its clusters are in the whole
    numbers: Array  # (a,) the numbers that they have there


def compose(parts: list[Part], n_clusters: int) -> tuple[Model, Centers]:
    """The model and the centres of all parts, for the tasks, columns and clusters of all."""
    m, d = (sum(len(at) for at in each) for each in ([p.tasks for p in parts], [p.columns for p in parts]))
    W, M = _subspaces(parts, d, n_clusters)
    b, s = np.zeros((m, d)), np.ones(m)
    shares, present = np.zeros(m), np.zeros((m, n_clusters), dtype=bool)
    for part in parts:
        shares[part.tasks] = np.broadcast_to(part.model.shares[0], (len(part.tasks),))
        held = np.ones(part.sizes.shape, dtype=bool) if part.model.present is None else part.model.present[0]
        present[np.ix_(part.tasks, part.numbers)] = held[:, part.own]
        if part.model.offsets is not None:
            b[np.ix_(part.tasks, part.columns)] = part.model.offsets.b
            s[part.tasks] = part.model.offsets.s
    moved = any(part.model.offsets is not None for part in parts)
    first = parts[0].model
    Z = M @ W.T
    centers = Centers(W, M, _own_centers(parts, Z, b, s), Z, Z, np.ones((m, n_clusters), dtype=bool))
    model = replace(
        first, n_clusters=n_clusters, within_weight=shares, n_components=W.shape[1],
        offsets=Offsets(b, s) if moved else None, present=None if present.all() else present[None],
    )  # fmt: skip
    return _measured(parts, model, centers)


def _subspaces(parts: list[Part], d: int, c: int) -> tuple[Array, Array]:
    """W (d, l) and M (c, l), those of the parts side by side."""
    W, Ms, at = np.zeros((d, sum(part.model.n_components for part in parts))), [], 0
    for part in parts:
        assert part.centers.W is not None
        assert part.centers.M is not None
        l, M, sizes = part.centers.W.shape[1], part.centers.M.astype(np.float64), part.sizes.sum(axis=0)
        W[part.columns, at : at + l] = part.centers.W
        middle = sizes @ M / sizes.sum()
        Ms.append(np.tile(middle, (c, 1)))
        Ms[-1][part.numbers] = M[part.own]
        at += l
    return W, np.concatenate(Ms, axis=1)


def _own_centers(parts: list[Part], Z: Array, b: Array, s: Array) -> Array:
    """(m, c, d) centres of the tasks; where a task has no columns or clusters, those that all share."""
    Ms: Array = b[:, None] + s[:, None, None] * Z
    for part in parts:
        Ms[np.ix_(part.tasks, part.numbers, part.columns)] = part.centers.Ms[:, part.own]
    return Ms


def _measured(parts: list[Part], model: Model, centers: Centers) -> tuple[Model, Centers]:
    """With the metric and the proportions of the parts; where one has none, its clusters are equally likely."""
    (m, c, d), first = centers.Ms.shape, parts[0]
    if first.model.metric is not None:
        K = np.zeros((d, d))
        for part in parts:
            K[np.ix_(part.columns, part.columns)] = part.centers.K
        model = replace(model, metric=Metric(None, K))
        centers = replace(centers, K=K, rest=np.asarray(1.0))
    if any(part.centers.log_shares is not None for part in parts):
        logs = np.full((m, c), -np.log(c))
        for part in parts:
            if part.centers.log_shares is not None:
                logs[np.ix_(part.tasks, part.numbers)] = part.centers.log_shares[:, part.own]
        centers = replace(centers, log_shares=logs)
    return model, centers
