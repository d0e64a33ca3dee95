"""Rows in the shared subspace: coordinates, and the map that a picture shows."""

from __future__ import annotations

import numpy as np

from .arrays import Array, Foreign, Picked, has_gaps, is_sparse, like, without_gaps
from .blocks import Outputs, Place, without_rows
from .centers import Centers
from .relations import directions
from .sampling import Sampling, draw_by_task

MAP, MAP_AXES = Sampling(sample=20_000, task_sample=500), 4  # rows that a picture shows, and its directions


def project(place: Place, *, W: Array, middle: Array | None = None) -> Outputs:
    """Compute X W; missing values have those of `middle` (d,)."""
    found = []
    for X in place.Xs:
        rows = X[:] if isinstance(X, Picked) else X
        if middle is not None and not is_sparse(rows) and has_gaps(rows, place.xp):
            rows = without_gaps(rows, place.xp, like(middle, rows, place.xp))
        found.append(rows @ like(W, rows.data if is_sparse(rows) else rows, place.xp))
    return found, None


@without_rows
def task_indices(place: Place) -> Outputs:
    """Return the index of each row's task."""
    xp, found = place.xp, []
    for k, X in enumerate(place.Xs):
        matrix = getattr(X, "matrix", X)
        device = {} if xp is np else {"device": (matrix.data if is_sparse(matrix) else matrix).device}
        found.append(xp.full((X.shape[0],), k, dtype=xp.int64, **device))
    return found, None


def axes_of(centers: Centers) -> Array:
    """(d, l) what rows are multiplied with for their coordinates in the shared subspace: W, or A W with a metric."""
    W = np.asarray(centers.W, dtype=np.float64)
    return centers.geometry.whiten(W.T, 1.0).T


def shared_map(rows: Foreign, centers: Centers, sizes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Tell which rows a picture shows, and where they lie in the shared subspace, in the common frame of the tasks."""
    positions = draw_by_task(rows.summary.counting.tolist(), MAP, rng)
    V = directions(centers.shared, axes_of(centers), sizes, MAP_AXES)
    numbers, Ys = rows.locate(positions, V)
    offsets = centers.offsets.take("R", None)
    Ys = [offsets.from_task(Y, k, V) for k, Y in enumerate(Ys)]
    found = np.concatenate(numbers)
    order = np.argsort(found)
    return found[order], np.concatenate(Ys)[order]
