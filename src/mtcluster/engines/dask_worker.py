"""What is done with one chunk of a Dask array, where it lies: each a pure function of what the steps before it left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.tasks import encode_tasks, positions, task_rows
from ..core.arrays import Array, Picked, Summary, has_gaps, not_finite, rows_at, summarize
from ..core.blocks import Place, coordinates, counting, make_block, take
from ..core.gaps import counted
from .dask_store import loaded, stored

LABELS = np.dtype(np.int32)


@dataclass(frozen=True)
class Kept:
    """What a chunk keeps of its rows, task by task."""

    codes: Array  # the task of each row of the chunk
    us: list[Array]
    sqs: list[Array]
    observed: list[Array | None]  # share of the values of a row that are there; None: all are


@dataclass(frozen=True)
class Shared:
    """What the jobs of all chunks share."""

    job: Any
    origins: Array | None
    n_tasks: int
    n_features: int
    dtype: np.dtype[Any]
    store: str | None  # the folder of values per row; None: they stay in memory


@dataclass(frozen=True)
class ChunkSummary:
    """What one pass over some chunks tells."""

    summary: Summary
    rows: list[Array]  # chunk → (m,) rows of each task
    counting: list[Array]  # chunk → (m,) those with u > 0

    def __add__(self, other: ChunkSummary) -> ChunkSummary:
        return ChunkSummary(self.summary + other.summary, self.rows + other.rows, self.counting + other.counting)


def run_job(shared: Shared, X: Any, codes: Array, kept: Any, *values: Any) -> tuple[Any, ...]:
    """A job of the core on one chunk, or on its weights alone if X is None; labels are kept in few bytes."""
    if X is None:
        X = np.broadcast_to(shared.dtype.type(0), (len(codes), shared.n_features))
    place = place_of(X, codes, shared.n_tasks, loaded(kept), shared.origins)
    *outputs, total = shared.job(place, *map(loaded, values))
    return (*(stored([_lean(part) for part in output], shared.store) for output in outputs), total)


def place_of(X: Any, codes: Array, m: int, kept: Kept | None, origins: Array | None) -> Place:
    """The rows of a chunk, one block per task."""
    X = matrix_of(X)
    parts = [X[at] if isinstance(at, slice) else Picked(X, at) for at in task_rows(codes, m)]
    return Place(parts) if kept is None else Place(parts, kept.us, origins, kept.sqs, observed=kept.observed)


def _lean(part: Any) -> Any:
    return part.astype(LABELS) if getattr(part, "dtype", None) == np.intp else part


def added(parts: list[Any]) -> Any:
    """The sum, in order; None where there is nothing to add."""
    return None if parts[0] is None else reduce(add, parts)


class PartitionError(ValueError):
    """A partition is not as its data frame says."""


def values_of(part: Any, dtype: Any, columns: list[Any] | None, where: str) -> Array:
    """A partition as an array, its columns by name in the order of the frame; labels stay what they are."""
    if columns is not None and part.ndim > 1 and list(part.columns) != columns:
        check_columns(part, where, columns)
        part = part[columns]
    if dtype.kind == "O":
        return part.to_numpy()
    try:
        return np.ascontiguousarray(part.to_numpy(dtype=dtype))
    except (TypeError, ValueError) as error:
        wrong = [repr(name) for name in part if not _numeric(part[name])] if part.ndim > 1 else []
        place = f" in column {wrong[0]}" if wrong else ""
        raise PartitionError(f"{where} holds what is no number{place}: {str(error)[:100]}.") from error


def check_columns(part: Any, where: str, columns: list[Any]) -> None:
    """Refuse a partition that lacks columns of its frame, or repeats them."""
    found, wanted = list(part.columns), Counter(columns)
    if found == columns:
        return
    lacking = [repr(name) for name in wanted - Counter(found)]
    if lacking:
        raise PartitionError(f"{where} lacks the column(s) {', '.join(lacking[:5])}: all need the same.")
    twice = [repr(name) for name in wanted if found.count(name) > 1]
    if twice:
        raise PartitionError(f"{where} has several columns named {', '.join(twice[:5])}: each needs its own name.")


def _numeric(column: Any) -> bool:
    try:
        column.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


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
    return [values[at] for at in task_rows(codes, m)]


def join(codes: Array, kept: Any, m: int, dtype: Any) -> Array:
    """Values of each task in the order of the rows of the chunk."""
    parts = loaded(kept)
    out = np.empty((len(codes), *parts[0].shape[1:]), dtype=dtype)
    for at, part in zip(task_rows(codes, m), parts, strict=True):
        out[at] = part
    return out


def count(labels: Any, number: int = 0) -> tuple[list[Any], list[int]]:
    """The labels of a chunk, and how many rows have them."""
    if not len(labels):
        return [], []
    try:
        own, codes = encode_tasks(labels, len(labels))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} (Rows are counted in partition {number}.)") from error
    return own.tolist(), np.bincount(codes, minlength=len(own)).tolist()


def codes_of(labels: Any, known: list[Any]) -> Array:
    """The index of each row's label."""
    if not len(labels):
        return np.zeros(0, dtype=np.intp)
    own, codes = encode_tasks(labels, len(labels))
    return np.array(positions(own.tolist(), known), dtype=np.min_scalar_type(len(known)))[codes]


