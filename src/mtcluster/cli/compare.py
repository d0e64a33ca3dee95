"""`mtcluster compare`: several methods on the same rows, side by side."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from .._utils.tables import Table
from .._utils.text import count, listed
from ..certainty import MEANINGS
from ..core.arrays import Array, has_gaps
from ..inspection._certainty import plain_selection
from ..inspection._judgement import judge_labels
from . import folder, modelling
from .cleaning import told
from .console import Console
from .errors import InputError
from .methods import METHODS
from .preparing import READING, Prepared, prepare, told_without_values

COLUMNS = {
    "accuracy": "share of rows that agree with the known classes, clusters matched per task, mean over tasks.",
    "nmi": "normalised mutual information with the known classes, mean over tasks.",
    "joint_accuracy": "the same share with one matching of clusters and classes for all tasks.",
    "explained": "share of the spread within tasks that centres shared by all tasks explain, each task shifted as a "
    "whole; low if clusters are merely the tasks.",
    "correspondence": "what these shared centres explain, relative to centres of each task's own, from 0 to 1; tasks "
    "may hold different clusters.",
    "shift": "share of the spread of all rows that the shifts of tasks take; large shifts can make tasks with "
    "different clusters look alike.",
    "cost": "what the shared centres leave unexplained in each direction, as a logarithm, and a price of the shifts; "
    "the lower, the better they describe the rows.",
    "verdict": "how sure one can be of the clusters.",
    "stability": "share of rows that keep their cluster when the method is fitted again to halves of the rows.",
    "reference": "the same in data without clusters of the same shape, at most.",
    "like_first": "agreement with the first method (adjusted Rand index).",
}
NEAR = 0.01  # a difference of costs that says little


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Fit each method, and score it if classes are known."""
    unknown = [name for name in arguments.methods if name not in METHODS]
    if unknown or not arguments.methods:
        raise InputError(f"--methods {','.join(unknown) or '(nothing)'}: choose from {', '.join(METHODS)}.")
    for method in arguments.methods:
        METHODS[method].make(2, arguments.seed)  # a package that is missing is said before anything is read
    with console.working(READING + modelling.units_of(arguments, len(arguments.methods))):
        rows = prepare(arguments, console)
        if arguments.label is not None and not modelling.scores_of(rows, np.zeros(len(rows.data), dtype=int)):
            raise InputError(f"--label {arguments.label}: the column holds one value only, so nothing can be scored.")
        with modelling.noted() as notes:
            methods, skipped = _able(arguments.methods, rows)
            n_clusters, selection = modelling.number_of_clusters(arguments, rows, console)
        results, first = [], None
        for method in methods:
            result, labels = _result(method, n_clusters, rows, arguments, console)
            first = labels if first is None else first
            results.append(result | {"like_first": float(adjusted_rand_score(first, labels))})
    notes = told_without_values(notes, rows.data, rows.X)
    said = [*rows.data.notes, *told(rows.findings), *rows.preprocessor.describe()]
    table = Table.from_rows(results)
    if arguments.out is not None:
        with folder.new_file(arguments.out, force=arguments.force) as out:
            folder.write_csv(out, dict(table), raw=arguments.raw)
    return {
        "n_clusters": n_clusters,
        "n_rows": len(rows.data),
        "table": table.rows(),
        "judgement": judgement(results),
        "selection": plain_selection(selection),
        "notes": [*said, *skipped, *modelling.told_number(selection), *notes],
    }


def _able(methods: list[str], rows: Prepared) -> tuple[list[str], list[str]]:
    """Find the methods that can work with these rows, and a note about the others."""
    unable = [name for name in methods if has_gaps(rows.X) and not METHODS[name].missing]
    if len(unable) == len(methods):
        raise modelling.no_missing_values(f"--methods {','.join(methods)}", rows)
    note = f"Left out, as they cannot take missing values (--impute median fills these): {listed(unable)}."
    return [name for name in methods if name not in unable], [note] if unable else []


def judgement(results: list[dict[str, Any]]) -> str:
    """Find the method whose clusters describe the rows best, in words; empty if there is nothing to compare."""
    if len(results) < 2:
        return ""
    best = min(results, key=lambda result: result["cost"])
    others = [result for result in results if result is not best]
    near = [result["method"] for result in others if result["cost"] < best["cost"] + NEAR]
    sentence = (
        f"Judged by the rows alone, {best['method']} describes these tasks best: its clusters, shared by all tasks, "
        f"explain {100 * best['explained']:.0f} % of the spread within them, and shifts of whole tasks take "
        f"{100 * best['shift']:.0f} % of all spread."
    )
    if near:
        sentence += f" {listed(near)} {'is' if len(near) == 1 else 'are'} about as good."
    return sentence


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    table = Table.from_rows(result["table"])
    key = [f"{name}: {meaning}" for name, meaning in COLUMNS.items() if name in table]
    key += [f"{word}: {meaning}." for word, meaning in MEANINGS.items() if word in table.get("verdict", [])]
    said = [result["judgement"], ""] if result["judgement"] else []
    top = f"{result['n_rows']} rows, {count(result['n_clusters'], 'cluster')}."
    return [top, *result["notes"], "", str(table), "", *said, *key]


def _result(
    method: str, n_clusters: int, rows: Prepared, arguments: Namespace, console: Console
) -> tuple[dict[str, Any], Array]:
    began = perf_counter()
    with modelling.noted():
        model, described = modelling.fit_model(arguments, method, n_clusters, rows, console)
        seconds = perf_counter() - began
        found = modelling.stability_of(model, rows, arguments, console)
    judged = judge_labels(rows.X, described.labels_, tasks=rows.tasks)
    result: dict[str, Any] = {"method": method, **modelling.scores_of(rows, described.labels_), **asdict(judged)}
    if found is not None:
        most = float(found.reference.max())
        result |= {"verdict": found.verdict, "stability": float(found.overall), "reference": most}
    return result | {"seconds": seconds}, described.labels_
