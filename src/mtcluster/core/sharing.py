"""Where tasks lie, and how the centres that they have of their own are tied to the shared ones.

`Share`, the paper's: the loss of a row is λ1 times that from the own centre plus 1 − λ1 times that from the shared one.
`Shrink`: own centres are drawn to the shared ones by κ rows, and rows are compared with the own ones,

    Σ w ‖x − M_kj‖²_A + κ Σ_kj ‖M_kj − b_k − z_j‖²_A,

which leaves the centre of a cluster with few rows near the shared one; κ = ∞ leaves no centres of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from .arrays import Array, Summary
from .record import Record, axes, declared

FIXED = np.zeros(1, dtype=bool)


@dataclass(frozen=True, eq=False)
class Offsets(Record):
    """Location and scale of each task: (x − b_k) / s_k is a row in the frame that all tasks share."""

    b: Array = axes("R? m? d?")
    s: Array = axes("m?", least=0)
    free: Array = axes("R?", default=FIXED)  # are they estimated with the clusters?

    @classmethod
    def of(cls, b: Array, s: Array | None = None) -> Offsets:
        """Make them from b (m, d), or (R, m, d) of each of several runs."""
        b = b if b.ndim == 3 else b[None]
        return cls(b, np.ones(b.shape[1]) if s is None else s)

    @classmethod
    def none(cls, free: bool | Array = False) -> Offsets:
        """Let tasks lie where they are, or where they are found to lie (`free`, of all runs or of each)."""
        return cls(np.zeros((1, 1, 1)), np.ones(1), np.atleast_1d(np.asarray(free, dtype=bool)))

    @cached_property
    def moves(self) -> bool:
        """Whether some task lies elsewhere than in the common frame."""
        return bool(self.b.any()) or bool(np.any(self.s != 1))

    def in_tasks(self, Z: Array, n_tasks: int) -> Array:
        """Return points (R, c, d) of the common frame as they lie in each task, (R, m, c, d)."""
        if not self.moves:
            return np.broadcast_to(Z[:, None], (len(Z), n_tasks, *Z.shape[1:]))
        return self.b[:, :, None] + self.s[:, None, None] * Z[:, None]

    def from_task(self, x: Array, k: int, V: Array | None = None) -> Array:
        """Return rows of task k of the only run in the common frame; with V, for coordinates x V."""
        if not self.moves:
            return x
        b = self.b[0, k] if V is None else self.b[0, k] @ V
        return (x - b) / self.s[k]

    def pooled(self, S: Array, T: Array) -> tuple[Array, Array]:
        """Return the sums S (R, m, c) and T (R, m, c, d) of binary memberships, in the common frame.

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


UNRELATED_ROWS = 1e-3  # κ of a task that is left alone: its centres are its own
MOST_OWN = 0.99  # share of own centres that counts as sharing


def divided(T: Array, S: Array) -> Array:
    """Divide sums T (…, d) by their weights S (…); by 1 where there is no weight."""
    return T / np.where(S > 0, S, 1)[..., None]


@dataclass(frozen=True, eq=False)
class Sharing(Record, ABC):
    """How own and shared centres belong together, in each run and task."""

    within: Array = axes("R? m?", least=0, most=1)  # λ1, or the usual share of own centres where κ draws them

    draws: ClassVar[bool] = False  # are own centres drawn to the shared ones?

    @property
    @abstractmethod
    def lam(self) -> Array:
        """(R or 1, m or 1) the share of own centres in the loss of a row."""

    @property
    @abstractmethod
    def pools(self) -> bool:
        """Whether there are no own centres anywhere, so that the tasks are one data set."""

    @abstractmethod
    def alone(self, n_tasks: int) -> Array:
        """Compute (m,) tasks that share nothing in any run."""

    @abstractmethod
    def pull(self, S: Array) -> Array:
        """Compute (R, m, c) what clusters of weights S (R, m, c) count in the shared centres."""

    @abstractmethod
    def own(self, S: Array, means: Array, common: Array) -> Array:
        """Get own centres (R, m, c, d) from the means of the rows and the shared centres as they lie in the tasks."""

    def joined(self, new: list[int], usual: Sharing | None, n_tasks: int) -> Self:
        """Let tasks share as is usual, or have no centres of their own where that is None."""
        within = np.array(np.broadcast_to(self.within, (len(self.within), n_tasks)))
        within[:, new] = 0.0 if usual is None else usual.within[0, 0]
        return replace(self, within=within)

    def weighed(self, sizes: Array) -> Self:
        """Tell how much tasks share, now that the weights of clusters (m, c) are known."""
        return self

    def usual(self, some: Array) -> Self:
        """Tell what is usual among some tasks of the first run."""
        part = self.take("R", [0]).take("m", some)
        medians = {one.name: np.median(getattr(part, one.name), axis=1, keepdims=True) for one in declared(type(self))}
        return replace(part, **medians)

    @property
    def kappa(self) -> Array:
        """(R or 1, m or 1) rows by which own centres are drawn, 0 where nothing draws them or none are apart."""
        return np.zeros((1, 1))

    @property
    def sharing(self) -> Array:
        """(m or 1,) tasks that share in the first run."""
        return np.asarray(self.within[0] < 1)


