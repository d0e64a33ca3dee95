"""Missing values (NaN): what a row without some of its values means for losses, centres and the metric.

Distances are those over what is observed. With the Euclidean metric the missing part of a row counts nothing:

    Σ_observed (x_l − M_l)² = ‖x − M‖² − Σ_missing (o_l − M_l)²,   x filled with the origin o,

which takes one more product, of the places that are missing with squared centres. With a shared metric, A = S⁻¹, the
loss is (x − M)_oᵀ S_oo⁻¹ (x − M)_o + log|S_oo|, the least of ‖x − M‖²_A over the missing values m, and

    x_m = M_m − A_mm⁻¹ A_mo (x − M)_o,   the conditional mean given cluster and metric,
    A_mm⁻¹,                              the conditional covariance,   log|S_oo| = log|S| + log|A_mm|.

Sums over rows that are filled with these means, and the scatter with these covariances, give centres and a metric that
never raise the objective (EM). The own and the shared centres of a loss each have their own conditional means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TypeVar

import numpy as np

from .arrays import Array, Matrix, Part, has_gaps, host, is_sparse, like, pieces, rows_at
from .blocks import Block, Outputs, Place, make_block

Found = TypeVar("Found")


@dataclass(frozen=True)
class Gaps:
    """What centres mean for missing values: own and shared centres of all tasks, seen from the origins."""

    shares: Array  # (R or 1, m or 1) λ1
    own: Array  # (R, m, c, d)
    shared: Array  # (R, m, c, d)
    A: Array | None  # (R, d, d) the metric; None: Euclidean
    alone: Array  # (m,) tasks with the Euclidean metric in any case
    origins: Array  # (m, d)

    def of_task(self, k: int, near: Array, xp: ModuleType) -> TaskGaps:
        """Return those of one task, beside its rows."""
        R, m = self.own.shape[:2]
        lam = np.broadcast_to(self.shares, (R, m))[:, k]
        A = None if self.A is None or self.alone[k] else self.A
        return TaskGaps(lam, self.own[:, k], self.shared[:, k], A, self.origins[k], near, xp)


@dataclass(frozen=True)
class TaskGaps:
    """What centres mean for missing values in the rows of one task."""

    lam: Array  # (R,)
    own: Array  # (R, c, d)
    shared: Array  # (R, c, d)
    A: Array | None  # (R, d, d)
    origin: Array  # (d,)
    near: Array  # an array in the type and the place of the rows
    xp: ModuleType

    def meet(self, X: Array, G: Array, block: Block, part: Part) -> Met:
        """Make a part of the rows of a block, filled with the origin, and where (n, d) they are."""
        if self.A is None:
            return Plain(self, G)
        key = (part.start, part.stop)
        if key not in block.patterns:
            block.patterns[key] = Patterns(list(patterns(host(G))))
        return Measured(self, X, G, block.patterns[key])

    @property
    def parts(self) -> list[tuple[Array, Array]]:
        """Centres (R, c, d) and their shares (R,) of the loss: own and shared."""
        return [(self.own, self.lam), (self.shared, 1 - self.lam)]

    @cached_property
    def half_squares(self) -> Array:
        """(R c, d) half of what a missing value would add to the loss if the row were at the origin."""
        found = sum(share[:, None, None] * C**2 for C, share in self.parts) / 2
        return like(np.reshape(found, (-1, self.own.shape[2])), self.near, self.xp)


@dataclass(frozen=True)
class RowGaps:
    """`GapSums` of some rows of one task; sums of the size of the centres (R, c, d), and (R, d, d)."""

    missing: Array | None  # None: nothing but the value is wanted
    own: Array | None
    shared: Array | None
    XX: Array | None  # None: the task has no part in the metric
    value: Array  # (R,) what log|S_oo| adds to the objective, beside log|S|


def missing_weights(F: Array, G: Array, xp: ModuleType) -> Array:
    """Compute (R, c, d) the weights F (R, c, n) of rows that lack values, where G (n, d) is 1."""
    R, c, n = F.shape
    return host(xp.reshape(F, (R * c, n)) @ G).astype(np.float64).reshape(R, c, -1)


class Met:
    """Rows with missing values at some centres."""

    def corrections(self) -> Array:
        """Compute (R, c, n) half of what the loss of each label is too large by."""
        raise NotImplementedError

    def sums(self, F: Array, labels: Array | None = None) -> RowGaps:
        """Return sums with weights F (R, c, n) of rows in clusters; `labels` (R, n): each row is in one."""
        raise NotImplementedError

    def value(self, w: Array) -> RowGaps:
        """Tell what rows with weights w (R, n) add to the objective, and nothing else."""
        return RowGaps(None, None, None, None, np.zeros(w.shape[0]))


class Plain(Met):
    """With the Euclidean metric."""

    def __init__(self, terms: TaskGaps, G: Array) -> None:
        self.terms, self.G = terms, terms.xp.astype(G, terms.near.dtype)

    def corrections(self) -> Array:
        """Return one product."""
        terms, (R, c, _) = self.terms, self.terms.own.shape
        return terms.xp.reshape(terms.half_squares @ self.G.T, (R, c, self.G.shape[0]))

    def sums(self, F: Array, labels: Array | None = None) -> RowGaps:
        """Make a missing value is expected where the centre is."""
        terms, missing = self.terms, missing_weights(F, self.G, self.terms.xp)
        return RowGaps(missing, missing * terms.own, missing * terms.shared, None, np.zeros(len(missing)))


class Measured(Met):
    """With a shared metric: in NumPy's memory and in double precision, wherever the rows are."""

    def __init__(self, terms: TaskGaps, X: Array, G: Array, known: Patterns) -> None:
        self.terms, self.G, self.known, self.groups = terms, host(G), known, known.groups
        self.Y = host(X).astype(np.float64) - terms.origin

    @cached_property
    def inverses(self) -> list[list[Array]]:
        """Run → group of rows → A_mm⁻¹ (p, k, k) of each pattern."""
        assert self.terms.A is not None
        return self.known.inverses(self.terms.A)

    @cached_property
    def solved(self) -> list[tuple[Array, Array]]:
        """For both parts of the loss the conditional means, and what they save; one that has no share is the other."""
        return self._both(self._solve)

    def _both(self, solve: Callable[[Array], Found]) -> list[Found]:
        """Tell what is found at own and at shared centres."""
        (own, lam), (shared, _) = self.terms.parts
        first = solve(own if lam.any() else shared)
        return [first, first if not lam.any() or lam.min() == 1 else solve(shared)]

    def _solve(self, C: Array) -> tuple[Array, Array]:
        """Get conditional means (R, c, n, d) at centres C (R, c, d), 0 where values are there; half the corrections."""
        (R, c, d), n = C.shape, len(self.Y)
        means, half = np.zeros((R, c, n, d)), np.zeros((R, c, n))
        assert self.terms.A is not None
        for r, A in enumerate(self.terms.A):
            y, CA = self.Y @ A, C[r] @ A
            for group, P in zip(self.groups, self.inverses[r], strict=True):
                rows, cells = group.rows, group.cells
                U = y[rows[:, None], cells] - CA[:, cells]  # (c, n, k)
                solved = np.matmul(P[group.pattern], np.moveaxis(U, 0, 2))  # (n, k, c)
                solved = np.moveaxis(solved, 2, 0)
                means[r][:, rows[:, None], cells] = -solved
                half[r][:, rows] = np.einsum("cnk,cnk->cn", U, solved) / 2
        return means, half

    def corrections(self) -> Array:
        """Tell what the conditional means save."""
        terms = self.terms
        found = sum(share[:, None, None] * half for (_, half), (_, share) in zip(self.solved, terms.parts, strict=True))
        return like(np.asarray(found), terms.near, terms.xp)

    def expected(self, labels: Array) -> list[Array]:
        """For both parts of the loss the conditional means (R, n, d) in the cluster (R, n) of each row."""
        if "solved" in self.__dict__:  # of all clusters
            R, n = labels.shape
            return [means[np.arange(R)[:, None], labels, np.arange(n)] for means, _ in self.solved]
        return self._both(lambda C: self._solve_own(C, labels))

    def _solve_own(self, C: Array, labels: Array) -> Array:
        """Return the same at centres C (R, c, d)."""
        means = np.zeros((len(C), *self.Y.shape))
        assert self.terms.A is not None
        for r, A in enumerate(self.terms.A):
            y = (self.Y - C[r][labels[r]]) @ A
            for group, P in zip(self.groups, self.inverses[r], strict=True):
                at = group.rows[:, None], group.cells
                means[r][at] = -np.matmul(P[group.pattern], y[at][:, :, None])[:, :, 0]
        return means

    def sums(self, F: Array, labels: Array | None = None) -> RowGaps:
        """Return conditional means and covariances."""
        F = host(F).astype(np.float64)
        (R, c, _), d = F.shape, self.Y.shape[1]
        sums, XX, w = [], np.zeros((R, d, d)), F.sum(axis=1)
        if labels is not None:
            for means, (_, share) in zip(self.expected(host(labels)), self.terms.parts, strict=True):
                sums.append(F @ means)
                for r in np.flatnonzero(share).tolist():
                    XX[r] += share[r] * _spread(w[r], means[r], self.Y)
        else:
            for (found, _), (_, share) in zip(self.solved, self.terms.parts, strict=True):
                sums.append(np.einsum("rcn,rcnd->rcd", F, found))
                for r in np.flatnonzero(share).tolist():
                    XX[r] += share[r] * sum(_spread(F[r, j], found[r, j], self.Y) for j in range(c))
        for r in range(R):
            for group, P in zip(self.groups, self.inverses[r], strict=True):
                of_pattern = np.bincount(group.pattern, weights=w[r, group.rows], minlength=len(P))
                at = group.kinds[:, :, None] * d + group.kinds[:, None, :]
                weights = of_pattern[:, None, None] * P
                XX[r] += np.bincount(at.ravel(), weights=weights.ravel(), minlength=d * d).reshape(d, d)
        own, shared = sums
        return RowGaps(F @ self.G.astype(np.float64), own, shared, XX, self.value(w).value)

    def value(self, w: Array) -> RowGaps:
        """Compute Σ w log|A_mm|."""
        w = host(w)
        found = np.zeros(len(self.inverses))
        for r, own in enumerate(self.inverses):
            for group, P in zip(self.groups, own, strict=True):
                of_pattern = np.bincount(group.pattern, weights=w[min(r, len(w) - 1), group.rows], minlength=len(P))
                found[r] -= of_pattern @ np.linalg.slogdet(P)[1]
        return RowGaps(None, None, None, None, found)


