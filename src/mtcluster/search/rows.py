"""The rows that a search sees: a sample in few dimensions, task by task, as they are and with tasks of one spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..core.arrays import Array
from ..core.evidence import FLOOR, Evidence
from ..core.geometry import STRENGTH

PSEUDO_ROWS = 5.0  # rows by which the spread of a task is drawn to that of all
ROUNDING = 0.25  # variance of a value that is rounded, in squared steps
SAME = 1e-9  # share of the reach of a column by which values differ that are the same
SHRINK = 0.05  # share by which a covariance is drawn to its diagonal
VALUE_ROUNDING = 1e-14  # share of a value that means nothing
LEAST_WITHIN = 1e-3  # share of its whole deviation that a column has at least within tasks


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of the tasks, one task after the other, seen from the mean of all."""

    Y: Array  # (n, d)
    u: Array  # (n,) weights; 0: outliers, which are labelled but do not count
    sizes: Array  # (m,) rows of each task
    rounded: bool = True  # may columns be rounded?
    round: bool = False  # are clusters spheres of one size?
    cost: float = 0.0  # nats that are paid for a change of the rows

    @classmethod
    def of(cls, Ys: list[Array], us: list[Array], rounded: bool = True, round: bool = False) -> Rows:
        """Gather the rows of the tasks; weights are 1 on average."""
        Y, u = np.concatenate(Ys).astype(np.float64), np.concatenate(us).astype(np.float64)
        total = float(u.sum())
        u, total = (u * (np.count_nonzero(u) / total), total) if total > 0 else (np.ones(len(u)), float(len(u)))
        return cls(Y - u @ Y / u.sum(), u, np.array([len(own) for own in Ys]), rounded and not round, round)

    @cached_property
    def ids(self) -> Array:
        """(n,) the task of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def parts(self) -> list[slice]:
        """The rows of each task."""
        ends = np.cumsum(self.sizes)
        return [slice(end - size, end) for end, size in zip(ends.tolist(), self.sizes.tolist(), strict=True)]

    @cached_property
    def weights(self) -> Array:
        """(m,) of the tasks."""
        return np.bincount(self.ids, self.u, len(self.sizes))

    @cached_property
    def means(self) -> Array:
        """(m, d) of the tasks."""
        return self.summed(self.Y * self.u[:, None]) / np.maximum(self.weights, 1e-300)[:, None]

    @cached_property
    def apart(self) -> Array:
        """(n, d) the rows, seen from the mean of their task."""
        return self.Y - self.means[self.ids]

    @cached_property
    def spreads(self) -> Array:
        """(m, d) Σ u (x − mean)² of each task."""
        return self.summed(self.u[:, None] * self.apart**2)

    @cached_property
    def within(self) -> Array:
        """(d,) the variance within tasks."""
        return self.spreads.sum(axis=0) / self.weights.sum()

    @cached_property
    def XX(self) -> Array:  # noqa: N802
        """(d, d) Σ u x xᵀ, with the variance that rounding hides."""
        found: Array = self.Y.T @ (self.u[:, None] * self.Y)
        if self.rounded:
            found[np.diag_indices(len(found))] += self.rounding * self.u.sum()
        return found

    @cached_property
    def rounding(self) -> Array:
        """(d,) the variance of rounding, from the mean distance of neighbouring values of a task.

        Without it a column of zeros and ones would make a cluster of each value, in which it has no variance at all.
        """
        found = np.zeros(self.Y.shape[1])
        for part in self.parts:
            if part.stop == part.start:
                continue
            ordered = np.sort(self.Y[part], axis=0)
            reach = ordered[-1] - ordered[0]
            gaps = np.count_nonzero(np.diff(ordered, axis=0) > SAME * reach, axis=0)
            found += len(ordered) * ROUNDING * (reach / np.maximum(gaps, 1)) ** 2
        return found / len(self.Y)

    @cached_property
    def evidence(self) -> Evidence:
        """What judges labels of these rows."""
        return Evidence(self.XX, float(self.weights.sum()), self.cost, self.round)

    @cached_property
    def whitener(self) -> Array:
        """(d, d) makes the covariance within tasks the identity."""
        return whitener(self.apart, self.u)

    @cached_property
    def scaled(self) -> Rows:
        """The rows with the columns of each task scaled to the spread of all, around the mean of the task.

        Its cost is the Jacobian of that, and what its (m − 1) d scales cost.
        """
        usual = np.where(self.within > 0, self.within, 1.0)
        n = self.weights[:, None]
        ratio = np.sqrt((self.spreads + PSEUDO_ROWS * usual) / (n + PSEUDO_ROWS) / usual)
        m, d = ratio.shape
        cost = float(np.sum(n * np.log(ratio)) + 0.5 * (m - 1) * d * np.log(max(self.weights.sum() / m, 1.0)))
        return replace(self, Y=self.means[self.ids] + self.apart / ratio[self.ids], cost=self.cost + cost)

    @cached_property
    def one_cluster(self) -> float:
        """The evidence of one cluster for all rows."""
        return self.evidence(*self.sums(np.zeros(len(self.Y), dtype=np.intp), 1)).value

    def leading(self, d: int) -> Rows:
        """Return the rows in the first d columns."""
        return replace(self, Y=self.Y[:, :d])

    def column(self, j: int) -> Rows:
        """Return the rows in one column."""
        return replace(self, Y=self.Y[:, j : j + 1])

    def part(self, at: Array) -> Rows:
        """Return some rows, `at` (n,) true; each task keeps its number."""
        u, Y = self.u[at], self.Y[at]
        sizes = np.bincount(self.ids[at], minlength=len(self.sizes))
        return replace(self, Y=Y - u @ Y / max(float(u.sum()), 1e-300), u=u, sizes=sizes)

    def of_tasks(self, ks: list[int]) -> Rows:
        """Return the rows of some tasks, as they lie here."""
        at = np.concatenate([np.arange(part.start, part.stop) for part in (self.parts[k] for k in ks)])
        return replace(self, Y=self.Y[at], u=self.u[at], sizes=self.sizes[ks])

    def summed(self, values: Array) -> Array:
        """Add up values (n, …) of the rows of each task."""
        return np.stack([values[part].sum(axis=0) for part in self.parts])

    def sums(self, labels: Array, n_clusters: int) -> tuple[Array, Array]:
        """Compute weights N (m, c) and sums T (m, c, d) of the clusters of each task."""
        m, d = len(self.sizes), self.Y.shape[1]
        group = self.ids * n_clusters + labels
        N = np.bincount(group, self.u, m * n_clusters).reshape(m, n_clusters)
        T = np.zeros((m * n_clusters, d))
        order = np.argsort(group, kind="stable")
        at = np.flatnonzero(np.diff(group[order], prepend=-1))
        T[group[order][at]] = np.add.reduceat((self.u[:, None] * self.Y)[order], at, axis=0)
        return N, T.reshape(m, n_clusters, d)

    def sums_of_all(self, labels: Sequence[Array], n_clusters: int) -> tuple[Array, Array]:
        """Compute N (R, m, c) and T (R, m, c, d) of several labels."""
        found = [self.sums(one, n_clusters) for one in labels]
        return np.stack([N for N, _ in found]), np.stack([T for _, T in found])


def whitener(Y: Array, u: Array, round: bool = False, least: Array | float = 0.0) -> Array:
    """Compute L (d, d) such that rows times L, seen from their middle, have about the identity as covariance.

    `least` (d,) are variances that count at least.
    """
    S = Y.T @ (u[:, None] * Y) / max(float(u.sum()), 1.0)
    S[np.diag_indices(len(S))] += least
    if round:
        return np.eye(len(S)) / np.sqrt(max(float(np.trace(S)) / len(S), np.finfo(float).tiny))
    v = np.diag(S)
    v = np.where(v > 0, v, v[v > 0].mean() if (v > 0).any() else 1.0)
    S = (1 - SHRINK) * S + np.diag(SHRINK * v + FLOOR * v)
    return np.linalg.cholesky(np.linalg.inv(S))


def rounding_errors(X: Array) -> Array:
    """Compute (d,) the variance of rounding errors of values (n, d)."""
    return np.asarray((VALUE_ROUNDING * np.max(np.abs(X), axis=0, initial=0.0)) ** 2)


def deviations(Ys: list[Array], us: list[Array]) -> Array:
    """Compute (d,) the deviation of each column within tasks, or a little of its whole one where it has less; or 1."""
    Y, u = np.concatenate(Ys), np.concatenate(us)
    total = np.average((Y - np.average(Y, axis=0, weights=u)) ** 2, axis=0, weights=u)
    parts = [own - np.average(own, axis=0, weights=w) for own, w in zip(Ys, us, strict=True)]
    within = np.average(np.concatenate(parts) ** 2, axis=0, weights=u)
    found = np.sqrt(np.maximum(within, LEAST_WITHIN**2 * total))
    return np.where(found > 0, found, np.median(found[found > 0]) if found.any() else 1.0)


def within_covariance(Ys: list[Array], us: list[Array], rounding: Array | None) -> Array:
    """Return the covariance within tasks, a little towards its diagonal, as the prior of the metric.

    Columns of few different values are rounded, and `rounding` is the variance of that. It counts in full, whatever the
    strength of the prior.
    """
    n, d = sum(map(len, Ys)), Ys[0].shape[1]
    Y, u = np.concatenate(Ys), np.concatenate(us)
    total = np.average((Y - np.average(Y, axis=0, weights=u)) ** 2, axis=0, weights=u)
    parts = [own - np.average(own, axis=0, weights=w) for own, w in zip(Ys, us, strict=True)]
    cov = sum((w[:, None] * own).T @ own for own, w in zip(parts, us, strict=True)) / u.sum()
    share = min(0.5, 0.01 + 0.5 * d / n)
    diagonal, noise = np.maximum(np.diag(cov), LEAST_WITHIN * total), rounding_errors(Y)
    diagonal = np.where(diagonal > noise, diagonal, np.maximum(noise, 1.0))
    found = (1 - share) * cov
    found[np.diag_indices(d)] = diagonal + (0 if rounding is None else rounding / STRENGTH)
    return found
