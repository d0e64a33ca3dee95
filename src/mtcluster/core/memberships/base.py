"""What the solver asks of a form of memberships."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..capabilities import Capabilities
from ..quadratic import Quadratic


class Membership(ABC):
    """One form of the memberships P of the rows of a task, as the solver keeps them."""

    name: ClassVar[str]
    supports: ClassVar[Capabilities]
    labels_only: ClassVar[bool] = False  # are memberships labels (n,)? Then losses need the diagonal of B alone
    explanation: ClassVar[str]  # a sentence

    @abstractmethod
    def start(self, P: Array, like: Array, n_clusters: int, xp: Any = np) -> Array:
        """Starting memberships, given as labels (n,) or memberships (n, c), in this form."""

    @abstractmethod
    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Any) -> Array:
        """Memberships of n rows, drawn at random."""

    @abstractmethod
    def step(self, P: Array, form: Quadratic) -> Array:
        """A membership step that never raises the loss of a row."""

    @abstractmethod
    def exact(self, form: Quadratic) -> Array:
        """The memberships of least loss."""

    @abstractmethod
    def losses(self, P: Array, form: Quadratic) -> Array:
        """Loss of each row (eq. 8), at least 0 in spite of rounding."""

    @abstractmethod
    def responsibilities(self, P: Array, w: Array, n_clusters: int, xp: Any = np) -> tuple[Array, Array]:
        """PᵀV (c, n) and S = PᵀVP, in float64, for weights w; of labels the diagonal of S."""

    @abstractmethod
    def sizes(self, P: Array, u: Array, n_clusters: int, xp: Any = np) -> Array:
        """Σ u p of each cluster."""

    @abstractmethod
    def keep(self, selected: Array, new: Array, old: Array, xp: Any = np) -> Array:
        """The new memberships of selected rows, the old ones of others."""

    @abstractmethod
    def shares(self, P: Array, form: Quadratic) -> Array:
        """Memberships as they are reported: rows sum to 1."""

    @abstractmethod
    def labels(self, P: Array, xp: Any = np) -> Array:
        """The cluster of each row."""

    @abstractmethod
    def fitted(self, P: Array, M: Array) -> Array:
        """P M."""
