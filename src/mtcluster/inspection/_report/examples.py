"""Single rows: the map, the outliers and the most typical rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import PRESENT, Subject
from .._words import CELL, number, plain, rounded, text, whole
from .columns import Columns, Field

POINTS = 20_000  # points of the map: more are neither distinguishable nor quick to draw
STEPS = 9_999  # steps that an axis of the map is rounded to: finer than any screen
WIDE = 1.6  # ratio of a whole axis to its central part above which the first view shows the central part alone
EXTREMES = 50  # rows of the table of outliers
TYPICAL = 3  # rows shown per cluster
SHOWN_COLUMNS = 12  # columns of the user's table that are shown
ID_BYTES = 2_000_000  # of all identifiers on the map, so that the page stays below 5 MB
ID_LENGTHS = (80, 60, 40, 30, 20, 12)  # tried in turn

Cells = Callable[[list[int]], Sequence[dict[str, Any]]]


def rows_map(
    subject: Subject, ids: Sequence[Any] | None, easy: Array, outlying: Array, confidence: Array | None
) -> dict[str, Any]:
    """Write coordinates of the rows as integers, by columns, and the part of each axis in the first view."""
    found, (rows, at) = subject.rows, subject.map
    new = subject.joined[found.tasks[rows]] & (found.losses[rows] > 0)  # what no cluster explains, but has values
    some = (found.labels[rows] >= 0) | new
    if some.any():
        rows, at = rows[some], at[some]
    if len(rows) > POINTS:
        some = np.sort(np.random.default_rng(0).choice(len(rows), POINTS, replace=False))
        rows, at = rows[some], at[some]
    names = [f"Direction {i + 1}" for i in range(at.shape[1])]
    if at.shape[1] == 1:
        at = np.column_stack([at, np.sqrt(np.maximum(found.losses[rows], 0))])
        names.append("Distance from the centre (root of the loss)")
    low, high = at.min(axis=0), at.max(axis=0)
    high = np.where(high > low, high, low + 1)
    codes, n = np.rint(STEPS * (at - low) / (high - low)).astype(int), len(found.labels)
    return plain(
        {
            "axes": [
                {"name": name, "low": low[i], "high": high[i], "at": codes[:, i].tolist()}
                | dict(zip(("from", "to"), middle(codes[:, i]), strict=True))
                for i, name in enumerate(names)
            ],
            "steps": STEPS,
            "row": None if len(rows) == n else rows.tolist(),
            "ids": None if ids is None else short_ids([ids[i] for i in rows]),
            "cluster": found.labels[rows].tolist(),
            "task": found.tasks[rows].tolist(),
            "easiness": np.rint(100 * easy[rows]).astype(int).tolist(),
            "outlier": rounded(outlying[rows], 3),
            "confidence": None if confidence is None else np.rint(100 * confidence[rows]).astype(int).tolist(),
            "note": _note(len(rows), found.labels[rows], found.labels, subject.n_rows),
        }
    )


def _note(n_shown: int, drawn: Array, labels: Array, n: int) -> str:
    """Say how many of n rows the map shows, and why not all."""
    known = n - int(np.count_nonzero(labels < 0)) + int(np.count_nonzero(drawn < 0))
    if n_shown == n:
        return f"All {whole(n)} rows are shown."
    note = f"{whole(n_shown)} of {whole(n)} rows are shown"
    if n_shown < known:
        note += ", a random sample of each task"
    return note + (". Others that belong to no cluster (-1) are not drawn." if known < n else ".")


def middle(codes: Array, steps: int = STEPS) -> tuple[int, int]:
    """Find the central part of an axis, without the few points that lie far out; the whole axis if none do."""
    low, high = np.quantile(codes, [0.01, 0.99])
    margin = max(0.25 * (high - low), 1)
    if steps <= WIDE * (high - low + 2 * margin):
        return 0, steps
    return max(int(low - margin), 0), min(int(high + margin), steps)


def short_ids(ids: Sequence[Any]) -> list[str]:
    """Write identifiers as text, all shortened alike until they fit into the page."""
    for longest in ID_LENGTHS:
        found = [text(value, longest) for value in ids]
        if sum(len(escape(name).encode()) + 4 for name in found) <= ID_BYTES:
            break
    return found


def most_typical(subject: Subject, outlying: Array) -> list[list[int]]:
    """Find for each cluster the rows with the lowest outlier scores, from different tasks in which it is present."""
    (m, c, _), fitted, labels = subject.shape, subject.fitted, subject.rows.labels
    holds = fitted.holds & (fitted.decided | (fitted.support >= PRESENT)) & fitted.shares[:, None]
    found = []
    for j in range(c):
        own = np.flatnonzero(labels == j)
        own = own[np.argsort(outlying[own], kind="stable")]
        tasks = np.flatnonzero(holds[:, j]) if holds[:, j].any() else range(m)
        best = [own[subject.rows.tasks[own] == k][:TYPICAL].tolist() for k in tasks]
        turns = [(turn, outlying[row], row) for rows in best for turn, row in enumerate(rows)]
        found.append([row for _, _, row in sorted(turns)[:TYPICAL]])
    return found


def describe_rows(
    subject: Subject, rows: list[int], ids: Sequence[Any] | None, easy: Array, outlying: Array, shown: dict[int, Any]
) -> list[dict[str, Any]]:
    """Make the entries of these rows in a table."""
    found = subject.rows
    paced = len(found.fractions) > 1
    return plain(
        [
            {
                "row": i,
                "id": f"row {i}" if ids is None else text(ids[i]),
                "task": found.tasks[i],
                "cluster": found.labels[i],
                "easiness": round(float(easy[i]), 4),
                "outlier": float(f"{outlying[i]:.3g}"),
                "admitted": float(found.admitted[i]) if paced else None,
                "cells": shown.get(i, {}),
            }
            for i in rows
        ]
    )


def cells_of(columns: Columns, why: dict[int, Any]) -> Cells | None:
    """Make a function that reads the cells of some rows from X; of many columns, those that are most often unusual."""
    fields = columns.fields
    if len(fields) > SHOWN_COLUMNS:
        often = Counter(name for one in why.values() for name in one["odd"])
        fields = sorted(fields, key=lambda field: -often[field.name])[:SHOWN_COLUMNS]

    def cells(rows: list[int]) -> list[dict[str, Any]]:
        values = {field.name: field.values for field in fields}
        return [{field.name: _cell(field, values[field.name][i]) for field in fields} for i in rows]

    return cells if fields else None


def _cell(field: Field, value: Any) -> str:
    if field.levels is not None:
        return field.levels[value] if value >= 0 else "–"
    return number(float(value)) if np.isfinite(value) else "–"


def read_cells(cells: Cells | None, rows: list[int]) -> dict[int, dict[str, str]]:
    """Read the user's own cells of some rows, by row, in one call."""
    if cells is None or not rows:
        return {}
    found = list(cells(rows))
    if len(found) != len(rows):
        raise ValueError(f"cells returned {len(found)} dicts for {len(rows)} rows: one dict per row is needed.")
    columns = list(dict.fromkeys(column for row in found for column in row))[:SHOWN_COLUMNS]
    return {
        i: {text(column): text(row[column], CELL) for column in columns if column in row}
        for i, row in zip(rows, found, strict=True)
    }
