"""k-means of weighted rows, where it starts a search: few rows of many problems side by side, many rows one by one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array

FEW_ITERATIONS = 12  # where clusters need not be found to the end
MANY_ITERATIONS = 300
FEW_NUMBERS = 2**14  # rows times columns and clusters of a problem that is solved beside others
SIDE_BY_SIDE = 2**20  # numbers that are handled at once
TOLERANCE = 1e-4  # of the mean variance of the columns: centres that move less, squared, stay


class Clustering(NamedTuple):
    """Labels of rows, and centres (c, d)."""

    labels: Array
    centers: Array


def kmeans(
    Y: Array, u: Array | None, n_clusters: int, rng: np.random.Generator, n_init: int = 3, *, short: bool = False
) -> Clustering:
    """Cluster rows of weights u (n,), or all alike; of fewer distinct rows than clusters it says nothing."""
    return kmeans_of_each([Y], [u], n_clusters, rng, n_init, short=short)[0]


def kmeans_of_each(
    Ys: Sequence[Array], us: Sequence[Array | None], n_clusters: int, rng: np.random.Generator, n_init: int = 3, *,
    short: bool = False,
) -> list[Clustering]:  # fmt: skip
    """Cluster the rows of several problems, each on its own; problems of few rows are solved side by side."""
    weights = [
        np.ones(len(Y)) if u is None or np.count_nonzero(u) < n_clusters else u for Y, u in zip(Ys, us, strict=True)
    ]
    most, found = FEW_ITERATIONS if short else MANY_ITERATIONS, list[Clustering | None]([None] * len(Ys))
    few = [i for i, Y in enumerate(Ys) if len(Y) * (Y.shape[1] + n_clusters) <= FEW_NUMBERS]
    few.sort(key=lambda i: len(Ys[i]))
    largest = max((Ys[i].shape[1] + n_clusters) * len(Ys[i]) for i in few) if few else 1
    step = max(SIDE_BY_SIDE // (n_init * largest), 1)
    for some in (few[i : i + step] for i in range(0, len(few), step)):
        solved = _side_by_side([Ys[i] for i in some], [weights[i] for i in some], n_clusters, rng, n_init, most)
        for i, one in zip(some, solved, strict=True):
            found[i] = one
    for i, Y in enumerate(Ys):
        if found[i] is None:
            found[i] = _compiled(Y, weights[i], n_clusters, rng, n_init, most)
    return [one for one in found if one is not None]


def nearest_centers(Y: Array, centers: Array) -> Array:
    """Return the nearest of the centres (c, d) of each row."""
    return np.asarray((0.5 * np.einsum("jd,jd->j", centers, centers) - Y @ centers.T).argmin(axis=1))


def _compiled(Y: Array, u: Array, c: int, rng: np.random.Generator, n_init: int, most: int) -> Clustering:
    model = KMeans(min(c, len(Y)), n_init=n_init, max_iter=most, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Y, sample_weight=u)
    return Clustering(model.labels_, model.cluster_centers_)


def _side_by_side(
    Ys: list[Array], us: list[Array], c: int, rng: np.random.Generator, n_init: int, most: int
) -> list[Clustering]:
    """Solve problems together, filled up with rows of weight 0; of `n_init` runs of each the best counts."""
    runs, n, d = len(Ys), max(map(len, Ys)), Ys[0].shape[1]
    Y, u = np.zeros((runs, n, d)), np.zeros((runs, n))
    for i, (own, weight) in enumerate(zip(Ys, us, strict=True)):
        if len(own):
            Y[i, : len(own)], u[i, : len(own)] = own - weight @ own / max(weight.sum(), 1e-300), weight
    Y, u = np.repeat(Y, n_init, axis=0), np.repeat(u, n_init, axis=0)
    centers = _seeds(Y, u, c, rng)
    labels, cost = _lloyd(Y, u, centers, most)
    best = cost.reshape(runs, n_init).argmin(axis=1) + n_init * np.arange(runs)
    found = []
    for own, weight, r in zip(Ys, us, best.tolist(), strict=True):
        origin = weight @ own / max(weight.sum(), 1e-300) if len(own) else np.zeros(d)
        found.append(Clustering(labels[r, : len(own)], centers[r, : max(min(c, len(own)), 1)] + origin))
    return found


def _seeds(Y: Array, u: Array, c: int, rng: np.random.Generator) -> Array:
    """Draw centres (R, c, d) among the rows, far ones more often, the best of a few each time (k-means++)."""
    (runs, n, d), tries = Y.shape, 2 + int(np.log(c))
    at, energy = np.arange(runs), np.einsum("rnd,rnd->rn", Y, Y)
    centers, near = np.empty((runs, c, d)), np.ones((runs, n))
    for j in range(c):
        upto = np.cumsum(u * near, axis=1)
        asked = rng.random((runs, 1 if j == 0 else tries)) * upto[:, -1:]
        drawn = np.minimum((upto[:, None] <= asked[..., None]).sum(axis=2), n - 1)
        X = Y[at[:, None], drawn]
        apart = energy[at[:, None], drawn][..., None] + energy[:, None] - 2 * X @ np.swapaxes(Y, 1, 2)
        apart = np.maximum(apart if j == 0 else np.minimum(apart, near[:, None]), 0)
        best = (apart @ u[..., None])[..., 0].argmin(axis=1)
        centers[:, j], near = X[at, best], apart[at, best]
    return centers


def _lloyd(Y: Array, u: Array, centers: Array, most: int) -> tuple[Array, Array]:
    """Move centres (R, c, d), in place, until they stay; return labels (R, n) and what is left over (R,)."""
    (runs, n, _), c = Y.shape, centers.shape[1]
    labels, least = np.zeros((runs, n), dtype=np.intp), np.zeros((runs, n))
    total = np.maximum(u.sum(axis=1), 1e-300)
    limit = TOLERANCE * np.einsum("rn,rnd,rnd->r", u, Y, Y) / total / Y.shape[2]
    going, Yg, ug = np.arange(runs), Y, u
    for _ in range(most):
        C = centers[going]
        height = 0.5 * np.einsum("rjd,rjd->rj", C, C)[:, None] - Yg @ np.swapaxes(C, 1, 2)
        z = height.argmin(axis=2)
        labels[going], least[going] = z, height.min(axis=2)
        member = (z[:, None] == np.arange(c)[:, None]) * ug[:, None]  # (R, c, n)
        size = member.sum(axis=2)[..., None]
        moved = np.where(size > 0, member @ Yg / np.where(size > 0, size, 1), C)
        centers[going] = moved
        stay = ((moved - C) ** 2).sum(axis=(1, 2)) > limit[going]
        if not stay.any():
            break
        if not stay.all():
            going, Yg, ug = going[stay], Yg[stay], ug[stay]
    return labels, (u * least).sum(axis=1)
