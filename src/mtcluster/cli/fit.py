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

from .._utils.tables import Table
from .._utils.text import count, versions
from ..core.arrays import host
from ..inspection._outliers import easiness, outlier_scores
from ..inspection._report import Report, make_report
from . import folder, options
from .console import Console
from .errors import need
from .methods import METHODS
from .modelling import (
    FITTING,
    READING,
    WRITING,
    Prepared,
    fit_model,
    noted,
    number_of_clusters,
    prepare,
    scores_of,
    stability_of,
)
from .readers import Dataset

HELP = "cluster the data sets in files, and write a folder with labels, a model and a report"
CELL = 120  # characters of a cell shown in the report
MAX_COLUMNS = 1000  # whose names are listed in settings.json


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this command."""
    reading = parser.add_argument_group("what to read")
    options.add_reading(reading)
    fitting = parser.add_argument_group("what to do")
    options.add_preprocessing(fitting)
    fitting.add_argument(
        "--method", choices=METHODS, default="spmtc", metavar="NAME", help=f"{', '.join(METHODS)} (default spmtc)"
    )
    options.add_clusters(fitting)
    fitting.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler to fit on, as in tcp://host:port")
    writing = parser.add_argument_group("what to write")
    writing.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help=f"folder to write, with {', '.join(folder.FILES)}"
    )
    writing.add_argument("--title", help="title of the report")
    options.add_output(writing)


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read, preprocess, cluster, and write the folder of the run; returns what is printed."""
    need("skops", "files", "writing a model")
    seconds: dict[str, float] = {}
    began, n_fits = perf_counter(), 1 + arguments.restarts + (arguments.clusters == "auto")
    with (
        folder.new_folder(arguments.out, force=arguments.force) as out,
        console.working(READING + FITTING * n_fits + WRITING),
    ):
        with _timed(seconds, "read"):
            rows = prepare(arguments, console)
            files = [_file(path, n) for path, n in zip(rows.data.files, rows.data.counts, strict=True)]
        with _timed(seconds, "fit"), noted() as notes:
            n_clusters, chosen = number_of_clusters(arguments, rows, console)
            model, described = fit_model(arguments, arguments.method, n_clusters, rows, console)
        with _timed(seconds, "restarts"):
            found = stability_of(model, rows, arguments, console)
            stability = None if found is None else asdict(found)
        console.begin("writing")
        lines = [
            *_lines_on_data(rows, described),
            *chosen,
            *_lines_on_scores(scores_of(rows, described.labels_)),
            *notes,
        ]
        settings = _settings(arguments, rows, model) | {
            "files": files,
            "stability": stability,
            "seconds": {name: round(value, 2) for name, value in seconds.items()},
        }
        report = make_report(
            described,
            ids=rows.data.ids,
            feature_names=rows.features,
            title=arguments.title or f"{n_clusters} clusters in {count(len(described.tasks_), 'data set')}",
            data={"files": files, "lines": lines},
            cells=_cells(rows.data),
            stability=stability,
            settings=settings,
        )
        _write_tables(out, rows, described)
        _write_model(out, rows, model, report)
        folder.write_settings(out / folder.SETTINGS, settings)
        console.finish(WRITING)
    tasks = [str(task) for task in described.tasks_.tolist()]
    sizes = described.cluster_sizes_.round().astype(int).tolist()
    return {
        "out": str(arguments.out),
        "n_rows": len(described.labels_),
        "n_clusters": len(sizes[0]),
        "sizes": dict(zip(tasks, sizes, strict=True)),
        "left_alone": [task for task, weight in zip(tasks, host(described.within_weight_), strict=True) if weight == 1],
        "stability": None if found is None else found.agreement,
        "lines": lines,
        "seconds": round(perf_counter() - began, 2),
    }


