"""Which clusters each task holds, by what the rows of a cluster would lose without it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Blocks, Place
from ..core.geometry import Tied
from ..core.joining import MOST_GAIN
from ..core.model import Model
from ..core.sharing import Offsets, Shrink
from ..core.solver import first_state
from ..core.terms import Terms


@dataclass(frozen=True)
class Presence:
    """Which clusters each task holds."""

    holds: Array  # (m, c)
    support: Array  # (m, c) between 0 and 1
    labels: list[Array]  # without the clusters that a task does not hold


def find_presence(
    rows: Blocks,
    labels: list[Array],
    n_clusters: int,
    matched: bool,
    shrinkage: float,
    alone: Array,
    per_task: Array | None = None,
) -> Presence:
    """Tell what tasks hold, from rows in coordinates in which the covariance within tasks is the identity.

    The evidence for a cluster is by how much its rows would fit worse in their second best one, at most a few nats a
    row; its price is that of a centre in the space of all centres, ½ min(d + 1, c) log N_k. Support is the share of the
    evidence in both. `per_task` (m,): the number of clusters of each task, where it is known.
    """
    c = n_clusters
    model = Model(
        c, Shrink.of(shrinkage), c, geometry=Tied.of(np.eye(rows.n_features)), proportions=True,
        offsets=Offsets.none(matched),
    )  # fmt: skip
    centers = first_state(rows, model, [labels], energy=False).centers
    terms = model.terms(centers, rows.origins, energy=False)
    pairs = zip(labels, rows.place.blocks, strict=True)
    sizes = np.stack([np.bincount(own, weights=b.u, minlength=c) for own, b in pairs])
    evidence = rows.apply(partial(_evidence, terms=terms, n_clusters=c), labels)[-1]
    evidence[alone] = np.inf
    price = 0.5 * min(rows.n_features + 1, c) * np.log(np.maximum(sizes.sum(axis=1, keepdims=True), 2.0))
    sure = np.isinf(evidence)
    support = np.where(sure, 1.0, np.where(sure, 0, evidence) / (np.where(sure, 0, evidence) + price))
    holds = support >= 0.5
    if per_task is not None:
        rank = np.argsort(np.argsort(-support - 1e-9 * sizes, axis=1, kind="stable"), axis=1)
        holds = rank < per_task[:, None]
    holds[np.arange(len(holds)), support.argmax(axis=1)] = True  # a task holds something
    for j in np.flatnonzero(~holds.any(axis=0) & sizes.any(axis=0)):  # and a cluster is held by some task
        _hold(holds, support, per_task, int(j))
    labels = rows.apply(partial(_relabel, terms=terms, holds=holds), labels, outputs=1)[0]
    return Presence(holds, support, labels)


def _hold(holds: Array, support: Array, per_task: Array | None, j: int) -> None:
    """Let the task with the most support for a cluster hold it; where numbers are known, in place of another."""
    for k in np.argsort(-support[:, j], kind="stable"):
        elsewhere = holds[k] & (holds.sum(axis=0) > 1)
        full = per_task is not None and holds[k].sum() >= per_task[k]
        if full and not elsewhere.any():
            continue
        if full:
            holds[k, np.where(elsewhere, support[k], np.inf).argmin()] = False
        holds[k, j] = True
        return


def _distances(place: Place, terms: Terms, k: int) -> Array:
    """Compute (c, n) half of what each label adds to the losses of the rows of a task."""
    block = place.blocks[k]
    return np.array(terms.where(block)[k].quadratic(block.X, block.sq).D[0], dtype=np.float64)


def _evidence(place: Place, labels: list[Array], *, terms: Terms, n_clusters: int) -> tuple[Array]:
    """Compute (m, c) by how much the rows of each cluster would fit worse in the second best one."""
    found = np.zeros((len(labels), n_clusters))
    if n_clusters == 1:
        return (found + np.inf,)
    for k, own in enumerate(labels):
        D, rows = _distances(place, terms, k), np.arange(len(own))
        here = D[own, rows]
        D[own, rows] = np.inf
        gain = np.clip(D.min(axis=0) - here, -MOST_GAIN, MOST_GAIN)
        found[k] = np.maximum(np.bincount(own, weights=place.blocks[k].u * gain, minlength=n_clusters), 0)
    return (found,)


def _relabel(place: Place, labels: list[Array], *, terms: Terms, holds: Array) -> tuple[list[Array], None]:
    """Move rows of clusters that their task does not hold to the best one that it does."""
    found = []
    for k, own in enumerate(labels):
        lost = ~holds[k][own]
        if lost.any():
            D = _distances(place, terms, k)
            D[~holds[k]] = np.inf
            own = np.where(lost, D.argmin(axis=0), own)
        found.append(own)
    return found, None
