"""A task joins: where the known clusters lie in it, which of them it holds, its own centres, and what is new in it.

The shared centres z_j stay where they are. The groups of the rows of the new task say where it lies (`core.placing`),
and which of them no cluster explains; without the rows of these, and those beyond the limit, labels, own centres and
proportions are found in turn, as in a fit. A cluster is held if its rows would fit worse without it by more than the
price of a centre, or if no other cluster explains one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np

from .arrays import Array, Matrix, host, is_sparse
from .blocks import Block, PerRow, Place, RowSource, Totals, Weight
from .centers import TINY, Centers, centers_of
from .gaps import by_itself, columns_there
from .geometry import Geometry, Spread
from .model import Model, State
from .mstep import proportions_of, whole_sums
from .novelty import TRIM, Flags, Ordinary, counted, far_groups, loss_scales
from .placing import Effects, Modes, Position, apart_from, find_modes, find_position
from .sampling import Sampling, take_few
from .sharing import Offsets, Sharing, divided
from .smoothing import DIRECTIONS, directions, smoothed_centers
from .solver import alternate, nearest_at
from .terms import Terms

ENOUGH = 5  # rows per cluster that a new task needs before its rows say where it lies and what it holds
JOIN_ROUNDS, JOIN_TOL = 10, 1e-6  # of labels and centres
FEW_ROUNDS = 1  # after smoothing: more would drift away from it, as in a fit
NARROWEST = 1 / 16  # variance of the rows of a task, in the noise of the fit, that can be that of a cluster
TRIMMED = 2  # times that these begin without the rows that are new
MOST_GAIN = 5.0  # nats that one row can say for a cluster: an outlier must not make one
JOIN_ROWS = Sampling(3000, 500)


@dataclass(frozen=True)
class Prior:
    """What is known about the clusters, and about tasks, before others join."""

    exists: Array  # (c,) clusters that some task holds
    sizes: Array  # (c,) their rows
    usual: Sharing  # of a task that joins
    effects: Effects  # how much tasks differ
    scaled: bool  # do tasks have scales?
    temperature: float  # half a loss divided by it is in nats
    decided: bool = True  # is it decided which clusters a task holds? Else it holds those that it has rows of


@dataclass(frozen=True)
class Joined:
    """The model of the tasks of the rows, with those that joined, and the evidence for what these hold."""

    model: Model
    centers: Centers  # of one run
    support: Array  # (m, c)
    enough: Array  # (m,) whether there were rows enough to tell
    flags: Flags  # what makes rows new at the rate at which they were left out
    scales: Array  # (m,) usual losses of the rows that clusters explain; 0: unknown
    excess: dict[int, Array] = field(default_factory=dict)  # task → log evidence for new of its groups


@dataclass(frozen=True)
class Follow:
    """The centre step of tasks that join: the shared centres, the geometry and offsets stay, the other tasks too."""

    able: list[int]  # tasks with rows enough

    measures: ClassVar[bool] = False

    def update(self, model: Model, totals: Totals, last: Centers, origins: Array, spread: Spread | None) -> Centers:
        """Estimate own centres and proportions of these tasks from their sums."""
        S, T, able = totals.S, whole_sums(model, totals), self.able
        sizes = S if S.ndim == 3 else np.einsum("rkcc->rkc", S)
        placed = last.offsets.in_tasks(last.shared, T.shape[1])
        means = model.sharing.own(sizes, centers_of(S, T, placed), placed)
        Ms, prior = np.array(np.broadcast_to(last.Ms, means.shape)), last.log_shares
        Ms[:, able] = means[:, able]
        if prior is not None:
            prior = np.array(np.broadcast_to(prior, S.shape))
            held = model.held(S.shape)
            labels = model.membership.labels_only  # which do without the others: these may have any proportion
            prior[:, able] = (_smooth(S, held) if labels else proportions_of(S, held))[:, able]
        return replace(last, Ms=Ms, log_shares=prior)


def _smooth(S: Array, held: Array) -> Array:
    found = S + 1 / held.sum(axis=2, keepdims=True)
    return np.log(found / found.sum(axis=2, keepdims=True))


def join(
    rows: RowSource, model: Model, centers: Centers, new: list[int], prior: Prior, ordinary: Ordinary | None = None
) -> Joined:
    """Let the tasks `new` of the rows join, of a model of all tasks of the rows, in which theirs means nothing.

    `ordinary`: what nothing new looks like; None: nothing is new.
    """
    m, c = len(rows.origins), model.n_clusters
    ordinary = ordinary or Ordinary()
    model, centers = in_the_middle(model, centers, new, prior)
    able = [k for k in new if rows.summary.counting[k] >= ENOUGH * c]
    enough, support = np.isin(np.arange(m), able), np.tile(prior.exists.astype(float), (m, 1))
    flags, excess = Flags(np.full(m, np.inf), {}, prior.exists), {}
    flags.limits[new] = ordinary.loss(TRIM)
    if not able:
        return Joined(model, centers, support, enough, flags, np.zeros(m))
    model, centers = replace(model, sharing=model.sharing.joined(able, prior.usual, m)), centers.take("R", None)
    groups: dict[int, Array] = {}
    widths = np.ones(m)
    if model.membership.diagonal:
        for k, block in zip(range(m), take_few(rows, JOIN_ROWS, np.random.default_rng(0)), strict=True):
            if k in able:
                found = _located(block, k, centers, prior, ordinary)
                centers, excess[k], widths[k] = found.centers, found.excess, found.width
                groups |= {k: found.groups} if len(found.groups) else {}
    smooth = model.membership.labels_only and not model.geometry.estimated and rows.n_features > DIRECTIONS
    if smooth:
        centers = _smoothed(rows, model, centers, able, prior)
    model = replace(model, offsets=centers.offsets)
    flags, how = replace(flags, groups=groups), Follow(able)
    for _ in range(TRIMMED):
        flags, _ = _limited(rows, model, centers, flags, new, widths * enough, ordinary)
        flags = replace(flags, groups=far_groups(rows, model, centers.take("R", 0), flags))
        weights = counted(rows, model, centers.take("R", 0), flags)
        centers = _rounds(rows, weights, model, centers, how, FEW_ROUNDS if smooth else JOIN_ROUNDS).centers
    if model.membership.diagonal and c > 1:
        support[able], alone = (part[able] for part in evidence(rows, weights, model, centers, prior, flags.limits))
        held = np.array(model.held((1, m, c)))
        held[0, able] &= (support[able] >= 0.5) | (alone > 0) | (not prior.decided)
        for k in able:
            held[0, k, np.where(prior.exists, support[k], -1).argmax()] = True  # a task holds something
        if (held != model.held((1, m, c))).any():
            model = replace(model, holds=held)
            centers = _rounds(rows, weights, model, centers, how, FEW_ROUNDS if smooth else JOIN_ROUNDS).centers
    flags, scales = _limited(rows, model, centers, flags, new, widths * enough, ordinary)
    return Joined(model, centers.take("R", 0), support, enough, flags, scales, excess)


def _limited(
    rows: RowSource, model: Model, centers: Centers, flags: Flags, new: list[int], widths: Array, ordinary: Ordinary
) -> tuple[Flags, Array]:
    """Set the limits of the losses of new tasks; `widths` (m,) of their rows, in the noise of the fit; 0: unknown."""
    unlimited = replace(flags, limits=np.full(len(widths), np.inf))
    scales = loss_scales(rows, model, centers.take("R", 0), unlimited, ordinary) * (widths > 0)
    scales = np.where((widths > 0) & (widths < NARROWEST), -1.0, scales)
    return replace(flags, limits=ordinary.limits(TRIM, scales, new)), scales


@dataclass(frozen=True)
class Located:
    """What the groups of the rows of a task say."""

    centers: Centers  # with its offset, its scale and its own centres
    groups: Array  # (g, d) that are new
    excess: Array  # log evidence for new of groups that lie apart
    width: float  # variance of the rows, relative to the noise of the fit


def _located(block: Block, k: int, centers: Centers, prior: Prior, ordinary: Ordinary) -> Located:
    """Find where task k lies, and what is new in it."""
    shared, exists = centers.shared[0], np.flatnonzero(prior.exists)
    X, u, there, modes, found, apart = position_of(block, shared[exists], centers.take("R", 0).geometry.tied, prior)
    means, points = means_of(X, u, modes), shared[exists]
    b, s, Ms = centers.offsets.b.copy(), centers.offsets.s.copy(), centers.Ms.copy()
    s[k] = found.scale
    b[0, k] = np.where(there, found.offset(means, points), 0)
    Ms[0, k] = b[0, k] + s[k] * shared
    new = apart & (found.excess > max(ordinary.excess, 0.0))
    own = found.explained
    for j in np.unique(found.cluster[own]):
        at = own & (found.cluster == j)
        n, here = modes.sizes[at].sum(), exists[j]
        share = n / (n + modes.noise / max(found.own, TINY))
        Ms[0, k, here, there] += share * (modes.sizes[at] @ means[at] / n - Ms[0, k, here])[there]
    width = modes.spread / (s[k] ** 2 * prior.effects.noise)
    return Located(replace(centers, offsets=Offsets(b, s), Ms=Ms), means[new], found.excess[apart], width)


def position_of(
    block: Block, points: Array, geometry: Geometry, prior: Prior
) -> tuple[Matrix, Array, Array, Modes, Position, Array]:
    """Find the groups of the rows of a task, and where it lies: rows, weights, columns that it has, groups, position.

    Also which groups (g,) lie apart from all that clusters explain.
    """
    there, whole = columns_there(block), by_itself(block)
    Y, Z = round_coordinates(whole.X, points, geometry, there)
    u = np.asarray(whole.u, dtype=np.float64)
    order = np.lexsort(np.round(np.sum((Y[:, None] - Z) ** 2, axis=2), 9).T)  # whatever order the rows came in
    modes = find_modes(Y[order], u[order], len(points))
    labels = np.empty_like(modes.labels)
    labels[order] = modes.labels
    modes = replace(modes, labels=labels)
    found = find_position(modes, Z, prior.effects, scaled=prior.scaled)
    apart = modes.usable & apart_from(Y, u, modes, found.explained)
    return whole.X, u, there, modes, found, apart


def round_coordinates(X: Matrix, points: Array, geometry: Geometry, there: Array) -> tuple[Array, Array]:
    """Return rows (n, q) and points (c, q) where clusters are round in the geometry, by the columns that are there."""
    if not there.all():
        X, points, geometry = X[:, there], points[:, there], geometry.restricted(there)
    if geometry.estimated:
        X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        X, points = geometry.whiten(X), geometry.whiten(points)
    if X.shape[1] > DIRECTIONS:
        V = directions(X, points)
        return np.asarray(X @ V, dtype=np.float64), points @ V
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64), points


def means_of(X: Matrix, u: Array, modes: Modes) -> Array:
    """Compute (g, d) means of groups of rows."""
    F = (modes.labels == np.arange(len(modes.sizes))[:, None]) * u / modes.sizes[:, None]
    return np.asarray((X.T @ F.T).T if is_sparse(X) else F @ X, dtype=np.float64)


def in_the_middle(model: Model, centers: Centers, new: list[int], prior: Prior) -> tuple[Model, Centers]:
    """Let new tasks lie where the shared centres do, without centres of their own; they may hold all clusters."""
    m, c = len(centers.Ms), model.n_clusters
    held = np.array(model.held((1, m, c)))
    held[0, new] = prior.exists
    centers, logs = centers.take("R", None), centers.log_shares
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


def _rounds(rows: RowSource, weights: PerRow, model: Model, centers: Centers, how: Follow, rounds: int) -> State:
    """Find labels, then centres, a few times, or until losses stall."""
    state = nearest_at(rows, model, centers, weights)
    return alternate(rows, model, state, max_iter=rounds, tol=JOIN_TOL, known=how).state


def evidence(
    rows: RowSource, weights: PerRow, model: Model, centers: Centers, prior: Prior, limits: Array
) -> tuple[Array, Array]:
    """Compute (m, c) the share of the evidence for a cluster in the evidence and the price of a centre.

    Also the rows (m, c) that no other cluster explains, of loss limits (m,).
    """
    terms = model.terms(centers, rows.origins, gaps=rows.gaps)
    job = partial(_evidence, terms=terms, temperature=prior.temperature, limits=limits)
    found, alone = rows.apply(job, weights)[-1]
    price = 0.5 * min(rows.n_features + 1, model.n_clusters) * np.log(np.maximum(rows.summary.sizes, 2.0))
    return found / (found + price[:, None]), alone


def _evidence(place: Place, weights: list[Weight], *, terms: Terms, temperature: float, limits: Array) -> tuple[Array]:
    """Compute (2, m, c) by how much the rows of each cluster would fit worse in the second best one, in nats.

    And the rows whose loss would be above the limit.
    """
    blocks, c = place.blocks, terms.C.shape[2]
    local, found = terms.where(blocks[0]), np.zeros((2, len(blocks), c))

    def job(k: int, part: slice, X: Matrix) -> Array:
        X, met = local[k].meet(X, blocks[k], part)
        form = local[k].quadratic(X, blocks[k].sq[part], met)
        energy = 0.0 if form.e is None else np.asarray(host(form.e), dtype=np.float64).reshape(-1)
        D = np.array(host(form.D[0, ...]), dtype=np.float64)
        own, at = D.argmin(axis=0), np.arange(D.shape[1])
        here = D[own, at]
        D[own, at] = np.inf
        other, w = D.min(axis=0), host(weights[k].w[0, part])
        gain = np.minimum((other - here) / temperature, MOST_GAIN)
        beyond = w * (energy + 2 * other > limits[k])
        return np.stack([np.bincount(own, weights=values, minlength=c) for values in (w * gain, beyond)])

    for k, gains in place.over_pieces(terms.n_columns, job):
        found[:, k] += gains
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
