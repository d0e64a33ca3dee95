"""Why a row is an outlier: the values that are unusual among those of its cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import Subject
from .columns import Columns, Field

UNUSUAL = 3.5  # distance from the median, in robust standard deviations, from which a number is unusual
RARE = 0.05  # share of a category in its cluster below which it is unusual
ENOUGH_NUMBERS, ENOUGH_CATEGORIES = 10, 20  # rows of a group that numbers are compared with, and categories
FIELDS = 300  # columns that are compared
NAMED_VALUES = 4  # unusual values of a row that are listed
UNEXPLAINED = 3.0  # outlier score from which a row without an unusual value needs an explanation
TOGETHER = "no single value, but their combination"
PHRASES = {True: "far above the others of its cluster", False: "far below the others of its cluster"}


def unusual(
    subject: Subject, columns: Columns, rows: list[int], outlying: Array, order: list[int]
) -> dict[int, dict[str, Any]]:
    """Find, for each of these rows, its unusual values by column, and a note if no single value explains its score.

    `order` are positions of features, those that separate the clusters most first.
    """
    fields = list(dict.fromkeys(columns.features[i].field for i in order))[:FIELDS] if columns.fields else []
    if not fields:
        return {}
    found: dict[int, list[tuple[float, str, str]]] = {row: [] for row in rows}
    groups = {row: _others(subject, row) for row in rows if subject.rows.labels[row] >= 0}
    for place in fields:
        field = columns.fields[place]
        values = field.values
        for row, group in groups.items():
            judged = _category(field, values, row, group) if field.levels else _number(values, row, group)
            if judged is not None:
                found[row].append((judged[0], field.name, judged[1]))
    whole = len(fields) == len(columns.fields)
    explain = {row: whole and outlying[row] >= UNEXPLAINED for row in found}
    return {row: _told(sorted(cells, reverse=True), explain[row]) for row, cells in found.items()}


def _told(cells: list[tuple[float, str, str]], explain: bool) -> dict[str, Any]:
    shown = {name: phrase for _, name, phrase in cells[:NAMED_VALUES]}
    return {"odd": shown, "note": TOGETHER if explain and not shown else None}


def _others(subject: Subject, row: int) -> Array:
    """Find the rows of the same cluster, in the same task if there are enough."""
    labels, tasks = subject.rows.labels, subject.rows.tasks
    same = labels == labels[row]
    own = same & (tasks == tasks[row])
    return np.flatnonzero(own if np.count_nonzero(own) >= ENOUGH_NUMBERS else same)


def _number(values: Array, row: int, group: Array) -> tuple[float, str] | None:
    """Tell how far a number is from the median of its group, in robust standard deviations."""
    own = values[group]
    own = own[np.isfinite(own)]
    if not np.isfinite(values[row]) or len(own) < ENOUGH_NUMBERS:
        return None
    away = values[row] - np.median(own)
    distances = np.abs(own - np.median(own))
    spread = 1.4826 * np.median(distances) or 1.2533 * distances.mean()  # of normal data, the standard deviation
    if spread == 0 or abs(away) <= UNUSUAL * spread:
        return None
    return abs(float(away / spread)), PHRASES[bool(away > 0)]


def _category(field: Field, values: Array, row: int, group: Array) -> tuple[float, str] | None:
    """Tell whether a category is rare in its group."""
    own = values[group]
    own = own[own >= 0]
    if values[row] < 0 or len(own) < ENOUGH_CATEGORIES:
        return None
    share = float(np.mean(own == values[row]))
    return (UNUSUAL * RARE / share, "rare in its cluster") if share < RARE else None
