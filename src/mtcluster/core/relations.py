"""What the fitted centres say about the tasks: which are alike, and which clusters are present where.

Everything is read from the centres M_k and the sizes of the clusters. What is compared is what a cluster adds to the
spread between the clusters of its task, so that the location of a task does not matter.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .arrays import Array

MOST_NUMBERS = 2**21  # of pairs of tasks that are compared at once
ROUNDED = 1e-12  # share of a squared length that is rounding


def match(gain: Array) -> Array:
    """For each row of a table of gains the column it is matched with, by the Hungarian method."""
    return linear_sum_assignment(gain, maximize=True)[1]


def adjusted_rand(a: Array, b: Array) -> float:
    """Get the adjusted Rand index of two labellings, whole numbers from 0 (Hubert and Arabie), as scikit-learn has it.

    Without a look at what the labels are, which takes scikit-learn longer than the index.
    """
    size = int(b.max(initial=0)) + 1
    table = np.bincount(a.astype(np.intp) * size + b).astype(np.float64)
    both, n = float(table @ table), len(a)
    firsts, seconds = (float(np.sum(np.bincount(labels).astype(np.float64) ** 2)) for labels in (a, b))
    together, apart = both - n, n * n - firsts - seconds + both  # ordered pairs that are so in both labellings
    only_first, only_second = firsts - both, seconds - both
    if only_first == only_second == 0:
        return 1.0
    below = (together + only_first) * (only_first + apart) + (together + only_second) * (only_second + apart)
    return 2 * (together * apart - only_first * only_second) / below


def contrasts(Ms: Array, sizes: Array) -> Array:
    """Compute M_kj − mean of task k, (m, c, d), from centres (m, c, d) and sizes (m, c)."""
    return Ms - np.einsum("kj,kjd->kd", shares(sizes), Ms)[:, None]


def shares(sizes: Array) -> Array:
    """Return the share of each cluster in its task."""
    return sizes / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


def spread(Ms: Array, sizes: Array) -> Array:
    """Compute Q_k, (m, c, d) with Σ_j Q_kjᵀ Q_kj the between-cluster scatter of task k."""
    return np.sqrt(shares(sizes))[:, :, None] * contrasts(Ms, sizes)


def relatedness(Ms: Array, sizes: Array, present: Array) -> Array:
    """Tell how alike the clusters of two tasks lie, (m, m): the correlation of Q_k and Q_l, 0 where it is negative.

    By the clusters that both hold, `present` (m, c). 1: the same clusters of the same sizes, up to a shift and a scale
    of the whole task. About 0: nothing in common. One common cluster lies alike in both, whatever offset they have.
    """
    m, c, d = Ms.shape
    step = max(MOST_NUMBERS // (m * max(c, d)), 1)
    found = np.concatenate([_by_common(Ms, sizes, present, np.arange(i, min(i + step, m))) for i in range(0, m, step)])
    np.fill_diagonal(found, 1)
    return found


def _by_common(Ms: Array, sizes: Array, present: Array, at: Array) -> Array:
    """Compute the relatedness (a, m) of some tasks to all, from sums over the clusters that both hold."""
    held = present.astype(np.float64)
    n = sizes * held
    M = Ms - (n[..., None] * Ms).sum(axis=(0, 1)) / max(n.sum(), np.finfo(np.float64).tiny)
    M = M / max(float(np.abs(M).max(initial=0.0)), np.finfo(np.float64).tiny)
    root = np.sqrt(n)
    weighted, energy = n[..., None] * M, n * np.einsum("kjd,kjd->kj", M, M)
    X = root[..., None] * M

    def safe(values: Array) -> Array:
        return np.where(values > 0, values, 1.0)

    one = safe(n[at] @ held.T)  # rows of the first task in common clusters; `other`: of the second
    other = safe(held[at] @ n.T)
    # (a, m, d): sums over clusters of what one task has, by whether the other has them, or by its sizes
    mean, crossed = (_times(values[at], by) for values, by in ((weighted, held), (X, root)))
    means, crosses = (np.tensordot(by[at], values, (1, 1)) for values, by in ((weighted, held), (X, root)))
    mean, means = mean / one[..., None], means / other[..., None]
    both = X[at].reshape(len(at), -1) @ X.reshape(len(X), -1).T + (root[at] @ root.T) * _dot(mean, means)
    both = both - _dot(crossed, means) - _dot(crosses, mean)
    raw, raws = energy[at] @ held.T / one, held[at] @ energy.T / other
    length, lengths = raw - _dot(mean, mean), raws - _dot(means, means)
    length, lengths = (np.where(v > ROUNDED * r, v, 0.0) for v, r in ((length, raw), (lengths, raws)))
    scale = np.sqrt(one * other * length * lengths)
    found = np.clip(both / safe(scale), 0, 1)
    found = np.where(scale > 0, found, (length == 0) & (lengths == 0))
    common = held[at] @ held.T
    return np.where(common > 1, found, common)


def _times(values: Array, by: Array) -> Array:
    """Compute Σ_j values_kj by_lj, (a, m, d), from (a, c, d) and (m, c)."""
    return np.swapaxes(np.swapaxes(values, 1, 2) @ by.T, 1, 2)


def _dot(A: Array, B: Array) -> Array:
    """Compute scalar products over the last axis."""
    return np.einsum("kld,kld->kl", A, B)


def support(Ms: Array, sizes: Array, sharing: Array) -> Array:
    """Tell how present each cluster is in each task, (m, c), between 0 and 1.

    The share of the cluster in the task relative to its share in the others (their median, at most 1), times how alike
    it lies there and in the others: 1 − ‖a − b‖² / 2 max(‖a‖ ‖b‖, 1) for its contrasts a and b, in units of the spread
    between the clusters of the task. That is the cosine of contrasts of one length, and 1 for a cluster in the middle,
    whose contrast has no direction. A cluster that is absent from a task keeps few rows there, or takes rows that lie
    elsewhere. Contrasts are those from the mean of the clusters that the task and others have; a cluster that no other
    has is present where it has rows. The others are the tasks that share, `sharing` (m,): numbers of clusters in a task
    that was left alone mean little.
    """
    m, c, _ = Ms.shape
    P, whole = shares(sizes), _unit_contrasts(Ms, sizes)
    found = np.zeros((m, c))
    for k in range(m):
        others = sharing & (np.arange(m) != k)
        if not others.any():
            found[k] = sizes[k] > 0
            continue
        common = (sizes[k] > 0) & sizes[others].any(axis=0)
        C = whole if (sizes[:, ~common] == 0).all() else _unit_contrasts(Ms, sizes * common)
        weights = sizes[others] / np.maximum(sizes[others].sum(axis=0), np.finfo(np.float64).tiny)
        elsewhere = np.einsum("kj,kjd->jd", weights, C[others])
        usual = np.median(P[others], axis=0)
        ratio = np.where(usual > 0, np.minimum(1, P[k] / np.where(usual > 0, usual, 1)), P[k] > 0)
        lengths = np.linalg.norm(C[k], axis=1) * np.linalg.norm(elsewhere, axis=1)
        apart = np.sum((C[k] - elsewhere) ** 2, axis=1) / (2 * np.maximum(lengths, 1))
        alike = np.where(sizes[others].any(axis=0), np.clip(1 - apart, 0, 1), 1)
        found[k] = np.where(sizes[k] > 0, ratio * alike, 0)
    return found


def _unit_contrasts(Ms: Array, sizes: Array) -> Array:
    """Return the contrasts of each task in units of the spread between its clusters."""
    C = contrasts(Ms, sizes)
    widths = np.sqrt(np.einsum("kj,kjd->k", shares(sizes), C**2))
    return C / np.where(widths > 0, widths, 1)[:, None, None]


def directions(Z: Array, W: Array, sizes: Array, most: int) -> Array:
    """Orthonormal directions of the shared subspace W that tell the shared centres Z apart best, (d, at most `most`).

    First those of the spread between the centres, by the sizes (c,) of their clusters; then what is left of the
    subspace.
    """
    share = sizes / sizes.sum() if sizes.sum() > 0 else np.full(len(Z), 1 / len(Z))
    M = (Z - share @ Z) @ W
    _, lengths, turn = np.linalg.svd(np.sqrt(share)[:, None] * M)
    order = np.argsort(-np.r_[lengths, np.zeros(len(turn) - len(lengths))], kind="stable")[:most]
    V = W @ turn[order].T
    return V * np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)


def align(Ms: Array, sizes: Array, max_rounds: int = 20) -> list[Array]:
    """For each task, the order of its clusters that brings its centres (m, c, d) closest to those of the others.

    What is compared is what a cluster adds to the spread between clusters of its task: its distance from the task's
    mean by the root of its share of the rows, `sizes` (m, c). So a shift of a whole task does not matter, and a cluster
    of few rows, whose centre is mostly noise, cannot displace others. Descends Σ_k Σ_j ‖Q_kj − mean of the tasks' j-th
    rows of Q‖² by one Hungarian matching a task at a time.
    """
    Ms = spread(Ms, sizes)
    orders = [np.arange(Ms.shape[1]) for _ in Ms]
    by_size = np.argsort(sizes.sum(axis=1), kind="stable")[::-1]
    reference = Ms[by_size[0]].copy()
    for placed, k in enumerate(by_size[1:], start=1):
        orders[k] = match(reference @ Ms[k].T)
        reference += (Ms[k][orders[k]] - reference) / (placed + 1)
    for _ in range(max_rounds):
        changed = False
        for k in range(len(Ms)):
            others = np.mean([Ms[i][orders[i]] for i in range(len(Ms)) if i != k], axis=0) if len(Ms) > 1 else Ms[k]
            order = match(others @ Ms[k].T)
            changed |= bool(np.any(order != orders[k]))
            orders[k] = order
        if not changed:
            break
    return orders


def partly_align(Ms: Array, sizes: Array, widths: Array, price: float) -> list[Array]:
    """For each task, the number of each of its clusters, where a task may lack clusters: several may get the same.

    Clusters are matched as by `align`. One that lies farther from its match in the other tasks than from the nearest of
    their clusters, by more than `price` times the width (m,) of the task's clusters (the mean squared distance of rows
    from their centres), stays unmatched and gets the number of the nearest.
    """
    m, c, _ = Ms.shape
    orders, at = align(Ms, sizes), np.arange(c)
    n = np.stack([own[order] for own, order in zip(sizes, orders, strict=True)])
    C = contrasts(np.stack([M[order] for M, order in zip(Ms, orders, strict=True)]), n)
    found = []
    for k, order in enumerate(orders):
        others = np.arange(m) != k
        weights = n[others] / np.maximum(n[others].sum(axis=0), np.finfo(np.float64).tiny)
        apart = np.sum((C[k][:, None] - np.einsum("kj,kjd->jd", weights, C[others])) ** 2, axis=2)
        far = apart[at, at] - apart.min(axis=1) > price * widths[k]
        found.append(np.where(far, apart.argmin(axis=1), at)[np.argsort(order)])
    return found
