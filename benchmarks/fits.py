"""The methods that are timed, by name; as a program, one of them in its own process, to measure its peak memory.

`python -m benchmarks.fits FOLDER METHOD N_CLUSTERS` prints seconds, peak memory in addition to what was used before
(the rows, the libraries, the arguments of the method) and iterations, as JSON. `python -m benchmarks.fits FOLDER
METHOD|METHOD N_CLUSTERS ROUNDS` prints the shortest time of each of several methods, taken in turns.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.data import random_memberships
from benchmarks.timing import SEPARATOR, best_times, memory, seconds_of
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF
from threadpoolctl import ThreadpoolController

from benchmarks import naive
from mtcluster import LSSMTC, SPMTC, Schedule

Array = NDArray[Any]
Call = Callable[[], Any]  # is timed; its result may have n_iter_
Method = Callable[[Any, Array, int], Call]  # X, tasks, number of clusters → the call that is timed
WITHIN_WEIGHT = 0.5
NAIVE_ITERATIONS = 3


@contextmanager
def saved(X: Any, tasks: Array) -> Iterator[Path]:
    """A folder with the rows for other processes, one .npy file per array, so that reading makes no second copy."""
    with tempfile.TemporaryDirectory() as name:
        save_rows(Path(name), X, tasks)
        yield Path(name)


def save_rows(folder: Path, X: Any, tasks: Array) -> None:
    np.save(folder / "tasks.npy", tasks)
    if not sparse.issparse(X):
        np.save(folder / "X.npy", X)
        return
    np.save(folder / "shape.npy", X.shape)
    for part in ("data", "indices", "indptr"):
        np.save(folder / f"{part}.npy", getattr(X, part))


def load_rows(folder: Path) -> tuple[Any, Array]:
    """The rows that `saved` has written."""
    tasks = np.load(folder / "tasks.npy")
    if (folder / "X.npy").exists():
        return np.load(folder / "X.npy"), tasks
    parts = tuple(np.load(folder / f"{part}.npy") for part in ("data", "indices", "indptr"))
    return sparse.csr_matrix(parts, shape=tuple(np.load(folder / "shape.npy"))), tasks


def floor(X: Any, tasks: Array, n_clusters: int) -> Call:
    """The two products of an inner iteration, as library calls, on rows grouped by task."""
    rng = np.random.default_rng(0)
    Xs = [X[tasks == task] for task in np.unique(tasks)]
    C = rng.normal(size=(X.shape[1], n_clusters)).astype(X.dtype)
    Rs = [rng.uniform(size=(rows.shape[0], n_clusters)).astype(X.dtype) for rows in Xs]

    def products() -> None:
        for rows, R in zip(Xs, Rs, strict=True):
            rows @ C
            rows.T @ R

    return products


def floor_of_runs(X: Any, columns: int) -> Call:
    """The two products of an inner iteration of several runs, with the columns of all of them."""
    rng = np.random.default_rng(0)
    C = rng.normal(size=(columns, X.shape[1])).astype(X.dtype)
    H = rng.uniform(size=(columns, X.shape[0])).astype(X.dtype)

    def products() -> None:
        X @ C.T
        H @ X

    return products


def both_floors(products: Call, times: int) -> dict[str, Call]:
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


def from_start(X: Any, tasks: Array, n_clusters: int, max_iter: int, kind: str) -> Call:
    """A plain model from given memberships with `max_iter` iterations per stage; `kind` is in KINDS."""
    model, settings = KINDS[kind]
    init = random_memberships(X.shape[0], n_clusters, X.dtype)
    if settings["membership"] == "nonnegative":
        init += 0.2
    settings = {"within_weight": WITHIN_WEIGHT, "task_offset": "none", "tol": 0, "max_iter": max_iter, **settings}
    return lambda: model(n_clusters, init=init, random_state=0, **settings).fit(X, tasks=tasks)


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "LSSMTC, binary": (LSSMTC, {"membership": "binary"}),
    "LSSMTC, non-negative": (LSSMTC, {"membership": "nonnegative"}),
    "SPMTC, binary": (SPMTC, {"membership": "binary", "pace": Schedule(warmup_iter=0)}),
}


def ours(**settings: Any) -> Method:
    return lambda X, tasks, c: lambda: SPMTC(c, random_state=0, **settings).fit(X, tasks=tasks)


def peer(model: Callable[[int], Any]) -> Method:
    return lambda X, tasks, c: lambda: model(c).fit(X)


def non_negative_factors(X: Any, tasks: Array, n_clusters: int) -> Call:
    """NMF; rows with negative entries are shifted first."""
    shifted = X if sparse.issparse(X) or X.min() >= 0 else X - X.min()
    return lambda: NMF(n_clusters, random_state=0).fit(shifted)


def as_written(X: Any, tasks: Array, n_clusters: int) -> Call:
    """Inner iterations of the naive transcription."""
    Xs = naive.columns_by_task(X, tasks)
    weights = [np.ones(columns.shape[1]) for columns in Xs]
    model = naive.first_model(Xs, n_clusters, n_clusters)
    return lambda: naive.iterate(Xs, weights, model, WITHIN_WEIGHT, NAIVE_ITERATIONS)


METHODS: dict[str, Method] = {
    "SPMTC": ours(),
    "SPMTC, within_weight=0.5": ours(within_weight=WITHIN_WEIGHT),
    "SPMTC, projection": ours(within_weight=WITHIN_WEIGHT, coupling="projection"),
    "SPMTC, the paper's settings": ours(
        within_weight=WITHIN_WEIGHT,
        coupling="projection",
        membership="nonnegative",
        pace=Schedule(soft_rule="paper"),
        init="random",
    ),
    "KMeans(n_init=10)": peer(lambda c: KMeans(c, n_init=10, random_state=0)),
    "SpectralClustering": peer(lambda c: SpectralClustering(c, affinity="nearest_neighbors", random_state=0)),
    "NMF": non_negative_factors,
    "the paper as written": as_written,
    "floor": floor,
    **{kind: partial(from_start, max_iter=4, kind=kind) for kind in KINDS},
}


def measure(prepare: Method, X: Any, tasks: Array, n_clusters: int) -> dict[str, float]:
    """Time and iterations of a method, and its peak memory in addition to what was allocated before."""
    call = prepare(X, tasks, n_clusters)
    fitted: list[Any] = []
    before, _ = memory()
    seconds = seconds_of(lambda: fitted.append(call()))
    peak = memory()[1] - before
    return {"seconds": seconds, "peak": peak, "iterations": int(getattr(fitted[0], "n_iter_", 0))}


def main(folder: str, names: str, n_clusters: str, rounds: str = "") -> None:
    warnings.simplefilter("ignore")  # peers that stop early, a projection that does not couple the tasks
    few = np.random.default_rng(0).uniform(size=(200, 12))
    methods = names.split(SEPARATOR)
    for method in methods:
        METHODS[method](few, np.arange(200) % 2, 2)()  # loads libraries and starts threads
    X, tasks = load_rows(Path(folder))
    if rounds:
        calls = {method: METHODS[method](X, tasks, int(n_clusters)) for method in methods}
        print(json.dumps(best_times(calls, int(rounds))))
    else:
        print(json.dumps(measure(METHODS[names], X, tasks, int(n_clusters))))


if __name__ == "__main__":
    main(*sys.argv[1:])
