"""What is done with one chunk of a Dask array, where it lies: each a pure function of what the steps before it left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.tasks import encode_tasks, positions, task_rows
from ..core import blocks as place
from ..core import pacing
from ..core.arrays import Array, Picked, Summary, rows_at, summarize
from ..core.model import Block, Settings, Terms, make_block
from ..core.readout import read_out
from ..estimators._validation import not_finite

LABELS = np.dtype(np.int32)


@dataclass(frozen=True)
class Kept:
    """What a chunk keeps of its rows, task by task."""

    codes: Array  # the task of each row of the chunk
    us: list[Array]
    sqs: list[Array]


@dataclass(frozen=True)
class Look:
    """What one look at some chunks tells."""

    summary: Summary
    filled: Array  # (m, d) rows of a task with an entry in a column, or (m, 1) all of them
    rows: list[Array]  # chunk → (m,) rows of each task
    counting: list[Array]  # chunk → (m,) those with u > 0

    def __add__(self, other: Look) -> Look:
        return Look(
            self.summary + other.summary,
            self.filled + other.filled,
            self.rows + other.rows,
            self.counting + other.counting,
        )


def added(parts: list[Any]) -> Any:
    """The sum, in order."""
    return reduce(add, parts)


def values_of(frame: Any, dtype: Any) -> Array:
    """A partition as an array; labels stay what they are."""
    return frame.to_numpy() if dtype.kind == "O" else np.ascontiguousarray(frame.to_numpy(dtype=dtype))


def matrix_of(X: Any) -> Any:
    """A chunk as the core takes it."""
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def split(codes: Array, values: Any, m: int) -> list[Any]:
    """Values of a chunk, task by task."""
    return [values[rows] for rows in task_rows(codes, m)]


def join(codes: Array, parts: list[Array], m: int) -> Array:
    """Values of each task in the order of the rows of the chunk."""
    out = np.empty((len(codes), *parts[0].shape[1:]), dtype=parts[0].dtype)
    for rows, part in zip(task_rows(codes, m), parts, strict=True):
        out[rows] = part
    return out


def count(labels: Any) -> tuple[list[Any], list[int]]:
    """The labels of a chunk, and how many rows have them."""
    if not len(labels):
        return [], []
    own, codes = encode_tasks(labels, len(labels))
    return own.tolist(), np.bincount(codes, minlength=len(own)).tolist()


def codes_of(labels: Any, known: list[Any]) -> Array:
    """The index of each row's label."""
    if not len(labels):
        return np.zeros(0, dtype=np.intp)
    own, codes = encode_tasks(labels, len(labels))
    return np.array(positions(own.tolist(), known), dtype=np.min_scalar_type(len(known)))[codes]


def look(X: Any, codes: Array, u: Array, names: list[str], first: int) -> Look:
    """What one look at a chunk tells; it must be finite."""
    X, m = matrix_of(X), len(names)
    bad = not_finite(X, np)
    if len(bad):
        raise ValueError(
            f"Input X contains NaN or infinity in {len(bad)} row(s) of the chunk that begins with row {first}, the "
            f"first of them row {first + bad[0]} of task {names[codes[bad[0]]]}: fill these values in or drop the rows."
        )
    summary = summarize(split(codes, X, m), split(codes, u, m))
    rows = np.bincount(codes, minlength=m)
    filled = rows[:, None]  # dense: every column has an entry. What an array says of its chunks may be wrong
    if sparse.issparse(X):
        filled = np.stack([np.bincount(part.indices, minlength=X.shape[1]) for part in split(codes, X, m)])
    return Look(summary, filled, [rows], [summary.counting])


def keep(X: Any, codes: Array, u: Array, origins: Array) -> Kept:
    """What stays with a chunk."""
    X, rows = matrix_of(X), task_rows(codes, len(origins))
    us = [u[at] for at in rows]
    sqs = [make_block(X[at], w, origin).sq for at, w, origin in zip(rows, us, origins, strict=True)]
    return Kept(codes, us, sqs)


def blocks_of(X: Any, kept: Kept, origins: Array) -> list[Block]:
    """The rows of a chunk as blocks of the tasks."""
    X = matrix_of(X)
    rows = task_rows(kept.codes, len(origins))
    parts = [X[at] if isinstance(at, slice) else Picked(X, at) for at in rows]
    return [Block(*given) for given in zip(parts, kept.us, kept.sqs, origins, strict=True)]


def begin(kept: Kept, Ps: list[Array], settings: Settings, n_clusters: int) -> list[Array]:
    """See `Rows.begin`."""
    return [lean(place.begin(P, sq, settings, n_clusters)) for P, sq in zip(Ps, kept.sqs, strict=True)]


def lean(P: Array) -> Array:
    """Labels in few bytes; they are all that a chunk keeps of its memberships."""
    return P.astype(LABELS) if P.ndim == 1 else P


def ones(kept: Kept) -> list[Array]:
    """Weights of 1."""
    return [np.ones_like(sq) for sq in kept.sqs]


