"""Blocks of rows: what is done with the rows of one place, and the calls through which the solver reaches all places.

A job works on a `Place`, the rows of one process or chunk with one block per task, reads every piece of them at most
once while it is in the cache, and returns values per row and sums of the size of the centres. Jobs do not know where
the place is: a `RowSource` runs them, in this process (`Blocks`) or elsewhere (`engines`), and adds up their sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .arrays import (
    LARGEST_PIECE,
    LEAST_ROWS,
    MOST_ROWS,
    PIECE,
    Array,
    Each,
    Matrix,
    Picked,
    Summary,
    batch_of,
    host,
    is_sparse,
    pieces,
    rows_at,
    squared_norms,
    summarize,
)
from .memberships import Membership
from .weightings import Weighting
from .weightings.quantiles import masses

if TYPE_CHECKING:
    from .model import Terms

WORTH_THREADS = 2**19  # numbers in X from which on threads gain more than they cost
PerRow = Any  # a value for each row, kept where the rows live: only jobs look into it
Job = Callable[..., tuple[Any, ...]]  # (place, *values per row) → (*values per row, sum or None)


@dataclass(frozen=True)
class Block:
    """Rows of one task in one place, and what never changes about them."""

    X: Matrix  # (n_k, d)
    u: Array  # (n_k,) sample weights
    sq: Array  # (n_k,) ‖x − origin‖²
    origin: Array  # (d,), in NumPy's memory
    xp: Any = np  # the library of the arrays, as the array API standard has it

    def __len__(self) -> int:
        return int(self.X.shape[0])


@dataclass(frozen=True)
class Totals:
    """Sums over rows: all that the next centres need."""

    S: Array  # (m, c, c) PᵀVP
    T: Array  # (m, c, d) PᵀVX
    value: float = 0.0  # Σ v L

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.S + other.S, self.T + other.T, self.value + other.value)


@dataclass(frozen=True)
class Weight:
    """What the rows of a block count at a stage."""

    w: Array  # u v
    selected: Array | None  # v > 0; None: all rows are


class RowSource(Protocol):
    """All rows of all tasks, wherever they live: everything that the core knows about them."""

    n_features: int
    dtype: Any
    origins: Array  # (m, d) where the losses of each task are computed from

    @property
    def summary(self) -> Summary:
        """What one pass over the rows tells."""

    def apply(self, job: Job, *values: PerRow, outputs: int = 0) -> tuple[Any, ...]:
        """Run a job in every place: so many outputs per row, which stay there, and the sum of what the jobs add up."""

    def take(self, positions: list[Array] | None) -> list[Block]:
        """Rows of each task in NumPy's memory: those at some positions among the rows with u > 0; None: all rows."""

    def scatter(
        self, values: list[Array], positions: list[Array] | None = None, otherwise: PerRow | None = None
    ) -> PerRow:
        """Values for the rows of each task, where the rows live; those not at `positions` have `otherwise`'s."""


