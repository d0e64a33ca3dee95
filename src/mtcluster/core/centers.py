"""Centres from the sums over weighted rows, S = PᵀVP (c × c) and T = PᵀVX (c × d): eqs. 16 and 18.

Arrays have the axis of the runs that are fitted side by side first. Of labels S is diagonal, and its diagonal stands
for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .arrays import Array
from .geometry import Geometry, Identity
from .record import Record, axes
from .sharing import Offsets

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Centers(Record):
    """What is estimated with the clusters: all that travels between blocks of rows. Those of one run have no axis R."""

    W: Array | None = axes("R d l")  # orthonormal basis of the shared subspace; None: not needed yet, it spans all of Z
    M: Array | None = axes("R c l")  # shared centres in the subspace
    Ms: Array = axes("R m c d")  # centres of the tasks
    Z: Array = axes("R c d")  # pooled centres in the original space, M = Z W
    Q: Array = axes("R c d")  # with QᵀQ the scatter between the pooled clusters
    seen: Array = axes("R m c", fill=False)  # has this cluster ever had a row in this task?
    offsets: Offsets = field(default_factory=Offsets.none)  # where the tasks lie
    geometry: Geometry = field(default_factory=Identity)
    log_shares: Array | None = axes("R m c", least=-np.inf, most=1e-6, default=None)  # log of proportions