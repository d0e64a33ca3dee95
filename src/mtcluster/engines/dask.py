"""Rows in the chunks of a Dask array, worked on where they lie: by the cluster of the active client, or by threads.

Every call of the solver is one task a chunk. What is of every row (memberships, weights, losses) stays with its chunk;
only sums of the size of the centres, and histograms of losses, come back. Each step is a pure function of what the
steps before it left, so that Dask can repeat what a lost worker had.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import array_api_compat.dask.array as xpd
import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed
from sklearn.utils.validation import validate_data

from .._utils.tasks import as_parts, encode_tasks, label_array
from ..core import blocks as place
from ..core import pacing
from ..core.arrays import Array, Summary
from ..core.model import Block, Centers, Settings, Terms, make_block
from ..estimators._validation import check_start, check_weights
from . import worker

FAN_IN = 16  # sums that are added up by one task


class Parts(list[Any]):
    """What is of every row, a Delayed a chunk: a list of one array a task."""

    def __init__(self, items: Sequence[Any], width: int | None, dtype: Any) -> None:
        super().__init__(items)
        self.width, self.dtype = width, dtype


class DaskTasks:
    """Rows by task, in chunks that may cut through tasks: what `TaskData` is for rows in this process."""

    named = True
    xp = xpd

    def __init__(self, X: Any, labels: Array, codes: list[Any], sizes: list[int]) -> None:
        self.X, self.labels, self.codes, self.sizes = X, labels, codes, sizes
        self.n, self.n_features, self.dtype = int(X.shape[0]), int(X.shape[1]), X.dtype
        self.chunks = blocks_of(X)

    def pooled(self) -> DaskTasks:
        """The same rows as one task."""
        return one_task(self.X)

    def join(self, parts: Parts) -> Any:
        """One Dask array in the order of the rows."""
        joined = [
            delayed(worker.join)(codes, part, len(self.labels)) for codes, part in zip(self.codes, parts, strict=True)
        ]
        return from_parts(joined, self.X.chunks[0], parts.width, parts.dtype)

    def indices(self) -> Any:
        """The index of each row's task among the labels."""
        wide = [delayed(np.asarray)(codes, dtype=np.intp) for codes in self.codes]  # they are kept in few bytes
        return from_parts(wide, self.X.chunks[0], None, np.intp)

    def given(self, init: Any, n_clusters: int, binary: bool) -> Parts:
        """Memberships that the user gave as a start, checked, where the rows live."""
        P = init if isinstance(init, da.Array) else np.asarray(init)
        wanted = (self.n, n_clusters)
        if P.shape != wanted:
            raise ValueError(f"init has shape {P.shape}, but memberships of shape {wanted} are needed.")
        P = da.asarray(P).rechunk({0: self.X.chunks[0], 1: -1}) if P.size else da.asarray(P)
        check = partial(check_start, dtype=self.dtype, binary=binary)
        parts = [
            delayed(worker.split)(codes, delayed(check)(chunk), len(self.labels))
            for codes, chunk in zip(self.codes, blocks_of(P), strict=True)
        ]
        return Parts(parts, None if binary else n_clusters, np.dtype(np.intp) if binary else self.dtype)


