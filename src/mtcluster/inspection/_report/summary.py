"""The summary of a fitted model: a plain dict with everything that a report says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from .._certainty import check_stability
from .._explanation import describe, relatedness_sentence
from .._fitted import PER_ROW, PER_TASK, comparable, n_rows_of, on_host, sharing, without_rows
from .._gaps import missing_of, missing_sentences
from .._outliers import easiness, outlier_scores
from .._words import count, plain, quoted, rounded, text
from . import certainty, clusters, course, examples
from .advice import FAR, advise


def summarize(
    model: Any,
    ids: Any,
    feature_names: Any,
    title: Any,
    data: Any,
    cells: Any,
    stability: Any,
    selection: Any,
    settings: Any,
) -> dict[str, Any]:
    """Everything that a report says, in dicts, lists, strings and finite numbers; parameters as in `make_report`."""
    if not hasattr(model, "labels_"):
        raise NotFittedError(f"This {type(model).__name__} instance is not fitted yet: call its fit first.")
    if settings is None:
        settings = model.get_params(deep=False)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    model = on_host(model, PER_TASK + PER_ROW)
    model.feature_names_in_ = feature_names
    (m, c, d), n, names = model.task_centers_.shape, len(model.labels_), [text(task) for task in model.tasks_.tolist()]
    check_stability(stability, c, n)
    _check_length("ids", ids, n, "row")
    _check_length("feature_names", feature_names, d, "feature")
    called = [f"feature {i}" for i in range(d)] if feature_names is None else [text(name) for name in feature_names]
    alike, known = "There is one task, so there is nothing to compare.", comparable(model) | np.eye(m, dtype=bool)
    if m > 1:
        alike = relatedness_sentence(model.task_relatedness_, known, [quoted(name) for name in names])
    sizes, features = clusters.sizes(model, names), clusters.features(model, called)
    found = {
        "title": text(title, 200) if title else f"{count(model.n_clusters_, 'cluster')} in {count(m, 'data set')}",
        "method": text(model.method),
        "metric": model.metric_,
        "n_rows": n_rows_of(model),
        "n_features": d,
        "n_clusters": model.n_clusters_,
        "n_numbers": c,
        "n_tasks": m,
        "tasks": [
            {"name": name, "rows": sum(rows), "alone": k in sizes["alone"]}
            for k, (name, rows) in enumerate(zip(names, sizes["rows"], strict=True))
        ],
        "overview": _overview(model, data or {}),
        "changes": [] if model.changes_ is None else model.changes_.sentences,
        "drift": [] if model.drift_ is None else model.drift_.sentences,
        "sizes": sizes,
        "features": features,
        "missing": _missing(model, called, names),
        "relatedness": {"matrix": rounded(np.where(known, model.task_relatedness_, np.nan), 6), "sentences": [alike]},
        "course": course.course(model),
        "certainty": certainty.certainty(model, stability),
        "selection": certainty.numbers(model.selection_ if selection is None else selection),
        "decisions": [] if model.decisions_ is None else describe(model),
        "settings": settings,
    } | _examples(model, ids, cells, features, getattr(stability, "row_confidence", None))
    return plain(found | {"advice": advise(found)})


def _check_length(name: str, values: Any, wanted: int, of: str) -> None:
    if values is not None and len(values) != wanted:
        raise ValueError(f"{name} has {len(values)} entries for {count(wanted, of)}: one per {of} is needed.")


def _examples(
    model: Any, ids: Sequence[Any] | None, cells: Any, features: dict[str, Any], confidence: Any
) -> dict[str, Any]:
    """The map and the table of outliers; typical examples are added to the clusters."""
    easy, outlying = (f(model.losses_, model.task_indices_) for f in (easiness, outlier_scores))
    extreme = np.argsort(-outlying, kind="stable")[: examples.EXTREMES].tolist()
    typical = examples.most_typical(model, outlying)
    shown = examples.read_cells(cells, sorted({*extreme, *(row for rows in typical for row in rows)}))
    for cluster, rows in zip(features["clusters"], typical, strict=True):
        cluster["typical"] = examples.describe_rows(model, rows, ids, easy, outlying, shown)
    return {
        "map": examples.rows_map(model, ids, easy, outlying, confidence) | {"words": clusters.neighbours(model)},
        "examples": {
            "rows": examples.describe_rows(model, extreme, ids, easy, outlying, shown),
            "columns": list(dict.fromkeys(column for i in extreme for column in shown.get(i, {}))),
            "far_share": float(np.mean(outlying >= FAR)),
        },
    }


def _missing(model: Any, features: list[str], names: list[str]) -> dict[str, Any] | None:
    """What is missing, and sentences about it."""
    found = missing_of(model, features, names)
    return found and found | {"sentences": missing_sentences(found, quoted)}


def _overview(model: Any, data: dict[str, Any]) -> dict[str, Any]:
    (m, _, d), c = model.task_centers_.shape, model.n_clusters_
    n = n_rows_of(model)
    rows = f"{count(n, 'example')} (rows) with {count(d, 'feature')} (columns)"
    away = int(np.count_nonzero(without_rows(model)))
    came = f"{rows} in {count(m - away, 'data set')}, {'each ' * (m - away > 1)}called a task here."
    if away:
        others = f"{count(away, 'other task')} of the model {'is' if away == 1 else 'are'} of earlier data"
        came += f" These are the new data. {others}: sizes count there too, but single examples are not shown."
    then = f"{model.method} divided {'the examples of all tasks' if away else 'them'} into {count(c, 'cluster')}"
    if len(model.objective_trace_) == 0:
        then = f"Labels from {model.method} divide them into {count(c, 'cluster')}; cluster numbers are those given"
    elif m > 1 and sharing(model).any():
        then += ", all tasks together: a cluster number stands for the same group in every task that has it"
    elif m > 1:
        then += ", each task on its own"
    part = (
        [
            f"The map, single examples and shares of outliers are those of a random sample of "
            f"{count(len(model.labels_), 'example')} (rows); numbers of rows in clusters are those of all."
        ]
        if n > len(model.labels_)
        else []
    )
    return {
        "sentences": [came, f"{then}.", *part],
        "lines": [text(line, 1000) for line in data.get("lines", [])],
        "files": [
            {"name": text(file["name"], 200), "rows": file.get("rows"), "bytes": file.get("bytes")}
            for file in data.get("files", [])
        ],
    }
