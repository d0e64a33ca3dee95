"""`mtcluster predict`: label the rows of other files with a fitted model."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np

from .._utils.text import count, listed
from ..core.arrays import Array, host
from ..inspection._outliers import usual_loss
from ..inspection._words import named
from ..preprocessing._written import decoded
from . import folder
from .cleaning import Checking, check_signs, like_fit, refuse_stops
from .console import Console
from .errors import InputError, input_errors
from .loading import load_model
from .modelling import WRITING, noted
from .preparing import READING, points_asked, told_without_values, without_values
from .readers import LISTS, ColumnRoles, Dataset, read_files, reader_of, with_columns

Labelled = tuple[int, dict[str, int], int, list[str]]  # rows, rows by cluster, rows without any value, and notes


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read the files as in the fit, label their rows, and write the labels."""
    contents = load_model(arguments.model)
    model = contents["model"]
    if not hasattr(model, "predict"):
        problem = f"{type(model).__name__} cannot label new rows"
        raise InputError(f"{arguments.model}: {problem}; fit with a --method such as spmtc.")
    label = _label_files
    if arguments.out_of_core:
        from .large.predict import label_files as label
    n_rows, sizes, n_empty, notes = label(arguments, contents, console)
    for note in notes:
        console.note(f"note: {note}")
    told = {"n_new": sizes.get("-1", 0) - n_empty, "n_without_values": n_empty, "notes": notes}
    return {"out": str(arguments.out), "n_rows": n_rows, "sizes": sizes} | told


def _label_files(arguments: Namespace, contents: dict[str, Any], console: Console) -> Labelled:
    """Label the rows of files in memory, and write a CSV file."""
    model, preprocessor = contents["model"], contents["preprocessor"]
    with folder.new_file(arguments.out, force=arguments.force) as out, console.working(READING + WRITING):
        console.begin(f"reading {count(len(arguments.files), 'file')}")
        data = read_like_fit(arguments, contents)
        with input_errors(data, new_rows=True):
            X = preprocessor.transform(data.X, tasks=data.tasks)
        unseen = [unseen_categories(name, values) for name, values in preprocessor.unseen_categories(data.X).items()]
        console.finish(READING)
        console.begin(f"labelling {count(len(data), 'row')}")
        with noted() as warned, input_errors():
            columns = _labelled(model, X, data)
        folder.write_csv(out, columns, raw=arguments.raw)
    found, counts = np.unique(columns["cluster"], return_counts=True)
    sizes = {str(j): int(n) for j, n in zip(found.tolist(), counts, strict=True)}
    notes = [*data.notes, *unseen, *told_without_values(warned, data, X)]
    return len(data), sizes, int(np.count_nonzero(without_values(X))), notes


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    sizes = ", ".join(f"{j}: {n}" for j, n in result["sizes"].items() if j != "-1")
    said = [f"{count(result['n_rows'], 'row')} labelled (rows per cluster: {sizes}), written to {result['out']}."]
    return [*said, *told_new(result["n_new"])]


def told_new(n: int) -> list[str]:
    """Write a sentence about rows with the label -1."""
    return [f"No cluster explains {count(n, 'row')}, whose cluster is -1."] if n else []


def unseen_categories(column: str, values: dict[str, int]) -> str:
    """Write a sentence about categories that were not in the fit."""
    shown = listed(f"{value!r} ({count(n, 'row')})" for value, n in values.items())
    return f"column {column!r} holds categories that were not in the fit: {shown}."


def read_like_fit(arguments: Namespace, contents: dict[str, Any]) -> Dataset:
    """Read files as those of the fit were read; a file without the column of tasks is a task of its own."""
    asked = {"task": arguments.task, "id": arguments.id}
    roles, columns, checking = ColumnRoles(**contents["roles"]), contents["columns"], checking_of(contents, arguments)
    roles = replace(
        roles,
        **{name: column or getattr(roles, name) for name, column in asked.items()},
        label=None,
        encoding=arguments.encoding,
        sheet=arguments.sheet,
        max_bytes=arguments.max_bytes,
        skip=arguments.skip,
        points=points_asked(arguments) or any(way.thousands == "." for way in decoded(checking.written).values()),
        features=tuple(columns) if contents["preprocessor"].is_table_ else roles.features,
        optional=(*(name for name, column in asked.items() if column is None), *LISTS),
    )
    if not all(reader_of(path).has_columns for path in arguments.files):
        roles = replace(roles, **asked)
    data = read_files(arguments.files, roles, one_task=True)
    refuse_stops(data.findings, data.name)
    tasks = [str(task) for task in contents["model"].tasks_.tolist()]
    numbers = contents["preprocessor"].numbers_ if data.is_table else []
    data, told = like_fit(data, checking, tasks, numbers, drop_unnamed=arguments.drop_unnamed)
    left_out = contents["preprocessor"].left_out_ if data.is_table else []
    notes = _other_columns(data, columns, left_out, ColumnRoles(**contents["roles"]))
    X = with_columns(data, columns, "the fit")
    return replace(data, X=X, names=columns, notes=(*data.notes, *told, *notes))


def checking_of(contents: dict[str, Any], arguments: Namespace) -> Checking:
    """Tell what is done about new rows: as in the fit, but for how numbers are written, which options may say."""
    check_signs(arguments.decimal, arguments.thousands)
    checking = Checking(**contents.get("checking", {}))
    return replace(checking, decimal=arguments.decimal, thousands=arguments.thousands)


def _other_columns(data: Dataset, columns: list[str], left_out: list[str], roles: ColumnRoles) -> list[str]:
    """Tell what to say of columns that are not those of the fit, which are matched by name."""
    there, known = set(data.names), {*columns, roles.task, roles.id, roles.label, *roles.drop}
    lacking = [repr(name) for name in columns if name not in (there | set(left_out))]
    unknown = [repr(name) for name in (*data.names, *data.others) if name not in known and not roles.features]
    told = (
        [f"{data.name} {data.verb('lacks', 'lack')} columns of the fit, which are missing values: {listed(lacking)}."]
        if lacking
        else []
    )
    return told + ([f"Left out, as they were not in the fit: {named('column', unknown)}."] if unknown else [])


def _labelled(model: Any, X: Any, data: Dataset) -> dict[str, Any]:
    """Make the columns of the file that is written."""
    tasks = np.asarray(data.tasks, dtype=str)
    labels, names = host(model.predict(X, tasks=tasks)), folder.names_of(model)
    if not hasattr(model, "predict_proba"):
        return {"id": data.ids, "task": tasks, "cluster": labels, **folder.name_column(labels, names)}
    outlying = _outlier_scores(model, -model.score_samples(X, tasks=tasks), tasks)
    scores = {"outlier_score": np.where(without_values(X), np.nan, outlying)}
    return folder.label_columns(data.ids, tasks, labels, folder.belonging_of(model, X, tasks), scores, names)


def _outlier_scores(model: Any, losses: Array, tasks: Array) -> Array:
    """Losses as multiples of the usual loss in the fit, of the same task if it was in the fit."""
    known = np.array([str(task) for task in model.tasks_.tolist()])
    usual = usual_losses(host(model.losses_), known[host(model.fitted_.rows.tasks)])
    scale = np.array([usual.get(task, usual[""]) for task in tasks.tolist()])
    return losses / np.where(scale > 0, scale, 1)


def usual_losses(losses: Array, tasks: Array) -> dict[str, float]:
    """Find the usual loss of each task, given those of some rows and their tasks; that of all tasks is called ""."""
    own = {str(task): usual_loss(losses[tasks == task]) for task in np.unique(tasks).tolist()}
    return own | {"": usual_loss(losses)}
