"""Which values rows lack: rows with the same pattern of missing values share an inverse of the metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .arrays import Array

MOST_KEPT = 2**20  # numbers of inverses that are kept for some rows


@dataclass(frozen=True)
class Group:
    """Rows that lack the same number of values."""

    rows: Array  # (n,)
    cells: Array  # (n, k) which values they lack
    kinds: Array  # (p, k) which values a pattern lacks
    pattern: Array  # (n,) the pattern of each row


class Patterns:
    """The groups of some rows; the inverses of the last metric are kept, which several jobs ask for."""

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self.last: tuple[Array, list[list[Array]]] | None = None

    def inverses(self, metrics: Array) -> list[list[Array]]:
        """Run → group → A_mm⁻¹ (p, k, k) of each pattern."""
        if self.last is not None and np.array_equal(self.last[0], metrics):
            return self.last[1]
        found = [[conditional(A, group) for group in self.groups] for A in metrics]
        if sum(P.size for own in found for P in own) <= MOST_KEPT:
            self.last = metrics, found
        return found


def patterns(G: Array) -> Iterator[Group]:
    """Rows (n, d) with missing values, by how many and by which they lack."""
    counts = np.count_nonzero(G, axis=1)
    for k in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == k)
        cells = np.nonzero(G[rows])[1].reshape(len(rows), k)
        kinds, pattern = np.unique(cells, axis=0, return_inverse=True)
        yield Group(rows, cells, kinds, pattern.ravel())


def conditional(A: Array, group: Group) -> Array:
    """For each pattern of a group, the conditional covariance A_mm⁻¹ (p, k, k)."""
    return np.linalg.inv(A[group.kinds[:, :, None], group.kinds[:, None, :]])
