"""Centres where more is estimated with them: offsets b_k, a shared metric, proportions of the clusters in each task.

The tasks' own centres are drawn to the shared ones b_k + z_j either by the shares of the two terms of the loss (λ1, the
paper's model), or by κ rows,

    Σ w ‖x − M_kj‖²_A + κ Σ_kj ‖M_kj − b_k − z_j‖²_A,

which leaves the centre of a cluster with few rows near the shared one; κ = ∞ leaves no centres of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .arrays import Array
from .centers import Centers, between
from .metric import Shape, Spread

if TYPE_CHECKING:
    from .model import Model

PRICE = 1e-6  # ρ: where location and composition cannot be told apart, the smaller offset is taken
PSEUDO_ROWS = 1.0  # α: rows that are spread over all clusters when proportions are estimated


def estimate(model: Model, S: Array, T: Array, last: Centers | None, origins: Array, spread: Spread | None) -> Centers:
    """z_j, b_k, M_kj, the covariance and the proportions from the sums S (R, m, c) and T (R, m, c, d)."""
    runs, m, c, d = T.shape
    if model.shrinkage is None:
        pull = np.broadcast_to((1 - model.shares)[:, :, None], S.shape) * S
    else:
        apart = S / model.shrinkage[:, None, None]
        pull = S / (1 + apart)
    if not pull.any():
        pull = S
    means = T / np.where(S > 0, S, 1)[..., None]
    fixed = None if model.offsets is None else np.broadcast_to(model.offsets.b, (runs, m, d))
    Z, b = shared_centers(means, pull, S.sum(axis=2), model.matched, fixed, None if last is None else last.Z)
    common = b[:, :, None] + Z[:, None]
    if model.shrinkage is None:
        Ms = np.where((S > 0)[..., None], means, common)
    else:
        Ms = common + (apart / (1 + apart))[..., None] * np.where((S > 0)[..., None], means - common, 0)
    found = Centers(None, None, Ms, Z, between(pull.sum(axis=1), pull.sum(axis=1)[..., None] * Z), S > 0, b)
    if model.metric is not None and spread is not None:
        shape = _shape(model, found, S, T, origins, spread)
        found = replace(found, K=shape.K, rest=shape.rest)
    return replace(found, log_shares=_log_shares(model, S, last) if model.metric is not None else None)


def shared_centers(
    means: Array, weights: Array, sizes: Array, matched: Array | bool, fixed: Array | None, last: Array | None
) -> tuple[Array, Array]:
    """z_j (R, c, d) and b_k (R, m, d) of least Σ_kj weight ‖mean_kj − b_k − z_j‖² + ρ Σ_k N_k ‖b_k‖².

    `matched` (R,): offsets are estimated; else they are `fixed`, or 0. Offsets of all rows add up to 0.
    """
    runs, m, c, d = means.shape
    of_cluster, total = weights.sum(axis=1), sizes.sum(axis=1)
    b = np.zeros((runs, m, d)) if fixed is None else fixed.copy()
    free = np.flatnonzero(np.broadcast_to(matched, (runs,)))
    if len(free) and m > 1:
        b[free] = _offsets(means[free], weights[free], sizes[free], total[free])
    pulled = np.einsum("rkc,rkcd->rcd", weights, means - b[:, :, None])
    Z = pulled / np.where(of_cluster > 0, of_cluster, 1)[..., None]
    if last is not None:
        Z = np.where((of_cluster > 0)[..., None], Z, last)
    return Z, b


def _offsets(means: Array, weights: Array, sizes: Array, total: Array) -> Array:
    """b_k (R, m, d): the normal equations with the shared centres eliminated."""
    m = means.shape[1]
    of_cluster = weights.sum(axis=1)
    share = weights / np.where(of_cluster > 0, of_cluster, 1)[:, None]  # of a task in a cluster
    H = -np.einsum("rkc,rlc->rkl", weights, share)
    at = np.arange(m)
    H[:, at, at] += weights.sum(axis=2) + PRICE * sizes + 1e-12 * total[:, None]
    middle = np.einsum("rkc,rkcd->rcd", share, means)
    right = np.einsum("rkc,rkcd->rkd", weights, means - middle[:, None])
    b = np.linalg.solve(H, right)
    return b - np.einsum("rk,rkd->rd", sizes, b)[:, None] / np.where(total > 0, total, 1)[:, None, None]


def _shape(model: Model, centers: Centers, S: Array, T: Array, origins: Array, spread: Spread) -> Shape:
    """S from the scatter around both kinds of centres."""
    metric, d = model.metric, T.shape[3]
    assert metric is not None
    G, total = residual_scatter(model, centers, S, T, origins, spread)
    sizes = np.broadcast_to(spread.total, (len(S),))
    return metric.estimate(G, total, sizes, d)


def residual_scatter(
    model: Model, centers: Centers, S: Array, T: Array, origins: Array, spread: Spread
) -> tuple[Array, Array]:
    """G (R, l, l), the scatter that the metric is made from, in the directions V, and its trace in all directions."""
    V, at = model.metric.V if model.metric else None, spread.sharing
    common = model.placed(centers, len(origins)) - origins[:, None]
    own, sums = centers.Ms - origins[:, None], T - S[..., None] * origins[:, None]
    common, own, sums, n = common[:, at], own[:, at], sums[:, at], S[:, at]
    if model.shrinkage is None:
        lam = np.broadcast_to(model.shares, S.shape[:2])[:, at, None, None]
        parts = [(own, sums, lam * n[..., None]), (common, sums, (1 - lam) * n[..., None])]
        shares = [lam, 1 - lam]
    else:
        parts, shares = [(own, sums, n[..., None])], [np.ones((1, 1, 1, 1))]
    XX, total = spread.XX, spread.shared_energy
    G = np.broadcast_to(XX, (len(S), *XX.shape[1:])).copy()
    trace = np.broadcast_to(total, (len(S),)).copy()

    def turned(Y: Array) -> Array:
        return Y if V is None else Y @ V

    for (center, sum_of, weight), share in zip(parts, shares, strict=True):
        trace += np.einsum("rkcd,rkcd->r", weight * center - 2 * share * sum_of, center)
        c, t = turned(center), turned(share * sum_of)
        cross = _products(c, t)
        G += _products(weight * c, c) - cross - np.swapaxes(cross, 1, 2)
    if model.shrinkage is not None:
        kappa = np.where(np.isinf(model.shrinkage), 0, model.shrinkage)
        apart = own - common
        trace += kappa * np.einsum("rkcd,rkcd->r", apart, apart)
        G += kappa[:, None, None] * _products(turned(apart), turned(apart))
    return G, trace


def constant(model: Model, centers: Centers, origins: Array, spread: Spread) -> Array:
    """What the objective of each run holds beside the losses without energy: energy, log|S|, the pull of the centres."""
    assert model.metric is not None and centers.K is not None and centers.rest is not None
    d = centers.Z.shape[2]
    shape = Shape(model.metric.V, centers.K, centers.rest)
    sizes = np.broadcast_to(spread.total, (len(centers.Z),))
    found = shape.energy_of(spread) + model.metric.penalty(shape, sizes, d)
    if model.shrinkage is not None:
        apart = centers.Ms - model.placed(centers, len(origins))
        kappa = np.where(np.isinf(model.shrinkage), 0, model.shrinkage)
        found = found + kappa * np.einsum("rkcd,rkcd->r", shape.times(apart), apart)
    if model.proportions and centers.log_shares is not None:
        found = found - 2 * PSEUDO_ROWS / centers.Z.shape[1] * centers.log_shares.sum(axis=(1, 2))
    return found


def _products(Y: Array, Z: Array) -> Array:
    """Σ_kj y_kjᵀ z_kj of each run, (R, l, l)."""
    runs, l = Y.shape[0], Y.shape[3]
    return np.swapaxes(Y.reshape(runs, -1, l), 1, 2) @ Z.reshape(runs, -1, l)


def _log_shares(model: Model, S: Array, last: Centers | None) -> Array | None:
    """Proportions of the clusters in each task: as given, or those of the rows."""
    if model.log_shares is not None:
        return np.broadcast_to(model.log_shares, S.shape)
    if not model.proportions:
        return None
    c = S.shape[2]
    found = (S + PSEUDO_ROWS / c) / (S.sum(axis=2, keepdims=True) + PSEUDO_ROWS)
    return np.where(model.alone(S.shape[1])[:, None], 0.0, np.log(found))
