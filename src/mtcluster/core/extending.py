"""Shared centres that follow tasks that joined, and further ones for what was new in these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .arrays import Array
from .centers import TINY, Centers
from .geometry import Geometry
from .model import Model
from .sharing import divided


def followed(model: Model, centers: Centers, weights: Array, S: Array, T: Array) -> Array:
    """(c, d) shared centres as if the sums S (m, c) and T (m, c, d) of tasks had been among those that made them.

    `weights` (c,) is what the clusters weigh that they were made from.
    """
    pull, shared = model.sharing.pull(S[None])[0], centers.shared
    means = in_common(divided(T, S), centers)
    total = weights + pull.sum(axis=0)
    moved = (weights[:, None] * shared + np.einsum("kc,kcd->cd", pull, means)) / np.where(total > 0, total, 1)[:, None]
    return np.where((pull.sum(axis=0) > 0)[:, None], moved, shared)


def in_common(points: Array, centers: Centers) -> Array:
    """Points (m, g, d) of all tasks of one run in the frame that they share."""
    offsets = centers.offsets
    return (points - offsets.b[:, None]) / offsets.s[:, None, None] if offsets.moves else points


def merged_groups(groups: dict[int, Array], centers: Centers) -> tuple[Array, dict[int, list[int]]]:
    """Centres (g, d) of new clusters in the common frame, and which of them each group of each task is.

    Groups of several tasks are one cluster if they lie closer to each other than half way to the known centres, in the
    geometry of the model.
    """
    shared = centers.geometry.whiten(centers.shared)
    found: list[Array] = []
    numbers: dict[int, list[int]] = {}
    for k, own in groups.items():
        points = in_common(own[None], centers.take("m", [k]))[0]
        seen = centers.geometry.whiten(points)
        numbers[k] = []
        for point, white in zip(points, seen, strict=True):
            far = np.sqrt(np.sum((shared - white) ** 2, axis=1)).min() / 2
            others = [centers.geometry.whiten(z[None])[0] for z in found]
            apart = [np.inf if i in numbers[k] else float(np.linalg.norm(z - white)) for i, z in enumerate(others)]
            if not apart or min(apart) >= far:
                found.append(point)
                apart.append(0.0)
            numbers[k].append(int(np.argmin(apart)))
    return np.array(found).reshape(len(found), shared.shape[1]), numbers


def with_clusters(model: Model, centers: Centers, Z: Array, holds: Array) -> tuple[Model, Centers]:
    """Give a model and the centres of one run further shared centres Z (g, d), held by the tasks `holds` (m, g).

    The subspace keeps its axes and gains those that the new centres need.
    """
    (m, c, _), g = centers.Ms.shape, len(Z)
    assert centers.W is not None
    assert centers.M is not None
    W, M = _spanned(centers.W.astype(np.float64), centers.M.astype(np.float64), Z, centers.geometry)
    held = np.concatenate([model.held((1, m, c)), holds[None]], axis=2)
    grown, whole = centers.grow("c", g), M @ W.T
    placed = replace(centers, W=None, M=None, Z=Z).placed
    logs = grown.log_shares
    if logs is not None:
        absent = -np.inf if not model.membership.labels_only else -np.log(c + g)
        logs[:, c:] = np.where(holds, -np.log(c + g), absent)
    geometry = centers.geometry.with_clusters(g)
    Ms, seen = np.concatenate([centers.Ms, placed], axis=1), np.concatenate([centers.seen, holds], axis=1)
    centers = replace(centers, W=W, M=M, Ms=Ms, Z=whole, Q=whole, seen=seen, log_shares=logs, geometry=geometry)
    return replace(model, n_clusters=c + g, n_components=W.shape[1], holds=held), centers


def _spanned(W: Array, M: Array, Z: Array, geometry: Geometry) -> tuple[Array, Array]:
    """W (d, l) with the directions in which points Z lie outside of it, and M (c, l) with their coordinates."""
    for z in Z:
        rest = z - (geometry.whiten(z[None], 1.0) @ W) @ W.T
        length = float(np.sqrt(max((geometry.whiten(rest, 1.0) @ rest.T).item(), 0.0)))
        if length > 1e-10 * max(float(np.linalg.norm(z)), TINY) and W.shape[1] < W.shape[0]:
            W = np.concatenate([W, rest.T / length], axis=1)
            M = np.concatenate([M, np.zeros((len(M), 1))], axis=1)
        M = np.concatenate([M, geometry.whiten(z[None], 1.0) @ W])
    return W, M
