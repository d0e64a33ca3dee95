"""Clusters that a person found to be one: a fitted model keeps them apart, and tells them as one."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np

from .._sklearn_compat import array_namespace
from ..core.arrays import Array
from ..core.centers import Centers
from ..core.fitted import Fitted


def numbers_told(fitted: Fitted) -> Array:
    """(c,) the number under which each cluster is told: its own, or that of the cluster that it was merged into."""
    found = np.arange(fitted.model.n_clusters)
    for number, into in fitted.merged:
        found[number] = into
    return found


def with_merged(fitted: Fitted, clusters: list[int]) -> Fitted:
    """Merge clusters into the one of them with the smallest number, whose name stays; else the first name does."""
    told = numbers_told(fitted)
    parts = np.isin(told, told[clusters])
    into = int(told[parts].min())
    told[parts] = into
    names = dict(fitted.names)
    name = names.get(into) or next((names[j] for j in np.flatnonzero(parts).tolist() if j in names), "")
    kept = {j: known for j, known in names.items() if not parts[j]} | ({into: name} if name else {})
    merged = tuple((j, int(k)) for j, k in enumerate(told.tolist()) if j != k)
    return replace(fitted, merged=merged, names=tuple(sorted(kept.items())))


def as_told(fitted: Fitted) -> Fitted:
    """Return the model as it is told: merged clusters have common rows, sizes, and centres in the middle of them."""
    if not fitted.merged:
        return fitted
    told = numbers_told(fitted)
    E = np.eye(len(told))[told]  # (c, c) from clusters to those that are told
    sizes, support, holds = fitted.sizes, fitted.support, fitted.holds
    gone = len(set(told[fitted.exists].tolist())) - int(fitted.exists.sum())
    found = replace(
        fitted,
        model=replace(fitted.model, holds=(holds @ E > 0)[None]),
        centers=_centers(fitted, E),
        sizes=sizes @ E,
        support=np.stack([support[:, told == j].max(axis=1, initial=0.0) for j in range(len(told))], axis=1),
        n_asked=None if fitted.n_asked is None else fitted.n_asked + gone,
        rows=replace(
            fitted.rows,
            labels=labels_told(fitted, fitted.rows.labels),
            memberships=None if fitted.rows.memberships is None else shares_told(fitted, fitted.rows.memberships),
        ),
    )
    return replace(found, relatedness=found.related())


def labels_told(fitted: Fitted, labels: Array) -> Array:
    """Return labels (n,) as numbers that are told; −1 stays."""
    if not fitted.merged:
        return labels
    told = numbers_told(fitted)
    xp: ModuleType = array_namespace(labels)
    table = xp.asarray(np.append(told, -1).astype(np.int32), device=getattr(labels, "device", None))
    return xp.take(table, xp.where(labels < 0, xp.full_like(labels, len(told)), labels))


def shares_told(fitted: Fitted, shares: Array) -> Array:
    """Return probabilities or memberships (n, c) of the clusters that are told: sums of those of their parts."""
    if not fitted.merged:
        return shares
    E = np.eye(fitted.model.n_clusters)[numbers_told(fitted)]
    xp: ModuleType = array_namespace(shares)
    return shares @ xp.asarray(E, dtype=shares.dtype, device=getattr(shares, "device", None))


def _centers(fitted: Fitted, E: Array) -> Centers:
    """Replace the centres of merged clusters by their mean over the rows."""
    centers, sizes = fitted.centers, fitted.sizes
    total = sizes.sum(axis=0)
    M = None if centers.M is None else _means(centers.M, total, E)
    logs = centers.log_shares
    if logs is not None:
        with np.errstate(divide="ignore"):
            logs = np.log(np.exp(logs) @ E)
    return replace(centers, Ms=_means(centers.Ms, sizes, E), M=M, Z=_means(centers.Z, total, E), log_shares=logs)


def _means(values: Array, weights: Array, E: Array) -> Array:
    """Compute the weighted mean of merged rows of values (…, c, d); what has no weight keeps its own."""
    total = weights @ E
    sums = E.T @ (weights[..., None] * values)
    means = sums / np.where(total > 0, total, 1)[..., None]
    return np.where(total[..., None] > 0, means, values).astype(values.dtype)
