"""Time and memory, as ratios measured in one run: `make bench`, or `python -m benchmarks.speed` in the main folder.

Every measurement is a flat row; the page and the plot are made from the rows only.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.commands import measure_commands
from benchmarks.data import LARGE, Shape
from benchmarks.fits import NAIVE_ITERATIONS, both_floors, floor, saved
from benchmarks.rows import Row, measured, read_rows, write_rows
from benchmarks.runs import measure_runs
from benchmarks.scaling import PACES, measure_dask, measure_growth, seconds_an_iteration
from scipy import sparse

from benchmarks import data, page, timing
from mtcluster.datasets import load_digits_tasks, load_task_set

FEWER_ROWS = 5_000  # for SpectralClustering, whose neighbour graph takes minutes at the large shapes
FIXED = "SPMTC, within_weight=0.5"
BUSY = 0.5  # load before the run
NAIVE = "the paper as written"
KMEANS = "KMeans(n_init=10)"
SORTED_KINDS = ("LSSMTC, binary", "SPMTC, binary")

# The rows, how they are made, number of clusters, limit of the time of a default fit over that of k-means.
FitCase = tuple[str, Callable[[], tuple[Any, Any]], int, str]


def _digits() -> tuple[Any, Any]:
    X, _, tasks = load_digits_tasks()
    return X, np.unique(tasks, return_inverse=True)[1]


def _counts() -> tuple[Any, Any]:
    X, _, tasks = load_task_set("rec_vs_talk")
    return X.astype(float), np.unique(tasks, return_inverse=True)[1]


def _fit_cases(table: Shape, medium: Shape, large: tuple[Shape, ...]) -> tuple[FitCase, ...]:
    def generated(shape: Shape, limit: str) -> FitCase:
        return f"{shape}", partial(data.make_rows, shape), shape.n_clusters, limit

    return (
        generated(table, "<= 2"),
        ("1 797 × 64 digits tasks", _digits, 10, "<= 2"),
        ("rec_vs_talk, raw counts", _counts, 2, "<= 2"),
        generated(medium, "<= 2"),
        *(generated(shape, "<= 1") for shape in large),
    )


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    shapes: tuple[Shape, ...] = data.SHAPES
    paper: Shape = data.PAPER
    kmeans_starts: int = 10
    growth_base: int = 2_000
    dask_rows: tuple[int, ...] = (1_000_000, 2_000_000, 4_000_000)
    fits: tuple[FitCase, ...] = _fit_cases(
        data.TABLE, data.MEDIUM_BLOBS, (data.TALL_BLOBS, data.WIDE_BLOBS, data.TFIDF)
    )
    heavy: int = 10_000_000  # n · d from which the memory of fits is measured
    sorted_from: int = LARGE  # rows from which an iteration is also measured with tasks one after the other
    table: Shape = data.TABLE
    medium: Shape = data.MEDIUM_BLOBS
    many_runs: int = 20
    rounds: int = 3
    short_rounds: int = 5  # for calls of a second or less
    long_rounds: int = 2  # for other methods, some of which take many seconds


QUICK = Plan(
    shapes=(
        replace(data.COUNTS, n=2_000),
        replace(data.TFIDF, n=4_000, d=500),
        replace(data.TALL, n=8_000),
        replace(data.WIDE, d=500),
    ),
    paper=replace(data.PAPER, n=300, d=600),
    kmeans_starts=2,
    growth_base=400,
    dask_rows=(40_000, 80_000, 160_000),
    fits=_fit_cases(
        data.TABLE,
        data.MEDIUM_BLOBS.at_most(1_000),
        (data.TALL_BLOBS.at_most(8_000), replace(data.WIDE_BLOBS, n=500, d=500), replace(data.TFIDF, n=4_000, d=500)),
    ),
    heavy=500_000,
    sorted_from=4_000,
    medium=data.MEDIUM_BLOBS.at_most(1_000),
    many_runs=6,
    rounds=1,
    short_rounds=2,
    long_rounds=1,
)


def measure_data(plan: Plan) -> Iterator[Row]:
    """Properties of the rows, and iterations of k-means on them."""
    for shape in plan.shapes:
        X, _ = data.make_rows(shape)
        counts = data.kmeans_iterations(X, shape.n_clusters, plan.kmeans_starts)
        yield measured("data", shape, "", "non-zeros per row", X.nnz / shape.n if sparse.issparse(X) else shape.d)
        for name, value in (("fewest", counts[0]), ("median", np.median(counts)), ("most", counts[-1])):
            yield measured("data", shape, "", f"k-means iterations per start, {name}", value)


def measure_iteration(plan: Plan) -> Iterator[Row]:
    """An inner iteration compared with the two products that it needs, on rows with interleaved tasks.

    Large shapes also with the rows of a task one after the other.
    """
    for shape in plan.shapes:
        X, tasks = data.make_rows(shape)
        large = shape.n >= LARGE
        seconds = _iterations(X, tasks, shape.n_clusters, tuple(PACES), plan.short_rounds)
        with saved(X, tasks) as folder:
            peaks = timing.best_in_children(folder, list(seconds), shape.n_clusters, rounds=1)
        limit = "<= 1.5" if large else "<= 3"
        for name, value in seconds.items():
            yield measured("iteration", shape, name, "an iteration", 1e3 * value, "ms")
            own = "" if name == "floor" else limit
            yield measured("iteration", shape, name, "over the floor", value / seconds["floor"], "×", own)
            yield measured("iteration", shape, name, "peak beyond X", peaks[name]["peak"], "MB")
        if shape.n < plan.sorted_from:
            continue
        order = np.argsort(tasks, kind="stable")
        X, tasks, case = X[order], tasks[order], f"{shape}, task after task"
        seconds = _iterations(X, tasks, shape.n_clusters, SORTED_KINDS, plan.short_rounds)
        for name, value in seconds.items():
            yield measured("iteration", case, name, "an iteration", 1e3 * value, "ms")
            own = "" if name == "floor" else limit
            yield measured("iteration", case, name, "over the floor", value / seconds["floor"], "×", own)


def _iterations(X: Any, tasks: Any, n_clusters: int, kinds: tuple[str, ...], rounds: int) -> dict[str, float]:
    """Seconds of an iteration of each kind of fit, and of the floor, in turns."""
    few, many = PACES["LSSMTC, binary"]
    floors = both_floors(floor(X, tasks, n_clusters), many - few)
    seconds = seconds_an_iteration(X, tasks, n_clusters, rounds, kinds, floors)
    return {"floor": min(seconds.pop(name) for name in floors) / (many - few), **seconds}


def measure_fits(plan: Plan) -> Iterator[Row]:
    """A default fit over k-means with ten starts, in turns in one process; memory of both at the large shapes."""
    for case, make, n_clusters, limit in plan.fits:
        try:
            X, tasks = make()
        except FileNotFoundError as error:
            print(f"fits, {case} left out: {error}", flush=True)
            continue
        with saved(X, tasks) as folder:
            seconds = timing.alternating_in_child(folder, ["SPMTC", KMEANS], n_clusters, plan.short_rounds)
            peaks = {}
            if X.shape[0] * X.shape[1] >= plan.heavy:
                peaks = timing.best_in_children(folder, ["SPMTC", KMEANS], n_clusters, rounds=1)
        for method, value in seconds.items():
            yield measured("fits", case, method, "time", value, "s")
        if peaks:
            most = _most_memory(X, len(np.unique(tasks)), n_clusters)
            yield measured("fits", case, "SPMTC", "peak beyond X", peaks["SPMTC"]["peak"], "MB", most)
            yield measured("fits", case, KMEANS, "peak beyond X", peaks[KMEANS]["peak"], "MB")
        yield measured("fits", case, KMEANS, "time of SPMTC over it", seconds["SPMTC"] / seconds[KMEANS], "×", limit)


def _most_memory(X: Any, n_tasks: int, n_clusters: int) -> str:
    numbers = 10 * n_clusters * (X.shape[0] + n_tasks * X.shape[1])
    return f"<= {8 * numbers / timing.MB + 50:.0f}"


def measure_peers(plan: Plan) -> Iterator[Row]:
    """A default fit compared with other methods, each in its own process."""
    for shape in plan.shapes:
        peers = [KMEANS, "NMF"]
        if shape.n > FEWER_ROWS:
            yield from _peers(shape.at_most(FEWER_ROWS), ["SPMTC"], ["SpectralClustering"], plan.long_rounds)
        else:
            peers.append("SpectralClustering")
        yield from _peers(shape, ["SPMTC", FIXED], peers, plan.long_rounds)


def _peers(shape: Shape, ours: list[str], peers: list[str], rounds: int) -> Iterator[Row]:
    X, tasks = data.make_rows(shape)
    with saved(X, tasks) as folder:
        found = timing.best_in_children(folder, [*ours, *peers], shape.n_clusters, rounds)
    most = _most_memory(X, shape.n_tasks, shape.n_clusters)
    for method, measures in found.items():
        yield measured("peers", shape, method, "time", measures["seconds"], "s")
        yield measured("peers", shape, method, "peak beyond X", measures["peak"], "MB", most if method in ours else "")
    for method in peers:
        time_ratio, peak_ratio = (found["SPMTC"][key] / found[method][key] for key in ("seconds", "peak"))
        limit = "<= 2" if method == KMEANS and shape.n >= LARGE else ""
        yield measured("peers", shape, method, "time of SPMTC over it", time_ratio, "×", limit)
        yield measured("peers", shape, method, "peak of SPMTC over it", peak_ratio, "×")


def measure_paper(plan: Plan) -> Iterator[Row]:
    """Fits at the size of the paper's PEOPLEvsPLACES, compared with its algorithm as written."""
    shape = plan.paper
    limits = {"SPMTC": "", FIXED: "<= 3", "SPMTC, projection": "<= 30", "SPMTC, the paper's settings": ""}
    with saved(*data.make_rows(shape)) as folder:
        found = timing.best_in_children(folder, [*limits, NAIVE], shape.n_clusters, plan.rounds)
    naive = found[NAIVE]
    an_iteration = naive["seconds"] / NAIVE_ITERATIONS
    yield measured("paper", shape, NAIVE, "an iteration", an_iteration, "s")
    yield measured("paper", shape, NAIVE, "peak beyond X", naive["peak"], "MB")
    for method, limit in limits.items():
        ours = found[method]
        yield measured("paper", shape, method, "time", ours["seconds"], "s", limit)
        yield measured("paper", shape, method, "iterations", ours["iterations"])
        yield measured("paper", shape, method, "peak beyond X", ours["peak"], "MB")
        faster = an_iteration * ours["iterations"] / ours["seconds"]
        yield measured("paper", shape, method, "faster than written", faster, "×", ">= 100" if method == FIXED else "")
        yield measured("paper", shape, method, "smaller than written", naive["peak"] / ours["peak"], "×")


