"""Halves of the rows of each task."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array


def halves(sizes: list[int], n: int, rng: np.random.Generator) -> list[list[Array]]:
    """Return positions of n halves of the rows of each task: each two make up all rows."""
    found: list[list[Array]] = []
    for _ in range((n + 1) // 2):
        orders = [rng.permutation(size) for size in sizes]
        cuts = [(size + int(rng.integers(2))) // 2 for size in sizes]
        pairs = list(zip(orders, cuts, strict=True))
        found += [[np.sort(order[:cut]) for order, cut in pairs], [np.sort(order[cut:]) for order, cut in pairs]]
    return found[:n]
