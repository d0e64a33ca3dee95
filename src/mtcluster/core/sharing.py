"""How the centres that tasks have of their own are tied to the shared ones.

`Share`, the paper's: the loss of a row is λ1 times that from the own centre plus 1 − λ1 times that from the shared one.
`Shrink`: own centres are drawn to the shared ones by κ rows, and rows are compared with the own ones,

    Σ w ‖x − M_kj‖²_A + κ Σ_kj ‖M_kj − b_k − z_j‖²_A,

which leaves the centre of a cluster with few rows near the shared one; κ = ∞ leaves no centres of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .arrays import Array
from .record import Record, axes, declared

UNRELATED = 1e-3  # κ of a task that is left alone: its centres are its own
MOST_OWN = 0.99  # share of own centres that counts as sharing


def divided(T: Array, S: Array) -> Array:
    """Divide sums T (…, d) by their weights S (…); by 1 where there is no weight."""
    return T / np.where(S > 0, S, 1)[..., None]


@dataclass(frozen=True, eq=False)
class Sharing(Record, ABC):
    """How own and shared centres belong together, in each run and task."""

    within: Array = axes("R? m?")  # λ1, or the usual share of own centres where κ draws them

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
        """(m,) tasks that share nothing in any run."""

    @abstractmethod
    def pull(self, S: Array) -> Array:
        """(R, m, c) what clusters of weights S (R, m, c) count in the shared centres."""

    @abstractmethod
    def own(self, S: Array, means: Array, common: Array) -> Array:
        """Own centres (R, m, c, d) from the means of the rows and the shared centres as they lie in the tasks."""

    @abstractmethod
    def joined(self, new: list[int], usual: Sharing | None, n_tasks: int) -> Self:
        """Let tasks share as is usual, or have no centres of their own where that is None."""

    def weighed(self, sizes: Array) -> Self:
        """How much tasks share, now that the weights of clusters (m, c) are known."""
        return self

    def usual(self, some: Array) -> Self:
        """What is usual among some tasks of the first run."""
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
        """Tasks of λ1 = 1."""
        return np.broadcast_to(self.within, (len(self.within), n_tasks)).min(axis=0) == 1

    def pull(self, S: Array) -> Array:
        """(1 − λ1) S."""
        return np.broadcast_to((1 - self.within)[:, :, None], S.shape) * S

    def own(self, S: Array, means: Array, common: Array) -> Array:
        """Means of the rows; shared centres where there are none."""
        return np.where((S > 0)[..., None], means, common)

    def joined(self, new: list[int], usual: Sharing | None, n_tasks: int) -> Self:
        """The usual λ1, or 0."""
        within = np.array(np.broadcast_to(self.within, (len(self.within), n_tasks)))
        within[:, new] = 0.0 if usual is None else usual.within[0, 0]
        return replace(self, within=within)


@dataclass(frozen=True, eq=False)
class Shrink(Sharing):
    """By κ rows that lie where the shared centre does."""

    rows: Array = axes("R? m?")  # κ

    draws = True

    @classmethod
    def of(cls, rows: float | Array, within: Any = 0.0) -> Shrink:
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
        """S κ / (S + κ)."""
        return S / (1 + self._apart(S))

    def own(self, S: Array, means: Array, common: Array) -> Array:
        """(S means + κ common) / (S + κ)."""
        apart = self._apart(S)
        return common + (apart / (1 + apart))[..., None] * np.where((S > 0)[..., None], means - common, 0)

    def weighed(self, sizes: Array) -> Self:
        """The usual share of own centres n / (n + κ) in each task, from the weights of clusters (m, c)."""
        kappa = np.broadcast_to(self.rows[0], (len(sizes),))
        total = np.maximum(sizes.sum(axis=1), np.finfo(np.float64).tiny)
        share = np.minimum(np.sum(sizes**2 / (sizes + kappa[:, None]), axis=1) / total, MOST_OWN)
        return replace(self, within=np.where(kappa == UNRELATED, 1.0, share)[None])

    def joined(self, new: list[int], usual: Sharing | None, n_tasks: int) -> Self:
        """The usual κ, or an infinite one."""
        rows = np.array(np.broadcast_to(self.rows, (len(self.rows), n_tasks)))
        within = np.array(np.broadcast_to(self.within, (len(self.within), n_tasks)))
        rows[:, new] = usual.rows[0, 0] if isinstance(usual, Shrink) else np.inf
        within[:, new] = 0.0 if usual is None else usual.within[0, 0]
        return replace(self, within=within, rows=rows)
