"""The centre step where nothing but centres is estimated: W, M and M_k from the sums of the tasks (eqs. 16, 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import Array
from .blocks import GapSums
from .centers import TINY, Centers, between, centers_of, coordinate_means

if TYPE_CHECKING:
    from .couplings.base import Subspace
    from .model import Model


def plain(model: Model, S: Array, T: Array, last: Centers | None, subspaces: list[Subspace] | None) -> Centers:
    """Centres of all rows of a cluster; an empty one keeps its last centre."""
    S_all, T_all = model.pooled(S, T)
    if last is None:
        size = S_all.sum(axis=tuple(range(1, S_all.ndim)))
        mean = T_all.sum(axis=1, keepdims=True) / np.maximum(size, TINY)[:, None, None]
    Z, Q = centers_of(S_all, T_all, mean if last is None else last.Z), between(S_all, T_all)
    W, M, shared = _projected(model, subspaces, Z, Q)
    if model.pools:
        return _without_own(W, M, shared, Z, Q, T.shape)
    seen = (S if S.ndim < T.ndim else np.einsum("rkii->rki", S)) > 0
    fallback = None
    if not seen.all():
        fallback = model.placed_points(shared, S.shape[1])
        if last is not None:
            fallback = np.where(last.seen[..., None], last.Ms, fallback)
            seen = seen | last.seen
    return Centers(W, M, centers_of(S, T, fallback), Z, Q, seen)


def observed(
    model: Model,
    S: Array,
    T: Array,
    last: Centers | None,
    subspaces: list[Subspace] | None,
    origins: Array,
    gaps: GapSums,
) -> Centers:
    """The same where values are missing: each coordinate of a centre is the mean of the rows that have it."""
    N, T = gaps.observed(S, T, origins)
    N_all, T_all = model.pooled(N, T)
    middle = coordinate_means(N_all.sum(axis=1, keepdims=True), T_all.sum(axis=1, keepdims=True), origins.mean(axis=0))
    Z = coordinate_means(N_all, T_all, middle if last is None else last.Z)
    sizes = model.pooled(S, np.zeros((*S.shape, origins.shape[1])))[0]
    Q = np.sqrt(sizes)[..., None] * Z
    W, M, shared = _projected(model, subspaces, Z, Q)
    if model.pools:
        return _without_own(W, M, shared, Z, Q, T.shape)
    placed, seen = model.placed_points(shared, S.shape[1]), S > 0
    if last is not None:
        placed, seen = np.where(last.seen[..., None], last.Ms, placed), seen | last.seen
    return Centers(W, M, coordinate_means(N, T, placed), Z, Q, seen)


def _projected(
    model: Model, subspaces: list[Subspace] | None, Z: Array, Q: Array
) -> tuple[Array | None, Array | None, Array]:
    """W and M, and the shared centres M Wᵀ; without subspaces Z itself."""
    if subspaces is None:
        return None, None, Z
    W = np.stack([make(q, z, model.n_components) for make, q, z in zip(subspaces, Q, Z, strict=True)])
    M = Z @ W  # eq. 16
    return W, M, M @ np.swapaxes(W, 1, 2)


def _without_own(
    W: Array | None, M: Array | None, shared: Array, Z: Array, Q: Array, shape: tuple[int, ...]
) -> Centers:
    """Centres where those of tasks do not count: they are found at the end."""
    Ms = np.broadcast_to(shared[:, None], shape)
    return Centers(W, M, Ms, Z, Q, np.ones(shape[:3], dtype=bool))
