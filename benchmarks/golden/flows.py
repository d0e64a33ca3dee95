"""What is recorded on some sets: lives of models after the fit, choices of numbers, other arrays, files."""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from . import states
from .data import MANY_ROWS, OF_LIBRARIES, UNLINKED, Rows
from .fits import SEED
from .record import Record

LIVING = (
    "digits-shifted", "iris-two-tasks", "blobs-moved", "blobs-absent", "scales", "counts", "unit-rows", "missing",
    "t-tailed", "small-tasks", "penguins_island", "cellmix3", "kang_pbmc", "wisdm8", "heart_disease", "webkb",
)  # fmt: skip
COUNTED = ("iris-two-tasks", "blobs-absent", "penguins_island")
KINDS = {
    "SPMTC": ("SPMTC", {}),
    "SPMTC λ1 = 0.5": ("SPMTC", {"within_weight": 0.5}),
    "LSSMTC euclidean": ("LSSMTC", {"metric": "euclidean"}),
    "mixture": ("MultiTaskGaussianMixture", {}),
}


def made(kind: str, rows: Rows, **more: Any) -> Any:
    """An estimator for these rows."""
    name, parameters = KINDS[kind]
    return states.make(name, more.pop("n_clusters", rows.n_clusters), random_state=SEED, **parameters, **more)


def adapting(kind: str) -> Callable[[Rows, Record], None]:
    """Fits without the last task, which then joins."""

    def run(rows: Rows, record: Record) -> None:
        first, last = rows.of(rows.names[:-1]), rows.of(rows.names[-1:])
        c = len(np.unique(first.y))
        model = record.fit(None, lambda _: made(kind, first, n_clusters=c).fit(first.X, tasks=first.tasks))
        if model is None:
            return
        ways = {"adapt": {}, "update": {"update": True}, "new": {"novelty": "new"}, "none": {"novelty": "none"}}
        ways |= {"rate": {"novelty_rate": 0.1, "update": True}}
        for way, how in ways.items():
            adapted = record.fit(model, lambda m, how=how: m.adapt(last.X, tasks=last.tasks, **how), way)
            if adapted is not None:
                record.attributes(adapted, f"{way} ")
                record.predictions(adapted, last, f"{way} ")
        if not isinstance(rows.X, dict):
            again, tasks = rows.unknown()
            second = record.fit(model, lambda m: m.adapt(last.X, tasks=last.tasks).adapt(again, tasks=tasks), "twice")
            if second is not None:
                record.attributes(second, "twice ")

    return run


def streaming(kind: str, **parameters: Any) -> Callable[[Rows, Record], None]:
    """Three batches; the last brings the last task."""

    def run(rows: Rows, record: Record) -> None:
        order = np.random.default_rng(3).permutation(len(rows.y))
        late = rows.tasks[order] == rows.names[-1]
        order = np.concatenate([order[~late], order[late]])
        model = made(kind, rows, **parameters)
        ends = [int(0.5 * len(order)), int(0.7 * len(order))]
        for i, at in enumerate(np.split(order, ends)):
            batch = rows.take(at)
            model = record.fit(model, lambda m, b=batch: m.partial_fit(b.X, tasks=b.tasks), f"batch {i}")
            if model is None:
                return
            record.attributes(model, f"batch {i} ")
        record.predictions(model, rows, "after ")

    return run


def continuing(kind: str) -> Callable[[Rows, Record], None]:
    """A fit of some rows, and one of all rows that continues it, with more clusters."""

    def run(rows: Rows, record: Record) -> None:
        some = rows.take(np.random.default_rng(4).permutation(len(rows.y)) < 0.6 * len(rows.y))
        model = record.fit(None, lambda _: made(kind, rows).fit(some.X, tasks=some.tasks), "before")
        for more in (0, 1):
            later = made(kind, rows, n_clusters=rows.n_clusters + more)
            name = f"{more} more"
            found = record.fit(later, lambda m: m.fit(rows.X, tasks=rows.tasks, previous=model), name)
            if found is not None:
                record.attributes(found, f"{name} ")
                record.guard(f"{name} predict", lambda m=found: m.predict(rows.X, tasks=rows.tasks))

    return run


def number_chosen(rows: Rows, record: Record) -> None:
    """The number of clusters from the data: by fits of two kinds, and by the function."""
    from mtcluster.model_selection import select_n_clusters

    for name, kind, numbers in (("auto", "SPMTC", "auto"), ("pair", "mixture", (2, 5))):
        model = made(kind, rows, n_clusters=numbers)
        if record.fit(model, lambda m: m.fit(rows.X, tasks=rows.tasks), name) is not None:
            record.attributes(model, f"{name} ")
    numbers = range(2, 5)
    record.guard("select", lambda: select_n_clusters(rows.X, tasks=rows.tasks, n_clusters=numbers, random_state=1))


