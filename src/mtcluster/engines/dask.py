"""Rows in the chunks of a Dask array, worked on where they lie: by the cluster of the active client, or by threads.

Every job is one Dask task per chunk. Values per row (memberships, weights, losses) stay with their chunk; only sums of
the size of the centres, and histograms of losses, come back. Each step is a pure function of what the steps before it
left, so that Dask can repeat what a lost worker had. A job that needs no rows does not make Dask read them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Protocol
from uuid import uuid4

import array_api_compat.dask.array as xpd
import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed

from .._utils.tasks import as_parts, encode_tasks, label_array
from ..core.arrays import Array, ColumnPlaces, Summary
from ..core.blocks import Block, Job, PerRow, make_block, reads_rows
from . import dask_store
from . import dask_worker as worker
from .base import NO_NUMBERS, Engine
from .dask_cluster import run
from .dask_frames import columns_of, partitions, sizes_of
from .dask_names import renamed, sound

FAN_IN = 16  # sums that are added up by one Dask task


class Features(Protocol):
    """Records the features of X, or compares them with those of the fit."""

    def __call__(self, n_features: int, columns: Any) -> None:
        """The number of features, and their names."""

    def matched(self, parts: dict[Hashable, Any]) -> dict[Hashable, ColumnPlaces] | None:
        """Where the columns of data sets stand, if they are matched by name."""


class DaskEngine(Engine):
    """Rows by task, in chunks that may cut through tasks."""

    instead = "X.compute() if that fits into memory"
    few = 2**12
    needs = ("dask",)
    xp = xpd

    def __init__(
        self, X: Any, labels: Array, codes: list[Any], sizes: list[int], us: list[Any], *, centered: bool, named: bool,
        seed: str,
    ) -> None:  # fmt: skip
        self.X, self.labels, self.codes, self.sizes, self.us, self.centered = X, labels, codes, sizes, us, centered
        self.named, self.seed = named, seed
        self.n_features, self.dtype, self.rows = int(X.shape[1]), X.dtype, X.chunks[0]
        self.chunks, self.store = renamed(blocks_of(X), seed), dask_store.current()

    @classmethod
    def read(
        cls, X: Any, tasks: Any, sample_weight: Any, features: Features, *, pooled: bool, centered: bool
    ) -> DaskEngine:
        """Check a Dask array or data frame, or a dict or list of them, and find the tasks of its rows."""
        named = tasks is not None or as_parts(X, "X") is not None
        seed = uuid4().hex
        X, labels, codes, sizes = read_tasks(X, tasks, features, seed)
        us = read_weights(sample_weight, X, seed)
        if pooled:
            labels, sizes = np.array([0]), [int(X.shape[0])]
            codes, named = [delayed(np.zeros)(size, dtype=np.intp) for size in X.chunks[0]], False
        return cls(X, labels, codes, sizes, us, centered=centered, named=named, seed=seed)

    @cached_property
    def _look(self) -> worker.ChunkSummary:
        firsts = np.cumsum([0, *self.rows])[:-1].tolist()
        names = [repr(label) for label in self.labels.tolist()]
        jobs = zip(self.chunks, self.codes, self.us, firsts, strict=True)
        return total([delayed(worker.summarize_chunk)(X, codes, u, names, first) for X, codes, u, first in jobs])

    @property
    def summary(self) -> Summary:
        """What one pass over the chunks tells."""
        return self._look.summary

    @cached_property
    def kept(self) -> list[Any]:
        """What each chunk keeps of its rows."""
        jobs = zip(self.chunks, self.codes, self.us, strict=True)
        keep = delayed(worker.keep)
        return list(run(dask.persist, *(keep(X, codes, u, self.origins, self.store) for X, codes, u in jobs)))

    def apply(self, job: Job, *values: PerRow, outputs: int = 0, lazy: bool = False) -> tuple[Any, ...]:
        """Run a job on every chunk."""
        origins, store = (None, None) if lazy else (self.origins, self.store)
        how = worker.Shared(job, origins, len(self.labels), self.n_features, self.dtype, store)
        shared, none = delayed(how, pure=False, traverse=False), [None] * len(self.chunks)
        chunks, kept = self.chunks if reads_rows(job) else none, none if lazy else self.kept
        columns = zip(*values, strict=True) if values else [()] * len(self.chunks)
        done = [
            delayed(worker.run_job, nout=outputs + 1)(shared, X, codes, own, *given)
            for X, codes, own, given in zip(chunks, self.codes, kept, columns, strict=True)
        ]
        found = [[chunk[i] for chunk in done] for i in range(outputs)]
        if lazy:
            return (*found, None)
        held = run(dask.persist, *(part for parts in found for part in parts), _tree([chunk[-1] for chunk in done]))
        n = len(done)
        return (*(list(held[i * n : (i + 1) * n]) for i in range(outputs)), run(dask.compute, held[-1])[0])

    def take(self, positions: list[Array] | None) -> list[Block]:
        """Rows in this process."""
        if positions is None:
            positions = [np.arange(count) for count in self.summary.counting]
        jobs = zip(self.chunks, self.kept, self._by_chunk(positions), strict=True)
        picked = [delayed(worker.take_rows)(X, kept, at, self.origins) for X, kept, at in jobs if any(map(len, at))]
        [found] = run(dask.compute, picked)
        blocks = []
        for k, origin in enumerate(self.origins):
            parts = [chunk[k] for chunk in found]
            u = np.concatenate([u for _, u in parts])
            blocks.append(make_block(worker.stacked([X for X, _ in parts]), u, origin))
        return blocks

    def locate(self, positions: list[Array], V: Array) -> tuple[list[Array], list[Array]]:
        """Numbers of rows, and rows times V."""
        firsts = np.cumsum([0, *self.rows]).tolist()[:-1]
        jobs = zip(self.chunks, self.kept, self._by_chunk(positions), firsts, strict=True)
        parts = [delayed(worker.locate_rows)(X, kept, at, self.origins, V, first) for X, kept, at, first in jobs]
        [found] = run(dask.compute, parts)
        m = range(len(self.labels))
        numbers, Y = ([np.concatenate([chunk[i][k] for chunk in found]) for k in m] for i in (0, 1))
        return numbers, Y

    def scatter(
        self, values: list[Array], positions: list[Array] | None = None, otherwise: PerRow | None = None
    ) -> PerRow:
        """Values where the rows live."""
        if positions is None or otherwise is None:
            ends = np.cumsum(np.stack(self._look.rows), axis=0)
            return [
                delayed([v[a:b] for v, a, b in zip(values, first, last, strict=True)], pure=False)
                for first, last in zip(ends - np.stack(self._look.rows), ends, strict=True)
            ]
        cuts = self._by_chunk(positions)
        owns: list[list[Array]] = [[] for _ in cuts]
        for k, own in enumerate(values):
            for j, part in enumerate(np.split(own, np.cumsum([len(at[k]) for at in cuts])[:-1])):
                owns[j].append(part)
        jobs = zip(self.kept, otherwise, cuts, owns, strict=True)
        put = delayed(worker.put)
        return list(run(dask.persist, *(put(kept, old, at, own, self.store) for kept, old, at, own in jobs)))

    def split(self, values: Any, check: Callable[[Any], Array]) -> PerRow:
        """The user's values, chunk by chunk as the rows are."""
        parts = _column(values, self.X, "init", self.seed)
        m = len(self.labels)
        return [
            delayed(worker.split)(codes, delayed(check)(part), m) for codes, part in zip(self.codes, parts, strict=True)
        ]

    def gather(self, values: PerRow, dtype: Any = None, width: int | None = None) -> Any:
        """One Dask array in the order of the rows."""
        m, dtype = len(self.labels), self.dtype if dtype is None else np.dtype(dtype)
        joined = [delayed(worker.join)(codes, part, m, dtype) for codes, part in zip(self.codes, values, strict=True)]
        return from_parts(joined, self.rows, width, dtype)

    def _by_chunk(self, positions: list[Array]) -> list[list[Array]]:
        """Positions among all rows of a task with u > 0 → positions among those of a chunk."""
        ends = np.cumsum(np.stack(self._look.counting), axis=0)
        found: list[list[Array]] = [[] for _ in ends]
        for k, at in enumerate(positions):
            cuts = np.searchsorted(at, ends[:-1, k])
            for j, part in enumerate(np.split(at, cuts)):
                found[j].append(part - (ends[j - 1, k] if j else 0))
        return found


