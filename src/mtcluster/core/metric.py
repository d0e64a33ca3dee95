"""The shared metric: distances relative to the scatter within clusters, one covariance S for all tasks.

With A = S⁻¹ the loss of a row is λ1 ‖x − M_kj‖²_A + (1 − λ1) ‖x − b_k − z_j‖²_A, and the objective gains
(N + ν) log|S| + ν tr(S0 A), so that S = (G + ν S0) / (N + ν) minimises it, with G the scatter around the centres. The
prior S0, the covariance within tasks, keeps S from becoming singular and makes it change with the rows under any change
of their coordinates. It needs no other copy of the rows: A multiplies the centres. Wide rows have S = V K Vᵀ + σ² (I −
V Vᵀ), with V a few directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import Array
from .jobs import scatter

if TYPE_CHECKING:
    from .blocks import PerRow, RowSource

STRENGTH = 0.01  # ν / N


@dataclass(frozen=True)
class Metric:
    """How the covariance is estimated, and the directions in which it is a full one."""

    V: Array | None = None  # (d, l) orthonormal; None: all directions
    prior: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (l, l) S0; none where nothing is estimated
    rest: float = 1.0  # the variance of S0 in every other direction
    strength: float = STRENGTH  # ν / N

    def spread(self, rows: RowSource, weights: PerRow, sharing: Array) -> Spread:
        """The scatter of the rows of tasks that share around their origins, at given weights."""
        found = rows.apply(partial(scatter, V=self.V, sharing=sharing), weights)[-1]
        return Spread(found.XX, found.energy, found.sizes, sharing)

    def estimate(self, G: Array, total: Array, sizes: Array, n_features: int) -> Shape:
        """S from the scatter G (R, l, l) around the centres in the directions V, its trace in all, and N (R,)."""
        nu = self.strength * sizes
        K = (G + nu[:, None, None] * self.prior) / (sizes + nu)[:, None, None]
        others = n_features - G.shape[1]
        if not others:
            return Shape(self.V, K, np.ones(len(K)))
        left = np.maximum(total - np.einsum("rii->r", G), 0) / others
        return Shape(self.V, K, (left + nu * self.rest) / (sizes + nu))

    def bounded(self, shape: Shape) -> Shape:
        """S not below what the prior alone would make it: of sums with rounding errors it might be."""
        least = self.strength / (1 + self.strength) * self.prior
        return Shape(shape.V, floored(shape.K, least), shape.rest)

    def penalty(self, shape: Shape, sizes: Array, n_features: int) -> Array:
        """(N + ν) log|S| + ν tr(S0 A) of each run."""
        nu, others = self.strength * sizes, n_features - shape.K.shape[1]
        trace: Array = np.einsum("rij,ji->r", shape.inverse, self.prior) + others * self.rest / shape.rest
        return (sizes + nu) * shape.log_determinant(n_features) + nu * trace


def floored(K: Array, least: Array) -> Array:
    """Matrices K (…, d, d) not below others, relative to which rounding errors may have made them small or negative."""
    L = np.linalg.cholesky(least)
    back = np.linalg.inv(L)
    values, vectors = np.linalg.eigh(back @ K @ np.swapaxes(back, -1, -2))
    if values.min() >= 0.5:  # rounding does no harm
        return K
    root = L @ vectors
    return (root * np.maximum(values, 1)[..., None, :]) @ np.swapaxes(root, -1, -2)


def definite(K: Array) -> bool:
    """Whether all are covariances: sums of single precision may leave nothing of a small spread but rounding errors."""
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True)
class Spread:
    """Second moments of the rows at the weights of a stage."""

    XX: Array  # (R or 1, l, l) Σ w (x − origin)(x − origin)ᵀ of tasks that share, in the directions V
    energy: Array  # (R or 1, m) Σ w ‖x − origin‖² of each task
    sizes: Array  # (R or 1, m) Σ w of each task
    sharing: Array  # (m,) which tasks shape the metric

    def runs(self, at: Any) -> Spread:
        """Those of some runs."""
        if len(self.XX) == 1:
            return self
        return replace(self, XX=self.XX[at], energy=self.energy[at], sizes=self.sizes[at])

    @property
    def total(self) -> Array:
        """(R or 1,) N: the weight of the rows that shape the metric."""
        return self.sizes[:, self.sharing].sum(axis=1)

    @property
    def shared_energy(self) -> Array:
        """(R or 1,) the energy of these rows."""
        return self.energy[:, self.sharing].sum(axis=1)


class Shape:
    """A covariance S of each run, and what it does to centres and rows."""

    def __init__(self, V: Array | None, K: Array, rest: Array) -> None:
        self.V, self.K, self.rest = V, K, rest

    @cached_property
    def inverse(self) -> Array:
        """(R, l, l) of K: the metric in the directions V."""
        return np.linalg.inv(self.K)

    def log_determinant(self, n_features: int) -> Array:
        """log|S| of each run."""
        others = n_features - self.K.shape[1]
        return np.linalg.slogdet(self.K)[1] + others * np.log(self.rest)

    def dense(self) -> Array:
        """(R, d, d) S itself."""
        if self.V is None:
            return self.K
        inside = self.V @ (self.K - self.rest[:, None, None] * np.eye(self.K.shape[1])) @ self.V.T
        return inside + self.rest[:, None, None] * np.eye(len(self.V))

    def trace(self, n_features: int) -> Array:
        """tr(S) of each run."""
        return np.einsum("rii->r", self.K) + (n_features - self.K.shape[1]) * self.rest

    def variances(self) -> Array:
        """(R, d) the diagonal of S."""
        if self.V is None:
            return np.einsum("rii->ri", self.K)
        outside = self.rest[:, None] * (1 - np.einsum("dl,dl->d", self.V, self.V))
        return np.einsum("dl,rlk,dk->rd", self.V, self.K, self.V, optimize=True) + outside

    def times(self, C: Array) -> Array:
        """C A, of points (R, m, c, d)."""
        if self.V is None:
            return C @ self.inverse[:, None]
        outside = 1 / self.rest[:, None, None, None]
        core = self.inverse - np.eye(self.K.shape[1]) / self.rest[:, None, None]
        return (C @ self.V) @ core[:, None] @ self.V.T + outside * C

    def power(self, C: Array, exponent: float) -> Array:
        """C A^exponent, of points (R, c, d)."""
        values, vectors = np.linalg.eigh(self.K)
        values = np.maximum(values, values.shape[1] * np.finfo(values.dtype).eps * values[:, -1:])  # rounding errors
        turned = vectors * (values**-exponent)[:, None] @ np.swapaxes(vectors, 1, 2)
        if self.V is None:
            return C @ turned
        outside = (self.rest**-exponent)[:, None, None]
        return (C @ self.V) @ (turned - np.eye(len(turned[0])) * outside) @ self.V.T + outside * C

    def energy_of(self, spread: Spread) -> Array:
        """Σ w ‖x − origin‖²_A of each run; tasks that do not share have the Euclidean metric."""
        inside = np.einsum("rij,rij->r", self.inverse, np.broadcast_to(spread.XX, self.K.shape))
        alone = spread.energy[:, ~spread.sharing].sum(axis=1)
        if self.V is None:
            return inside + alone
        left = spread.shared_energy - np.einsum("rii->r", spread.XX)
        return inside + np.maximum(left, 0) / self.rest + alone

    def axes(self) -> tuple[Array, Array, Array]:
        """‖x‖²_A = a ‖x‖² + Σ s_i (x·q_i)²: a (R,), s (R, l) and q (R, l, d)."""
        values, vectors = np.linalg.eigh(self.inverse)
        Q = np.swapaxes(vectors, 1, 2)
        if self.V is None:
            return np.zeros(len(Q)), values, Q
        return 1 / self.rest, values - (1 / self.rest)[:, None], Q @ self.V.T
