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
from .geometry import Geometry, Identity, Tied
from .model import Model
from .sharing import Offsets, Share


@dataclass(frozen=True)
class FitPart:
    """A fit, and where it stands in the whole."""

    model: Model
    centers: Centers  # of one run
    sizes: Array  # (m, c) weights of its clusters
    tasks: Array  # (m,) numbers of its tasks
    columns: Array  # (d,) numbers of its columns
    own: Array  # (a,) which of its clusters are in the whole
    numbers: Array  # (a,) the numbers that they have there


def compose(parts: list[FitPart], n_clusters: int) -> tuple[Model, Centers]:
    """Make the model and the centres of all parts, for the tasks, columns and clusters of all."""
    m, d = (sum(len(at) for at in each) for each in ([p.tasks for p in parts], [p.columns for p in parts]))
    W, M = _subspaces(parts, d, n_clusters)
    b, s = np.zeros((m, d)), np.ones(m)
    within, held = np.zeros(m), np.zeros((m, n_clusters), dtype=bool)
    for part in parts:
        within[part.tasks] = np.broadcast_to(part.model.sharing.within[0], (len(part.tasks),))
        held[np.ix_(part.tasks, part.numbers)] = part.model.held((1, *part.sizes.shape))[0][:, part.own]
        offsets = part.centers.offsets
        b[np.ix_(part.tasks, part.columns)], s[part.tasks] = offsets.b, offsets.s
    Z, offsets = M @ W.T, Offsets.of(b, s)
    geometry, logs = _measured(parts, d), _proportions(parts, m, n_clusters)
    Ms = offsets.in_tasks(Z[None], m)[0].copy()
    for part in parts:  # where a task has no columns or clusters, its centres are those that all share
        Ms[np.ix_(part.tasks, part.numbers, part.columns)] = part.centers.Ms[:, part.own]
    seen = np.ones((m, n_clusters), dtype=bool)
    centers = Centers(W, M, Ms, Z, Z, seen, offsets.take("R", 0), geometry, logs)
    model = replace(
        parts[0].model, n_clusters=n_clusters, sharing=Share.of(within), n_components=W.shape[1], offsets=offsets,
        holds=held[None], geometry=geometry.take("R", None),
    )  # fmt: skip
    return model, centers


def _subspaces(parts: list[FitPart], d: int, c: int) -> tuple[Array, Array]:
    """Compute W (d, l) and M (c, l), those of the parts side by side."""
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


def _measured(parts: list[FitPart], d: int) -> Geometry:
    """Return the geometry of one run, block-diagonal."""
    if not parts[0].model.geometry.estimated:
        return Identity()
    K = np.zeros((d, d))
    for part in parts:
        tied = part.centers.geometry.tied
        assert isinstance(tied, Tied)
        K[np.ix_(part.columns, part.columns)] = tied.K
    return Tied(K, None, K, np.asarray(1.0))


def _proportions(parts: list[FitPart], m: int, c: int) -> Array | None:
    """Compute (m, c) log of the proportions of the parts; where one has none, its clusters are equally likely."""
    if all(part.centers.log_shares is None for part in parts):
        return None
    logs = np.full((m, c), -np.log(c))
    for part in parts:
        if part.centers.log_shares is not None:
            logs[np.ix_(part.tasks, part.numbers)] = part.centers.log_shares[:, part.own]
    return logs
