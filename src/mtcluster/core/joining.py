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
from typing import ClassVar

import numpy as np

from . import jobs
from .arrays import Array, Matrix, host
from .blocks import Block, PerRow, Place, RowSource, Totals, Weight
from .centers import TINY, Centers, centers_of
from .gaps import by_itself, columns_there
from .geometry import Geometry, Spread
from .model import Model, State
from .mstep import proportions_of, whole_sums
from .sampling import Sampling, take_few
from .sharing import Offsets, Share, Sharing, Shrink, divided
from .smoothing import DIRECTIONS, smoothed_centers
from .smoothing import distances as squared_distances
from .solver import alternate, nearest_at, side_by_side
from .starts import kmeans
from .terms import Terms

ENOUGH = 5  # rows per cluster that a new task needs before its rows say where it lies and what it holds
JOIN_ROUNDS, JOIN_TOL = 10, 1e-6  # of labels, offsets and centres
FEW_ROUNDS = 1  # after smoothing: more would drift away from it, as in a fit
MATCHED_STARTS = 4  # starts that bring a centre of the new task onto a known one
MOST_GAIN = 5.0  # nats that one row can say for a cluster: an outlier must not make one
JOIN_ROWS = Sampling(3000, 500)


@dataclass(frozen=True)
class Prior:
    """What is known about the clusters, and about tasks, before others join."""

    exists: Array  # (c,) clusters that some task holds
    sizes: Array  # (c,) their rows
    usual: Sharing  # of a task that joins
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


@dataclass(frozen=True)
class Follow:
    """The centre step of tasks that join: the shared centres and the geometry stay, the other tasks too."""

    able: list[int]  # tasks with rows enough
    apart: bool  # do tasks lie apart?

    measures: ClassVar[bool] = False

    def update(self, model: Model, totals: Totals, last: Centers, origins: Array, spread: Spread | None) -> Centers:
        """Estimate offsets, own centres and proportions of these tasks from their sums."""
        S, T, able = totals.S, whole_sums(model, totals), self.able
        Z, offsets, sizes = last.shared, last.offsets, S if S.ndim == 3 else np.einsum("rkcc->rkc", S)
        if self.apart:
            b, s = np.array(np.broadcast_to(offsets.b, (len(S), T.shape[1], T.shape[3]))), offsets.s
            total = np.maximum(sizes.sum(axis=2), TINY)[..., None]
            moved = (T.sum(axis=2) - s[:, None] * np.einsum("rkc,rcd->rkd", sizes, Z)) / total
            b[:, able] = moved[:, able]
            offsets = replace(offsets, b=b)
        placed = offsets.in_tasks(Z, T.shape[1])
        means = model.sharing.own(sizes, centers_of(S, T, placed), placed)
        Ms, prior = np.array(np.broadcast_to(last.Ms, means.shape)), last.log_shares
        Ms[:, able] = means[:, able]
        if prior is not None:
            prior = np.array(np.broadcast_to(prior, S.shape))
            held = model.held(S.shape)
            labels = model.membership.labels_only  # which do without the others: these may have any proportion
            prior[:, able] = (_smooth(S, held) if labels else proportions_of(S, held))[:, able]
        return replace(last, Ms=Ms, offsets=offsets, log_shares=prior)


def _smooth(S: Array, held: Array) -> Array:
    found = S + 1 / held.sum(axis=2, keepdims=True)
    return np.log(found / found.sum(axis=2, keepdims=True))


