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
from pathlib import Path

import numpy as np
from benchmarks import data, page, timing
from benchmarks.data import LARGE, Shape
from benchmarks.fits import NAIVE_ITERATIONS, floor, saved
from benchmarks.rows import Row, measured, read_rows, write_rows
from benchmarks.scaling import PACES, measure_dask, measure_growth, seconds_an_iteration
from scipy import sparse
from threadpoolctl import ThreadpoolController

FEWER_ROWS = 5_000  # for SpectralClustering, whose neighbour graph takes minutes at the large shapes
FIXED = "SPMTC, within_weight=0.5"
BUSY = 0.5  # load before the run
NAIVE = "the paper as written"


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    shapes: tuple[Shape, ...] = data.SHAPES
    paper: Shape = data.PAPER
    kmeans_starts: int = 10
    growth_base: int = 2_000
    dask_rows: tuple[int, ...] = (1_000_000, 2_000_000, 4_000_000)
    rounds: int = 3
    short_rounds: int = 5  # for calls of a second or less


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
    rounds=1,
    short_rounds=2,
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
    """An inner iteration compared with the two products that it needs."""
    few, many = PACES["LSSMTC, binary"]
    for shape in plan.shapes:
        X, tasks = data.make_rows(shape)
        floors = _floors(floor(X, tasks, shape.n_clusters), many - few)
        seconds = seconds_an_iteration(X, tasks, shape.n_clusters, plan.short_rounds, tuple(PACES), floors)
        seconds = {"floor": min(seconds.pop(name) for name in floors) / (many - few), **seconds}
        with saved(X, tasks) as folder:
            peaks = timing.best_in_children(folder, list(seconds), shape.n_clusters, rounds=1)
        limit = "<= 1.5" if shape.n >= LARGE else "<= 3"
        for name, value in seconds.items():
            yield measured("iteration", shape, name, "an iteration", 1e3 * value, "ms")
            own = "" if name == "floor" else limit
            yield measured("iteration", shape, name, "over the floor", value / seconds["floor"], "×", own)
            yield measured("iteration", shape, name, "peak beyond X", peaks[name]["peak"], "MB")


def _floors(products: Callable[[], None], times: int) -> dict[str, Callable[[], None]]:
    """The two products, repeated as often as there are iterations, with the default threads of BLAS and with one.

    The faster one counts: if another process keeps a core busy, threads that wait for each other make small products
    many times slower.
    """
    controller = ThreadpoolController()

    def repeated() -> None:
        for _ in range(times):
            products()

    def repeated_on_one() -> None:
        with controller.limit(limits=1):
            repeated()

    return {"floor": repeated, "floor, one thread": repeated_on_one}


def measure_fits(plan: Plan) -> Iterator[Row]:
    """A default fit compared with other methods."""
    for shape in plan.shapes:
        peers = ["KMeans(n_init=10)", "NMF"]
        if shape.n > FEWER_ROWS:
            yield from _fits(shape.at_most(FEWER_ROWS), ["SPMTC"], ["SpectralClustering"], plan.rounds)
        else:
            peers.append("SpectralClustering")
        yield from _fits(shape, ["SPMTC", FIXED], peers, plan.rounds)


def _fits(shape: Shape, ours: list[str], peers: list[str], rounds: int) -> Iterator[Row]:
    with saved(*data.make_rows(shape)) as folder:
        found = timing.best_in_children(folder, [*ours, *peers], shape.n_clusters, rounds)
    numbers = 10 * shape.n_clusters * (shape.n + shape.n_tasks * shape.d)
    most = f"<= {8 * numbers / timing.MB + 50:.0f}"
    for method, measures in found.items():
        yield measured("fits", shape, method, "time", measures["seconds"], "s")
        yield measured("fits", shape, method, "peak beyond X", measures["peak"], "MB", most if method in ours else "")
    for method in peers:
        time_ratio, peak_ratio = (found["SPMTC"][key] / found[method][key] for key in ("seconds", "peak"))
        limit = "<= 2" if method.startswith("KMeans") and shape.n >= LARGE else ""
        yield measured("fits", shape, method, "time of SPMTC over it", time_ratio, "×", limit)
        yield measured("fits", shape, method, "peak of SPMTC over it", peak_ratio, "×")


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
    "iteration": measure_iteration,
    "fits": measure_fits,
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
