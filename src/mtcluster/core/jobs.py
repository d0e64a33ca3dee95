"""Jobs: what is done with the rows of one place.

Each takes a `Place`, values per row as lists with one array per task, and what all places share; it returns values per
row and, last, a sum or None. A `RowSource` runs it in every place and adds up the sums.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from . import fused
from .arrays import Array, Foreign, Matrix, Part, host, is_sparse, like
from .blocks import Block, Outputs, PerRow, Place, Totals, Weight, without_rows
from .gaps import Met
from .memberships import Membership
from .sums import RowSums, Spread, missing_sums, row_sums
from .weightings import Gathered, Weighting, masses

if TYPE_CHECKING:
    from .covariances import OfClusters
    from .terms import TaskTerms, Terms


@without_rows
def begin(place: Place, *starts: list[Array], membership: Membership, n_clusters: int) -> Outputs:
    """Return starting memberships of each run in the form in which they are kept."""
    kept = [
        b.xp.stack([membership.start(P, b.sq, n_clusters, b.xp) for P in Ps])
        for b, *Ps in zip(place.blocks, *starts, strict=True)
    ]
    return kept, None


def nearest(place: Place, *, terms: Terms, membership: Membership) -> Outputs:
    """Return the memberships of least loss at given centres, and the losses."""
    blocks = place.blocks
    local = terms.where(blocks[0])

    def job(k: int, part: Part, X: Matrix) -> tuple[Array, Array]:
        return membership.nearest(local[k].quadratic(*_seen(local[k], blocks[k], part, X)))

    runs, found = len(terms.C), list(zip(place.by_task(terms.n_columns, job), blocks, strict=True))
    return *([_joined([part[i] for part in parts], runs, b) for parts, b in found] for i in (0, 1)), None


@without_rows
def unit_weights(place: Place) -> Outputs:
    """Tell what the rows count where all weights v are 1, alike in all runs."""
    return [Weight(b.u[None, :], None) for b in place.blocks], None


@without_rows
def stage_weights(place: Place, vs: list[Array]) -> Outputs:
    """Tell what the rows count at a stage, for weights v."""
    found = []
    for block, v in zip(place.blocks, vs, strict=True):
        selected = v > 0
        found.append(Weight(block.u * v, None if bool(block.xp.all(selected)) else selected))
    return found, None


@without_rows
def pick_runs(place: Place, *values: PerRow, at: list[int] | int) -> Outputs:
    """Return values per row of some of the runs; of one they have no axis of the runs."""
    return *([_picked(one, at, place.xp) for one in value] for value in values), None


@without_rows
def join_runs(place: Place, *parts: list[Array], order: list[int]) -> Outputs:
    """Return values per row of the runs of several parts, in another order."""
    xp = place.xp
    return [_picked(xp.concat(own), order, xp) for own in zip(*parts, strict=True)], None


def _picked(value: Foreign, at: list[int] | int, xp: ModuleType) -> Foreign:
    if isinstance(value, Weight):
        if value.w.shape[0] == 1:  # alike in all runs
            return value
        return Weight(_picked(value.w, at, xp), None if value.selected is None else _picked(value.selected, at, xp))
    if xp is np or isinstance(at, int):
        return value[at, ...]
    return xp.take(value, xp.asarray(at, device=value.device), axis=0)


def totals(
    place: Place,
    Ps: list[Array],
    weights: list[Weight],
    *,
    membership: Membership,
    n_clusters: int,
    covariance: OfClusters | None = None,
    terms: Terms | None = None,
) -> tuple[Totals]:
    """Return the sums at given memberships and weights; with covariances of the clusters their second moments too.

    `terms`: those of the centres that missing values are expected at; None: each is expected at the origin.
    """
    blocks, runs = place.blocks, Ps[0].shape[0]
    local = None if terms is None else terms.where(blocks[0])

    def job(k: int, part: Part, X: Matrix) -> Outputs:
        b, P, w = blocks[k], Ps[k][..., part], weights[k].w[:, part]
        X, G = b.filled(X)
        sums = row_sums(X, P, w, membership, n_clusters, b.xp)
        if covariance is None and G is None:
            return None, *sums
        F = membership.columns(P, w, n_clusters, b.xp) * w[:, None, :]
        gaps, own = None, None if local is None else local[k].gaps
        if G is not None:
            labels = P if membership.labels_only else None
            gaps = missing_sums(F, G, b.xp) if own is None else own.meet(X, G, b, part).sums(F, labels)
        if covariance is None:
            return gaps, *sums
        return gaps, *sums, covariance.moments(X, b.sq[part], like(b.origin, b.sq, b.xp), F, b.xp)

    sums = RowSums(place, runs, n_clusters, membership, covariance is not None)
    for k, (gaps, *found) in place.over_pieces(runs * n_clusters, job):
        sums.add(k, *found)
        sums.add_gaps(k, gaps)
    return (sums.totals(),)


def losses(place: Place, Ps: list[Array], *, terms: Terms, membership: Membership) -> Outputs:
    """Return the losses at given memberships and centres."""
    blocks = place.blocks
    local = terms.where(blocks[0])

    def job(k: int, part: Part, X: Matrix) -> Array:
        form = local[k].quadratic(*_seen(local[k], blocks[k], part, X))
        return membership.losses(Ps[k][..., part], form)

    Ls = place.by_task(terms.n_columns, job)
    return [_joined(parts, P.shape[0], b) for parts, P, b in zip(Ls, Ps, blocks, strict=True)], None


def advance(
    place: Place, Ps: list[Array], weights: list[Weight], *, terms: Terms, membership: Membership, last: bool = False,
    exact: bool = False,
) -> Outputs:  # fmt: skip
    """Return the membership step: memberships, losses and sums; a row that is not selected keeps its memberships.

    Both products with X are taken piece by piece: X is read once. `last`: no centres follow, and the sums that they
    would be made from are left at 0. `exact`: memberships are those of least loss.
    """
    blocks, (runs, _, c, _) = place.blocks, terms.C.shape
    local = terms.where(blocks[0])

    def job(k: int, part: Part, X: Matrix) -> Outputs:
        b, weight, xp = blocks[k], weights[k], blocks[k].xp
        w = weight.w[:, part]
        selected = None if weight.selected is None else weight.selected[:, part]
        X, sq, met = _seen(local[k], b, part, X)
        form = local[k].quadratic(X, sq, met)
        P, L = membership.nearest(form) if exact else membership.step(Ps[k][..., part], form, selected)
        sums: tuple[Array, ...] = () if last else row_sums(X, P, w, membership, c, xp)
        own, gaps = local[k].own, None
        if met is not None and last:
            gaps = met.value(w)
        elif met is not None:
            labels = P if membership.labels_only else None
            gaps = met.sums(membership.columns(P, w, c, xp) * w[:, None, :], labels)
        if own is not None and not last:
            sums = *sums, own.moments(X, b.sq[part], membership.columns(P, w, c, xp) * w[:, None, :], xp)
        return P, L, gaps, xp.sum(w * L, axis=1, dtype=xp.float64), *sums

    new: list[list[Array]] = [[] for _ in blocks]
    Ls: list[list[Array]] = [[] for _ in blocks]
    sums = RowSums(place, runs, c, membership, terms.own is not None and not last)
    answers = place.over_pieces(terms.n_columns, job)
    if not exact and all(fused.available(b, membership, own) for b, own in zip(blocks, local, strict=True)):
        answers = ((k, _fused(b, local[k], Ps[k], weights[k])) for k, b in enumerate(blocks))
    for k, (P, L, gaps, *found) in answers:
        new[k].append(P)
        Ls[k].append(L)
        sums.add(k, *found)
        sums.add_gaps(k, gaps)
    Ps = [_joined(parts, runs, b, P) for parts, P, b in zip(new, Ps, blocks, strict=True)]
    return Ps, [_joined(parts, runs, b) for parts, b in zip(Ls, blocks, strict=True)], sums.totals()


def _fused(b: Block, terms: TaskTerms, P: Array, weight: Weight) -> Outputs:
    """Return the same by the kernel, which knows no missing values."""
    new, L, *sums = fused.step(b, terms, P, weight)
    return new, L, None, *sums


def _seen(terms: TaskTerms, block: Block, part: Part, X: Matrix) -> tuple[Matrix, Array, Met | None]:
    """Return some rows as their losses need them: filled, their squared lengths, and what is missing."""
    X, met = terms.meet(X, block, part)
    return X, block.sq[part], met


@without_rows
def by_observed(place: Place, Ls: list[Array]) -> Outputs:
    """Return losses by the share of the values that are there: else rows with missing values would look easy."""
    return [L if b.observed is None else L / b.observed for b, L in zip(place.blocks, Ls, strict=True)], None


@without_rows
def bring_to_host(place: Place, Ls: list[Array]) -> Outputs:
    """Return losses and sample weights in NumPy's memory, as histograms need them."""
    return [host(L) for L in Ls], [host(b.u) for b in place.blocks], None


