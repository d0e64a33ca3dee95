"""What the solver asks of a coupling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ..arrays import Array
from ..capabilities import Capabilities
from ..centers import Centers

if TYPE_CHECKING:
    from ..blocks import PerRow, RowSource
    from ..model import Model, State

Subspace = Callable[[Array, Array, int], Array]  # Q (c, d), Z (c, d), l → W


class Coupling(ABC):
    """The term of the loss that all tasks share: its energy, its update of (W, M) and what it can work with."""

    name: ClassVar[str]
    supports: ClassVar[Capabilities]
    explanation: ClassVar[str]  # a sentence
    free_origin: ClassVar[bool] = False  # are losses distances, so that they may be computed from any origin?
    own_threads: ClassVar[bool] = True  # may rows be worked on by threads of ours, or does NumPy need them all?
    n_init: ClassVar[int | None] = None  # starts that it can afford; None: as many as any

    def prepare(self, rows: RowSource) -> Any:
        """What is computed once before a fit."""
        return None

    @abstractmethod
    def subspaces(
        self, model: Model, n_features: int, n_runs: int, rows: RowSource | None = None, weights: PerRow = None,
        prepared: Any = None,
    ) -> list[Subspace] | None:  # fmt: skip
        """What makes W of each run at given weights; None where W spans all shared centres and can wait."""

    @abstractmethod
    def energy_basis(self, W: Array | None) -> Array | None:
        """The subspace in which the energy of a row is counted; None: all of it counts."""

    def complete(self, centers: Centers, n_components: int) -> Centers:
        """Centres whose W could wait, with it."""
        return centers

    def fault(self, model: Model, rows: RowSource, state: State, prepared: Any) -> str | None:
        """What a user should know about a fit that worked; None: nothing."""
        return None