class Place:
    """The rows of one place, one block per task, and the threads that work on them."""

    def __init__(
        self,
        Xs: Sequence[Matrix],
        us: Sequence[Array] | None = None,
        origins: Array | None = None,
        sqs: Sequence[Array] | None = None,
        xp: Any = np,
        each: Each = map,
    ) -> None:
        self.Xs, self.us, self.origins, self.sqs, self.xp = list(Xs), us, origins, sqs, xp
        self.piece = min(PIECE * max(getattr(each, "n_threads", 1) // 2, 1), LARGEST_PIECE)
        self.each = each if sum(X.shape[0] * X.shape[1] for X in self.Xs) >= WORTH_THREADS else map

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks, with squared distances to the origin."""
        origins, us = np.asarray(self.origins), self.us or []
        if self.sqs is None:
            return [make_block(X, u, o, self.xp) for X, u, o in zip(self.Xs, us, origins, strict=True)]
        return [Block(*given, self.xp) for given in zip(self.Xs, us, self.sqs, origins, strict=True)]

    def over_pieces(
        self, n_clusters: int, job: Callable[[tuple[int, slice]], Any]
    ) -> Iterable[tuple[tuple[int, slice], Any]]:
        """(task, piece) and the job's answer, for all pieces that are not empty, in order."""
        jobs = [(k, p) for k, X in enumerate(self.Xs) if X.shape[0] for p in pieces(X, n_clusters, self.piece)]
        return zip(jobs, self.each(job, jobs), strict=True)


class Blocks:
    """All rows in this process, as blocks."""

    def __init__(self, blocks: list[Block], each: Each = map, xp: Any = np) -> None:
        Xs, us, sqs = ([getattr(b, name) for b in blocks] for name in ("X", "u", "sq"))
        self.origins = np.stack([b.origin for b in blocks])
        self.place = Place(Xs, us, self.origins, sqs, xp, each)
        self.n_features = int(Xs[0].shape[1])
        self.dtype = np.dtype(str(sqs[0].dtype).rpartition(".")[2])

    @cached_property
    def summary(self) -> Summary:
        """What one pass over the rows tells."""
        return summarize(self.place.Xs, self.place.us or [], self.place.xp)

    def apply(self, job: Job, *values: PerRow, outputs: int = 0) -> tuple[Any, ...]:
        """Run a job on all rows."""
        return job(self.place, *values)

    def take(self, positions: list[Array] | None) -> list[Block]:
        """Rows in NumPy's memory."""
        if positions is None:
            return self.place.blocks
        return [take(b, at) for b, at in zip(self.place.blocks, positions, strict=True)]

    def scatter(
        self, values: list[Array], positions: list[Array] | None = None, otherwise: PerRow | None = None
    ) -> list[Array]:
        """Values where the rows live."""
        found = []
        for k, block in enumerate(self.place.blocks):
            value = values[k]
            if positions is not None and otherwise is not None and len(positions[k]) < len(block):
                value = host(otherwise[k]).copy()
                value[counting(block)[positions[k]]] = values[k]
            found.append(value if block.xp is np else block.xp.asarray(value, device=block.sq.device))
        return found


def make_block(X: Matrix, u: Any, origin: Array, xp: Any = np) -> Block:
    """A block with its squared distances to the origin, which must be 0 in columns where a sparse X has zeros."""
    parts = pieces(X)
    with np.errstate(over="ignore"):
        found = [squared_norms(rows_at(X, part), origin, xp) for part in parts]
        sq = found[0] if len(found) == 1 else xp.concat(found)
        if not np.isfinite(100 * float(xp.sum(sq))):
            largest = max(_largest(rows_at(X, part), xp) for part in parts)
            raise ValueError(
                f"X holds values whose squares overflow in {X.dtype}: the largest is {largest:.1e}. Rescale X."
            )
    return Block(X, u, sq, origin, xp)


def _largest(X: Matrix, xp: Any) -> float:
    return float(abs(X).max()) if is_sparse(X) else float(xp.max(xp.abs(X)))


def counting(block: Block) -> Array:
    """Which rows of a block have u > 0."""
    return np.flatnonzero(host(block.u) > 0)


def take(block: Block, at: Array) -> Block:
    """Rows of a block in NumPy's memory: those at some positions among the rows with u > 0."""
    if len(at) == len(block) and block.xp is np:
        return block
    rows = counting(block)[at]
    here = rows if block.xp is np else block.xp.asarray(rows, device=block.sq.device)
    X = block.X[here] if is_sparse(block.X) or isinstance(block.X, Picked) else block.xp.take(block.X, here, axis=0)
    X = X.get() if is_sparse(X) and block.xp is not np else X if is_sparse(X) else host(X)
    return make_block(X, host(block.u)[rows], block.origin)


def coordinates(block: Block, at: Array, V: Array) -> Array:
    """Rows of a block at some positions among those with u > 0, times V; few are copied at a time."""
    step = max(PIECE // block.X.shape[1], LEAST_ROWS)
    some = (take(block, at[i : i + step]) for i in range(0, len(at), step))
    found = [np.asarray(rows_at(part.X, slice(0, len(part))) @ V) for part in some]
    return np.concatenate([np.zeros((0, V.shape[1])), *found])


# Jobs: each takes a place, values per row as lists with one array per task, and what all places share.


def begin(place: Place, Ps: list[Array], *, membership: Membership, n_clusters: int) -> tuple[Any, ...]:
    """Starting memberships in the form in which they are kept, and weights of 1."""
    kept = [membership.start(P, b.sq, n_clusters, b.xp) for b, P in zip(place.blocks, Ps, strict=True)]
    return kept, [b.xp.ones_like(b.sq) for b in place.blocks], None


def stage_weights(place: Place, vs: list[Array]) -> tuple[Any, ...]:
    """What the rows count at a stage, for weights v."""
    found = []
    for block, v in zip(place.blocks, vs, strict=True):
        selected = v > 0
        found.append(Weight(block.u * v, None if bool(block.xp.all(selected)) else selected))
    return found, None


def totals(
    place: Place, Ps: list[Array], weights: list[Weight], *, membership: Membership, n_clusters: int
) -> tuple[Totals]:
    """The sums at given memberships and weights."""
    blocks = place.blocks

    def job(at: tuple[int, slice]) -> tuple[Array, ...]:
        k, part = at
        X, P, w = rows_at(blocks[k].X, part), rows_at(Ps[k], part), rows_at(weights[k].w, part)
        return row_sums(X, P, w, membership, n_clusters, blocks[k].xp)

    sums = _Sums(place, n_clusters)
    for (k, _), found in place.over_pieces(n_clusters, job):
        sums.add(k, *found)
    return (sums.totals(),)


def losses(place: Place, Ps: list[Array], *, terms: Terms, membership: Membership) -> tuple[Any, ...]:
    """The losses at given memberships and centres."""
    blocks = place.blocks
    local = terms.where(blocks[0])

    def job(at: tuple[int, slice]) -> Array:
        k, part = at
        form = local[k].quadratic(rows_at(blocks[k].X, part), rows_at(blocks[k].sq, part))
        return membership.losses(rows_at(Ps[k], part), form)

    Ls: list[list[Array]] = [[] for _ in blocks]
    for (k, _), L in place.over_pieces(terms.n_clusters, job):
        Ls[k].append(L)
    return [_joined(parts, b.sq, b.xp) for parts, b in zip(Ls, blocks, strict=True)], None


def advance(
    place: Place, Ps: list[Array], weights: list[Weight], *, terms: Terms, membership: Membership
) -> tuple[Any, ...]:
    """The membership step: memberships, losses and sums; a row that is not selected keeps its memberships.

    Both products with X are taken piece by piece: X is read once.
    """
    blocks, c = place.blocks, terms.n_clusters
    local = terms.where(blocks[0])

    def job(at: tuple[int, slice]) -> tuple[Array, ...]:
        k, part = at
        b, weight, xp = blocks[k], weights[k], blocks[k].xp
        X, old, w = rows_at(b.X, part), rows_at(Ps[k], part), rows_at(weight.w, part)
        form = local[k].quadratic(X, rows_at(b.sq, part))
        P = membership.step(old, form)
        if weight.selected is not None:
            P = membership.keep(rows_at(weight.selected, part), P, old, xp)
        # An accelerator finds the least loss again faster than it looks it up.
        fast = membership.labels_only and weight.selected is None and xp is not np
        L = form.least_losses() if fast else membership.losses(P, form)
        return P, L, *row_sums(X, P, w, membership, c, xp), xp.sum(w * L, dtype=xp.float64)

    new: list[list[Array]] = [[] for _ in blocks]
    Ls: list[list[Array]] = [[] for _ in blocks]
    sums = _Sums(place, c)
    for (k, _), (P, L, *found) in place.over_pieces(c, job):
        new[k].append(P)
        Ls[k].append(L)
        sums.add(k, *found)
    Ps = [_joined(parts, P, b.xp) for parts, P, b in zip(new, Ps, blocks, strict=True)]
    return Ps, [_joined(parts, b.sq, b.xp) for parts, b in zip(Ls, blocks, strict=True)], sums.totals()


def bring_to_host(place: Place, Ls: list[Array]) -> tuple[Any, ...]:
    """Losses and sample weights in NumPy's memory, as histograms need them."""
    return [host(L) for L in Ls], [host(b.u) for b in place.blocks], None


def loss_histograms(
    place: Place, Ls: list[Array], us: list[Array], *, probes: list[tuple[int, int]], level: int
) -> tuple[Array]:
    """How much weight has which bits of the loss: see `weightings.quantiles`."""
    return (masses(Ls, us, probes, level),)


def weigh(place: Place, Ls: list[Array], *, weighting: Weighting, thresholds: list[list[float]]) -> tuple[Any, ...]:
    """Weights v at the thresholds found for each task."""
    pairs = zip(Ls, thresholds, strict=True)
    return [weighting.weights(L, found, place.xp) if L.shape[0] else L for L, found in pairs], None


def cluster_sizes(place: Place, Ps: list[Array], *, membership: Membership, n_clusters: int) -> tuple[Array]:
    """Σ u p of each task and cluster, (m, c)."""
    return (np.stack([membership.sizes(P, b.u, n_clusters, b.xp) for b, P in zip(place.blocks, Ps, strict=True)]),)


def weighted_sums(place: Place, Ls: list[Array]) -> tuple[Array]:
    """Σ u L of each task, (m,)."""
    pairs = zip(place.blocks, Ls, strict=True)
    return (np.array([float(b.xp.sum(b.u * L, dtype=b.xp.float64)) for b, L in pairs]),)


def energies(place: Place) -> tuple[Array]:
    """Σ u ‖x − origin‖² of each task, (m,)."""
    return weighted_sums(place, [b.sq for b in place.blocks])


def row_sums(
    X: Matrix, P: Array, w: Array, membership: Membership, n_clusters: int, xp: Any = np
) -> tuple[Array, Array]:
    """S = PᵀVP, or its diagonal for labels, and T = PᵀVX of some rows with weights w = u v."""
    R, S = membership.responsibilities(P, w, n_clusters, xp)
    return S, _times(R, X, xp)


def _times(R: Array, X: Matrix, xp: Any) -> Array:
    """R X, (c, n) by (n, d), in sums over no more rows than single precision bears."""
    if is_sparse(X):
        return (X.T @ R.T).T
    n = X.shape[0]
    if n <= MOST_ROWS:
        return R @ X
    size = batch_of(n)
    whole = n - n % size
    batches = xp.permute_dims(xp.reshape(X[:whole, :], (whole // size, size, X.shape[1])), (0, 2, 1))
    columns = xp.permute_dims(xp.reshape(R[:, :whole], (R.shape[0], whole // size, size)), (1, 2, 0))
    total = xp.sum(batches @ columns, axis=0, dtype=xp.float64).T
    return total if whole == n else total + xp.astype(R[:, whole:] @ X[whole:, :], xp.float64)


class _Sums:
    """Adds up in the order of the pieces, whichever thread was first."""

    def __init__(self, place: Place, n_clusters: int) -> None:
        self.place, self.shape = place, (len(place.Xs), n_clusters, place.Xs[0].shape[1])
        self.parts: list[list[Array] | None] = [None] * len(place.Xs)

    def add(self, k: int, *found: Array) -> None:
        xp, sums = self.place.xp, self.parts[k]
        if sums is None:
            self.parts[k] = [x if x.dtype == xp.float64 else xp.astype(x, xp.float64) for x in found]
        else:
            for i, x in enumerate(found):
                sums[i] += x

    def totals(self) -> Totals:
        m, c, d = self.shape
        S, T, value = np.zeros((m, c, c)), np.zeros((m, c, d)), 0.0
        found = _fetched(self.parts, self.place.xp)
        for k, parts in enumerate(found):
            found[k] = None  # as large as the centres of a task
            if parts is not None:
                S[k] = np.diag(parts[0]) if parts[0].ndim == 1 else parts[0]
                T[k] = parts[1]
                value += float(parts[2]) if len(parts) > 2 else 0.0
        return Totals(S, T, value)


def _fetched(sums: list[list[Array] | None], xp: Any) -> list[list[Array] | None]:
    """Small arrays, of the same shapes for each task, in NumPy's memory: in one transfer."""
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


def _joined(parts: list[Array], otherwise: Array, xp: Any) -> Array:
    if not parts:
        return otherwise[:0]
    return parts[0] if len(parts) == 1 else xp.concat(parts)