def _spread(w: Array, means: Array, Y: Array) -> Array:
    """Tell what means (n, d) add to the second moments of rows Y with weights w, which are 0 where they have values."""
    weighted = w[:, None] * means
    cross = weighted.T @ Y
    return cross + cross.T + weighted.T @ means


MOST_INVERSES = 2**20  # numbers of inverses that are kept for some rows


@dataclass(frozen=True)
class LackingRows:
    """Rows that lack the same number of values."""

    rows: Array  # (n,)
    cells: Array  # (n, k) which values they lack
    kinds: Array  # (p, k) which values a pattern lacks
    pattern: Array  # (n,) the pattern of each row


class Patterns:
    """The groups of some rows; the inverses of the last metric are kept, which several jobs ask for."""

    def __init__(self, groups: list[LackingRows]) -> None:
        self.groups = groups
        self.last: tuple[Array, list[list[Array]]] | None = None

    def inverses(self, metrics: Array) -> list[list[Array]]:
        """Run → group → A_mm⁻¹ (p, k, k) of each pattern."""
        if self.last is not None and np.array_equal(self.last[0], metrics):
            return self.last[1]
        found = [[conditional(A, group) for group in self.groups] for A in metrics]
        if sum(P.size for own in found for P in own) <= MOST_INVERSES:
            self.last = metrics, found
        return found


