"""Covariances of the clusters, one each, shared by the tasks: one class per form, registered by name.

With A_j = S_j⁻¹ the loss of a row in cluster j is ‖x − M_kj‖²_{A_j} + log|S_j|, and the objective gains
ν Σ_j [log|S_j| + tr(S0 A_j)], so that S_j = (G_j + ν S0) / (n_j + ν) minimises it, with G_j the scatter of the cluster
around its centres. S0 is what all clusters have in common where the fit starts, in the same form, so that no S_j is
singular and a cluster of few rows has nearly the shape of the others.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from types import ModuleType
from typing import ClassVar, Self

import numpy as np

from .arrays import MOST_ROWS, Array, Matrix, dense, is_sparse, like
from .capabilities import Capabilities
from .geometry import Geometry, Tied, definite, floored
from .record import axes, declared


@dataclass(frozen=True, eq=False)
class OfClusters(Geometry):
    """One form of the covariances; arrays K of them have the axes of runs and clusters first, (R, c, …)."""

    base: Tied  # the covariance around all centres, which the subspace and offsets of new tasks are measured by
    rows: float  # ν: rows by which they are drawn to the common one
    K: Array
    common: Array | None

    supports: ClassVar[Capabilities] = Capabilities(missing=False)

    @classmethod
    def of(cls, base: Tied, rows: float) -> Self:
        """Make what a fit begins with: none are known yet."""
        K = next(one for one in declared(cls) if one.name == "K")
        return cls(base, rows, np.zeros((1, *[0] * (len(K.letters) - 1))), None)

    @property
    def tied(self) -> Tied:
        """The covariance around all centres."""
        return self.base

    @staticmethod
    @abstractmethod
    def in_common(base: Tied, n_features: int) -> Array:
        """Compute (R, …) a covariance that is the same for all clusters, in this form."""

    @abstractmethod
    def outer(self, Y: Array, Z: Array) -> Array:
        """Compute Σ_k y_kjᵀ z_kj of points (R, m, c, d), as much as this form holds."""

    @abstractmethod
    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: ModuleType) -> Array:
        """Compute Σ f (x − origin)ᵀ(x − origin) of some rows, by their shares F (R, c, n) in the clusters."""

    @abstractmethod
    def mean(self, Y: Array, weights: Array) -> Array:
        """Compute (R, m, d) the point of least Σ_j weight ‖y_kj − point‖²_{A_j}, of points (R, m, c, d)."""

    @abstractmethod
    def traces(self, n_features: int) -> Array:
        """Compute (R, c) tr(S0 A_j)."""

    @abstractmethod
    def factors(self) -> Array:
        """Compute (R, c, …) what rows are multiplied with for their energies."""

    @staticmethod
    @abstractmethod
    def energies(X: Matrix, sq: Array, origin: Array, factors: Array, xp: ModuleType) -> Array:
        """Compute (R, c, n) ‖x − origin‖²_{A_j} of some rows."""

    @abstractmethod
    def draw(self, noise: Array, j: int) -> Array:
        """Return standard normal noise (n, d) with the covariance of cluster j of the only run."""

    @staticmethod
    @abstractmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """Return free parameters of all clusters."""

    def estimate(self, base: Tied, G: Array, sizes: Array, n_features: int) -> Self:
        """Compute S_j from the scatter G (R, c, …) of the clusters around their centres and their sizes (R, c)."""
        common = self.in_common(base, n_features) if self.common is None else self.common
        total, drawn = (sizes + self.rows)[(...,) + (None,) * (G.ndim - 2)], self.rows * common[:, None]
        K = self.bounded((G + drawn) / total, drawn / total)
        return replace(self, base=base, K=K, common=common)

    @staticmethod
    def bounded(K: Array, least: Array) -> Array:
        """Compute K not below what it would be without rows: of sums with rounding errors it might be."""
        return np.maximum(K, least)

    def penalty(self, sizes: Array, n_features: int) -> Array:
        """Compute N min log|S_j|, which losses leave out, and ν Σ_j [log|S_j| + tr(S0 A_j)]."""
        logs = self.log_determinants(n_features)
        return sizes * logs.min(axis=1) + self.rows * (logs + self.traces(n_features)).sum(axis=1)

    def with_clusters(self, n: int) -> Self:
        """Let further clusters have the mean of the covariances."""
        return replace(self, K=np.concatenate([self.K, np.repeat(self.K.mean(axis=0, keepdims=True), n, axis=0)]))

    def power(self, C: Array, exponent: float) -> Array:
        """Compute C A^exponent, of what clusters have in common."""
        return self.base.power(C, exponent)

    def own(self, origins: Array) -> Own | None:
        """Tell what they mean for rows."""
        return Own(self, self.factors(), origins)


@dataclass(frozen=True)
class Own:
    """What the covariances of the clusters mean for the rows of a task."""

    form: OfClusters
    factors: Array  # (R, c, …)
    origin: Array  # (d,), or (m, d) of all tasks

    def of_task(self, k: int, near: Array, xp: ModuleType) -> Own:
        """Return the same of one task, in the place and the type of its rows."""
        factors, origin = (like(np.ascontiguousarray(v), near, xp) for v in (self.factors, self.origin[k]))
        return replace(self, factors=factors, origin=origin)

    def energies(self, X: Matrix, sq: Array, xp: ModuleType) -> Array:
        """Compute (R, c, n) ‖x − origin‖²_{A_j} of some rows."""
        return self.form.energies(X, sq, self.origin, self.factors, xp)

    def moments(self, X: Matrix, sq: Array, F: Array, xp: ModuleType) -> Array:
        """Compute (R, c, …) Σ f (x − origin)ᵀ(x − origin) of some rows."""
        return self.form.moments(X, sq, self.origin, F, xp)


@dataclass(frozen=True, eq=False)
class Full(OfClusters):
    """Any covariance: K (R, c, d, d)."""

    K: Array = axes("R? c d d")
    common: Array | None = axes("R? d d")

    name = "full"
    supports = Capabilities(max_features=500, missing=False)

    @staticmethod
    def in_common(base: Tied, n_features: int) -> Array:
        """Return the covariance itself."""
        return base.dense()

    def outer(self, Y: Array, Z: Array) -> Array:
        """Return matrices (d, d)."""
        return np.einsum("rkci,rkcj->rcij", Y, Z, optimize=True)

    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: ModuleType) -> Array:
        """Return matrices (d, d), in sums over no more rows than single precision bears."""
        (runs, c, n), d = F.shape, X.shape[1]
        total = xp.zeros((runs, c, d, d), dtype=xp.float64, device=sq.device)
        for first in range(0, n, MOST_ROWS):
            part = slice(first, min(first + MOST_ROWS, n))
            Y = dense(X[part, :]) - origin
            for r in range(runs):
                for j in range(c):
                    total[r, j, ...] += xp.astype((Y * F[r, j, part, None]).T @ Y, xp.float64)
        return total

    @staticmethod
    def bounded(K: Array, least: Array) -> Array:
        """In all directions."""
        return K if definite(K) else floored(K, least)

    def times(self, C: Array, alone: Array) -> Array:
        """Return products with the inverses."""
        return np.einsum("rkci,rcij->rkcj", C, np.linalg.inv(self.K), optimize=True)

    def mean(self, Y: Array, weights: Array) -> Array:
        """Return the normal equations; 0 for a task without weights."""
        A = np.linalg.inv(self.K)
        left = np.einsum("rkc,rcij->rkij", weights, A)
        right = np.einsum("rkc,rcij,rkcj->rki", weights, A, Y, optimize=True)
        left += np.where(weights.sum(axis=2) > 0, 0.0, 1.0)[:, :, None, None] * np.eye(Y.shape[3])
        return np.linalg.solve(left, right[..., None])[..., 0]

    def log_determinants(self, n_features: int) -> Array:
        """Of matrices."""
        return np.linalg.slogdet(self.K)[1]

    def traces(self, n_features: int) -> Array:
        """Of matrices."""
        assert self.common is not None
        return np.einsum("rcij,rji->rc", np.linalg.inv(self.K), self.common)

    def factors(self) -> Array:
        """Return roots of the inverses."""
        return np.linalg.cholesky(np.linalg.inv(self.K))

    @staticmethod
    def energies(X: Matrix, sq: Array, origin: Array, factors: Array, xp: ModuleType) -> Array:
        """Return one product for each cluster."""
        Y, (runs, c) = dense(X) - origin, factors.shape[:2]

        def of(r: int, j: int) -> Array:
            turned = Y @ factors[r, j, ...]
            return xp.sum(turned * turned, axis=1)

        return xp.stack([xp.stack([of(r, j) for j in range(c)]) for r in range(runs)])

    def draw(self, noise: Array, j: int) -> Array:
        """By the root of the covariance."""
        return noise @ np.linalg.cholesky(self.K[j]).T

    @staticmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """Return symmetric matrices."""
        return n_clusters * n_features * (n_features + 1) // 2


@dataclass(frozen=True, eq=False)
class Variances(OfClusters):
    """Variances, of each feature or of all."""

    @property
    @abstractmethod
    def of_features(self) -> Array:
        """(R, c, d or 1) variances."""

    def times(self, C: Array, alone: Array) -> Array:
        """Quotients."""
        return C / self.of_features[:, None]

    def mean(self, Y: Array, weights: Array) -> Array:
        """Make a weighted mean of each feature."""
        w = weights[..., None] / self.of_features[:, None]
        total = w.sum(axis=2)
        return (w * Y).sum(axis=2) / np.where(total > 0, total, 1)

    def factors(self) -> Array:
        """Precisions."""
        return 1 / self.K

    def draw(self, noise: Array, j: int) -> Array:
        """By the roots of the variances."""
        return noise * np.sqrt(self.K[j])


@dataclass(frozen=True, eq=False)
class Diagonal(Variances):
    """A variance for each feature: K (R, c, d)."""

    K: Array = axes("R? c d")
    common: Array | None = axes("R? d")

    name = "diag"

    @staticmethod
    def in_common(base: Tied, n_features: int) -> Array:
        """Return variances of the features."""
        return base.variances()

    def outer(self, Y: Array, Z: Array) -> Array:
        """Return diagonals (d,)."""
        return np.einsum("rkci,rkci->rci", Y, Z)

    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: ModuleType) -> Array:
        """Return diagonals (d,), in sums over no more rows than single precision bears."""
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

    @property
    def of_features(self) -> Array:
        """(R, c, d) K."""
        return self.K

    def log_determinants(self, n_features: int) -> Array:
        """Return sums of logarithms."""
        return np.log(self.K).sum(axis=2)

    def traces(self, n_features: int) -> Array:
        """Return sums of quotients."""
        assert self.common is not None
        return (self.common[:, None] / self.K).sum(axis=2)

    @staticmethod
    def energies(X: Matrix, sq: Array, origin: Array, factors: Array, xp: ModuleType) -> Array:
        """Return one product for all clusters."""
        (runs, c, d), n = factors.shape, X.shape[0]
        A = xp.reshape(factors, (runs * c, d))
        if is_sparse(X):
            E = X.multiply(X).tocsr() @ A.T - 2 * (X @ (A * origin).T) + xp.sum(A * origin**2, axis=1)
            return xp.reshape(E.T, (runs, c, n))
        Y = X - origin
        return xp.reshape(A @ (Y * Y).T, (runs, c, n))

    @staticmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """Make a number for each feature."""
        return n_clusters * n_features


@dataclass(frozen=True, eq=False)
class Spherical(Variances):
    """One variance for all features: K (R, c)."""

    K: Array = axes("R? c")
    common: Array | None = axes("R?")

    name = "spherical"

    @staticmethod
    def in_common(base: Tied, n_features: int) -> Array:
        """Return the mean variance of the features."""
        return base.trace(n_features) / n_features

    def outer(self, Y: Array, Z: Array) -> Array:
        """Return means of the diagonals."""
        return np.einsum("rkci,rkci->rc", Y, Z) / Y.shape[3]

    def moments(self, X: Matrix, sq: Array, origin: Array, F: Array, xp: ModuleType) -> Array:
        """Return means of the diagonals."""
        return xp.sum(F * sq, axis=2, dtype=xp.float64) / X.shape[1]

    @property
    def of_features(self) -> Array:
        """(R, c, 1) K."""
        return self.K[..., None]

    def log_determinants(self, n_features: int) -> Array:
        """As often as there are features."""
        return n_features * np.log(self.K)

    def traces(self, n_features: int) -> Array:
        """As often as there are features."""
        assert self.common is not None
        return n_features * self.common[:, None] / self.K

    @staticmethod
    def energies(X: Matrix, sq: Array, origin: Array, factors: Array, xp: ModuleType) -> Array:
        """Return multiples of the squared distances that are known."""
        return factors[:, :, None] * sq

    @staticmethod
    def n_parameters(n_clusters: int, n_features: int) -> int:
        """Make a number for each cluster."""
        return n_clusters


COVARIANCES: dict[str, type[OfClusters]] = {form.name: form for form in (Full, Diagonal, Spherical)}
