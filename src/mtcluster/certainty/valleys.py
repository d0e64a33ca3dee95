"""Gaps between neighbouring clusters: are rows rarer halfway between two centres than at either of them?

Halves of one distribution, of a square or of a curve can be found again and again, so that refits agree on them; but
nothing is rarer in between. Rows that a refit did not see are projected on the line between two centres of it, which is
no better for them than for any other rows.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Blocks
from .refits import Refitted, distances

WINDOW = 0.15  # of the distance between two centres, on either side of a centre or of the middle
NEIGHBORS = 0.9  # of half their distance: no other centre lies nearer to the middle of two neighbours


def counts(rows: Blocks, fits: Refitted, orders: Array, codes: Array, weights: Array) -> Array:
    """(c, c, 3) held-out rows in the middle between clusters i < j, at i and at j; 0 where they are no neighbours.

    Each row is counted about once, however many refits there are. Clusters have the numbers of those that they are
    matched with, `orders` (R, m, c).
    """
    c = fits.setting.n_clusters
    found, D = np.zeros((c, c, 3)), np.concatenate(distances(rows, fits)[0], axis=2)[:, :c]
    apart = _squared_distances(rows, fits)[:, :, :c, :c]
    near = _neighbors(apart)
    first, second = np.triu_indices(c, 1)
    halves = [r for r, part in enumerate(fits.parts) if not part.left_out]
    for r in halves:
        seen = np.concatenate(fits.parts[r].weights) > 0
        some = near[r][:, first, second].any(axis=0)
        i, j = first[some], second[some]
        if not len(i):
            continue
        at = np.flatnonzero(~seen)
        k, own, w = codes[at], fits.labels[r][at], weights[at]
        length = apart[r][:, i, j][k].T  # (pairs, n)
        inside = near[r][:, i, j][k].T & ((own == i[:, None]) | (own == j[:, None]))
        with np.errstate(invalid="ignore"):
            t = np.where(inside, (D[r][i][:, at] - D[r][j][:, at]) / np.where(length > 0, length, 1), 0.0)
        of_i, of_j = inside * (own == i[:, None]) * w, inside * (own == j[:, None]) * w
        n_i, n_j = of_i.sum(axis=1), of_j.sum(axis=1)
        low = np.sum(of_i * t, axis=1) / np.where(n_i > 0, n_i, 1)
        high = np.sum(of_j * t, axis=1) / np.where(n_j > 0, n_j, 1)
        known = (n_i > 0) & (n_j > 0) & (high > low)
        t = (t - low[:, None]) / np.where(known, high - low, 1)[:, None]
        mass = inside * known[:, None] * w
        three = np.stack([np.sum(mass * (np.abs(t - middle) < WINDOW), axis=1) for middle in (0.5, 0.0, 1.0)], axis=1)
        order = orders[r, int(np.argmax(~fits.setting.alone))]
        a, b = order[i], order[j]
        turned = a > b
        three[turned] = three[turned][:, [0, 2, 1]]
        np.add.at(found, (np.minimum(a, b), np.maximum(a, b)), three)
    return found / max(len(halves) / 2, 1)


def ratios(found: Array) -> Array:
    """(c, c) density in the middle relative to the sparser of the two ends; NaN where clusters are no neighbours."""
    middle, ends = found[..., 0], found[..., 1:].min(axis=2)
    return np.where(found.sum(axis=2) > 0, (middle + 0.5) / (ends + 0.5), np.nan)


def _squared_distances(rows: Blocks, fits: Refitted) -> Array:
    """(R, m, c, c) between the centres of each task, in the metric; NaN where a cluster is absent."""
    model, centers = fits.model, fits.centers
    m = len(rows.origins)
    lam = model.shares[:, :, None, None]
    E = lam * centers.Ms + (1 - lam) * model.placed(centers, m)
    shape, alone = model.shape(centers), model.alone(m)
    A = E.copy()
    if shape is not None:
        A = shape.times(E)
        A[:, alone] = E[:, alone]
    products = np.einsum("rkid,rkjd->rkij", A, E)
    square = np.einsum("rkii->rki", products)
    found = np.maximum(square[..., :, None] + square[..., None, :] - 2 * products, 0)
    held = model.held(found.shape[:3])
    found[~(held[..., :, None] & held[..., None, :])] = np.nan
    return found


def _neighbors(apart: Array) -> Array:
    """(R, m, c, c) pairs of clusters between which no other centre lies (a Gabriel graph)."""
    middle = (apart[..., :, None, :] + apart[..., None, :, :]) / 2 - apart[..., :, :, None] / 4  # (R, m, i, j, other)
    middle = np.where(np.isnan(middle), np.inf, middle)
    return (middle.min(axis=4) >= NEIGHBORS * apart / 4) & (apart > 0)
