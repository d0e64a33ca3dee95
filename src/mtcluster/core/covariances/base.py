"""What the solver asks of a form of the covariances, and what they mean for rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array, Matrix, like
from ..capabilities import Capabilities
from ..metric import Shape


@dataclass(frozen=True)
class Covariance(ABC):
    """One form of the covariances; arrays K of them have the axes of runs and clusters first, (R, c, …)."""

    rows: float  # ν: rows by which they are drawn to the common one

    name: ClassVar[str]
    supports: ClassVar[Capabilities] = Capabilities(missing=False)

    @staticmethod
    @abstractmethod
    def common(shape: Shape, n_features: int) -> Array:
        """(R, …) a covariance that is the same for all clusters, in this form."""

    @abstractmethod
    def outer(self, Y: Array, Z: Array) -> Array:
        """Σ_k y_kjᵀ z_kj of points (R, m, c, d), as much as this form holds."""

    @abstractmethod
    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: Any) -> Array:
        """Σ f (x − origin)ᵀ(x − origin) of some rows, by their shares F (R, c, n) in the clusters."""

    @abstractmethod
    def times(self, C: Array, K: Array) -> Array:
        """C A_j, of points (R, m, c, d)."""

    @abstractmethod
    def mean(self, Y: Array, weights: Array, K: Array) -> Array:
        """(R, m, d) the point of least Σ_j weight ‖y_kj − point‖²_{A_j}, of points (R, m, c, d)."""

    @abstractmethod
    def log_determinants(self, K: Array, n_features: int) -> Array:
        """(R, c) log|S_j|."""

    @abstractmethod
    def trace(self, K: Array, common: Array, n_features: int) -> Array:
        """(R, c) tr(S0 A_j)."""

    @abstractmethod
    def factors(self, K: Array) -> Array:
        """What rows are multiplied with for their energies, (R, c, …)."""

    @abstractmethod
    def energies(self, X: Matrix, sq: Array, origin: Array, factors: Array, xp: Any) -> Array:
        """(R, c, n) ‖x − origin‖²_{A_j} of some rows."""

    @abstractmethod
    def draw(self, noise: Array, K: Array) -> Array:
        """Standard normal noise (n, d) with the covariance K of one cluster."""

    @staticmethod
    @abstractmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """Free parameters of all clusters."""

    def estimate(self, G: Array, sizes: Array, common: Array) -> Array:
        """S_j from the scatter G (R, c, …) of the clusters around their centres and their sizes (R, c)."""
        total, drawn = (sizes + self.rows)[(...,) + (None,) * (G.ndim - 2)], self.rows * common[:, None]
        return self.floored((G + drawn) / total, drawn / total)

    def floored(self, K: Array, least: Array) -> Array:
        """K not below what it would be without rows: of sums with rounding errors it might be."""
        return np.maximum(K, least)

    def penalty(self, K: Array, common: Array, n_features: int) -> Array:
        """(R,) ν Σ_j [log|S_j| + tr(S0 A_j)]."""
        found = self.log_determinants(K, n_features) + self.trace(K, common, n_features)
        return self.rows * found.sum(axis=1)


@dataclass(frozen=True)
class Own:
    """What the covariances of the clusters mean for the rows of a task."""

    form: Covariance
    factors: Array  # (R, c, …)
    origin: Array  # (d,)

    def where(self, near: Array, xp: Any) -> Own:
        """The same in the place and the type of the rows."""
        factors, origin = (like(np.ascontiguousarray(v), near, xp) for v in (self.factors, self.origin))
        return replace(self, factors=factors, origin=origin)

    def energies(self, X: Matrix, sq: Array, xp: Any) -> Array:
        """(R, c, n) ‖x − origin‖²_{A_j} of some rows."""
        return self.form.energies(X, sq, self.origin, self.factors, xp)

    def moments(self, X: Matrix, sq: Array, F: Array, xp: Any) -> Array:
        """(R, c, …) Σ f (x − origin)ᵀ(x − origin) of some rows."""
        return self.form.moments(X, sq, self.origin, F, xp)
