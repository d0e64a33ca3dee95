"""Blocks of rows: what is done with the rows of one place, and the calls through which the solver reaches all places.

A job works on a `Place`, the rows of one process or chunk with one block per task, reads every piece of them at most
once while it is in the cache, and returns values per row and sums of the size of the centres. Jobs do not know where
the place is: a `RowSource` runs them, in this process (`Blocks`) or elsewhere (`engines`), and adds up their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from .arrays import (
    LARGEST_PIECE,
    LEAST_ROWS,
    MOST_PIECES,
    PIECE,
    Array,
    Dtype,
    Each,
    Foreign,
    Matrix,
    Part,
    Picked,
    Summary,
    has_gaps,
    host,
    is_sparse,
    like,
    pieces,
    remaining,
    rows_at,
    squared_norms,
    summarize,
    without_gaps,
)
from .record import Record, axes

if TYPE_CHECKING:
    from .gaps import Patterns

WORTH_THREADS = 2**22  # numbers in X times columns from which on threads gain more than they cost
WINDOW_ROWS, LARGEST_WINDOW = 2**8, 2**19  # rows of each of several mixed tasks, and numbers, fetched at a time
Answer = TypeVar("Answer")
PerRow = Foreign  # a value for each row, kept where the rows live: only jobs look into it
Outputs = tuple[Foreign, ...]  # (*values per row, sum or None)
Job = Callable[..., Outputs]  # type: ignore[explicit-any]  # of (place, *values per row)


def without_rows(job: Job) -> Job:
    """Mark a job that needs weights and values per row, but not the rows, which then need not be read for it."""
    job.without_rows = True  # type: ignore[attr-defined]
    return job


def reads_rows(job: Job) -> bool:
    """Tell whether a job, or a partial one, needs the rows."""
    return not getattr(getattr(job, "func", job), "without_rows", False)


@dataclass(frozen=True)
class Block:
    """Rows of one task in one place, and what never changes about them."""

    X: Matrix  # (n_k, d)
    u: Array  # (n_k,) sample weights
    sq: Array  # (n_k,) ‖x − origin‖²
    origin: Array  # (d,), in NumPy's memory
    xp: ModuleType = np  # the library of the arrays, as the array API standard has it
    observed: Array | None = None  # (n_k,) share of the values of a row that are there; None: no value is missing
    patterns: dict[tuple[int, int], Patterns] = field(default_factory=dict)  # which values rows lack, once known

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def filled(self, X: Matrix) -> tuple[Matrix, Array | None]:
        """Return some of the rows with the origin where values are missing, and where that is (n, d); None: nowhere.

        Seen from the origin missing values are then 0, in products with centres and in sums.
        """
        if self.observed is None or not has_gaps(X, self.xp):
            return X, None
        return without_gaps(X, self.xp, like(self.origin, X, self.xp)), self.xp.isnan(X)


@dataclass(frozen=True, eq=False)
class GapSums(Record):
    """Sums over missing values, and over what is expected in their place, seen from the origin."""

    missing: Array = axes("R m c d")  # the weight of rows that lack a value
    own: Array = axes("R m c d")  # Σ of what the centre of the task says of it
    shared: Array = axes("R m c d")  # Σ of what the shared centre says of it
    XX: Array | None = axes(
        "R d d"
    )  # what both add to the scatter that the metric is made from; None: there is no metric

    def __add__(self, other: GapSums) -> GapSums:
        both = [XX for XX in (self.XX, other.XX) if XX is not None]
        XX = sum(both[1:], both[0]) if both else None
        return GapSums(self.missing + other.missing, self.own + other.own, self.shared + other.shared, XX)

    def observed(self, S: Array, T: Array, origins: Array) -> tuple[Array, Array]:
        """Weights (R, m, c, d) and sums of the values that are there, from S (R, m, c), T and the origins (m, d)."""
        return remaining(S[..., None], self.missing), T - self.missing * origins[:, None]


@dataclass(frozen=True, eq=False)
class Totals(Record):
    """Sums over rows: all that the next centres need."""

    S: Array  # (R, m, c, c) PᵀVP, or (R, m, c) its diagonal for labels
    T: Array = axes("R m c d")  # PᵀVX
    value: Array = axes("R")  # Σ v L
    XX: Array | None = None  # (R, c, …) second moments of the clusters around the origins, where these have covariances
    gaps: GapSums | None = None  # what missing values add; None: none is missing

    def __add__(self, other: Totals) -> Totals:
        XX = None if self.XX is None or other.XX is None else self.XX + other.XX
        gaps = self.gaps + other.gaps if self.gaps and other.gaps else self.gaps or other.gaps
        return Totals(self.S + other.S, self.T + other.T, self.value + other.value, XX, gaps)

    def runs(self, at: list[int]) -> Totals:
        """Take some runs."""
        return replace(self.take("R", at), S=self.S[at], XX=None if self.XX is None else self.XX[at])


@dataclass(frozen=True)
class Weight:
    """What the rows of a block count at a stage, in each run."""

    w: Array  # (R, n) u v, or (1, n) where all runs have the same
    selected: Array | None  # likewise v > 0; None: all rows are


class RowSource(Protocol):
    """All rows of all tasks, wherever they live: everything that the core knows about them."""

    n_features: int
    dtype: Dtype
    few: int  # values per row that may be brought together in one place

    @property
    def origins(self) -> Array:
        """(m, d) where the losses of each task are computed from."""

    @property
    def summary(self) -> Summary:
        """What one pass over the rows tells."""

    @property
    def gaps(self) -> bool:
        """Whether values are missing."""

    def apply(self, job: Job, *values: PerRow, outputs: int = 0) -> Outputs:
        """Run a job in every place: so many outputs per row, which stay there, and the sum of what the jobs add up."""

    def take(self, positions: list[Array] | None) -> list[Block]:
        """Rows of each task in NumPy's memory: those at some positions among the rows with u > 0; None: all rows."""

    def scatter(
        self, values: list[Array], positions: list[Array] | None = None, otherwise: PerRow | None = None
    ) -> PerRow:
        """Return values for the rows of each task, where the rows live; those not at `positions` have `otherwise`'s."""