def read_tasks(X: Any, tasks: Any, features: Features, seed: str) -> tuple[Any, Array, list[Any], list[int]]:
    """One array of all rows, labels of the tasks, the task of each row chunk by chunk, and sizes of the tasks."""
    parts = as_parts(X, "X")
    if parts is not None:
        if tasks is not None:
            raise ValueError("tasks must be None when X is a dict or a list of data sets: its items are the tasks.")
        columns = features.matched(parts)
        arrays = [
            read_array(part, f"X[{key!r}]", features, None if columns is None else columns[key])
            for key, part in parts.items()
        ]
        codes = [delayed(np.full)(size, k, dtype=np.intp) for k, array in enumerate(arrays) for size in array.chunks[0]]
        whole = da.concatenate(arrays) if len(arrays) > 1 else arrays[0]
        return whole, label_array(list(parts)), codes, [int(array.shape[0]) for array in arrays]
    X = read_array(X, "X", features)
    if tasks is None:
        codes = [delayed(np.zeros)(size, dtype=np.intp) for size in X.chunks[0]]
        return X, np.array([0]), codes, [int(X.shape[0])]
    if isinstance(tasks, str | bytes) or not (hasattr(tasks, "__len__") or hasattr(tasks, "npartitions")):
        raise TypeError(f"tasks must be a sequence of {X.shape[0]} labels, one per row; got {tasks!r}.")
    chunks = _column(tasks, X, "tasks", seed)
    [found] = run(dask.compute, [delayed(worker.count)(chunk, i) for i, chunk in enumerate(chunks)])
    seen: dict[Hashable, int] = {}
    for own, counts in found:
        for label, count in zip(own, counts, strict=True):
            seen[label] = seen.get(label, 0) + count
    known, order = encode_tasks(list(seen), len(seen))
    sizes = np.zeros(len(known), dtype=int)
    sizes[order] = list(seen.values())
    codes = run(dask.persist, *(delayed(worker.codes_of)(chunk, known.tolist()) for chunk in chunks))
    return X, known, list(codes), sizes.tolist()


