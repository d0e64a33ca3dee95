"""`mtcluster compare`: several methods on the same rows, side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from .._utils.tables import Table
from ..core.arrays import Array
from . import folder, options
from .console import Console
from .modelling import DECIDING, METHODS, READING, fit_model, noted, number_of_clusters, read, scores_of, stability_of
from .readers import Collection, InputError

HELP = "several methods on the same files, side by side"
COMPARED = ("spmtc", "lssmtc", "kmeans", "kmeans-per-task")
MEANINGS = {
    "accuracy": "share of rows that agree with the known classes, mean over tasks, clusters matched in each.",
    "nmi": "normalised mutual information with the known classes, mean over tasks.",
    "joint_accuracy": "the same share with one matching for all tasks: do clusters correspond?",
    "correspondence": "how alike clusters of the same number lie in different tasks, from 0 to 1.",
    "follows_task": "how much clusters follow the data set instead of the structure, from 0 to 1.",
    "stability": "share of rows that get the same cluster again from other starts.",
    "like_first": "agreement with the first method (adjusted Rand index).",
}


def add_arguments(parser: ArgumentParser) -> None:
    """What can be asked for."""
    options.add_reading(parser)
    options.add_preparation(parser)
    parser.add_argument(
        "--methods", type=options.names, default=list(COMPARED), metavar="A,B",
        help=f"of {', '.join(METHODS)} (default {','.join(COMPARED)})",
    )  # fmt: skip
    options.add_clusters(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="CSV file to write the table to, too")
    options.add_saying(parser)


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Several methods on the same rows, side by side; scored where classes are known."""
    unknown = [name for name in arguments.methods if name not in METHODS]
    if unknown or not arguments.methods:
        raise InputError(f"--methods {','.join(unknown) or '(nothing)'}: known are {', '.join(METHODS)}.")
    with console.working(READING + DECIDING * (1 + arguments.restarts) * len(arguments.methods)):
        rows, preparation, X = read(arguments, console)
        tasks = np.asarray(rows.tasks, dtype=str)
        if arguments.label is not None and not scores_of(rows, np.zeros(len(rows), dtype=int), tasks):
            raise InputError(
                f"--label {arguments.label}: the column holds one value alone, so nothing can be scored by it."
            )
        with noted() as notes:
            n_clusters, chosen = number_of_clusters(arguments, X, tasks, console)
        lines, first = [], None
        for method in arguments.methods:
            line, labels = _compared(method, n_clusters, X, tasks, rows, arguments, console)
            first = labels if first is None else first
            lines.append(line | {"like_first": float(adjusted_rand_score(first, labels))})
    table = Table.from_rows(lines)
    if arguments.out is not None:
        with folder.new_file(arguments.out, force=arguments.force) as out:
            folder.write_csv(out, dict(table))
    return {
        "n_clusters": n_clusters,
        "n_rows": len(rows),
        "table": table.rows(),
        "notes": [*rows.notes, *preparation.lines(), *filter(None, [chosen]), *notes],
    }


def lines(told: dict[str, Any]) -> list[str]:
    """The result in words."""
    table = Table.from_rows(told["table"])
    key = [f"{name}: {meaning}" for name, meaning in MEANINGS.items() if name in table]
    return [f"{told['n_rows']} rows, {told['n_clusters']} clusters.", *told["notes"], "", str(table), "", *key]


def _compared(
    method: str, n_clusters: int, X: Any, tasks: Array, rows: Collection, arguments: Namespace, console: Console
) -> tuple[dict[str, Any], Array]:
    began = perf_counter()
    with noted():
        model, described = fit_model(arguments, n_clusters, X, tasks, console, method=method)
        passed = perf_counter() - began
        stability = stability_of(model, X, tasks, arguments.restarts, arguments.seed, console)
    line: dict[str, Any] = {"method": method} | scores_of(rows, described.labels_, tasks)
    R, m = described.task_relatedness_, len(described.tasks_)
    line |= {
        "correspondence": float((R.sum() - m) / (m * (m - 1))) if m > 1 else 1.0,
        "follows_task": float(normalized_mutual_info_score(tasks, described.labels_)),
    }
    if stability is not None:
        line["stability"] = stability.agreement
    return line | {"seconds": passed}, described.labels_
