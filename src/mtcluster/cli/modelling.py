"""What `fit` and `compare` share: files → rows → a fitted model, and what is said of it."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering

from .. import ASI, LSSMTC, SPMTC, PerTask, Pooled
from ..core.arrays import Array, host
from ..engines import is_dask
from ..estimators._progress import watched
from ..inspection._labels import LabelDescription
from ..metrics import joint_accuracy, task_scores
from ..model_selection._n_clusters import select_n_clusters
from ..model_selection._stability import Stability, restart_stability
from ..preprocessing._table import TablePreprocessor
from .console import Console
from .readers import Collection, InputError, Reading, need, read_files

METHODS: dict[str, Callable[[int, int], Any]] = {
    "spmtc": lambda c, seed: SPMTC(c, random_state=seed),
    "lssmtc": lambda c, seed: LSSMTC(c, random_state=seed),
    "asi": lambda c, seed: ASI(c, random_state=seed),
    "asi-per-task": lambda c, seed: PerTask(ASI(c, random_state=seed)),
    "kmeans": lambda c, seed: Pooled(KMeans(c, n_init=10, random_state=seed)),
    "kmeans-per-task": lambda c, seed: PerTask(KMeans(c, n_init=10, random_state=seed)),
    "spectral": lambda c, seed: Pooled(_spectral(c, seed)),
    "spectral-per-task": lambda c, seed: PerTask(_spectral(c, seed)),
}
DECIDING, READING = 8, 2  # units of work, for the time left
MOST_SPECTRAL = 20_000  # rows that spectral clustering takes
CHUNKS = 4  # of the rows for each thread of a Dask cluster


def read(arguments: Namespace, console: Console) -> tuple[Collection, TablePreprocessor, Any]:
    """The rows of the files, what is done to their columns, and the numbers that come of it."""
    console.begin(f"reading {len(arguments.files)} file{'s' if len(arguments.files) > 1 else ''}")
    how = reading_of(arguments)
    rows = read_files(arguments.files, how)
    preparation = TablePreprocessor(
        scale=arguments.scale,
        impute=arguments.impute,
        text=how.text,
        tfidf=arguments.tfidf,
        stop_words=None if arguments.stop_words == "none" else arguments.stop_words,
    )
    X = preparation.fit_transform(rows)
    console.finish(READING)
    return rows, preparation, X


def reading_of(arguments: Namespace) -> Reading:
    """How the files are to be read."""
    lists = {name: tuple(getattr(arguments, name) or ()) for name in ("features", "text", "drop")}
    return Reading(arguments.task, arguments.id, arguments.label, **lists)


def number_of_clusters(arguments: Namespace, X: Any, tasks: Array, console: Console) -> tuple[int, str]:
    """The number that was asked for, or found, and in words how."""
    if arguments.clusters != "auto":
        return arguments.clusters, ""
    console.begin("choosing the number of clusters")
    smallest = int(np.unique(tasks, return_counts=True)[1].min())
    if smallest < 4:
        raise InputError(f"--clusters auto needs at least 4 rows in each task, and one has {smallest}: say a number.")
    with mendable():
        found = select_n_clusters(
            X, tasks=tasks, n_clusters=range(2, min(10, smallest // 2) + 1), random_state=arguments.seed
        )
    console.finish(DECIDING)
    if found.n_clusters is not None:
        return found.n_clusters, f"Number of clusters, chosen from the data: {found.reason}"
    best = found.table["n_clusters"][int(np.argmax(found.table["stability"]))]
    return best, f"Number of clusters: {found.reason} The most stable number, {best}, was taken all the same."


def fit_model(
    arguments: Namespace, n_clusters: int, X: Any, tasks: Array, console: Console, method: str | None = None
) -> tuple[Any, Any]:
    """The fitted model, and a description of it as of tasks."""
    method = method or arguments.method
    model = METHODS[method](n_clusters, arguments.seed)
    if method.startswith("spectral") and X.shape[0] > MOST_SPECTRAL:
        raise InputError(
            f"--method {method} takes at most {MOST_SPECTRAL} rows, and there are {X.shape[0]}: take spmtc."
        )
    begun, stages = console.done, [1]

    def listen(step: str, **details: Any) -> None:
        if step == "decide":
            console.begin(f"{method}: deciding from the data how much tasks share")
        if step == "fit":
            console.finish(DECIDING - 1)
            stages.append(details["n_stages"])
        if step == "stage":
            easy = f"easiest {100 * details['fraction']:.0f} %"
            stage = {0: "warm-up", 1: "all rows"}.get(details["fraction"], easy)
            console.finish(1 / stages[-1])
            console.begin(f"{method}: {stage}, objective {details['objective']:.5g}")

    console.begin(f"{method}: {X.shape[0]} rows, {X.shape[1]} features, {n_clusters} clusters")
    with mendable(), _placed_on(arguments, X, tasks) as (there, labels), watched(model, listen):
        model.fit(there, tasks=labels)
        for name, value in list(vars(model).items()):
            if is_dask(value):
                setattr(model, name, host(value))
    console.finish(begun + DECIDING - console.done)
    _forget_affinities(model)
    if hasattr(model, "map_") and len(model.tasks_) == len(set(tasks.tolist())):
        return model, model
    return model, LabelDescription(method).fit(X, model.labels_, tasks=tasks)


@contextmanager
def _placed_on(arguments: Namespace, X: Any, tasks: Array) -> Iterator[tuple[Any, Any]]:
    """The rows here, or on the workers of a Dask cluster."""
    address = getattr(arguments, "scheduler", None)
    if address is None:
        yield X, tasks
        return
    need("distributed", "dask", "--scheduler")
    import dask.array as da
    from distributed import Client

    if arguments.method not in ("spmtc", "lssmtc", "asi"):
        raise InputError(f"--scheduler works with the methods spmtc, lssmtc and asi, not with {arguments.method}.")
    try:
        client = Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no Dask scheduler answers there.") from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError(f"--scheduler {address}: the cluster has no workers.")
        rows = -(-X.shape[0] // (CHUNKS * threads))
        yield da.from_array(X, chunks=(rows, -1), asarray=False).persist(), tasks


def stability_of(model: Any, X: Any, tasks: Array, restarts: int, seed: int, console: Console) -> Stability | None:
    """How sure one can be, where that was asked for."""
    if not restarts:
        return None
    console.begin(f"fitting again from {restarts} other start{'s' * (restarts > 1)}, to see how sure one can be")
    with noted(), mendable():
        found = restart_stability(model, X, tasks=tasks, n_restarts=restarts, random_state=seed + 1)
    console.finish(DECIDING * restarts)
    return found


def _spectral(c: int, seed: int) -> SpectralClustering:
    return SpectralClustering(c, affinity="nearest_neighbors", assign_labels="cluster_qr", random_state=seed)


def _forget_affinities(model: Any) -> None:
    """A fitted spectral clustering keeps a matrix of all pairs of neighbours, which nobody asks for."""
    for inner in getattr(model, "estimators_", [getattr(model, "estimator_", None)]):
        if hasattr(inner, "affinity_matrix_"):
            del inner.affinity_matrix_


def scores_of(rows: Collection, labels: Array, tasks: Array) -> dict[str, float]:
    """How clusters agree with the classes of the rows that have one; nothing, where that says nothing."""
    if rows.classes is None:
        return {}
    known = np.array([value is not None for value in rows.classes])
    classes = rows.classes[known].astype(str)
    if len(np.unique(classes)) < 2:
        return {}
    scores = task_scores(classes, labels[known], tasks[known])
    return {
        "accuracy": float(np.mean(scores["accuracy"])),
        "nmi": float(np.mean(scores["nmi"])),
        "joint_accuracy": joint_accuracy(classes, labels[known], tasks[known]),
    }


@contextmanager
def noted() -> Iterator[list[str]]:
    """Warnings of the fit, to be told in a line each."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for one in caught:
        if issubclass(one.category, UserWarning) and str(one.message) not in notes:
            notes.append(str(one.message))


@contextmanager
def mendable() -> Iterator[None]:
    """What the library refuses, the user can mend."""
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(" ".join(str(error).split())) from error
    except RuntimeError as error:
        if "the Dask cluster is gone" not in str(error):
            raise
        raise InputError(str(error)) from error
