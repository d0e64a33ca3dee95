"""Gaussian mixtures with one covariance, from many starts side by side: what turns labels into better ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.evidence import FLOOR
from .rows import SHRINK, Rows

SURE = 0.98  # responsibility of the cluster of a row at the start
HALF_ROW = 0.5  # added to the rows of each cluster in a task when its share is estimated
LEAST = 1e-9  # rows that an empty cluster counts as
OWN_ROWS = 10.0  # rows by which centres of tasks are drawn to the shared ones
OFFSET_SWEEPS = 8  # of centres and offsets in turn
MOST_NUMBERS = 2**23  # rows times clusters times runs that are fitted side by side


class Frame(NamedTuple):
    """What a mixture allows tasks to differ in, besides the shares of the clusters."""

    offsets: bool = False
    scales: bool = False
    own: bool = False  # centres of their own, drawn to the shared ones


FRAMES = {
    "none": Frame(), "offsets": Frame(True), "scales": Frame(True, True), "own": Frame(True, own=True)
}  # fmt: skip


def place(N: Array, T: Array, frame: Frame) -> tuple[Array, Array, Array]:
    """Compute shared centres (R, c, d), offsets (R, m, d) and centres (R, m, c, d) from N (R, m, c), T (R, m, c, d)."""
    mean = T / np.maximum(N, LEAST)[..., None]
    W = N / (1 + N / OWN_ROWS) if frame.own else N  # what the mean of a group tells of shared centres
    size, total = np.maximum(W.sum(axis=1), LEAST)[..., None], np.maximum(W.sum(axis=2), LEAST)
    weighted = W[..., None] * mean
    b = np.zeros((len(N), N.shape[1], T.shape[3]))
    mu = weighted.sum(axis=1) / size
    for _ in range(OFFSET_SWEEPS if frame.offsets else 0):
        b = (W[:, :, None] @ (mean - mu[:, None]))[:, :, 0] / total[..., None]
        b -= (total[:, None] @ b) / total.sum(axis=1)[:, None, None]
        mu = (weighted - W[..., None] * b[:, :, None]).sum(axis=1) / size
    M = mu[:, None] + b[:, :, None]
    if frame.own:
        M = (T + OWN_ROWS * M) / (N + OWN_ROWS)[..., None]
    return mu, b, M


def fit_mixtures(rows: Rows, labels: Array, n_clusters: int, frame: Frame, max_iter: int, tol: float = 1e-4) -> Array:
    """Fit a mixture from each of the labels (R, n); return the most probable labels (R, n)."""
    step = max(MOST_NUMBERS // (rows.Y.shape[0] * n_clusters), 1)
    groups = [labels[i : i + step] for i in range(0, len(labels), step)]
    return np.concatenate([_fit(rows, own, n_clusters, frame, max_iter, tol) for own in groups])


def _fit(rows: Rows, labels: Array, c: int, frame: Frame, max_iter: int, tol: float) -> Array:
    (runs, n), d, m = labels.shape, rows.Y.shape[1], len(rows.sizes)
    P = np.full((n, runs, c), (1 - SURE) / c)
    np.put_along_axis(P, labels.T[..., None], SURE + (1 - SURE) / c, axis=2)
    Y, u = rows.Y, rows.u
    total, floor = float(u.sum()), FLOOR * np.diag(rows.XX) / u.sum()
    floor = np.diag(np.where(floor > 0, floor, floor.mean() or 1.0))
    going, last, found = np.arange(runs), np.full(runs, -np.inf), labels.copy()
    for it in range(max_iter):
        flat = (P * u[:, None, None]).reshape(n, -1)
        N = np.stack([flat[part].sum(axis=0) for part in rows.parts]).reshape(m, -1, c)
        T = np.stack([flat[part].T @ Y[part] for part in rows.parts]).reshape(m, -1, c, d)
        N, T = np.moveaxis(N, 0, 1) + LEAST, np.moveaxis(T, 0, 1)
        M = place(N, T, frame)[2]
        S = _covariance(rows, N, T, M, total) + floor
        A = np.linalg.inv(S)
        MA = M @ A[:, None]
        log_share = np.log((N + HALF_ROW) / (N + HALF_ROW).sum(axis=2, keepdims=True))
        height = log_share - 0.5 * np.einsum("rkcd,rkcd->rkc", MA, M)
        MA = np.moveaxis(MA, 0, 1).reshape(m, -1, d)
        height = np.moveaxis(height, 0, 1).reshape(m, -1)
        P = np.concatenate([Y[p] @ MA[k].T + height[k] for k, p in enumerate(rows.parts)]).reshape(n, -1, c)
        top = P.max(axis=2, keepdims=True)
        found[going] = P.argmax(axis=2).T
        np.exp(P - top, out=P)
        sums = P.sum(axis=2, keepdims=True)
        P /= sums
        value = u @ (top + np.log(sums))[..., 0]
        value = value - 0.5 * np.einsum("rij,ij->r", A, rows.XX) - 0.5 * total * np.linalg.slogdet(S)[1]
        stay = np.abs(value - last[going]) >= tol * total if it > 2 else np.ones(len(going), dtype=bool)
        last[going] = value
        if not stay.all():
            going, P = going[stay], P[:, stay]
            if not len(going):
                break
    return found


def _covariance(rows: Rows, N: Array, T: Array, M: Array, total: float) -> Array:
    """Compute S (R, d, d): the scatter around centres M (R, m, c, d), drawn to its diagonal; or a sphere."""
    runs, d = len(N), M.shape[3]
    flat = M.reshape(runs, -1, d)
    cross = np.swapaxes(T.reshape(runs, -1, d), 1, 2) @ flat
    S = rows.XX - cross - np.swapaxes(cross, 1, 2) + np.swapaxes(N.reshape(runs, -1, 1) * flat, 1, 2) @ flat
    S /= total
    v = np.einsum("rii->ri", S).copy()
    if rows.round:
        return np.maximum(v.mean(axis=1), 0)[:, None, None] * np.eye(d)
    S *= 1 - SHRINK
    np.einsum("rii->ri", S)[:] += SHRINK * v
    return S
