"""The evidence of labels: how probable the rows are, whatever centres, offsets and covariance are.

A row of task t in cluster j is

    x = μ_j + b_t + δ_tj + e,    e ~ N(0, S),  μ ~ N(0, v_m S),  b ~ N(0, v_b S),  δ ~ N(0, v_d S),  S ~ IW(ν, Ψ)

with Ψ = (ν − d − 1) s S0. Centres, offsets, own centres and covariance are integrated out. With N_g and x̄_g the sizes
and means of the groups g of a task and a cluster, and W the scatter within them,

    V = diag(1 / N_g + v_d) + v_b [same task] + v_m [same cluster],    Q = W + x̄ᵀ V⁻¹ x̄,    log|K| = Σ log N_g + log|V|

    log p(X | z) = − (n d / 2) log π − (d / 2) log|K| + ln Γ_d((ν + n) / 2) − ln Γ_d(ν / 2)
                   + (ν / 2) log|Ψ| − ((ν + n) / 2) log|Ψ + Q|

Only sums over groups and Σ x xᵀ enter, so rows may live anywhere. V is diagonal but for effects of tasks and clusters,
which are eliminated one after the other: no matrix of the size of the groups is made. v_m, v_b, v_d, ν, s and S0, a
sphere or a diagonal of about diag(Q) / n, are those of largest evidence; v_b = 0 means no offsets, v_d = 0 no centres
of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import multigammaln

from .arrays import Array

CENTERS = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])  # v_m
OFFSETS = np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])  # v_b
OWN_CENTERS = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # v_d
STRENGTHS = np.array([0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 1e3])  # ν − d − 2, in shares of the rows
SIZES = 2.0 ** np.arange(1, -11, -1)  # s
ROUNDS = 4  # of this search at most
MOST_NUMBERS = 2**20  # of matrices that are made side by side
FLOOR = 1e-6  # share of the mean variance that each variance of S0 has at least


class Prior(NamedTuple):
    """Of the covariance within clusters: Ψ, diagonal, the place of ν in its grid, and what the variances of S0 cost."""

    target: Array  # (d,)
    strength: int
    price: float


class Effects(NamedTuple):
    """Variances of centres, offsets and own centres, in units of the covariance within clusters."""

    centers: float
    offsets: float
    own: float


@dataclass(frozen=True)
class Judged:
    """The evidence of labels in nats, and the variances and the prior of the covariance that make it largest."""

    value: float
    effects: Effects
    prior: Prior


class Evidence:
    """The evidence of labels of the same rows.

    Parameters
    ----------
    XX : array of shape (d, d)
        Σ u x xᵀ, seen from the mean of all rows.
    total : float
        n, the weight of all rows.
    cost : float
        Nats that are paid for how the rows were changed beforehand.
    round : bool
        Whether clusters are spheres of one size: then S is a multiple of the identity.
    """

    def __init__(self, XX: Array, total: float, cost: float = 0.0, round: bool = False) -> None:
        self.XX, self.n, self.cost = XX, total, cost
        d, n = len(XX), total
        shares = STRENGTHS[-1:] if round else STRENGTHS
        self.prices = np.array([0.5] if round else [0.5, 0.5 * d]) * np.log(max(n, 2.0))  # of the variances of S0
        self.nu = d + 2 + shares * n
        self.gammas = multigammaln((self.nu + n) / 2, d) - multigammaln(self.nu / 2, d) - n * d / 2 * np.log(np.pi)

    def __call__(self, N: Array, T: Array, own: bool = False, offsets: bool = True) -> Judged:
        """Compute the evidence of labels from weights N (m, c) and sums T (m, c, d) of their groups.

        `own`: may tasks have centres of their own? `offsets`: may they lie elsewhere?
        """
        return self.of_all(N[None], T[None], own, offsets)[0]

    def of_all(self, N: Array, T: Array, own: bool = False, offsets: bool = True) -> list[Judged]:
        """Compute the evidence of several labels side by side, from N (R, m, c) and T (R, m, c, d)."""
        grids = CENTERS, OFFSETS if offsets else OFFSETS[:1], OWN_CENTERS if own else OWN_CENTERS[:1]
        step = max(MOST_NUMBERS // (T[0].size * max(map(len, grids))), 1)
        found: list[Judged] = []
        for some in (slice(i, i + step) for i in range(0, len(N), step)):
            several = np.count_nonzero(N[some].sum(axis=2), axis=1) > 1
            best: list[Judged | None] = [None] * len(several)
            for alike in (True, False):  # of one task neither offsets nor own centres say anything
                at = np.flatnonzero(several == alike)
                if len(at):
                    asked = grids if alike else (CENTERS, OFFSETS[:1], OWN_CENTERS[:1])
                    for i, one in zip(at, self._climb(Groups(N[some][at], T[some][at], self.XX), asked), strict=True):
                        best[i] = one
            found += [one for one in best if one is not None]
        return found

    def _climb(self, groups: Groups, grids: tuple[Array, ...]) -> list[Judged]:
        """Find the variances of largest evidence one after the other, with Ψ as it is best for the last ones."""
        middle = np.array([grid[len(grid) // 2] if k < 2 else 0.0 for k, grid in enumerate(grids)])
        best = self._best_priors(groups, np.repeat(middle[None], groups.runs, axis=0))
        going = np.arange(groups.runs)
        for _ in range(ROUNDS):
            some, last = groups.take(going), best.take(going)
            v = last.v.copy()
            for k, grid in enumerate(grids):
                if len(grid) > 1:
                    values = self._values(*some.scatter(v, k, grid), last)
                    v[:, k] = grid[np.argmax(values, axis=1)]
            moved = np.flatnonzero((v != last.v).any(axis=1))
            if not len(moved):
                break
            found = self._best_priors(some.take(moved), v[moved])
            higher = found.value > last.value[moved]
            going = going[moved[higher]]
            if not len(going):
                break
            best.put(going, found.take(higher))
        return best.judged()

    def gains(self, N: Array, T: Array, at: Judged, tasks: Array, sizes: Array, sums: Array) -> Array:
        """Compute by how much the evidence (B,) rises if one of the tasks has other groups, at variances as they are.

        `tasks` (B,) are these tasks, `sizes` (B, c) and `sums` (B, c, d) what their groups are then.
        """
        now, prior = TaskTerms.of(N, T, at.effects), Priors.of(at)
        Q, X, inner, log_K = (values.sum(axis=0) for values in now)
        Q = Q + self.XX
        v_m = np.array(at.effects.centers)
        before = self._values(*_without_clusters(Q[None], X[None], inner[None], log_K[None], v_m), prior)[0]
        found, d = [], len(self.XX)
        for some in np.array_split(np.arange(len(tasks)), max(len(tasks) * d * d // MOST_NUMBERS, 1)):
            then, k = TaskTerms.of(sizes[some], sums[some], at.effects), tasks[some]
            new = [all_ + one - old[k] for all_, one, old in zip((Q, X, inner, log_K), then, now, strict=True)]
            found.append(self._values(*_without_clusters(new[0], new[1], new[2], new[3], v_m), prior))
        return np.concatenate(found) - before

    def _best_priors(self, groups: Groups, v: Array) -> Priors:
        """Compute the evidence at variances (R, 3) with the best Ψ: which S0, which ν, and s."""
        Q, log_K = (values[:, 0] for values in groups.scatter(v, 0, v[:, :1]))
        d, n, size = len(self.XX), self.n, (self.nu - len(self.XX) - 1)[:, None] * SIZES
        own = np.einsum("rii->ri", Q) / n
        mean = own.mean(axis=1, keepdims=True)
        own = np.where(own.any(axis=1, keepdims=True), own + FLOOR * mean, 1.0)
        targets = np.stack(
            [np.broadcast_to(own.mean(axis=1, keepdims=True), own.shape), own][: len(self.prices)], axis=1
        )
        root = np.sqrt(targets)
        e = np.maximum(np.linalg.eigvalsh(Q[:, None] / (root[..., None] * root[:, :, None])), 0)
        volume = np.log(targets).sum(axis=2)[..., None, None]
        values = (
            self.gammas[:, None] - d / 2 * log_K[:, None, None, None] - self.prices[:, None, None]
            + self.nu[:, None] / 2 * (volume + d * np.log(size))
            - (self.nu[:, None] + n) / 2 * (volume + _sums_of_logs(size, e))
        )  # fmt: skip
        runs = np.arange(len(v))
        which, i, j = np.unravel_index(values.reshape(len(v), -1).argmax(axis=1), values.shape[1:])
        target = size[i, j][:, None] * targets[runs, which]
        return Priors(values[runs, which, i, j] - self.cost, v, target, i, self.prices[which])

    def _values(self, Q: Array, log_K: Array, at: Priors) -> Array:
        """Compute the evidence (R, G) from Q (R, G, d, d) and log|K| (R, G), but for what a change of the rows costs.

        Also without the second axis, with one prior for all.
        """
        d, nu = len(self.XX), self.nu[at.strength]
        known = self.gammas[at.strength] - at.price + nu / 2 * np.log(at.target).sum(axis=1)
        psi = at.target[..., None] * np.eye(d)
        if Q.ndim == 4:
            known, nu, psi = known[:, None], nu[:, None], psi[:, None]
        return known - d / 2 * log_K - (nu + self.n) / 2 * np.linalg.slogdet(Q + psi)[1]


def _sums_of_logs(size: Array, e: Array) -> Array:
    """Compute Σ log(size + e) over the last axis of e (R, t, d), for sizes (S, s): (R, t, S, s)."""
    found = np.empty((*e.shape[:2], *size.shape))
    for k, one in enumerate(size):
        found[:, :, k] = np.log(one[:, None] + e[:, :, None]).sum(axis=3)
    return found


@dataclass
class Priors:
    """What was found for several labels: the evidence, the variances and the prior of each."""

    value: Array  # (R,)
    v: Array  # (R, 3)
    target: Array  # (R, d)
    strength: Array  # (R,)
    price: Array  # (R,)

    @classmethod
    def of(cls, one: Judged) -> Priors:
        """Return those of one labelling."""
        target, strength, price = one.prior
        return cls(
            np.array([one.value]), np.array([one.effects]), target[None], np.array([strength]), np.array([price])
        )

    def take(self, at: Array) -> Priors:
        """Return those of some labels."""
        return Priors(self.value[at], self.v[at], self.target[at], self.strength[at], self.price[at])

    def put(self, at: Array, found: Priors) -> None:
        """Replace those of some labels."""
        for name, values in vars(self).items():
            values[at] = getattr(found, name)

    def judged(self) -> list[Judged]:
        """Return them one by one."""
        return [
            Judged(float(value), Effects(*v.tolist()), Prior(target, int(strength), float(price)))
            for value, v, target, strength, price in zip(*vars(self).values(), strict=True)
        ]


class Groups:
    """Groups of a task and a cluster, for several labels, from weights N (R, m, c) and sums T (R, m, c, d)."""

    def __init__(self, N: Array, T: Array, XX: Array) -> None:
        self.N, self.T, self.XX, self.runs = N, T, XX, len(N)
        self.held = N > 0
        self.size = np.where(self.held, N, 1.0)
        self.mean = T / self.size[..., None]
        self.W = XX - _crossed(self.mean, T)
        self.log_N = np.log(self.size).sum(axis=(1, 2))

    def take(self, at: Array) -> Groups:
        """Return those of some labels."""
        return self if len(at) == self.runs else Groups(self.N[at], self.T[at], self.XX)

    def scatter(self, v: Array, k: int, grid: Array) -> tuple[Array, Array]:
        """Compute Q (R, G, d, d) and log|K| (R, G) at variances v (R, 3) with the kth from a grid, (G,) or (R, G)."""
        v_m, v_b, v_d = (
            np.broadcast_to(grid, (self.runs, np.shape(grid)[-1])) if i == k else v[:, i : i + 1] for i in range(3)
        )
        v_b, v_d = v_b[:, :, None], v_d[:, :, None, None]
        held = self.held[:, None]
        noise = np.where(held, 1 / self.size[:, None] + v_d, 1)
        w = np.where(held, 1 / noise, 0.0)  # (R, G, m, c)
        size = w.sum(axis=3)
        shrunk = v_b / (1 + v_b * size)
        log_K = self.log_N[:, None] + np.log(noise).sum(axis=(2, 3)) + np.log1p(v_b * size).sum(axis=2)
        weighted = w[..., None] * self.mean[:, None]
        of_task = weighted.sum(axis=3)  # (R, G, m, d)
        Q = self.W[:, None] + _crossed(weighted, self.mean[:, None])
        Q = Q - np.swapaxes(shrunk[..., None] * of_task, 2, 3) @ of_task
        drawn = np.swapaxes(shrunk[..., None] * w, 2, 3)  # (R, G, c, m)
        of_cluster = weighted.sum(axis=2) - drawn @ of_task
        inner = np.eye(w.shape[3]) * w.sum(axis=2)[..., None] - drawn @ w
        return _without_clusters(Q, of_cluster, inner, log_K, v_m)


def _crossed(A: Array, B: Array) -> Array:
    """Compute Aᵀ B (…, d, d) of two arrays (…, m, c, d)."""
    *ahead, m, c, d = A.shape
    return np.swapaxes(A.reshape(*ahead, m * c, d), -1, -2) @ B.reshape(*B.shape[:-3], m * c, d)


class TaskTerms(NamedTuple):
    """What each of several tasks adds to Q, to the sums of clusters, to their matrix and to log|K|, without offsets."""

    Q: Array  # (B, d, d)
    of_cluster: Array  # (B, c, d)
    inner: Array  # (B, c, c)
    log_det: Array  # (B,)

    @classmethod
    def of(cls, N: Array, T: Array, effects: Effects) -> TaskTerms:
        """Compute them from weights N (B, c) and sums T (B, c, d), each task on its own."""
        held, v_b = N > 0, effects.offsets
        n = np.where(held, N, 1)
        mean, noise = T / n[..., None], np.where(held, 1 / n + effects.own, 1)
        w = np.where(held, 1 / noise, 0.0)
        size = w.sum(axis=1)
        shrunk = v_b / (1 + v_b * size)
        weighted = w[..., None] * mean
        of_task = weighted.sum(axis=1)
        Q = np.swapaxes(weighted - T, 1, 2) @ mean - shrunk[:, None, None] * of_task[:, :, None] * of_task[:, None]
        drawn = shrunk[:, None] * w
        inner = np.eye(N.shape[1]) * w[:, None] - drawn[:, :, None] * w[:, None]
        log_K = np.log(n).sum(axis=1) + np.log(noise).sum(axis=1) + np.log1p(v_b * size)
        return cls(Q, weighted - drawn[..., None] * of_task[:, None], inner, log_K)


def _without_clusters(Q: Array, of_cluster: Array, inner: Array, log_K: Array, v_m: Array) -> tuple[Array, Array]:
    """Eliminate the centres of the clusters: return Q (…, d, d) and log|K| (…)."""
    v_m = v_m[..., None, None]
    inner = np.eye(inner.shape[-1]) + v_m * inner
    drawn = np.linalg.solve(inner, v_m * of_cluster)
    return Q - np.swapaxes(of_cluster, -1, -2) @ drawn, log_K + np.linalg.slogdet(inner)[1]
