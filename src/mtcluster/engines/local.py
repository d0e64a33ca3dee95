"""Rows in this process, on as many threads as it may use."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

from ..core.arrays import Array, Each, summarize
from ..core.blocks import LocalRows
from ..core.model import Settings, make_block
from ..estimators._validation import TaskData


def local_rows(data: TaskData, us: list[Array], settings: Settings, n_clusters: int, each: Each = map) -> LocalRows:
    """The rows as the solver takes them: seen once to know where they lie, and once more from there."""
    xp, us = data.xp, [data.place(u) for u in us]
    summary = summarize(data.Xs, us, xp)
    blocks = [
        make_block(X, u, settings.origin(mean), xp) for X, u, mean in zip(data.Xs, us, summary.means, strict=True)
    ]
    return LocalRows(blocks, n_clusters, each, summary, data.rows)


@contextmanager
def row_threads(n_jobs: int | None) -> Iterator[Each]:
    """A `map` for pieces of rows that uses the cores which `n_jobs` starts side by side leave, one piece a core.

    NumPy's own threads rest meanwhile: the two would fight over the cores. Results come in order, so that the number
    of threads changes no sum.
    """
    n_threads = max(_openmp_effective_n_threads() // effective_n_jobs(n_jobs), 1)
    with _controller().limit(limits=1, user_api="blas"):
        if n_threads == 1:
            yield map
            return
        with ThreadPoolExecutor(n_threads) as pool:

            def each(job: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterable[Any]:
                return _ahead(pool, job, jobs, n_threads + 1) if len(jobs) >= 2 * n_threads else map(job, jobs)

            each.n_threads = n_threads  # type: ignore[attr-defined]
            yield each


def _ahead(pool: ThreadPoolExecutor, job: Callable[[Any], Any], jobs: Sequence[Any], n: int) -> Iterator[Any]:
    """Results in order, with no more than n jobs begun before theirs are taken."""
    begun = deque(pool.submit(job, one) for one in jobs[:n])
    for one in jobs[n:]:
        yield begun.popleft().result()
        begun.append(pool.submit(job, one))
    for future in begun:
        yield future.result()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