def join(
    rows: RowSource, model: Model, centers: Centers, new: list[int], prior: Prior, weights: PerRow | None = None
) -> Joined:
    """Let the tasks `new` of the rows join, of a model of all tasks of the rows, in which theirs means nothing.

    `weights`: what the rows count; None: their sample weights.
    """
    m, c = len(rows.origins), model.n_clusters
    model, centers = in_the_middle(model, centers, new, prior)
    counts = rows.summary.counting
    if weights is None:
        weights, _ = rows.apply(jobs.unit_weights, outputs=1)
    able = [k for k in new if counts[k] >= ENOUGH * c]
    enough, support = np.isin(np.arange(m), able), np.tile(prior.exists.astype(float), (m, 1))
    if not able:
        return Joined(model, centers, support, enough)
    model, centers = replace(model, sharing=model.sharing.joined(able, prior.usual, m)), centers.take("R", None)
    if prior.reach is not None:
        centers = _located(rows, weights, model, centers, able, prior)
    smooth = model.membership.labels_only and not model.geometry.estimated and rows.n_features > DIRECTIONS
    if smooth:
        centers = _smoothed(rows, model, centers, able, prior)
    how, rounds = Follow(able, prior.reach is not None), FEW_ROUNDS if smooth else JOIN_ROUNDS
    centers = _rounds(rows, weights, model, centers, how, rounds).centers
    if model.membership.diagonal and c > 1:
        support[able] = evidence(rows, weights, model, centers, prior)[able]
        held = np.array(model.held((1, m, c)))
        held[0, able] &= (support[able] >= 0.5) | (not prior.decided)
        for k in able:
            held[0, k, np.where(prior.exists, support[k], -1).argmax()] = True  # a task holds something
        if (held != model.held((1, m, c))).any():
            model = replace(model, holds=held)
            centers = _rounds(rows, weights, model, centers, how, rounds).centers
    return Joined(replace(model, offsets=centers.offsets), centers.take("R", 0), support, enough)


def in_the_middle(model: Model, centers: Centers, new: list[int], prior: Prior) -> tuple[Model, Centers]:
    """Let new tasks lie where the shared centres do, without centres of their own; they may hold all clusters."""
    m, c = len(centers.Ms), model.n_clusters
    held = np.array(model.held((1, m, c)))
    held[0, new] = prior.exists
    centers, logs = centers.take("R", None), centers.log_shares
    if prior.reach is not None:
        whole = centers.offsets.whole(m=m, d=centers.Z.shape[2])
        b, s = whole.b.copy(), whole.s.copy()
        b[:, new], s[new] = 0, 1
        centers = replace(centers, offsets=Offsets(b, s))
    if logs is not None:
        logs = logs.copy()
        logs[new] = -np.log(prior.exists.sum())
    Ms = centers.Ms.astype(np.float64)
    Ms[:, new] = centers.placed[:, new]
    centers = replace(centers, Ms=Ms, log_shares=None if logs is None else logs[None])
    model = replace(model, sharing=model.sharing.joined(new, None, m), holds=held, offsets=centers.offsets)
    return model, centers.take("R", 0)


def _smoothed(rows: RowSource, model: Model, centers: Centers, able: list[int], prior: Prior) -> Centers:
    """Return own centres of wide rows as they are after smoothing, by a sample: what a fit takes from its search."""
    blocks, Ms = take_few(rows, JOIN_ROWS, np.random.default_rng(0)), centers.Ms.copy()
    placed, exists, share = centers.placed[0], prior.exists, float(prior.usual.within[0, 0])
    for k in able:
        Ms[0, k] = placed[k]
        whole = by_itself(blocks[k])
        Ms[0, k, exists] = smoothed_centers(whole.X, whole.u, placed[k, exists], share)
    return replace(centers, Ms=Ms)


def _located(
    rows: RowSource, weights: PerRow, model: Model, centers: Centers, able: list[int], prior: Prior
) -> Centers:
    """Return offsets from the best of several starts; without centres of their own, which would follow any of them."""
    means, shared, exists = rows.summary.means, centers.shared[0], prior.exists
    b, s = centers.offsets.b[0], centers.offsets.s.copy()
    middle = prior.sizes @ shared / prior.sizes.sum()
    starts = np.stack([b] * (2 + MATCHED_STARTS))
    blocks = take_few(rows, JOIN_ROWS, np.random.default_rng(0))
    for k in able:
        own, sizes = _clusters(by_itself(blocks[k]), int(exists.sum()))
        if prior.widths:
            s[k] = max(width_of(own, sizes) / prior.widths, TINY)
        there = columns_there(blocks[k])  # elsewhere it lies as the others do
        starts[1, k] = np.where(there, means[k] - s[k] * middle, 0)
        starts[2:, k] = 0
        starts[2:, k, there] = _pairs(own[:, there], sizes, s[k] * shared[exists][:, there])
    alone = replace(model, sharing=Shrink.of(np.inf) if model.sharing.draws else Share.of(0.0))
    found, losses = np.empty_like(starts), np.empty((len(b), len(starts)))
    for group in side_by_side(rows, alone, len(starts)):
        runs = list(group)
        several = centers.take("R", 0).copies(len(runs))
        several = replace(several, offsets=Offsets(starts[runs], s))
        state = _rounds(rows, weights, alone, several, Follow(able, True), JOIN_ROUNDS)
        found[runs] = state.centers.offsets.b
        own = rows.apply(jobs.weighted_sums, state.Ls)[-1].reshape(len(b), -1)
        losses[:, runs] = own + _price(state.centers, prior).T
    b = b.copy()
    b[able] = found[losses.argmin(axis=1), np.arange(len(b))][able]
    return replace(centers, offsets=Offsets(b[None], s))


