"""`mtcluster fit`: files in, a folder with labels, centres, model, settings and a report out."""

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .._utils.text import count, versions
from ..core.arrays import Array
from ..inspection._certainty import plain_selection, plain_stability
from ..inspection._meaning import meaning
from ..inspection._relations import Relations, relations
from ..inspection._report import Report, make_report
from ..inspection._report.page import with_names
from ..inspection._subject import subject_of
from ..inspection._vocabulary import counted, group_word
from ..model_selection import Selection, Stability
from . import folder, layout, modelling
from .cleaning import told
from .console import Console
from .errors import need
from .large.place import is_asked_for
from .modelling import WRITING
from .options import Numbers
from .preparing import READING, Prepared, prepare, told_without_values, without_values
from .readers import Dataset
from .ruling import told_ruling
from .telling import lines
from .writing import write_results

__all__ = ["lines", "run"]  # what a command is: what it does, and what it prints
SHORT_CELL = 120  # characters of a cell shown in the report
MAX_COLUMNS = 1000  # whose names are listed in settings.json


class InMemory:
    """The rows of a fit, all in memory: how they are read and fitted, and what is written of them."""

    hashed = True  # whether checksums of the files are computed

    def __init__(self, arguments: Namespace) -> None:
        self.arguments = arguments

    @contextmanager
    def working(self, out: Path) -> Iterator[None]:
        """Do the work of the block in this process."""
        yield

    def read(self, console: Console) -> Prepared:
        """Read the rows, and turn them into numbers."""
        self.rows = prepare(self.arguments, console)
        return self.rows

    def fit(self, n_clusters: int, console: Console) -> None:
        """Fit the model."""
        method = self.arguments.method
        self.model, self.described = modelling.fit_model(self.arguments, method, n_clusters, self.rows, console)

    def labelled(self, out: Path) -> tuple[Prepared, Any, Any]:
        """Return the rows that are described, the model, and what describes its clusters per task."""
        self.n_rows, self.n_empty = len(self.rows.data), int(np.count_nonzero(without_values(self.rows.X)))
        return self.rows, self.model, self.described

    def told(self, scores: list[str], notes: list[str]) -> list[str]:
        """Say how labels agree with known classes, what was read, and what the fit had to say."""
        said = lines_on_data(self.rows, len(self.described.tasks_))
        return [*scores, *said, *told_without_values(notes, self.rows.data, self.rows.X)]

    def write(self, out: Path, related: Relations, report: Report, found: Stability | None) -> list[str]:
        """Write all files but the settings; returns notes."""
        lines = write_results(out, self.rows, self.model, self.described, related, report, found)
        if self.rows.previous is not None:
            table = self.model.changes_.table
            shares = [round(share, 6) for share in table["share"]]
            folder.write_csv(out / layout.CHANGES, table | {"share": shares})
        return lines


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read, preprocess, cluster, and write the folder of the run; returns what is printed."""
    need("skops", "files", "writing a model")
    modelling.check_certificates(arguments)
    source: Any = InMemory(arguments)
    if is_asked_for(arguments):
        from .large.fit import OutOfCore

        source = OutOfCore(arguments)
    began, seconds = perf_counter(), dict[str, float]()
    units = READING + modelling.units_of(arguments) + WRITING
    new_folder = folder.new_folder(arguments.out, force=arguments.force)
    with new_folder as out, console.working(units), source.working(out):
        with timed(seconds, "read"):
            rows = source.read(console)
        with timed(seconds, "fit"), modelling.noted() as notes:
            n_clusters, selection = modelling.number_of_clusters(arguments, rows, console)
            source.fit(n_clusters, console)
        with timed(seconds, "labels"), modelling.noted():
            rows, model, described = source.labelled(out)
        with timed(seconds, "refits"):
            found = modelling.stability_of(model, rows, arguments, console)
            ruling = told_ruling(arguments, rows, described)
        console.begin("writing")
        scores = lines_on_scores(rows, described.labels_)
        lines = [*modelling.told_number(selection, found), *source.told(scores, notes)]
        settings = settings_of(arguments, rows, model, hashed=source.hashed) | certainty_of(found, selection)
        settings["seconds"] = {name: round(value, 2) for name, value in seconds.items()}
        report = report_of(arguments, rows, described, settings, lines, found, ruling=ruling)
        related = relations(described)
        lines += source.write(out, related, report, found)
        folder.write_settings(out, settings)
        console.finish(WRITING)
    counts = {"n_rows": source.n_rows, "n_clusters": n_clusters, "n_without_values": source.n_empty}
    result = {"out": str(arguments.out), **counts, **found_in(model, described, related, found, report, settings)}
    return result | {"lines": lines, "seconds": round(perf_counter() - began, 2)}


def found_in(
    model: Any, described: Any, related: Relations, found: Stability | None, report: Report, settings: dict[str, Any]
) -> dict[str, Any]:
    """Tell what was found, as it is printed."""
    tasks, weights = [str(task) for task in described.tasks_.tolist()], described.fitted_.within_weight
    sizes, subject = described.cluster_sizes_.round().astype(int).tolist(), subject_of(described, "fit")
    return {
        "sizes": dict(zip(tasks, sizes, strict=True)),
        "left_alone": [task for task, weight in zip(tasks, weights, strict=True) if weight == 1],
        "changes": plain_changes(model),
        "relations": [row | {"support": float(f"{row['support']:.6g}")} for row in related.rows()],
        "found": related.sentences,
        "meaning": meaning(subject, related.sentences, found),
        "clusters": [with_names(line, report.summary["names"]) for line in report.summary["sentences"]],
        "context": report.summary["meaning"],
        "group": report.summary["group"],
        "check": settings["check"],
        "missing": report.summary["missing"],
        **{name: settings[name] for name in ("verdict", "stability", "selection")},
    }


def plain_changes(model: Any) -> dict[str, Any] | None:
    """Tell what changed since the previous fit, as JSON takes it."""
    found = getattr(model, "changes_", None)
    if found is None:
        return None
    names = ("n_rows", "n_moved", "born", "died", "split", "merged", "sentences")
    return {name: getattr(found, name) for name in names} | {"table": found.rows()}


def certainty_of(found: Stability | None, selection: Selection | None) -> dict[str, Any]:
    """Tell how sure one can be of the clusters and of their number, as JSON takes it."""
    return {
        "verdict": None if found is None else found.verdict,
        "stability": plain_stability(found),
        "selection": plain_selection(selection),
    }


def lines_on_data(rows: Prepared, n_tasks: int) -> list[str]:
    """Sentences about what was read, and how it was prepared; `n_tasks` are those of the model."""
    alone = ["All rows belong to one task, so there is nothing to share."] if n_tasks == 1 else []
    return [
        *rows.data.notes,
        *told(rows.findings),
        *alone,
        *rows.preprocessor.describe(rows.data.X if rows.prepared_before else None),
    ]


def lines_on_scores(rows: Prepared, labels: Array) -> list[str]:
    """Write a sentence about known classes, if there are any."""
    scores = {name: f"{100 * score:.1f} %" for name, score in modelling.scores_of(rows, labels).items()}
    if not scores:
        return []
    known = [] if rows.data.classes is None else rows.data.classes.tolist()
    more = len(np.unique(labels[labels >= 0])) > len({one for one in known if one is not None})
    line = (
        "Known classes were not used for clustering. On average {accuracy} of the rows of a task agree with them (NMI "
        "{nmi}), and {joint_accuracy} with one matching of clusters and classes for all tasks."
    )
    pure = " There are more clusters than classes: {purity} have the class of most rows of their cluster (purity)."
    return [(line + pure * more).format(**scores)]


def settings_of(arguments: Namespace, rows: Prepared, model: Any, *, hashed: bool = True) -> dict[str, Any]:
    """Tell what is needed to repeat the run; `hashed`: with checksums of the files."""
    unused = ("command", "files", "quiet", "json", "force")
    data, inner = rows.data, getattr(model, "clusterer", None)
    return {
        "format": folder.FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": [_file(path, n, hashed) for path, n in zip(data.files, data.counts, strict=True)],
        "options": {name: _plain(value) for name, value in vars(arguments).items() if name not in unused},
        "columns": data.names if len(data.names) <= MAX_COLUMNS else count(len(data.names), "column"),
        "check": [asdict(one) for one in rows.findings],
        "preparation": rows.preprocessor.describe(data.X if rows.prepared_before else None),
        "estimator": type(model).__name__ + ("" if inner is None else f"({type(inner).__name__})"),
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "versions": versions(folder.PACKAGES),
    }


def _plain(value: Any) -> Any:
    """Write a value that JSON can hold."""
    if isinstance(value, bool | int | float | str | list | dict | None):
        return value
    return str(value) if isinstance(value, Path | Numbers) else repr(value)


def _file(path: Path, n: int, hashed: bool) -> dict[str, Any]:
    digest = None
    if hashed:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": str(path), "rows": n, "bytes": path.stat().st_size, "sha256": digest}


def report_of(
    arguments: Namespace,
    rows: Prepared,
    described: Any,
    settings: dict[str, Any],
    lines: list[str],
    found: Stability | None,
    names: dict[int, str] | None = None,
    ruling: list[str] | None = None,
) -> Report:
    """Make the report of a model; `names` are those of clusters, `ruling` what is said of columns that make them."""
    n_clusters, n_tasks = described.n_clusters_, len(described.tasks_)
    return make_report(
        described,
        ids=rows.data.ids,
        feature_names=rows.features,
        title=arguments.title or f"{count(n_clusters, 'cluster')} in {counted(n_tasks, group_word(rows.roles.task))}",
        data={"files": settings["files"], "lines": lines} | ({} if ruling is None else {"found": ruling}),
        cells=_cells(rows.data) if rows.data.is_table and not rows.anonymous else None,
        X=_in_units(rows),
        in_units=rows.preprocessor.inverse_transform_centers,
        classes=None if rows.data.classes is None else rows.data.classes.tolist(),
        cluster_names=names,
        anonymous=rows.anonymous,
        group=rows.roles.task,
        stability=found,
        selection=settings["selection"],
        settings=settings,
    )


def _in_units(rows: Prepared) -> Any:
    """Take the rows in the user's units, without features that the preprocessor left out of a matrix."""
    left_out = [] if rows.data.is_table else [int(name) for name in rows.preprocessor.left_out_]
    return np.delete(rows.data.X, left_out, axis=1) if left_out else rows.data.X


def _cells(data: Dataset) -> Callable[[list[int]], list[dict[str, str]]]:
    """Make a function that returns the cells of some rows of a table, shortened for the report."""

    def cells(numbers: list[int]) -> list[dict[str, str]]:
        some = data.X.iloc[numbers].astype(object)
        return some.where(some.notna(), "(missing)").map(_shortened).to_dict("records")

    return cells


def _shortened(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= SHORT_CELL else text[: SHORT_CELL - 1] + "…"


@contextmanager
def timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    """Measure a block."""
    began = perf_counter()
    yield
    seconds[what] = perf_counter() - began