class DaskRows:
    """The rows as the solver takes them."""

    def __init__(self, data: DaskTasks, weights: list[Any], settings: Settings, n_clusters: int) -> None:
        self.data, self.n_clusters = data, n_clusters
        firsts = np.cumsum([0, *data.X.chunks[0]])[:-1].tolist()
        names = [repr(label) for label in data.labels.tolist()]
        look = self._sum(
            delayed(worker.look)(X, codes, u, names, first)
            for X, codes, u, first in zip(data.chunks, data.codes, weights, firsts, strict=True)
        )
        self.summary: Summary = look.summary
        self.rows_a_chunk, self.counting = np.stack(look.rows), np.stack(look.counting)
        check_weights(self.summary, data.labels, data.sizes)
        origins = np.stack([settings.origin(mean) for mean in self.summary.means])
        self.origins = np.where(look.filled == np.array(data.sizes)[:, None], origins, 0)
        kept = [
            delayed(worker.keep)(X, codes, u, self.origins)
            for X, codes, u in zip(data.chunks, data.codes, weights, strict=True)
        ]
        self.kept = run(dask.persist, *kept)

    @property
    def blocks(self) -> list[Block]:
        raise ValueError(
            "coupling='projection' needs all rows in one place. Take coupling='reconstruction', which works on Dask "
            "arrays, or X.compute() where that fits into memory."
        )

    @property
    def span(self) -> Any:
        return self.blocks

    def begin(self, Ps: Parts, settings: Settings) -> tuple[Parts, Parts]:
        begun = [
            delayed(worker.begin)(kept, P, settings, self.n_clusters) for kept, P in zip(self.kept, Ps, strict=True)
        ]
        ones = [delayed(worker.ones)(kept) for kept in self.kept]
        binary = settings.membership == "binary"
        Ps = Parts(begun, None if binary else self.n_clusters, worker.LABELS if binary else self.data.dtype)
        return self._persist(Ps), self._persist(self._floats(ones))

    def totals(self, Ps: Parts, vs: Parts) -> place.Totals:
        jobs = zip(self.data.chunks, self.kept, Ps, vs, strict=True)
        return self._sum(
            delayed(worker.totals_of)(X, kept, P, v, self.origins, self.n_clusters) for X, kept, P, v in jobs
        )

    def losses(self, Ps: Parts, terms: Terms) -> Parts:
        terms = delayed(terms)
        jobs = zip(self.data.chunks, self.kept, Ps, strict=True)
        return self._persist(
            self._floats(
                delayed(worker.losses)(X, kept, P, terms, self.origins, self.n_clusters) for X, kept, P in jobs
            )
        )

    def advance(self, Ps: Parts, vs: Parts, terms: Terms, settings: Settings) -> tuple[Parts, Parts, place.Totals]:
        shared = delayed((terms, self.origins))
        done = [
            delayed(worker.advance, nout=3)(X, kept, P, v, shared, settings, self.n_clusters)
            for X, kept, P, v in zip(self.data.chunks, self.kept, Ps, vs, strict=True)
        ]
        n = len(done)
        held = run(dask.persist, *(out[0] for out in done), *(out[1] for out in done), _tree([out[2] for out in done]))
        [totals] = run(dask.compute, held[-1])
        return Parts(held[:n], Ps.width, Ps.dtype), self._floats(held[n : 2 * n]), totals

    def weights(self, Ls: Parts, pace: pacing.Schedule, fraction: float) -> Parts:
        def histograms(probes: list[tuple[int, int]], level: int) -> Array:
            return self._sum(
                delayed(worker.masses)(kept, L, probes, level) for kept, L in zip(self.kept, Ls, strict=True)
            )

        found = pace.thresholds(fraction, len(self.data.labels), histograms, self.data.dtype)
        return self._persist(self._floats(delayed(worker.weights)(L, pace, found) for L in Ls))

    def place(self, values: list[Array]) -> Parts:
        ends = np.cumsum(self.rows_a_chunk, axis=0)
        starts = ends - self.rows_a_chunk
        chunks = [
            delayed([v[a:b] for v, a, b in zip(values, first, last, strict=True)], pure=False)
            for first, last in zip(starts, ends, strict=True)
        ]
        width = None if values[0].ndim == 1 else values[0].shape[1]
        return Parts(chunks, width, values[0].dtype)

    def take(self, positions: list[Array]) -> list[Block]:
        jobs = zip(self.data.chunks, self.kept, self._by_chunk(positions), strict=True)
        picked = [delayed(worker.take)(X, kept, at, self.origins) for X, kept, at in jobs if any(map(len, at))]
        [found] = run(dask.compute, picked)
        blocks = []
        for k, origin in enumerate(self.origins):
            parts = [chunk[k] for chunk in found]
            X = worker.stacked([X for X, _ in parts])
            blocks.append(make_block(X, np.concatenate([u for _, u in parts]), origin))
        return blocks

    def where(self, positions: list[Array]) -> list[Array]:
        firsts = np.cumsum([0, *self.data.X.chunks[0]]).tolist()[:-1]
        jobs = zip(self.kept, self._by_chunk(positions), firsts, strict=True)
        return self._picked(delayed(worker.where)(kept, at, first) for kept, at, first in jobs)

    def coordinates(self, positions: list[Array], V: Array) -> list[Array]:
        jobs = zip(self.data.chunks, self.kept, self._by_chunk(positions), strict=True)
        return self._picked(delayed(worker.coordinates)(X, kept, at, self.origins, V) for X, kept, at in jobs)

    def extend(self, labels: list[Array], positions: list[Array], settings: Settings, centers: Centers) -> Parts:
        shared = delayed((settings, centers))
        cuts = self._by_chunk(positions)
        owns: list[list[Array]] = [[] for _ in cuts]
        for k, own in enumerate(labels):
            ends = np.cumsum([len(at[k]) for at in cuts])
            for j, part in enumerate(np.split(own, ends[:-1])):
                owns[j].append(part)
        jobs = zip(self.data.chunks, self.kept, cuts, owns, strict=True)
        found = [delayed(worker.extend)(X, kept, at, own, shared) for X, kept, at, own in jobs]
        return self._persist(Parts(found, None, worker.LABELS))

    def read_out(self, settings: Settings, centers: Centers) -> tuple[Parts, Parts]:
        shared = delayed((settings, centers))
        found = [
            delayed(worker.read_rows, nout=2)(X, kept, shared)
            for X, kept in zip(self.data.chunks, self.kept, strict=True)
        ]
        binary, n = settings.membership == "binary", len(found)
        held = run(dask.persist, *(out[0] for out in found), *(out[1] for out in found))
        width, dtype = (None, worker.LABELS) if binary else (self.n_clusters, self.data.dtype)
        return Parts(held[:n], width, dtype), self._floats(held[n:])

    def sizes(self, Ps: Parts) -> Array:
        return self._sum(
            delayed(worker.cluster_sizes)(kept, P, self.n_clusters) for kept, P in zip(self.kept, Ps, strict=True)
        )

    def sum(self, Ls: Parts) -> Array:
        return self._sum(delayed(worker.weighted_sum)(kept, L) for kept, L in zip(self.kept, Ls, strict=True))

    def energy(self) -> Array:
        return self._sum(delayed(worker.energy)(kept) for kept in self.kept)

    def _picked(self, parts: Iterable[Any]) -> list[Array]:
        """What every chunk has for some of its rows, task by task."""
        [found] = run(dask.compute, list(parts))
        return [np.concatenate([chunk[k] for chunk in found]) for k in range(len(self.data.labels))]

    def _by_chunk(self, positions: list[Array]) -> list[list[Array]]:
        """Places among all rows of a task that count → places among those of a chunk."""
        ends = np.cumsum(self.counting, axis=0)
        found: list[list[Array]] = [[] for _ in ends]
        for k, at in enumerate(positions):
            cuts = np.searchsorted(at, ends[:-1, k])
            for j, part in enumerate(np.split(at, cuts)):
                found[j].append(part - (ends[j - 1, k] if j else 0))
        return found

    def _floats(self, items: Any) -> Parts:
        return Parts(list(items), None, self.data.dtype)

    def _persist(self, parts: Parts) -> Parts:
        return Parts(run(dask.persist, *parts), parts.width, parts.dtype)

    def _sum(self, parts: Any) -> Any:
        [total] = run(dask.compute, _tree(list(parts)))
        return total