def sureness(rows: Rows, record: Record) -> None:
    """How stable clusters are, of two estimators and of labels from elsewhere."""
    from sklearn.cluster import KMeans

    from mtcluster import Pooled
    from mtcluster.model_selection import stability

    models = {"SPMTC": made("SPMTC", rows), "SPMTC λ1 = 0.5": made("SPMTC λ1 = 0.5", rows)}
    models["Pooled"] = Pooled(KMeans(rows.n_clusters, n_init=1, random_state=0))
    for name, model in models.items():
        record.fit(model, lambda m: m.fit(rows.X, tasks=rows.tasks), name)
        found = record.guard(name, lambda m=model: stability(m, rows.X, tasks=rows.tasks, n_refits=4, random_state=2))
        if found is not None and name != "Pooled":
            record.guard(f"{name} explain", lambda m=model, f=found: states.explained(m, stability=f))


def by_geometry(rows: Rows, record: Record) -> None:
    """Data sets without a common column, matched by the distances between centres; and such that cannot be."""
    for name, kind, X in (
        ("frames", "SPMTC", rows.X),
        ("LSSMTC", "LSSMTC euclidean", rows.X),
        ("arrays", "SPMTC", [part.to_numpy() for part in rows.X.values()]),
    ):
        model = made(kind, rows, match="geometry")
        if record.fit(model, lambda m, X=X: m.fit(X), name) is not None:
            record.attributes(model, f"{name} ")
            if name != "arrays":
                record.predictions(model, rows, f"{name} ")
    Z, rng = 10 * np.eye(4), np.random.default_rng(0)  # looks the same from all sides
    y = np.arange(120) % 4
    X = [Z[y] + rng.normal(size=(120, 4)), np.hstack([Z[y], Z[y][:, :1]]) + rng.normal(size=(120, 5))]
    model = states.make("SPMTC", 4, match="geometry", random_state=SEED)
    if record.fit(model, lambda m: m.fit(X), "symmetric") is not None:
        record.attributes(model, "symmetric ")


