"""Cold refits: the whole fit again, every decision open, on halves of the rows and with other seeds.

A refit knows nothing of the labels at hand. Data without clusters are fitted in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.relations import match
from .agreement import Agreement, agreement, known_mean
from .parts import halves

# Fits rows at some positions of each task, with a seed, and labels all rows (n,), task by task; None: all positions.
Refit = Callable[[list[Array] | None, int], Array]
Gaps = Callable[[Array, Array, int], Array]  # (c, c) from labels (n,) and which rows (n,) a refit has seen

REFERENCE_REFITS = 2  # of each data set without clusters


@dataclass(frozen=True)
class Cold:
    """What cold refits say about labels."""

    halves: Agreement
    seeds: Agreement | None  # None: nothing was fitted again with other seeds
    between: Array  # (c, c) how wide the path between two clusters stays, see `gaps`
    reference: Array  # (B,) the share of the rows that keep their cluster, of data without clusters

    @property
    def all(self) -> list[Agreement]:
        """What there is."""
        return [self.halves] if self.seeds is None else [self.halves, self.seeds]

    @property
    def overall(self) -> float:
        """Share of the rows that keep their cluster: the lower one of halves and of other seeds."""
        return min(float(one.kept.mean()) for one in self.all)

    @property
    def within(self) -> float:
        """Likewise where the clusters of each task are matched on their own."""
        return min(float(one.within.mean()) for one in self.all)

    @property
    def confidence(self) -> Array:
        """(n,) the share of all refits that keep a row with its cluster."""
        return np.concatenate([one.kept for one in self.all]).mean(axis=0)

    @property
    def clusters(self) -> Array:
        """(c,) mean Jaccard index of each cluster over refits."""
        return known_mean(np.concatenate([one.clusters for one in self.all]))

    @property
    def cells(self) -> Array:
        """(m, c) likewise of each cluster in each task."""
        return known_mean(np.concatenate([one.cells for one in self.all]))


def fitted_cold(
    labels: Array, codes: Array, refit: Refit, n_halves: int, n_seeds: int, seed: int, gaps: Gaps, reference: Array,
    tell: Callable[[], None] = lambda: None,
) -> Cold:  # fmt: skip
    """Fit again, and compare with labels (n,) of rows whose tasks are `codes` (n,), task by task."""
    c = int(labels.max(initial=0)) + 1
    sizes = np.bincount(codes).tolist()
    rng = np.random.default_rng([seed, 0])
    starts = np.cumsum([0, *sizes[:-1]])
    found, widths = [], []
    for at in halves(sizes, n_halves, rng):
        found.append(refit(at, int(rng.integers(2**31))))
        seen = np.zeros(len(labels), dtype=bool)
        seen[np.concatenate([start + own for start, own in zip(starts, at, strict=True)])] = True
        widths.append(gaps(renamed(labels, found[-1], c), seen, c))
        tell()
    again = [refit(None, int(rng.integers(2**31))) for _ in range(n_seeds)]
    n_labels = 1 + max(int(one.max(initial=0) - min(one.min(initial=0), 0)) for one in (labels, *found, *again))
    seeds = agreement(labels, np.stack(again), codes, n_labels) if again else None
    return Cold(agreement(labels, np.stack(found), codes, n_labels), seeds, known_mean(np.stack(widths)), reference)


def renamed(labels: Array, other: Array, n_clusters: int) -> Array:
    """Return another labelling under the numbers of the clusters that it has most rows in common with."""
    c = max(n_clusters, int(other.max(initial=0)) + 1)
    table = np.zeros((c, c))
    known = (labels >= 0) & (other >= 0)
    np.add.at(table, (other[known], labels[known]), 1)
    found = match(table)[np.maximum(other, 0)]
    return np.where((other >= 0) & (found < n_clusters), found, -1)


def reference_value(codes: Array, refit: Refit, seed: int) -> float:
    """Compute the share of the rows of data without clusters that keep their cluster in refits to halves."""
    rng = np.random.default_rng([seed, 1])
    labels = refit(None, int(rng.integers(2**31)))
    parts = halves(np.bincount(codes).tolist(), REFERENCE_REFITS, rng)
    others = np.stack([refit(at, int(rng.integers(2**31))) for at in parts])
    return float(agreement(labels, others, codes).kept.mean())
