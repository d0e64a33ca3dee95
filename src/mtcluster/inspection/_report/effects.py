"""How far apart the clusters are in each feature: effect sizes, and which features separate the clusters most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import Subject
from .._words import rounded
from .clusters import centers_of_sharing, contrasts
from .columns import Columns

RANKED = 50  # features of the table
LEADING, OWN = 12, 2  # features of the matrix: those that separate most over all clusters, and those of each cluster
CLUSTERS = 40  # clusters of the matrix, and with distributions
STRONG, MODERATE = 2.0, 0.5  # effect sizes that are strong, and the least that is worth telling
LARGEST_EFFECT = 99.0  # effect sizes are cut here: clusters with hardly any spread


@dataclass(frozen=True)
class Effects:
    """Effect sizes of some features, by cluster, and how much of their variance the clusters explain."""

    features: list[int]  # indices among the features of the fit
    effect: Array  # (features, c) difference to the rest, in units of the spread within clusters
    explained: Array  # (features,) share of the variance within tasks; NaN: not known
    size: Array | None  # (features, c) share of the rows above the median, with the category, or other than zero
    unit: str  # "spread", or "fit" for differences in the numbers given to the fit

    def order(self) -> list[int]:
        """List positions of the features, those that separate the clusters most first."""
        strength = np.where(np.isfinite(self.effect), np.abs(self.effect), 0).max(axis=1, initial=0)
        known = np.where(np.isfinite(self.explained), self.explained, -1)
        return np.lexsort((np.arange(len(self.features)), -strength, -known)).tolist()

    def of_cluster(self, j: int, most: int) -> list[int]:
        """List positions of the features with the largest effect in a cluster."""
        strength = np.where(np.isfinite(self.effect[:, j]), np.abs(self.effect[:, j]), 0)
        order = np.argsort(-strength, kind="stable")[:most]
        return [int(i) for i in order if strength[i] > 0]


def effects_of(subject: Subject, columns: Columns) -> Effects:
    """Compute effect sizes from the rows where they are known, else from the centres."""
    return _from_rows(subject, columns) if columns.features else _from_centers(subject)


def _from_centers(subject: Subject) -> Effects:
    Z, sizes = centers_of_sharing(subject.fitted)
    widths, known = subject.widths, subject.fitted.centers.geometry.estimated
    share = sizes / max(sizes.sum(), 1e-300)
    between = share @ (Z - share @ Z) ** 2
    explained = between / np.maximum(between + widths**2, 1e-300) if known else np.full(len(widths), np.nan)
    effect = _bounded((contrasts(Z, sizes)[0] / widths).T)
    effect[:, sizes == 0] = np.nan
    return Effects(list(range(Z.shape[1])), effect, explained, None, "spread" if known else "fit")


def _from_rows(subject: Subject, columns: Columns) -> Effects:
    rows, found = columns.sample(), subject.rows
    rows = np.arange(columns.n_rows) if rows is None else rows
    rows = rows[found.labels[rows] >= 0]
    m, c, _ = subject.shape
    labels, group = found.labels[rows], found.tasks[rows] * c + found.labels[rows]
    effect, explained, size = (np.full((len(columns.features), *shape), np.nan) for shape in ((c,), (), (c,)))
    for i, feature in enumerate(columns.features):
        values = feature.read()[rows]
        some = np.isfinite(values)
        if not some.any():
            continue
        centered = values[some] - values[some].mean()
        n, s, q = (
            np.bincount(group[some], weights=weights, minlength=m * c).reshape(m, c)
            for weights in (None, centered, centered**2)
        )
        effect[i], explained[i] = effect_sizes(n, s, q)
        size[i] = _shares(values[some], labels[some], feature.kind, c)
    return Effects([feature.index for feature in columns.features], _bounded(effect), explained, size, "spread")


def effect_sizes(n: Array, s: Array, q: Array) -> tuple[Array, float]:
    """Compute effect sizes (c,) and the explained share of the variance, from counts, sums and squares (m, c).

    The effect size of a cluster is the mean of its rows minus that of the other rows of the same task, averaged over
    the tasks that hold both, relative to the standard deviation within the clusters of a task.

    Examples
    --------
    >>> n, s, q = (np.array([values], dtype=float) for values in ([2, 2], [0, 8], [2, 34]))  # -1, 1 and 3, 5
    >>> effect, explained = effect_sizes(n, s, q)
    >>> effect.round(2).tolist(), round(explained, 2)
    ([-2.83, 2.83], 0.8)
    """
    total_n, total_s = n.sum(axis=1, keepdims=True), s.sum(axis=1, keepdims=True)
    rest = total_n - n
    here, others = _ratio(s, n), _ratio(total_s - s, rest)
    weight = _ratio(n * rest, n + rest)
    mass = weight.sum(axis=0)
    own, whole = n.sum(axis=0), n.sum()
    pooled = _ratio(s.sum(axis=0), own) - _ratio(s.sum() - s.sum(axis=0), whole - own)
    difference = np.where(mass > 0, _ratio((weight * (here - others)).sum(axis=0), mass), pooled)
    difference = np.where((own > 0) & (own < whole), difference, np.nan)
    total = max(float(q.sum() - _ratio(total_s**2, total_n).sum()), 0.0)
    within = min(max(float(q.sum() - _ratio(s**2, n).sum()), 0.0), total)
    spread = np.sqrt(within / max(whole - np.count_nonzero(n), 1))
    if within < 1e-12 * total:  # no spread within clusters: that of the tasks takes its place
        spread = np.sqrt(total / whole)
    explained = 1 - within / total if total > 0 else 0.0
    return (difference / spread if spread > 0 else np.where(np.isnan(difference), np.nan, 0.0)), explained


def _ratio(a: Array, b: Array) -> Array:
    """Divide; 0 where nothing is divided."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=np.asarray(b) > 0)