def lines(result: dict[str, Any]) -> list[str]:
    """The result as printed."""
    sizes = [{"task": task} | {f"cluster {j}": n for j, n in enumerate(own)} for task, own in result["sizes"].items()]
    said = [
        f"{result['n_rows']} rows in {count(len(sizes), 'task')}, {result['n_clusters']} clusters, "
        f"{result['seconds']:.1f} s.",
        *result["lines"],
        "",
        str(Table.from_rows(sizes)),
        "",
    ]
    if result["left_alone"]:
        alone = ", ".join(result["left_alone"])
        said.append(f"Clustered separately, as they have too little in common with the other tasks: {alone}.")
    if result["stability"] is not None:
        said.append(
            f"{100 * result['stability']:.0f} % of the rows stay in their cluster when fitted from other starts."
        )
    return [*said, f"Written to {result['out']}: {', '.join(folder.FILES)}. Open report.html in a browser."]


def _lines_on_data(rows: Prepared, described: Any) -> list[str]:
    alone = ["All rows belong to one task, so there is nothing to share."] if len(described.tasks_) == 1 else []
    return [*rows.data.notes, *alone, *rows.preprocessor.describe()]


def _lines_on_scores(scores: dict[str, float]) -> list[str]:
    if not scores:
        return []
    accuracy, nmi, joint = (100 * scores[name] for name in ("accuracy", "nmi", "joint_accuracy"))
    return [
        f"Known classes were not used for clustering. On average {accuracy:.1f} % of the rows of a task agree with "
        f"them (NMI {nmi:.1f} %), and {joint:.1f} % with one matching of clusters and classes for all tasks."
    ]


def _settings(arguments: Namespace, rows: Prepared, model: Any) -> dict[str, Any]:
    """What is needed to repeat the run."""
    unused = ("command", "files", "quiet", "json", "force")
    names, inner = rows.data.names, getattr(model, "clusterer", None)
    return {
        "format": folder.FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": {name: _plain(value) for name, value in vars(arguments).items() if name not in unused},
        "columns": names if len(names) <= MAX_COLUMNS else count(len(names), "column"),
        "preparation": rows.preprocessor.describe(),
        "estimator": type(model).__name__ + ("" if inner is None else f"({type(inner).__name__})"),
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "versions": versions(folder.PACKAGES),
    }


def _plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if isinstance(value, bool | int | float | str | list | None):
        return value
    return str(value) if isinstance(value, Path) else repr(value)


def _file(path: Path, n: int) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": str(path), "rows": n, "bytes": path.stat().st_size, "sha256": digest}


def _write_tables(out: Path, rows: Prepared, described: Any) -> None:
    losses, codes = host(described.losses_), host(described.task_indices_)
    scores = {"easiness": easiness(losses, codes), "outlier_score": outlier_scores(losses, codes)}
    labels, memberships = described.labels_, host(described.memberships_)
    columns = folder.label_columns(rows.data.ids, rows.tasks, labels, memberships, scores)
    folder.write_csv(out / folder.LABELS, columns)
    centers = folder.center_columns(described, rows.features, rows.preprocessor.inverse_transform_centers)
    folder.write_csv(out / folder.CENTERS, centers)


def _write_model(out: Path, rows: Prepared, model: Any, report: Report) -> None:
    from ..interop import dump

    contents = {
        "format": folder.FORMAT,
        "model": model,
        "preprocessor": rows.preprocessor,
        "columns": rows.data.names,
        "roles": asdict(rows.roles),
        "findings": json.dumps(report.summary),
    }
    dump(contents, out / folder.MODEL)
    (out / folder.REPORT).write_text(report.html, encoding="utf-8")


def _cells(data: Dataset) -> Callable[[list[int]], list[dict[str, str]]] | None:
    """A function that returns the cells of some rows of a table, shortened for the report."""
    if not data.is_table:
        return None

    def cells(numbers: list[int]) -> list[dict[str, str]]:
        values = data.X.iloc[numbers].astype(object).to_numpy()
        return [{name: _shortened(value) for name, value in zip(data.names, row, strict=True)} for row in values]

    return cells


def _shortened(value: Any) -> str:
    if value is None or value != value:  # NaN
        return "(missing)"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


@contextmanager
def _timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    began = perf_counter()
    yield
    seconds[what] = perf_counter() - began