def totals_of(X: Any, kept: Kept, Ps: Any, vs: Any, origins: Array, n_clusters: int) -> place.Totals:
    """See `Rows.totals`."""
    blocks = blocks_of(X, kept, origins)
    return place.totals(blocks, Ps, place.weights_of(blocks, vs), n_clusters)


def losses(X: Any, kept: Kept, Ps: Any, terms: Terms, origins: Array, n_clusters: int) -> list[Array]:
    """See `Rows.losses`."""
    return place.losses(blocks_of(X, kept, origins), Ps, terms, n_clusters)


def advance(X: Any, kept: Kept, Ps: Any, vs: Any, shared: Any, settings: Settings, n_clusters: int) -> Any:
    """See `Rows.advance`."""
    terms, origins = shared
    blocks = blocks_of(X, kept, origins)
    Ps, Ls, totals = place.advance(blocks, Ps, place.weights_of(blocks, vs), terms, settings, n_clusters)
    return [lean(P) for P in Ps], Ls, totals


def masses(kept: Kept, Ls: list[Array], probes: list[tuple[int, int]], level: int) -> Array:
    """What histograms of the losses of a chunk hold."""
    return pacing.masses(Ls, kept.us, probes, level)


def weights(Ls: list[Array], pace: pacing.Schedule, found: list[list[float]]) -> list[Array]:
    """See `Rows.weights`."""
    return [pace.weights(L, own) if len(L) else L for L, own in zip(Ls, found, strict=True)]


def take(X: Any, kept: Kept, at: list[Array], origins: Array) -> list[tuple[Any, Array]]:
    """See `Rows.take`."""
    blocks = [place.take(block, where) for block, where in zip(blocks_of(X, kept, origins), at, strict=True)]
    return [(rows_at(block.X, slice(0, len(block))), block.u) for block in blocks]


def where(kept: Kept, at: list[Array], first: int) -> list[Array]:
    """See `Rows.where`."""
    rows = np.arange(first, first + len(kept.codes))
    places = task_rows(kept.codes, len(at))
    return [rows[place][np.flatnonzero(u > 0)[own]] for place, u, own in zip(places, kept.us, at, strict=True)]


def coordinates(X: Any, kept: Kept, at: list[Array], origins: Array, V: Array) -> list[Array]:
    """See `Rows.coordinates`."""
    return [place.coordinates(block, own, V) for block, own in zip(blocks_of(X, kept, origins), at, strict=True)]


def stacked(parts: list[Any]) -> Any:
    """Rows of several chunks in one matrix."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def extend(X: Any, kept: Kept, at: list[Array], labels: list[Array], shared: Any) -> list[Array]:
    """See `Rows.extend`."""
    settings, centers = shared
    origins = np.zeros((len(at), X.shape[1]))
    found = place.LocalRows(blocks_of(X, kept, origins), len(centers.Z)).extend(labels, at, settings, centers)
    return [lean(part) for part in found]


def read_rows(X: Any, kept: Kept, shared: Any) -> tuple[list[Array], list[Array]]:
    """See `Rows.read_out`."""
    settings, centers = shared
    X = matrix_of(X)
    rows = task_rows(kept.codes, len(kept.us))
    found = [read_out(X[at], settings, centers, k) for k, at in enumerate(rows)]
    return [lean(P) for P, _ in found], [L for _, L in found]


def predict(X: Any, labels: Any, shared: Any) -> tuple[Array, Array]:
    """Memberships and losses of rows, seen or new."""
    settings, centers, known = shared
    X = matrix_of(X)
    if labels is None:
        return read_out(X, settings, centers, 0 if len(known) == 1 else None)
    own, codes = encode_tasks(labels, len(labels)) if len(labels) else (np.zeros(0), np.zeros(0, dtype=np.intp))
    parts = [
        read_out(X[rows], settings, centers, k)
        for rows, k in zip(task_rows(codes, len(own)), positions(own.tolist(), known), strict=True)
    ] or [read_out(X, settings, centers, None)]
    m = max(len(own), 1)
    return join(codes, [P for P, _ in parts], m), join(codes, [L for _, L in parts], m)


def times(X: Any, W: Array) -> Array:
    """X W."""
    return np.asarray(X @ W.astype(X.dtype))


def cluster_sizes(kept: Kept, Ps: list[Array], n_clusters: int) -> Array:
    """See `Rows.sizes`."""
    return np.stack([place.sizes(u, P, n_clusters) for u, P in zip(kept.us, Ps, strict=True)])


def weighted_sum(kept: Kept, Ls: list[Array]) -> Array:
    """See `Rows.sum`."""
    return np.array([np.sum(u * L, dtype=np.float64) for u, L in zip(kept.us, Ls, strict=True)])


def energy(kept: Kept) -> Array:
    """See `Rows.energy`."""
    return weighted_sum(kept, kept.sqs)


def checked_weights(weights: Any, dtype: Any) -> Array:
    """Sample weights of a chunk."""
    weights = np.asarray(weights, dtype=dtype)
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError("sample_weight must hold finite numbers that are not negative.")
    return weights
