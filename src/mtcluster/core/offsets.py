"""Where tasks lie: offsets b_k and scales s_k, so that the shared centres of task k are b_k + s_k M Wᵀ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array, Summary


@dataclass(frozen=True)
class Offsets:
    """Location and scale of each task: (x − b_k) / s_k is a row in the frame that all tasks share."""

    b: Array  # (m, d), or (R, m, d) of each of several runs
    s: Array  # (m,)

    def in_task(self, Z: Array, k: int) -> Array:
        """Points of the common frame as they lie in task k."""
        return self.b[k] + self.s[k] * Z

    def in_tasks(self, Z: Array) -> Array:
        """Points (R, c, d) of the common frame as they lie in each task, (R, m, c, d)."""
        return self.b[..., None, :] + self.s[:, None, None] * Z[:, None]

    def from_task(self, x: Array, k: int, V: Array | None = None) -> Array:
        """Rows of task k in the common frame; with V, for coordinates x V."""
        return (x - (self.b[k] if V is None else self.b[k] @ V)) / self.s[k]

    def runs(self, at: Array | list[int]) -> Offsets:
        """Those of some runs."""
        return self if self.b.ndim < 3 else Offsets(self.b[at], self.s)

    def pooled(self, S: Array, T: Array) -> tuple[Array, Array]:
        """The sums S (R, m, c) and T (R, m, c, d) of binary memberships, in the common frame.

        S may have one number for each coordinate, where values are missing.
        """
        sizes, scale = (S, self.s[:, None, None]) if S.shape == T.shape else (S[..., None], self.s[:, None])
        return scale**2 * S, self.s[:, None, None] * (T - sizes * self.b[..., None, :])


def no_offsets(summary: Summary, energy: Array, origins: Array) -> None:
    """Tasks lie where they are."""


def mean_offsets(summary: Summary, energy: Array, origins: Array) -> Offsets:
    """The mean of each task is taken out."""
    middle = summary.sizes @ summary.means / summary.sizes.sum()
    return Offsets(summary.means - middle, np.ones(len(summary.sizes)))


def scale_offsets(summary: Summary, energy: Array, origins: Array) -> Offsets:
    """The mean and the spread of each task are taken out; `energy` (m,) is Σ u ‖x − origin‖²."""
    sizes, means = summary.sizes, summary.means
    middle = sizes @ means / sizes.sum()
    # Σ u ‖x − mean‖² = Σ u ‖x − origin‖² − Σ u ‖mean − origin‖²
    spread = energy / sizes - np.sum((means - origins) ** 2, axis=1)
    widths = np.sqrt(np.maximum(spread, 0))
    usable = widths > 1e-8 * widths.max()
    s = np.ones_like(widths)
    if usable.any():
        s = np.where(usable, widths / np.exp(np.mean(np.log(widths[usable]))), 1.0)
    return Offsets(means - s[:, None] * middle, s)


OFFSETS = {"none": no_offsets, "matched": mean_offsets, "mean": mean_offsets, "scale": scale_offsets}
