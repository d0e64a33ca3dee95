"""Sums over rows: what centres, and the metric, are made from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from .arrays import MOST_ROWS, Array, Matrix, batch_of, host, is_sparse
from .blocks import GapSums, Place, Totals
from .gaps import RowGaps, missing_weights
from .memberships import Membership
from .record import Record, axes


@dataclass(frozen=True, eq=False)
class Spread(Record):
    """Second moments of the rows at the weights of a stage."""

    XX: Array = axes("R? q q")  # Σ w (x − origin)(x − origin)ᵀ of tasks that share, in the directions V
    energy: Array = axes("R? m")  # Σ w ‖x − origin‖² of each task
    sizes: Array = axes("R? m")  # Σ w of each task
    sharing: Array = axes("m")  # which tasks shape the metric

    @property
    def total(self) -> Array:
        """(R or 1,) N: the weight of the rows that shape the metric."""
        return self.sizes[:, self.sharing].sum(axis=1)

    @property
    def shared_energy(self) -> Array:
        """(R or 1,) the energy of these rows."""
        return self.energy[:, self.sharing].sum(axis=1)

    def __add__(self, other: Spread) -> Spread:
        XX, energy, sizes = self.XX + other.XX, self.energy + other.energy, self.sizes + other.sizes
        return Spread(XX, energy, sizes, self.sharing)


def row_sums(
    X: Matrix, P: Array, w: Array, membership: Membership, n_clusters: int, xp: ModuleType = np
) -> tuple[Array, Array]:
    """Get S = PᵀVP (R, c, c), or its diagonal for labels, and T = PᵀVX (R c, d) of some rows with weights w = u v."""
    F = membership.columns(P, w, n_clusters, xp)
    runs, c, n = F.shape
    if w.shape[0] < runs and membership.diagonal and not is_sparse(X):  # one multiplication serves all runs
        return xp.astype(F @ w[0, :], xp.float64), _times(xp.reshape(F, (runs * c, n)), X * w.T, xp)
    weighted = F * w[:, None, :]
    return membership.moments(F, weighted, xp), _times(xp.reshape(weighted, (runs * c, n)), X, xp)


def _times(F: Array, X: Matrix, xp: ModuleType) -> Array:
    """Compute F X, (c, n) by (n, d), in sums over no more rows than single precision bears."""
    if is_sparse(X):
        return (X.T @ F.T).T
    n = X.shape[0]
    if n <= MOST_ROWS:
        return F @ X
    size = batch_of(n)
    whole = n - n % size
    batches = xp.permute_dims(xp.reshape(X[:whole, :], (whole // size, size, X.shape[1])), (0, 2, 1))
    columns = xp.permute_dims(xp.reshape(F[:, :whole], (F.shape[0], whole // size, size)), (1, 2, 0))
    total = xp.sum(batches @ columns, axis=0, dtype=xp.float64).T
    return total if whole == n else total + xp.astype(F[:, whole:] @ X[whole:, :], xp.float64)


class RowSums:
    """Adds up in the order of the pieces, whichever thread was first."""

    def __init__(self, place: Place, runs: int, n_clusters: int, membership: Membership, second: bool = False) -> None:
        m, c, d = len(place.Xs), n_clusters, place.Xs[0].shape[1]
        self.place, self.shape = place, (runs, m, c, d)
        self.shape_of_S = (runs, m, c) if membership.diagonal else (runs, m, c, c)
        self.second = second  # do second moments follow?
        self.parts: list[list[Array] | None] = [None] * m
        self.gaps: GapSums | None = None
        self.extra = np.zeros(runs)

    def add(self, k: int, *found: Array) -> None:
        """Sums of a piece of task k: its value, where there is one, S and T, and second moments of the clusters."""
        xp, sums = self.place.xp, self.parts[k]
        if sums is None:
            self.parts[k] = [x if x.dtype == xp.float64 else xp.astype(x, xp.float64) for x in found]
        else:
            for i, x in enumerate(found):
                sums[i] += x

    def add_gaps(self, k: int, found: RowGaps | None) -> None:
        """What missing values of a piece of task k add."""
        if found is None:
            return
        self.extra += found.value
        if found.missing is None:
            return
        if self.gaps is None:
            self.gaps = GapSums(np.zeros(self.shape), np.zeros(self.shape), np.zeros(self.shape), None)
        for name in ("missing", "own", "shared"):
            getattr(self.gaps, name)[:, k] += getattr(found, name)
        if found.XX is not None:
            XX = found.XX if self.gaps.XX is None else self.gaps.XX + found.XX
            self.gaps = replace(self.gaps, XX=XX)

    def totals(self) -> Totals:
        """Return the sums of all pieces."""
        runs, _, c, d = self.shape
        S, T, value, XX = np.zeros(self.shape_of_S), np.zeros(self.shape), np.zeros(runs), None
        found = _fetched(self.parts, self.place.xp)
        for k, parts in enumerate(found):
            found[k] = None  # as large as the centres of a task
            if parts is None:
                continue
            if self.second:
                *parts, moments = parts
                XX = moments if XX is None else XX + moments
            if len(parts) != 2:
                value += parts[0]
            if len(parts) > 1:
                S[:, k] = parts[-2]
                T[:, k] = parts[-1].reshape(runs, c, d)
        return Totals(S, T, value + self.extra, XX, self.gaps)


def _fetched(sums: list[list[Array] | None], xp: ModuleType) -> list[list[Array] | None]:
    """Return small arrays, of the same shapes for each task, in NumPy's memory: in one transfer."""
    some = next((parts for parts in sums if parts), None)
    if xp is np or some is None:
        return sums
    flat = xp.concat([xp.reshape(x, (-1,)) for parts in sums if parts for x in parts])
    shapes = [tuple(x.shape) for x in some]
    cuts = np.cumsum([math.prod(shape) for shape in shapes])
    lines = iter(host(flat).reshape(-1, cuts[-1]))
    return [
        [x.reshape(shape) for x, shape in zip(np.split(next(lines), cuts[:-1]), shapes, strict=True)] if parts else None
        for parts in sums
    ]


def missing_sums(F: Array, G: Array, xp: ModuleType) -> RowGaps:
    """Return the weights F (R, c, n) of rows that lack values, where these are at the origin."""
    missing = missing_weights(F, xp.astype(G, F.dtype), xp)
    nothing = np.zeros_like(missing)
    return RowGaps(missing, nothing, nothing, None, np.zeros(len(missing)))