def read_weights(sample_weight: Any, X: Any, seed: str) -> list[Any]:
    """Sample weights, chunk by chunk."""
    if sample_weight is None:
        return [delayed(np.ones)(size, dtype=X.dtype) for size in X.chunks[0]]
    chunks = _column(sample_weight, X, "sample_weight", seed)
    return [delayed(worker.checked_weights)(chunk, X.dtype) for chunk in chunks]


def read_array(X: Any, name: str, features: Features, placing: ColumnPlaces | None = None) -> Any:
    """A Dask array of floats with known row counts and its columns in one chunk.

    `placing`: where its columns stand, if data sets have others.
    """
    columns = getattr(X, "columns", None)
    if columns is not None:
        bad = [repr(c) for c, dtype in X.dtypes.items() if dtype.kind not in "biuf"]
        if bad:
            raise ValueError(
                f"{name} has {len(bad)} column(s) that are not numbers: {', '.join(bad[:5])}. {NO_NUMBERS}"
            )
        floats = all(dtype == np.float32 for dtype in X.dtypes)
        X = from_frame(X, name, len(columns), np.dtype(np.float32 if floats else np.float64))
    if not isinstance(X, da.Array) or X.ndim != 2:
        raise ValueError(f"{name} should be a Dask array of two dimensions or a Dask data frame; got {X!r}.")
    X = from_array(X)
    if np.isnan(X.shape[0]):
        X = run(da.Array.compute_chunk_sizes, X)
    if not X.shape[0]:
        raise ValueError(f"{name} has 0 rows: at least one is needed.")
    if X.dtype not in (np.float32, np.float64):
        if X.dtype.kind not in "biuf":
            raise ValueError(f"{name} has the type {X.dtype}: numbers are needed.")
        X = X.astype(np.float64)
    whole = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
    if placing is None:
        features(int(X.shape[1]), columns)
        return whole
    return whole.map_blocks(placing.place, dtype=X.dtype, chunks=(X.chunks[0], (placing.width,)))


