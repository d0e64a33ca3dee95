"""Groups of rows of one task that no known cluster explains.

A row of a class that nobody has seen is rarely an outlier by itself if there are many features, but such rows form a
cluster. So one free centre is added to the known ones, from several starts, and the best is scored by

    G × δ²,

where G is the share of the losses that it saves, and δ the distance between its rows and those of the nearest known
cluster along the line that joins their means, in standard deviations. Both are needed: a part of a large cluster saves
much, but is not apart from the rest (two halves of a normal distribution have δ = 2.6), and a few odd rows are apart
but save little. A task without anything new has such a score too; `novelty` learns how large it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array, is_sparse
from .blocks import Block
from .centers import Centers
from .completing import by_itself, columns_there
from .joining import ENOUGH
from .model import Model
from .sharing import Sharing
from .smoothing import DIRECTIONS, directions, distances

STARTS = 12  # rows at which the free centre begins
DRAWS = 5  # rows of which each of these is the best
ITERATIONS = 10  # with the model's share of own centres, and as many with centres of the rows alone
KEPT = 4  # starts that go on to the latter
PRIOR = 5.0  # rows by which these are drawn to the shared ones
SMALLEST = 0.25  # of the usual size of a cluster: what a group needs
FAR = 1e3  # standard deviations that mean no more than fewer would


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
        """Some of the rows."""
        return replace(self, Y=self.Y[at], u=self.u[at])

    def expected(self, sizes: Array, means: Array) -> Array:
        """Where rows of clusters are expected, (R, c, q), whose rows have such sizes and means."""
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
    """The rows of one task of a model of this task alone; the clusters `held` (c,) are known, and so are groups.

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
    """The group that saves most of the losses beside those found before; None: there is none.

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
    for iteration in range(2 * ITERATIONS):
        if iteration == ITERATIONS:  # the best go on
            kept = np.argsort(-saved, kind="stable")[:KEPT]
            known, extra, saved, runs = known[kept], extra[kept], saved[kept], len(kept)
        points = np.concatenate([known, extra], axis=1)
        D = distances(Y, points.reshape(-1, Y.shape[1])).reshape(runs, -1, len(Y))
        labels = D.argmin(axis=1)
        if iteration < ITERATIONS:
            saved = total - D.min(axis=1) @ u
        sizes, means = _means(Y, u, labels, points.shape[1])
        n = sizes[:, :c]
        if iteration < ITERATIONS:
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
    """δ of the last group: its distance from the nearest other one, along the line between the means of both.

    The distance is less what chance adds to it, as the line was chosen by the rows. A cluster of hardly any rows is at
    its point (g, q), and as wide as the last group, which may have taken its rows.
    """
    sizes, means = (a[0] for a in _means(Y, u, labels[None], len(points)))
    spread = np.bincount(labels, weights=u * np.sum((Y - means[labels]) ** 2, axis=1), minlength=len(points))
    few, last = sizes < ENOUGH, len(points) - 1
    means = np.where(few[:, None], points, means)
    chance = np.where(few, 0, spread / np.maximum(sizes, 1) ** 2)
    found = [FAR]
    for j in range(last):
        w = means[last] - means[j]
        length = max(float(np.linalg.norm(w)), np.finfo(np.float64).tiny)
        at = (last,) if few[j] else (last, j)
        width = float(np.mean([_deviation(Y[labels == i] @ (w / length), u[labels == i]) for i in at]))
        apart = max(length - float(chance[last] + chance[j]) / length, 0.0)
        found.append(apart / width if apart < FAR * width else FAR)
    return min(found)


def _deviation(y: Array, u: Array) -> float:
    mean = u @ y / u.sum()
    return float(np.sqrt(u @ (y - mean) ** 2 / u.sum()))


def _means(Y: Array, u: Array, labels: Array, n_groups: int) -> tuple[Array, Array]:
    """Sizes (R, g) and means (R, g, q) of the groups of each run."""
    F = (labels[:, None] == np.arange(n_groups)[:, None]) * u
    sizes = F.sum(axis=2)
    return sizes, (F.reshape(-1, len(Y)) @ Y).reshape(*sizes.shape, -1) / np.where(sizes > 0, sizes, 1)[..., None]


def _starts(Y: Array, u: Array, losses: Array, rng: np.random.Generator) -> Array:
    """(R, q) rows drawn one after the other by their losses; of several the one that lowers them most."""
    found: list[Array] = []
    for _ in range(STARTS):
        mass = np.cumsum(losses * u)
        if not mass[-1] > 0:
            break
        at = np.minimum(np.searchsorted(mass, rng.random(DRAWS) * mass[-1]), len(mass) - 1)
        D = np.minimum(distances(Y, Y[at]), losses)
        best = int((D @ u).argmin())
        losses = D[best]
        found.append(Y[at[best]])
    return np.array(found).reshape(len(found), Y.shape[1])
