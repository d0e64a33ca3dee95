"""Single examples: the map, the hardest, the most outlying and the most typical ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.arrays import Array
from .._explanation import PRESENT
from .clusters import sharing
from .words import CELL, embedded, plain, rounded, text, whole

POINTS = 20_000  # of the map: more are neither told apart nor drawn quickly
STEPS = 9_999  # that an axis of the map is rounded to: finer than any screen
WIDE = 1.6  # times the part of an axis that holds nearly all rows: from there on the rest is left out at first
EXTREMES = 50  # rows of the table of outlying examples
TYPICAL = 3  # rows that stand for a cluster
COLUMNS = 12  # of the user's table that are shown
ID_BYTES = 2_500_000  # of all identifiers on the map, so that the page stays below 5 MB
ID_LENGTHS = (80, 60, 40, 30, 20, 12)  # tried in turn

Cells = Callable[[list[int]], Sequence[dict[str, Any]]]


def rows_map(model: Any, ids: Sequence[Any] | None, easy: Array, outlying: Array) -> dict[str, Any]:
    """Where the examples lie, in whole numbers and by columns, and which part of the map is looked at first."""
    rows, at = np.asarray(model.map_rows_), np.asarray(model.map_, dtype=np.float64)
    if len(rows) > POINTS:
        some = np.sort(np.random.default_rng(0).choice(len(rows), POINTS, replace=False))
        rows, at = rows[some], at[some]
    names = [f"Direction {i + 1}" for i in range(at.shape[1])]
    if at.shape[1] == 1:
        at = np.column_stack([at, np.sqrt(np.maximum(model.losses_[rows], 0))])
        names.append("Distance from the centre (root of the loss)")
    low, high = at.min(axis=0), at.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    codes = np.rint(STEPS * (at - low) / width).astype(int)
    n = len(model.labels_)
    return plain(
        {
            "axes": [
                {"name": name, "low": float(low[i]), "high": float(low[i] + width[i]), "at": codes[:, i].tolist()}
                | dict(zip(("from", "to"), middle(codes[:, i]), strict=True))
                for i, name in enumerate(names)
            ],
            "steps": STEPS,
            "row": None if len(rows) == n else rows.tolist(),
            "ids": None if ids is None else short_ids([ids[i] for i in rows]),
            "cluster": model.labels_[rows].tolist(),
            "task": model.task_indices_[rows].tolist(),
            "easiness": np.rint(100 * easy[rows]).astype(int).tolist(),
            "outlier": rounded(outlying[rows], 3),
            "note": _note(len(rows), n),
        }
    )


def _note(shown: int, n: int) -> str:
    if shown == n:
        return f"All {whole(n)} examples are shown."
    return f"{whole(shown)} of {whole(n)} examples are shown: some of every task, at random, none without weight."


def middle(codes: Array) -> tuple[int, int]:
    """The part of an axis that holds all but the few that lie far out; the whole axis if nothing does."""
    low, high = np.quantile(codes, [0.01, 0.99])
    margin = max(0.25 * (high - low), 1)
    if STEPS <= WIDE * (high - low + 2 * margin):
        return 0, STEPS
    return max(int(low - margin), 0), min(int(high + margin), STEPS)


def short_ids(ids: Sequence[Any]) -> list[str]:
    """Identifiers as text, shortened together until they take little room."""
    for longest in ID_LENGTHS:
        found = [text(value, longest) for value in ids]
        if len(embedded(found).encode()) <= ID_BYTES:
            break
    return found


def most_outlying(outlying: Array) -> Array:
    """The rows of the largest outlier scores, largest first; of equal ones the first."""
    return np.argsort(-outlying, kind="stable")[:EXTREMES]


def most_typical(model: Any, outlying: Array) -> list[list[int]]:
    """For each cluster the rows that fit best, from as many tasks as there are; of tasks that have it, if any has."""
    m, c, _ = model.task_centers_.shape
    present = (model.cluster_support_ >= PRESENT) & sharing(model)
    found = []
    for j in range(c):
        where = np.flatnonzero(present[j]) if present[j].any() else range(m)
        own = np.flatnonzero(model.labels_ == j)
        own = own[np.argsort(outlying[own], kind="stable")]
        best = [own[model.task_indices_[own] == k][:TYPICAL].tolist() for k in where]
        turns = [(turn, outlying[row], row) for rows in best for turn, row in enumerate(rows)]
        found.append([row for _, _, row in sorted(turns)[:TYPICAL]])
    return found


def describe_rows(
    model: Any, rows: Sequence[int], ids: Sequence[Any] | None, easy: Array, outlying: Array, shown: dict[int, Any]
) -> list[dict[str, Any]]:
    """What a table says of each of these rows."""
    paced = len(model.fractions_) > 1
    return plain(
        [
            {
                "row": int(i),
                "id": identifier(i, ids),
                "task": int(model.task_indices_[i]),
                "cluster": int(model.labels_[i]),
                "easiness": round(float(easy[i]), 4),
                "outlier": float(f"{outlying[i]:.3g}"),
                "admitted": float(model.admitted_[i]) if paced else None,
                "cells": shown.get(int(i), {}),
            }
            for i in rows
        ]
    )


def identifier(i: int, ids: Sequence[Any] | None) -> str:
    """What a row is called."""
    return f"row {i}" if ids is None else text(ids[i])


def read_cells(cells: Cells | None, rows: list[int]) -> dict[int, dict[str, str]]:
    """The user's own cells of some rows, by row, asked for once."""
    if cells is None or not rows:
        return {}
    found = list(cells(rows))
    if len(found) != len(rows):
        raise ValueError(f"cells returned {len(found)} rows when asked for {len(rows)}: one dict a row is needed.")
    columns = list(dict.fromkeys(column for row in found for column in row))[:COLUMNS]
    return {
        i: {text(column): text(row[column], CELL) for column in columns if column in row}
        for i, row in zip(rows, found, strict=True)
    }
