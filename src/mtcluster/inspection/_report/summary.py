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
from .._gaps import missing_of, missing_sentences
from .._meaning import context
from .._outliers import easiness, outlier_scores
from .._subject import Subject, subject_of
from .._vocabulary import group_word
from .._words import count, plain, quoted, rounded, text
from . import anonymous, certainty, clusters, course, examples
from .advice import FAR_OUT, advise
from .axes import further_axes
from .classes import class_table
from .columns import Columns, kinds_of, read_columns
from .distributions import MIDDLE, QUANTILES, distributions
from .effects import Effects, effects_of, separation
from .means import count_means
from .merging import flow_of, merging
from .oddness import unusual
from .sentences import ruling_columns, ruling_sentences, sentences
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
    group: str | None = None


def summarize(model: Any, given: Given) -> dict[str, Any]:
    """Gather everything that a report says, in dicts, lists, strings and finite numbers."""
    if not hasattr(model, "labels_"):
        raise NotFittedError(f"This {type(model).__name__} instance is not fitted yet: call its fit first.")
    subject = subject_of(model, "make_report")
    if given.settings is None:
        given = replace(given, settings=model.get_params(deep=False))
    if given.feature_names is None:
        given = replace(given, feature_names=subject.feature_names)
    subject = replace(subject, feature_names=given.feature_names)
    _check(subject, given)
    known = dict(subject.fitted.names) if given.cluster_names is None else given.cluster_names
    names = _cluster_names(known, subject.shape[1])
    if not given.anonymous:
        return plain(_parts(subject, given) | {"names": names, "anonymous": None})
    large = anonymous.large_tasks(subject)
    small, rows = subject.fitted.tasks[~large].tolist(), large[subject.rows.tasks]
    X, classes = (anonymous.take_rows(values, rows) for values in (given.X, given.classes))
    found = _parts(anonymous.without_tasks(subject, large), replace(given, X=X, classes=classes, ids=None, cells=None))
    return plain(anonymous.conceal(found | {"names": names}, small))


def _check(subject: Subject, given: Given) -> None:
    (_, c, d), n = subject.shape, len(subject.fitted.rows.labels)
    check_stability(given.stability, c, n)
    for name, wanted, of in (("ids", n, "row"), ("feature_names", d, "feature"), ("classes", n, "row")):
        values = getattr(given, name)
        if values is not None and len(values) != wanted:
            raise ValueError(f"{name} has {len(values)} entries for {count(wanted, of)}: one per {of} is needed.")


def _cluster_names(names: Mapping[Any, str] | None, c: int) -> dict[str, str]:
    """Read names given to clusters, by number as text."""
    found = {}
    for number, name in (names or {}).items():
        if not str(number).isdecimal() or int(number) >= c:
            raise ValueError(f"cluster_names has a name for {number!r}: the numbers are those from 0 to {c - 1}.")
        if str(name).strip():
            found[str(int(number))] = text(name)
    return found


def _parts(subject: Subject, given: Given) -> dict[str, Any]:
    """Make the parts of the summary."""
    (m, c, d), n, names = subject.shape, len(subject.fitted.rows.labels), [text(task) for task in subject.tasks]
    made, changes, drift = subject.decisions, subject.changes, subject.drift
    columns = read_columns(given.X, given.feature_names, n, d)
    called = _feature_names(given, columns, d)
    units = Units(kinds_of(columns, d), given.in_units)
    sizes, features = clusters.sizes(subject, names), clusters.features(subject, called, units)
    effects, table = _effects(subject, columns, given), clusters.counts(subject)
    count_means(subject, columns, features, anonymous.LEAST if given.anonymous else 1)
    group = group_word(given.group)
    told = sentences(subject, columns, effects, features, table, (group, names))
    found = {
        "title": text(given.title or f"{count(subject.n_clusters, 'cluster')} in {count(m, 'data set')}", 200),
        "group": group,
        "sentences": told,
        "n_columns": len(columns.fields) or d,
        "method": text(subject.method),
        "metric": None if made is None else made.metric,
        "n_rows": subject.n_rows,
        "n_features": d,
        "n_clusters": subject.n_clusters,
        "n_numbers": c,
        "n_tasks": m,
        "tasks": [
            {"name": name, "rows": sum(rows), "alone": k in sizes["alone"]}
            for k, (name, rows) in enumerate(zip(names, sizes["rows"], strict=True))
        ],
        "meaning": [
            *(given.data or {}).get("found", ruling_sentences(ruling_columns(subject, columns))),
            *context(subject, sizes["sentences"], given.stability),
        ],
        "overview": _overview(subject, given.data or {}),
        "changes": [] if changes is None else changes.sentences,
        "flow": [] if changes is None else flow_of(changes),
        "merging": merging(subject, table),
        "drift": [] if drift is None else drift.sentences,
        "sizes": sizes,
        "features": features | {"units": given.in_units is not None},
        "separation": separation(effects, called, units.kinds, table),
        "distributions": _distributions(subject, columns, effects, table, given),
        "classes": class_table(subject, given.classes, table),
        "missing": _missing(subject, called, names),
        "relatedness": _relatedness(subject, names),
        "course": course.course(subject),
        "certainty": certainty.certainty(subject, given.stability),
        "selection": certainty.numbers(
            subject.selection if given.selection is None else given.selection, given.stability
        ),
        "decisions": []
        if made is None
        else [line for lines in describe(subject, made, given.stability).values() for line in lines],
        "settings": given.settings,
    } | _examples(subject, given, columns, effects, features)
    return found | {"advice": advise(found)}


