"""A fitted model as a plain dict: all that a report says, before it is a page."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from ...core.arrays import host
from .._explanation import ALIKE, describe
from .._outliers import easiness, outlier_scores
from . import clusters, course, examples
from .advice import FAR, advise
from .words import count, likeness, listed, plain, quoted, rounded, text

FITTED = (
    "labels_", "losses_", "tasks_", "task_indices_", "cluster_sizes_", "task_centers_", "shared_centers_", "subspace_",
    "task_offsets_", "task_scales_", "within_weight_", "task_relatedness_", "cluster_support_", "map_", "map_rows_",
    "fractions_", "admitted_", "weight_trace_",
)  # fmt: skip


def summarize(
    model: Any,
    *,
    ids: Sequence[Any] | None = None,
    feature_names: Sequence[Any] | None = None,
    title: str | None = None,
    data: dict[str, Any] | None = None,
    cells: examples.Cells | None = None,
    stability: Any = None,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """All that a report says about a fitted model, in dicts, lists, strings and finite numbers.

    Parameters
    ----------
    model : SPMTC, LSSMTC, ASI or LabelDescription
        Fitted; it is left as it is.
    ids : sequence of n, optional
        What to call the rows. None: by their numbers.
    feature_names : sequence of d, optional
        What to call the features. None: `model.feature_names_in_`, or by their numbers.
    title : str, optional
        Title of the report.
    data : dict, optional
        What the model was fitted on: "files", a list of dicts with "name", "rows" and "bytes", and "lines", sentences.
    cells : callable, optional
        Takes a list of row numbers and returns for each a dict of the user's own columns and cells; called once, for
        the rows that tables show.
    stability : dict or Stability, optional
        What `mtcluster.model_selection.restart_stability` found.
    settings : dict, optional
        Everything that was set. None: the parameters of the model.

    Returns
    -------
    summary : dict
        What `mtcluster.inspection.page.render` makes a page of.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> summary = summarize(SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks))
    >>> summary["n_rows"], summary["n_tasks"], summary["n_clusters"]
    (300, 3, 4)
    """
    if not hasattr(model, "labels_"):
        raise NotFittedError(f"model is a {type(model).__name__} that is not fitted: call its fit first.")
    model = _on_host(model)
    if is_dataclass(stability) and not isinstance(stability, type):
        stability = asdict(stability)
    n, names = len(model.labels_), [text(task) for task in model.tasks_.tolist()]
    called = _feature_names(model, feature_names)
    _check_length("ids", ids, n, "row")
    easy, outlying = (f(model.losses_, model.task_indices_) for f in (easiness, outlier_scores))
    extreme, typical = examples.most_outlying(outlying).tolist(), examples.most_typical(model, outlying)
    shown = examples.read_cells(cells, sorted({*extreme, *(row for rows in typical for row in rows)}))
    sizes, features = clusters.sizes(model, names), clusters.features(model, called)
    for cluster, rows in zip(features["clusters"], typical, strict=True):
        cluster["typical"] = examples.describe_rows(model, rows, ids, easy, outlying, shown)
    m, c, d = model.task_centers_.shape
    found = {
        "title": text(title, 200) if title else f"{count(c, 'cluster')} in {count(m, 'data set')}",
        "method": method_name(model),
        "n_rows": n,
        "n_features": d,
        "n_clusters": c,
        "n_tasks": m,
        "tasks": _tasks(model, names),
        "overview": _overview(model, data),
        "sizes": sizes,
        "features": features,
        "map": examples.rows_map(model, ids, easy, outlying) | {"words": clusters.neighbours(model)},
        "relatedness": relatedness(model, names),
        "examples": {
            "rows": examples.describe_rows(model, extreme, ids, easy, outlying, shown),
            "columns": list(dict.fromkeys(column for i in extreme for column in shown.get(i, {}))),
            "far_share": float(np.mean(outlying >= FAR)),
        },
        "course": course.course(model),
        "certainty": course.certainty(model, stability, names),
        "decisions": describe(model) if hasattr(model, "_evidence") else [],
        "settings": plain(settings if settings is not None else model.get_params(deep=False)),
    }
    return plain(found | {"advice": advise(found)})


def method_name(model: Any) -> str:
    """What the method is called: labels from elsewhere carry its name with them."""
    return text(getattr(model, "method", type(model).__name__))


def _on_host(model: Any) -> Any:
    """A copy whose arrays are NumPy's, wherever the model was fitted."""
    here = copy(model)
    for name in FITTED:
        setattr(here, name, host(getattr(model, name)))
    return here