def measure_machine() -> Iterator[Row]:
    """The machine, and its load before the run."""
    yield measured("machine", "", "", "cores", os.cpu_count() or 1)
    yield measured("machine", "", "", "memory", os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, "GiB")
    load = os.getloadavg()[0]
    yield measured("machine", "", "", "load before the run", load)
    if load > BUSY:
        print("The machine is busy: threads wait for each other, and times of small products are not reliable.")


PARTS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "data": measure_data,
    "fits": measure_fits,
    "runs": lambda plan: measure_runs(plan.medium, plan.many_runs, plan.short_rounds),
    "iteration": measure_iteration,
    "commands": lambda plan: measure_commands(plan.table, plan.medium, plan.short_rounds),
    "peers": measure_peers,
    "paper": measure_paper,
    "growth": lambda plan: measure_growth(plan.growth_base, plan.short_rounds),
    "dask": lambda plan: measure_dask(plan.dask_rows, plan.rounds),
}


def printed(rows: Iterable[Row]) -> list[Row]:
    """All rows, each printed as soon as it is measured."""
    kept = []
    for row in rows:
        print(page.line(row), flush=True)
        kept.append(row)
    return kept


def write(folder: Path, rows: list[Row]) -> None:
    """Replace the rows of the same parts by these, and write the page again."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "speed.csv"
    measured_now = {row.part for row in rows}
    old = [row for row in read_rows(file) if row.part not in measured_now] if file.exists() else []
    order = ["machine", *PARTS]
    rows = sorted([*old, *rows], key=lambda row: order.index(row.part))
    write_rows(file, rows)
    page.write(rows, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this part only; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small sizes, to check that all works; writes nothing")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the page of speed.csv again")
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="folder of speed.csv, .md and .png")
    arguments = parser.parse_args()
    if arguments.render:
        write(arguments.out, [])
        return
    warnings.simplefilter("ignore")  # peers that stop early, and fits that are stopped on purpose
    plan = QUICK if arguments.quick else Plan()
    machine = printed(measure_machine())
    for part in arguments.only or PARTS:
        began = time.perf_counter()
        rows = printed(PARTS[part](plan))
        print(f"{part}: {time.perf_counter() - began:.0f} s", flush=True)
        if not arguments.quick:
            write(arguments.out, [*machine, *rows])


if __name__ == "__main__":
    main()
