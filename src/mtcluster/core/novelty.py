"""What is new in a task that joins: rows, and groups of rows, that no known cluster explains.

A row of a class that nobody has seen is rarely an outlier by itself if there are many features, but such rows form a
cluster. So one free centre is added to the known ones, from several starts, and the best is scored by

    G × δ²,

where G is the share of the losses that it saves, and δ the distance between its rows and those of the nearest known
cluster along the line that joins their means, in standard deviations. Both are needed: a part of a large cluster saves
much, but is not apart from the rest (two halves of a normal distribution have δ = 2.6), and a few odd rows are apart
but save little. A task without anything new has such a score too; `novelty` learns how large it is.

How large losses and scores of groups are where nothing is new is learnt from the tasks of the fit: each of them joins a
model of the others, as a new task would. A model of one task is compared with itself in halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .arrays import Array, is_sparse
from .blocks import Block, Blocks, PerRow, Place, RowSource, Weight, make_block
from .centers import TINY, Centers
from .gaps import by_itself, columns_there, without_values
from .joining import ENOUGH, Joined, Prior, in_common, join
from .model import Model
from .readout import read_out
from .record import Record
from .sampling import Sampling, take_few, take_sample
from .sharing import Offsets, Sharing, Shrink, divided
from .smoothing import DIRECTIONS, directions, distances

GROUP_STARTS = 12  # rows at which the free centre begins
START_DRAWS = 5  # rows of which each of these is the best
GROUP_ITER = 10  # with the model's share of own centres, and as many with centres of the rows alone
STARTS_KEPT = 4  # starts that go on to the latter
PRIOR = 5.0  # rows by which these are drawn to the shared ones
SMALLEST = 0.25  # of the usual size of a cluster: what a group needs
FARTHEST = 1e3  # standard deviations that mean no more than fewer would


@dataclass(frozen=True)
class Seen:
    """The rows of a task in coordinates in which distances are Euclidean, and the known centres there."""

    Y: Array  # (n, q)
    u: Array  # (n,)
    placed: Array  # (c, q) the shared centres as they lie in the task, of clusters that it holds
    known: Array  # (c, q) where rows of these clusters are expected: drawn to the task's own centres
    sharing: Sharing  # how much
    free: Array  # (g, q) centres of groups that were found before

    def rows(self, at: Array) -> Seen:
        """Return some of the rows."""
        return replace(self, Y=self.Y[at], u=self.u[at])

    def expected(self, sizes: Array, means: Array) -> Array:
        """Tell where rows of clusters are expected, (R, c, q), whose rows have such sizes and means."""
        P = np.broadcast_to(self.placed, means.shape)
        own = self.sharing.own(sizes[:, None], means[:, None], P[:, None])[:, 0]
        return P + float(self.sharing.lam[0, 0]) * (own - P)

    @property
    def least_size(self) -> float:
        """The weight that a group needs."""
        return max(ENOUGH, SMALLEST * float(self.u.sum()) / len(self.placed))


@dataclass(frozen=True)
class Group:
    """A free centre, and the rows nearest to it."""

    rows: Array  # (n,) bool
    score: float


def seen(block: Block, model: Model, centers: Centers, held: Array, free: Array | None = None) -> Seen:
    """Return the rows of one task of a model of this task alone; the clusters `held` (c,) are known, and so are groups.

    Missing values are those that the rows themselves expect, and columns that the task lacks do not count.
    """
    there, block = columns_there(block), by_itself(block)
    placed = centers.placed[0][held]
    own = centers.Ms[0].astype(np.float64)[held]
    known = placed + float(model.sharing.lam[0, 0]) * (own - placed)
    free = np.zeros((0, placed.shape[1])) if free is None else free
    X, geometry = block.X, centers.geometry.tied
    if not there.all():
        X, placed, known, free = (A[:, there] for A in (X, placed, known, free))
        geometry = geometry.restricted(there)
    if geometry.estimated:
        dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        Y, placed, known, free = (geometry.whiten(A) for A in (dense, placed, known, free))
    elif X.shape[1] > DIRECTIONS:
        V = directions(X, np.concatenate([placed, free]))
        Y, placed, known, free = (np.asarray(A @ V, dtype=np.float64) for A in (X, placed, known, free))
    else:
        Y = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    return Seen(Y, np.asarray(block.u, dtype=np.float64), placed, known, model.sharing, free)


def best_group(found: Seen, rng: np.random.Generator) -> Group | None:
    """Return the group that saves most of the losses beside those found before; None: there is none.

    Known centres follow their rows, first by the share of the model, so that they stay what they are, and then freely.
    """
    Y, u, P, free, c = found.Y, found.u, found.placed, found.free, len(found.placed)
    losses = distances(Y, np.concatenate([found.known, free])).min(axis=0)
    starts = _starts(Y, u, losses, rng)
    runs, total = len(starts), float(u @ losses)
    if not runs or not total > 0:
        return None
    known, others = np.tile(found.known, (runs, 1, 1)), np.tile(free, (runs, 1, 1))
    extra = np.concatenate([others, starts[:, None]], axis=1)
    saved = np.zeros(runs)
    for iteration in range(2 * GROUP_ITER):
        if iteration == GROUP_ITER:  # the best go on
            kept = np.argsort(-saved, kind="stable")[:STARTS_KEPT]
            known, extra, saved, runs = known[kept], extra[kept], saved[kept], len(kept)
        points = np.concatenate([known, extra], axis=1)
        D = distances(Y, points.reshape(-1, Y.shape[1])).reshape(runs, -1, len(Y))
        labels = D.argmin(axis=1)
        if iteration < GROUP_ITER:
            saved = total - D.min(axis=1) @ u
        sizes, means = _means(Y, u, labels, points.shape[1])
        n = sizes[:, :c]
        if iteration < GROUP_ITER:
            known = found.expected(n, means[:, :c])
        else:
            known = P + (n / (n + PRIOR))[..., None] * (np.where((n > 0)[..., None], means[:, :c], P) - P)
        extra = np.where((sizes[:, c:] > 0)[..., None], means[:, c:], extra)
    large = sizes[:, -1] >= found.least_size
    if not large.any():
        return None
    best = int(np.where(large, saved, -np.inf).argmax())
    rows = labels[best] == points.shape[1] - 1
    apart = separation(Y, u, labels[best], np.concatenate([P, extra[best]]))
    return Group(rows, max(float(saved[best]), 0.0) / total * apart**2)


def separation(Y: Array, u: Array, labels: Array, points: Array) -> float:
    """Compute δ of the last group: its distance from the nearest other one, along the line between the means of both.

    The distance is less what chance adds to it, as the line was chosen by the rows. A cluster of hardly any rows is at
    its point (g, q), and as wide as the last group, which may have taken its rows.
    """
    sizes, means = (a[0] for a in _means(Y, u, labels[None], len(points)))
    spread = np.bincount(labels, weights=u * np.sum((Y - means[labels]) ** 2, axis=1), minlength=len(points))
    few, last = sizes < ENOUGH, len(points) - 1
    means = np.where(few[:, None], points, means)
    chance = np.where(few, 0, spread / np.maximum(sizes, 1) ** 2)
    found = [FARTHEST]
    for j in range(last):
        w = means[last] - means[j]
        length = max(float(np.linalg.norm(w)), np.finfo(np.float64).tiny)
        at = (last,) if few[j] else (last, j)
        width = float(np.mean([_deviation(Y[labels == i] @ (w / length), u[labels == i]) for i in at]))
        apart = max(length - float(chance[last] + chance[j]) / length, 0.0)
        found.append(apart / width if apart < FARTHEST * width else FARTHEST)
    return min(found)


def _deviation(y: Array, u: Array) -> float:
    mean = u @ y / u.sum()
    return float(np.sqrt(u @ (y - mean) ** 2 / u.sum()))


def _means(Y: Array, u: Array, labels: Array, n_groups: int) -> tuple[Array, Array]:
    """Return sizes (R, g) and means (R, g, q) of the groups of each run."""
    F = (labels[:, None] == np.arange(n_groups)[:, None]) * u
    sizes = F.sum(axis=2)
    return sizes, (F.reshape(-1, len(Y)) @ Y).reshape(*sizes.shape, -1) / np.where(sizes > 0, sizes, 1)[..., None]


def _starts(Y: Array, u: Array, losses: Array, rng: np.random.Generator) -> Array:
    """Compute (R, q) rows drawn one after the other by their losses; of several the one that lowers them most."""
    found: list[Array] = []
    for _ in range(GROUP_STARTS):
        mass = np.cumsum(losses * u)
        if not mass[-1] > 0:
            break
        at = np.minimum(np.searchsorted(mass, rng.random(START_DRAWS) * mass[-1]), len(mass) - 1)
        D = np.minimum(distances(Y, Y[at]), losses)
        best = int((D @ u).argmin())
        losses = D[best]
        found.append(Y[at[best]])
    return np.array(found).reshape(len(found), Y.shape[1])


NOVELTY_ROWS = Sampling(2000, 300)
TASKS_THAT_JOIN = 10  # of the fit that join again
LOSS_ROUNDING = 1e-6  # loss per feature, with a metric, that means nothing
MOST_GROUPS = 10  # of a task
WITHOUT = 2  # clusters that tasks of the fit are tried without, one after the other
USUAL = 0.9  # share of tasks without anything new whose best group does not count as new


@dataclass(frozen=True, eq=False)
class Ordinary(Record):
    """What nothing new looks like; nothing is known of models that pool all tasks."""

    losses: Array = field(default_factory=lambda: np.zeros(0))  # (n,) of rows of the fit, sorted
    ratios: Array = field(default_factory=lambda: np.zeros(0))  # (n,) of these in median losses of their task, sorted
    scores: Array = field(default_factory=lambda: np.zeros(0))  # of the best group of some tasks of the fit

    def loss(self, rate: float, scale: float = 0.0) -> float:
        """The loss that a share `rate` of ordinary rows exceeds, where `scale` is the median one; 0: it is unknown."""
        if np.isinf(scale):  # no row of such a task is too far
            return np.inf
        if scale > 0 and len(self.ratios):
            found = scale * float(np.quantile(self.ratios, 1 - rate, method="higher"))
            return max(found, float(self.losses[0]))  # at least what rounding makes
        return float(np.quantile(self.losses, 1 - rate, method="higher")) if len(self.losses) else np.inf

    @property
    def score(self) -> float:
        """The score from which on a group is new."""
        return float(np.quantile(self.scores, USUAL)) if len(self.scores) else np.inf


def learn_ordinary(
    rows: RowSource, model: Model, centers: Centers, sizes: Array, prior: Prior, rng: np.random.Generator
) -> Ordinary:
    """Get losses and scores of the tasks of a fit, each as a task that joins the others; `sizes` (m, c) of clusters."""
    sample = take_few(rows, NOVELTY_ROWS, rng)
    nothing = _rounding(sample, model)
    if not model.membership.diagonal:
        Ls = [np.maximum(L, nothing) for L in read_out(Blocks(sample).place, model=model, centers=centers)[1]]
        return _sorted(Ls, [L / loss_scale(L, b.u) for L, b in zip(Ls, sample, strict=True)], [])
    losses: list[Array] = []
    ratios: list[Array] = []
    scores: list[float] = []
    for k, block, whole, shared, held in _views(sample, model, centers, sizes, rng):
        own, alone = Blocks([block]), centers.take("m", [k])
        labels = read_out(own.place, model=model.take("m", [k]), centers=alone)[0][0]
        labels = labels if labels.ndim == 1 else labels.argmax(axis=1)
        some = held[labels]
        if not some.any():
            continue
        others = _moved(model, alone, shared)
        of_others = replace(prior, exists=held, sizes=prior.sizes * held)
        found = join(Blocks([whole]), model.take("m", [k]), others, [0], of_others)
        Ls = read_out(own.place, model=found.model, centers=found.centers)[1][0].astype(np.float64)
        Ls = np.maximum(Ls, nothing)
        losses.append(Ls[some])
        if found.enough[0]:
            ratios.append(Ls[some] / loss_scale(Ls, block.u))
            view = seen(block, found.model, found.centers, held)
            scores += [_score(part, rng) for part in _compositions(view, labels, rng)]
    return _sorted(losses, ratios, scores)


def _rounding(sample: list[Block], model: Model) -> float:
    """Make a loss that means nothing: rounding makes losses of about that size of rows that lie on their centres."""
    if model.geometry.estimated:
        return LOSS_ROUNDING * sample[0].X.shape[1]
    eps = float(np.finfo(sample[0].sq.dtype).eps)
    return 100 * eps * float(np.mean(np.concatenate([b.sq for b in sample]), dtype=np.float64))


def _sorted(losses: list[Array], ratios: list[Array], scores: list[float]) -> Ordinary:
    first, second = (np.sort(np.concatenate([np.zeros(0), *parts])) for parts in (losses, ratios))
    return Ordinary(first, second, np.array(scores, dtype=np.float64))


def _compositions(view: Seen, labels: Array, rng: np.random.Generator) -> Iterator[Seen]:
    """Yield the rows of a task, and these without some clusters, as another task might not hold them."""
    yield view
    numbers = np.unique(labels)
    for j in rng.permutation(numbers)[: WITHOUT if len(numbers) > 1 else 0]:
        yield view.rows(labels != j)


def _score(view: Seen, rng: np.random.Generator) -> float:
    group = best_group(view, rng)
    return 0.0 if group is None else group.score


def loss_scale(losses: Array, u: Array) -> float:
    """Return the median loss of the rows of a task, by which others are compared with it; 1 where it is 0."""
    if not len(losses):
        return 1.0
    order = np.argsort(losses)
    mass = np.cumsum(u[order])
    median = float(losses[order[np.searchsorted(mass, mass[-1] / 2)]])
    return median if median > 0 else 1.0


def _views(
    sample: list[Block], model: Model, centers: Centers, sizes: Array, rng: np.random.Generator
) -> Iterator[tuple[int, Block, Block, Array, Array]]:
    """Yield some tasks, their rows, these without missing values, and the shared centres and clusters without them."""
    m, c = sizes.shape
    pull, points = model.sharing.pull(sizes[None])[0], in_common(centers.Ms.astype(np.float64), centers)
    sharing = np.flatnonzero(np.broadcast_to(model.sharing.sharing, (m,)))
    if len(sharing) > 1:
        for k in sharing[:: -(-len(sharing) // TASKS_THAT_JOIN)].tolist():
            others = sharing[sharing != k]
            of_cluster = pull[others].sum(axis=0)
            Z = np.einsum("kc,kcd->cd", pull[others], points[others]) / np.where(of_cluster > 0, of_cluster, 1)[:, None]
            shared = np.where((of_cluster > 0)[:, None], Z, centers.shared)
            yield k, sample[k], by_itself(sample[k]), shared, of_cluster > 0
        return
    for k in range(min(m, TASKS_THAT_JOIN)):
        block, whole = sample[k], by_itself(sample[k])
        first = rng.permutation(len(block)) < len(block) // 2
        for half in (first, ~first):
            if half.all() or not half.any():
                continue
            rest = _part(whole, ~half)
            labels = read_out(Blocks([rest]).place, model=model.take("m", [k]), centers=centers.take("m", [k]))[0][0]
            labels = labels if labels.ndim == 1 else labels.argmax(axis=1)
            F = (labels == np.arange(c)[:, None]) * np.asarray(rest.u, dtype=np.float64)
            n = F.sum(axis=1)
            T = (rest.X.T @ F.T).T if is_sparse(rest.X) else F @ rest.X
            Z = centers.offsets.take("R", None).from_task(divided(T, n), k)
            yield k, _part(block, half), _part(whole, half), np.where((n > 0)[:, None], Z, centers.shared), n > 0


def _part(block: Block, at: Array) -> Block:
    rows = np.flatnonzero(at)
    return make_block(block.X[rows], block.u[rows], block.origin)


def _moved(model: Model, centers: Centers, shared: Array) -> Centers:
    """Return the same centres with other shared ones."""
    if model.coupling.energy_basis(centers.W) is None:
        return replace(centers, W=None, M=None, Z=shared)
    assert centers.W is not None
    return replace(centers, M=shared @ centers.W, Z=shared)


def next_groups(
    rows: RowSource, found: Joined, groups: dict[int, Array], tasks: list[int], held: Array, usual: Ordinary
) -> dict[int, Array]:
    """Return the groups (g, d) of each task, and one more for those of some tasks in which there is another.

    `held` (c,): the clusters that some task holds.
    """
    able = [k for k in tasks if found.enough[k] and found.model.membership.diagonal and np.isfinite(usual.score)]
    able = [k for k in able if len(groups.get(k, ())) < MOST_GROUPS]
    if not able:
        return groups
    sample = take_few(rows, NOVELTY_ROWS, np.random.default_rng(0))
    groups = dict(groups)
    for k in able:
        block, old = sample[k], groups.get(k, np.zeros((0, rows.n_features)))
        view = seen(block, found.model.take("m", [k]), found.centers.take("m", [k]), held, old)
        group = best_group(view, np.random.default_rng(0))
        if group is not None and group.score > usual.score:
            u = view.u * group.rows
            groups[k] = np.concatenate([old, np.asarray(by_itself(block).X.T @ u).reshape(1, -1) / u.sum()])
    return groups


@dataclass(frozen=True)
class Flags:
    """What makes a row of each task new."""

    limits: Array  # (m,) losses above which rows are; infinite: none is
    groups: dict[int, Array]  # task → centres of groups (g, d)
    held: Array  # (c,) clusters that some task holds


def label_rows(place: Place, *, model: Model, centers: Centers, verdict: Flags) -> tuple[Any, ...]:
    """Return labels, -1 for what is new and for rows without any value; memberships, losses."""
    xp = place.xp
    Ps, Ls, _ = read_out(place, model=model, centers=centers)
    labels = [P if P.ndim == 1 else xp.argmax(P, axis=1) for P in Ps]
    beside = _beside(model, centers, verdict)
    nearest = None if beside is None else read_out(place, model=beside[0], centers=beside[1])[0]
    found = []
    for k, (own, L) in enumerate(zip(labels, Ls, strict=True)):
        new = L > float(verdict.limits[k])
        if nearest is not None:
            new = new | (nearest[k] >= model.n_clusters)
        empty = without_values(place.Xs[k], xp)
        new = new if empty is None else new | empty
        found.append(xp.where(new, xp.full_like(own, -1), own))
    return found, Ps, Ls, None


def _beside(model: Model, centers: Centers, verdict: Flags) -> tuple[Model, Centers] | None:
    """Make a model with the groups of each task as further clusters; None: there are no groups."""
    most = max((len(own) for own in verdict.groups.values()), default=0)
    if not most:
        return None
    m, c, d = centers.Ms.shape
    lam, placed = np.broadcast_to(model.sharing.lam[0], (m,)), centers.placed
    points, held = np.zeros((m, c + most, d)), np.zeros((1, m, c + most), dtype=bool)
    points[:, :c] = placed + lam[:, None, None] * (centers.Ms - placed)
    held[0, :, :c] = verdict.held
    for k, own in verdict.groups.items():
        points[k, c : c + len(own)], held[0, k, c : c + len(own)] = own, True
    geometry = centers.geometry.tied
    plain = Model(c + most, Shrink.of(1.0), 1, holds=held, geometry=model.geometry.tied)
    nowhere = Offsets.none().take("R", 0)
    return plain, Centers(None, None, points, points[0], points[0], held[0], nowhere, geometry)


def counted(rows: RowSource, model: Model, centers: Centers, verdict: Flags) -> PerRow:
    """Tell what rows count where those that are new do not."""
    job = partial(label_rows, model=model, centers=centers, verdict=verdict)
    return rows.apply(_not_new, rows.apply(job, outputs=3)[0], outputs=1)[0]


def _not_new(place: Place, labels: list[Array]) -> tuple[Any, ...]:
    pairs = zip(place.blocks, labels, strict=True)
    return [Weight((b.u * b.xp.astype(own >= 0, b.u.dtype))[None, :], None) for b, own in pairs], None


def loss_scales(rows: RowSource, found: Joined, rng: np.random.Generator) -> Array:
    """Compute (m,) median losses of the rows of each task, of a sample; 0 for tasks of few rows."""
    sample = Blocks(take_sample(rows, NOVELTY_ROWS, rng)[0])
    Ls = read_out(sample.place, model=found.model, centers=found.centers)[1]
    pairs = zip(Ls, sample.place.blocks, strict=True)
    return np.array([loss_scale(L, b.u) if L.shape[-1] else 0.0 for L, b in pairs]) * found.enough


def outlying(rows: RowSource, Ls: PerRow, limits: Array) -> Array:
    """Compute (m,) the share of the rows of each task with a larger loss."""
    return rows.apply(partial(_above, limits=limits), Ls)[-1] / np.maximum(rows.summary.sizes, TINY)


def _above(place: Place, Ls: list[Array], *, limits: Array) -> tuple[Array]:
    pairs = zip(place.blocks, Ls, limits, strict=True)
    return (np.array([float(b.xp.sum(b.u * b.xp.astype(L > float(limit), b.u.dtype))) for b, L, limit in pairs]),)
