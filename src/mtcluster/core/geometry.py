"""How distances are measured: a covariance S of the rows around their centres, or none.

With A = S⁻¹ the loss of a row is λ1 ‖x − M_kj‖²_A + (1 − λ1) ‖x − b_k − z_j‖²_A. `Identity` leaves rows as they are.
`Tied` is one covariance for all clusters and tasks, estimated with them: the objective gains (N + ν) log|S| +
ν tr(S0 A), so that S = (G + ν S0) / (N + ν) minimises it, with G the scatter around the centres. The prior S0, the
covariance within tasks, keeps S from becoming singular and makes it change with the rows under any change of their
coordinates. It needs no other copy of the rows: A multiplies the centres. Wide rows have S = V K Vᵀ + σ² (I − V Vᵀ),
with V a few directions. `core.covariances` has those in which each cluster has a covariance of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from .arrays import Array
from .capabilities import Capabilities
from .jobs import scatter
from .record import Record, axes
from .sums import Spread

if TYPE_CHECKING:
    from .blocks import PerRow, RowSource
    from .covariances import Own

STRENGTH = 0.01  # ν / N


@dataclass(frozen=True, eq=False)
class Geometry(Record):
    """How distances are measured, in each run; what is estimated has a value and what that is drawn to."""

    name: ClassVar[str]
    supports: ClassVar[Capabilities] = Capabilities()
    estimated: ClassVar[bool] = True  # is it found with the clusters?

    @property
    def tied(self) -> Geometry:
        """What all clusters have in common."""
        return self

    @abstractmethod
    def times(self, C: Array, alone: Array) -> Array:
        """Compute C A, of points (R, m, c, d); tasks `alone` (m,) have Euclidean distances."""

    @abstractmethod
    def power(self, C: Array, exponent: float) -> Array:
        """Compute C A^exponent, of points (R, c, d), by what all clusters have in common."""

    @abstractmethod
    def log_determinants(self, n_features: int) -> Array:
        """Compute (R, 1 or c) log|S|."""

    @abstractmethod
    def penalty(self, sizes: Array, n_features: int) -> Array:
        """Compute (R,) what log|S| and the prior add to the objective, for rows of weight `sizes` (R,)."""

    def energy(self, spread: Spread) -> Array:
        """Compute (R,) Σ w ‖x − origin‖²_A where losses leave it out, else 0."""
        return np.zeros(1)

    def own(self, origins: Array) -> Own | None:
        """Tell what covariances of clusters mean for rows seen from origins (m, d); None: clusters have none."""
        return None

    def with_clusters(self, n: int) -> Geometry:
        """Let further clusters have what clusters have in the mean, where there is one run."""
        return self

    def restricted(self, there: Array) -> Geometry:
        """Tell what some of the features (d,) have of it, where there is one run."""
        return self

    def whiten(self, Y: Array, exponent: float = 0.5) -> Array:
        """Compute Y A^½, of points (n, d), where there is one run: distances are Euclidean then."""
        return self.take("R", None).power(Y[None], exponent)[0]

    def squares(self, Y: Array) -> Array:
        """Compute (n,) ‖y‖²_A of points (n, d), where there is one run."""
        one, nobody = self.take("R", None).tied, np.zeros(1, dtype=bool)
        return np.sum(one.times(Y[None, None], nobody)[0, 0] * Y, axis=1)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}


@dataclass(frozen=True, eq=False)
class Identity(Geometry):
    """Euclidean distances."""

    name = "euclidean"
    estimated = False

    def times(self, C: Array, alone: Array) -> Array:
        """C."""
        return C

    def power(self, C: Array, exponent: float) -> Array:
        """C."""
        return C

    def log_determinants(self, n_features: int) -> Array:
        """Compute 0."""
        return np.zeros((1, 1))

    def penalty(self, sizes: Array, n_features: int) -> Array:
        """Compute 0."""
        return np.zeros(1)


@dataclass(frozen=True, eq=False)
class Tied(Geometry):
    """One covariance for all clusters and tasks."""

    name = "tied"

    prior: Array = axes("q q")  # S0
    V: Array | None = axes("d q", default=None)  # orthonormal directions in which S is any covariance; None: all
    K: Array = axes("R? q q", default=np.zeros((1, 0, 0)))
    rest: Array = axes("R?", default=np.ones(1))  # the variance in every other direction
    prior_rest: float = 1.0  # that of S0
    strength: float = STRENGTH  # ν / N

    @classmethod
    def of(cls, prior: Array, V: Array | None = None, rest: float = 1.0, strength: float = STRENGTH) -> Tied:
        """Make the covariance that a fit begins with, which is its prior."""
        return cls(prior, V, prior[None], np.array([rest]), rest, strength)

    def spread(self, rows: RowSource, weights: PerRow, sharing: Array) -> Spread:
        """Add up the scatter of the rows of tasks that share around their origins, at given weights."""
        return rows.apply(partial(scatter, V=self.V, sharing=sharing), weights)[-1]

    def estimate(self, G: Array, total: Array, sizes: Array, n_features: int, *, bounded: bool = False) -> Self:
        """Compute S from the scatter G (R, q, q) around the centres in the directions V, its trace in all, and N (R,).

        It is not below what the prior alone would make it, where rounding left no covariance, or always (`bounded`).
        """
        nu, others = self.strength * sizes, n_features - G.shape[1]
        K = (G + nu[:, None, None] * self.prior) / (sizes + nu)[:, None, None]
        rest = np.ones(len(K))
        if others:
            left = np.maximum(total - np.einsum("rii->r", G), 0) / others
            rest = (left + nu * self.prior_rest) / (sizes + nu)
        found = replace(self, K=K, rest=rest)
        return found.bounded() if bounded or not definite(K) else found

    def bounded(self) -> Self:
        """Compute S not below what the prior alone would make it: of sums with rounding errors it might be."""
        return replace(self, K=floored(self.K, self.strength / (1 + self.strength) * self.prior))

    @cached_property
    def inverse(self) -> Array:
        """(R, q, q) of K: the metric in the directions V."""
        return np.linalg.inv(self.K)

    def log_determinants(self, n_features: int) -> Array:
        """Compute log|S|."""
        others = n_features - self.K.shape[1]
        return (np.linalg.slogdet(self.K)[1] + others * np.log(self.rest))[:, None]

    def penalty(self, sizes: Array, n_features: int) -> Array:
        """Compute (N + ν) log|S| + ν tr(S0 A)."""
        nu, others = self.strength * sizes, n_features - self.K.shape[1]
        trace = np.einsum("rij,ji->r", self.inverse, self.prior) + others * self.prior_rest / self.rest
        return (sizes + nu) * self.log_determinants(n_features)[:, 0] + nu * trace

    def energy(self, spread: Spread) -> Array:
        """Return tasks that do not share have the Euclidean metric."""
        inside = np.einsum("rij,rij->r", self.inverse, np.broadcast_to(spread.XX, self.K.shape))
        alone = spread.energy[:, ~spread.sharing].sum(axis=1)
        if self.V is None:
            return inside + alone
        left = spread.shared_energy - np.einsum("rii->r", spread.XX)
        return inside + np.maximum(left, 0) / self.rest + alone

    def times(self, C: Array, alone: Array) -> Array:
        """Compute C A."""
        if self.V is None:
            found = C @ self.inverse[:, None]
        else:
            outside = 1 / self.rest[:, None, None, None]
            core = self.inverse - np.eye(self.K.shape[1]) / self.rest[:, None, None]
            found = (C @ self.V) @ core[:, None] @ self.V.T + outside * C
        if alone.any():
            found[:, alone] = C[:, alone]
        return found

    def power(self, C: Array, exponent: float) -> Array:
        """Compute C A^exponent."""
        values, vectors = np.linalg.eigh(self.K)
        values = np.maximum(values, values.shape[1] * np.finfo(values.dtype).eps * values[:, -1:])  # rounding errors
        turned = vectors * (values**-exponent)[:, None] @ np.swapaxes(vectors, 1, 2)
        if self.V is None:
            return C @ turned
        outside = (self.rest**-exponent)[:, None, None]
        return (C @ self.V) @ (turned - np.eye(len(turned[0])) * outside) @ self.V.T + outside * C

    def restricted(self, there: Array) -> Tied:
        """Return the covariance of these features."""
        K = self.take("R", None).dense()[0][there][:, there]
        return Tied(K, None, K, np.asarray(1.0))

    def dense(self) -> Array:
        """Compute (R, d, d) S itself."""
        if self.V is None:
            return self.K
        inside = self.V @ (self.K - self.rest[:, None, None] * np.eye(self.K.shape[1])) @ self.V.T
        return inside + self.rest[:, None, None] * np.eye(len(self.V))

    def trace(self, n_features: int) -> Array:
        """Compute (R,) tr(S)."""
        return np.einsum("rii->r", self.K) + (n_features - self.K.shape[1]) * self.rest

    def variances(self) -> Array:
        """Compute (R, d) the diagonal of S."""
        if self.V is None:
            return np.einsum("rii->ri", self.K)
        outside = self.rest[:, None] * (1 - np.einsum("dl,dl->d", self.V, self.V))
        return np.einsum("dl,rlk,dk->rd", self.V, self.K, self.V, optimize=True) + outside

    def principal(self) -> tuple[Array, Array, Array]:
        """Compute ‖x‖²_A = a ‖x‖² + Σ s_i (x·q_i)²: a (R,), s (R, q) and q (R, q, d)."""
        values, vectors = np.linalg.eigh(self.inverse)
        Q = np.swapaxes(vectors, 1, 2)
        if self.V is None:
            return np.zeros(len(Q)), values, Q
        return 1 / self.rest, values - (1 / self.rest)[:, None], Q @ self.V.T


def floored(K: Array, least: Array) -> Array:
    """Raise matrices K (…, d, d) to others, below which rounding errors may have brought them."""
    L = np.linalg.cholesky(least)
    back = np.linalg.inv(L)
    values, vectors = np.linalg.eigh(back @ K @ np.swapaxes(back, -1, -2))
    if values.min() >= 0.5:  # rounding does no harm
        return K
    root = L @ vectors
    return (root * np.maximum(values, 1)[..., None, :]) @ np.swapaxes(root, -1, -2)


def definite(K: Array) -> bool:
    """Tell whether all are covariances: single precision may leave nothing of a small spread but rounding errors."""
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True
