"""A variance of each feature for each cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import MOST_ROWS, Array, Matrix, is_sparse
from ..metric import Shape
from .base import Covariance


@dataclass(frozen=True)
class Diagonal(Covariance):
    """A variance for each feature: K (R, c, d)."""

    name = "diag"

    @staticmethod
    def common(shape: Shape, n_features: int) -> Array:
        """Variances of the features."""
        return shape.variances()

    def outer(self, Y: Array, Z: Array) -> Array:
        """Diagonals (d,)."""
        return np.einsum("rkci,rkci->rci", Y, Z)

    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: Any) -> Array:
        """Diagonals (d,), in sums over no more rows than single precision bears."""
        (runs, c, n), d = F.shape, X.shape[1]
        if is_sparse(X):
            G = xp.reshape(F, (runs * c, n)).T
            cross = (X.multiply(X).tocsr().T @ G).T - 2 * origin * (X.T @ G).T
            return xp.reshape(xp.astype(cross + origin**2 * xp.sum(G, axis=0)[:, None], xp.float64), (runs, c, d))
        total = xp.zeros((runs * c, d), dtype=xp.float64, device=sq.device)
        for first in range(0, n, MOST_ROWS):
            part = slice(first, min(first + MOST_ROWS, n))
            Y = X[part, :] - origin
            total += xp.astype(xp.reshape(F[:, :, part], (runs * c, -1)) @ (Y * Y), xp.float64)
        return xp.reshape(total, (runs, c, d))

    def times(self, C: Array, K: Array) -> Array:
        """Quotients."""
        return C / K[:, None]

    def mean(self, Y: Array, weights: Array, K: Array) -> Array:
        """A mean of each feature."""
        w = weights[..., None] / K[:, None]
        total = w.sum(axis=2)
        return (w * Y).sum(axis=2) / np.where(total > 0, total, 1)

    def log_determinants(self, K: Array, n_features: int) -> Array:
        """Sums of logarithms."""
        return np.log(K).sum(axis=2)

    def trace(self, K: Array, common: Array, n_features: int) -> Array:
        """Sums of quotients."""
        return (common[:, None] / K).sum(axis=2)

    def factors(self, K: Array) -> Array:
        """Precisions."""
        return 1 / K

    def energies(self, X: Matrix, sq: Array, origin: Array, factors: Array, xp: Any) -> Array:
        """One product for all clusters."""
        (runs, c, d), n = factors.shape, X.shape[0]
        A = xp.reshape(factors, (runs * c, d))
        if is_sparse(X):
            E = X.multiply(X).tocsr() @ A.T - 2 * (X @ (A * origin).T) + xp.sum(A * origin**2, axis=1)
            return xp.reshape(E.T, (runs, c, n))
        Y = X - origin
        return xp.reshape(A @ (Y * Y).T, (runs, c, n))

    def draw(self, noise: Array, K: Array) -> Array:
        """By the roots of the variances."""
        return noise * np.sqrt(K)

    @staticmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """A number for each feature."""
        return n_clusters * n_features
