"""Which cluster of one fit is which of another, by the distances between their centres alone.

Two fits whose rows have no column in common have centres that cannot be compared, but the distances between centres
can: D (a × a) of one and E (b × b) of the other, a ≤ b. A matching π gives each cluster of the first its own of the
second. It is judged by what the distances have left over after the best change of unit s,

    misfit(π) = min_s Σ_{i<k} (D_ik − s E_π(i)π(k))² / Σ_{i<k} D_ik² = 1 − cos²(D, E_π),

the cost of Gromov and Wasserstein for a coupling that is a matching. All clusters count alike: shares of the rows are
no geometry, and tasks may differ in them. If the N distances differ from those of the right matching by errors of
unknown size, the likelihood of a matching, without that size and the unit, goes with misfit(π)^(−(N−1)/2), and

    evidence(π) = misfit(π)^(−(N−1)/2) / Σ_ρ misfit(ρ)^(−(N−1)/2).

It is low where several matchings fit alike, as for symmetric arrangements, and where none fits, as for arrangements
that have nothing in common, for which rows drawn again would bring out the same matching again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import perm

import numpy as np

from .arrays import Array

ENUMERATED = 40320  # matchings that are all looked at: those of 8 with 8
LEAST_MISFIT = 1e-12  # misfit below which distances are equal up to rounding
Proposer = Callable[[Array, Array], Array]  # D (a, a), E (b, b) → matchings (k, a) that are worth a look


@dataclass(frozen=True)
class Ranking:
    """The best matching of a clusters with b, and what stands against it."""

    best: Array  # (a,) which of the b clusters each has
    second: Array | None  # (a,) the next; None: there is no other
    misfit: float
    second_misfit: float
    evidence: float  # of the best, from 0 to 1


def distances(C: Array) -> Array:
    """Compute (…, c, c) distances between centres (…, c, d)."""
    return np.sqrt(np.sum((C[..., :, None, :] - C[..., None, :, :]) ** 2, axis=-1))


def enumerable(a: int, b: int) -> bool:
    """Tell whether all matchings of a clusters with b can be looked at."""
    return perm(max(a, b), min(a, b)) <= ENUMERATED


@lru_cache(maxsize=2)
def _all(a: int, b: int) -> Array:
    """Compute (k, a) all matchings."""
    return np.array(list(permutations(range(b), a)), dtype=np.intp).reshape(-1, a)


def misfits(D: Array, E: Array, maps: Array) -> Array:
    """Compute (k,) what each matching (k, a) leaves over, from 0 to 1."""
    i, j = np.triu_indices(len(D), 1)
    x, Y = D[i, j], E[maps[:, i], maps[:, j]]
    lengths = np.sqrt(np.sum(x**2) * np.sum(Y**2, axis=1))
    cosine = np.where(lengths > 0, Y @ x / np.where(lengths > 0, lengths, 1), 0)
    return np.clip(1 - cosine**2, LEAST_MISFIT, 1)


def likeness(D: Array, E: Array, at: Array, to: Array) -> float:
    """Cosine of the distances between some clusters (k,) of one and (k,) of the other; 1 of a single one, 0 of none."""
    if len(at) < 2:
        return float(len(at))
    i, j = np.triu_indices(len(at), 1)
    x, y = D[at[i], at[j]], E[to[i], to[j]]
    lengths = float(np.sqrt(np.sum(x**2) * np.sum(y**2)))
    return min(float(x @ y) / lengths, 1.0) if lengths > 0 else 1.0


def rank(D: Array, E: Array, propose: Proposer) -> Ranking:
    """Return the best matching of the clusters with distances D (a, a) with those of E (b, b), a ≤ b.

    All matchings are looked at if they are few, else those that are proposed, and what exchanges make of them.
    """
    a, b = len(D), len(E)
    maps = _all(a, b) if enumerable(a, b) else _climbed(D, E, propose(D, E))
    cost = misfits(D, E, maps)
    order = np.argsort(cost, kind="stable")[:2]
    freedom = max(a * (a - 1) // 2 - 1, 0)
    weights = (cost / cost[order[0]]) ** (-freedom / 2)
    best, rest = order[0], order[1:]
    return Ranking(
        maps[best],
        maps[rest[0]] if len(rest) else None,
        float(cost[best]),
        float(cost[rest[0]]) if len(rest) else 1.0,
        float(1 / weights.sum()),
    )


def stability(Ds: Array, Es: Array, ranking: Ranking) -> float:
    """Get the share of redrawn distances, Ds (B, a, a) and Es (B, b, b), whose best matching is the same, and alone.

    Where matchings are too many to look at all of them, it is compared with the second best and all exchanges.
    """
    if ranking.second is None:
        return 1.0
    a, b = Ds.shape[1], Es.shape[1]
    if enumerable(a, b):
        maps = _all(a, b)
    else:
        maps = np.concatenate([_exchanges(ranking.best, b), _exchanges(ranking.second, b)])
    others = maps[np.any(maps != ranking.best, axis=1)]
    pairs = zip(Ds, Es, strict=True)
    kept = [misfits(D, E, ranking.best[None])[0] < misfits(D, E, others).min() for D, E in pairs]
    return float(np.mean(kept))


def _climbed(D: Array, E: Array, starts: Array) -> Array:
    """Compute (k, a) matchings to which exchanges lead, and their exchanges, each once."""
    found = []
    for start in starts:
        at, cost = start, np.inf
        while True:
            near = _exchanges(at, len(E))
            costs = misfits(D, E, near)
            if not costs.min() < cost:
                break
            at, cost = near[np.argmin(costs)], costs.min()
        found.append(near)
    return np.unique(np.concatenate(found), axis=0)


def _exchanges(one: Array, b: int) -> Array:
    """Get (k, a) a matching, and all that differ from it by an exchange of two clusters, or by one that was free."""
    a = len(one)
    whole = np.concatenate([one, np.setdiff1d(np.arange(b), one)])
    found = [one]
    for i in range(a):
        for j in range(i + 1, b):
            other = whole.copy()
            other[[i, j]] = whole[[j, i]]
            found.append(other[:a])
    return np.stack(found)


@dataclass(frozen=True)
class Arrangement:
    """Rows of a fit in the frame that its tasks share, and its centres."""

    Y: Array  # (n, d)
    tasks: Array  # (n,)
    C: Array  # (c, d)
    A: Array | None  # (d, d) the metric of the fit; None: Euclidean

    def distances(self) -> Array:
        """Get (c, c) between the centres, in units of the scatter around them where the fit has a metric of its own."""
        return self._between(self.Y, self.C)

    def redrawn(self, n_draws: int, rng: np.random.Generator) -> Array:
        """Compute (B, c, c) the same, of rows that are drawn again within their tasks.

        Each row belongs to the nearest centre, of C first, then of its draw; a cluster without rows keeps its centre.
        """
        groups = [np.flatnonzero(self.tasks == k) for k in np.unique(self.tasks)]
        found = []
        for _ in range(n_draws):
            X = self.Y[np.concatenate([rng.choice(at, size=len(at)) for at in groups])]
            found.append(self._between(X, self._means(X, self._means(X, self.C))))
        return np.stack(found)

    def _between(self, X: Array, C: Array) -> Array:
        return distances(C if self.A is None else C @ whitener(X - C[self._nearest(X, C)]))

    def _nearest(self, X: Array, C: Array) -> Array:
        CA = C if self.A is None else C @ self.A
        return np.argmin(np.sum(CA * C, axis=1) - 2 * X @ CA.T, axis=1)

    def _means(self, X: Array, C: Array) -> Array:
        """Return means of the rows that are nearest to each centre."""
        member = self._nearest(X, C) == np.arange(len(C))[:, None]
        n = member.sum(axis=1)[:, None]
        return np.where(n > 0, member @ X / np.maximum(n, 1), C)


def whitener(R: Array) -> Array:
    """Get T (d, d) with (T Tᵀ)⁻¹ the covariance of rows R (n, d) around 0, correlations shrunk as Ledoit and Wolf do.

    Errors of a covariance change all distances at once, and would hide what arrangements have in common; variances of
    columns are not shrunk, so that units of columns do not matter.
    """
    widths = np.sqrt(np.mean(R**2, axis=0))
    some = widths > 0
    widths = np.where(some, widths, widths[some].mean() if some.any() else 1)
    X = R / widths
    n, d = X.shape
    S = X.T @ X / n + np.diag(~some)
    far = np.sum((S - np.eye(d)) ** 2)
    error = (np.mean(np.sum(X**2, axis=1) ** 2) - np.sum(S**2)) / n
    share = min(max(float(error / far), 0.0), 1.0) if far > 0 else 1.0
    values, turn = np.linalg.eigh((1 - share) * S + share * np.eye(d))
    floor = d * np.finfo(np.float64).eps * values[-1]
    return turn / np.sqrt(np.maximum(values, floor)) / widths[:, None]
