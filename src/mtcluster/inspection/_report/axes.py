"""Further axes and colours of the map: principal axes of the rows, and features that separate the clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from .columns import Columns, Field
from .examples import middle

MAPPED_FEATURES = 12  # features on the map
MOST_CODES = 160_000  # values of features on the map, so that the page stays small
FEATURE_STEPS = 999  # steps that a feature is rounded to
PRINCIPAL = 3  # principal axes
WIDEST = 1_000  # features from which there are no principal axes
TOLD_APART = 24  # categories of a column that can be told apart


def further_axes(columns: Columns, order: list[int], rows: Array) -> list[dict[str, Any]]:
    """Principal axes and features of these rows; `order` are positions of features, the most separating first."""
    if not columns.features:
        return []
    most = min(MAPPED_FEATURES, max(MOST_CODES // max(len(rows), 1) - PRINCIPAL, 1))
    return [*_principal(columns, rows), *_features(columns, order, rows, most)]


def _features(columns: Columns, order: list[int], rows: Array, most: int) -> list[dict[str, Any]]:
    if not columns.fields:
        return [_axis(columns.features[i].name, columns.features[i].read()[rows], "number") for i in order[:most]]
    fields = list(dict.fromkeys(columns.features[i].field for i in order))
    shown = [columns.fields[i] for i in fields]
    shown = [field for field in shown if field.levels is None or len(field.levels) <= TOLD_APART][:most]
    return [
        _axis(field.name, field.values[rows], "number") if field.levels is None else _levels(field, rows)
        for field in shown
    ]


def _levels(field: Field, rows: Array) -> dict[str, Any]:
    codes = field.values[rows]
    return {
        "name": field.name,
        "kind": "category",
        "levels": field.levels,
        "at": [int(code) if code >= 0 else None for code in codes],
    }


def _axis(name: str, values: Array, kind: str) -> dict[str, Any]:
    """Write numbers as integers from 0 to `FEATURE_STEPS`, with the part seen first, and that of the colours."""
    some = np.isfinite(values)
    known = values[some] if some.any() else np.zeros(1)
    low, high = float(known.min()), float(known.max())
    high = high if high > low else max(low + 1, float(np.nextafter(low, np.inf)))
    codes = np.rint(FEATURE_STEPS * (np.where(some, values, low) - low) / (high - low)).astype(int)
    first, last = (int(code) for code in np.quantile(codes[some], [0.01, 0.99])) if some.any() else (0, FEATURE_STEPS)
    start, end = middle(codes[some], FEATURE_STEPS) if some.any() else (0, FEATURE_STEPS)
    return {
        "name": name,
        "kind": kind,
        "low": low,
        "high": high,
        "steps": FEATURE_STEPS,
        "from": start,
        "to": end,
        "ramp": [first, max(last, first + 1)],
        "at": [int(code) if there else None for code, there in zip(codes, some, strict=True)],
    }


def _principal(columns: Columns, rows: Array) -> list[dict[str, Any]]:
    """Compute the first principal axes of the standardised numbers; missing values are at the mean."""
    numbers = [feature for feature in columns.features if feature.kind == "number"]
    if not 2 < len(numbers) <= WIDEST:
        return []
    Z = np.column_stack([_standardised(feature.read()[rows]) for feature in numbers])
    values, vectors = np.linalg.eigh(Z.T @ Z / max(len(Z), 1))
    axes = []
    for i in range(min(PRINCIPAL, len(numbers))):
        share, direction = values[-1 - i] / max(values.sum(), 1e-300), vectors[:, -1 - i]
        direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
        axes.append(_axis(f"Principal axis {i + 1} ({100 * share:.0f} % of the variance)", Z @ direction, "principal"))
    return axes


def _standardised(values: Array) -> Array:
    some = np.isfinite(values)
    if not some.any():
        return np.zeros(len(values))
    found = np.where(some, values - values[some].mean(), 0.0)
    spread = np.sqrt(np.mean(found[some] ** 2))
    return found / spread if spread > 0 else found