def patterns(G: Array) -> Iterator[LackingRows]:
    """Yield rows (n, d) with missing values, by how many and by which they lack."""
    counts = np.count_nonzero(G, axis=1)
    for k in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == k)
        cells = np.nonzero(G[rows])[1].reshape(len(rows), k)
        kinds, pattern = np.unique(cells, axis=0, return_inverse=True)
        yield LackingRows(rows, cells, kinds, pattern.ravel())


def conditional(A: Array, group: LackingRows) -> Array:
    """For each pattern of a group, the conditional covariance A_mm⁻¹ (p, k, k)."""
    return np.linalg.inv(A[group.kinds[:, :, None], group.kinds[:, None, :]])


MOST_FEATURES = 50  # of rows that are completed by a covariance


def columns_there(block: Block) -> Array:
    """Compute (d,) columns in which some row of a block has a value."""
    if block.observed is None:
        return np.ones(block.X.shape[1], dtype=bool)
    return ~np.isnan(np.asarray(block.X[:])).all(axis=0)


def by_itself(block: Block) -> Block:
    """Return the rows with what the mean and the covariance of all of them expect in place of missing values.

    Nothing is assumed about clusters. Rows of many features have means.
    """
    if block.observed is None:
        return block
    X = np.asarray(block.X[:], dtype=np.float64)
    G = np.isnan(X)
    n = np.maximum(np.sum(~G, axis=0), 1)
    mean = np.where(G.all(axis=0), block.origin, np.sum(np.where(G, 0, X), axis=0) / n)
    Y = np.where(G, 0, X - mean)
    if X.shape[1] <= MOST_FEATURES:
        seen = (~G).astype(np.float64)
        cov = (Y.T @ Y) / np.maximum(seen.T @ seen, 1)
        widths = np.sqrt(np.diag(cov))
        widths = np.where(widths > 0, widths, 1)
        Y, cov = Y / widths, cov / (widths[:, None] * widths)  # units of columns do not matter
        variances = np.diag(cov)
        cov = 0.9 * cov + np.diag(0.1 * variances + np.where(variances > 0, 0, 1))  # pairs have rows of their own
        values, vectors = np.linalg.eigh(cov)
        A = (vectors / np.maximum(values, 0.01 * np.median(values))) @ vectors.T
        for group in patterns(G):
            P = conditional(A, group)[group.pattern]
            U = (Y[group.rows] @ A)[np.arange(len(group.rows))[:, None], group.cells]
            Y[group.rows[:, None], group.cells] = -np.einsum("nkl,nl->nk", P, U)
        Y *= widths
    return make_block((mean + Y).astype(block.X.dtype), block.u, block.origin)


