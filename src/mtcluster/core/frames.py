"""Centres where more is estimated with them: offsets b_k, a shared metric, proportions of the clusters in each task.

The tasks' own centres are drawn to the shared ones b_k + z_j either by the shares of the two terms of the loss (λ1, the
paper's model), or by κ rows,

    Σ w ‖x − M_kj‖²_A + κ Σ_kj ‖M_kj − b_k − z_j‖²_A,

which leaves the centre of a cluster with few rows near the shared one; κ = ∞ leaves no centres of their own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .arrays import Array
from .blocks import GapSums
from .centers import Centers, between, coordinate_means
from .metric import Shape, Spread, definite

if TYPE_CHECKING:
    from .model import Model

PRICE = 1e-6  # ρ: where location and composition cannot be told apart, the smaller offset is taken
SWEEPS = 5  # of offsets and shared centres in turn, where covariances of clusters differ
PSEUDO_ROWS = 1.0  # α: rows that are spread over all clusters when proportions are estimated


def estimate(
    model: Model,
    S: Array,
    T: Array,
    last: Centers | None,
    origins: Array,
    spread: Spread | None,
    XX: Array | None = None,
    gaps: GapSums | None = None,
) -> Centers:
    """z_j, b_k, M_kj, covariances and proportions from the sums S (R, m, c), T (R, m, c, d) and XX (R, c, …).

    Missing values (`gaps`) are those that the last centres expect.
    """
    runs, m, _, d = T.shape
    T, T_own = completed_sums(model, S, T, last, origins, gaps)
    if model.shrinkage is None:
        pull = np.broadcast_to((1 - model.shares)[:, :, None], S.shape) * S
    else:
        apart = S / _kappa(model)
        pull = S / (1 + apart)
    if not pull.any():
        pull = S
    means = T / np.where(S > 0, S, 1)[..., None]
    fixed = None if model.offsets is None else np.broadcast_to(model.offsets.b, (runs, m, d))
    if last is not None and last.Ks is not None and np.any(model.matched):
        Z, b = _moved(model, means, pull, S.sum(axis=2), last)
    else:
        Z, b = shared_centers(means, pull, S.sum(axis=2), model.matched, fixed, None if last is None else last.Z)
    common = b[:, :, None] + Z[:, None]
    if model.shrinkage is None:
        Ms = np.where((S > 0)[..., None], T_own / np.where(S > 0, S, 1)[..., None], common)
    else:
        Ms = common + (apart / (1 + apart))[..., None] * np.where((S > 0)[..., None], means - common, 0)
    found = Centers(None, None, Ms, Z, between(pull.sum(axis=1), pull.sum(axis=1)[..., None] * Z), S > 0, b)
    if model.metric is not None and spread is not None:
        shape = _shape(model, found, S, T, T_own, origins, spread, gaps, last)
        found = replace(found, K=shape.K, rest=shape.rest)
        if model.covariance is not None and XX is not None:
            common = model.covariance.common(shape, d) if last is None or last.common is None else last.common
            G = cluster_scatter(model, found, S, T, origins, XX)
            found = replace(found, Ks=model.covariance.estimate(G, S.sum(axis=1), common), common=common)
    return replace(found, log_shares=_log_shares(model, S) if model.metric is not None else None)


def completed_sums(
    model: Model, S: Array, T: Array, last: Centers | None, origins: Array, gaps: GapSums | None
) -> tuple[Array, Array]:
    """T with what is expected in place of missing values: around the shared centres, and around those of the tasks.

    At the start nothing is expected yet, and a coordinate has the mean of the rows that have it: of the cluster in the
    task, of the cluster, or of the task.
    """
    if gaps is None:
        return T, T
    if last is None:
        N, T = gaps.observed(S, T, origins)
        of_all, sums = N.sum(axis=1, keepdims=True), T.sum(axis=1, keepdims=True)
        pooled = coordinate_means(of_all, sums, origins[:, None])
        T = S[..., None] * coordinate_means(N, T, pooled)
        return T, T
    lam = np.ones((1, 1)) if model.shrinkage is not None else model.shares
    own, shared = T + gaps.own, T + gaps.shared
    only_own, only_shared = (lam == 1)[..., None, None], (lam == 0)[..., None, None]
    return np.where(only_own, own, shared), np.where(only_shared, shared, own)


def cluster_scatter(model: Model, centers: Centers, S: Array, T: Array, origins: Array, XX: Array) -> Array:
    """(R, c, …) the scatter of each cluster around its centres, and of these around the shared one."""
    form = model.covariance
    assert form is not None
    own, sums = centers.Ms - origins[:, None], T - S[..., None] * origins[:, None]
    kappa, apart = _finite(_kappa(model))[..., None], centers.Ms - model.placed(centers, len(origins))
    return (
        XX
        + form.outer(S[..., None] * own, own)
        - form.outer(own, sums)
        - form.outer(sums, own)
        + form.outer(kappa * apart, apart)
    )


def _moved(model: Model, means: Array, pull: Array, sizes: Array, last: Centers) -> tuple[Array, Array]:
    """z_j and b_k in turn, from the last ones: where covariances differ, they weigh the clusters of an offset."""
    form, Z, b = model.covariance, last.Z, last.b
    assert form is not None
    assert last.Ks is not None
    assert b is not None
    of_cluster, of_task = pull.sum(axis=1), pull.sum(axis=2)
    free = np.broadcast_to(model.matched, (len(Z),))[:, None, None] & (of_task > 0)[..., None]
    for _ in range(SWEEPS):
        b = np.where(free, form.mean(means - Z[:, None], pull, last.Ks), b)
        middle = np.einsum("rk,rkd->rd", sizes, b) / np.maximum(sizes.sum(axis=1), np.finfo(np.float64).tiny)[:, None]
        b = np.where(np.broadcast_to(model.matched, (len(Z),))[:, None, None], b - middle[:, None], b)
        pulled = np.einsum("rkc,rkcd->rcd", pull, means - b[:, :, None])
        Z = np.where((of_cluster > 0)[..., None], pulled / np.where(of_cluster > 0, of_cluster, 1)[..., None], Z)
    return Z, b


def _kappa(model: Model) -> Array:
    """κ of each run and task, (R or 1, m or 1, 1)."""
    assert model.shrinkage is not None
    return model.shrinkage.reshape(len(model.shrinkage), -1, 1)


def _finite(kappa: Array) -> Array:
    """κ, or 0 where no centres are apart."""
    return np.where(np.isinf(kappa), 0, kappa)


def shared_centers(
    means: Array, weights: Array, sizes: Array, matched: Array | bool, fixed: Array | None, last: Array | None
) -> tuple[Array, Array]:
    """z_j (R, c, d) and b_k (R, m, d) of least Σ_kj weight ‖mean_kj − b_k − z_j‖² + ρ Σ_k N_k ‖b_k‖².

    `matched` (R,): offsets are estimated; else they are `fixed`, or 0. Offsets of all rows add up to 0.
    """
    runs, m, _, d = means.shape
    of_cluster, total = weights.sum(axis=1), sizes.sum(axis=1)
    b = np.zeros((runs, m, d)) if fixed is None else fixed.copy()
    free = np.flatnonzero(np.broadcast_to(matched, (runs,)))
    if len(free) and m > 1:
        b[free] = _offsets(means[free], weights[free], sizes[free], total[free])
    pulled = np.einsum("rkc,rkcd->rcd", weights, means - b[:, :, None])
    Z = pulled / np.where(of_cluster > 0, of_cluster, 1)[..., None]
    empty = of_cluster <= 0
    if empty.any():
        middle = pulled.sum(axis=1) / np.maximum(of_cluster.sum(axis=1), np.finfo(np.float64).tiny)[:, None]
        Z = np.where(empty[..., None], middle[:, None] if last is None else last, Z)
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


def _shape(
    model: Model, centers: Centers, S: Array, T: Array, T_own: Array, origins: Array, spread: Spread,
    gaps: GapSums | None, last: Centers | None,
) -> Shape:  # fmt: skip
    """S from the scatter around both kinds of centres; with missing values the prior comes first."""
    metric, d = model.metric, T.shape[3]
    assert metric is not None
    if gaps is not None and last is None:
        return Shape(metric.V, np.broadcast_to(metric.prior, (len(S), *metric.prior.shape)), np.ones(len(S)))
    if gaps is not None and gaps.XX is not None:
        spread = replace(spread, XX=spread.XX + gaps.XX)
    G, total = residual_scatter(model, centers, S, T, origins, spread, T_own)
    sizes = np.broadcast_to(spread.total, (len(S),))
    found = metric.estimate(G, total, sizes, d)
    return found if gaps is None and definite(found.K) else metric.bounded(found)


def residual_scatter(
    model: Model, centers: Centers, S: Array, T: Array, origins: Array, spread: Spread, T_own: Array | None = None
) -> tuple[Array, Array]:
    """G (R, l, l), the scatter that the metric is made from, in the directions V, and its trace in all directions.

    Where values are missing, the sums around the tasks' own centres are `T_own`.
    """
    V, at = model.metric.V if model.metric else None, spread.sharing
    common = model.placed(centers, len(origins)) - origins[:, None]
    own, sums = centers.Ms - origins[:, None], T - S[..., None] * origins[:, None]
    own_sums = sums if T_own is None or T_own is T else T_own - S[..., None] * origins[:, None]
    common, own, sums, own_sums, n = common[:, at], own[:, at], sums[:, at], own_sums[:, at], S[:, at]
    if model.shrinkage is None:
        lam = np.broadcast_to(model.shares, S.shape[:2])[:, at, None, None]
        parts = [(own, own_sums, lam * n[..., None]), (common, sums, (1 - lam) * n[..., None])]
        shares = [lam, 1 - lam]
    else:
        parts, shares = [(own, own_sums, n[..., None])], [np.ones((1, 1, 1, 1))]
    XX, total = spread.XX, spread.shared_energy
    G = np.broadcast_to(XX, (len(S), *XX.shape[1:])).copy()
    trace = np.broadcast_to(total, (len(S),)).copy()

    def turned(Y: Array) -> Array:
        return Y if V is None else Y @ V

    for (center, sum_of, weight), share in zip(parts, shares, strict=True):
        trace += np.einsum("rkcd,rkcd->r", weight * center - 2 * share * sum_of, center)
        c, t = turned(center), turned(share * sum_of)
        cross = products(c, t)
        G += products(weight * c, c) - cross - np.swapaxes(cross, 1, 2)
    if model.shrinkage is not None:
        kappa = np.broadcast_to(_finite(_kappa(model)), (*S.shape[:2], 1))[:, at, :, None]
        apart = own - common
        trace += np.einsum("rkcd,rkcd->r", kappa * apart, apart)
        G += products(turned(kappa * apart), turned(apart))
    return G, trace


def constant(model: Model, centers: Centers, shape: Shape | None, origins: Array, spread: Spread) -> Array:
    """What the objective of a run holds beside losses without energy: energy, log|S|, the pull of the centres."""
    assert model.metric is not None
    assert shape is not None
    d = centers.Z.shape[2]
    sizes = np.broadcast_to(spread.total, (len(centers.Z),))
    form = model.covariance
    if form is None or centers.Ks is None or centers.common is None:
        found, measure = shape.energy_of(spread) + model.metric.penalty(shape, sizes, d), shape.times
    else:
        found = sizes * model.log_volume(centers) + form.penalty(centers.Ks, centers.common, d)
        measure = partial(form.times, K=centers.Ks)
    if model.shrinkage is not None:
        apart = centers.Ms - model.placed(centers, len(origins))
        found = found + np.einsum("rkcd,rkcd->r", _finite(_kappa(model))[..., None] * measure(apart), apart)
    if model.proportions and centers.log_shares is not None:
        held = model.held(centers.log_shares.shape)
        drawn = np.where(held, centers.log_shares, 0) / held.sum(axis=2, keepdims=True)
        found = found - 2 * PSEUDO_ROWS * drawn.sum(axis=(1, 2))
    return found


def products(Y: Array, Z: Array) -> Array:
    """Σ_kj y_kjᵀ z_kj of each run, (R, l, l)."""
    runs, l = Y.shape[0], Y.shape[3]
    return np.swapaxes(Y.reshape(runs, -1, l), 1, 2) @ Z.reshape(runs, -1, l)


def _log_shares(model: Model, S: Array) -> Array | None:
    """Proportions of the clusters in each task: as given, or those of the rows, of the clusters that it holds."""
    if model.log_shares is not None:
        return np.broadcast_to(model.log_shares, S.shape)
    if not model.proportions:
        return None
    held = model.held(S.shape)
    found = np.where(held, S + PSEUDO_ROWS / held.sum(axis=2, keepdims=True), 0)
    with np.errstate(divide="ignore"):
        return np.where(model.alone(S.shape[1])[:, None], 0.0, np.log(found / found.sum(axis=2, keepdims=True)))
