"""The centre step: all that is estimated with the clusters, from the sums of the tasks (eqs. 16, 18).

Either W, M and M_k alone, or with them offsets b_k, a geometry, and proportions of the clusters in each task.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .arrays import Array, Foreign
from .blocks import Totals
from .centers import TINY, Centers, between, centers_of, coordinate_means
from .covariances import OfClusters
from .geometry import Geometry, Tied
from .sharing import divided
from .sums import Spread

if TYPE_CHECKING:
    from .couplings import Subspace
    from .model import Model

OFFSET_PRICE = 1e-6  # ρ: where location and composition cannot be told apart, the smaller offset is taken
SWEEPS = 5  # of offsets and shared centres in turn, where covariances of clusters differ
PSEUDO_ROWS = 1.0  # α: rows that are spread over all clusters when proportions are estimated


def update(
    model: Model,
    totals: Totals,
    last: Centers | None,
    origins: Array,
    subspaces: list[Subspace] | None = None,
    spread: Spread | None = None,
) -> Centers:
    """Estimate W, M and M_k, and what else the model estimates, from sums over rows; last: at the last step.

    (W, M) is one block, M directly after W. `subspaces` make W of each run; None: it has room for all shared centres,
    and can wait. `spread` is what the geometry is made from.
    """
    if model.estimates_frame:
        return _with_frame(model, totals, last, origins, spread)
    S, T, gaps = totals.S, totals.T, totals.gaps
    if gaps is None:
        S_all, T_all = model.pooled(S, T)
        before = _middle(S_all, T_all) if last is None else last.Z
        Z, Q = centers_of(S_all, T_all, before), between(S_all, T_all)
    else:  # each coordinate of a centre is the mean of the rows that have it
        N, T = gaps.observed(S, T, origins)
        N_all, T_all = model.pooled(N, T)
        middle = coordinate_means(
            N_all.sum(axis=1, keepdims=True), T_all.sum(axis=1, keepdims=True), origins.mean(axis=0)
        )
        Z = coordinate_means(N_all, T_all, middle if last is None else last.Z)
        Q = np.sqrt(model.pooled(S, np.zeros((*S.shape, origins.shape[1])))[0])[..., None] * Z
    W = M = None
    shared = Z
    if subspaces is not None:
        W = np.stack([make(q, z, model.n_components) for make, q, z in zip(subspaces, Q, Z, strict=True)])
        M = Z @ W  # eq. 16
        shared = M @ np.swapaxes(W, 1, 2)
    if model.sharing.pools:  # centres of tasks do not count: they are found at the end
        Ms = np.broadcast_to(shared[:, None], T.shape)
        return Centers(W, M, Ms, Z, Q, np.ones(T.shape[:3], dtype=bool), model.offsets, model.geometry)
    seen = (S if S.ndim < T.ndim else np.einsum("rkii->rki", S)) > 0
    placed: Foreign = None
    if gaps is not None or not seen.all():
        placed = model.offsets.in_tasks(shared, S.shape[1])
        if last is not None:
            placed, seen = np.where(last.seen[..., None], last.Ms, placed), seen | last.seen
    Ms = centers_of(S, T, placed) if gaps is None else coordinate_means(N, T, placed)
    return Centers(W, M, Ms, Z, Q, seen, model.offsets, model.geometry)


def _middle(S: Array, T: Array) -> Array:
    """Compute (R, 1, d) the mean of all rows."""
    size = S.sum(axis=tuple(range(1, S.ndim)))
    return T.sum(axis=1, keepdims=True) / np.maximum(size, TINY)[:, None, None]


def _with_frame(model: Model, totals: Totals, last: Centers | None, origins: Array, spread: Spread | None) -> Centers:
    """Compute z_j, b_k, M_kj, the geometry and proportions; missing values are those that the last centres expect."""
    S, sharing, offsets = totals.S, model.sharing, model.offsets
    runs, m, _, d = totals.T.shape
    T, T_own = completed_sums(model, totals, last, origins)
    pull = sharing.pull(S)
    if not pull.any():
        pull = S
    means, sizes = divided(T, S), S.sum(axis=2)
    if last is not None and isinstance(last.geometry, OfClusters) and offsets.free.any():
        Z, b = _moved(model, means, pull, sizes, last)
    else:
        fixed = np.broadcast_to(offsets.b, (runs, m, d))
        Z, b = shared_centers(means, pull, sizes, offsets.free, fixed, None if last is None else last.Z)
    Ms = sharing.own(S, means if T_own is T else divided(T_own, S), b[:, :, None] + Z[:, None])
    weight = pull.sum(axis=1)
    placed = replace(offsets, b=b, s=np.ones(m))
    geometry = model.geometry if last is None else last.geometry
    found = Centers(None, None, Ms, Z, between(weight, weight[..., None] * Z), S > 0, placed, geometry)
    if spread is None:
        return found
    geometry = _geometry(model, found, totals, (T, T_own), origins, spread, first=last is None)
    return replace(found, geometry=geometry, log_shares=_log_shares(model, S))


def completed_sums(model: Model, totals: Totals, last: Centers | None, origins: Array) -> tuple[Array, Array]:
    """Get T with what is expected in place of missing values: around the shared centres, and around those of the tasks.

    At the start nothing is expected yet, and a coordinate has the mean of the rows that have it: of the cluster in the
    task, of the cluster, or of the task.
    """
    S, T, gaps = totals.S, totals.T, totals.gaps
    if gaps is None:
        return T, T
    if last is None:
        N, T = gaps.observed(S, T, origins)
        of_all, sums = N.sum(axis=1, keepdims=True), T.sum(axis=1, keepdims=True)
        pooled = coordinate_means(of_all, sums, origins[:, None])
        T = S[..., None] * coordinate_means(N, T, pooled)
        return T, T
    lam = model.sharing.lam
    own, shared = T + gaps.own, T + gaps.shared
    only_own, only_shared = (lam == 1)[..., None, None], (lam == 0)[..., None, None]
    return np.where(only_own, own, shared), np.where(only_shared, shared, own)


def whole_sums(model: Model, totals: Totals) -> Array:
    """Get T (R, m, c, d) with what own and shared centres expect in place of missing values, by shares of the loss."""
    if totals.gaps is None:
        return totals.T
    lam = model.sharing.lam[:, :, None, None]
    return totals.T + lam * totals.gaps.own + (1 - lam) * totals.gaps.shared


def _moved(model: Model, means: Array, pull: Array, sizes: Array, last: Centers) -> tuple[Array, Array]:
    """Get z_j and b_k in turn, from the last ones: where covariances differ, they weigh the clusters of an offset."""
    form, Z, b = last.geometry, last.Z, last.offsets.b
    assert isinstance(form, OfClusters)
    of_cluster, of_task = pull.sum(axis=1), pull.sum(axis=2)
    free = np.broadcast_to(model.offsets.free, (len(Z),))[:, None, None]
    for _ in range(SWEEPS):
        b = np.where(free & (of_task > 0)[..., None], form.mean(means - Z[:, None], pull), b)
        middle = np.einsum("rk,rkd->rd", sizes, b) / np.maximum(sizes.sum(axis=1), TINY)[:, None]
        b = np.where(free, b - middle[:, None], b)
        pulled = np.einsum("rkc,rkcd->rcd", pull, means - b[:, :, None])
        Z = np.where((of_cluster > 0)[..., None], divided(pulled, of_cluster), Z)
    return Z, b


def shared_centers(
    means: Array, weights: Array, sizes: Array, free: Array | bool, fixed: Array | None, last: Array | None
) -> tuple[Array, Array]:
    """Compute z_j (R, c, d) and b_k (R, m, d) of least Σ_kj weight ‖mean_kj − b_k − z_j‖² + ρ Σ_k N_k ‖b_k‖².

    `free` (R,): offsets are estimated; else they are `fixed`, or 0. Offsets of all rows add up to 0.
    """
    runs, m, _, d = means.shape
    of_cluster, total = weights.sum(axis=1), sizes.sum(axis=1)
    b = np.zeros((runs, m, d)) if fixed is None else fixed.copy()
    open_ = np.flatnonzero(np.broadcast_to(free, (runs,)))
    if len(open_) and m > 1:
        b[open_] = _offsets(means[open_], weights[open_], sizes[open_], total[open_])
    pulled = np.einsum("rkc,rkcd->rcd", weights, means - b[:, :, None])
    Z = divided(pulled, of_cluster)
    empty = of_cluster <= 0
    if empty.any():
        middle = pulled.sum(axis=1) / np.maximum(of_cluster.sum(axis=1), TINY)[:, None]
        Z = np.where(empty[..., None], middle[:, None] if last is None else last, Z)
    return Z, b


def _offsets(means: Array, weights: Array, sizes: Array, total: Array) -> Array:
    """Compute b_k (R, m, d): the normal equations with the shared centres eliminated."""
    m = means.shape[1]
    of_cluster = weights.sum(axis=1)
    share = weights / np.where(of_cluster > 0, of_cluster, 1)[:, None]  # of a task in a cluster
    H = -np.einsum("rkc,rlc->rkl", weights, share)
    at = np.arange(m)
    H[:, at, at] += weights.sum(axis=2) + OFFSET_PRICE * sizes + 1e-12 * total[:, None]
    middle = np.einsum("rkc,rkcd->rcd", share, means)
    right = np.einsum("rkc,rkcd->rkd", weights, means - middle[:, None])
    b = np.linalg.solve(H, right)
    return b - np.einsum("rk,rkd->rd", sizes, b)[:, None] / np.where(total > 0, total, 1)[:, None, None]


def _geometry(
    model: Model, centers: Centers, totals: Totals, sums: tuple[Array, Array], origins: Array, spread: Spread,
    *, first: bool,
) -> Geometry:  # fmt: skip
    """Compute S from the scatter around both kinds of centres; with missing values the prior comes first."""
    S, gaps, geometry, d = totals.S, totals.gaps, centers.geometry, centers.Z.shape[2]
    if gaps is not None and first:
        return geometry.whole(R=len(S))
    if gaps is not None and gaps.XX is not None:
        spread = replace(spread, XX=spread.XX + gaps.XX)
    tied = geometry.tied
    assert isinstance(tied, Tied)
    G, total = residual_scatter(model, centers, S, sums, origins, spread)
    sizes = np.broadcast_to(spread.total, (len(S),))
    tied = tied.estimate(G, total, sizes, d, bounded=gaps is not None)
    if isinstance(geometry, OfClusters) and totals.XX is not None:
        scatter = cluster_scatter(model, geometry, centers, S, sums[0], origins, totals.XX)
        return geometry.estimate(tied, scatter, S.sum(axis=1), d)
    return tied


def cluster_scatter(
    model: Model, form: OfClusters, centers: Centers, S: Array, T: Array, origins: Array, XX: Array
) -> Array:
    """Compute (R, c, …) the scatter of each cluster around its centres, and of these around the shared one."""
    own, sums = centers.Ms - origins[:, None], T - S[..., None] * origins[:, None]
    kappa, apart = model.sharing.kappa[:, :, None, None], centers.Ms - centers.placed
    return (
        XX
        + form.outer(S[..., None] * own, own)
        - form.outer(own, sums)
        - form.outer(sums, own)
        + form.outer(kappa * apart, apart)
    )


def residual_scatter(
    model: Model, centers: Centers, S: Array, sums: tuple[Array, Array], origins: Array, spread: Spread
) -> tuple[Array, Array]:
    """G (R, q, q), the scatter that the geometry is made from, in the directions V, and its trace in all directions.

    `sums` are those around the shared centres, and around the tasks' own, which differ where values are missing.
    """
    tied, at, lam = centers.geometry.tied, spread.sharing, model.sharing.lam
    V = tied.V if isinstance(tied, Tied) else None
    around = [T - S[..., None] * origins[:, None] for T in (sums if sums[0] is not sums[1] else sums[:1])]
    common, own, n = centers.placed - origins[:, None], centers.Ms - origins[:, None], S
    lam = np.broadcast_to(lam, S.shape[:2])[:, at, None, None]
    common, own, n, shared_sums, own_sums = common[:, at], own[:, at], n[:, at], around[0][:, at], around[-1][:, at]
    parts = [(own, lam * own_sums, lam * n[..., None])]
    if not model.sharing.draws:
        parts.append((common, (1 - lam) * shared_sums, (1 - lam) * n[..., None]))
    G = np.broadcast_to(spread.XX, (len(S), *spread.XX.shape[1:])).copy()
    trace = np.broadcast_to(spread.shared_energy, (len(S),)).copy()

    def turned(Y: Array) -> Array:
        return Y if V is None else Y @ V

    for center, sum_of, weight in parts:
        trace += np.einsum("rkcd,rkcd->r", weight * center - 2 * sum_of, center)
        c, t = turned(center), turned(sum_of)
        cross = products(c, t)
        G += products(weight * c, c) - cross - np.swapaxes(cross, 1, 2)
    if model.sharing.draws:
        kappa = np.broadcast_to(model.sharing.kappa, S.shape[:2])[:, at, None, None]
        apart = own - common
        trace += np.einsum("rkcd,rkcd->r", kappa * apart, apart)
        G += products(turned(kappa * apart), turned(apart))
    return G, trace


def constant(model: Model, centers: Centers, spread: Spread) -> Array:
    """Compute (R,) what the objective holds beside losses without energy: energy, log|S|, the pull of the centres."""
    geometry, d, m = centers.geometry, centers.Z.shape[2], centers.Ms.shape[1]
    sizes = np.broadcast_to(spread.total, (len(centers.Z),))
    found = geometry.energy(spread) + geometry.penalty(sizes, d)
    if model.sharing.draws:
        apart, nobody = centers.Ms - centers.placed, np.zeros(m, dtype=bool)
        pulled = model.sharing.kappa[:, :, None, None] * geometry.times(apart, nobody)
        found = found + np.einsum("rkcd,rkcd->r", pulled, apart)
    if model.proportions and centers.log_shares is not None:
        held = model.held(centers.log_shares.shape)
        drawn = np.where(held, centers.log_shares, 0) / held.sum(axis=2, keepdims=True)
        found = found - 2 * PSEUDO_ROWS * drawn.sum(axis=(1, 2))
    return found


def products(Y: Array, Z: Array) -> Array:
    """Compute Σ_kj y_kjᵀ z_kj of each run, (R, q, q)."""
    runs, q = Y.shape[0], Y.shape[3]
    return np.swapaxes(Y.reshape(runs, -1, q), 1, 2) @ Z.reshape(runs, -1, q)


def proportions_of(S: Array, held: Array) -> Array:
    """Return log of the proportions (R, m, c) of the clusters that tasks hold, from their weights; others have none."""
    found = np.where(held, S + PSEUDO_ROWS / held.sum(axis=2, keepdims=True), 0)
    with np.errstate(divide="ignore"):
        return np.log(found / found.sum(axis=2, keepdims=True))


def _log_shares(model: Model, S: Array) -> Array | None:
    """Get proportions of the clusters in each task: as given, or those of the rows, of the clusters that it holds."""
    if model.log_shares is not None:
        return np.broadcast_to(model.log_shares, S.shape)
    if not model.proportions:
        return None
    return np.where(model.sharing.alone(S.shape[1])[:, None], 0.0, proportions_of(S, model.held(S.shape)))
