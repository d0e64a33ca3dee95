"""`mtcluster predict`: the rows of other files, labelled with the model of a run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import ASI, PerTask, Pooled
from ..core.arrays import Array, host
from ..inspection._outliers import usual_loss
from ..preprocessing._table import TablePreprocessor
from . import folder, options
from .console import Console
from .modelling import READING, mendable
from .readers import Collection, InputError, Reading, kind_of, read_files

HELP = "label the rows of other files with a fitted model"
WRITING = 3  # units of work, for the time left
ENOUGH = 5  # rows a cluster that a new data set needs before its own mean is taken for its place


def add_arguments(parser: ArgumentParser) -> None:
    """What can be asked for."""
    parser.add_argument("model", type=Path, metavar="DIR", help="folder that `mtcluster fit` made")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="files of the same kind as those of the fit"
    )
    parser.add_argument("--task", metavar="COLUMN", help="column with the task of each row (default: as in the fit)")
    parser.add_argument("--id", metavar="COLUMN", help="column with the name of each row (default: as in the fit)")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="CSV file to write")
    options.add_saying(parser)


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Label the rows of other files with the model of a run."""
    _, kept = folder.load_run(arguments.model)
    model, reading = kept["model"], Reading(**kept["reading"])
    if not hasattr(model, "predict"):
        raise InputError(
            f"{arguments.model}: {type(model).__name__} cannot label new rows: fit with --method spmtc, say."
        )
    with folder.new_file(arguments.out, force=arguments.force) as out, console.working(READING + WRITING):
        console.begin("reading")
        rows = _read_again(arguments, reading, kept["preparation"])
        X = kept["preparation"].transform(rows)
        strange = kept["preparation"].strange(rows)
        console.finish(READING)
        console.begin(f"labelling {len(rows)} rows")
        known = [str(task) for task in model.tasks_.tolist()]
        tasks = np.asarray(rows.tasks, dtype=str)
        X, notes = _placed(model, X, tasks, known)
        notes = [*rows.notes, *strange, *notes]
        with mendable():
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


def lines(told: dict[str, Any]) -> list[str]:
    """The result in words."""
    sizes = ", ".join(f"{j}: {n}" for j, n in told["sizes"].items())
    rows = f"{told['n_rows']} row{'s' * (told['n_rows'] != 1)}"
    return [f"{rows} labelled (rows by cluster: {sizes}), written to {told['out']}."]


def _read_again(arguments: Namespace, reading: Reading, preparation: TablePreprocessor) -> Collection:
    """Other files, read as those of the fit were; a file that lacks the column of tasks is a data set of its own."""
    asked = {"task": arguments.task, "id": arguments.id}
    how = replace(
        reading,
        task=arguments.task or reading.task,
        id=arguments.id or reading.id,
        label=None,
        features=tuple(preparation.columns) if preparation.is_table else reading.features,
        optional=tuple(name for name, column in asked.items() if column is None),
    )
    kinds = {kind_of(path) for path in arguments.files}
    if kinds & {".npz", ".mtx"}:
        how = replace(how, **asked)
    return read_files(arguments.files, how, one_task=True)


def _placed(model: Any, X: Any, tasks: Array, known: list[str]) -> tuple[Any, list[str]]:
    """Rows of data sets that were not there in fit, moved to where the shared centres lie if those of the fit were."""
    new = [task for task in dict.fromkeys(tasks.tolist()) if task not in known]
    if not new or isinstance(model, PerTask | Pooled | ASI):
        return X, []
    notes = [f"not there in the fit, so the shared centres decide: {', '.join(new[:8])}."]
    if getattr(model, "task_offset_", "none") == "none" or not isinstance(X, np.ndarray):
        return X, notes
    X, shared = X.copy(), model.shared_centers_ @ model.subspace_.T
    sizes = model.cluster_sizes_[model.within_weight_ < 1].sum(axis=0)
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
    usual = {task: usual_loss(fitted[at == k]) for k, task in enumerate(known)}
    other = usual_loss(fitted)
    scale = np.array([usual.get(task, other) for task in tasks.tolist()])
    return losses / np.where(scale > 0, scale, 1)