@without_rows
def loss_histograms(
    place: Place, Ls: list[Array], us: list[Array], *, probes: list[tuple[int, int, int]], level: int
) -> tuple[Array]:
    """Tell how much weight has which bits of the loss: see `weightings.quantiles`."""
    return (masses(Ls, us, probes, level),)


@without_rows
def gathered_losses(place: Place, Ls: list[Array]) -> tuple[Gathered]:
    """Return the losses and sample weights themselves."""
    return (Gathered(Ls, [b.u for b in place.blocks], place.xp),)


@without_rows
def weigh(place: Place, Ls: list[Array], *, weighting: Weighting, thresholds: list[list[list[float]]]) -> Outputs:
    """Return weights v (R, n) at the thresholds found for each task and run."""
    xp = place.xp

    def of_task(L: Array, found: list[list[float]]) -> Array:
        return xp.stack([weighting.weights(L[r, :], own, xp) for r, own in enumerate(found)])

    return [of_task(L, found) if L.shape[1] else L for L, found in zip(Ls, thresholds, strict=True)], None


@without_rows
def cluster_sizes(place: Place, Ps: list[Array], *, membership: Membership, n_clusters: int) -> tuple[Array]:
    """Compute Σ u p of each task and cluster, (m, c)."""
    return (np.stack([membership.sizes(P, b.u, n_clusters, b.xp) for b, P in zip(place.blocks, Ps, strict=True)]),)


