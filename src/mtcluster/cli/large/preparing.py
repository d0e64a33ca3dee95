"""From files larger than memory to a Dask array of the numbers that are clustered."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..._utils.text import count, listed
from ...preprocessing import Finding, TablePreprocessor
from ...preprocessing._columns import counts_listed
from ...preprocessing._findings import shown
from ...preprocessing._row_checks import told_small, told_spellings, told_unnamed
from ...preprocessing._statistics import Statistics, complete
from ...preprocessing._written import grouped, holds_strings
from ..cleaning import Checking, cleaned, refuse_stops
from ..console import Console
from ..errors import InputError, input_errors
from ..preparing import READING, Prepared, roles_of, tell
from ..readers import Dataset
from ..readers.delimited import doubtful_points
from . import passes
from .pieces import large_groups
from .table import Pieces, Rows, opened

REFUSED = (
    "previous",
    "anonymous",
    "drop_duplicates",
    "drop_rows",
    "text",
    "tfidf",
    "sheet",
)  # options that need all rows at once
MOST_TASKS = 2000
ROWS_ALONE = ("repeated_rows", "spelling", "small", "unnamed", "tasks", "totals")  # findings that a sample cannot tell
PER_ROW = 100  # bytes of values per row that are kept beside the prepared rows


@dataclass(frozen=True)
class Large:
    """The rows of files, piece by piece, and a sample of them."""

    table: Pieces
    X: Any  # Dask array
    tasks: Any  # Dask array (n,) of strings
    sample: Prepared
    notes: list[str]


def refuse_options(arguments: Namespace, option: str) -> None:
    """Refuse what needs all rows in one place."""
    for name in REFUSED:
        if getattr(arguments, name, None):
            raise InputError(f"--{name.replace('_', '-')} does not go with {option}: it needs all rows in one place.")


def prepare(arguments: Namespace, console: Console, folder: Path | None) -> Large:
    """Read the files piece by piece: tasks, a sample, statistics of all rows; then turn columns into numbers.

    `folder` is where prepared rows are kept; None: they are read from the files again in every pass.
    """
    console.begin(f"reading the tasks of {count(len(arguments.files), 'file')}")
    roles = roles_of(arguments)
    checking = Checking.of(arguments)
    table, findings = named(opened(arguments.files, roles), checking)
    refuse_stops(findings, table.name)
    console.begin(f"reading a sample of {count(table.n_rows, 'row')}")
    table, rows = _sample(table, arguments.seed)
    data = dataset_of(table, rows)
    console.begin("reading all rows for means, standard deviations and categories")
    found = _fitted(arguments, table, data, checking)
    found.findings[:0] = findings
    tell(found.findings, console)
    table, X = found.table, transformed(found.preprocessor, found.data)
    left_out = [name for one in found.findings for name in one.columns if name not in found.data.names]
    roles = replace(roles, drop=tuple(dict.fromkeys([*roles.drop, *left_out])))
    sample = Prepared(
        found.data, roles, found.preprocessor, X.astype(found.dtype), np.asarray(found.data.tasks, dtype=str),
        checking=replace(checking, written=found.table.rules.written), findings=found.findings,
    )  # fmt: skip
    console.begin("preparing all rows")
    there, tasks, notes = arrays_of(table, found.preprocessor, X.shape[1], found.dtype, folder)
    console.finish(READING)
    return Large(
        table, there, tasks, sample, [*table.notes, *large_groups(table.pieces), *notes, *_told(found, arguments)]
    )


def _sample(table: Pieces, seed: int) -> tuple[Pieces, Rows]:
    """Read a sample of the rows; columns in which points may stand between thousands as they are written."""
    drawn = passes.draw(table, seed)
    rows = passes.sampled(table, drawn)
    doubtful = doubtful_points(rows.X, table.files, table.rules.roles)
    if not doubtful:
        return table, rows
    written = passes.sampled(replace(table, rules=replace(table.rules, texts=tuple(doubtful))), drawn).X
    found = tuple(name for name in doubtful if holds_strings(written[name]) and grouped(written[name]))
    rows = replace(rows, X=rows.X.assign(**{name: written[name] for name in found}))
    return replace(table, rules=replace(table.rules, texts=found)), rows


def named(table: Pieces, checking: Checking) -> tuple[Pieces, list[Finding]]:
    """Count the rows of each task, and tell what is said about tasks."""
    counted = passes.counts_of(table)
    pieces, before = [], dict.fromkeys((piece.path for piece in table.pieces), 0)
    for piece, (n, _, _) in zip(table.pieces, counted, strict=True):
        pieces.append(replace(piece, first=before[piece.path], n_rows=n))
        before[piece.path] += n
    totals: dict[str, int] = {}
    for _, own, _ in counted:
        for task, n in own.items():
            if task is not None:
                totals[task] = totals.get(task, 0) + n
    findings = _unnamed(table, pieces, counted, checking)
    spelt, joined = told_spellings(totals, keep=checking.keep_spelling)
    for task, best in joined.items():
        totals[best] += totals.pop(task)
    small, gone = told_small(dict(sorted(totals.items())), sum(totals.values()), checking.min_rows)
    if len(totals) > MOST_TASKS:
        most = f"There are {len(totals)} tasks, and at most {MOST_TASKS} can be fitted to files larger than memory."
        small.append(Finding("tasks", (), most, "Is this the right column (--task)?", "", True))
    rules = replace(table.rules, joined=joined, gone=frozenset(gone))
    sizes = tuple(_sizes(own, joined, gone) for _, own, _ in counted)
    return replace(table, pieces=tuple(pieces), rules=rules, sizes=sizes), [*findings, *spelt, *small]


def dataset_of(table: Pieces, rows: Rows) -> Dataset:
    """Take some rows as the other parts of the command line take them."""
    ids = (rows.at + 1).astype(str).astype(object) if rows.ids is None else rows.ids
    X = rows.X.reset_index(drop=True)
    tasks = rows.tasks.astype(object)
    return Dataset(table.files, X, list(X.columns), tasks, ids, rows.classes, table.counts, rows=rows.at)


def transformed(preprocessor: TablePreprocessor, data: Dataset) -> Any:
    """Compute the numbers of some rows."""
    with input_errors(data):
        return preprocessor.transform(data.X, tasks=data.tasks)


@dataclass(frozen=True)
class _Fitted:
    """The columns that are used, and how they are turned into numbers."""

    table: Pieces
    data: Dataset
    preprocessor: TablePreprocessor
    findings: list[Finding]
    dtype: Any


def _fitted(
    arguments: Namespace, table: Pieces, data: Dataset, checking: Checking, wanted: Sequence[str] = ()
) -> _Fitted:
    """Judge the columns by the sample, fit the preprocessor to it, and complete it by statistics of all rows."""
    how = replace(checking, min_rows=1, drop_unnamed=False, keep_spelling=True)
    impute, scale, roles = arguments.impute, arguments.scale, table.rules.roles
    kept, findings = cleaned(data, roles, how, impute=impute, scale=scale, wanted=wanted)
    kept = replace(kept, rows=data.rows)
    findings = [one for one in findings if one.kind not in ROWS_ALONE and (one.kind != "ids" or one.stops)]
    refuse_stops(findings, table.name)
    constant = [name for one in findings if one.kind == "constant" for name in one.columns]
    table = replace(table, rules=replace(table.rules, names=tuple(kept.names), missing=checking.missing))
    table = replace(table, rules=replace(table.rules, written=kept.written))
    preprocessor = TablePreprocessor(scale, impute, dates=checking.dates)
    with input_errors(kept):
        preprocessor.fit(kept.X, tasks=kept.tasks)
    found = passes.statistics(table, preprocessor, constant)
    passes.check_sizes(table, found)
    varied = [name for name in constant if len(found.values[name]) > 1]
    if varied:  # they vary in rows that are not in the sample
        return _fitted(arguments, table, data, checking, [*wanted, *varied])
    with input_errors(kept):
        complete(preprocessor, kept.X, table.tasks, found)
    single = bool(preprocessor.numbers_) and all(
        str(kept.X[n].dtype) == "float32" for n in kept.X if n in preprocessor.numbers_
    )
    dtype = np.dtype(np.float32 if single and not preprocessor.dates_ else np.float64)
    return _Fitted(table, kept, preprocessor, _exact(findings, preprocessor, found), dtype)


def _exact(findings: list[Finding], preprocessor: TablePreprocessor, found: Statistics) -> list[Finding]:
    """Correct the findings, with missing values as they are in all rows."""
    exact = [one for one in findings if one.kind not in ("missing", "empty")]
    missing = preprocessor.n_missing_
    if missing:
        told = f"{count(sum(missing.values()), 'missing value')} in {count(len(missing), 'column')}"
        done = "They are filled in." if preprocessor.impute is not None else "They stay missing."
        option = "" if preprocessor.impute is not None else "--impute median"
        exact.append(Finding("missing", tuple(missing), f"{told}: {counts_listed(missing)}.", done, option))
    for name in preprocessor.left_out_:
        there = found.n_rows - found.n_missing[name]
        what = "without any value" if not there else f"with values in {there} of {count(found.n_rows, 'row')} only"
        exact.append(Finding("empty", (name,), f"Column {shown(name)} {what}.", "It is left out."))
    return exact


def arrays_of(
    table: Pieces, preprocessor: TablePreprocessor, n_features: int, dtype: Any, folder: Path | None
) -> tuple[Any, Any, list[str]]:
    """Make Dask arrays of the prepared rows and their tasks, kept in files where a folder has room for them."""
    import dask
    from dask import delayed

    from ...engines.dask import from_parts, run

    how = delayed((table.rules, preprocessor, dtype), traverse=False, pure=False)
    rules, notes = delayed(table.rules, traverse=False), []
    room = table.n_rows * (n_features * dtype.itemsize + PER_ROW)
    if folder is not None and room > shutil.disk_usage(folder).free:
        notes = [f"There is no room on disk for {room / 1e9:.3g} GB of prepared rows: files are read in every pass."]
        folder = None
    if folder is None:
        X = [delayed(passes.prepared_here)(piece, how) for piece in table.pieces]
        tasks = [delayed(passes.tasks_here)(piece, rules) for piece in table.pieces]
    else:
        jobs = enumerate(table.pieces)
        [files] = run(dask.compute, [delayed(passes.store_here)(piece, j, how, folder) for j, piece in jobs])
        X, tasks = ([delayed(np.load)(names[i]) for names in files] for i in (0, 1))
    return from_parts(X, table.used, n_features, dtype), from_parts(tasks, table.used, None, np.dtype(object)), notes


def _unnamed(table: Pieces, pieces: Sequence[Any], counted: Sequence[Any], checking: Checking) -> list[Finding]:
    """Tell what is said of rows without a task."""
    n = sum(own.get(None, 0) for _, own, _ in counted)
    if not n:
        return []
    piece, first = next((p, first) for p, (_, own, first) in zip(pieces, counted, strict=True) if None in own)
    where = f"row {piece.first + first + 1} of {piece.path}"
    total = sum(rows for rows, _, _ in counted)
    return [told_unnamed(n, total, where, f"column {table.rules.roles.task!r}", drop=checking.drop_unnamed)]


def _sizes(own: dict[str | None, int], joined: dict[str, str], gone: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for task, n in own.items():
        if task is not None and (name := joined.get(task, task)) not in gone:
            found[name] = found.get(name, 0) + n
    return found


def _told(found: _Fitted, arguments: Namespace) -> list[str]:
    """Tell what was taken from a sample, and what from all rows."""
    n, total = len(found.data), found.table.n_rows
    if n == total:
        return []
    exact = listed(["tasks", "missing values", "means", "standard deviations", "categories"], final=" and ")
    filled = " Missing numbers were replaced by the medians of this sample." if arguments.impute else ""
    return [f"What columns hold was judged by a sample of {n} of {total} rows; {exact} are those of all rows.{filled}"]
