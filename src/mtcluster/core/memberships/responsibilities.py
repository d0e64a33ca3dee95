"""Responsibilities: the probability of each cluster, given a row. They are kept as memberships (c, n)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, host, zero
from ..capabilities import Capabilities
from ..quadratic import Quadratic
from .base import Membership


class Responsibilities(Membership):
    """Each row belongs to one cluster, and which is known with some probability: the E-step of a Gaussian mixture.

    The loss of a row is −2 log Σ_j exp(−L_j / 2), with L_j its loss in cluster j, proportions included: minus twice its
    log-density, up to a constant.
    """

    name = "responsibilities"
    supports = Capabilities()
    diagonal = True
    explanation = "Each row has a probability of each cluster."

    def start(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """0/1 columns of labels, or memberships; those of a row sum to 1."""
        if P.ndim == 1:
            P = xp.astype(P[:, None] == xp.arange(n_clusters, device=getattr(P, "device", None)), like.dtype)
        P = xp.astype(P, like.dtype)
        return (P / xp.sum(P, axis=1, keepdims=True)).T

    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Any) -> Array:
        """Labels drawn at random."""
        return np.eye(n_clusters, dtype=dtype)[rng.integers(n_clusters, size=n)]

    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """The E-step."""
        xp = form.xp
        E = xp.exp(form.least[:, None, :] - form.D)
        total = xp.sum(E, axis=1)
        E = xp.divide(E, total[:, None, :], out=E) if xp is np else E / total[:, None, :]
        L = 2 * (form.least - xp.log(total))
        if form.e is not None:
            L = L + form.e
        return (E if selected is None else xp.where(selected[:, None, :], E, P)), L

    def exact(self, form: Quadratic) -> Array:
        """The E-step."""
        return self.step(form.A, form, None)[0]

    def losses(self, P: Array, form: Quadratic) -> Array:
        """Minus twice the log-density of each row, up to a constant; it does not depend on P."""
        L = self.step(P, form, None)[1]
        return L if form.e is None else form.xp.maximum(L, zero(L.dtype, getattr(L, "device", None), form.xp))

    def columns(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """P itself."""
        return P

    def moments(self, P: Array, weighted: Array, xp: Any = np) -> Array:
        """The weights of each cluster."""
        return xp.sum(weighted, axis=2, dtype=xp.float64)

    def reported(self, P: Array, form: Quadratic) -> Array:
        """Rows first."""
        return P[0, ...].T

    def sizes(self, P: Array, u: Array, n_clusters: int, xp: Any = np) -> Array:
        """Σ u p of each cluster."""
        return host(u) @ host(P)

    def fitted(self, P: Array, M: Array) -> Array:
        """The expected centre of each row."""
        return P.T @ M