def _clusters(block: Block, n_clusters: int) -> tuple[Array, Array]:
    """Return centres of k-means of the rows of a task, and their sizes."""
    state = kmeans([block], n_clusters, np.random.default_rng(0)).state
    sizes = np.bincount(state.Ps[0][0], weights=block.u, minlength=n_clusters)
    return state.centers.Z[0], sizes


def width_of(centers: Array, sizes: Array) -> float:
    """Measure the spread between centres."""
    middle = sizes @ centers / sizes.sum()
    return float(np.sqrt(sizes @ np.sum((centers - middle) ** 2, axis=1) / sizes.sum()))


def _pairs(found: Array, sizes: Array, shared: Array) -> Array:
    """(MATCHED_STARTS, d) of the offsets that bring one centre onto another, those after which all lie near some."""
    apart, between = squared_distances(found, found), squared_distances(shared, shared)
    G = found @ shared.T
    losses = np.empty(G.shape)
    for p in range(len(found)):  # ‖(x_i − x_p) − (z_j − z_q)‖² of all q, i and j
        products = (G - G[p])[None] - (G[:, :, None] - G[p, :, None]).transpose(1, 0, 2)
        least = np.min(apart[p][None, :, None] + between[:, None, :] - 2 * products, axis=2)
        losses[p] = np.maximum(least, 0) @ sizes
    lengths = squared_distances(shared, found)  # of the offsets: the shorter one, where others do as well
    best = np.lexsort((lengths.ravel(), losses.ravel().round(9)))[:MATCHED_STARTS]
    ours, theirs = np.divmod(np.resize(best, MATCHED_STARTS), len(shared))
    return found[ours] - shared[theirs]


def _price(centers: Centers, prior: Prior) -> Array:
    """Compute (R, m) what offsets cost: that of a normal prior whose variance is that of the offsets of known tasks."""
    b, nobody = centers.offsets.b, np.zeros(centers.Ms.shape[1], dtype=bool)
    squares = np.sum(centers.geometry.tied.times(b[:, :, None], nobody)[:, :, 0] * b, axis=2)
    reach = max(prior.reach or 0.0, TINY)
    with np.errstate(over="ignore"):  # where known tasks have no offsets, any other than 0 costs too much
        return prior.temperature * (b.shape[2] * (squares / reach))


def _rounds(rows: RowSource, weights: PerRow, model: Model, centers: Centers, how: Follow, rounds: int) -> State:
    """Find labels, then offsets and centres, a few times, or until losses stall."""
    state = nearest_at(rows, model, centers, weights)
    return alternate(rows, model, state, max_iter=rounds, tol=JOIN_TOL, known=how).state


def evidence(rows: RowSource, weights: PerRow, model: Model, centers: Centers, prior: Prior) -> Array:
    """Compute (m, c) the share of the evidence for a cluster in the evidence and the price of a centre."""
    terms = model.terms(centers, rows.origins, energy=False, gaps=rows.gaps)
    job = partial(_evidence, terms=terms, temperature=prior.temperature)
    found = rows.apply(job, weights)[-1]
    price = 0.5 * min(rows.n_features + 1, model.n_clusters) * np.log(np.maximum(rows.summary.sizes, 2.0))
    return found / (found + price[:, None])


def _evidence(place: Place, weights: list[Weight], *, terms: Terms, temperature: float) -> tuple[Array]:
    """Compute (m, c) by how much the rows of each cluster would fit worse in the second best one, in nats."""
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


