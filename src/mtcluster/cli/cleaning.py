"""The rows of files, checked before they are clustered, and what is done about what was found."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._utils.text import count, listed
from ..core.arrays import Array
from ..preprocessing import Finding
from ..preprocessing._check import examined
from ..preprocessing._draft import Draft
from ..preprocessing._findings import lines_of, shown
from ..preprocessing._markers import without_markers
from ..preprocessing._spelling import plain_name
from ..preprocessing._written import POINTS, as_written, decimal_signs, decoded, has_decimals, holds_strings, reading_of
from .errors import InputError
from .readers import ColumnRoles, Dataset
from .readers.base import DELIMITED, kind_of

FEW = 5  # rows of a group of which nothing is told if a result is to be anonymous


@dataclass(frozen=True)
class Checking:
    """What is done about what a check finds, as options say."""

    missing: tuple[str, ...] | None = ()  # further texts that stand for missing values; None: only empty cells
    dates: tuple[str, ...] = ()  # what dates are turned into; empty: they are left out
    min_rows: int = 1
    drop_unnamed: bool = False
    drop_duplicates: bool = False
    keep_spelling: bool = False
    decimal: str | None = None  # the sign before decimals in texts that are numbers; None: decided by their values
    thousands: str | None = None  # the sign between thousands there, likewise; empty: none
    drop_rows: tuple[str, ...] = ()  # texts of cells whose rows are left out
    written: tuple[str, ...] = ()  # how numbers of columns of texts are written, as was decided in the fit

    @classmethod
    def of(cls, arguments: Namespace) -> Checking:
        """Those of the command line."""
        missing = tuple(arguments.missing or ())
        check_signs(arguments.decimal, arguments.thousands)
        return cls(
            missing=None if missing == ("none",) else missing,
            dates=tuple(arguments.dates or ()),
            min_rows=arguments.min_rows,
            drop_unnamed=arguments.drop_unnamed,
            drop_duplicates=arguments.drop_duplicates,
            keep_spelling=arguments.keep_spelling,
            decimal=arguments.decimal,
            thousands=arguments.thousands,
            drop_rows=tuple(arguments.drop_rows or ()),
        )


def check_signs(decimal: str | None, thousands: str | None) -> None:
    """Refuse one sign for two things."""
    if decimal is not None and decimal == thousands:
        raise InputError(f"--decimal and --thousands are both {decimal!r}: a sign has one meaning.")


def cleaned(
    data: Dataset, roles: ColumnRoles, checking: Checking, *, impute: str | None, scale: str, wanted: Sequence[str] = ()
) -> tuple[Dataset, list[Finding]]:
    """Tell what is left of the rows and columns, and all that was found; columns that are `wanted` are kept."""
    draft = Draft(
        X=data.X,
        names=list(data.names),
        tasks=data.tasks,
        ids=None if roles.id is None else data.ids,
        rows=np.arange(len(data)),
        wanted=frozenset((*roles.features, *wanted)),
        text=roles.text,
        impute=impute is not None,
        scale=scale if scale != "auto" else "standard" if data.is_table else "none",
        where=lambda row: _place(data, row),
        task_column=f"column {roles.task!r}",
        id_column=f"column {roles.id!r}",
        typed=not all(kind_of(path) in DELIMITED for path in data.files),
        **asdict(checking),
    )
    found = examined(draft)
    kept = replace(
        data,
        X=found.X.reset_index(drop=True) if data.is_table else found.X,
        names=draft.names,
        tasks=found.tasks,
        ids=data.ids[found.rows],
        classes=None if data.classes is None else data.classes[found.rows],
        rows=None if len(found.rows) == len(data) else found.rows,
        written=found.written,
    )
    return kept, sorted([*data.findings, *found.findings], key=lambda one: not one.stops)


def refuse_stops(findings: Sequence[Finding], name: str) -> None:
    """Raise one error for all that stops a fit."""
    stops = [one for one in findings if one.stops]
    if len(stops) == 1:
        [one] = stops
        raise InputError(" ".join(part for part in (f"{name}: {one.found}", one.done, one.option) if part))
    if stops:
        plain = [replace(one, stops=False) for one in stops]
        many = f"{name} cannot be clustered as it is; {count(len(stops), 'thing')} to change:"
        raise InputError("\n".join([many, *lines_of(plain)]))


def without_names(findings: Sequence[Finding]) -> list[Finding]:
    """Leave out of the findings names of rows and of small tasks."""
    named = ("ids", "small", "spelling", "written")
    return [
        replace(one, found=f"{one.found.split(':')[0].rstrip('.')}.") if one.kind in named else one for one in findings
    ]


def told(findings: Sequence[Finding]) -> list[str]:
    """Tell what was found and done, without what is told elsewhere."""
    return [f"{one.found} {one.done}" for one in findings if not one.stops and one.kind not in ("missing", "empty")]


def like_fit(
    data: Dataset, checking: Checking, tasks: Sequence[str], numbers: Sequence[str], *, drop_unnamed: bool
) -> tuple[Dataset, list[str]]:
    """New rows with numbers, markers of missing values and names of tasks as in the fit, and notes about them.

    `numbers` are columns that held numbers in the fit.
    """
    options = checking
    notes = []
    unnamed = _unnamed(data.tasks)
    if unnamed and (not drop_unnamed or len(unnamed) == len(data)):
        where = _place(data, unnamed[0])
        raise InputError(
            f"{data.name}: no task in {where}: every row needs one (--task); --drop-unnamed leaves such out."
        )
    if unnamed:
        data = _kept(data, np.setdiff1d(np.arange(len(data)), unnamed))
        notes.append(f"Left out, as they have no task: {count(len(unnamed), 'row')}.")
    if data.is_table:
        X, told = _read_like_fit(data, options, numbers)
        data, notes = replace(data, X=X), notes + told
    if data.is_table and options.missing is not None:
        found = {name: without_markers(data.X[name], options.missing) for name in data.X.columns}
        changed = {name: column for name, (column, counts) in found.items() if counts}
        if changed:
            data = replace(data, X=data.X.assign(**changed))
            notes.append(f"Texts that stand for missing values: {listed(map(shown, changed))}.")
    if data.tasks is not None and not options.keep_spelling:
        known = {plain_name(task): task for task in tasks}
        others = {name: known[plain_name(name)] for name in set(data.tasks) - set(tasks) if plain_name(name) in known}
        if others:
            data = replace(data, tasks=np.array([others.get(task, task) for task in data.tasks], dtype=object))
            pairs = listed(f"{name!r} as {known!r}" for name, known in sorted(others.items()))
            notes.append(f"Names of tasks that differ from those of the fit by case or blanks alone: {pairs}.")
    return data, notes


def _read_like_fit(data: Dataset, options: Checking, numbers: Sequence[str]) -> tuple[Any, list[str]]:
    """Read numbers that are written as texts: as in the fit where that is possible, else by their own values."""
    X, notes, before, changed = data.X, [], decoded(options.written), {}
    columns = [name for name in X.columns if name in numbers and holds_strings(X[name])]
    readings = {name: reading_of(X[name], options.missing) for name in columns}
    signs = decimal_signs(one for one in readings.values() if one is not None)
    if all(kind_of(path) in DELIMITED for path in data.files) and any(has_decimals(X[name]) for name in X.columns):
        signs.add(".")
    for name, one in readings.items():
        if one is None or one.plain:
            continue
        ways = one.asked_for(options.decimal, options.thousands)
        way = one.like(ways, before.get(name)) or one.chosen(ways, signs)
        if way is None:
            if len(ways) > 1:
                what = f"{one.example!r} as {one.shown(ways[0])} or as {one.shown(ways[1])}"
                say = f"say --decimal {ways[0].decimal} or --decimal {ways[1].decimal}"
                raise InputError(f"{data.name}: column {name!r} can be read in two ways, {what}: {say}.")
            continue
        changed[name] = as_written(X[name], way, options.missing)
        if way != before.get(name) and way != POINTS:
            notes.append(f"Column {name!r}: {one.example!r} is read as {one.shown(way)}.")
    return (X.assign(**changed) if changed else X), notes


def _unnamed(tasks: Array | None) -> list[int]:
    """Find the rows without a task."""
    return [] if tasks is None else [i for i, task in enumerate(tasks) if task is None or not str(task).strip()]


def _kept(data: Dataset, rows: Array) -> Dataset:
    """Take some of the rows."""
    return replace(
        data,
        X=data.X.iloc[rows].reset_index(drop=True) if data.is_table else data.X[rows],
        tasks=None if data.tasks is None else data.tasks[rows],
        ids=data.ids[rows],
        classes=None if data.classes is None else data.classes[rows],
        rows=rows,
    )


def _place(data: Dataset, row: int) -> str:
    path, number = data.place(row)
    return f"row {number}" + f" of {path.name}" * (len(data.files) > 1)
