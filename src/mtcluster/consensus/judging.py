"""One criterion for fits that differ in everything: how well clusters explain the rows, and what tasks differ in.

    log|S| + 2 H(cluster | task) + 2 θ I(cluster; task) + 2 ρ I(location; task) + (m − 1) d log N_k / N

in nats per row, times two, the lower the better. S is the covariance around the centres, λ1 around the tasks' own and
1 − λ1 around the shared ones, as in the loss. The first two terms are the likelihood of rows and labels, and without
more they would buy tighter clusters by taking tasks apart. So what tasks differ in has a price on the same scale, the
information about the task: in the cluster of a row, and in where the task lies, I(location; task) = ½ log|I + S⁻¹ B|
with B the scatter of the offsets, which is no more than the entropy of the task. Offsets that are estimated count as
parameters besides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.geometry import Spread, Tied
from ..core.mstep import products, shared_centers

COMPOSITION, LOCATION, WITHIN = 0.5, 0.3, 0.7  # θ, ρ, λ1
LOST = 100.0  # of a cluster without rows, which makes a fit the last choice


@dataclass(frozen=True)
class Judge:
    """The criterion, on the rows of one embedding."""

    geometry: Tied
    spread: Spread
    origins: Array  # (m, l)
    means: Array  # (m, l) of the tasks

    def nothing(self, matched: bool) -> float:
        """Return the criterion of one cluster that holds all rows."""
        sizes = self.spread.sizes[0]
        T = sizes[:, None] * self.means
        return float(self(sizes[None, :, None], T[None, :, None], np.array([matched]))[0])

    def __call__(self, S: Array, T: Array, matched: Array, numbers: Array | None = None) -> Array:
        """Return the criterion of each run, from the sums of its labels and whether offsets are estimated.

        `numbers` (R,): how many clusters each run was asked for, if not all.
        """
        d, m, N = T.shape[3], T.shape[1], float(self.spread.total[0])
        sizes = S.sum(axis=2)
        means = np.where((S > 0)[..., None], T / np.where(S > 0, S, 1)[..., None], self.origins[:, None])
        Z, b = shared_centers(means, S, sizes, matched, None, None)
        apart, own = means - b[:, :, None] - Z[:, None], means - self.origins[:, None]
        between, around = (products(S[..., None] * Y, Y) for Y in (apart, own))
        cov = (self.spread.XX - around + (1 - WITHIN) * between) / N
        cov = (cov + self.geometry.strength * self.geometry.prior) / (1 + self.geometry.strength)
        moved = np.swapaxes(b, 1, 2) @ (sizes[..., None] * b) / N
        shift = np.linalg.slogdet(np.eye(d) + np.linalg.solve(cov, moved))[1] / 2
        given, mutual = _information(S / N)
        tasks = sizes / N
        most = -np.sum(tasks * np.log(np.maximum(tasks, np.finfo(np.float64).tiny)), axis=1)
        price = 2 * COMPOSITION * mutual + 2 * LOCATION * np.minimum(shift, most)
        estimated = (m - 1) * d * np.mean(np.log(np.maximum(sizes, 1.0)), axis=1) / N  # each from the rows of its task
        price += matched * estimated
        asked = S.shape[2] if numbers is None else numbers
        lost = asked - np.sum(S.sum(axis=1) > 0, axis=1)  # clusters without rows: fewer were found than asked for
        return np.linalg.slogdet(cov)[1] + 2 * given + price + LOST * lost


def _information(P: Array) -> tuple[Array, Array]:
    """Compute H(cluster | task) and I(cluster; task) of each run, from the shares P (R, m, c) of all rows."""
    tiny = np.finfo(np.float64).tiny
    of_task, of_cluster = P.sum(axis=2, keepdims=True), P.sum(axis=1, keepdims=True)
    given = -np.sum(P * np.log(np.maximum(P / np.maximum(of_task, tiny), tiny)), axis=(1, 2))
    total = -np.sum(of_cluster * np.log(np.maximum(of_cluster, tiny)), axis=(1, 2))
    return given, total - given
