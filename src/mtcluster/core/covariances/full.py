"""Any covariance for each cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import MOST_ROWS, Array, Matrix, is_sparse
from ..capabilities import Capabilities
from ..metric import Shape, definite, floored
from .base import Covariance


@dataclass(frozen=True)
class Full(Covariance):
    """Any covariance: K (R, c, d, d)."""

    name = "full"
    supports = Capabilities(max_features=500, missing=False)

    @staticmethod
    def common(shape: Shape, n_features: int) -> Array:
        """The covariance itself."""
        return shape.dense()

    def outer(self, Y: Array, Z: Array) -> Array:
        """Matrices (d, d)."""
        return np.einsum("rkci,rkcj->rcij", Y, Z, optimize=True)

    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: Any) -> Array:
        """Matrices (d, d), in sums over no more rows than single precision bears."""
        (runs, c, n), d = F.shape, X.shape[1]
        total = xp.zeros((runs, c, d, d), dtype=xp.float64, device=sq.device)
        for first in range(0, n, MOST_ROWS):
            part = slice(first, min(first + MOST_ROWS, n))
            Y = _dense(X[part, :]) - origin
            for r in range(runs):
                for j in range(c):
                    total[r, j, ...] += xp.astype((Y * F[r, j, part, None]).T @ Y, xp.float64)
        return total

    def floored(self, K: Array, least: Array) -> Array:
        """In all directions."""
        return K if definite(K) else floored(K, least)

    def times(self, C: Array, K: Array) -> Array:
        """Products with the inverses."""
        return np.einsum("rkci,rcij->rkcj", C, np.linalg.inv(K), optimize=True)

    def mean(self, Y: Array, weights: Array, K: Array) -> Array:
        """The normal equations; 0 for a task without weights."""
        A = np.linalg.inv(K)
        left = np.einsum("rkc,rcij->rkij", weights, A)
        right = np.einsum("rkc,rcij,rkcj->rki", weights, A, Y, optimize=True)
        left += np.where(weights.sum(axis=2) > 0, 0.0, 1.0)[:, :, None, None] * np.eye(Y.shape[3])
        return np.linalg.solve(left, right[..., None])[..., 0]

    def log_determinants(self, K: Array, n_features: int) -> Array:
        """Of matrices."""
        return np.linalg.slogdet(K)[1]

    def trace(self, K: Array, common: Array, n_features: int) -> Array:
        """Of matrices."""
        return np.einsum("rcij,rji->rc", np.linalg.inv(K), common)

    def factors(self, K: Array) -> Array:
        """Roots of the inverses."""
        return np.linalg.cholesky(np.linalg.inv(K))

    def energies(self, X: Matrix, sq: Array, origin: Array, factors: Array, xp: Any) -> Array:
        """One product for each cluster."""
        Y, (runs, c) = _dense(X) - origin, factors.shape[:2]

        def of(r: int, j: int) -> Array:
            turned = Y @ factors[r, j, ...]
            return xp.sum(turned * turned, axis=1)

        return xp.stack([xp.stack([of(r, j) for j in range(c)]) for r in range(runs)])

    def draw(self, noise: Array, K: Array) -> Array:
        """By the root of the covariance."""
        return noise @ np.linalg.cholesky(K).T

    @staticmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """Symmetric matrices."""
        return n_clusters * n_features * (n_features + 1) // 2


def _dense(X: Matrix) -> Array:
    """A piece of rows, which has few numbers, as a dense array."""
    return X.toarray() if is_sparse(X) else X
