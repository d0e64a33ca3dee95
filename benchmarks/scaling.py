"""How the time of an inner iteration grows with the size of the problem, and with Dask workers."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from benchmarks.data import spaced
from benchmarks.fits import METHODS, from_start, saved
from benchmarks.rows import Row, measured
from scipy.optimize import nnls

from benchmarks import data, timing

FACTORS = (1, 4, 16, 64)
PACES = {"LSSMTC, binary": (2, 22), "LSSMTC, non-negative": (2, 22), "SPMTC, binary": (1, 4)}  # pairs of max_iter
FEATURES = 32  # of the rows in Dask arrays
CHUNKS = 8
DASK_KIND = "SPMTC, binary"
WANTED_ROWS, WANTED_WORKERS = 100_000_000, 16


def seconds_an_iteration(
    X: Any,
    tasks: Any,
    n_clusters: int,
    rounds: int,
    kinds: tuple[str, ...],
    others: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
) -> dict[str, float]:
    """Seconds per inner iteration, from fits with few and many of them, and the seconds of other calls."""
    fits = {(kind, pace): from_start(X, tasks, n_clusters, pace, kind) for kind in kinds for pace in PACES[kind]}
    iterations: dict[Any, int] = {}

    def run(key: tuple[str, int]) -> None:
        iterations[key] = fits[key]().n_iter_

    best = timing.best_times({**others, **{key: partial(run, key) for key in fits}}, rounds)
    seconds = {name: best[name] for name in others}
    for kind in kinds:
        few, many = ((kind, pace) for pace in PACES[kind])
        more = iterations[many] - iterations[few]
        if more < 5:
            raise RuntimeError(
                f"{kind} on {X.shape}: only {more} more iterations at max_iter={many[1]} than at {few[1]}."
            )
        seconds[kind] = (best[many] - best[few]) / more
    return seconds


def growing(base: int) -> dict[str, tuple[str, Callable[[int], tuple[Any, int, int]]]]:
    """The size that grows → the other sizes, and a function: factor → X, number of tasks, number of clusters."""

    def blobs(n: int, d: int) -> Any:
        return data.make_rows(replace(data.WIDE, n=n, d=d))[0]

    return {
        "rows": (f"from {spaced(base)}, 64 dense features", lambda f: (blobs(base * f, 64), 4, 8)),
        "features": (f"from 64, {spaced(2 * base)} dense rows", lambda f: (blobs(2 * base, 64 * f), 4, 8)),
        "non-zeros": (
            f"from 4 per row, {spaced(10 * base)} rows, 1 024 features",
            lambda f: (data.sparse_noise(10 * base, 1_024, 4 * f), 4, 8),
        ),
        "tasks": (f"from 1, {spaced(32 * base)} rows, 64 dense features", lambda f: (blobs(32 * base, 64), f, 8)),
        "clusters": (f"from 2, {spaced(5 * base)} rows, 64 dense features", lambda f: (blobs(5 * base, 64), 4, 2 * f)),
    }


def measure_growth(base: int, rounds: int) -> Iterator[Row]:
    """How the time of an inner iteration grows over a factor of 64."""
    kind = "LSSMTC, binary"
    for name, (held, make) in growing(base).items():
        seconds = []
        for factor in FACTORS:
            X, n_tasks, n_clusters = make(factor)
            tasks = data.make_tasks(X.shape[0], n_tasks, np.random.default_rng(0))
            seconds.append(seconds_an_iteration(X, tasks, n_clusters, rounds, (kind,))[kind])
            yield measured("growth", name, f"× {factor}", "an iteration", 1e3 * seconds[-1], "ms")
        limit = "<= 1.1" if name in ("rows", "non-zeros", "tasks") else ""
        yield measured("growth", name, held, "slope", timing.slope(FACTORS, seconds), "", limit)
        yield measured("growth", name, held, "slope of the last step", timing.slope(FACTORS[-2:], seconds[-2:]))


def measure_dask(sizes: tuple[int, ...], rounds: int) -> Iterator[Row]:
    """Dask compared with one process at the first size; seconds per iteration by rows and workers, with a model."""
    workers = min(os.cpu_count() or 1, CHUNKS)
    yield from _dask_over_one_process(sizes[0], workers, rounds)
    loads, times = [], []
    for n, count in [(sizes[0], 1), *((size, workers) for size in sizes)]:
        with rows_on_workers(n, count) as (X, _):
            times.append(seconds_an_iteration(X, _tasks(n), 8, min(rounds, 2), (DASK_KIND,))[DASK_KIND])
        loads.append(n / 1e6 / count)
        yield measured("dask", _case(n), _workers(count), "an iteration", 1e3 * times[-1], "ms")
    (a, b), _ = nnls(np.column_stack([np.ones(len(loads)), loads]), times)
    yield measured("dask", "model", "a", "an iteration", 1e3 * a, "ms")
    yield measured("dask", "model", "b, per million rows on a worker", "an iteration", 1e3 * b, "ms")
    wanted = a + b * WANTED_ROWS / 1e6 / WANTED_WORKERS
    subject = f"{_workers(WANTED_WORKERS)}, a + b · rows / workers"
    yield measured("dask", _case(WANTED_ROWS), subject, "an iteration", 1e3 * wanted, "ms")


def _dask_over_one_process(n: int, workers: int, rounds: int) -> Iterator[Row]:
    blocks = [data.dense_block(index, n // CHUNKS, FEATURES) for index in range(CHUNKS)]
    with saved(np.concatenate(blocks), _tasks(n)) as folder, rows_on_workers(n, workers) as (X, client):
        call = METHODS[DASK_KIND](X, _tasks(n), 8)
        before = client.run(timing.memory)
        measurements = {
            "one process": lambda: timing.in_child(folder, DASK_KIND, 8),
            _workers(workers): lambda: {"seconds": timing.seconds_of(call)},
        }
        alone, spread = timing.in_turns(measurements, rounds).values()
        after = client.run(timing.memory)
    peak = sum(after[worker][1] - before[worker][0] for worker in before)
    fit = f"fit of {alone['iterations']:.0f} iterations"
    for subject, seconds, most in (
        ("one process", alone["seconds"], alone["peak"]),
        (_workers(workers), spread["seconds"], peak),
    ):
        yield measured("dask", _case(n), subject, fit, seconds, "s")
        yield measured("dask", _case(n), subject, "over one process, time", seconds / alone["seconds"], "×")
        yield measured("dask", _case(n), subject, "peak beyond X", most, "MB")
        yield measured("dask", _case(n), subject, "over one process, peak", most / alone["peak"], "×")


@contextmanager
def rows_on_workers(n: int, workers: int) -> Iterator[tuple[Any, Any]]:
    """The rows of `dense_block` as a Dask array on worker processes of this machine, and their client."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster, wait

    size = n // CHUNKS
    with (
        LocalCluster(
            workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=logging.ERROR
        ) as cluster,
        Client(cluster) as client,
    ):
        blocks = [delayed(data.dense_block)(index, size, FEATURES) for index in range(CHUNKS)]
        X = da.concatenate([da.from_delayed(block, (size, FEATURES), np.float32) for block in blocks]).persist()
        wait(X)
        yield X, client


def _tasks(n: int) -> Any:
    return data.make_tasks(n, 4, np.random.default_rng(0))


def _case(n: int) -> str:
    return f"{spaced(n)} × {FEATURES} single precision"


def _workers(count: int) -> str:
    return f"{count} Dask worker{'s' * (count > 1)}"
