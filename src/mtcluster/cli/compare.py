"""`mtcluster compare`: several methods on the same rows, side by side."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score

from .._utils.tables import Table
from .._utils.text import count, listed
from ..core.arrays import Array, has_gaps
from ..inspection._certainty import plain_selection
from ..inspection._judgement import judge_labels
from ..inspection._vocabulary import group_word, in_words, plural
from . import folder, modelling
from .cleaning import told
from .console import Console
from .errors import InputError
from .methods import METHODS
from .preparing import READING, Prepared, prepare, told_without_values

COLUMNS = {
    "accuracy": "rows that agree with the known classes",
    "explained": "spread within {tasks} that is explained",
    "correspondence": "the same, relative to own clusters",
    "cost": "what is left, lowest is best",
    "stability": "rows kept in refits",
    "like_first": "agreement with the first",
}  # that are printed, and what they mean; all are in the file and in JSON
PRINTED = ("method", *COLUMNS, "verdict", "seconds")
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
            filled, told_filled = _filled(arguments.methods, rows)
            n_clusters, selection = modelling.number_of_clusters(arguments, rows, console)
        results, first = [], None
        for method in arguments.methods:
            own = rows if METHODS[method].missing else filled
            result, labels = _result(method, n_clusters, own, arguments, console)
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
        "group": group_word(rows.roles.task),
        "table": table.rows(),
        "judgement": judgement(results),
        "selection": plain_selection(selection),
        "notes": [*said, *told_filled, *modelling.told_number(selection), *notes],
    }


def _filled(methods: list[str], rows: Prepared) -> tuple[Prepared, list[str]]:
    """Fill missing values for the methods that cannot take them, by the median of their column, and say so."""
    unable = [name for name in methods if not METHODS[name].missing]
    if not has_gaps(rows.X) or not unable:
        return rows, []
    X = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(rows.X)
    return replace(rows, X=X), [
        f"Missing values filled by medians for {listed(unable, final=' and ')}, which cannot take them."
    ]


def judgement(results: list[dict[str, Any]]) -> str:
    """Find the method whose clusters describe the rows best, in words; empty if there is nothing to compare."""
    if len(results) < 2:
        return ""
    best = min(results, key=lambda result: result["cost"])
    others = [result for result in results if result is not best]
    near = [result["method"] for result in others if result["cost"] < best["cost"] + NEAR]
    sentence = (
        f"Judged by the rows alone, {best['method']} describes these tasks best: it explains "
        f"{100 * best['explained']:.0f} % of the spread within them."
    )
    if near:
        sentence += f" {listed(near)} {'is' if len(near) == 1 else 'are'} about as good."
    return sentence


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    table, word = Table.from_rows(result["table"]), result["group"]
    shown = Table({name: table[name] for name in PRINTED if name in table})
    key = [f"{name}: {meaning.format(tasks=plural(word))}" for name, meaning in COLUMNS.items() if name in table]
    said = [in_words(result["judgement"], word), ""] if result["judgement"] else []
    top = f"{result['n_rows']} rows, {count(result['n_clusters'], 'cluster')}."
    filled = [note for note in result["notes"] if note.startswith("Missing values filled")]
    return [top, *filled, "", *said, str(shown), "", f"{'; '.join(key)}."]


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
