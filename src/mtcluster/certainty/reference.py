"""Data without clusters of the same shape: one elliptical distribution per task."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from ..core.arrays import Array

SINGULAR = 1e-10  # of the largest variance: directions without variance


def elliptical(Y: Array, u: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """As many rows with the mean and the covariance of a task, and what they count.

    Directions are uniform, and Mahalanobis radii are those of the rows, drawn with replacement, so that tails are as
    heavy. A row that counts less because it lies far away lends its weight with its radius. In one dimension there are
    two directions alone, so that two clusters would be two again: there, radii follow the nearest density that falls.
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
    if len(deviations) == 1:
        radii = _falling(radii, rng)
    directions = rng.standard_normal((n, len(deviations)))
    directions *= (radii[at] / np.linalg.norm(directions, axis=1))[:, None]
    return mean + (directions * deviations) @ axes.T, u[at]


def _falling(radii: Array, rng: np.random.Generator) -> Array:
    """As many radii from the decreasing density of the highest likelihood (Grenander), with the same mean square."""
    edges, counts = np.unique(radii, return_counts=True)
    widths = np.diff(edges, prepend=0.0)
    widths, counts = widths[widths > 0], counts[edges > 0]
    if not len(widths):
        return radii
    density = isotonic_regression(counts / widths, weights=widths, increasing=False).x
    mass, ends = density * widths, np.cumsum(widths)
    at = rng.choice(len(widths), size=len(radii), p=mass / mass.sum())
    drawn = ends[at] - widths[at] * rng.random(len(radii))
    return drawn * np.sqrt(np.mean(radii**2) / np.mean(drawn**2))
