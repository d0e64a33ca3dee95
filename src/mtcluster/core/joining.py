"""A task joins: where the known clusters lie in it, which of them it holds, and its own centres.

The shared centres z_j stay where they are. Labels, the offset b_k of the new task and its own centres M_kj are found in
turn, as in a fit. Tasks that lie apart begin at several offsets, among them those that bring a centre of the new task
onto a known one, so that it need not hold the clusters in the usual proportions; the lowest sum of losses counts,
with a price for offsets longer than is usual. A cluster is held if its rows would fit worse without it by more than the
price of a centre.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from . import jobs
from .arrays import Array, Matrix, host
from .blocks import Block, PerRow, Place, RowSource, Totals, Weight
from .centers import Centers, centers_of
from .completing import by_itself, columns_there
from .frames import PSEUDO_ROWS
from .kmeans import kmeans
from .model import Model
from .offsets import Offsets
from .sampling import Sampling, take_few
from .smoothing import DIRECTIONS, smoothed_centers
from .smoothing import distances as squared_distances
from .solver import side_by_side, totals_of
from .terms import Terms

ENOUGH = 5  # rows per cluster that a new task needs before its rows say where it lies and what it holds
ROUNDS = 10  # of labels, offsets and centres
FEW_ROUNDS = 1  # after smoothing: more would drift away from it, as in a fit
MATCHED = 4  # starts that bring a centre of the new task onto a known one
MOST_GAIN = 5.0  # nats that one row can say for a cluster: an outlier must not make one
SAMPLE = Sampling(3000, 500)


@dataclass(frozen=True)
class Known:
    """What is known about the clusters, and about tasks, before others join."""

    held: Array  # (c,) clusters that some task holds
    sizes: Array  # (c,) their rows
    share: float  # λ1 of a task that joins
    shrinkage: float | None  # κ of it, where that draws centres to the shared ones
    reach: float | None  # mean squared length of the offsets of tasks; None: tasks do not lie apart
    widths: float | None  # spread between the clusters of a task of scale 1; None: tasks have no scales
    temperature: float  # half a loss divided by it is in nats
    decided: bool = True  # is it decided which clusters a task holds? Else it holds those that it has rows of


@dataclass(frozen=True)
class Joined:
    """The model of the tasks of the rows, with those that joined, and the evidence for what these hold."""

    model: Model
    centers: Centers  # of one run
    support: Array  # (m, c)
    enough: Array  # (m,) whether there were rows enough to tell


def join(
    rows: RowSource, model: Model, centers: Centers, new: list[int], known: Known, weights: PerRow | None = None
) -> Joined:
    """Let the tasks `new` of the rows join, of a model of all tasks of the rows, in which theirs means nothing.

    `weights`: what the rows count; None: their sample weights.
    """
    m, c = len(rows.origins), model.n_clusters
    model, centers = in_the_middle(model, centers, new, known)
    counts = rows.summary.counting
    if weights is None:
        weights, _ = rows.apply(jobs.unit_weights, outputs=1)
    able = [k for k in new if counts[k] >= ENOUGH * c]
    enough, support = np.isin(np.arange(m), able), np.tile(known.held.astype(float), (m, 1))
    if not able:
        return Joined(model, centers, support, enough)
    model = _sharing(model, able, known)
    if known.reach is not None:
        model = _located(rows, weights, model, centers, able, known)
    rounds, smooth = ROUNDS, model.membership.labels_only and model.metric is None and rows.n_features > DIRECTIONS
    if smooth:
        rounds, centers = FEW_ROUNDS, _smoothed(rows, model, centers, able, known)
    model, centers = _settled(rows, weights, model, centers, able, known, rounds)
    if model.membership.diagonal and c > 1:
        support[able] = evidence(rows, weights, model, centers, known)[able]
        present = np.array(model.held((1, m, c)))
        present[0, able] &= (support[able] >= 0.5) | (not known.decided)
        for k in able:
            present[0, k, np.where(known.held, support[k], -1).argmax()] = True  # a task holds something
        if (present != model.held((1, m, c))).any():
            model = replace(model, present=present)
            model, centers = _settled(rows, weights, model, centers, able, known, rounds)
    return Joined(model, centers, support, enough)


def in_the_middle(model: Model, centers: Centers, new: list[int], known: Known) -> tuple[Model, Centers]:
    """New tasks where the shared centres lie, without centres of their own; they may hold all clusters."""
    m, c = len(centers.Ms), model.n_clusters
    shares = np.array(np.broadcast_to(model.shares[0], (m,)))
    shares[new] = 0.0
    present = np.array(model.held((1, m, c)))
    present[0, new] = known.held
    offsets, kappa, prior = model.offsets, model.shrinkage, centers.log_shares
    if offsets is not None:
        offsets = Offsets(offsets.b.copy(), offsets.s.copy())
        offsets.b[new], offsets.s[new] = 0, 1
    if kappa is not None:
        kappa = np.array(np.broadcast_to(kappa, (1, m)))
        kappa[:, new] = np.inf
    if prior is not None:
        prior = prior.copy()
        prior[new] = -np.log(known.held.sum())
    model = replace(
        model, within_weight=shares, offsets=offsets, present=None if present.all() else present, shrinkage=kappa
    )  # fmt: skip
    Ms = centers.Ms.astype(np.float64)
    Ms[new] = model.placed_points(centers.shared[None], m)[0, new]
    return model, replace(centers, Ms=Ms, log_shares=prior)


def _smoothed(rows: RowSource, model: Model, centers: Centers, able: list[int], known: Known) -> Centers:
    """Own centres of wide rows as they are after smoothing, by a sample: what a fit takes from its consensus."""
    blocks, Ms = take_few(rows, SAMPLE, np.random.default_rng(0)), centers.Ms.copy()
    placed, held = model.placed_points(centers.shared[None], len(Ms))[0], known.held
    for k in able:
        Ms[k] = placed[k]
        whole = by_itself(blocks[k])
        Ms[k, held] = smoothed_centers(whole.X, whole.u, placed[k, held], known.share)
    return replace(centers, Ms=Ms)


def _sharing(model: Model, able: list[int], known: Known) -> Model:
    """Tasks of enough rows have centres of their own."""
    if model.shrinkage is not None and known.shrinkage is not None:
        kappa = model.shrinkage.copy()
        kappa[:, able] = known.shrinkage
        return replace(model, shrinkage=kappa)
    shares = np.array(model.shares[0])
    shares[able] = known.share
    return replace(model, within_weight=shares)


def _located(rows: RowSource, weights: PerRow, model: Model, centers: Centers, able: list[int], known: Known) -> Model:
    """Offsets from the best of several starts; without centres of their own, which would follow any of them."""
    assert model.offsets is not None
    means, shared = rows.summary.means, centers.shared
    b, s = model.offsets.b, model.offsets.s.copy()
    middle = known.sizes @ shared / known.sizes.sum()
    starts = np.stack([b] * (2 + MATCHED))
    blocks = take_few(rows, SAMPLE, np.random.default_rng(0))
    for k in able:
        own, sizes = _clusters(by_itself(blocks[k]), int(known.held.sum()))
        if known.widths:
            s[k] = max(width_of(own, sizes) / known.widths, np.finfo(np.float64).tiny)
        there = columns_there(blocks[k])  # elsewhere it lies as the others do
        starts[1, k] = np.where(there, means[k] - s[k] * middle, 0)
        starts[2:, k] = 0
        starts[2:, k, there] = _pairs(own[:, there], sizes, s[k] * shared[known.held][:, there])
    alone = replace(model, offsets=Offsets(starts, s), within_weight=0.0)
    if alone.shrinkage is not None:
        alone = replace(alone, shrinkage=np.full((1, 1), np.inf))
    found, losses = np.empty_like(starts), np.empty((len(b), len(starts)))
    for group in side_by_side(rows, alone, len(starts)):
        runs = list(group)
        several = centers.runs(None).runs([0] * len(runs))
        settled, several = _rounds(rows, weights, alone.runs(runs), several, able, known)
        assert settled.offsets is not None
        found[runs] = settled.offsets.b
        own = rows.apply(jobs.weighted_sums, _nearest(rows, settled, several)[1])[-1].reshape(len(b), -1)
        losses[:, runs] = own + _price(settled, several, known).T
    b = b.copy()
    b[able] = found[losses.argmin(axis=1), np.arange(len(b))][able]
    return replace(model, offsets=Offsets(b, s))


def _clusters(block: Block, n_clusters: int) -> tuple[Array, Array]:
    """Centres of k-means of the rows of a task, and their sizes."""
    state = kmeans([block], n_clusters, np.random.default_rng(0)).state
    sizes = np.bincount(state.Ps[0][0], weights=block.u, minlength=n_clusters)
    return state.centers.Z[0], sizes


def width_of(centers: Array, sizes: Array) -> float:
    """The spread between centres."""
    middle = sizes @ centers / sizes.sum()
    return float(np.sqrt(sizes @ np.sum((centers - middle) ** 2, axis=1) / sizes.sum()))


def _pairs(found: Array, sizes: Array, shared: Array) -> Array:
    """(MATCHED, d) of the offsets that bring one centre onto another, those after which all lie near some."""
    apart, between = squared_distances(found, found), squared_distances(shared, shared)
    G = found @ shared.T
    losses = np.empty(G.shape)
    for p in range(len(found)):  # ‖(x_i − x_p) − (z_j − z_q)‖² of all q, i and j
        products = (G - G[p])[None] - (G[:, :, None] - G[p, :, None]).transpose(1, 0, 2)
        least = np.min(apart[p][None, :, None] + between[:, None, :] - 2 * products, axis=2)
        losses[p] = np.maximum(least, 0) @ sizes
    lengths = squared_distances(shared, found)  # of the offsets: the shorter one, where others do as well
    best = np.lexsort((lengths.ravel(), losses.ravel().round(9)))[:MATCHED]
    ours, theirs = np.divmod(np.resize(best, MATCHED), len(shared))
    return found[ours] - shared[theirs]


def _price(model: Model, centers: Centers, known: Known) -> Array:
    """(R, m) what offsets cost: that of a normal prior whose variance is that of the offsets of known tasks."""
    assert model.offsets is not None
    b, shape = model.offsets.b, model.shape(centers)
    squares = np.sum(b * b, axis=2) if shape is None else np.sum(shape.times(b[:, :, None])[:, :, 0] * b, axis=2)
    reach = max(known.reach or 0.0, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):  # where known tasks have no offsets, any other than 0 costs too much
        return known.temperature * (b.shape[2] * (squares / reach))


def _settled(
    rows: RowSource, weights: PerRow, model: Model, centers: Centers, able: list[int], known: Known, rounds: int
) -> tuple[Model, Centers]:
    """Offsets and centres of one run."""
    model, found = _rounds(rows, weights, model, centers.runs(None), able, known, rounds)
    if model.offsets is not None and model.offsets.b.ndim == 3:
        model = replace(model, offsets=Offsets(model.offsets.b[0], model.offsets.s))
    return model, found.runs(0)


def _rounds(
    rows: RowSource,
    weights: PerRow,
    model: Model,
    centers: Centers,
    able: list[int],
    known: Known,
    rounds: int = ROUNDS,
) -> tuple[Model, Centers]:
    """Labels, then offsets and centres, a few times, or until losses stall."""
    last = np.inf
    for _ in range(rounds):
        Ps, Ls = _nearest(rows, model, centers)
        value = rows.apply(jobs.weighted_sums, Ls)[-1].reshape(len(rows.origins), -1)[able].sum()
        if not value < last * (1 - 1e-6):
            break
        last = value
        totals = totals_of(rows, replace(model, covariance=None), Ps, weights, centers)
        model, centers = _follow(model, centers, totals.S, whole_sums(model, totals), able, known)
    return model, centers


def _nearest(rows: RowSource, model: Model, centers: Centers) -> tuple[PerRow, PerRow]:
    terms = model.terms(centers, rows.origins, gaps=rows.gaps)
    job = partial(jobs.nearest, terms=terms, membership=model.membership)
    Ps, Ls, _ = rows.apply(job, outputs=2)
    return Ps, Ls


def whole_sums(model: Model, totals: Totals) -> Array:
    """T (R, m, c, d) with what the centres expect in place of missing values."""
    if totals.gaps is None:
        return totals.T
    lam = np.ones((1, 1, 1, 1)) if model.shrinkage is not None else model.shares[:, :, None, None]
    return totals.T + lam * totals.gaps.own + (1 - lam) * totals.gaps.shared


def _follow(model: Model, centers: Centers, S: Array, T: Array, able: list[int], known: Known) -> tuple[Model, Centers]:
    """Offsets, own centres and proportions of the tasks that join, from their sums."""
    Z, m = centers.shared, S.shape[1]
    if known.reach is not None and model.offsets is not None:
        b, s = np.broadcast_to(model.offsets.b, (len(S), *T.shape[1:2], T.shape[3])).copy(), model.offsets.s
        total = np.maximum(S.sum(axis=2), np.finfo(np.float64).tiny)[..., None]
        moved = (T.sum(axis=2) - s[:, None] * np.einsum("rkc,rcd->rkd", S, Z)) / total
        b[:, able] = moved[:, able]
        model = replace(model, offsets=Offsets(b, s))
    placed = model.placed_points(Z, m)
    means = centers_of(S, T, placed)
    if model.shrinkage is not None:
        kappa = np.broadcast_to(model.shrinkage, (1, m))[..., None]
        means = placed + (S / (S + kappa))[..., None] * (means - placed)
    Ms, prior = np.array(np.broadcast_to(centers.Ms, means.shape)), centers.log_shares
    Ms[:, able] = means[:, able]
    if prior is not None:
        held = model.held(S.shape)
        found = S + PSEUDO_ROWS / held.sum(axis=2, keepdims=True)
        found = found if model.membership.labels_only else np.where(held, found, 0)  # labels do without the others
        with np.errstate(divide="ignore"):
            prior = np.array(np.broadcast_to(prior, S.shape))
            prior[:, able] = np.log(found / found.sum(axis=2, keepdims=True))[:, able]
    return model, replace(centers, Ms=Ms, log_shares=prior)


def evidence(rows: RowSource, weights: PerRow, model: Model, centers: Centers, known: Known) -> Array:
    """(m, c) the share of the evidence for a cluster in the evidence and the price of a centre."""
    terms = model.terms(centers.runs(None), rows.origins, energy=False, gaps=rows.gaps)
    job = partial(_evidence, terms=terms, temperature=known.temperature)
    found = rows.apply(job, weights)[-1]
    price = 0.5 * min(rows.n_features + 1, model.n_clusters) * np.log(np.maximum(rows.summary.sizes, 2.0))
    return found / (found + price[:, None])


def _evidence(place: Place, weights: list[Weight], *, terms: Terms, temperature: float) -> tuple[Array]:
    """(m, c) by how much the rows of each cluster would fit worse in the second best one, in nats."""
    blocks, c = place.blocks, terms.C.shape[2]
    local, found = terms.where(blocks[0]), np.zeros((len(blocks), c))

    def job(k: int, part: slice, X: Matrix) -> Array:
        X, met = local[k].meet(X, blocks[k], part)
        D = np.array(host(local[k].quadratic(X, blocks[k].sq[part], met).D[0, ...]), dtype=np.float64)
        own, at = D.argmin(axis=0), np.arange(D.shape[1])
        here = D[own, at]
        D[own, at] = np.inf
        gain = np.minimum((D.min(axis=0) - here) / temperature, MOST_GAIN)
        return np.bincount(own, weights=host(weights[k].w[0, part]) * gain, minlength=c)

    for k, gains in place.over_pieces(terms.n_columns, job):
        found[k] += gains
    return (found,)