def run(how: Callable[..., Any], *collections: Any) -> Any:
    """dask.compute or dask.persist, with an error that says what happened where the cluster went away."""
    try:
        return how(*collections)
    except (CancelledError, ConnectionError, TimeoutError) as error:
        raise _lost(error) from error
    except OSError as error:  # a chunk may fail to read its file, too
        if type(error).__name__ != "CommClosedError" and "connect" not in str(error).lower():
            raise
        raise _lost(error) from error
    except RuntimeError as error:
        if "client" in str(error).lower() or "scheduler" in str(error).lower():
            raise _lost(error) from error
        raise


def _lost(error: BaseException) -> RuntimeError:
    return RuntimeError(
        f"the Dask cluster is gone ({type(error).__name__}: {str(error)[:200]}): start one, connect a client to it and "
        "fit again. Nothing was stored."
    )


def read_dask(estimator: Any, X: Any, tasks: Any) -> DaskTasks:
    """Validate a Dask array or data frame, or a dict or list of them, and find the tasks of its rows."""
    parts = as_parts(X, "X")
    if parts is not None:
        if tasks is not None:
            raise ValueError("tasks must be None when X is a dict or a list of data sets: the tasks are its items.")
        arrays = [rows_of(estimator, part, f"X[{key!r}]", reset=i == 0) for i, (key, part) in enumerate(parts.items())]
        codes = [delayed(np.full)(size, k, dtype=np.intp) for k, array in enumerate(arrays) for size in array.chunks[0]]
        whole = da.concatenate(arrays) if len(arrays) > 1 else arrays[0]
        return DaskTasks(whole, label_array(list(parts)), codes, [int(array.shape[0]) for array in arrays])
    X = rows_of(estimator, X, "X", reset=True)
    labels = chunks_of_tasks(tasks, X)
    if labels is None:
        return one_task(X)
    [found] = run(dask.compute, [delayed(worker.count)(chunk) for chunk in labels])
    seen: dict[Hashable, int] = {}
    for own, counts in found:
        for label, count in zip(own, counts, strict=True):
            seen[label] = seen.get(label, 0) + count
    known, order = encode_tasks(list(seen), len(seen))
    sizes = np.zeros(len(known), dtype=int)
    sizes[order] = list(seen.values())
    codes = run(dask.persist, *(delayed(worker.codes_of)(chunk, known.tolist()) for chunk in labels))
    return DaskTasks(X, known, list(codes), sizes.tolist())