def _column(values: Any, X: Any, name: str, seed: str) -> list[Any]:
    """One value, or one row of values, per row of X, chunk by chunk as the rows are."""
    n, sizes = int(X.shape[0]), X.chunks[0]
    if hasattr(values, "to_dask_array"):
        values = from_frame(values, name, None, np.dtype(object) if name == "tasks" else np.dtype(np.float64))
    if isinstance(values, da.Array):
        values = from_array(values)
        if np.isnan(values.shape[0]):
            values = run(da.Array.compute_chunk_sizes, values)
        if values.shape[0] != n or values.ndim > 1 + (name == "init"):
            raise ValueError(f"{name} has shape {values.shape}, but X has {n} rows: one value per row is needed.")
        chunks = values.rechunk({0: sizes, **({1: -1} if values.ndim > 1 else {})}).to_delayed()
        return renamed(chunks.reshape(-1), seed)
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} values, but X has {n} rows: one value per row is needed.")
    if not hasattr(values, "__array__"):
        values = label_array(list(values)) if name == "tasks" else np.asarray(values)
    values = np.asarray(values)
    return [delayed(part, pure=False) for part in np.split(values, np.cumsum(sizes)[:-1])]


def from_parts(parts: Sequence[Any], rows: Sequence[int], width: int | None, dtype: Any) -> Any:
    """One Dask array from what each chunk has."""
    tail = () if width is None else (width,)
    pairs = zip(parts, rows, strict=True)
    return da.concatenate([da.from_delayed(part, (size, *tail), dtype=dtype) for part, size in pairs])


def from_frame(frame: Any, name: str, width: int | None, dtype: Any) -> Any:
    """The numbers of a Dask data frame, or the labels of one of its columns, as an array of known chunks."""
    parts, columns = partitions(frame), columns_of(frame)
    sizes = sizes_of(parts, frame, name)
    places = [f"partition {i} of {name}" for i in range(len(parts))]
    read = [delayed(worker.values_of)(part, dtype, columns, place) for part, place in zip(parts, places, strict=True)]
    return from_parts(read, sizes, width, dtype)


def from_array(X: Any) -> Any:
    """A Dask array that can be computed, even if it was made of a data frame that cannot."""
    graph = sound(X.dask)
    return X if graph is X.dask else da.Array(graph, X.name, X.chunks, meta=X._meta)


def blocks_of(X: Any) -> list[Any]:
    """The chunks of rows of an array whose columns are in one chunk."""
    return list(X.to_delayed().reshape(-1))


def brought(values: Any) -> Array:
    """A Dask array in NumPy's memory."""
    return np.asarray(run(dask.compute, values)[0])


def total(parts: list[Any]) -> Any:
    """The sum of what chunks return, added up where they are."""
    [total] = run(dask.compute, _tree(parts))
    return total


def _tree(parts: list[Any]) -> Any:
    """One Delayed that adds all up, a few at a time, in their order."""
    while len(parts) > 1:
        parts = [delayed(worker.added)(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]