def files(rows: Rows, record: Record) -> None:
    """Models that are written and read again, and what else they become."""
    from mtcluster.interop import dump, load, to_kmeans

    kinds = {name: made(name, rows) for name in KINDS}
    kinds["ASI"] = states.make("ASI", rows.n_clusters, membership="nonnegative", random_state=SEED)
    for name, model in kinds.items():
        record.fit(model, lambda m: m.fit(rows.X, tasks=rows.tasks), name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.skops")
            again = record.fit(model, lambda m, path=path: (dump(m, path), load(path))[1], f"{name} file")
        if again is not None:
            record.attributes(again, f"{name} ")
            record.predictions(again, rows, f"{name} ")
            for task in (None, rows.names[0]):
                record.guard(f"{name} to_kmeans {task}", lambda m=again, k=task: _centers(to_kmeans(m, k), rows))
    _foreign_labels(rows, record)


def _centers(kmeans: Any, rows: Rows) -> dict[str, Any]:
    return {"centers": kmeans.cluster_centers_, "labels": kmeans.predict(rows.X)}


def _foreign_labels(rows: Rows, record: Record) -> None:
    """What is said of labels from elsewhere: the classes."""
    from mtcluster import metrics
    from mtcluster.inspection import LabelDescription, judge_labels, make_report

    described = LabelDescription()
    if record.fit(described, lambda m: m.fit(rows.X, rows.y, tasks=rows.tasks), "classes") is not None:
        record.attributes(described, "classes ")
        record.guard("classes report", lambda: states.without_untold(make_report(described, X=rows.X).summary))
    record.guard("judge_labels", lambda: judge_labels(rows.X, rows.y, tasks=rows.tasks))
    other = np.random.default_rng(6).permutation(rows.y)
    record.guard("task_scores", lambda: metrics.task_scores(rows.y, other, rows.tasks))
    record.guard("joint_accuracy", lambda: metrics.joint_accuracy(rows.y, other, rows.tasks))


def on_dask(rows: Rows, record: Record) -> None:
    """Chunks of Dask on its threads, of dense and of sparse rows."""
    import dask
    import dask.array as da

    with dask.config.set(scheduler="synchronous"):
        X = da.from_array(rows.X, chunks=(140, -1))
        for name in KINDS:
            model = made(name, rows)
            if record.fit(model, lambda m: m.fit(X, tasks=rows.tasks), name) is not None:
                record.attributes(model, f"{name} ")
                record.predictions(model, rows, f"{name} ", lambda A: da.from_array(A, chunks=(50, -1)))
        thin = X.map_blocks(lambda part: sparse.csr_matrix(np.where(part > 2, part, 0)))
        model = made("SPMTC λ1 = 0.5", rows, n_init=1, weighting="hard")
        if record.fit(model, lambda m: m.fit(thin, tasks=rows.tasks), "sparse") is not None:
            record.attributes(model, "sparse ")
        model = made("SPMTC", rows)
        if record.fit(model, lambda m: m.fit(X[:300], tasks=rows.tasks[:300]), "living") is not None:
            record.fit(model, lambda m: m.partial_fit(X[300:], tasks=rows.tasks[300:]), "batch")
            record.attributes(model, "batch ")


def on_other_arrays(rows: Rows, record: Record) -> None:
    """Arrays of a library that allows only what the array API promises."""
    import array_api_strict as xp
    import sklearn

    with sklearn.config_context(array_api_dispatch=True):
        for name in KINDS:
            model = made(name, rows)
            if record.fit(model, lambda m: m.fit(xp.asarray(rows.X), tasks=rows.tasks), name) is not None:
                record.attributes(model, f"{name} ")
                record.predictions(model, rows, f"{name} ", xp.asarray)


def on_a_cluster(rows: Rows, record: Record) -> None:
    """Chunks of Dask on a process of their own."""
    import dask.array as da
    from distributed import Client, LocalCluster

    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    with LocalCluster(dashboard_address=None, **options) as cluster, Client(cluster):
        X = da.from_array(rows.X, chunks=(140, -1))
        for name in ("SPMTC", "SPMTC λ1 = 0.5"):
            model = made(name, rows)
            if record.fit(model, lambda m: m.fit(X, tasks=rows.tasks), name) is not None:
                record.attributes(model, f"{name} ")


def kinds_of_input(rows: Rows, record: Record) -> None:
    """Frames with a column of tasks, lists, integers, AnnData, and what is printed on the way."""
    import anndata
    import polars

    names = [f"x{i}" for i in range(rows.X.shape[1])]
    frame = pd.DataFrame(rows.X, columns=names).assign(place=rows.tasks)
    inputs = {"pandas": (frame, "place"), "polars": (polars.DataFrame(frame), "place")}
    inputs["list"] = [part.to_numpy() for _, part in frame[names].groupby(rows.tasks)], None
    inputs["integers"] = np.round(10 * rows.X).astype(int), rows.tasks
    inputs["columns first"] = np.asfortranarray(rows.X), rows.tasks.tolist()
    for name, (X, tasks) in inputs.items():
        model = made("SPMTC", rows)
        if record.fit(model, lambda m, X=X, tasks=tasks: m.fit(X, tasks=tasks), name) is not None:
            record.attributes(model, f"{name} ")
            record.guard(f"{name} predict", lambda m=model, X=X, tasks=tasks: m.predict(X, tasks=tasks))
    X, tasks = rows.X, rows.tasks
    record.guard("fit_predict", lambda: made("LSSMTC euclidean", rows).fit_predict(X, tasks=tasks))
    record.guard("fit_transform", lambda: made("SPMTC", rows).fit_transform(X, tasks=tasks))
    record.guard("names of features", lambda: made("SPMTC", rows).fit(X, tasks=tasks).get_feature_names_out())
    said = io.StringIO()
    with redirect_stdout(said):
        made("SPMTC", rows, verbose=1).fit(X, tasks=tasks)
    record.put("printed", said.getvalue().splitlines())
    cells = anndata.AnnData(X, obs=pd.DataFrame({"batch": [f"b{k}" for k in tasks]}, index=frame.index.astype(str)))
    record.guard("anndata", lambda: _of_cells(cells, rows))


def _of_cells(cells: Any, rows: Rows) -> dict[str, Any]:
    """What a fit writes into an AnnData object."""
    from mtcluster.interop import fit_anndata

    fit_anndata(cells, "batch", n_clusters=rows.n_clusters, random_state=SEED)
    uns = {name: value for name, value in cells.uns["mtcluster"].items() if name != "params"}
    obs = {name: own.to_numpy(float if own.dtype.kind == "f" else str) for name, own in cells.obs.items()}
    return {"obs": obs, "obsm": dict(cells.obsm), "uns": uns}


def folds_and_sets(rows: Rows, record: Record) -> None:
    """Folds, scores of folds, and generated task sets."""
    import sklearn
    from sklearn.model_selection import cross_val_score

    from mtcluster import datasets
    from mtcluster.model_selection import LeaveOneTaskOut, TaskKFold

    for name, folds in (("k folds", TaskKFold(3, shuffle=True, random_state=0)), ("one task", LeaveOneTaskOut())):
        record.guard(name, lambda f=folds: [test for _, test in f.split(rows.X, tasks=rows.tasks)])
    with sklearn.config_context(enable_metadata_routing=True):
        model = made("SPMTC", rows).set_fit_request(tasks=True).set_score_request(tasks=True)
        asked = {"cv": TaskKFold(3), "params": {"tasks": rows.tasks}}
        record.guard("scores", lambda: cross_val_score(model, rows.X, **asked))
    differ = {"absent": 0.3, "offset": 1.0, "correlation": 0.4, "outliers": 0.1, "balance": 0.8, "random_state": 2}
    record.guard("blobs", lambda: list(datasets.make_multitask_blobs([30, 40], 5, n_tasks=2, **differ)))
    record.guard("digits", lambda: list(datasets.load_digits_tasks()))


def refused(rows: Rows, record: Record) -> None:
    """What is refused, and in which words."""
    X, tasks, c = rows.X, rows.tasks, rows.n_clusters
    holed = X.copy()
    holed[7, 1] = np.inf
    asked: dict[str, Callable[[], Any]] = {
        "infinity": lambda: made("SPMTC", rows).fit(holed, tasks=tasks),
        "too many clusters": lambda: states.make("SPMTC", len(X) + 1).fit(X, tasks=tasks),
        "short tasks": lambda: made("SPMTC", rows).fit(X, tasks=tasks[:-1]),
        "no clusters": lambda: states.make("LSSMTC", 0).fit(X, tasks=tasks),
        "weighting": lambda: made("SPMTC", rows, weighting="softer").fit(X, tasks=tasks),
        "metric and memberships": lambda: made("SPMTC", rows, metric="shared", membership="nonnegative").fit(X),
        "offset and projection": lambda: made("SPMTC", rows, task_offset="mean", coupling="projection").fit(X),
        "components": lambda: made("SPMTC", rows, n_components=c - 1, metric="shared").fit(X, tasks=tasks),
        "init shape": lambda: made("SPMTC", rows, init=np.ones((3, c))).fit(X, tasks=tasks),
        "weights": lambda: made("SPMTC", rows).fit(X, tasks=tasks, sample_weight=-np.ones(len(X))),
        "n_clusters_per_task": lambda: made("SPMTC", rows, n_clusters_per_task={"x": 1}).fit(X, tasks=tasks),
        "not fitted": lambda: made("SPMTC", rows).predict(X),
        "columns": lambda: made("SPMTC", rows).fit(X, tasks=tasks).predict(X[:, 1:], tasks=tasks),
        "adapt known": lambda: made("SPMTC", rows).fit(X, tasks=tasks).adapt(X, tasks=tasks),
        "novelty": lambda: made("SPMTC", rows).fit(X, tasks=tasks).predict(X, tasks=tasks, novelty="new"),
        "previous": lambda: made("SPMTC", rows).fit(X, tasks=tasks, previous=3),
        "one row": lambda: made("SPMTC", rows).fit(X[:1], tasks=tasks[:1]),
    }
    for name, ask in asked.items():
        record.guard(name, lambda ask=ask: type(ask()).__name__)


Flow = Callable[[Rows, Record], None]
FLOWS: dict[str, tuple[Flow, tuple[str, ...]]] = {
    **{f"adapt {kind}": (adapting(kind), (*LIVING, "columns", *(MANY_ROWS,) * (kind == "SPMTC"))) for kind in KINDS},
    **{f"stream {kind}": (streaming(kind), LIVING) for kind in KINDS if kind != "mixture"},
    "stream forgetting": (streaming("SPMTC", forgetting=0.5), (*LIVING, MANY_ROWS)),
    **{f"previous {kind}": (continuing(kind), LIVING) for kind in KINDS},
    "number of clusters": (number_chosen, COUNTED),
    "stability": (sureness, ("iris-two-tasks", "blobs-moved", "unit-rows")),
    "geometry": (by_geometry, (UNLINKED,)),
    "files": (files, ("iris-two-tasks", "blobs-absent")),
    "dask": (on_dask, (OF_LIBRARIES,)),
    "other arrays": (on_other_arrays, (OF_LIBRARIES,)),
    "dask cluster": (on_a_cluster, (OF_LIBRARIES,)),
    "inputs": (kinds_of_input, ("blobs-moved",)),
    "folds and sets": (folds_and_sets, ("iris-two-tasks",)),
    "refused": (refused, ("iris-two-tasks",)),
}


def record_flow(name: str, rows: Rows, record: Record) -> None:
    """Record a flow of a set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FLOWS[name][0](rows, record)
