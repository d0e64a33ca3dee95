"""How far labellings of the same rows agree: by row, by cluster, and by cluster and task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.relations import match


@dataclass(frozen=True)
class Agreement:
    """What R refits say about labels of n rows."""

    kept: Array  # (R, n) which rows keep their cluster
    within: Array  # (R, n) likewise where the clusters of each task are matched on their own
    clusters: Array  # (R, c) Jaccard index of each cluster with its match; NaN: it has no rows
    cells: Array  # (R, m, c) likewise within each task


def agreement(labels: Array, others: Array, codes: Array, n_labels: int = 0) -> Agreement:
    """Match the clusters of other labellings (R, n) with those of labels (n,), by the rows that they have in common.

    `codes` (n,) are the tasks of the rows; −1 is a label of its own. `n_labels`: at least so many are told of.
    """
    own, found = labels - min(labels.min(initial=0), 0), others - min(others.min(initial=0), 0)
    c = max(int(max(own.max(initial=0), found.max(initial=0))) + 1, n_labels)
    m, R = int(codes.max(initial=0)) + 1, len(found)
    same, alike = np.zeros(found.shape, dtype=bool), np.zeros(found.shape, dtype=bool)
    cells, clusters = np.full((R, m, c), np.nan), np.full((R, c), np.nan)
    for r, other in enumerate(found):
        tables = np.zeros((m, c, c))
        np.add.at(tables, (codes, other, own), 1)
        renamed = match(tables.sum(axis=0))[other]
        same[r] = renamed == own
        alike[r] = np.stack([match(table) for table in tables])[codes, other] == own
        both, ours, theirs = (np.zeros((m, c)) for _ in range(3))
        np.add.at(both, (codes, own), same[r])
        np.add.at(ours, (codes, own), 1)
        np.add.at(theirs, (codes, renamed), 1)
        either = ours + theirs - both
        cells[r] = np.where(ours > 0, both / np.maximum(either, 1), np.nan)
        clusters[r] = np.where(ours.any(axis=0), both.sum(axis=0) / np.maximum(either.sum(axis=0), 1), np.nan)
    return Agreement(same, alike, clusters, cells)


def known_mean(values: Array) -> Array:
    """Compute the mean over the first axis of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)
