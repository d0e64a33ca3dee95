"""What `mtcluster fit`, `predict`, `report` and `compare` do: files in, a folder or a table out."""

from __future__ import annotations

import hashlib
import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from . import ASI, LSSMTC, SPMTC, PerTask, Pooled, folder
from ._progress import watched
from .console import Console
from .core.model import Array, host
from .easiness import easiness, outlier_scores
from .engines import is_dask
from .io import Collection, InputError, Reading, need, read_files
from .labelled import Labelled
from .metrics import joint_accuracy, task_scores
from .preparation import Preparation
from .report import Report, make_report
from .selection import select_n_clusters
from .stability import Stability, restart_stability
from .tables import Table

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
COMPARED = ("spmtc", "lssmtc", "kmeans", "kmeans-per-task")
DECIDING, STAGE, READING, WRITING = 8, 1, 2, 3  # units of work, for the time left
MOST_SPECTRAL = 20_000  # rows that spectral clustering takes
CELL = 120  # characters of a cell that a report shows
CHUNKS = 4  # of the rows for each thread of a Dask cluster
ENOUGH = 5  # rows a cluster that a new data set needs before its own mean is taken for its place


def fit(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read, prepare, cluster, and write the folder of the run; returns what is to be told."""
    need("skops", "files", "writing a model")
    seconds: dict[str, float] = {}
    began, restarts = perf_counter(), arguments.restarts
    with (
        folder.new_folder(arguments.out, force=arguments.force) as out,
        console.working(READING + DECIDING * (1 + restarts + (arguments.clusters == "auto")) + WRITING),
    ):
        with _timed(seconds, "read"):
            rows, preparation, X = _read(arguments, console)
        tasks = np.asarray(rows.tasks, dtype=str)
        with _timed(seconds, "fit"), _notes() as notes:
            n_clusters, chosen = _number_of_clusters(arguments, X, tasks, console)
            model, described = _fit(arguments, n_clusters, X, tasks, console)
        with _timed(seconds, "restarts"):
            stability = _stability(model, X, tasks, restarts, arguments.seed, console)
        console.begin("writing")
        lines = [*preparation.lines(), *([chosen] if chosen else []), *_scored(rows, described, tasks), *notes]
        settings = _settings(arguments, rows, preparation, model, seconds, stability)
        title = arguments.title or f"{n_clusters} clusters in {len(set(tasks.tolist()))} data sets"
        findings = make_report(
            described,
            ids=rows.ids,
            feature_names=preparation.names,
            title=title,
            data={"files": settings["files"], "lines": lines},
            cells=_cells(rows),
            stability=None if stability is None else asdict(stability),
            settings=settings,
        )
        _write(out, rows, _reading(arguments), preparation, model, described, settings, findings)
        console.finish(WRITING)
    for note in notes:
        console.note(f"note: {note}")
    return _told(arguments, described, stability, lines, perf_counter() - began)


def predict(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Label the rows of other files with the model of a run."""
    _, kept = folder.load_run(arguments.model)
    model, reading = kept["model"], Reading(**kept["reading"])
    if not hasattr(model, "predict"):
        raise InputError(f"{arguments.model}: {_name(model)} cannot label new rows: fit with --method spmtc, say.")
    with folder.new_file(arguments.out, force=arguments.force) as out, console.working(READING + WRITING):
        console.begin("reading")
        rows = _read_again(arguments, reading, kept["preparation"])
        X = kept["preparation"].transform(rows)
        console.finish(READING)
        console.begin(f"labelling {len(rows)} rows")
        known = [str(task) for task in model.tasks_.tolist()]
        tasks = np.asarray(rows.tasks, dtype=str)
        X, notes = _placed(model, X, tasks, known)
        with _mendable():
            labels = model.predict(X, tasks=tasks)
            columns = {"id": rows.ids, "task": tasks, "cluster": labels}
            if hasattr(model, "predict_proba"):
                extra = {"outlier_score": _against_fit(model, -model.score_samples(X, tasks=tasks), tasks, known)}
                columns = folder.row_columns(rows.ids, tasks, labels, model.predict_proba(X, tasks=tasks), extra)
        folder.write_csv(out, columns)
    for note in notes:
        console.note(f"note: {note}")
    found, counts = np.unique(labels, return_counts=True)
    sizes = {str(j): int(n) for j, n in zip(found.tolist(), counts, strict=True)}
    return {"out": str(arguments.out), "n_rows": len(rows), "sizes": sizes, "notes": notes}


def report(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Write the page of a run anew."""
    _, kept = folder.load_run(arguments.model)
    path = arguments.out or arguments.model / folder.REPORT
    try:
        page = Report(json.loads(kept["findings"])).html
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{arguments.model / folder.MODEL} is damaged: fit again ({type(error).__name__}).") from error
    with folder.new_file(path) as out:
        out.write_text(page, encoding="utf-8")
    return {"out": str(path)}


def compare(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Several methods on the same rows, side by side; scored where classes are known."""
    unknown = [name for name in arguments.methods if name not in METHODS]
    if unknown or not arguments.methods:
        raise InputError(f"--methods {','.join(unknown) or '(nothing)'}: known are {', '.join(METHODS)}.")
    with console.working(READING + DECIDING * (1 + arguments.restarts) * len(arguments.methods)):
        rows, preparation, X = _read(arguments, console)
        tasks = np.asarray(rows.tasks, dtype=str)
        if arguments.label is not None and len(set(rows.classes if rows.classes is not None else [])) < 2:
            raise InputError(
                f"--label {arguments.label}: the column holds one value alone, so nothing can be scored by it."
            )
        with _notes() as notes:
            n_clusters, chosen = _number_of_clusters(arguments, X, tasks, console)
        lines, first = [], None
        for method in arguments.methods:
            line, labels = _compared(method, n_clusters, X, tasks, rows, arguments, console)
            first = labels if first is None else first
            lines.append(line | {"like_first": float(adjusted_rand_score(first, labels))})
    table = Table.from_rows(lines)
    if arguments.out is not None:
        with folder.new_file(arguments.out, force=arguments.force) as out:
            folder.write_csv(out, dict(table))
    return {
        "n_clusters": n_clusters,
        "n_rows": len(rows),
        "table": table.rows(),
        "notes": [*preparation.lines(), *filter(None, [chosen]), *notes],
    }


def _compared(
    method: str, n_clusters: int, X: Any, tasks: Array, rows: Collection, arguments: Namespace, console: Console
) -> tuple[dict[str, Any], Array]:
    began = perf_counter()
    with _notes():
        model, described = _fit(arguments, n_clusters, X, tasks, console, method=method)
        passed = perf_counter() - began
        stability = _stability(model, X, tasks, arguments.restarts, arguments.seed, console)
    line: dict[str, Any] = {"method": method}
    if rows.classes is not None and arguments.label is not None:
        scores = task_scores(rows.classes, described.labels_, tasks)
        line |= {
            "accuracy": float(np.mean(scores["accuracy"])),
            "nmi": float(np.mean(scores["nmi"])),
            "joint_accuracy": joint_accuracy(rows.classes, described.labels_, tasks),
        }
    R, m = described.task_relatedness_, len(described.tasks_)
    line |= {
        "correspondence": float((R.sum() - m) / (m * (m - 1))) if m > 1 else 1.0,
        "follows_task": float(normalized_mutual_info_score(tasks, described.labels_)),
    }
    if stability is not None:
        line["stability"] = stability.agreement
    return line | {"seconds": passed}, described.labels_


def _read(arguments: Namespace, console: Console) -> tuple[Collection, Preparation, Any]:
    """The rows of the files, what is done to their columns, and the numbers that come of it."""
    console.begin(f"reading {len(arguments.files)} file{'s' if len(arguments.files) > 1 else ''}")
    how = _reading(arguments)
    rows = read_files(arguments.files, how)
    preparation = Preparation(
        scale=arguments.scale,
        impute=arguments.impute,
        text=how.text,
        tfidf=arguments.tfidf,
        stop_words=None if arguments.stop_words == "none" else arguments.stop_words,
    )
    X = preparation.fit_transform(rows)
    console.finish(READING)
    return rows, preparation, X


def _reading(arguments: Namespace) -> Reading:
    return Reading(
        arguments.task, arguments.id, arguments.label, tuple(arguments.features or ()), tuple(arguments.text or ())
    )


def _read_again(arguments: Namespace, reading: Reading, preparation: Preparation) -> Collection:
    """Other files, read as those of the fit were; a file that lacks the column of tasks is a data set of its own."""
    task, name = arguments.task or reading.task, arguments.id or reading.id
    columns = tuple(preparation.columns) if preparation.is_table else reading.features
    how = Reading(task, name, None, columns, reading.text)
    try:
        return read_files(arguments.files, how, one_task=True)
    except InputError as error:
        lacks_task = arguments.task is None and task is not None and "(--task)" in str(error)
        lacks_id = arguments.id is None and name is not None and "(--id)" in str(error)
        if not lacks_task and not lacks_id:
            raise
    how = Reading(None if lacks_task else task, None if lacks_id else name, None, columns, reading.text)
    return read_files(arguments.files, how, one_task=True)


def _number_of_clusters(arguments: Namespace, X: Any, tasks: Array, console: Console) -> tuple[int, str]:
    if arguments.clusters != "auto":
        return arguments.clusters, ""
    console.begin("choosing the number of clusters")
    smallest = int(np.unique(tasks, return_counts=True)[1].min())
    if smallest < 4:
        raise InputError(f"--clusters auto needs at least 4 rows in each task, and one has {smallest}: say a number.")
    with _mendable():
        found = select_n_clusters(
            X, tasks=tasks, n_clusters=range(2, min(10, smallest // 2) + 1), random_state=arguments.seed
        )
    console.finish(DECIDING)
    if found.n_clusters is not None:
        return found.n_clusters, f"Number of clusters, chosen from the data: {found.reason}"
    best = found.table["n_clusters"][int(np.argmax(found.table["stability"]))]
    return best, f"Number of clusters: {found.reason} The most stable number, {best}, was taken all the same."


def _fit(
    arguments: Namespace, n_clusters: int, X: Any, tasks: Array, console: Console, method: str | None = None
) -> tuple[Any, Any]:
    """The fitted model, and a description of it as of tasks."""
    method = method or arguments.method
    model = METHODS[method](n_clusters, arguments.seed)
    if method.startswith("spectral") and X.shape[0] > MOST_SPECTRAL:
        raise InputError(
            f"--method {method} takes at most {MOST_SPECTRAL} rows, and there are {X.shape[0]}: take spmtc."
        )
    left = [DECIDING]

    def listen(step: str, **details: Any) -> None:
        if step == "decide":
            console.begin(f"{method}: deciding from the data how much tasks share")
        if step == "fit":
            console.finish(left.pop() - 1 if left else 0)
            left.append(1 / details["n_stages"])
        if step == "stage":
            easy = f"easiest {100 * details['fraction']:.0f} %"
            stage = {0: "warm-up", 1: "all rows"}.get(details["fraction"], easy)
            console.finish(left[-1])
            console.begin(f"{method}: {stage}, objective {details['objective']:.5g}")

    console.begin(f"{method}: {X.shape[0]} rows, {X.shape[1]} features, {n_clusters} clusters")
    with _mendable(), _placed_on(arguments, X, tasks) as (there, labels), watched(model, listen):
        model.fit(there, tasks=labels)
        for name, value in list(vars(model).items()):
            if is_dask(value):
                setattr(model, name, host(value))
    if left[-1] == DECIDING:
        console.finish(DECIDING)
    _forget_affinities(model)
    if hasattr(model, "map_") and len(model.tasks_) == len(set(tasks.tolist())):
        return model, model
    return model, Labelled(method).fit(X, model.labels_, tasks=tasks)


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


def _stability(model: Any, X: Any, tasks: Array, restarts: int, seed: int, console: Console) -> Stability | None:
    if not restarts:
        return None
    console.begin(f"fitting again from {restarts} other start{'s' * (restarts > 1)}, to see how sure one can be")
    found = restart_stability(model, X, tasks=tasks, n_restarts=restarts, random_state=seed + 1)
    console.finish(DECIDING * restarts)
    return found


def _scored(rows: Collection, described: Any, tasks: Array) -> list[str]:
    """How the clusters agree with known classes, where a column says them."""
    if rows.classes is None:
        return []
    scores = task_scores(rows.classes, described.labels_, tasks)
    joint = joint_accuracy(rows.classes, described.labels_, tasks)
    accuracy, nmi = (100 * float(np.mean(scores[name])) for name in ("accuracy", "nmi"))
    return [
        f"Known classes were not used. Compared with them, {accuracy:.1f} % of a data set's rows agree on average (NMI "
        f"{nmi:.1f} %), and {100 * joint:.1f} % with one matching of clusters and classes for all data sets."
    ]


def _settings(
    arguments: Namespace,
    rows: Collection,
    preparation: Preparation,
    model: Any,
    seconds: dict[str, float],
    stability: Stability | None,
) -> dict[str, Any]:
    """Everything that is needed to repeat the run."""
    options = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(arguments).items()
        if name not in ("command", "files", "quiet", "json", "force", "run")
    }
    return {
        "format": folder.FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": [_file(path, n) for path, n in zip(rows.files, rows.counts, strict=True)],
        "options": options,
        "columns": preparation.columns if len(preparation.columns) <= 1000 else f"{len(preparation.columns)} columns",
        "preparation": preparation.lines(),
        "estimator": _name(model),
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "stability": None if stability is None else asdict(stability),
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "versions": folder.versions(),
    }


def _file(path: Path, n: int) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(2**20):
            digest.update(piece)
    return {"name": str(path), "rows": n, "bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def _write(
    out: Path,
    rows: Collection,
    reading: Reading,
    preparation: Preparation,
    model: Any,
    described: Any,
    settings: Any,
    findings: Report,
) -> None:
    from .persistence import dump

    losses, at = host(described.losses_), host(described.task_indices_)
    extra = {"easiness": easiness(losses, at), "outlier_score": outlier_scores(losses, at)}
    tasks = np.asarray(rows.tasks)
    columns = folder.row_columns(rows.ids, tasks, described.labels_, host(described.memberships_), extra)
    folder.write_csv(out / folder.LABELS, columns)
    names = [str(task) for task in described.tasks_.tolist()]
    centers = folder.center_columns(described, names, preparation.names, preparation.original)
    folder.write_csv(out / folder.CENTERS, centers)
    folder.write_settings(out / folder.SETTINGS, settings)
    kept = {
        "format": folder.FORMAT,
        "version": settings["versions"]["mtcluster"],
        "model": model,
        "preparation": preparation,
        "reading": asdict(reading),
        "findings": json.dumps(findings.summary),
    }
    dump(kept, out / folder.MODEL)
    (out / folder.REPORT).write_text(findings.html, encoding="utf-8")


def _told(
    arguments: Namespace, described: Any, stability: Stability | None, lines: list[str], seconds: float
) -> dict[str, Any]:
    tasks = [str(task) for task in described.tasks_.tolist()]
    sizes = described.cluster_sizes_.round().astype(int).tolist()
    return {
        "out": str(arguments.out),
        "n_rows": len(described.labels_),
        "n_clusters": int(described.cluster_sizes_.shape[1]),
        "sizes": dict(zip(tasks, sizes, strict=True)),
        "left_alone": [task for task, weight in zip(tasks, host(described.within_weight_), strict=True) if weight == 1],
        "stability": None if stability is None else stability.agreement,
        "lines": lines,
        "seconds": round(seconds, 2),
    }


def _placed(model: Any, X: Any, tasks: Array, known: list[str]) -> tuple[Any, list[str]]:
    """Rows of data sets that were not there in fit, moved to where the shared centres lie if those of the fit were."""
    new = [task for task in dict.fromkeys(tasks.tolist()) if task not in known]
    if not new or isinstance(model, PerTask | Pooled):
        return X, []
    notes = [f"not there in the fit, so the shared centres decide: {', '.join(new[:8])}."]
    if getattr(model, "task_offset_", "none") == "none" or not isinstance(X, np.ndarray):
        return X, notes
    X, shared = X.copy(), model.shared_centers_ @ model.subspace_.T
    sizes = model.cluster_sizes_.sum(axis=0)
    middle = sizes @ shared / sizes.sum()
    for task in new:
        own = tasks == task
        if own.sum() >= ENOUGH * len(shared):
            X[own] += middle - X[own].mean(axis=0)
            notes.append(f"the mean of {task!r} was taken out, as it was of the data sets of the fit.")
        else:
            notes.append(f"{task!r} has too few rows to know where it lies; they are taken to lie as the others do.")
    return X, notes


def _against_fit(model: Any, losses: Array, tasks: Array, known: list[str]) -> Array:
    """Losses as multiples of the usual one in fit, of the row's own task where that is known."""
    fitted, at = host(model.losses_), host(model.task_indices_)
    usual = {task: float(np.median(fitted[at == k])) for k, task in enumerate(known)}
    other = float(np.median(fitted))
    scale = np.array([usual.get(task, other) for task in tasks.tolist()])
    return losses / np.where(scale > 0, scale, 1)


def _cells(rows: Collection) -> Callable[[list[int]], list[dict[str, str]]] | None:
    """The cells of some rows of a table, cut to what can be shown."""
    if not rows.is_table:
        return None

    def cells(numbers: list[int]) -> list[dict[str, str]]:
        shown = rows.values.iloc[numbers].astype(object)
        return [{name: _cut(value) for name, value in zip(rows.names, line, strict=True)} for line in shown.to_numpy()]

    return cells


def _cut(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def _name(model: Any) -> str:
    inner = getattr(model, "clusterer", None)
    return type(model).__name__ if inner is None else f"{type(model).__name__}({type(inner).__name__})"


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _spectral(c: int, seed: int) -> SpectralClustering:
    return SpectralClustering(c, affinity="nearest_neighbors", assign_labels="cluster_qr", random_state=seed)


def _forget_affinities(model: Any) -> None:
    """A fitted spectral clustering keeps a matrix of all pairs of neighbours, which nobody asks for."""
    for inner in getattr(model, "estimators_", [getattr(model, "estimator_", None)]):
        if hasattr(inner, "affinity_matrix_"):
            del inner.affinity_matrix_


@contextmanager
def _timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    began = perf_counter()
    yield
    seconds[what] = perf_counter() - began


@contextmanager
def _notes() -> Iterator[list[str]]:
    """Warnings of the fit, to be told in a line each."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for one in caught:
        if issubclass(one.category, UserWarning) and str(one.message) not in notes:
            notes.append(str(one.message))


@contextmanager
def _mendable() -> Iterator[None]:
    """What the library refuses, the user can mend."""
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(" ".join(str(error).split())) from error
