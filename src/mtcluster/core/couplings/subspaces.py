"""Orthonormal bases of the shared subspace: completed and oriented in a fixed way."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def complete(W: Array, n_components: int, Z: Array) -> Array:
    """Orthonormal columns added to W in a fixed way, towards the centres Z first and unit vectors after.

    The directions of Z matter to clusters that have run empty: their centres must not be projected away.
    """
    sizes = np.linalg.norm(Z, axis=1)
    for z, size in zip(Z, sizes, strict=True):
        if W.shape[1] == n_components:
            break
        rest = z - W @ (W.T @ z)
        if np.linalg.norm(rest) > 1e-6 * size > 0:
            W = _append(W, rest)
    while W.shape[1] < n_components:
        unit = np.zeros(W.shape[0])
        unit[np.argmin(np.einsum("ij,ij->i", W, W))] = 1
        W = _append(W, unit)
    return W


def fix_signs(W: Array) -> Array:
    """Columns with their largest entry positive, so that a basis does not depend on LAPACK's mood."""
    largest = W[np.argmax(np.abs(W), axis=0), np.arange(W.shape[1])]
    return W * np.where(largest < 0, -1, 1)


def _append(W: Array, w: Array) -> Array:
    for _ in range(2):  # twice is enough for orthogonality to rounding
        w = w - W @ (W.T @ w)
        w = w / np.linalg.norm(w)
    return np.column_stack([W, w])
