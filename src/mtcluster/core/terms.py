"""What centres mean for rows: everything in the losses that does not depend on the row, and the product with X."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from .arrays import Array, Matrix, Part, is_sparse, like
from .blocks import Block
from .covariances import Own
from .gaps import Gaps, Met, TaskGaps
from .memberships import Quadratic


@dataclass(frozen=True)
class Terms:
    """What the centres mean for the rows of each task: everything in their losses that does not depend on the row."""

    C: Array  # (R, m, c, d) λ1 M_k + (1 − λ1) M Wᵀ, from the origin
    h: Array  # (R, m, c) half the diagonals of B, and the product of the origin with C
    B: Array | None  # (R, m, c, c); None: labels do without
    axes: list[Axes] | None = None  # of each task; None: the energy of a row is its squared distance from the origin
    energy: bool = True  # do losses hold the energy of the rows?
    prior: Array | None = None  # (R, m, c) what proportions of the clusters add to h
    own: Own | None = None  # covariances of the clusters, which make the energy of a row, from the origins (m, d)
    gaps: Gaps | None = None  # what missing values need; None: none is missing

    @property
    def n_columns(self) -> int:
        """Clusters of all runs."""
        return self.C.shape[0] * self.C.shape[2]

    def where(self, block: Block) -> list[TaskTerms]:
        """Return the terms of each task in the place and the type of the rows of a block, in one transfer."""
        xp, near = block.xp, block.sq
        runs, m, c, d = self.C.shape
        h = self.h[..., None]
        if xp is np:
            Cs, h = like(self.C, near, xp), like(h, near, xp)
        else:
            both = like(np.concatenate([self.C, h], axis=3), near, xp)
            Cs, h = both[..., :-1], both[..., -1:]
        found = []
        for k in range(m):
            C = xp.reshape(Cs[:, k, :, :], (runs * c, d))
            if is_sparse(block.X):
                C = xp.ascontiguousarray(C.T).T
            B = None if self.B is None else self.B[:, k]
            prior = None if self.prior is None else like(self.prior[:, k, :, None], near, xp)
            axes = None if self.axes is None else self.axes[k].where(near, xp)
            own = None if self.own is None else self.own.of_task(k, near, xp)
            gaps = None if self.gaps is None else self.gaps.of_task(k, near, xp)
            found.append(TaskTerms(C, h[:, k, :, :], B, axes, self.energy, prior, xp, own, gaps))
        return found


@dataclass(frozen=True)
class TaskTerms:
    """The terms of one task, as its rows need them."""

    C: Array  # (R c, d)
    h: Array  # (R, c, 1)
    B: Array | None
    axes: Axes | None
    energy: bool
    prior: Array | None  # (R, c, 1)
    xp: ModuleType
    own: Own | None = None
    gaps: TaskGaps | None = None

    @property
    def plain(self) -> bool:
        """Whether losses are squared distances to the centres, as they are."""
        return self.axes is None and self.energy and self.prior is None and self.gaps is None

    def meet(self, X: Matrix, block: Block, part: Part) -> tuple[Matrix, Met | None]:
        """Return some rows, filled where values are missing, and what that means; None: nothing is missing."""
        X, G = block.filled(X)
        return X, None if G is None or self.gaps is None else self.gaps.meet(X, G, block, part)

    def quadratic(self, X: Matrix, sq: Array, met: Met | None = None) -> Quadratic:
        """Return the loss of some rows of the task: the one product with X that gives distances."""
        xp, (runs, c, _) = self.xp, self.h.shape
        A, e = xp.reshape(_times(X, self.C), (runs, c, X.shape[0])), sq if self.energy else None
        if self.axes is not None:
            e = self.axes.energy(X, sq, xp)
        if met is not None:
            A = A + met.corrections()
        if self.own is not None:
            A, e = A - self.own.energies(X, sq, xp) / 2, xp.zeros_like(sq)  # no energy is common to the clusters
        return Quadratic(e, A, self.h, self.B, xp, self.prior)


@dataclass(frozen=True)
class Axes:
    """The energy of a row: a ‖x − origin‖² + Σ_i s_i (x·q_i − shift_i)²."""

    a: Array  # (R,)
    s: Array | None  # (R, l); None: a sphere
    q: Array | None  # (R, l, d)
    shift: Array | None  # (R, l) origin·q_i; None: 0

    def where(self, near: Array, xp: ModuleType) -> Axes:
        """Return the same in the place and the type of the rows."""
        return Axes(*(None if v is None else like(np.ascontiguousarray(v), near, xp) for v in vars(self).values()))  # type: ignore[arg-type]

    def energy(self, X: Matrix, sq: Array, xp: ModuleType) -> Array:
        """Compute (R, n) the energies of some rows."""
        e = self.a[:, None] * sq
        if self.q is None or self.s is None:
            return e
        parts = []
        for r in range(self.q.shape[0]):
            Y = _times(X, self.q[r, :, :])
            if self.shift is not None:
                Y = Y - self.shift[r, :, None]
            parts.append(self.s[r, :] @ (Y * Y))
        return e + xp.stack(parts)


def _times(X: Matrix, C: Array) -> Array:
    """Compute C Xᵀ."""
    return (X @ C.T).T if is_sparse(X) else C @ X.T
