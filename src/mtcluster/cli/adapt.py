"""`mtcluster adapt`: data sets in other files join a fitted model; a folder as that of `mtcluster fit` comes out."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from .._utils.tables import Table
from .._utils.text import count
from ..core.arrays import host
from ..inspection._relations import relations
from ..inspection._vocabulary import counted, group_word, in_words
from . import folder
from .again import prepared_like_fit
from .cleaning import FEW
from .console import Console
from .errors import InputError, input_errors, need
from .fit import certainty_of, lines_on_data, report_of, settings_of
from .loading import load_model
from .modelling import WRITING, noted
from .predict import told_new, unseen_categories
from .preparing import READING, Prepared, told_without_values, without_values
from .telling import written
from .writing import write_results


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read the files as in the fit, let their tasks join, and write the folder of the new model."""
    need("skops", "files", "writing a model")
    contents = load_model(arguments.model)
    model, preprocessor = contents["model"], contents["preprocessor"]
    if not hasattr(model, "adapt"):
        problem = f"no task can join {type(model).__name__}"
        raise InputError(f"{arguments.model}: {problem}; fit with a --method such as spmtc.")
    with folder.new_folder(arguments.out, force=arguments.force) as out, console.working(READING + 2 * WRITING):
        console.begin(f"reading {count(len(arguments.files), 'file')}")
        rows = prepared_like_fit(arguments, contents)
        data, X = rows.data, rows.X
        if rows.anonymous:
            _check_large(rows)
        unseen = [unseen_categories(name, values) for name, values in preprocessor.unseen_categories(data.X).items()]
        if not arguments.update:
            _check_new(rows, model, data.name)
        console.finish(READING)
        console.begin(f"adapting to {count(len(data), 'row')}")
        with noted() as warned, input_errors():
            adapted = model.adapt(rows.X, tasks=rows.tasks, novelty=arguments.novelty, update=arguments.update)
        console.finish(WRITING)
        console.begin("writing")
        lines = [*lines_on_data(rows, len(adapted.tasks_)), *unseen, *told_without_values(warned, data, X)]
        settings = settings_of(arguments, rows, adapted) | {"adapted": str(arguments.model)} | certainty_of(None, None)
        report = report_of(arguments, rows, adapted, settings, lines, None)
        related = relations(adapted)
        lines += write_results(out, rows, adapted, adapted, related, report, None)
        folder.write_settings(out, settings)
        console.finish(WRITING)
    names = [str(task) for task in adapted.tasks_.tolist()]
    return {
        "out": str(arguments.out),
        "n_rows": len(data),
        "group": group_word(rows.roles.task),
        "n_clusters": adapted.n_clusters_,
        "n_opened": adapted.n_clusters_ - model.n_clusters_,
        "n_new": int(np.count_nonzero((host(adapted.labels_) < 0) & ~without_values(rows.X))),
        "sizes": dict(zip(names, host(adapted.cluster_sizes_).round().astype(int).tolist(), strict=True)),
        "relations": [row | {"support": float(f"{row['support']:.6g}")} for row in related.rows()],
        "found": related.sentences,
        "missing": report.summary["missing"],
        "n_without_values": int(np.count_nonzero(without_values(rows.X))),
        "lines": lines,
    }


def _check_large(rows: Prepared) -> None:
    """Refuse a task of so few rows that they could be told in an anonymous result."""
    names, sizes = np.unique(rows.tasks, return_counts=True)
    if sizes.min() < FEW:
        small = f"the task {str(names[sizes.argmin()])!r} has fewer than {FEW} rows"
        raise InputError(f"{rows.data.name}: the model is anonymous, and {small}: leave it out.")


def _check_new(rows: Prepared, model: Any, name: str) -> None:
    """Refuse tasks that the model knows."""
    known = {str(task) for task in model.tasks_.tolist()}
    again = [task for task in dict.fromkeys(rows.tasks.tolist()) if task in known]
    if again:
        raise InputError(
            f"{name}: the model knows the task {again[0]!r}: add --update to let its rows add to it, label them with "
            "`mtcluster predict`, or give a task of its own another name."
        )


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    word = result["group"]
    sizes = [{word: task} | {f"cluster {j}": n for j, n in enumerate(own)} for task, own in result["sizes"].items()]
    joined = f"{count(result['n_rows'], 'row')} joined: {counted(len(sizes), word)} now"
    opened = f", {count(result['n_opened'], 'new cluster')}" if result["n_opened"] else ""
    before = [f"{joined}, {count(result['n_clusters'], 'cluster')}{opened}.", *result["lines"], ""]
    missing = (result["missing"] or {"sentences": []})["sentences"]
    after = ["", *told_new(result["n_new"]), *missing, *result["found"]]
    said = [in_words("\n".join(part), word) for part in (before, after)]
    return [said[0], str(Table.from_rows(sizes)), said[1], *written(result["out"])]