def followed(model: Model, centers: Centers, weights: Array, S: Array, T: Array) -> Array:
    """Get (c, d) shared centres as if the sums S (m, c) and T (m, c, d) of tasks had been among those that made them.

    `weights` (c,) is what the clusters weigh that they were made from.
    """
    pull, shared = model.sharing.pull(S[None])[0], centers.shared
    means = in_common(divided(T, S), centers)
    total = weights + pull.sum(axis=0)
    moved = (weights[:, None] * shared + np.einsum("kc,kcd->cd", pull, means)) / np.where(total > 0, total, 1)[:, None]
    return np.where((pull.sum(axis=0) > 0)[:, None], moved, shared)


def in_common(points: Array, centers: Centers) -> Array:
    """Return points (m, g, d) of all tasks of one run in the frame that they share."""
    offsets = centers.offsets
    return (points - offsets.b[:, None]) / offsets.s[:, None, None] if offsets.moves else points


def merged_groups(groups: dict[int, Array], centers: Centers) -> tuple[Array, dict[int, list[int]]]:
    """Return centres (g, d) of new clusters in the common frame, and which of them each group of each task is.

    Groups of several tasks are one cluster if they lie closer to each other than half way to the known centres, in the
    geometry of the model.
    """
    shared = centers.geometry.whiten(centers.shared)
    found: list[Array] = []
    numbers: dict[int, list[int]] = {}
    for k, own in groups.items():
        points = in_common(own[None], centers.take("m", [k]))[0]
        seen = centers.geometry.whiten(points)
        numbers[k] = []
        for point, white in zip(points, seen, strict=True):
            far = np.sqrt(np.sum((shared - white) ** 2, axis=1)).min() / 2
            others = [centers.geometry.whiten(z[None])[0] for z in found]
            apart = [np.inf if i in numbers[k] else float(np.linalg.norm(z - white)) for i, z in enumerate(others)]
            if not apart or min(apart) >= far:
                found.append(point)
                apart.append(0.0)
            numbers[k].append(int(np.argmin(apart)))
    return np.array(found).reshape(len(found), shared.shape[1]), numbers


def with_clusters(model: Model, centers: Centers, Z: Array, holds: Array) -> tuple[Model, Centers]:
    """Give a model and the centres of one run further shared centres Z (g, d), held by the tasks `holds` (m, g).

    The subspace keeps its axes and gains those that the new centres need.
    """
    (m, c, _), g = centers.Ms.shape, len(Z)
    assert centers.W is not None
    assert centers.M is not None
    W, M = _spanned(centers.W.astype(np.float64), centers.M.astype(np.float64), Z, centers.geometry)
    held = np.concatenate([model.held((1, m, c)), holds[None]], axis=2)
    grown, whole = centers.grow("c", g), M @ W.T
    placed = replace(centers, W=None, M=None, Z=Z).placed
    logs = grown.log_shares
    if logs is not None:
        absent = -np.inf if not model.membership.labels_only else -np.log(c + g)
        logs[:, c:] = np.where(holds, -np.log(c + g), absent)
    geometry = centers.geometry.with_clusters(g)
    Ms, seen = np.concatenate([centers.Ms, placed], axis=1), np.concatenate([centers.seen, holds], axis=1)
    centers = replace(centers, W=W, M=M, Ms=Ms, Z=whole, Q=whole, seen=seen, log_shares=logs, geometry=geometry)
    return replace(model, n_clusters=c + g, n_components=W.shape[1], holds=held), centers


def _spanned(W: Array, M: Array, Z: Array, geometry: Geometry) -> tuple[Array, Array]:
    """Compute W (d, l) with the directions in which points Z lie outside of it, and M (c, l) with their coordinates."""
    for z in Z:
        rest = z - (geometry.whiten(z[None], 1.0) @ W) @ W.T
        length = float(np.sqrt(max((geometry.whiten(rest, 1.0) @ rest.T).item(), 0.0)))
        if length > 1e-10 * max(float(np.linalg.norm(z)), TINY) and W.shape[1] < W.shape[0]:
            W = np.concatenate([W, rest.T / length], axis=1)
            M = np.concatenate([M, np.zeros((len(M), 1))], axis=1)
        M = np.concatenate([M, geometry.whiten(z[None], 1.0) @ W])
    return W, M
