"""Data without clusters of the same shape: one elliptical distribution per task."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array

SINGULAR = 1e-10  # of the largest variance: directions without variance


def elliptical(Y: Array, u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """As many rows with the mean and the covariance of a task, and what they count.

    Directions are uniform, and Mahalanobis radii are those of the rows, drawn with replacement, so that tails are as
    heavy. A row that counts less because it lies far away lends its weight with its radius.
    """
    n = len(Y)
    if n < 2 or u.sum() <= 0:
        return Y, u
    mean = np.average(Y, axis=0, weights=u)
    apart = Y - mean
    variances, axes = np.linalg.eigh((u[:, None] * apart).T @ apart / u.sum())
    kept = variances > SINGULAR * max(float(variances[-1]), np.finfo(np.float64).tiny)
    if not kept.any():
        return Y, u
    deviations, axes = np.sqrt(variances[kept]), axes[:, kept]
    radii = np.sqrt(np.sum((apart @ axes / deviations) ** 2, axis=1))
    at = rng.integers(n, size=n)
    directions = rng.standard_normal((n, len(deviations)))
    directions *= (radii[at] / np.linalg.norm(directions, axis=1))[:, None]
    return mean + (directions * deviations) @ axes.T, u[at]