def one_task(X: Any) -> DaskTasks:
    """All rows as one task."""
    codes = [delayed(np.zeros)(size, dtype=np.intp) for size in X.chunks[0]]
    return DaskTasks(X, np.array([0]), codes, [int(X.shape[0])])


def read_dask_weights(sample_weight: Any, data: DaskTasks) -> list[Any]:
    """Sample weights, chunk by chunk."""
    if sample_weight is None:
        return [delayed(np.ones)(size, dtype=data.dtype) for size in data.X.chunks[0]]
    weights = _column(sample_weight, data.X, "sample_weight")
    return [delayed(worker.checked_weights)(chunk, data.dtype) for chunk in weights]


class DaskChunks:
    """Rows to be read with a fitted model: Dask arrays that are computed when they are asked for."""

    xp = xpd

    def __init__(self, estimator: Any, X: Any) -> None:
        self.X = rows_of(estimator, X, "X", reset=False)
        self.chunks, self.rows = blocks_of(self.X), self.X.chunks[0]

    def read_out(self, tasks: Any, known: Array, settings: Settings, centers: Centers) -> tuple[Any, Any]:
        """Memberships and losses of the rows."""
        labels = chunks_of_tasks(tasks, self.X)
        shared = delayed((settings, centers, known.tolist()))
        found = [
            delayed(worker.predict, nout=2)(chunk, None if labels is None else labels[j], shared)
            for j, chunk in enumerate(self.chunks)
        ]
        width, dtype = (None, np.intp) if settings.membership == "binary" else (len(centers.Z), self.X.dtype)
        return self._array([P for P, _ in found], width, dtype), self._array([L for _, L in found], None, self.X.dtype)

    def transform(self, W: Array) -> Any:
        """X W."""
        return self._array([delayed(worker.times)(chunk, W) for chunk in self.chunks], W.shape[1], self.X.dtype)

    def weights(self, sample_weight: Any) -> Any:
        """Sample weights in the order of the rows."""
        if sample_weight is None:
            return da.ones(self.X.shape[0], chunks=(self.rows,))
        return self._array(_column(sample_weight, self.X, "sample_weight"), None, np.float64)

    def _array(self, parts: Sequence[Any], width: int | None, dtype: Any) -> Any:
        return from_parts(parts, self.rows, width, dtype)


