"""How sure one can be of the clusters, and how their number was chosen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ...certainty import MEANINGS
from .._certainty import plain_selection, plain_stability, reason_of
from .._subject import Subject
from .._words import count, listed, percent, text

MEASURE = (
    "How sure one can be of the clusters was not measured: `mtcluster fit --refits 4` does it on the command line, "
    "mtcluster.model_selection.stability in Python."
)
MATCHED = (
    "How sure one can be of the clusters was not measured. How sure their matching is stands in “What was decided, and "
    "why”."
)


def certainty(subject: Subject, stability: Any) -> dict[str, Any]:
    """Tell the verdict and what it follows from, if that was measured."""
    found = plain_stability(stability)
    if found is None:
        how = MATCHED if subject.matching else MEASURE
        return {"verdict": None, "meaning": None, "overall": None, "reference": [], "sentences": [how],
                         "clusters": [], "tasks": [], "cells": [], "confidence": []}  # fmt: skip
    next_to, between = (found.get(name) or [] for name in ("next_to", "between"))
    clusters = [
        {
            "cluster": j,
            "stability": value,
            "next_to": next_to[j] if j < len(next_to) else None,
            "between": between[j] if j < len(between) else None,
        }
        for j, value in enumerate(found["cluster_stability"])
    ]
    tasks = [text(task) for task in found.get("tasks") or []]
    return {
        "verdict": found["verdict"],
        "meaning": MEANINGS[found["verdict"]],
        "overall": found["overall"],
        "reference": [value for value in found["reference"] if value is not None],
        "sentences": [text(line, 1000) for line in found.get("sentences") or []],
        "clusters": clusters,
        "tasks": tasks if len(tasks) > 1 else [],
        "cells": found.get("cluster_task_stability") or [],
        "confidence": _confidence(found),
    }


def _confidence(found: dict[str, Any]) -> list[str]:
    """Say how many rows change their cluster in refits."""
    below, n = found.get("rows_below") or {}, found.get("n_refits")
    if not below or not n:
        return []
    told = [f"{percent(share)} in less than {percent(float(bound))}" for bound, share in below.items()]
    return [f"Rows that keep their cluster in few of the {count(n, 'refit')}: {listed(told)} of them."]


def numbers(selection: Any, stability: Any = None) -> dict[str, Any] | None:
    """List the numbers of clusters that were compared, and what splits into what between those that are supported."""
    found = plain_selection(selection)
    if found is None:
        return None
    levels: dict[tuple[int, int], dict[int, list[dict[str, Any]]]] = {}
    for row in found["tree"]:
        splits = levels.setdefault((row["coarse"], row["fine"]), {})
        splits.setdefault(row["parent"], []).append({"child": row["child"], "share": row["share"]})
    return {
        "n_clusters": found["n_clusters"],
        "named": found["named"],
        "reason": text(reason_of(SimpleNamespace(**found), stability), 1000),
        "table": [_measured(row, plain_stability(stability)) for row in found["table"]],
        "tree": [
            {
                "coarse": coarse,
                "fine": fine,
                "splits": [
                    {"parent": parent, "parts": sorted(parts, key=lambda part: -part["share"])}
                    for parent, parts in sorted(splits.items())
                ],
            }
            for (coarse, fine), splits in levels.items()
        ],
    }


def _measured(row: dict[str, Any], stability: dict[str, Any] | None) -> dict[str, Any]:
    """Tell for the number of clusters of this fit what was measured for the fit itself."""
    if stability is None or len(stability["cluster_stability"]) != row["n_clusters"]:
        return row
    known = [value for value in stability["cluster_stability"] if value is not None]
    return row | {"stability": stability["overall"], "weakest": min(known, default=None)}
