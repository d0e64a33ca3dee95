"""Reconstruction coupling, ‖x − p M Wᵀ‖²: the paper's loss plus the energy that the subspace leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..capabilities import Capabilities
from ..centers import Centers
from .base import Coupling, Subspace
from .subspaces import complete, fix_signs

if TYPE_CHECKING:
    from ..blocks import PerRow, RowSource
    from ..model import Model


class Reconstruction(Coupling):
    """W = the l leading eigenvectors of the between-cluster scatter; at l ≥ c it restricts nothing."""

    name = "reconstruction"
    supports = Capabilities()
    explanation = "The shared centres reconstruct the rows of all tasks."
    free_origin = True

    def subspaces(
        self, model: Model, n_features: int, n_runs: int, rows: RowSource | None = None, weights: PerRow = None,
        prepared: Any = None,
    ) -> list[Subspace] | None:  # fmt: skip
        """None where the subspace has room for all shared centres, so that M Wᵀ = Z whatever they are."""
        spans = model.n_components >= min(model.n_clusters, n_features)
        return None if spans else [leading_subspace] * n_runs

    def energy_basis(self, W: Array | None) -> Array | None:
        """All energy counts."""
        return None

    def complete(self, centers: Centers, n_components: int) -> Centers:
        """Centres with W and M."""
        if centers.W is not None:
            return centers
        pairs = zip(centers.Q, centers.Z, strict=True)
        W = np.stack([leading_subspace(Q, Z, n_components) for Q, Z in pairs])
        return replace(centers, W=W, M=centers.Z @ W)


def leading_subspace(Q: Array, Z: Array, n_components: int) -> Array:
    """W = the l leading eigenvectors of the between-cluster scatter QᵀQ, Q = (PᵀVP)^(−1/2) PᵀVX."""
    U, sizes, _ = np.linalg.svd(Q.T, full_matrices=False)
    rank = int(np.sum(sizes > max(Q.shape) * np.finfo(np.float64).eps * sizes[0])) if sizes[0] > 0 else 0
    return complete(fix_signs(U[:, : min(rank, n_components)]), n_components, Z)
