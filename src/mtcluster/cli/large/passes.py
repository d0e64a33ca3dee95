"""Passes over all pieces: what is done with each where it is read, and the small things that come back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...preprocessing import TableError, TablePreprocessor
from ...preprocessing._statistics import Statistics, statistics_of
from ..errors import InputError
from ..readers.joining import stacked
from .pieces import Piece
from .table import Pieces, Rows, Rules, count_tasks, read_rows, refused, without_missing

SAMPLE = 20_000  # rows of which single values come together in one place


def counts_of(table: Pieces) -> list[tuple[int, dict[str | None, int], int]]:
    """For each piece, what `count_tasks` tells."""
    from dask import compute, delayed

    from ...engines.dask import run

    rules = delayed(table.rules, traverse=False)
    [found] = run(compute, [delayed(count_tasks)(piece, rules) for piece in table.pieces])
    return list(found)


def draw(table: Pieces, seed: int) -> list[dict[str, Array]]:
    """Take a sample of the rows: for each piece, positions among the rows of each task there."""
    from ...core.sampling import Sampling, draw_by_task

    tasks = table.tasks
    sizes = np.array([[own.get(task, 0) for task in tasks] for own in table.sizes])
    how = Sampling(SAMPLE, max(SAMPLE // (2 * len(tasks)), 1))
    drawn = draw_by_task(sizes.sum(axis=0).tolist(), how, np.random.default_rng(seed))
    ends = np.cumsum(sizes, axis=0)
    found: list[dict[str, Array]] = [{} for _ in table.pieces]
    for k, (task, at) in enumerate(zip(tasks, drawn, strict=True)):
        cuts = np.searchsorted(at, ends[:-1, k])
        for j, part in enumerate(np.split(at, cuts)):
            if len(part):
                found[j][task] = part - (ends[j, k] - sizes[j, k])
    return found


def sampled(table: Pieces, drawn: Sequence[dict[str, Array] | Array]) -> Rows:
    """Take some rows of each piece, at their numbers among all rows of all files."""
    from dask import compute, delayed

    from ...engines.dask import run

    rules = delayed(table.rules, traverse=False)
    some = [j for j, own in enumerate(drawn) if len(own)]
    [parts] = run(compute, [delayed(pick)(table.pieces[j], rules, drawn[j]) for j in some])
    first = table.firsts
    X = stacked([part.X for part in parts])
    X = X.assign(**{name: _as_one(X[name], [part.X[name] for part in parts]) for name in X.columns})
    ids, classes = (
        None if getattr(parts[0], name) is None else np.concatenate([getattr(part, name) for part in parts])
        for name in ("ids", "classes")
    )
    numbers = np.concatenate([first[j] + part.at for j, part in zip(some, parts, strict=True)])
    return Rows(X, np.concatenate([part.tasks for part in parts]), ids, classes, numbers)


def _as_one(column: Any, parts: Sequence[Any]) -> Any:
    """Make a column of several pieces: of numbers, if some hold numbers and others texts that can be read as such."""
    import pandas as pd

    if column.dtype.kind != "O" or not any(part.dtype.kind in "iuf" for part in parts):
        return column
    found = pd.to_numeric(column, errors="coerce")
    return found if found.notna().sum() == column.notna().sum() else column


def pick(piece: Piece, rules: Rules, wanted: dict[str, Array] | Array) -> Rows:
    """Take some rows of a piece: positions among all that are used, or among those of each task."""
    rows = read_rows(piece, rules)
    if isinstance(wanted, dict):
        found = [np.flatnonzero(rows.tasks == task)[at] for task, at in wanted.items()]
        wanted = np.sort(np.concatenate(found))
    ids, classes = (None if values is None else values[wanted] for values in (rows.ids, rows.classes))
    return Rows(rows.X.iloc[wanted].copy(), rows.tasks[wanted], ids, classes, rows.at[wanted])


def statistics(table: Pieces, preprocessor: TablePreprocessor, doubtful: Sequence[str]) -> Statistics:
    """Add up all rows."""
    from dask import delayed

    from ...engines.dask import total

    how = delayed((table.rules, preprocessor, table.tasks, tuple(doubtful)), traverse=False, pure=False)
    return total([delayed(statistics_here)(piece, how) for piece in table.pieces])


def statistics_here(piece: Piece, how: tuple[Rules, TablePreprocessor, list[str], tuple[str, ...]]) -> Statistics:
    """Compute the statistics of a piece."""
    rules, preprocessor, tasks, doubtful = how
    names = [str(name) for name in preprocessor.feature_names_in_]
    rows = read_rows(piece, rules, [*names, *doubtful], ())
    X, codes = without_missing(rows, rules), np.searchsorted(tasks, rows.tasks)
    try:
        return statistics_of(preprocessor, X[names], codes, len(tasks), X[list(doubtful)])
    except TableError as error:
        raise refused(error, piece, rows.at) from error


def prepared_here(piece: Piece, how: tuple[Rules, TablePreprocessor, Any]) -> Array:
    """Compute the numbers that are clustered of the rows of a piece."""
    rules, preprocessor, dtype = how
    names = [str(name) for name in preprocessor.feature_names_in_]
    rows = read_rows(piece, rules, names, ())
    if not len(rows.at):
        return np.zeros((0, len(preprocessor.get_feature_names_out())), dtype=dtype)
    try:
        found = preprocessor.transform(without_missing(rows, rules), tasks=rows.tasks)
    except TableError as error:
        raise refused(error, piece, rows.at) from error
    return np.ascontiguousarray(found, dtype=dtype)


def tasks_here(piece: Piece, rules: Rules) -> Array:
    """Find the tasks of the rows of a piece."""
    return read_rows(piece, rules, rules.names[:1] if rules.roles.task is None else [], ()).tasks


def store_here(piece: Piece, number: int, how: Any, folder: Path) -> tuple[str, str]:
    """Write files with the prepared rows of a piece, and with their tasks."""
    X, tasks = folder / f"rows-{number}.npy", folder / f"tasks-{number}.npy"
    np.save(X, prepared_here(piece, how))
    np.save(tasks, tasks_here(piece, how[0]))
    return str(X), str(tasks)


def unseen(table: Pieces, preprocessor: TablePreprocessor) -> dict[str, dict[str, int]]:
    """Categories that were not in the fit, and how many rows have each, by column."""
    from dask import compute, delayed

    from ...engines.dask import run

    if not preprocessor.categories_:
        return {}
    how = delayed((table.rules, preprocessor), traverse=False, pure=False)
    [parts] = run(compute, [delayed(unseen_here)(piece, how) for piece in table.pieces])
    found: dict[str, dict[str, int]] = {}
    for part in parts:
        for name, own in part.items():
            for value, n in own.items():
                found.setdefault(name, {})[value] = found.get(name, {}).get(value, 0) + n
    return found


def unseen_here(piece: Piece, how: tuple[Rules, TablePreprocessor]) -> dict[str, dict[str, int]]:
    """Count the same of a piece."""
    rules, preprocessor = how
    rows = read_rows(piece, rules, preprocessor.categories_, ())
    return preprocessor.unseen_categories(without_missing(rows, rules))


def check_sizes(table: Pieces, found: Statistics) -> None:
    """Files must not change while they are read."""
    if found.n_rows != table.n_rows:
        raise InputError(f"{table.name}: the files were changed while they were read; fit again.")