def _feature_names(given: Given, columns: Columns, d: int) -> list[str]:
    if given.feature_names is not None:
        return [text(name) for name in given.feature_names]
    known = {feature.index: feature.name for feature in columns.features}
    return [known.get(i, f"feature {i}") for i in range(d)]


def _effects(subject: Subject, columns: Columns, given: Given) -> Effects:
    """Compute effect sizes; of clusters of a few rows, none in an anonymous report."""
    found = effects_of(subject, columns)
    if given.anonymous:
        few = clusters.counts(subject).sum(axis=0) < anonymous.LEAST
        for values in (found.effect, found.size):
            if values is not None:
                values[:, few] = np.nan
    return found


def _distributions(
    subject: Subject, columns: Columns, effects: Effects, table: Array, given: Given
) -> dict[str, Any] | None:
    levels, least = (MIDDLE, anonymous.LEAST) if given.anonymous else (QUANTILES, 1)
    return distributions(subject, columns, effects, table, levels=levels, least=least)


def _relatedness(subject: Subject, names: list[str]) -> dict[str, Any]:
    R, known = subject.fitted.relatedness, subject.comparable | np.eye(len(names), dtype=bool)
    alike = "There is one task, so there is nothing to compare."
    if len(names) > 1:
        alike = relatedness_sentence(R, known, [quoted(name) for name in names])
    return {"matrix": rounded(np.where(known, R, np.nan), 6), "sentences": [alike]}


def _examples(
    subject: Subject, given: Given, columns: Columns, effects: Effects, features: dict[str, Any]
) -> dict[str, Any]:
    """Make the map and the table of outliers; typical rows are added to the clusters."""
    easy, outlying = (f(subject.rows.losses, subject.rows.tasks) for f in (easiness, outlier_scores))
    far = {"far_share": float(np.mean(outlying >= FAR_OUT))}
    if given.anonymous:
        return {"map": None, "examples": far}
    extreme = np.argsort(-outlying, kind="stable")[: examples.EXTREMES].tolist()
    typical = examples.most_typical(subject, outlying)
    order = effects.order()
    why = unusual(subject, columns, extreme, outlying, order)
    wanted = sorted({*extreme, *(row for rows in typical for row in rows)})
    shown = examples.read_cells(given.cells or examples.cells_of(columns, why), wanted)
    for cluster, rows in zip(features["clusters"], typical, strict=True):
        cluster["typical"] = examples.describe_rows(subject, rows, given.ids, easy, outlying, shown)
    confidence = getattr(given.stability, "row_confidence", None)
    drawn = examples.rows_map(subject, given.ids, easy, outlying, confidence)
    at = np.arange(len(subject.rows.labels)) if drawn["row"] is None else np.array(drawn["row"], dtype=np.intp)
    drawn["axes"] += further_axes(columns, order, at)
    table = examples.describe_rows(subject, extreme, given.ids, easy, outlying, shown)
    return {
        "map": drawn | {"words": clusters.neighbours(subject)},
        "examples": {
            "rows": [row | why.get(i, {"odd": {}, "note": None}) for i, row in zip(extreme, table, strict=True)],
            "columns": list(dict.fromkeys(column for i in extreme for column in shown.get(i, {}))),
            "explained": bool(why),
        }
        | far,
    }


def _missing(subject: Subject, features: list[str], names: list[str]) -> dict[str, Any] | None:
    """Tell what is missing, in numbers and sentences."""
    found = missing_of(subject.fitted, features, names)
    return found and found | {"sentences": missing_sentences(found, quoted)}


def _overview(subject: Subject, data: dict[str, Any]) -> dict[str, Any]:
    (m, _, d), c, n, fitted = subject.shape, subject.n_clusters, subject.n_rows, subject.fitted
    rows = f"{count(n, 'row')} with {count(d, 'feature')} (columns)"
    away = int(np.count_nonzero(subject.without_rows))
    came = f"{rows} in {count(m - away, 'data set')}, {'each ' * (m - away > 1)}called a task here."
    if away:
        others = f"{count(away, 'other task')} of the model {'is' if away == 1 else 'are'} of earlier data"
        came += f" These are the new data. {others}: sizes count there too, but single rows are not shown."
    then = f"{subject.method} divided {'the rows of all tasks' if away else 'them'} into {count(c, 'cluster')}"
    if not fitted.traces:
        then = f"Labels from {subject.method} divide them into {count(c, 'cluster')}; cluster numbers are those given"
    elif m > 1 and fitted.shares.any():
        then += ", all tasks together: a cluster number stands for the same group in every task that has it"
    elif m > 1:
        then += ", each task on its own"
    part = (
        [
            f"The map, single rows and shares of outliers are those of a random sample of "
            f"{count(len(fitted.rows.labels), 'row')}; numbers of rows in clusters are those of all."
        ]
        if n > len(fitted.rows.labels)
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
