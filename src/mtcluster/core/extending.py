"""Shared centres that follow tasks that joined, and further ones for what was new in these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .arrays import Array
from .centers import Centers
from .metric import Shape
from .model import Model


def followed(model: Model, shared: Array, weights: Array, S: Array, T: Array) -> Array:
    """(c, d) shared centres as if the sums S (m, c) and T (m, c, d) of tasks had been among those that made them.

    `weights` (c,) is what the clusters weigh that they were made from.
    """
    shares = np.broadcast_to(model.shares[0], (len(S),))
    pull = S * (1 - shares)[:, None]
    if model.shrinkage is not None:
        pull = S / (1 + S / np.broadcast_to(model.shrinkage, (1, len(S)))[0][:, None])
    means = T / np.where(S > 0, S, 1)[..., None]
    if model.offsets is not None:
        means = (means - model.offsets.b[:, None]) / model.offsets.s[:, None, None]
    total = weights + pull.sum(axis=0)
    moved = (weights[:, None] * shared + np.einsum("kc,kcd->cd", pull, means)) / np.where(total > 0, total, 1)[:, None]
    return np.where((pull.sum(axis=0) > 0)[:, None], moved, shared)


def pooled_weights(sizes: Array, shares: Array, shrinkage: Array | None) -> Array:
    """(c,) what the clusters of tasks of sizes (m, c) weigh in the shared centres."""
    pull = sizes * (1 - shares)[:, None] if shrinkage is None else sizes / (1 + sizes / shrinkage[:, None])
    return pull.sum(axis=0)


def merged_groups(groups: dict[int, Array], model: Model, shared: Array) -> tuple[Array, dict[int, list[int]]]:
    """Centres (g, d) of new clusters in the common frame, and which of them each group of each task is.

    Groups of several tasks are one cluster if they lie closer to each other than half way to the known centres.
    """
    found: list[Array] = []
    numbers: dict[int, list[int]] = {}
    for k, own in groups.items():
        points = own if model.offsets is None else (own - model.offsets.b[k]) / model.offsets.s[k]
        numbers[k] = []
        for point in points:
            far = np.sqrt(np.sum((shared - point) ** 2, axis=1)).min() / 2
            apart = [np.inf if i in numbers[k] else float(np.linalg.norm(z - point)) for i, z in enumerate(found)]
            if not apart or min(apart) >= far:
                found.append(point)
                apart.append(0.0)
            numbers[k].append(int(np.argmin(apart)))
    return np.array(found).reshape(len(found), shared.shape[1]), numbers


def with_clusters(model: Model, centers: Centers, Z: Array, present: Array) -> tuple[Model, Centers]:
    """The model and the centres of one run with further shared centres Z (g, d), held by the tasks `present` (m, g).

    The subspace keeps its axes and gains those that the new centres need.
    """
    (m, c, _), g = centers.Ms.shape, len(Z)
    shape = model.shape(centers.runs(None))
    assert centers.W is not None
    assert centers.M is not None
    W, M = _spanned(centers.W.astype(np.float64), centers.M.astype(np.float64), Z, shape)
    held = np.concatenate([model.held((1, m, c)), present[None]], axis=2)
    Ms = np.concatenate([centers.Ms, model.placed_points(Z[None], m)[0]], axis=1)
    prior, Ks = centers.log_shares, centers.Ks
    if prior is not None:
        absent = -np.inf if not model.membership.labels_only else -np.log(c + g)
        prior = np.concatenate([prior, np.where(present, -np.log(c + g), absent)], axis=1)
    if Ks is not None:
        Ks = np.concatenate([Ks, np.repeat(Ks.mean(axis=0, keepdims=True), g, axis=0)])
    whole = M @ W.T
    model = replace(model, n_clusters=c + g, n_components=W.shape[1], present=None if held.all() else held)
    seen = np.concatenate([centers.seen, present], axis=1)
    return model, replace(centers, W=W, M=M, Ms=Ms, Z=whole, Q=whole, seen=seen, log_shares=prior, Ks=Ks)


def _spanned(W: Array, M: Array, Z: Array, shape: Shape | None) -> tuple[Array, Array]:
    """W (d, l) with the directions in which points Z lie outside of it, and M (c, l) with their coordinates."""

    def measured(A: Array) -> Array:
        return A if shape is None else shape.power(A[None], 1.0)[0]

    for z in Z:
        rest = z - (measured(z[None]) @ W) @ W.T
        length = float(np.sqrt(max((measured(rest) @ rest.T).item(), 0.0)))
        if length > 1e-10 * max(float(np.linalg.norm(z)), np.finfo(np.float64).tiny) and W.shape[1] < W.shape[0]:
            W = np.concatenate([W, rest.T / length], axis=1)
            M = np.concatenate([M, np.zeros((len(M), 1))], axis=1)
        M = np.concatenate([M, measured(z[None]) @ W])
    return W, M
