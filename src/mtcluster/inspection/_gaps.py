"""What is missing: values, columns that some tasks lack, and rows without any value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.fitted import Fitted
from ._words import count, listed, named, percent

NOTABLE = 0.05  # share of missing values in a task from which a column is listed
LISTED_COLUMNS = 20  # columns that are listed
GROUPS = 30  # groups of columns that the same tasks have
NAMES = 12  # columns of a group that are named


def missing_of(fitted: Fitted, features: Sequence[Any], tasks: Sequence[Any]) -> dict[str, Any] | None:
    """Tell what a model knows about missing values, in plain values; None if nothing is missing."""
    if not np.any(fitted.missing > 0):
        return None
    shares, has, rows = fitted.missing, fitted.has, fitted.sizes.sum(axis=1)
    own = [round(float(share[mask].mean()), 6) if mask.any() else 1.0 for share, mask in zip(shares, has, strict=True)]
    return {
        "share": round(float(rows @ shares.mean(axis=1) / rows.sum()), 6),
        "tasks": [
            {"task": task, "features": int(mask.sum()), "missing": share}
            for task, mask, share in zip(tasks, has, own, strict=True)
        ],
        "columns": _columns(shares, has, features),
        "mosaic": None if has.all() else _mosaic(has, features),
    }


def _columns(shares: Array, has: Array, features: Sequence[Any]) -> list[dict[str, Any]]:
    """List the columns with most missing values in a task that has them, and their shares by task; None: not there."""
    most = np.where(has, shares, 0).max(axis=0)
    order = [j for j in np.argsort(-most, kind="stable").tolist() if most[j] >= NOTABLE][:LISTED_COLUMNS]
    return [
        {
            "name": features[j],
            "missing": [round(float(s), 6) if h else None for s, h in zip(shares[:, j], has[:, j], strict=True)],
        }
        for j in order
    ]


def _mosaic(has: Array, features: Sequence[Any]) -> dict[str, Any]:
    """Tell which task has which columns: those that all, some and one have, and groups that the same tasks have."""
    n, m = has.sum(axis=0), len(has)
    groups: dict[bytes, list[int]] = {}
    for j in range(has.shape[1]):
        groups.setdefault(has[:, j].tobytes(), []).append(j)
    order = sorted(groups.values(), key=lambda own: (-int(n[own[0]]), -len(own), own[0]))
    return {
        "all": int(np.sum(n == m)),
        "some": int(np.sum((n > 1) & (n < m))),
        "one": int(np.sum(n == 1)),
        "groups": [
            {
                "n_tasks": int(n[own[0]]),
                "n_columns": len(own),
                "tasks": np.flatnonzero(has[:, own[0]]).tolist(),
                "names": [features[j] for j in own[:NAMES]],
            }
            for own in order[:GROUPS]
        ],
        "groups_left_out": max(len(order) - GROUPS, 0),
    }


def missing_sentences(found: dict[str, Any] | None, quote: Callable[[Any], str]) -> list[str]:
    """Say what is missing; `quote` writes the name of a task or column."""
    if found is None:
        return []
    lines, mosaic = [], found["mosaic"]
    own, tasks = [task["missing"] for task in found["tasks"]], [quote(task["task"]) for task in found["tasks"]]
    if mosaic is not None:
        parts = [
            f"{count(mosaic[key], 'column')} {'is' if mosaic[key] == 1 else 'are'} in {where}"
            for key, where in (("all", "all tasks"), ("some", "some"), ("one", "one only"))
            if mosaic[key]
        ]
        lines.append(f"Tasks have different columns: {listed(parts)}. What a task lacks counts nothing in it.")
    if max(own) > 0:
        least, most = (int(f(own)) for f in (np.argmin, np.argmax))
        low, high = percent(own[least]), percent(own[most])
        across = (
            f": from {low} in task {tasks[least]} to {high} in task {tasks[most]}"
            if low != high
            else f": {low} in each task"
        )
        where = " of the columns that tasks have" if mosaic is not None else ""
        line = f"Missing values{where}{across if len(own) > 1 else f': {percent(own[0])}'}."
        heavy = [quote(column["name"]) for column in found["columns"][:3]]
        lines.append(line + (f" Most are missing in {named('column', heavy)}." if heavy else ""))
    return lines