@without_rows
def weighted_sums(place: Place, Ls: list[Array]) -> tuple[Array]:
    """Compute Σ u L of each task, (m,) or (m, R)."""
    pairs = zip(place.blocks, Ls, strict=True)
    return (np.stack([host(b.xp.sum(b.u * L, axis=-1, dtype=b.xp.float64)) for b, L in pairs]),)


def scatter(place: Place, weights: list[Weight], *, V: Array | None, sharing: Array) -> tuple[Spread]:
    """Σ w (x − origin)(x − origin)ᵀ over the tasks that share, in the directions V, and Σ w ‖x − origin‖² of each."""
    blocks, xp = place.blocks, place.xp
    runs, l = weights[0].w.shape[0], place.Xs[0].shape[1] if V is None else V.shape[1]
    XX, energy, sizes = np.zeros((runs, l, l)), np.zeros((runs, len(blocks))), np.zeros((runs, len(blocks)))
    origins = [like(b.origin if V is None else b.origin @ V, b.sq, xp) for b in blocks]
    turned = None if V is None else like(V, blocks[0].sq, xp)

    def job(k: int, part: Part, X: Matrix) -> tuple[Array, ...]:
        w = weights[k].w[:, part]
        sums = xp.sum(w * blocks[k].sq[part], axis=1, dtype=xp.float64), xp.sum(w, axis=1, dtype=xp.float64)
        if not sharing[k]:
            return sums
        X = X.toarray() if turned is None and is_sparse(X) else blocks[k].filled(X)[0]
        Y = (X if turned is None else X @ turned) - origins[k]
        return *sums, xp.stack([(Y * w[r, :, None]).T @ Y for r in range(runs)])

    for k, (e, size, *moments) in place.over_pieces(l, job):
        energy[:, k] += host(e)
        sizes[:, k] += host(size)
        if moments:
            XX += host(moments[0])
    return (Spread(XX, energy, sizes, sharing),)


@without_rows
def energies(place: Place) -> tuple[Array]:
    """Compute Σ u ‖x − origin‖² of each task, (m,)."""
    return weighted_sums(place, [b.sq for b in place.blocks])


def _joined(parts: list[Array], runs: int, block: Block, like: Array | None = None) -> Array:
    """Return values of the pieces of a block side by side; of an empty block those that it had, or none."""
    if len(parts) == 1:
        return parts[0]
    if parts:
        return block.xp.concat(parts, axis=-1)
    return like if like is not None else block.xp.zeros((runs, 0), dtype=block.sq.dtype, device=block.sq.device)
