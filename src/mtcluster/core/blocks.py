"""Rows in one place, a block a task, and the calls through which the solver sees them.

Each call reads every piece of the rows at most once, while it is in the cache, and returns sums: c × c and c × d.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from . import pacing, updates
from .arrays import (
    LARGEST_PIECE,
    LEAST_ROWS,
    PIECE,
    Array,
    Each,
    Picked,
    Summary,
    host,
    is_sparse,
    pieces,
    rows_at,
    summarize,
)
from .model import Block, Centers, Settings, Terms, make_block
from .projection import Span, span_of
from .readout import read_out

WORTH_THREADS = 2**19  # numbers in X from which on handing out pieces costs less than it gains
PerRow = Any  # what is of every row, one item a block or a chunk: only the rows themselves look into it
UNLOCK = 0.2  # added to labels as a non-negative start: a multiplicative update never leaves 0


@dataclass(frozen=True)
class Totals:
    """What the rows have to say about the next centres: sums over them."""

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


class Rows(Protocol):
    """All that the solver knows of the rows: they may live in this process (`LocalRows`) or in others.

    What is of every row goes in lists that only the rows themselves look into.
    """

    n_clusters: int
    origins: Array  # (m, d) where the losses of each task are computed from

    @property
    def summary(self) -> Summary:
        """What one look at the rows tells."""

    @property
    def blocks(self) -> list[Block]:
        """The rows themselves, which the projection coupling needs in one place."""

    @property
    def span(self) -> Span:
        """The span of all rows, for the projection coupling."""

    def begin(self, Ps: PerRow, settings: Settings) -> tuple[PerRow, PerRow]:
        """Starting memberships as they are kept, and weights of 1."""

    def totals(self, Ps: PerRow, vs: PerRow) -> Totals:
        """The sums at given memberships and weights."""

    def losses(self, Ps: PerRow, terms: Terms) -> PerRow:
        """The losses at given memberships and centres."""

    def advance(self, Ps: PerRow, vs: PerRow, terms: Terms, settings: Settings) -> tuple[PerRow, PerRow, Totals]:
        """The membership step at given centres: memberships, losses and sums."""

    def weights(self, Ls: PerRow, pace: pacing.Schedule, fraction: float) -> PerRow:
        """The weights of a stage that selects a fraction of the rows of each task."""

    def place(self, values: list[Array]) -> PerRow:
        """What NumPy has for every row of each task, where the rows live."""

    def take(self, positions: list[Array]) -> list[Block]:
        """Rows of each task in NumPy's memory: those at the given places among the rows that count."""

    def where(self, positions: list[Array]) -> list[Array]:
        """The numbers of these rows in the order in which all rows came."""

    def coordinates(self, positions: list[Array], V: Array) -> list[Array]:
        """These rows times V, (…, l)."""

    def extend(self, labels: list[Array], positions: list[Array], settings: Settings, centers: Centers) -> PerRow:
        """Labels of all rows: those given for the rows that `take` took, the others by the nearest centre."""

    def read_out(self, settings: Settings, centers: Centers) -> tuple[PerRow, PerRow]:
        """Memberships and losses of all rows at the final centres."""

    def sizes(self, Ps: PerRow) -> Array:
        """Σ u p of each task and cluster, (m, c)."""

    def sum(self, Ls: PerRow) -> Array:
        """Σ u L of each task, (m,)."""

    def energy(self) -> Array:
        """Σ u ‖x − origin‖² of each task, (m,)."""


