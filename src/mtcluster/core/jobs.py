"""Jobs: what is done with the rows of one place.

Each takes a `Place`, values per row as lists with one array per task, and what all places share; it returns values per
row and, last, a sum or None. A `RowSource` runs it in every place and adds up the sums.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import MOST_ROWS, Array, Matrix, batch_of, host, is_sparse, rows_at
from .blocks import Place, Totals, Weight
from .memberships import Membership
from .weightings import Weighting
from .weightings.quantiles import masses

if TYPE_CHECKING:
    from .model import Terms


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