@dataclass(frozen=True)
class Unit:
    """Parts of the rows of some tasks that are fetched and worked on together."""

    parts: list[tuple[int, Part]]  # task, and which of its rows
    window: Part | None = None  # of the matrix that they stand in; None: one part, that is fetched alone


class Place:
    """The rows of one place, one block per task, and the threads that work on them."""

    def __init__(
        self,
        Xs: Sequence[Matrix],
        us: Sequence[Array] | None = None,
        origins: Array | None = None,
        sqs: Sequence[Array] | None = None,
        xp: ModuleType = np,
        each: Each = map,
        observed: Sequence[Array | None] | None = None,
    ) -> None:
        self.Xs, self.us, self.origins, self.sqs, self.xp = list(Xs), us, origins, sqs, xp
        self.observed = observed or [None] * len(self.Xs)
        self._each, self._numbers = each, sum(X.shape[0] * X.shape[1] for X in self.Xs)
        self.piece = min(max(PIECE, self._numbers // MOST_PIECES), LARGEST_PIECE)  # whatever the number of threads

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks, with squared distances to the origin."""
        origins, us = np.asarray(self.origins), self.us or []
        if self.sqs is None:
            return [make_block(X, u, o, self.xp) for X, u, o in zip(self.Xs, us, origins, strict=True)]
        given = zip(self.Xs, us, self.sqs, origins, self.observed, strict=True)
        return [Block(X, u, sq, origin, self.xp, share) for X, u, sq, origin, share in given]

    def over_pieces(self, n_columns: int, job: Callable[[int, Part, Matrix], Answer]) -> Iterator[tuple[int, Answer]]:
        """Compute (task, answer of the job) for all pieces that are not empty, in an order that is always the same.

        The job gets the task, the part of its rows and these rows; `n_columns` values are computed for each row.
        """

        def answers(unit: Unit) -> list[Answer]:
            return [job(k, part, X) for k, part, X in self._fetched(unit)]

        units = self._units(n_columns)
        for unit, found in zip(units, self.each(n_columns)(answers, units), strict=True):
            yield from zip((k for k, _ in unit.parts), found, strict=True)

    def by_task(self, n_columns: int, job: Callable[[int, Part, Matrix], Answer]) -> list[list[Answer]]:
        """Return the same by task: task → answers for its pieces, in order."""
        found: list[list[Answer]] = [[] for _ in self.Xs]
        for k, answer in self.over_pieces(n_columns, job):
            found[k].append(answer)
        return found

    def _units(self, n_columns: int) -> list[Unit]:
        """Say what is fetched together: a piece of a task, or the rows of several tasks in a window of their matrix."""
        mixed = [k for k, X in enumerate(self.Xs) if isinstance(X, Picked) and isinstance(X.matrix, np.ndarray)]
        size = len(mixed) * WINDOW_ROWS * self.Xs[0].shape[1]
        if size > LARGEST_WINDOW or any(self.Xs[k].matrix is not self.Xs[mixed[0]].matrix for k in mixed):
            mixed = []
        units = [
            Unit([(k, part)])
            for k, X in enumerate(self.Xs)
            if X.shape[0] and k not in mixed
            for part in pieces(X, n_columns, self.piece)
        ]
        if mixed:
            most = max(min(len(mixed) * self.piece, LARGEST_WINDOW), size)
            windows = pieces(self.Xs[mixed[0]].matrix, n_columns, most)
            edges = [window.start for window in windows] + [windows[-1].stop]
            cuts = {k: np.searchsorted(self.Xs[k].index, edges).tolist() for k in mixed}
            for i, window in enumerate(windows):
                parts = [(k, slice(cuts[k][i], cuts[k][i + 1])) for k in mixed if cuts[k][i] < cuts[k][i + 1]]
                if parts:
                    units.append(Unit(parts, window))
        return units

    def _fetched(self, unit: Unit) -> Iterator[tuple[int, Part, Matrix]]:
        if unit.window is None:
            [(k, part)] = unit.parts
            yield k, part, rows_at(self.Xs[k], part)
            return
        window = np.array(self.Xs[unit.parts[0][0]].matrix[unit.window], order="C")  # it is in the cache now
        for k, part in unit.parts:
            yield k, part, np.take(window, self.Xs[k].index[part] - unit.window.start, axis=0)

    def each(self, n_columns: int) -> Each:
        """Tell what works on pieces, where so many values are computed for each row: `map`, or threads."""
        worth = self.xp is np and self._numbers * n_columns >= WORTH_THREADS  # accelerators have threads of their own
        return self._each if worth else map


class Blocks:
    """All rows in this process, as blocks."""

    few = 2**16

    def __init__(self, blocks: list[Block], each: Each = map, xp: ModuleType = np) -> None:
        Xs, us, sqs, shares = ([getattr(b, name) for b in blocks] for name in ("X", "u", "sq", "observed"))
        self.origins = np.stack([b.origin for b in blocks])
        self.place = Place(Xs, us, self.origins, sqs, xp, each, shares)
        self.n_features = int(Xs[0].shape[1])
        self.dtype = np.dtype(str(sqs[0].dtype).rpartition(".")[2])

    @cached_property
    def summary(self) -> Summary:
        """What one pass over the rows tells."""
        return summarize(self.place.Xs, self.place.us or [], self.place.xp)

    @property
    def gaps(self) -> bool:
        """Whether values are missing."""
        return any(share is not None for share in self.place.observed)

    def apply(self, job: Job, *values: PerRow, outputs: int = 0) -> Outputs:
        """Run a job on all rows."""
        return job(self.place, *values)

    def take(self, positions: list[Array] | None) -> list[Block]:
        """Return rows in NumPy's memory."""
        if positions is None:
            return self.place.blocks
        return [take(b, at) for b, at in zip(self.place.blocks, positions, strict=True)]

    def scatter(
        self, values: list[Array], positions: list[Array] | None = None, otherwise: PerRow | None = None
    ) -> list[Array]:
        """Return values where the rows live."""
        found = []
        for k, block in enumerate(self.place.blocks):
            value = values[k]
            if positions is not None and otherwise is not None and len(positions[k]) < len(block):
                value = host(otherwise[k]).copy()
                value[counting(block)[positions[k]]] = values[k]
            found.append(value if block.xp is np else block.xp.asarray(value, device=block.sq.device))
        return found


def make_block(X: Matrix, u: Foreign, origin: Array, xp: ModuleType = np) -> Block:
    """Make a block with its squared distances to the origin, which must be 0 in columns where a sparse X has zeros."""
    parts = pieces(X)
    with np.errstate(over="ignore"):
        found = [squared_norms(rows_at(X, part), origin, xp) for part in parts]
        sq = found[0] if len(found) == 1 else xp.concat(found)
        if not np.isfinite(100 * float(xp.sum(sq))):
            largest = max(_largest(rows_at(X, part), xp) for part in parts)
            raise ValueError(
                f"X holds values whose squares overflow in {X.dtype}: the largest is {largest:.1e}. Rescale X."
            )
    if is_sparse(X) or not any(has_gaps(rows_at(X, part), xp) for part in parts):
        return Block(X, u, sq, origin, xp)
    shares = [observed_share(rows_at(X, part), xp) for part in parts]
    return Block(X, u, sq, origin, xp, shares[0] if len(shares) == 1 else xp.concat(shares))


def observed_share(X: Array, xp: ModuleType = np) -> Array:
    """Compute (n,) the share of its values that a row has; 1 for rows without any, which count nothing."""
    share = 1 - xp.mean(xp.astype(xp.isnan(X), X.dtype), axis=1)
    return xp.where(share > 0, share, xp.ones_like(share))


def _largest(X: Matrix, xp: ModuleType) -> float:
    return float(abs(X).max()) if is_sparse(X) else float(xp.max(xp.abs(without_gaps(X, xp))))


def counting(block: Block) -> Array:
    """Tell which rows of a block have u > 0."""
    return np.flatnonzero(host(block.u) > 0)


def take(block: Block, at: Array) -> Block:
    """Return rows of a block in NumPy's memory: those at some positions among the rows with u > 0."""
    if len(at) == len(block) and block.xp is np:
        return block
    rows = counting(block)[at]
    here = rows if block.xp is np else block.xp.asarray(rows, device=block.sq.device)
    X = block.X[here] if is_sparse(block.X) or isinstance(block.X, Picked) else block.xp.take(block.X, here, axis=0)
    X = X.get() if is_sparse(X) and block.xp is not np else X if is_sparse(X) else host(X)
    return make_block(X, host(block.u)[rows], block.origin)


def coordinates(block: Block, at: Array, V: Array) -> Array:
    """Return rows of a block at some positions among those with u > 0, times V; few are copied at a time."""
    step = max(PIECE // block.X.shape[1], LEAST_ROWS)
    some = (take(block, at[i : i + step]) for i in range(0, len(at), step))
    found = [np.asarray(part.filled(rows_at(part.X, slice(0, len(part))))[0] @ V) for part in some]
    return np.concatenate([np.zeros((0, V.shape[1])), *found])
