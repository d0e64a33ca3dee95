"""`mtcluster fit`: files in, a folder with labels, centres, model, settings and a report out."""

from __future__ import annotations

import hashlib
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .._utils.tables import Table
from ..core.arrays import host
from ..inspection._outliers import easiness, outlier_scores
from ..inspection._report import Report, make_report
from ..model_selection._stability import Stability
from ..preprocessing._table import TablePreprocessor
from . import folder, options
from .console import Console
from .modelling import (
    DECIDING,
    METHODS,
    READING,
    fit_model,
    noted,
    number_of_clusters,
    read,
    reading_of,
    scores_of,
    stability_of,
)
from .readers import Collection, Reading, need

HELP = "cluster the data sets in some files, and write a folder with a report"
WRITING = 3  # units of work, for the time left
CELL = 120  # characters of a cell that a report shows


def add_arguments(parser: ArgumentParser) -> None:
    """What can be asked for."""
    from_files = parser.add_argument_group("what to read")
    options.add_reading(from_files)
    how = parser.add_argument_group("what to do")
    options.add_preparation(how)
    how.add_argument(
        "--method", choices=METHODS, default="spmtc", metavar="NAME", help=f"{', '.join(METHODS)} (default spmtc)"
    )
    options.add_clusters(how)
    how.add_argument(
        "--scheduler", metavar="ADDRESS", help="fit on the workers of this Dask scheduler, tcp://host:port"
    )
    out = parser.add_argument_group("what to write")
    out.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help=f"folder to make, with {', '.join(folder.FILES)}"
    )
    out.add_argument("--title", help="title of the report")
    options.add_saying(out)


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read, prepare, cluster, and write the folder of the run; returns what is to be told."""
    need("skops", "files", "writing a model")
    seconds: dict[str, float] = {}
    began, restarts = perf_counter(), arguments.restarts
    with (
        folder.new_folder(arguments.out, force=arguments.force) as out,
        console.working(READING + DECIDING * (1 + restarts + (arguments.clusters == "auto")) + WRITING),
    ):
        with _timed(seconds, "read"):
            rows, preparation, X = read(arguments, console)
            files = [_file(path, n) for path, n in zip(rows.files, rows.counts, strict=True)]
        tasks = np.asarray(rows.tasks, dtype=str)
        with _timed(seconds, "fit"), noted() as notes:
            n_clusters, chosen = number_of_clusters(arguments, X, tasks, console)
            model, described = fit_model(arguments, n_clusters, X, tasks, console)
        with _timed(seconds, "restarts"):
            stability = stability_of(model, X, tasks, restarts, arguments.seed, console)
        console.begin("writing")
        scored = _scored(scores_of(rows, described.labels_, tasks))
        alone = ["All rows are of one task, so there is nothing to share."] if len(described.tasks_) == 1 else []
        lines = [*rows.notes, *alone, *preparation.lines(), *filter(None, [chosen]), *scored, *notes]
        settings = _settings(arguments, files, preparation, model, seconds, stability)
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
        _write(out, rows, reading_of(arguments), preparation, model, described, settings, findings)
        console.finish(WRITING)
    return _told(arguments, described, stability, lines, perf_counter() - began)


def lines(told: dict[str, Any]) -> list[str]:
    """The result in words."""
    sizes = [{"task": task} | {f"cluster {j}": n for j, n in enumerate(own)} for task, own in told["sizes"].items()]
    said = [
        f"{told['n_rows']} rows in {len(sizes)} task{'s' * (len(sizes) != 1)}, {told['n_clusters']} clusters, "
        f"{told['seconds']:.1f} s.",
        *told["lines"],
        "",
        str(Table.from_rows(sizes)),
        "",
    ]
    if told["left_alone"]:
        alone = ", ".join(told["left_alone"])
        said.append(f"Clustered by themselves, for they have too little in common with the others: {alone}.")
    if told["stability"] is not None:
        said.append(
            f"Fitted again from other starts, {100 * told['stability']:.0f} % of the rows stay in their cluster."
        )
    return [*said, f"Written to {told['out']}: {', '.join(folder.FILES)}. Open report.html in a browser."]


def _scored(scores: dict[str, float]) -> list[str]:
    """How the clusters agree with known classes, in words."""
    if not scores:
        return []
    accuracy, nmi, joint = (100 * scores[name] for name in ("accuracy", "nmi", "joint_accuracy"))
    return [
        f"Known classes were not used. Compared with them, {accuracy:.1f} % of a data set's rows agree on average (NMI "
        f"{nmi:.1f} %), and {joint:.1f} % with one matching of clusters and classes for all data sets."
    ]


def _settings(
    arguments: Namespace,
    files: list[dict[str, Any]],
    preparation: TablePreprocessor,
    model: Any,
    seconds: dict[str, float],
    stability: Stability | None,
) -> dict[str, Any]:
    """Everything that is needed to repeat the run."""
    asked = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(arguments).items()
        if name not in ("command", "files", "quiet", "json", "force", "run")
    }
    return {
        "format": folder.FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": files,
        "options": asked,
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
    preparation: TablePreprocessor,
    model: Any,
    described: Any,
    settings: Any,
    findings: Report,
) -> None:
    from ..interop._persistence import dump

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


def _cells(rows: Collection) -> Callable[[list[int]], list[dict[str, str]]] | None:
    """The cells of some rows of a table, cut to what can be shown."""
    if not rows.is_table:
        return None

    def cells(numbers: list[int]) -> list[dict[str, str]]:
        shown = rows.values.iloc[numbers].astype(object)
        return [{name: _cut(value) for name, value in zip(rows.names, line, strict=True)} for line in shown.to_numpy()]

    return cells


def _cut(value: Any) -> str:
    if value is None or value != value:  # NaN
        return "(missing)"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def _name(model: Any) -> str:
    inner = getattr(model, "clusterer", None)
    return type(model).__name__ if inner is None else f"{type(model).__name__}({type(inner).__name__})"


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


@contextmanager
def _timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    began = perf_counter()
    yield
    seconds[what] = perf_counter() - began
