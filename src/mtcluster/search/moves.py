"""Moves: cut a cluster in two and make one of two others, and fit again, while the evidence rises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from ..core.arrays import Array
from ..core.evidence import Judged
from .kmeans import kmeans_of_each, nearest_centers
from .mixtures import Frame, fit_mixtures, place
from .rows import Rows, whitener

Judge = Callable[[Sequence[Array]], list[Judged]]  # the evidence of several labels

MOST_MOVES = 30
TRIED = 4  # moves that are tried side by side before a search ends
LOOKED_AT = 1000  # rows of a cluster that tell where it may be cut
LEAST_CUT = 4  # rows of a cluster that may be cut
ITERATIONS = 40
NEXT_TO = 2  # clusters that the rows of a task and a cluster may go to
TINY_SHARE = 1e-9  # of the variance of a column that it has at least within clusters
RAISES = 1e-6  # nats by which the evidence has to rise


def improved(judge: Judge, rows: Rows, labels: Array, c: int, frame: Frame, rng: np.random.Generator) -> Array:
    """Return labels of higher evidence, if moves find any. `judge` tells the evidence of several labels."""
    best, tried = judge([labels])[0].value, set[object]()
    for _ in range(MOST_MOVES):
        moved = _proposals(rows, labels, c, frame, rng, tried)
        if not len(moved):
            break
        found = fit_mixtures(rows, moved, c, frame, ITERATIONS)
        values = [one.value for one in judge(list(found))]
        lead = int(np.argmax(values))
        if values[lead] <= best + RAISES:
            break
        labels, best = found[lead], values[lead]
    return labels


def _proposals(rows: Rows, labels: Array, c: int, frame: Frame, rng: np.random.Generator, tried: set[object]) -> Array:
    """Return labels (R, n) after the moves that promise most, of those that were not tried before."""
    N, T = rows.sums(labels, c)
    centers, b, _ = place(N[None], T[None], frame)
    size = N.sum(axis=0)
    Y = rows.Y - b[0][rows.ids]
    n = rows.u.sum()
    L = whitener(Y - centers[0][labels], rows.u, rows.round, TINY_SHARE * np.diag(rows.XX) / n)
    Y, mu = Y @ L, centers[0] @ L
    live, empty = np.flatnonzero(size > 0), np.flatnonzero(size == 0)
    apart = ((mu[:, None] - mu) ** 2).sum(axis=2)
    both = np.outer(size, size) / np.maximum(size[:, None] + size, 1)
    cost = n * np.log1p(both * apart / n)  # of two clusters that become one, about
    cuts = sorted(_cuts(Y, rows.u, labels, live.tolist(), n, rng), key=lambda cut: -cut[0])[:TRIED]
    moves: list[tuple[float, int, Array, tuple[int, int] | None]]
    if len(empty):
        moves = [(gain, j, half, None) for gain, j, half in cuts]
    else:
        pairs = list(combinations(live.tolist(), 2))
        moves = [(gain - cost[pair], j, half, pair) for gain, j, half in cuts for pair in pairs if j not in pair]
    found: list[Array] = []
    for _, j, half, pair in sorted(moves, key=lambda move: -move[0])[: 10 * TRIED]:
        key = (round(size[j]), None if pair is None else tuple(np.round(size[list(pair)])))
        if key in tried or len(found) == TRIED:
            continue
        tried.add(key)
        new = labels.copy()
        if pair is not None:
            new[new == pair[1]] = pair[0]
        new[half] = empty[0] if pair is None else pair[1]
        found.append(new)
    return np.array(found)


def _cuts(
    Y: Array, u: Array, labels: Array, clusters: list[int], n: float, rng: np.random.Generator
) -> Iterator[tuple[float, int, Array]]:
    """Tell how much cutting each cluster in two would gain, about: the gain, the cluster, and the rows of one half."""
    rows = {j: np.flatnonzero((labels == j) & (u > 0)) for j in clusters}
    rows = {j: at for j, at in rows.items() if len(at) >= LEAST_CUT}
    some = [Y[at if len(at) <= LOOKED_AT else rng.choice(at, LOOKED_AT, replace=False)] for at in rows.values()]
    for j, halves in zip(rows, kmeans_of_each(some, [None] * len(some), 2, rng, 2, short=True), strict=True):
        own = np.flatnonzero(labels == j)
        half = nearest_centers(Y[own], halves.centers) == 1
        k, size = int(half.sum()), len(own)
        if 0 < k < size:
            apart = ((halves.centers[0] - halves.centers[1]) ** 2).sum()
            yield -n * np.log(max(1 - k * (size - k) / size * apart / n, 1e-6)), j, own[half]


def regrouped(rows: Rows, labels: Array, c: int, judged: Judged) -> tuple[Array, Array]:
    """Compute by how much the evidence falls if a task gives the rows of one cluster to another, or swaps both.

    Returns the evidence that is lost (B,), and (B, 4) the task, the two clusters, and whether they are swapped. Of each
    group the clusters that lie nearest are tried.
    """
    N, T = rows.sums(labels, c)
    centers = T.sum(axis=0) / np.maximum(N.sum(axis=0), 1e-9)[:, None]
    own = T / np.maximum(N, 1e-9)[..., None]
    own = (
        own
        - (N[..., None] * (own - centers)).sum(axis=1, keepdims=True) / np.maximum(N.sum(axis=1), 1e-9)[:, None, None]
    )
    spread = np.maximum(np.diag(rows.XX) / rows.u.sum(), 1e-300)
    moves = []
    for k, j in np.argwhere(N > 0):
        away = ((own[k, j] - centers) ** 2 / spread).sum(axis=1)
        away[j] = np.inf
        for l in np.argsort(away, kind="stable")[: min(NEXT_TO, c - 1)]:
            moves += [(k, j, l, 0)] + [(k, j, l, 1)] * bool(N[k, l] > 0)
    if not moves:
        return np.zeros(0), np.zeros((0, 4), dtype=int)
    asked = np.array(moves)
    k, j, l, swap = asked.T
    sizes, sums = N[k], T[k]  # of the tasks, after each of the moves
    at, stay = np.arange(len(asked)), swap.astype(bool)
    for found, known in ((sizes, N), (sums, T)):
        both = stay.reshape(-1, *[1] * (known.ndim - 2))
        found[at, l] = known[k, j] + np.where(both, 0, known[k, l])
        found[at, j] = np.where(both, known[k, l], 0)
    return -rows.evidence.gains(N, T, judged, k, sizes, sums), asked


def settled(rows: Rows, labels: Array, c: int, judge: Judge) -> Array:
    """Return labels after regrouping tasks for as long as that raises the evidence.

    A cluster fewer in a task is worth `prices`: a few rows at the edge of a cluster do not make the task hold another.
    The best moves of all tasks are made at once; where that is worse than hoped, half of them, and so on.
    """
    judged, price = judge([labels])[0], prices(rows, c)
    for _ in range(MOST_MOVES):
        lost, moves = regrouped(rows, labels, c, judged)
        if not len(lost):
            break
        k, j, l, swap = moves.T
        N, _ = rows.sums(labels, c)
        fewer = (swap == 0) & (N[k, l] > 0) & (N.sum(axis=0)[j] > N[k, j])  # another task has the cluster
        worth = np.where(fewer, price[k], 0.0)
        order = np.argsort(lost - worth, kind="stable")
        order = order[(lost - worth)[order] < -RAISES]
        _, first = np.unique(k[order], return_index=True)
        chosen = order[np.sort(first)]
        while len(chosen):
            new = _regroup(rows, labels, moves[chosen])
            after = judge([new])[0]
            if after.value + worth[chosen].sum() > judged.value + RAISES:
                break
            chosen = chosen[: len(chosen) // 2]
        if not len(chosen):
            break
        labels, judged = new, after
    return labels


def _regroup(rows: Rows, labels: Array, moves: Array) -> Array:
    """Return labels after moves (B, 4) of different tasks."""
    new = labels.copy()
    for task, old, goal, both in moves.tolist():
        part = rows.parts[task]
        own = labels[part]
        new[part] = np.where(own == old, goal, np.where((own == goal) & bool(both), old, own))
    return new


def prices(rows: Rows, c: int) -> Array:
    """Compute (m,) what it costs, in nats, that a task holds one cluster more: which one, and its share of the rows."""
    return np.log(np.maximum(rows.weights, 2.0)) + np.log(c)
