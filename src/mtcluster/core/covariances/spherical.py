"""One variance for each cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Matrix
from ..metric import Shape
from .base import Covariance


@dataclass(frozen=True)
class Spherical(Covariance):
    """One variance for all features: K (R, c)."""

    name = "spherical"

    @staticmethod
    def common(shape: Shape, n_features: int) -> Array:
        """The mean variance of the features."""
        return shape.trace(n_features) / n_features

    def outer(self, Y: Array, Z: Array) -> Array:
        """Means of the diagonals."""
        return np.einsum("rkci,rkci->rc", Y, Z) / Y.shape[3]

    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: Any) -> Array:
        """Means of the diagonals."""
        return xp.sum(F * sq, axis=2, dtype=xp.float64) / X.shape[1]

    def times(self, C: Array, K: Array) -> Array:
        """Quotients."""
        return C / K[:, None, :, None]

    def mean(self, Y: Array, weights: Array, K: Array) -> Array:
        """A weighted mean."""
        w = (weights / K[:, None])[..., None]
        total = w.sum(axis=2)
        return (w * Y).sum(axis=2) / np.where(total > 0, total, 1)

    def log_determinants(self, K: Array, n_features: int) -> Array:
        """As often as there are features."""
        return n_features * np.log(K)

    def trace(self, K: Array, common: Array, n_features: int) -> Array:
        """As often as there are features."""
        return n_features * common[:, None] / K

    def factors(self, K: Array) -> Array:
        """Precisions."""
        return 1 / K

    def energies(self, X: Matrix, sq: Array, origin: Array, factors: Array, xp: Any) -> Array:
        """Multiples of the squared distances that are known."""
        return factors[:, :, None] * sq

    def draw(self, noise: Array, K: Array) -> Array:
        """By the root of the variance."""
        return noise * np.sqrt(K)

    @staticmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """A number for each cluster."""
        return n_clusters
