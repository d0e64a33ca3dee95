"""The summary of a fitted model: a plain dict with everything that a report says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from ...core.arrays import Array
from .._certainty import check_stability
from .._explanation import describe, relatedness_sentence
from .._fitted import PER_ROW, PER_TASK, comparable, n_rows_of, on_host, sharing, without_rows
from .._gaps import missing_of, missing_sentences
from .._meaning import meaning
from .._outliers import easiness, outlier_scores
from .._words import count, plain, quoted, rounded, text
from . import anonymous, certainty, clusters, course, examples
from .advice import FAR, advise
from .axes import further_axes
from .classes import class_table
from .columns import Columns, kinds_of, read_columns
from .distributions import LEVELS, MIDDLE, distributions
from .effects import Effects, effects_of, separation
from .oddness import unusual
from .units import InUnits, Units


@dataclass(frozen=True)
class Given:
    """What a report is made of beside the model; the parameters of `make_report`."""

    ids: Any = None
    feature_names: Any = None
    title: str | None = None
    data: dict[str, Any] | None = None
    cells: examples.Cells | None = None
    stability: Any = None
    selection: Any = None
    settings: dict[str, Any] | None = None
    X: Any = None
    in_units: InUnits | None = None
    classes: Sequence[Any] | None = None
    cluster_names: Mapping[Any, str] | None = None
    anonymous: bool = False


def summarize(model: Any, given: Given) -> dict[str, Any]:
    """Everything that a report says, in dicts, lists, strings and finite numbers."""
    if not hasattr(model, "labels_"):
        raise NotFittedError(f"This {type(model).__name__} instance is not fitted yet: call its fit first.")
    if given.settings is None:
        given = replace(given, settings=model.get_params(deep=False))
    if given.feature_names is None:
        given = replace(given, feature_names=getattr(model, "feature_names_in_", None))
    held = on_host(model, PER_TASK + PER_ROW)
    held.feature_names_in_ = given.feature_names
    _check(held, given)
    names = _cluster_names(given.cluster_names, held.task_centers_.shape[1])
    if not given.anonymous:
        return plain(_parts(held, given) | {"names": names, "anonymous": None})
    large = anonymous.large_tasks(held)
    small, rows = held.tasks_[~large].tolist(), large[held.task_indices_]
    X, classes = (anonymous.take_rows(values, rows) for values in (given.X, given.classes))
    found = _parts(anonymous.without_tasks(held, large), replace(given, X=X, classes=classes, ids=None, cells=None))
    return plain(anonymous.conceal(found | {"names": names}, small))


def _check(model: Any, given: Given) -> None:
    (_, c, d), n = model.task_centers_.shape, len(model.labels_)
    check_stability(given.stability, c, n)
    for name, wanted, of in (("ids", n, "row"), ("feature_names", d, "feature"), ("classes", n, "row")):
        values = getattr(given, name)
        if values is not None and len(values) != wanted:
            raise ValueError(f"{name} has {len(values)} entries for {count(wanted, of)}: one per {of} is needed.")


def _cluster_names(names: Mapping[Any, str] | None, c: int) -> dict[str, str]:
    """Names given to clusters, by number as text."""
    found = {}
    for number, name in (names or {}).items():
        if not str(number).isdecimal() or int(number) >= c:
            raise ValueError(f"cluster_names has a name for {number!r}: the numbers are those from 0 to {c - 1}.")
        if str(name).strip():
            found[str(int(number))] = text(name)
    return found


def _parts(model: Any, given: Given) -> dict[str, Any]:
    """The parts of the summary."""
    (m, c, d), n, names = model.task_centers_.shape, len(model.labels_), [text(task) for task in model.tasks_.tolist()]
    columns = read_columns(given.X, given.feature_names, n, d)
    called = _feature_names(given, columns, d)
    units = Units(kinds_of(columns, d), given.in_units)
    sizes, features = clusters.sizes(model, names), clusters.features(model, called, units)
    effects, table = _effects(model, columns, given), clusters.counts(model)
    found = {
        "title": text(given.title, 200)
        if given.title
        else f"{count(model.n_clusters_, 'cluster')} in {count(m, 'data set')}",
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
        "meaning": meaning(model, sizes["sentences"], given.stability),
        "overview": _overview(model, given.data or {}),
        "changes": [] if model.changes_ is None else model.changes_.sentences,
        "drift": [] if model.drift_ is None else model.drift_.sentences,
        "sizes": sizes,
        "features": features | {"units": given.in_units is not None},
        "separation": separation(effects, called, units.kinds, table),
        "distributions": _distributions(model, columns, effects, table, given),
        "classes": class_table(model, given.classes, table),
        "missing": _missing(model, called, names),
        "relatedness": _relatedness(model, names),
        "course": course.course(model),
        "certainty": certainty.certainty(model, given.stability),
        "selection": certainty.numbers(model.selection_ if given.selection is None else given.selection),
        "decisions": [] if model.decisions_ is None else describe(model),
        "settings": given.settings,
    } | _examples(model, given, columns, effects, features)
    return found | {"advice": advise(found)}


def _feature_names(given: Given, columns: Columns, d: int) -> list[str]:
    if given.feature_names is not None:
        return [text(name) for name in given.feature_names]
    known = {feature.index: feature.name for feature in columns.features}
    return [known.get(i, f"feature {i}") for i in range(d)]


def _effects(model: Any, columns: Columns, given: Given) -> Effects:
    """Effect sizes; of clusters of a few rows, none in an anonymous report."""
    found = effects_of(model, columns)
    if given.anonymous:
        few = clusters.counts(model).sum(axis=0) < anonymous.LEAST
        for values in (found.effect, found.size):
            if values is not None:
                values[:, few] = np.nan
    return found


def _distributions(model: Any, columns: Columns, effects: Effects, table: Array, given: Given) -> dict[str, Any] | None:
    levels, least = (MIDDLE, anonymous.LEAST) if given.anonymous else (LEVELS, 1)
    return distributions(model, columns, effects, table, levels=levels, least=least)


def _relatedness(model: Any, names: list[str]) -> dict[str, Any]:
    known = comparable(model) | np.eye(len(names), dtype=bool)
    alike = "There is one task, so there is nothing to compare."
    if len(names) > 1:
        alike = relatedness_sentence(model.task_relatedness_, known, [quoted(name) for name in names])
    return {"matrix": rounded(np.where(known, model.task_relatedness_, np.nan), 6), "sentences": [alike]}


def _examples(model: Any, given: Given, columns: Columns, effects: Effects, features: dict[str, Any]) -> dict[str, Any]:
    """The map and the table of outliers; typical examples are added to the clusters."""
    easy, outlying = (f(model.losses_, model.task_indices_) for f in (easiness, outlier_scores))
    far = {"far_share": float(np.mean(outlying >= FAR))}
    if given.anonymous:
        return {"map": None, "examples": far}
    extreme = np.argsort(-outlying, kind="stable")[: examples.EXTREMES].tolist()
    typical = examples.most_typical(model, outlying)
    order = effects.order()
    why = unusual(model, columns, extreme, outlying, order)
    wanted = sorted({*extreme, *(row for rows in typical for row in rows)})
    shown = examples.read_cells(given.cells or examples.cells_of(columns, why), wanted)
    for cluster, rows in zip(features["clusters"], typical, strict=True):
        cluster["typical"] = examples.describe_rows(model, rows, given.ids, easy, outlying, shown)
    confidence = getattr(given.stability, "row_confidence", None)
    drawn = examples.rows_map(model, given.ids, easy, outlying, confidence)
    at = np.arange(len(model.labels_)) if drawn["row"] is None else np.array(drawn["row"], dtype=np.intp)
    drawn["axes"] += further_axes(columns, order, at)
    table = examples.describe_rows(model, extreme, given.ids, easy, outlying, shown)
    return {
        "map": drawn | {"words": clusters.neighbours(model)},
        "examples": {
            "rows": [row | why.get(i, {"odd": {}, "note": None}) for i, row in zip(extreme, table, strict=True)],
            "columns": list(dict.fromkeys(column for i in extreme for column in shown.get(i, {}))),
            "explained": bool(why),
        }
        | far,
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
