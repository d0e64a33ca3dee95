"""How far refits agree with the labels at hand: by row, by cluster, and by cluster and task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.relations import match
from .refits import Refitted


@dataclass(frozen=True)
class Agreement:
    """What R refits say about n rows."""

    orders: Array  # (R, m, c) the cluster that each cluster of a refit is matched with, in each task
    kept: Array  # (R, n) which rows keep their cluster
    clusters: Array  # (R, c) Jaccard index of each cluster with its match; NaN: it has no rows
    cells: Array  # (R, m, c) likewise within each task


def agreement(fits: Refitted, codes: Array, weights: Array) -> Agreement:
    """Match the clusters of each refit with those at hand, by the rows that they have in common.

    Clusters of tasks that share are matched together, those of a task that was left alone within it: there, numbers
    mean nothing to others. Of a task that a refit left out, only rows of clusters that the others hold are compared.
    """
    setting, m = fits.setting, len(fits.setting.labels)
    own, c, R = np.concatenate(setting.labels), setting.n_clusters, len(fits.labels)
    tables = np.zeros((R, m, c, c))
    compared = np.ones((R, len(own)), dtype=bool)
    for r, part in enumerate(fits.parts):
        np.add.at(tables[r], (codes, fits.labels[r], own), weights)
        if part.left_out:
            compared[r] = setting.held_without(part.left_out)[own]
    orders = np.zeros((R, m, c), dtype=int)
    for r, part in enumerate(fits.parts):
        together = ~setting.alone
        together[part.left_out] = False  # they are judged by a matching that does not know them
        if together.any():
            orders[r, ~setting.alone] = match(tables[r, together].sum(axis=0))
        for k in np.flatnonzero(setting.alone):
            orders[r, k] = match(tables[r, k])
    renamed = np.take_along_axis(orders[:, codes], fits.labels[:, :, None], axis=2)[:, :, 0]
    cells = np.full((R, m, c), np.nan)
    clusters = np.full((R, c), np.nan)
    for r in range(R):
        w = weights * compared[r]
        both, ours, theirs = (np.zeros((m, c)) for _ in range(3))
        same = renamed[r] == own
        np.add.at(both, (codes, own), w * same)
        np.add.at(ours, (codes, own), w)
        np.add.at(theirs, (codes, renamed[r]), w)
        either = ours + theirs - both
        with np.errstate(invalid="ignore", divide="ignore"):
            cells[r] = np.where(ours > 0, both / either, np.nan)
            clusters[r] = np.where(ours.sum(axis=0) > 0, both.sum(axis=0) / either.sum(axis=0), np.nan)
    kept = np.where(compared, renamed == own, True)
    return Agreement(orders, kept, clusters, cells)
