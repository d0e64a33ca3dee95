"""Gaps between clusters: the thinnest place on the best path from one to another.

Halves of one distribution, of a square or of a curve can be found again and again; but a path within it leads from one
half to the other without passing thin places. How thin a place is tells the distance to the tenth neighbour of a row,
and a step between two rows is as long as that of either of them or their distance (mutual reachability).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from ..core.arrays import Array

DIRECTIONS = 2  # that two clusters are seen in
NEIGHBOR = 10  # the neighbour whose distance tells how dense rows lie; in small clusters a nearer one
SHARE = 4  # rows of the smaller cluster for each neighbour
NEAREST = 3  # clusters that each is compared with
MOST_ROWS = 1000  # of two clusters that are looked at


def gaps(seen: Array, seen_labels: Array, Y: Array, labels: Array, n_clusters: int) -> Array:
    """Compute (c, c) how wide the path from one cluster to another stays, relative to the rows of the sparser one.

    1: rows lie as densely on the way as in the cluster; 0.5: somewhere they lie twice as far apart. NaN for i ≥ j, and
    for clusters that are not compared. Rows Y are those that a refit has not seen; they are compared in the direction
    between two clusters of those that it has seen, and in those in which these differ most besides.
    """
    found = np.full((n_clusters, n_clusters), np.nan)
    L = whitener(seen, seen_labels, n_clusters)
    seen, Y = seen @ L, Y @ L
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    Z = np.stack([seen[seen_labels == j].mean(axis=0) if np.any(seen_labels == j) else np.full(len(L), np.inf)
                  for j in range(n_clusters)])  # fmt: skip
    live = np.flatnonzero((sizes > 2) & np.isfinite(Z).all(axis=1))
    for i in live:
        others = live[live != i]
        near = others[np.argsort(((Z[others] - Z[i]) ** 2).sum(axis=1), kind="stable")[:NEAREST]]
        for a, b in np.sort(np.stack([np.full(len(near), i), near], axis=1), axis=1).tolist():
            if np.isnan(found[a, b]):
                V = _directions(seen[(seen_labels == a) | (seen_labels == b)], Z[a] - Z[b])
                found[a, b] = _gap(Y[labels == a] @ V, Y[labels == b] @ V)
    return found


def whitener(Y: Array, labels: Array, n_clusters: int) -> Array:
    """Return L (d, d) that makes clusters about round."""
    ones = np.eye(n_clusters)[np.maximum(labels, 0)] * (labels >= 0)[:, None]
    sizes = ones.sum(axis=0)
    apart = (Y - ones @ ((ones.T @ Y) / np.maximum(sizes, 1)[:, None])) * (labels >= 0)[:, None]
    S = apart.T @ apart / max(len(Y) - np.count_nonzero(sizes), 1)
    v = np.diag(S)
    v = np.where(v > 0, v, v[v > 0].mean() if (v > 0).any() else 1.0)
    share = min(1.0, 0.05 + len(v) / max(len(Y), 1))
    return np.linalg.cholesky(np.linalg.inv((1 - share) * S + np.diag((share + 1e-9) * v)))


def _directions(Y: Array, apart: Array) -> Array:
    """Return orthonormal directions (d, l): the one between two centres, and those in which the rows differ most."""
    length = np.linalg.norm(apart)
    first = (apart / length if length > 0 else np.eye(len(apart))[0])[None]
    rest = Y - Y.mean(axis=0)
    rest = rest - (rest @ first.T) @ first
    return np.concatenate([first, np.linalg.svd(rest, full_matrices=False)[2][: min(DIRECTIONS, len(apart)) - 1]]).T


def _gap(first: Array, second: Array) -> float:
    """Compare the widest step of the best path between the densest rows of two clusters with the steps within them."""
    first, second = first[: MOST_ROWS // 2], second[: MOST_ROWS // 2]
    D = squareform(pdist(np.concatenate([first, second])))
    near = max(min(NEIGHBOR, min(len(first), len(second)) // SHARE), 1)
    core = np.partition(D, near, axis=1)[:, near]
    ends = np.array([np.argmin(core[: len(first)]), len(first) + np.argmin(core[len(first) :])])
    usual = max(np.median(core[: len(first)]), np.median(core[len(first) :]))
    widest = _widest_step(D, core, *ends.tolist())
    return float(min(usual / widest, 1.0)) if widest > 0 else 1.0


def _widest_step(D: Array, core: Array, start: int, end: int) -> float:
    """Compute the widest step of the best path from one row to another: a spanning tree grows until it has both."""
    reached, step, at, widest = np.zeros(len(D), dtype=bool), np.full(len(D), np.inf), start, 0.0
    while at != end:
        reached[at] = True
        step = np.minimum(step, np.maximum(D[at], np.maximum(core, core[at])))
        at = int(np.argmin(np.where(reached, np.inf, step)))
        widest = max(widest, float(step[at]))
    return widest
