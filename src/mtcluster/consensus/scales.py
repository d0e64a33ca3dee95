"""The covariance within tasks, and what keeps single columns from deciding alone: rounding, and tails."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array

LINEAR = 3.0  # deviations from the median up to which a column stays about as it is
VALUE_ROUNDING = 1e-14  # share of a value that means nothing
NORMAL = 1.4826  # of a normal distribution, deviations over median absolute ones


def within_covariance(Ys: list[Array], us: list[Array], rounding: Array | None, strength: float) -> Array:
    """Return the covariance within tasks, a little towards its diagonal, as the prior of the metric.

    Columns of few different values are rounded, and `rounding` is the variance of that: else a column of zeros and ones
    would make a cluster of each value, in which it has no variance at all. It counts in full, whatever the strength of
    the prior.
    """
    n, d = sum(map(len, Ys)), Ys[0].shape[1]
    N = sum(float(u.sum()) for u in us)
    Y, u = np.concatenate(Ys), np.concatenate(us)
    total = np.average((Y - np.average(Y, axis=0, weights=u)) ** 2, axis=0, weights=u)
    parts = [own - np.average(own, axis=0, weights=w) for own, w in zip(Ys, us, strict=True)]
    cov = sum((w[:, None] * own).T @ own for own, w in zip(parts, us, strict=True)) / N
    share = min(0.5, 0.01 + 0.5 * d / n)
    diagonal = np.maximum(np.diag(cov), 1e-3 * total)
    noise = (VALUE_ROUNDING * np.max(np.abs(Y), axis=0)) ** 2
    diagonal = np.where(diagonal > noise, diagonal, np.maximum(noise, 1.0))
    found = (1 - share) * cov
    found[np.diag_indices(d)] = diagonal + (0 if rounding is None else rounding / strength)
    return found


def whitened(Ys: list[Array], cov: Array) -> list[Array]:
    """Return rows in coordinates in which a covariance is the identity."""
    turn = np.linalg.cholesky(np.linalg.inv(cov))
    return [Y @ turn for Y in Ys]


def rounding_variance(Xs: list[Array]) -> Array:
    """Compute (step / 2)² of each column, with step the mean distance between neighbouring values in a task."""
    found = np.zeros(Xs[0].shape[1])
    for X in Xs:
        ordered = np.sort(X, axis=0)
        gaps = np.count_nonzero(np.diff(ordered, axis=0), axis=0)
        step = (ordered[-1] - ordered[0]) / np.maximum(gaps, 1)
        found += len(X) * step**2 / 4
    return found / sum(map(len, Xs))


def without_tails(Ys: list[Array]) -> list[Array]:
    """Get columns whose values far from the median of their task are drawn in: a asinh(y / a), in robust deviations."""
    middles = [np.median(Y, axis=0) for Y in Ys]
    apart = np.concatenate([Y - middle for Y, middle in zip(Ys, middles, strict=True)])
    usual = np.abs(apart).mean(axis=0)
    scale = np.maximum(NORMAL * np.median(np.abs(apart), axis=0), 0.1 * usual)  # most values may be one and the same
    scale = LINEAR * np.where(scale > 0, scale, 1.0)
    return [scale * np.arcsinh((Y - middle) / scale) + middle for Y, middle in zip(Ys, middles, strict=True)]