def without_values(X: Matrix, xp: ModuleType = np) -> Array | None:
    """Compute (n,) rows that have no value at all; None: all have."""
    if is_sparse(X):
        return None
    parts = [rows_at(X, part) for part in pieces(X)]
    if not any(has_gaps(rows, xp) for rows in parts):
        return None
    return xp.concat([xp.all(xp.isnan(rows), axis=1) for rows in parts])


def empty_rows(place: Place) -> Outputs:
    """Tell which rows have no value at all."""
    found = []
    for X in place.Xs:
        empty = without_values(X, place.xp)
        if empty is None:
            device = getattr(getattr(X, "matrix", X), "device", None)
            empty = place.xp.zeros((X.shape[0],), dtype=place.xp.bool, device=device)
        found.append(empty)
    return found, None


def counted(X: Matrix, u: Array, xp: ModuleType = np) -> Array:
    """Sample weights, 0 for rows that have no value at all: they count nothing."""
    empty = without_values(X, xp)
    return u if empty is None else xp.where(empty, xp.zeros_like(u), u)


def completed(block: Block, terms: TaskGaps, labels: Array) -> Array:
    """The rows of a block with what is expected in place of missing values, in the cluster (n,) of each; of one run."""
    X, G = block.filled(block.X[:])
    if G is None:
        return X
    if terms.A is None:
        means = [C[0][labels] for C, _ in terms.parts]
    else:
        met = Measured(terms, X, G, Patterns(list(patterns(G))))
        means = [found[0] for found in met.expected(labels[None])]
    expected = sum(share[0] * mean for mean, (_, share) in zip(means, terms.parts, strict=True))
    return np.where(G, block.origin + expected, X)
