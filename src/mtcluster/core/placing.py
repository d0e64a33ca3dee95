"""Where a new task lies, and which of its groups of rows are known clusters, by the evidence of their means.

With rows in units of the spread within clusters, the mean of a group of n_g rows of task k that belong to cluster j is

    x̄_g = b_k + s_k z_j + δ_kj + e_g,   b_k ~ v_b,   δ_kj ~ v_d,   e_g ~ σ_k² / n_g,

and one of no known cluster lies anywhere among these, z̄ + b_k + N(0, v_m). The variances per direction are those that
the tasks of the fit have (`effects_of`), the noise σ_k² is that of the new task. Each pair of a group and a known
cluster proposes an offset; the one under which all groups have most evidence counts, with the groups that it explains.
A group counts once however many rows it has, so a large new one does not drag the offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array
from .smoothing import distances

LEAST = 5  # rows of a group
PIECES = 6  # more than twice as many as there are clusters: what groups are put together from
POLISHED = 10  # rounds of k-means of the pieces
LOCATED = 50  # of shared centres and offsets
REFINED = 10  # of the groups that are explained and the offset
NEW = 0.05  # share of groups that no cluster explains, before anything is seen
PRIOR_TASKS, PRIOR_OWN = 1.0, 0.1  # own centres before any task is seen, in the noise, as from one task
PRIOR_NUMBERS = 1.0  # by which v_d is told before
PRIOR_BETWEEN = 10.0  # shared centres, where there is one
WITHIN = 0.5  # of the noise: a group may be a part of a cluster
IMPROBABLE = 1e100  # nats: nothing is less probable than that
VALLEY = 3.8  # standard deviations between two groups, along the line between their means, that are not one
PRIOR_SCALE = 0.1  # standard deviation of the logarithm of scales, likewise
WIDER = 2.0 ** np.arange(9)  # factors of v_d: clusters of a new task may lie farther from where they are expected
SCALES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # at which an offset is looked for, in such standard deviations
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Effects:
    """How much tasks differ: variances per direction in the coordinates in which clusters are round."""

    noise: float = 1.0  # of rows around the centres of their task
    offset: float = 1.0  # v_b
    own: float = PRIOR_OWN  # v_d
    between: float = PRIOR_BETWEEN  # v_m
    n_tasks: float = PRIOR_TASKS  # by how many offsets v_b is told
    n_own: float = PRIOR_NUMBERS  # by how many numbers v_d is
    log_scale: float = PRIOR_SCALE  # standard deviation of log s_k
    moves: bool = False  # do tasks of the fit lie apart? Else offsets are drawn to 0


@dataclass(frozen=True)
class Modes:
    """Groups of the rows of a task."""

    labels: Array  # (n,)
    sizes: Array  # (g,)
    means: Array  # (g, q)
    noise: float  # variance per direction around the means
    spread: float  # around the mean of all rows

    @property
    def usable(self) -> Array:
        """(g,) groups of rows enough."""
        return self.sizes >= LEAST


@dataclass(frozen=True)
class Position:
    """Where a task lies, and what its groups are."""

    b: Array  # (q,)
    scale: float
    own: float  # v_d that the groups speak for
    cluster: Array  # (g,) the nearest known cluster of each group
    excess: Array  # (g,) log evidence that the group is new rather than that cluster
    explained: Array  # (g,) groups that are known
    weights: Array  # (g,) what the groups count in the offset
    score: float

    def offset(self, means: Array, points: Array) -> Array:
        """Compute the offset (d,) from means (g, d) and known centres (c, d) in any coordinates."""
        return self.weights @ (means - self.scale * points[self.cluster])


def find_modes(Y: Array, u: Array, n_clusters: int) -> Modes:
    """Find groups of rows (n, q) with weights u: pieces, put together while that raises the evidence of one more group.

    With W the sum of squares within g groups, it is −(n q / 2) log W + Σ n_i log(n_i / n) − (g q / 2) log n.
    """
    labels = _pieces(Y, u, 2 * n_clusters + PIECES)
    n, q = float(u.sum()), Y.shape[1]
    sizes, means = summed(Y, u, labels)
    W = float(u @ np.sum((Y - means[labels]) ** 2, axis=1))
    groups, best, least = (
        np.arange(len(sizes)),
        labels,
        np.finfo(np.float64).eps * max(float(u @ np.sum(Y**2, axis=1)), TINY),
    )
    most = -np.inf
    while True:
        found = -n * q / 2 * np.log(max(W, least)) + sizes @ np.log(sizes / n) - len(sizes) * q / 2 * np.log(n)
        if found > most:
            most, best = found, groups[labels]
        if len(sizes) == 1:
            break
        apart = distances(means, means) * (sizes[:, None] * sizes) / (sizes[:, None] + sizes)
        np.fill_diagonal(apart, np.inf)
        i, j = sorted(np.unravel_index(int(apart.argmin()), apart.shape))
        W += float(apart[i, j])
        means[i] = (sizes[i] * means[i] + sizes[j] * means[j]) / (sizes[i] + sizes[j])
        sizes[i] += sizes[j]
        sizes, means = np.delete(sizes, j), np.delete(means, j, axis=0)
        groups = np.where(groups == j, i, groups)
        groups = groups - (groups > j)
    sizes, means = summed(Y, u, best)
    spread = _squares(Y, u) / (n * q)
    return Modes(best, sizes, means, spread_of(Y, u, best, sizes, means), spread)


def spread_of(Y: Array, u: Array, labels: Array, sizes: Array, means: Array) -> float:
    """Return the usual variance per direction of groups: the median, by rows."""
    squares = np.bincount(labels, weights=u * np.sum((Y - means[labels]) ** 2, axis=1), minlength=len(sizes))
    some = sizes > 1
    if not some.any():
        return TINY
    values = squares[some] / ((sizes[some] - 1) * Y.shape[1])
    order = np.argsort(values)
    mass = np.cumsum(sizes[some][order])
    return max(float(values[order[np.searchsorted(mass, mass[-1] / 2)]]), TINY)


def summed(Y: Array, u: Array, labels: Array) -> tuple[Array, Array]:
    """Return sizes (g,) and means (g, q) of groups."""
    sizes = np.bincount(labels, weights=u)
    F = (labels == np.arange(len(sizes))[:, None]) * u
    return sizes, F @ Y / np.where(sizes > 0, sizes, 1)[:, None]


def apart_from(Y: Array, u: Array, modes: Modes, known: Array) -> Array:
    """Tell which groups (g,) no chain of groups without a valley between them joins with those that are known."""
    g = len(modes.sizes)
    linked = np.eye(g, dtype=bool)
    spread = np.bincount(modes.labels, weights=u * np.sum((Y - modes.means[modes.labels]) ** 2, axis=1), minlength=g)
    chance = spread / modes.sizes**2
    for i in range(g):
        for j in range(i):
            w = modes.means[i] - modes.means[j]
            length = max(float(np.linalg.norm(w)), TINY)
            width = np.mean([_deviation(Y[modes.labels == k] @ (w / length), u[modes.labels == k]) for k in (i, j)])
            linked[i, j] = linked[j, i] = length - (chance[i] + chance[j]) / length < VALLEY * width
    reached = known.copy()
    for _ in range(g):
        reached = reached | linked[:, reached].any(axis=1)
    return ~reached


def _deviation(y: Array, u: Array) -> float:
    mean = u @ y / u.sum()
    return float(np.sqrt(u @ (y - mean) ** 2 / u.sum()))


def _pieces(Y: Array, u: Array, most: int) -> Array:
    """Cut rows into pieces: that of the largest sum of squares, along where it is widest; then k-means."""
    labels, most = np.zeros(len(Y), dtype=np.intp), max(min(most, len(Y) // LEAST), 1)
    squares = {0: _squares(Y, u)}
    while len(squares) < most:
        widest = max(squares, key=lambda j: squares[j])
        if not squares[widest] > 0:
            break
        at = np.flatnonzero(labels == widest)
        side = _halved(Y[at], u[at])
        if side.all() or not side.any():
            squares[widest] = 0.0
            continue
        labels[at[side]] = len(squares)
        for j in (widest, len(squares)):
            own = labels == j
            squares[j] = _squares(Y[own], u[own])
    for _ in range(POLISHED):
        _, means = summed(Y, u, labels)
        found = distances(Y, means).argmin(axis=0)
        found = np.unique(found, return_inverse=True)[1].reshape(-1)
        if np.array_equal(found, labels):
            break
        labels = found
    return labels


def _squares(Y: Array, u: Array) -> float:
    return float(u @ np.sum((Y - u @ Y / u.sum()) ** 2, axis=1)) if len(Y) > 1 else 0.0


def _halved(Y: Array, u: Array) -> Array:
    """Tell which rows lie on one side, after a few rounds of k-means with two centres."""
    rest = Y - u @ Y / u.sum()
    side = rest @ np.linalg.eigh((rest.T * u) @ rest)[1][:, -1] > 0
    for _ in range(POLISHED):
        if side.all() or not side.any():
            break
        a, b = (np.average(rest[at], axis=0, weights=u[at]) for at in (side, ~side))
        found = np.sum((rest - a) ** 2, axis=1) < np.sum((rest - b) ** 2, axis=1)
        if np.array_equal(found, side):
            break
        side = found
    return side


def find_position(modes: Modes, Z: Array, effects: Effects, *, scaled: bool = False) -> Position:
    """Find where the task of some groups lies, given the known centres (c, q) of the frame that all tasks share."""
    at, best = np.flatnonzero(modes.usable), None
    scales = np.exp(effects.log_scale * SCALES) if scaled else np.ones(1)
    for s in scales.tolist():
        starts = (modes.means[at][:, None] - s * Z).reshape(-1, Z.shape[1])
        for b in (np.zeros(Z.shape[1]), *starts):
            found = _refined(modes, Z, effects, b, s, scaled)
            if best is None or found.score > best.score + 1e-9 * abs(best.score):
                best = found
    assert best is not None
    total = best.weights.sum()
    return replace(best, weights=best.weights / total) if effects.moves and total > 0 else best


def _refined(modes: Modes, Z: Array, effects: Effects, b: Array, s: float, scaled: bool) -> Position:
    """Follow the groups that an offset explains."""
    last: Array | None = None
    for _ in range(REFINED):
        found = _position(modes, Z, effects, b, s)
        now = np.where(found.explained, found.cluster, -1)
        if last is not None and np.array_equal(now, last):
            break
        last = now
        if scaled and found.explained.sum() > 1:
            found = replace(found, scale=_scale(modes, Z, effects, found))
        b, s = found.offset(modes.means, Z), found.scale
    return _position(modes, Z, effects, b, s)


def _scale(modes: Modes, Z: Array, effects: Effects, found: Position) -> float:
    """Compute the scale from the groups that are explained: least squares, drawn to 1."""
    at = found.explained
    w = 1 / (found.own + modes.noise / modes.sizes[at])
    x, z = modes.means[at], Z[found.cluster[at]]
    x, z = x - w @ x / w.sum(), z - w @ z / w.sum()
    prior = 1 / max(effects.log_scale**2, TINY)
    return max(float((w @ np.sum(x * z, axis=1) + prior) / (w @ np.sum(z * z, axis=1) + prior)), 0.05)


def _position(modes: Modes, Z: Array, effects: Effects, b: Array, s: float) -> Position:
    """Compare the groups with the known clusters at one offset, for the variance of own centres that explains most."""
    q, means, use = Z.shape[1], modes.means - b, modes.usable
    D = distances(s * Z, means)
    cluster = D.argmin(axis=1)
    near, far = D.min(axis=1), np.sum((means - s * Z.mean(axis=0)) ** 2, axis=1)
    v, e = s**2 * effects.own * WIDER[:, None], modes.noise / modes.sizes
    part = e + WITHIN * modes.noise
    anywhere = s**2 * (effects.between + effects.own) + modes.noise
    log_new = _log_normal(far, anywhere + part, q) + np.log(NEW)
    log_known = _log_normal(near, v + part, q) - np.log(len(Z))
    prior = -effects.n_own / 2 * (np.log(WIDER) + 1 / WIDER - 1)
    values = np.maximum(log_known, log_new)[:, use].sum(axis=1) + prior
    most = int(values.argmax())
    length, dof = float(b @ b), effects.n_tasks
    score = float(values[most]) - (dof + q) / 2 * np.log1p(length / (dof * max(effects.offset, TINY)))
    score -= min((np.log(s) / max(effects.log_scale, 1e-100)) ** 2 / 2, IMPROBABLE)
    explained = use & (log_known[most] >= log_new)
    w = np.where(explained, 1 / np.maximum(v[most] + part, 1 / IMPROBABLE), 0.0)
    total = w.sum() + (dof + q) / (dof * max(effects.offset, TINY) + length)
    sure = _log_normal(far, anywhere + e, q) - _log_normal(near, v[most] + e, q)
    excess = sure + np.log(NEW * len(Z))
    return Position(b, s, float(v[most, 0]), cluster, excess, explained, w / total, score)


def _log_normal(squares: Array, variance: Array, q: int) -> Array:
    variance = np.maximum(variance, (squares + 1 / IMPROBABLE) / IMPROBABLE)
    return -q / 2 * np.log(variance) - squares / variance / 2


def effects_of(Ys: list[Array], us: list[Array], labels: list[Array], scales: Array, n_clusters: int) -> Effects:
    """Estimate how much tasks differ from the rows of each in common coordinates, and their labels; −1: not counted."""
    m, q = len(Ys), Ys[0].shape[1]
    N, X, noise = np.zeros((m, n_clusters)), np.zeros((m, n_clusters, q)), np.zeros(m)
    for k, (Y, u, own) in enumerate(zip(Ys, us, labels, strict=True)):
        at = own >= 0
        F = (own[at] == np.arange(n_clusters)[:, None]) * u[at]
        N[k] = F.sum(axis=1)
        X[k] = F @ Y[at] / np.where(N[k] > 0, N[k], 1)[:, None]
        rest = float(u[at] @ np.sum((Y[at] - X[k][own[at]]) ** 2, axis=1))
        noise[k] = rest / (q * max(N[k].sum() - np.count_nonzero(N[k]), 1.0))
    X /= scales[:, None, None]
    usual = max(float(np.median(noise / scales**2)), TINY)
    w = N / (N + 1 / PRIOR_OWN)  # about what a mean counts
    w[:, (N > 0).sum(axis=0) == 0] = 0
    b = np.zeros((m, q))
    z = np.zeros((n_clusters, q))
    for _ in range(LOCATED):
        total = w.sum(axis=0)
        z = np.einsum("kc,kcd->cd", w, X - b[:, None]) / np.where(total > 0, total, 1)[:, None]
        b = np.einsum("kc,kcd->kd", w, X - z) / np.maximum(w.sum(axis=1), TINY)[:, None]
        b -= b.mean(axis=0)
    held = w.sum(axis=0) > 0
    left = np.where(N > 0, np.sum((X - b[:, None] - z) ** 2, axis=2), 0)
    free = max(np.count_nonzero(N) - held.sum() - (m - 1), 0)
    errors = usual * float(np.sum(1 / N[N > 0])) * free / max(np.count_nonzero(N), 1)
    own = (q * PRIOR_OWN * usual * PRIOR_TASKS + max(float(left.sum()) - q * errors, 0)) / (q * (PRIOR_TASKS + free))
    middle, n_held = z[held].mean(axis=0), int(held.sum())
    between = float(np.sum((z[held] - middle) ** 2)) / (q * (n_held - 1)) if n_held > 1 else PRIOR_BETWEEN * usual
    shifts = float(np.sum(b**2)) / q
    offset = (np.sqrt(between * usual) * PRIOR_TASKS + shifts) / (PRIOR_TASKS + m - 1)
    return Effects(usual, float(offset), own, between, PRIOR_TASKS + m - 1, PRIOR_NUMBERS + q * free, PRIOR_SCALE)
