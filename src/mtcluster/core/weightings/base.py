"""What the schedule asks of a weighting rule (paper, §4.2, step 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array


class Weighting(ABC):
    """Losses of a task → weights v of its examples, at a stage that selects a fraction of them."""

    name: ClassVar[str]
    explanation: ClassVar[str]  # a sentence; {rest} is the share of the selected examples without full weight

    @classmethod
    def make(cls, *, soft_rule: str, full_weight_share: float) -> Weighting:
        """The rule with the options of an estimator, of which it takes those that it knows."""
        return cls()

    @property
    def full_weight_share(self) -> float:
        """Share of the selected examples that have full weight, as far as the rule fixes it."""
        return 1.0

    @abstractmethod
    def quantiles(self, fraction: float) -> tuple[float, ...]:
        """The quantiles of a task's losses that its weights are made from."""

    @abstractmethod
    def weights(self, L: Array, found: Sequence[float], xp: Any = np) -> Array:
        """Weights of examples, from the values of these quantiles."""