def _check_length(name: str, values: Any, wanted: int, of: str) -> None:
    if values is not None and len(values) != wanted:
        raise ValueError(f"{name} has {len(values)} entries, but there are {count(wanted, of)}: one a {of} is needed.")


def _feature_names(model: Any, given: Sequence[Any] | None) -> list[str]:
    d = model.task_centers_.shape[2]
    _check_length("feature_names", given, d, "feature")
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    return [f"feature {i}" for i in range(d)] if given is None else [text(name) for name in given]


def _tasks(model: Any, names: list[str]) -> list[dict[str, Any]]:
    rows, together = clusters.counts(model).sum(axis=1), clusters.sharing(model)
    return [
        {"name": name, "rows": int(n), "alone": not shares}
        for name, n, shares in zip(names, rows, together, strict=True)
    ]


def _overview(model: Any, data: dict[str, Any] | None) -> dict[str, Any]:
    (m, c, d), method = model.task_centers_.shape, method_name(model)
    rows = f"{count(len(model.labels_), 'example')} (rows) with {count(d, 'feature')} (columns)"
    came = f"{rows} came in {count(m, 'data set')}, {'each ' if m > 1 else ''}called a task here."
    if len(model.objective_trace_) == 0:
        then = f"Labels from {method} put them into {count(c, 'cluster')}; the numbers of clusters are those given."
    elif m == 1:
        then = f"{method} divided them into {count(c, 'cluster')}."
    elif clusters.sharing(model).any():
        then = (
            f"{method} divided them into {count(c, 'cluster')}, all tasks together: a cluster's number stands "
            "for the same group in every task that has it."
        )
    else:
        then = f"{method} divided each task into {count(c, 'cluster')} by itself."
    data = data or {}
    return {
        "sentences": [came, then],
        "lines": [text(line, 1000) for line in data.get("lines", [])],
        "files": [
            {"name": text(file["name"], 200), "rows": file.get("rows"), "bytes": file.get("bytes")}
            for file in data.get("files", [])
        ],
    }


def relatedness(model: Any, names: list[str]) -> dict[str, Any]:
    """How alike the tasks are, and what to notice about it."""
    R = model.task_relatedness_
    pairs = [(float(R[i, j]), i, j) for i in range(len(R)) for j in range(i + 1, len(R))]
    if not pairs:
        line = "There is one task, so there is nothing to compare."
    elif len(pairs) == 1:
        value = pairs[0][0]
        line = f"The two tasks are {'alike' if value >= ALIKE else 'not much alike'}: {likeness(value)} of 1."
    else:
        (high, a, b), (low, e, f) = max(pairs), min(pairs)
        alike = sum(value >= ALIKE for value, _, _ in pairs)
        told = "All pairs of tasks are" if alike == len(pairs) else f"{alike} of {len(pairs)} pairs of tasks are"
        line = (
            f"{told} alike ({ALIKE:g} of 1 or more). Most alike are {listed([quoted(names[a]), quoted(names[b])])} "
            f"({likeness(high)}), least {listed([quoted(names[e]), quoted(names[f])])} ({likeness(low)})."
        )
    return {"matrix": rounded(R, 6), "sentences": [line]}
