"""`mtcluster predict` for files larger than memory: a folder of Parquet files with the labels comes out."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..._utils.text import count, listed
from ...core.arrays import host
from ...preprocessing._spelling import plain_name
from ...preprocessing._written import decoded
from ..cleaning import Checking, refuse_stops
from ..console import Console
from ..errors import InputError, input_errors
from ..folder import placing, tidy_up
from ..modelling import WRITING, noted
from ..predict import Labelled, checking_of, unseen_categories, usual_losses
from ..preparing import READING
from ..readers import ColumnRoles
from . import passes, place
from .pieces import large_groups
from .preparing import arrays_of, named
from .table import Pieces, opened
from .writing import How, belonging_name, without_values, write_labels


def label_files(arguments: Namespace, contents: dict[str, Any], console: Console) -> Labelled:
    """Label the rows of files piece by piece, and write a folder of Parquet files."""
    if not contents["preprocessor"].is_table_:
        raise InputError(f"--out-of-core reads tables, and {arguments.model} was fitted to a matrix: leave it out.")
    with (
        _new_folder(arguments.out, force=arguments.force) as out,
        console.working(READING + WRITING),
        place.working(arguments, out) as values,
    ):
        console.begin(f"reading the tasks of {count(len(arguments.files), 'file')}")
        table, notes = _table_like_fit(arguments, contents)
        model, preprocessor = contents["model"], contents["preprocessor"]
        n_features, dtype = len(preprocessor.get_feature_names_out()), host(model.task_centers_).dtype
        X, tasks, told = arrays_of(table, preprocessor, n_features, dtype, values)
        unseen = passes.unseen(table, preprocessor).items()
        notes += [
            *table.notes,
            *large_groups(table.pieces),
            *told,
            *(unseen_categories(name, found) for name, found in unseen),
        ]
        console.finish(READING)
        console.begin(f"labelling {count(table.n_rows, 'row')}")
        with noted() as warned, input_errors():
            sizes = _labelled(out, table, model, X, tasks).sum(axis=0).tolist()
        console.finish(WRITING)
    *clusters, n_new, n_empty = sizes
    said = {str(j): n for j, n in [(-1, n_new + n_empty), *enumerate(clusters)] if n}
    return table.n_rows, said, n_empty, [*notes, *warned]


def _labelled(out: Path, table: Pieces, model: Any, X: Any, tasks: Any) -> Any:
    """Write the labels of all rows, and count those of each task and cluster."""
    labels, belonging, losses = model.predict(X, tasks=tasks), None, None
    name, usual = "", {"": 1.0}
    if hasattr(model, "predict_proba"):
        belonging, losses = model.predict_proba(X, tasks=tasks), -model.score_samples(X, tasks=tasks)
        known = np.array([str(task) for task in host(model.tasks_).tolist()])
        name, usual = belonging_name(model), usual_losses(host(model.losses_), known[model.fitted_.rows.tasks])
    n_numbers = int(model.fitted_.model.n_clusters)
    how = How(table.rules, table.tasks, n_numbers, name, usual)
    return write_labels(out, table, (labels, belonging, losses, without_values(X)), how)


def _table_like_fit(arguments: Namespace, contents: dict[str, Any]) -> tuple[Pieces, list[str]]:
    """Read the pieces of files with the columns and the names of tasks of the fit, and notes about them."""
    asked = {"task": arguments.task, "id": arguments.id}
    before, checking = ColumnRoles(**contents["roles"]), checking_of(contents, arguments)
    if arguments.decimal is not None or arguments.thousands is not None:
        raise InputError("--decimal and --thousands do not go with --out-of-core: numbers are read as in the fit.")
    roles = ColumnRoles(
        **{name: column or getattr(before, name) for name, column in asked.items()},
        features=tuple(contents["columns"]),
        optional=tuple(name for name, column in asked.items() if column is None),
        encoding=arguments.encoding,
        skip=arguments.skip,
    )
    table = opened(arguments.files, roles, new_rows=True)
    rules = replace(table.rules, names=tuple(contents["columns"]), missing=checking.missing, written=checking.written)
    rules = replace(rules, texts=tuple(name for name, way in decoded(checking.written).items() if way.thousands == "."))
    how = Checking(drop_unnamed=arguments.drop_unnamed, keep_spelling=True)
    table, findings = named(replace(table, rules=rules), how)
    unnamed = [one for one in findings if one.kind == "unnamed"]
    refuse_stops(unnamed, table.name)
    notes = [f"{one.found} {one.done}" for one in unnamed]
    known = {plain_name(str(task)): str(task) for task in contents["model"].tasks_.tolist()}
    others = {} if checking.keep_spelling else _spelt(table, known)
    if others:
        sizes = tuple(_joined(own, others) for own in table.sizes)
        table = replace(table, rules=replace(table.rules, joined=others), sizes=sizes)
        pairs = listed(f"{name!r} as {best!r}" for name, best in sorted(others.items()))
        notes.append(f"Names of tasks that differ from those of the fit by case or blanks alone: {pairs}.")
    return table, notes


def _spelt(table: Pieces, known: dict[str, str]) -> dict[str, str]:
    """Names of tasks, and those of the fit that they stand for."""
    pairs = ((task, known.get(plain_name(task))) for task in table.tasks)
    return {task: best for task, best in pairs if best is not None and best != task}


def _joined(own: dict[str, int], others: dict[str, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for task, n in own.items():
        found[others.get(task, task)] = found.get(others.get(task, task), 0) + n
    return found


@contextmanager
def _new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to fill, which becomes `out` if the block succeeds; parts of labels are replaced with `force`."""
    tidy_up(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder, as --out-of-core writes several files.")
    there = sorted(path.name for path in out.iterdir()) if out.exists() else []
    foreign = [name for name in there if not (name.startswith("part-") and name.endswith(".parquet"))]
    if foreign:
        raise InputError(f"--out {out} contains {foreign[0]!r}, which is no part of labels: name another folder.")
    if there and not force:
        raise InputError(f"--out {out} already contains labels: add --force to replace them, or name another folder.")
    with placing(out) as temporary:
        yield temporary
