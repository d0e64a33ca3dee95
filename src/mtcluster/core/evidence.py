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
MOST_NUMBERS = 2**22  # of matrices that are made side by side
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
        groups = Groups(N, T, self.XX)
        several = np.count_nonzero(N.sum(axis=1)) > 1
        grids = (
            CENTERS,
            OFFSETS if offsets and several else OFFSETS[:1],
            OWN_CENTERS if own and several else OWN_CENTERS[:1],
        )
        best = self._best_prior(
            groups, np.array([grid[len(grid) // 2] if k < 2 else 0.0 for k, grid in enumerate(grids)])
        )
        for _ in range(ROUNDS):  # the variances one after the other, with Ψ as it is best for the last ones
            v = np.array(best.effects)
            for k, grid in enumerate(grids):
                if len(grid) > 1:
                    tried = np.repeat(v[None], len(grid), axis=0)
                    tried[:, k] = grid
                    v[k] = grid[np.argmax(self._at_prior(groups, tried, best.prior))]
            found = best if np.array_equal(v, best.effects) else self._best_prior(groups, v)
            if found.value <= best.value:
                break
            best = found
        return best

    def gains(self, N: Array, T: Array, at: Judged, tasks: Array, sizes: Array, sums: Array) -> Array:
        """Compute by how much the evidence (B,) rises if one of the tasks has other groups, at variances as they are.

        `tasks` (B,) are these tasks, `sizes` (B, c) and `sums` (B, c, d) what their groups are then.
        """
        now = TaskTerms.of(N, T, at.effects)
        Q, X, inner, log_K = (values.sum(axis=0) for values in now)
        Q = Q + self.XX
        before = self._value(
            *_without_clusters(Q[None], X[None], inner[None], log_K[None], at.effects.centers), at.prior
        )[0]
        found, d = [], len(self.XX)
        for some in np.array_split(np.arange(len(tasks)), max(len(tasks) * d * d // MOST_NUMBERS, 1)):
            then, k = TaskTerms.of(sizes[some], sums[some], at.effects), tasks[some]
            new = [all_ + one - old[k] for all_, one, old in zip((Q, X, inner, log_K), then, now, strict=True)]
            found.append(self._value(*_without_clusters(new[0], new[1], new[2], new[3], at.effects.centers), at.prior))
        return np.concatenate(found) - before

    def _best_prior(self, groups: Groups, v: Array) -> Judged:
        """Compute the evidence at (v_m, v_b, v_d) with the best Ψ: which S0, which ν, and s."""
        Q, log_K = groups.scatter(v[None])
        d, n, size = len(self.XX), self.n, (self.nu - len(self.XX) - 1)[:, None] * SIZES
        own = np.diag(Q[0]) / n
        own = own + FLOOR * own.mean() if own.any() else np.ones(d)
        found = []
        for target, price in zip((np.full(d, own.mean()), own), self.prices, strict=False):
            root = np.sqrt(target)
            e = np.maximum(np.linalg.eigvalsh(Q[0] / np.outer(root, root)), 0)
            volume = np.log(target).sum()
            values = (
                self.gammas[:, None] - d / 2 * log_K[0] - price
                + self.nu[:, None] / 2 * (volume + d * np.log(size))
                - (self.nu[:, None] + n) / 2 * (volume + np.log(size[..., None] + e).sum(axis=2))
            )  # fmt: skip
            i, j = np.unravel_index(np.argmax(values), values.shape)
            prior = Prior(size[i, j] * target, int(i), float(price))
            found.append(Judged(float(values[i, j]) - self.cost, Effects(*v.tolist()), prior))
        return max(found, key=lambda one: one.value)

    def _at_prior(self, groups: Groups, vs: Array, prior: Prior) -> Array:
        """Compute the evidence of groups at each of several variances (B, 3), with Ψ as it is."""
        return self._value(*groups.scatter(vs), prior)

    def _value(self, Q: Array, log_K: Array, prior: Prior) -> Array:
        """Compute the evidence (B,) from Q (B, d, d) and log|K| (B,), but for what a change of the rows costs."""
        d, nu = len(self.XX), self.nu[prior.strength]
        known = self.gammas[prior.strength] - prior.price + nu / 2 * np.log(prior.target).sum()
        return known - d / 2 * log_K - (nu + self.n) / 2 * np.linalg.slogdet(Q + np.diag(prior.target))[1]


class Groups:
    """Groups of a task and a cluster, from weights N (m, c) and sums T (m, c, d)."""

    def __init__(self, N: Array, T: Array, XX: Array) -> None:
        self.held, self.N = N > 0, N
        self.mean = T / np.where(self.held, N, 1)[..., None]
        d = T.shape[2]
        self.W = XX - self.mean.reshape(-1, d).T @ T.reshape(-1, d)
        self.log_N = np.log(np.where(self.held, N, 1)).sum()

    def scatter(self, vs: Array) -> tuple[Array, Array]:
        """Compute Q (B, d, d) and log|K| (B,) at each of several variances (B, 3)."""
        v_m, v_b, v_d = (vs[:, k, None, None] for k in range(3))
        (m, c, d), v_b = self.mean.shape, v_b[..., 0]
        noise = np.where(self.held, 1 / np.where(self.held, self.N, 1) + v_d, 1)
        w = np.where(self.held, 1 / noise, 0.0)  # (B, m, c)
        size = w.sum(axis=2)
        shrunk = v_b / (1 + v_b * size)
        log_K = self.log_N + np.log(noise).sum(axis=(1, 2)) + np.log1p(v_b * size).sum(axis=1)
        weighted = w[..., None] * self.mean
        of_task = weighted.sum(axis=2)  # (B, m, d)
        Q = self.W + np.swapaxes(weighted.reshape(-1, m * c, d), 1, 2) @ self.mean.reshape(m * c, d)
        Q = Q - np.swapaxes(shrunk[..., None] * of_task, 1, 2) @ of_task
        drawn = np.swapaxes(shrunk[..., None] * w, 1, 2)  # (B, c, m)
        of_cluster = weighted.sum(axis=1) - drawn @ of_task
        inner = np.eye(c) * w.sum(axis=1)[:, None] - drawn @ w
        return _without_clusters(Q, of_cluster, inner, log_K, v_m)


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


def _without_clusters(
    Q: Array, of_cluster: Array, inner: Array, log_K: Array, v_m: Array | float
) -> tuple[Array, Array]:
    """Eliminate the centres of the clusters: return Q (B, d, d) and log|K| (B,)."""
    inner = np.eye(inner.shape[1]) + v_m * inner
    drawn = np.linalg.solve(inner, v_m * of_cluster)
    return Q - np.swapaxes(of_cluster, 1, 2) @ drawn, log_K + np.linalg.slogdet(inner)[1]
