"""Where tasks lie: offsets b_k and scales s_k, so that the shared centres of task k are b_k + s_k M Wᵀ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .arrays import Array, Summary
from .record import Record, axes

HELD = np.zeros(1, dtype=bool)


@dataclass(frozen=True, eq=False)
class Offsets(Record):
    """Location and scale of each task: (x − b_k) / s_k is a row in the frame that all tasks share."""

    b: Array = axes("R? m? d?")
    s: Array = axes("m?")
    free: Array = axes("R?", default=HELD)  # are they estimated with the clusters?

    @classmethod
    def of(cls, b: Array, s: Array | None = None) -> Offsets:
        """Make them from b (m, d), or (R, m, d) of each of several runs."""
        b = b if b.ndim == 3 else b[None]
        return cls(b, np.ones(b.shape[1]) if s is None else s)

    @classmethod
    def none(cls, free: Any = False) -> Offsets:
        """All tasks lie where they are, or where they are found to lie (`free`, of all runs or of each)."""
        return cls(np.zeros((1, 1, 1)), np.ones(1), np.atleast_1d(np.asarray(free, dtype=bool)))

    @cached_property
    def moves(self) -> bool:
        """Whether some task lies elsewhere than in the common frame."""
        return bool(self.b.any()) or bool(np.any(self.s != 1))

    def in_tasks(self, Z: Array, n_tasks: int) -> Array:
        """Points (R, c, d) of the common frame as they lie in each task, (R, m, c, d)."""
        if not self.moves:
            return np.broadcast_to(Z[:, None], (len(Z), n_tasks, *Z.shape[1:]))
        return self.b[:, :, None] + self.s[:, None, None] * Z[:, None]

    def from_task(self, x: Array, k: int, V: Array | None = None) -> Array:
        """Rows of task k of the only run in the common frame; with V, for coordinates x V."""
        if not self.moves:
            return x
        b = self.b[0, k] if V is None else self.b[0, k] @ V
        return (x - b) / self.s[k]

    def pooled(self, S: Array, T: Array) -> tuple[Array, Array]:
        """The sums S (R, m, c) and T (R, m, c, d) of binary memberships, in the common frame.

        S may have one number for each coordinate, where values are missing.
        """
        if not self.moves:
            return S, T
        sizes, scale = (S, self.s[:, None, None]) if S.shape == T.shape else (S[..., None], self.s[:, None])
        return scale**2 * S, self.s[:, None, None] * (T - sizes * self.b[:, :, None])


def no_offsets(summary: Summary, energy: Array, origins: Array) -> Offsets:
    """Leave tasks where they are."""
    return Offsets.none()


def mean_offsets(summary: Summary, energy: Array, origins: Array) -> Offsets:
    """Take out the mean of each task."""
    middle = summary.sizes @ summary.means / summary.sizes.sum()
    return Offsets.of(summary.means - middle)


def scale_offsets(summary: Summary, energy: Array, origins: Array) -> Offsets:
    """Take out the mean and the spread of each task; `energy` (m,) is Σ u ‖x − origin‖²."""
    sizes, means = summary.sizes, summary.means
    middle = sizes @ means / sizes.sum()
    # Σ u ‖x − mean‖² = Σ u ‖x − origin‖² − Σ u ‖mean − origin‖²
    spread = energy / sizes - np.sum((means - origins) ** 2, axis=1)
    widths = np.sqrt(np.maximum(spread, 0))
    usable = widths > 1e-8 * widths.max()
    s = np.ones_like(widths)
    if usable.any():
        s = np.where(usable, widths / np.exp(np.mean(np.log(widths[usable]))), 1.0)
    return Offsets.of(means - s[:, None] * middle, s)


OFFSETS = {"none": no_offsets, "matched": mean_offsets, "mean": mean_offsets, "scale": scale_offsets}
