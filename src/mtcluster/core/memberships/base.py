"""What the solver asks of a form of memberships."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..capabilities import Capabilities
from ..quadratic import Quadratic


class Membership(ABC):
    """One form of the memberships P of the rows of a task.

    The solver keeps those of R runs with rows last: labels (R, n), or memberships (R, c, n). Those of one fit, as they
    are given and reported, have rows first: labels (n,), or memberships (n, c).
    """

    name: ClassVar[str]
    supports: ClassVar[Capabilities]
    labels_only: ClassVar[bool] = False  # are memberships labels (n,)?
    diagonal: ClassVar[bool] = False  # does a row belong to one cluster, known or not? Then S and B are diagonal
    explanation: ClassVar[str]  # a sentence

    @abstractmethod
    def start(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """Starting memberships of one run, given as labels (n,) or memberships (n, c), as the solver keeps them."""

    @abstractmethod
    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Any) -> Array:
        """Memberships of n rows, drawn at random."""

    @abstractmethod
    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """A membership step that never raises the loss of a row, and the losses after it.

        Rows that are not `selected` (R, n) keep their memberships; None: all are.
        """

    @abstractmethod
    def exact(self, form: Quadratic) -> Array:
        """The memberships of least loss."""

    @abstractmethod
    def losses(self, P: Array, form: Quadratic) -> Array:
        """Loss of each row (R, n) (eq. 8), at least 0 in spite of rounding."""

    def nearest(self, form: Quadratic) -> tuple[Array, Array]:
        """The memberships of least loss, and the losses."""
        P = self.exact(form)
        return P, self.losses(P, form)

    @abstractmethod
    def columns(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """P (R, c, n), in the type of an array."""

    @abstractmethod
    def moments(self, P: Array, weighted: Array, xp: Any = np) -> Array:
        """S = PᵀVP (R, c, c) in float64, from P and PV (R, c, n); of labels its diagonal (R, c)."""

    @abstractmethod
    def reported(self, P: Array, form: Quadratic) -> Array:
        """Memberships of one run as they are reported, rows first; those of a row sum to 1."""

    @abstractmethod
    def sizes(self, P: Array, u: Array, n_clusters: int, xp: Any = np) -> Array:
        """Σ u p of each cluster."""

    @abstractmethod
    def fitted(self, P: Array, M: Array) -> Array:
        """P M (n, d), for memberships of one run as the solver keeps them."""
