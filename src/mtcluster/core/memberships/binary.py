"""Binary memberships: each row belongs to one cluster (eq. 3). They are kept as labels (n,)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, arange, host, zero
from ..capabilities import Capabilities
from ..quadratic import Quadratic
from .base import Membership


class Binary(Membership):
    """One cluster per row."""

    name = "binary"
    supports = Capabilities()
    labels_only = True
    explanation = "Each row has one cluster, and zero needs no special meaning in X."

    def start(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """Labels."""
        return self.labels(P, xp)

    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Any) -> Array:
        """Labels drawn at random."""
        return rng.integers(n_clusters, size=n)

    def step(self, P: Array, form: Quadratic) -> Array:
        """The label of least loss."""
        return self.exact(form)

    def exact(self, form: Quadratic) -> Array:
        """The label of least loss."""
        return form.xp.argmin(form.D, axis=1)

    def losses(self, P: Array, form: Quadratic) -> Array:
        """Losses at the given labels."""
        return form.with_energy(2 * form.xp.take_along_axis(form.D, P[:, None], axis=1)[:, 0])

    def responsibilities(self, P: Array, w: Array, n_clusters: int, xp: Any = np) -> tuple[Array, Array]:
        """Labels become 0/1 columns where they meet X, piece by piece."""
        R = xp.where(P == arange(n_clusters, P.device, xp)[:, None], w, zero(w.dtype, w.device, xp))
        return R, xp.sum(R, axis=1, dtype=xp.float64)

    def sizes(self, P: Array, u: Array, n_clusters: int, xp: Any = np) -> Array:
        """Σ u of each cluster."""
        return np.bincount(host(P), weights=host(u), minlength=n_clusters)

    def keep(self, selected: Array, new: Array, old: Array, xp: Any = np) -> Array:
        """New labels of selected rows."""
        return xp.where(selected, new, old)

    def shares(self, P: Array, form: Quadratic) -> Array:
        """Labels are what they are."""
        return P

    def labels(self, P: Array, xp: Any = np) -> Array:
        """Labels, also of memberships (n, c)."""
        return P if P.ndim == 1 else xp.argmax(P, axis=1)

    def fitted(self, P: Array, M: Array) -> Array:
        """The centre of each row."""
        return M[P]


def one_hot(labels: Array, n_clusters: int, dtype: Any, xp: Any = np) -> Array:
    """Labels as 0/1 memberships (n, c)."""
    number = xp.arange(n_clusters, device=getattr(labels, "device", None))
    return xp.astype(labels[:, None] == number, dtype)
