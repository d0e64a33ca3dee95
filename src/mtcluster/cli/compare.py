"""`mtcluster compare`: several methods on the same rows, side by side."""

from __future__ import annotations

from argparse import Namespace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from .._utils.tables import Table
from ..core.arrays import Array
from . import folder, modelling
from .console import Console
from .errors import InputError
from .methods import METHODS
from .modelling import FITTING, READING, Prepared

MEANINGS = {
    "accuracy": "share of rows that agree with the known classes, clusters matched per task, mean over tasks.",
    "nmi": "normalised mutual information with the known classes, mean over tasks.",
    "joint_accuracy": "the same share with one matching of clusters and classes for all tasks.",
    "correspondence": "how similar clusters with the same number are across tasks, from 0 to 1.",
    "follows_task": "how far clusters follow the tasks instead of a shared structure, from 0 to 1.",
    "stability": "share of rows that stay in their cluster when fitted from other starts.",
    "like_first": "agreement with the first method (adjusted Rand index).",
}


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Fit each method, and score it if classes are known."""
    unknown = [name for name in arguments.methods if name not in METHODS]
    if unknown or not arguments.methods:
        raise InputError(f"--methods {','.join(unknown) or '(nothing)'}: choose from {', '.join(METHODS)}.")
    with console.working(READING + FITTING * (1 + arguments.restarts) * len(arguments.methods)):
        rows = modelling.prepare(arguments, console)
        if arguments.label is not None and not modelling.scores_of(rows, np.zeros(len(rows.data), dtype=int)):
            raise InputError(f"--label {arguments.label}: the column holds one value only, so nothing can be scored.")
        with modelling.noted() as notes:
            n_clusters, chosen = modelling.number_of_clusters(arguments, rows, console)
        results, first = [], None
        for method in arguments.methods:
            result, labels = _result(method, n_clusters, rows, arguments, console)
            first = labels if first is None else first
            results.append(result | {"like_first": float(adjusted_rand_score(first, labels))})
    table = Table.from_rows(results)
    if arguments.out is not None:
        with folder.new_file(arguments.out, force=arguments.force) as out:
            folder.write_csv(out, dict(table))
    return {
        "n_clusters": n_clusters,
        "n_rows": len(rows.data),
        "table": table.rows(),
        "notes": [*rows.data.notes, *rows.preprocessor.describe(), *chosen, *notes],
    }


def lines(result: dict[str, Any]) -> list[str]:
    """The result as printed."""
    table = Table.from_rows(result["table"])
    key = [f"{name}: {meaning}" for name, meaning in MEANINGS.items() if name in table]
    return [f"{result['n_rows']} rows, {result['n_clusters']} clusters.", *result["notes"], "", str(table), "", *key]


def _result(
    method: str, n_clusters: int, rows: Prepared, arguments: Namespace, console: Console
) -> tuple[dict[str, Any], Array]:
    began = perf_counter()
    with modelling.noted():
        model, described = modelling.fit_model(arguments, method, n_clusters, rows, console)
        seconds = perf_counter() - began
        stability = modelling.stability_of(model, rows, arguments, console)
    R, m = described.task_relatedness_, len(described.tasks_)
    result: dict[str, Any] = {
        "method": method,
        **modelling.scores_of(rows, described.labels_),
        "correspondence": float((R.sum() - m) / (m * (m - 1))) if m > 1 else 1.0,
        "follows_task": float(normalized_mutual_info_score(rows.tasks, described.labels_)),
    }
    if stability is not None:
        result["stability"] = stability.agreement
    return result | {"seconds": seconds}, described.labels_