def from_parts(parts: Sequence[Any], rows: Sequence[int], width: int | None, dtype: Any) -> Any:
    """One Dask array from what each chunk has."""
    tail = () if width is None else (width,)
    pairs = zip(parts, rows, strict=True)
    return da.concatenate([da.from_delayed(part, (size, *tail), dtype=dtype) for part, size in pairs])


def rows_of(estimator: Any, X: Any, name: str, *, reset: bool) -> Any:
    """A Dask array of floats with known row counts and its columns in one chunk."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        bad = [repr(c) for c, dtype in X.dtypes.items() if dtype.kind not in "biuf"]
        if bad:
            raise ValueError(f"{name} has {len(bad)} column(s) that are not numbers: {', '.join(bad[:5])}.")
        floats = all(dtype == np.float32 for dtype in X.dtypes)
        X = from_frame(X, len(columns), np.dtype(np.float32 if floats else np.float64))
    if not isinstance(X, da.Array) or X.ndim != 2:
        raise ValueError(f"{name} should be a Dask array of two dimensions or a Dask data frame; got {X!r}.")
    if np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    if not X.shape[0]:
        raise ValueError(f"{name} has 0 rows: at least one is needed.")
    if X.dtype not in (np.float32, np.float64):
        if X.dtype.kind not in "biuf":
            raise ValueError(f"{name} has the type {X.dtype}: numbers are needed.")
        X = X.astype(np.float64)
    stand_in: Any = np.zeros((1, X.shape[1]))
    if columns is not None:
        import pandas as pd

        stand_in = pd.DataFrame(stand_in, columns=list(columns))
    validate_data(estimator, stand_in, reset=reset, skip_check_array=True)
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def chunks_of_tasks(tasks: Any, X: Any) -> list[Any] | None:
    """The labels of the rows of each chunk; None: there is one task."""
    if tasks is None:
        return None
    if isinstance(tasks, str | bytes) or not (hasattr(tasks, "__len__") or hasattr(tasks, "npartitions")):
        raise TypeError(f"tasks must be a sequence of {X.shape[0]} labels, one a row; got {tasks!r}.")
    return _column(tasks, X, "tasks")


def _column(values: Any, X: Any, name: str) -> list[Any]:
    """One value a row, chunk by chunk as the rows are."""
    n, sizes = int(X.shape[0]), X.chunks[0]
    if hasattr(values, "to_dask_array"):
        values = from_frame(values, None, np.dtype(object) if name == "tasks" else np.dtype(np.float64))
    if isinstance(values, da.Array):
        if values.ndim == 1 and np.isnan(values.shape[0]):
            values = values.compute_chunk_sizes()
        if values.shape != (n,):
            raise ValueError(f"{name} has shape {values.shape}, but X has {n} rows: one value a row is needed.")
        return list(values.rechunk((sizes,)).to_delayed())
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} values, but X has {n} rows: one value a row is needed.")
    if not hasattr(values, "__array__"):
        values = label_array(list(values)) if name == "tasks" else np.asarray(values)
    values = np.asarray(values)
    return [delayed(part, pure=False) for part in np.split(values, np.cumsum(sizes)[:-1])]


def from_frame(frame: Any, width: int | None, dtype: Any) -> Any:
    """The numbers of a Dask data frame, or the labels of a column of one, as an array of known chunks.

    Its partitions are asked for as they are read: the number that the frame has before may be another.
    """
    parts = frame.to_delayed()
    [sizes] = run(dask.compute, [delayed(len)(part) for part in parts])
    return from_parts([delayed(worker.values_of)(part, dtype) for part in parts], sizes, width, dtype)


def blocks_of(X: Any) -> list[Any]:
    """The chunks of rows of an array whose columns are in one chunk."""
    return list(X.to_delayed().reshape(-1))


def _tree(parts: list[Any]) -> Any:
    """One Delayed that adds all up, a few at a time, in their order."""
    while len(parts) > 1:
        parts = [delayed(worker.added)(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]