def summarize_chunk(X: Any, codes: Array, u: Array, names: list[str], first: int) -> ChunkSummary:
    """The summary of a chunk, which must be finite."""
    X, m = matrix_of(X), len(names)
    bad = not_finite(X, missing=True)
    if len(bad):
        what = "infinity" if not sparse.issparse(X) else "NaN or infinity"
        raise ValueError(
            f"Input X contains {what} in {len(bad)} row(s) of the chunk that begins with row {first}, the "
            f"first of them row {first + bad[0]} of task {names[codes[bad[0]]]}: fill these values in or drop the rows."
        )
    summary = summarize(split(codes, X, m), split(codes, counting_weights(X, u), m))
    return ChunkSummary(summary, [summary.rows], [summary.counting])


def counting_weights(X: Any, u: Array) -> Array:
    """Sample weights of a chunk; rows that have no value at all count nothing."""
    return u if sparse.issparse(X) or not len(u) or not has_gaps(X) else counted(X, u)


def keep(X: Any, codes: Array, u: Array, origins: Array, store: str | None) -> Any:
    """What stays with a chunk, or where it is kept."""
    X, parts = matrix_of(X), task_rows(codes, len(origins))
    u = counting_weights(X, u)
    us = [u[at] for at in parts]
    blocks = [make_block(X[at], w, origin) for at, w, origin in zip(parts, us, origins, strict=True)]
    return stored(Kept(codes, us, [block.sq for block in blocks], [block.observed for block in blocks]), store)


def take_rows(X: Any, kept: Any, at: list[Array], origins: Array) -> list[tuple[Any, Array]]:
    """Rows and weights at some positions of each task."""
    kept = loaded(kept)
    place = place_of(X, kept.codes, len(at), kept, origins)
    blocks = [take(block, own) for block, own in zip(place.blocks, at, strict=True)]
    return [(rows_at(block.X, slice(0, len(block))), block.u) for block in blocks]


def locate_rows(
    X: Any, kept: Any, at: list[Array], origins: Array, V: Array, first: int
) -> tuple[list[Array], list[Array]]:
    """Numbers of rows at some positions of each task, and these rows times V."""
    kept = loaded(kept)
    blocks = place_of(X, kept.codes, len(at), kept, origins).blocks
    rows = np.arange(first, first + len(kept.codes))
    where = zip(task_rows(kept.codes, len(at)), blocks, at, strict=True)
    numbers = [rows[own][counting(block)[some]] for own, block, some in where]
    return numbers, [coordinates(block, some, V) for block, some in zip(blocks, at, strict=True)]


def put(kept: Any, old: Any, at: list[Array], values: list[Array], store: str | None) -> Any:
    """Values with those at some positions of each task replaced."""
    found = [part.copy() for part in loaded(old)]
    for part, u, own, new in zip(found, loaded(kept).us, at, values, strict=True):
        part[np.flatnonzero(u > 0)[own]] = new
    return stored(found, store)


def stacked(parts: list[Any]) -> Any:
    """Rows of several chunks in one matrix."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def checked_weights(weights: Any, dtype: Any) -> Array:
    """Sample weights of a chunk."""
    with np.errstate(over="ignore"):
        weights = np.asarray(weights, dtype=dtype)
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError("sample_weight must hold finite numbers that are not negative.")
    return weights
