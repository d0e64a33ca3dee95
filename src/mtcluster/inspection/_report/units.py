"""Centres in the user's units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array

InUnits = Callable[..., Array]


@dataclass(frozen=True)
class Units:
    """How centres of a fit are written: what each feature is, and the way back to the user's units."""

    kinds: list[str]
    in_units: InUnits | None = None

    @property
    def plain(self) -> bool:
        """Whether centres are written as they are."""
        return self.in_units is None and "share" not in self.kinds

    def write(self, centers: Array, own: Array, task: Any = None) -> Array:
        """Centres (k, len(own)) of these features in the user's units; shares of categories lie between 0 and 1."""
        found = np.asarray(centers, dtype=np.float64)
        if self.in_units is not None:
            full = np.zeros((len(found), len(self.kinds)))
            full[:, own] = found
            found = np.asarray(self.in_units(full, task=task), dtype=np.float64)
            if found.shape != full.shape:
                raise ValueError(
                    f"in_units returned an array of shape {found.shape} for centres of shape {full.shape}: "
                    "the same shape is needed."
                )
            found = found[:, own]
        share = np.array([self.kinds[i] == "share" for i in own], dtype=bool)
        return np.where(share, np.clip(found, 0, 1), found)