class LocalRows:
    """All rows, in this process."""

    def __init__(
        self,
        blocks: list[Block],
        n_clusters: int,
        each: Each = map,
        summary: Summary | None = None,
        places: list[Any] | None = None,
    ) -> None:
        self.blocks, self.n_clusters = blocks, n_clusters
        self.places = places  # where the rows of each block stand in the user's order
        self.piece = min(PIECE * max(getattr(each, "n_threads", 1) // 2, 1), LARGEST_PIECE)
        self.each = each if sum(b.X.shape[0] * b.X.shape[1] for b in blocks) >= WORTH_THREADS else map
        self.origins = np.stack([b.origin for b in blocks])
        self._summary = summary
        self._stage: tuple[list[Array] | None, list[Weight]] = (None, [])

    @property
    def summary(self) -> Summary:
        if self._summary is None:
            self._summary = summarize([b.X for b in self.blocks], [b.u for b in self.blocks], self.blocks[0].xp)
        return self._summary

    @cached_property
    def span(self) -> Span:
        return span_of(self.blocks)

    def begin(self, Ps: list[Array], settings: Settings) -> tuple[list[Array], list[Array]]:
        kept = [begin(P, b.sq, settings, self.n_clusters, b.xp) for b, P in zip(self.blocks, Ps, strict=True)]
        return kept, [b.xp.ones_like(b.sq) for b in self.blocks]

    def totals(self, Ps: list[Array], vs: list[Array]) -> Totals:
        return totals(self.blocks, Ps, self._weights(vs), self.n_clusters, self.each, self.piece)

    def losses(self, Ps: list[Array], terms: Terms) -> list[Array]:
        return losses(self.blocks, Ps, terms, self.n_clusters, self.each, self.piece)

    def advance(
        self, Ps: list[Array], vs: list[Array], terms: Terms, settings: Settings
    ) -> tuple[list[Array], list[Array], Totals]:
        return advance(self.blocks, Ps, self._weights(vs), terms, settings, self.n_clusters, self.each, self.piece)

    def _weights(self, vs: list[Array]) -> list[Weight]:
        """Made once a stage: all its iterations come with the same list."""
        last, weights = self._stage
        if last is not vs:
            weights = weights_of(self.blocks, vs)
            self._stage = (vs, weights)
        return weights

    def weights(self, Ls: list[Array], pace: pacing.Schedule, fraction: float) -> list[Array]:
        near, us = [host(L) for L in Ls], [host(b.u) for b in self.blocks]
        found = pace.thresholds(fraction, len(Ls), lambda *probe: pacing.masses(near, us, *probe), near[0].dtype)
        return [pace.weights(L, own, b.xp) for b, L, own in zip(self.blocks, Ls, found, strict=True)]

    def place(self, values: list[Array]) -> list[Array]:
        return [
            v if b.xp is np else b.xp.asarray(v, device=b.sq.device) for b, v in zip(self.blocks, values, strict=True)
        ]

    def take(self, positions: list[Array]) -> list[Block]:
        return [take(b, at) for b, at in zip(self.blocks, positions, strict=True)]

    def where(self, positions: list[Array]) -> list[Array]:
        starts = np.cumsum([0, *map(len, self.blocks)])
        places = self.places or [slice(a, b) for a, b in itertools.pairwise(starts.tolist())]
        everyone = np.arange(starts[-1])
        return [everyone[at][counting(b)[own]] for b, at, own in zip(self.blocks, places, positions, strict=True)]

    def coordinates(self, positions: list[Array], V: Array) -> list[Array]:
        return [coordinates(b, at, V) for b, at in zip(self.blocks, positions, strict=True)]

    def extend(self, labels: list[Array], positions: list[Array], settings: Settings, centers: Centers) -> list[Array]:
        found = []
        for k, (b, own, at) in enumerate(zip(self.blocks, labels, positions, strict=True)):
            if len(at) == len(b):
                found.append(own)
                continue
            everyone = host(read_out(b.X, settings, centers, k, b.xp, self.each)[0]).copy()
            everyone[counting(b)[at]] = own
            found.append(everyone)
        return self.place(found)

    def read_out(self, settings: Settings, centers: Centers) -> tuple[list[Array], list[Array]]:
        found = [read_out(b.X, settings, centers, k, b.xp, self.each) for k, b in enumerate(self.blocks)]
        return [P for P, _ in found], [L for _, L in found]

    def sizes(self, Ps: list[Array]) -> Array:
        return np.stack([sizes(b.u, P, self.n_clusters, b.xp) for b, P in zip(self.blocks, Ps, strict=True)])

    def sum(self, Ls: list[Array]) -> Array:
        return np.array([float(b.xp.sum(b.u * L, dtype=b.xp.float64)) for b, L in zip(self.blocks, Ls, strict=True)])

    def energy(self) -> Array:
        return self.sum([b.sq for b in self.blocks])


def begin(P: Array, like: Array, settings: Settings, n_clusters: int, xp: Any = np) -> Array:
    """Starting memberships as the solver keeps them: labels, or memberships that are not locked at 0."""
    if settings.membership == "binary":
        return P if P.ndim == 1 else xp.argmax(P, axis=1)
    return P if P.ndim == 2 else updates.one_hot(P, n_clusters, like, xp) + UNLOCK


def take(block: Block, at: Array) -> Block:
    """Some rows of a block in NumPy's memory: those at the given places among the rows that count."""
    if len(at) == len(block) and block.xp is np:
        return block
    rows = counting(block)[at]
    here = rows if block.xp is np else block.xp.asarray(rows, device=block.sq.device)
    X = block.X[here] if is_sparse(block.X) or isinstance(block.X, Picked) else block.xp.take(block.X, here, axis=0)
    X = X.get() if is_sparse(X) and block.xp is not np else X if is_sparse(X) else host(X)
    return make_block(X, host(block.u)[rows], block.origin)


def counting(block: Block) -> Array:
    """Which rows of a block count."""
    return np.flatnonzero(host(block.u) > 0)


def coordinates(block: Block, at: Array, V: Array) -> Array:
    """Rows of a block, at the given places among those that count, times V: few are copied at a time."""
    step = max(PIECE // block.X.shape[1], LEAST_ROWS)
    some = (take(block, at[i : i + step]) for i in range(0, len(at), step))
    found = [np.asarray(rows_at(part.X, slice(0, len(part))) @ V) for part in some]
    return np.concatenate([np.zeros((0, V.shape[1])), *found])


def weights_of(blocks: list[Block], vs: list[Array]) -> list[Weight]:
    """What the rows of each block count, for weights v."""
    found = []
    for block, v in zip(blocks, vs, strict=True):
        selected = v > 0
        found.append(Weight(block.u * v, None if bool(block.xp.all(selected)) else selected))
    return found


def sizes(u: Array, P: Array, n_clusters: int, xp: Any = np) -> Array:
    """Σ u p of each cluster."""
    if P.ndim == 1:
        return np.bincount(host(P), weights=host(u), minlength=n_clusters)
    return host(xp.astype(u, xp.float64) @ xp.astype(P, xp.float64))


def totals(
    blocks: list[Block], Ps: list[Array], weights: list[Weight], n_clusters: int, each: Each = map, piece: int = PIECE
) -> Totals:
    """The sums of the rows of a place at given memberships and weights."""

    def job(at: tuple[int, slice]) -> tuple[Array, ...]:
        k, part = at
        b, w = blocks[k], rows_at(weights[k].w, part)
        return updates.sums(rows_at(b.X, part), w, rows_at(Ps[k], part), n_clusters, b.xp)

    sums = _Sums(blocks, n_clusters)
    for (k, _), found in _over_pieces(blocks, n_clusters, job, each, piece):
        sums.add(k, *found)
    return sums.totals()


def losses(
    blocks: list[Block], Ps: list[Array], terms: Terms, n_clusters: int, each: Each = map, piece: int = PIECE
) -> list[Array]:
    """The losses of the rows of a place at given memberships and centres."""
    local = terms.where(blocks[0])

    def job(at: tuple[int, slice]) -> Array:
        k, part = at
        return local[k].quadratic(rows_at(blocks[k].X, part), rows_at(blocks[k].sq, part)).losses(rows_at(Ps[k], part))

    Ls: list[list[Array]] = [[] for _ in blocks]
    for (k, _), L in _over_pieces(blocks, n_clusters, job, each, piece):
        Ls[k].append(L)
    return [_joined(parts, b.sq, b.xp) for parts, b in zip(Ls, blocks, strict=True)]


def advance(
    blocks: list[Block],
    Ps: list[Array],
    weights: list[Weight],
    terms: Terms,
    settings: Settings,
    n_clusters: int,
    each: Each = map,
    piece: int = PIECE,
) -> tuple[list[Array], list[Array], Totals]:
    """The membership step of the rows of a place; an example that is not selected keeps its memberships.

    Both products with X are taken of one piece after the other: X is read once.
    """
    local = terms.where(blocks[0])
    binary = settings.membership == "binary"

    def job(at: tuple[int, slice]) -> tuple[Array, ...]:
        k, part = at
        b, weight, xp = blocks[k], weights[k], blocks[k].xp
        X, old, w = rows_at(b.X, part), rows_at(Ps[k], part), rows_at(weight.w, part)
        form = local[k].quadratic(X, rows_at(b.sq, part))
        P = updates.nearest(form) if binary else updates.nonnegative_step(old, form)
        if weight.selected is not None:
            selected = rows_at(weight.selected, part)
            P = xp.where(selected if binary else selected[:, None], P, old)
        L = form.least_losses(P) if binary and weight.selected is None else form.losses(P)
        return P, L, *updates.sums(X, w, P, n_clusters, xp), xp.sum(w * L, dtype=xp.float64)

    new: list[list[Array]] = [[] for _ in blocks]
    Ls: list[list[Array]] = [[] for _ in blocks]
    sums = _Sums(blocks, n_clusters)
    for (k, _), (P, L, *found) in _over_pieces(blocks, n_clusters, job, each, piece):
        new[k].append(P)
        Ls[k].append(L)
        sums.add(k, *found)
    Ps = [_joined(parts, P, b.xp) for parts, P, b in zip(new, Ps, blocks, strict=True)]
    return Ps, [_joined(parts, b.sq, b.xp) for parts, b in zip(Ls, blocks, strict=True)], sums.totals()


class _Sums:
    """Adds up, in the order of the pieces: which thread was first changes nothing."""

    def __init__(self, blocks: list[Block], n_clusters: int) -> None:
        self.blocks, self.n_clusters = blocks, n_clusters
        self.parts: list[list[Array] | None] = [None] * len(blocks)

    def add(self, k: int, *found: Array) -> None:
        xp, sums = self.blocks[k].xp, self.parts[k]
        if sums is None:
            self.parts[k] = [x if x.dtype == xp.float64 else xp.astype(x, xp.float64) for x in found]
        else:
            for i, x in enumerate(found):
                sums[i] += x

    def totals(self) -> Totals:
        m, c, d = len(self.blocks), self.n_clusters, self.blocks[0].X.shape[1]
        S, T, value = np.zeros((m, c, c)), np.zeros((m, c, d)), 0.0
        found = _fetched(self.blocks, self.parts)
        for k, parts in enumerate(found):
            found[k] = None  # as large as the centres of a task
            if parts is not None:
                S[k] = np.diag(parts[0]) if parts[0].ndim == 1 else parts[0]
                T[k] = parts[1]
                value += float(parts[2]) if len(parts) > 2 else 0.0
        return Totals(S, T, value)


def _fetched(blocks: list[Block], sums: list[list[Array] | None]) -> list[list[Array] | None]:
    """Small arrays, of the same shapes for each task, in NumPy's memory: in one transfer."""
    xp, some = blocks[0].xp, next((parts for parts in sums if parts), None)
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


def _over_pieces(
    blocks: list[Block], n_clusters: int, job: Callable[[tuple[int, slice]], Any], each: Each, piece: int
) -> Iterable[tuple[tuple[int, slice], Any]]:
    """(task, piece) and what the job makes of it, for all pieces that are not empty, in order."""
    jobs = [(k, part) for k, b in enumerate(blocks) if len(b) for part in pieces(b.X, n_clusters, piece)]
    return zip(jobs, each(job, jobs), strict=True)


def _joined(parts: list[Array], otherwise: Array, xp: Any) -> Array:
    if not parts:
        return otherwise[:0]
    return parts[0] if len(parts) == 1 else xp.concat(parts)
