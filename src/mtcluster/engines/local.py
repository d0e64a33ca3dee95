"""Rows in this process, on as many threads as it may use."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from .._sklearn_compat import openmp_threads
from .._utils.tasks import Positions
from ..core.arrays import Array, Each, Picked, Summary, is_sparse, summarize
from ..core.blocks import Blocks, Job, PerRow, Place, coordinates, counting
from ..core.gaps import counted
from .base import Engine
from .blas import one_blas_thread


@dataclass(frozen=True)
class LocalData:
    """Rows by task: `Xs[k]` holds the rows at `positions[k]` of the n rows, and belongs to the task `labels[k]`."""

    labels: Array
    Xs: list[Any]  # matrices, or `Picked` rows of one
    positions: list[Positions]
    n: int
    named: bool = True  # did the user say which task the rows belong to?
    source: Any = None  # the matrix of all rows, where they came in one
    xp: Any = np  # the library of the arrays

    @property
    def dtype(self) -> np.dtype[Any]:
        """The floating type, as NumPy names it."""
        return np.dtype(str(self.Xs[0].dtype).rpartition(".")[2])

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each task."""
        return [int(X.shape[0]) for X in self.Xs]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.Xs[0].shape[1])

    def place(self, values: Array) -> Array:
        """A NumPy array where the rows live."""
        if self.xp is np:
            return values
        X = getattr(self.Xs[0], "matrix", self.Xs[0])
        return self.xp.asarray(values, device=(X.data if is_sparse(X) else X).device)

    def matrix(self, k: int) -> Any:
        """The rows of a task in one matrix."""
        return self.Xs[k][:] if isinstance(self.Xs[k], Picked) else self.Xs[k]

    def stack(self) -> Any:
        """All rows in one matrix, in their order."""
        if self.source is not None:
            return self.source
        if any(sparse.issparse(X) for X in self.Xs):
            return sparse.vstack([sparse.csr_matrix(X) for X in self.Xs], format="csr")
        return self.join(self.Xs)

    def pooled(self) -> LocalData:
        """The same rows as one task."""
        X = self.stack()
        return LocalData(np.array([0]), [X], [slice(0, self.n)], self.n, named=False, source=X, xp=self.xp)

    def split(self, values: Array) -> list[Array]:
        """Values per row, one array per task."""
        return [values[at] for at in self.positions]

    def join(self, parts: list[Array]) -> Array:
        """Arrays per task, back in the order of the rows."""
        if not isinstance(parts[0], np.ndarray):
            order = np.argsort(np.concatenate([np.arange(self.n)[at] for at in self.positions]))
            return self.xp.take(self.xp.concat(parts), self.xp.asarray(order, device=parts[0].device), axis=0)
        out = np.empty((self.n, *parts[0].shape[1:]), dtype=np.result_type(*parts))
        for at, part in zip(self.positions, parts, strict=True):
            out[at] = part
        return out


class LocalEngine(Blocks, Engine):
    """Rows in this process."""

    instead = "convert X to a NumPy array"
    one_library = True

    def __init__(
        self,
        data: LocalData,
        us: list[Array] | None = None,
        *,
        centered: bool = True,
        n_jobs: int | None = None,
        threads: bool = True,
    ) -> None:
        self.data, self.xp, self.labels, self.named = data, data.xp, data.labels, data.named
        self.us = [data.place(np.ones(n, data.dtype) if us is None else us[k]) for k, n in enumerate(data.sizes)]
        self.sizes, self.n_features, self.dtype = data.sizes, data.n_features, data.dtype
        self.centered, self.n_jobs, self.threads = centered, n_jobs, threads
        self.few = self.few if self.xp is np else 2**62  # accelerators sort all of them in no time
        self._each: Each = map
        self._stack, self._entered = ExitStack(), 0

    @property
    def needs(self) -> tuple[str, ...]:
        """Sparse rows, and those of other libraries than NumPy, which may be on accelerators."""
        return ("sparse",) * is_sparse(self.data.Xs[0]) + ("gpu",) * (self.xp is not np)

    def __enter__(self) -> Self:
        self._entered += 1
        if self.threads and self._entered == 1:
            self._each = self._stack.enter_context(row_threads(self.n_jobs))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered -= 1
        if not self._entered:
            self.__dict__.pop("place", None)  # it knows the threads
            self._each = map
            self._stack.close()

    @cached_property
    def summary(self) -> Summary:
        """What one pass over the rows tells; rows that have no value at all count nothing."""
        found = summarize(self.data.Xs, self.us, self.xp)
        if not found.gaps:
            return found
        self.us = [counted(X, u, self.xp) for X, u in zip(self.data.Xs, self.us, strict=True)]
        return summarize(self.data.Xs, self.us, self.xp)

    @property
    def gaps(self) -> bool:
        """Whether values are missing."""
        return self.summary.gaps > 0

    @cached_property
    def place(self) -> Place:  # type: ignore[override]
        """All rows."""
        origins = self.origins  # they settle what rows count
        return Place(self.data.Xs, self.us, origins, None, self.xp, self._each)

    def apply(self, job: Job, *values: PerRow, outputs: int = 0, lazy: bool = False) -> tuple[Any, ...]:
        """Run a job on all rows."""
        return job(Place(self.data.Xs, xp=self.xp, each=self._each) if lazy else self.place, *values)

    def locate(self, positions: list[Array], V: Array) -> tuple[list[Array], list[Array]]:
        """Numbers of rows, and rows times V."""
        blocks, everyone = self.place.blocks, np.arange(self.data.n)
        where = zip(blocks, self.data.positions, positions, strict=True)
        numbers = [everyone[own][counting(b)[at]] for b, own, at in where]
        return numbers, [coordinates(b, at, V) for b, at in zip(blocks, positions, strict=True)]

    def split(self, values: Any, check: Callable[[Any], Array]) -> PerRow:
        """The user's values where the rows live."""
        return [self.data.place(part) for part in self.data.split(check(values))]

    def gather(self, values: PerRow, dtype: Any = None, width: int | None = None) -> Any:
        """Values in the user's order."""
        return self.data.join(values)

    def small(self, values: Array) -> Any:
        """Numbers where the rows live; labels that are no numbers stay NumPy's."""
        return self.data.place(values) if values.dtype.kind in "biuf" else values


@contextmanager
def row_threads(n_jobs: int | None) -> Iterator[Each]:
    """A `map` for pieces of rows that works on `n_jobs` of them at a time; None: one per core.

    NumPy's own threads rest meanwhile: the two would fight over the cores. Results come in order.
    """
    n_threads = openmp_threads() if n_jobs is None else min(effective_n_jobs(n_jobs), openmp_threads())
    with one_blas_thread():
        if n_threads == 1:
            yield map
            return
        with ThreadPoolExecutor(n_threads) as pool:

            def each(job: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterable[Any]:
                return _ahead(pool, job, jobs, n_threads + 1) if len(jobs) > 1 else map(job, jobs)

            yield each


def _ahead(pool: ThreadPoolExecutor, job: Callable[[Any], Any], jobs: Sequence[Any], n: int) -> Iterator[Any]:
    """Results in order, with no more than n jobs begun before theirs are taken."""
    begun = deque(pool.submit(job, one) for one in jobs[:n])
    for one in jobs[n:]:
        yield begun.popleft().result()
        begun.append(pool.submit(job, one))
    for future in begun:
        yield future.result()
