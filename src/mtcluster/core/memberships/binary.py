"""Binary memberships: each row belongs to one cluster (eq. 3). They are kept as labels (n,)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Array, arange, host
from ..capabilities import Capabilities
from ..quadratic import Quadratic
from .base import Membership


class Binary(Membership):
    """One cluster per row."""

    name = "binary"
    supports = Capabilities()
    labels_only = diagonal = True
    explanation = "Each row has one cluster, and zero needs no special meaning in X."

    def start(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """Labels."""
        labels = P if P.ndim == 1 else xp.argmax(P, axis=1)
        return labels.astype(_label_type(n_clusters), copy=False) if xp is np else xp.astype(labels, xp.int64)

    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Any) -> Array:
        """Labels drawn at random."""
        return rng.integers(n_clusters, size=n)

    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """The label of least loss; proportions of the clusters count in labels and losses alike."""
        labels = self.exact(form)
        if selected is None:
            return labels, form.with_energy(2 * form.least)
        labels = form.xp.where(selected, labels, P)
        return labels, form.with_energy(2 * _at(form.D, labels, form.xp))

    def exact(self, form: Quadratic) -> Array:
        """The label of least loss; the first of several."""
        D, xp = form.D, form.xp
        if xp is not np:
            return xp.argmin(D, axis=1)
        R, c, n = D.shape
        kind = _label_type(c)
        best = D == form.least[:, None]
        if np.count_nonzero(best) != R * n:  # a tie, or not a number
            return np.argmin(D, axis=1).astype(kind)
        return np.sum(np.multiply(best, np.arange(c, dtype=kind)[:, None]), axis=1, dtype=kind)

    def losses(self, P: Array, form: Quadratic) -> Array:
        """Losses at the given labels, without what the proportions of the clusters add to them."""
        D = form.D if form.prior is None else form.D - form.prior
        return form.with_energy(2 * _at(D, P, form.xp))

    def columns(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """Labels become 0/1 columns where they meet X, piece by piece."""
        if xp is np:
            return (P[:, None] == np.arange(n_clusters, dtype=P.dtype)[:, None]).astype(like.dtype)
        return xp.astype(P[:, None, :] == arange(n_clusters, P.device, xp)[:, None], like.dtype)

    def moments(self, P: Array, weighted: Array, xp: Any = np) -> Array:
        """The weights of each cluster."""
        return xp.sum(weighted, axis=2, dtype=xp.float64)

    def reported(self, P: Array, form: Quadratic) -> Array:
        """Labels are what they are."""
        return P[0, :].astype(np.intp) if form.xp is np else P[0, :]

    def sizes(self, P: Array, u: Array, n_clusters: int, xp: Any = np) -> Array:
        """Σ u of each cluster."""
        return np.bincount(host(P), weights=host(u), minlength=n_clusters)

    def fitted(self, P: Array, M: Array) -> Array:
        """The centre of each row."""
        return M[P]


def _at(D: Array, labels: Array, xp: Any) -> Array:
    """(R, n) the values of D (R, c, n) at labels (R, n)."""
    return xp.take_along_axis(D, labels[:, None, :], axis=1)[:, 0, :]


@lru_cache
def _label_type(n_clusters: int) -> Any:
    """The smallest integers that number the clusters: labels are compared with all of them in every iteration."""
    return np.min_scalar_type(n_clusters - 1)


def one_hot(labels: Array, n_clusters: int, dtype: Any, xp: Any = np) -> Array:
    """Labels as 0/1 memberships (n, c)."""
    number = xp.arange(n_clusters, device=getattr(labels, "device", None))
    return xp.astype(labels[:, None] == number, dtype)