def _bounded(effect: Array) -> Array:
    return np.clip(effect, -LARGEST_EFFECT, LARGEST_EFFECT)


def _shares(values: Array, labels: Array, kind: str, c: int) -> Array:
    """Compute shares (c,) of rows above the median, with a category, or other than zero; NaN: there are no rows."""
    at = values > np.median(values) if kind == "number" else values != 0
    n = np.bincount(labels, minlength=c)
    return np.where(n > 0, np.bincount(labels, weights=at, minlength=c) / np.maximum(n, 1), np.nan)


def separation(found: Effects, names: list[str], kinds: list[str], table: Array) -> dict[str, Any]:
    """Make the matrix of features and clusters, and the ranking of the features, as plain values."""
    order = found.order()
    clusters = sorted(np.argsort(-table.sum(axis=0), kind="stable")[:CLUSTERS].tolist())
    clusters = [j for j in clusters if table[:, j].any()]
    picked = {*order[:LEADING], *(i for j in clusters for i in found.of_cluster(j, OWN))}
    shown = [i for i in order if i in picked]

    def plain_row(i: int) -> dict[str, Any]:
        at = found.features[i]
        size = None if found.size is None else rounded(found.size[i], 3)
        return {"name": names[at], "kind": kinds[at], "effect": rounded(found.effect[i], 3), "size": size}

    ranked = [_ranked(found, i, names) for i in order[:RANKED]]
    return {
        "unit": found.unit,
        "from_rows": found.size is not None,
        "clusters": clusters,
        "features": [plain_row(i) for i in shown],
        "ranked": [row for row in ranked if row is not None],
        "n_features": len(names),
    }


def _ranked(found: Effects, i: int, names: list[str]) -> dict[str, Any] | None:
    """Describe a feature: the explained share of its variance, and the cluster in which its effect is largest."""
    effect = found.effect[i]
    if not np.isfinite(effect).any():
        return None
    j = int(np.nanargmax(np.abs(effect)))
    [explained, largest] = rounded([found.explained[i], effect[j]], 3)
    return {"name": names[found.features[i]], "explained": explained, "effect": largest, "cluster": j}