@dataclass(frozen=True, eq=False)
class Share(Sharing):
    """By the shares λ1 and 1 − λ1 of the two terms of the loss."""

    @classmethod
    def of(cls, within: float | Array) -> Share:
        """Make it from one λ1 for all, one for each task (m,), or for each run and task (R, m)."""
        return cls(np.atleast_2d(np.asarray(within, dtype=np.float64)))

    @property
    def lam(self) -> Array:
        """λ1."""
        return self.within

    @property
    def pools(self) -> bool:
        """Whether λ1 is 0."""
        return not np.any(self.within)

    def alone(self, n_tasks: int) -> Array:
        """Return tasks of λ1 = 1."""
        return np.broadcast_to(self.within, (len(self.within), n_tasks)).min(axis=0) == 1

    def pull(self, S: Array) -> Array:
        """Compute (1 − λ1) S."""
        return np.broadcast_to((1 - self.within)[:, :, None], S.shape) * S

    def own(self, S: Array, means: Array, common: Array) -> Array:
        """Return means of the rows; shared centres where there are none."""
        return np.where((S > 0)[..., None], means, common)


@dataclass(frozen=True, eq=False)
class Shrink(Sharing):
    """By κ rows that lie where the shared centre does."""

    rows: Array = axes("R? m?", finite=False)  # κ

    draws = True

    @classmethod
    def of(cls, rows: float | Array, within: float | Array = 0.0) -> Shrink:
        """Make it from one κ for all, one for each run (R,), or for each run and task (R, m)."""
        kappa = np.asarray(rows, dtype=np.float64)
        return cls(
            np.atleast_2d(np.asarray(within, dtype=np.float64)), kappa.reshape(max(kappa.shape[:1], (1,))[0], -1)
        )

    @property
    def lam(self) -> Array:
        """1: rows are compared with own centres alone."""
        return np.ones((1, 1))

    @property
    def pools(self) -> bool:
        """Never: own centres lie where the shared ones do, if κ is infinite."""
        return False

    @property
    def kappa(self) -> Array:
        """κ, or 0 where it is infinite and no centres are apart."""
        return np.where(np.isinf(self.rows), 0, self.rows)

    @property
    def sharing(self) -> Array:
        """All do."""
        return np.ones(1, dtype=bool)

    def alone(self, n_tasks: int) -> Array:
        """None are: a small κ leaves them the metric of all."""
        return np.zeros(n_tasks, dtype=bool)

    def _apart(self, S: Array) -> Array:
        return S / self.rows[:, :, None]

    def pull(self, S: Array) -> Array:
        """Compute S κ / (S + κ)."""
        return S / (1 + self._apart(S))

    def own(self, S: Array, means: Array, common: Array) -> Array:
        """Compute (S means + κ common) / (S + κ)."""
        apart = self._apart(S)
        return common + (apart / (1 + apart))[..., None] * np.where((S > 0)[..., None], means - common, 0)

    def weighed(self, sizes: Array) -> Self:
        """Return the usual share of own centres n / (n + κ) in each task, from the weights of clusters (m, c)."""
        kappa = np.broadcast_to(self.rows[0], (len(sizes),))
        total = np.maximum(sizes.sum(axis=1), np.finfo(np.float64).tiny)
        share = np.minimum(np.sum(sizes**2 / (sizes + kappa[:, None]), axis=1) / total, MOST_OWN)
        return replace(self, within=np.where(kappa == UNRELATED_ROWS, 1.0, share)[None])

    def joined(self, new: list[int], usual: Sharing | None, n_tasks: int) -> Self:
        """Return the usual κ, or an infinite one."""
        rows = np.array(np.broadcast_to(self.rows, (len(self.rows), n_tasks)))
        rows[:, new] = usual.rows[0, 0] if isinstance(usual, Shrink) else np.inf
        return replace(super().joined(new, usual, n_tasks), rows=rows)
