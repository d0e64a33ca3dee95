"""Gaps between neighbouring clusters: whether rows are rarer halfway between two centres than at either of them.

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
GABRIEL = 0.9  # of half their distance: no other centre lies nearer to the middle of two neighbours


def counts(rows: Blocks, fits: Refitted, orders: Array, codes: Array, weights: Array) -> Array:
    """Get (c, c, 3) held-out rows in the middle between clusters i < j, at i and at j; 0 where they are no neighbours.

    Each row is counted about once, however many refits there are. Clusters have the numbers of those that they are
    matched with, `orders` (R, m, c): in tasks that are left alone, others than elsewhere.
    """
    c, alone = fits.setting.n_clusters, fits.setting.alone
    found, D = np.zeros((c, c, 3)), distances(rows, fits)[:, :c]
    apart = _squared_distances(rows, fits)[:, :, :c, :c]
    halves = [r for r, part in enumerate(fits.parts) if not part.left_out]
    groups = [group for group in (np.flatnonzero(~alone), *np.flatnonzero(alone)[:, None]) if len(group)]
    for r in halves:
        unseen, near = np.concatenate(fits.parts[r].weights) == 0, _neighbors(apart[r])
        for ks in groups:
            at = np.flatnonzero(unseen & np.isin(codes, ks))
            i, j = np.nonzero(np.triu(near[ks].any(axis=0), 1))
            if not len(i) or not len(at):
                continue
            k, own = codes[at], fits.labels[r][at]
            length, inside = apart[r][:, i, j][k].T, near[:, i, j][k].T  # (pairs, n)
            with np.errstate(invalid="ignore"):  # infinite, where a task does not hold them
                difference = D[r][i][:, at] - D[r][j][:, at]
            three = _three(difference, length, inside, own == i[:, None], own == j[:, None], weights[at])
            first, second = orders[r, ks[0]][i], orders[r, ks[0]][j]
            turned = first > second
            three[turned] = three[turned][:, [0, 2, 1]]
            np.add.at(found, (np.minimum(first, second), np.maximum(first, second)), three)
    return found / max(len(halves) / 2, 1)


def _three(difference: Array, length: Array, inside: Array, in_i: Array, in_j: Array, w: Array) -> Array:
    """Compute (pairs, 3) rows in the middle and at the means of either cluster, on the line between two centres.

    All that is given has an axis of pairs and one of rows, but for the weights w of the rows.
    """
    inside = inside & (in_i | in_j)
    t = np.where(inside, difference / np.where(length > 0, length, 1), 0.0)
    of_i, of_j = inside * in_i * w, inside * in_j * w
    n_i, n_j = of_i.sum(axis=1), of_j.sum(axis=1)
    low = np.sum(of_i * t, axis=1) / np.where(n_i > 0, n_i, 1)
    high = np.sum(of_j * t, axis=1) / np.where(n_j > 0, n_j, 1)
    known = (n_i > 0) & (n_j > 0) & (high > low)
    t = (t - low[:, None]) / np.where(known, high - low, 1)[:, None]
    mass = inside * known[:, None] * w
    return np.stack([np.sum(mass * (np.abs(t - middle) < WINDOW), axis=1) for middle in (0.5, 0.0, 1.0)], axis=1)


def ratios(found: Array) -> Array:
    """(c, c) density in the middle relative to the sparser of the two ends; NaN where clusters are no neighbours."""
    middle, ends = found[..., 0], found[..., 1:].min(axis=2)
    return np.where(found.sum(axis=2) > 0, (middle + 0.5) / (ends + 0.5), np.nan)


def _squared_distances(rows: Blocks, fits: Refitted) -> Array:
    """Compute (R, m, c, c) between the centres of each task, in the metric; NaN where a cluster is absent."""
    model, centers = fits.model, fits.centers
    lam = model.sharing.lam[:, :, None, None]
    E = lam * centers.Ms + (1 - lam) * centers.placed
    A = centers.geometry.times(E, model.left_alone(len(rows.origins)))
    products = np.einsum("rkid,rkjd->rkij", A, E)
    square = np.einsum("rkii->rki", products)
    found = np.maximum(square[..., :, None] + square[..., None, :] - 2 * products, 0)
    held = model.held(found.shape[:3])
    found[~(held[..., :, None] & held[..., None, :])] = np.nan
    return found


def _neighbors(apart: Array) -> Array:
    """Compute (m, c, c) pairs of clusters of each task between which no other centre lies (a Gabriel graph)."""
    middle = (apart[:, :, None, :] + apart[:, None, :, :]) / 2 - apart[:, :, :, None] / 4  # (m, i, j, other)
    middle = np.where(np.isnan(middle), np.inf, middle)
    return (middle.min(axis=3) >= GABRIEL * apart / 4) & (apart > 0)
