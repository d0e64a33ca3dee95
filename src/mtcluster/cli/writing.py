"""The files of a results folder, as `mtcluster fit` and `mtcluster adapt` write them."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array, host
from ..inspection._outliers import easiness, outlier_scores
from ..inspection._relations import Relations
from ..inspection._report import Report
from ..model_selection import Stability
from . import folder, layout
from .appending import append_all
from .cleaning import FEW
from .preparing import Prepared, without_values

SCORES = ("confidence", "outlier_score")  # that tables get beside the cluster and its probability


def write_results(
    out: Path,
    rows: Prepared,
    model: Any,
    described: Any,
    related: Relations,
    report: Report,
    found: Stability | None,
) -> list[str]:
    """Write all files but the settings; returns notes for the user."""
    belonging = "membership", host(described.memberships_)
    if hasattr(model, "predict_proba"):
        belonging = folder.belonging_of(model, rows.X, rows.tasks)
    columns = folder.label_columns(
        rows.data.ids,
        rows.tasks,
        described.labels_,
        belonging,
        _scores(described, rows, found),
        folder.names_of(model),
    )
    folder.write_csv(out / layout.ROWS_TABLE, columns, raw=rows.raw)
    write_model(out, rows, model, described, related, report)
    if rows.anonymous:
        return []
    return append_all(out / layout.TABLES, rows.data, _appended(columns, belonging), rows.roles)


def write_model(out: Path, rows: Prepared, model: Any, described: Any, related: Relations, report: Report) -> None:
    """Write the files that have nothing to say about single rows, the model and the report."""
    from ..interop import dump

    least = FEW if rows.anonymous else 0
    centers = folder.center_columns(described, rows.features, rows.preprocessor.inverse_transform_centers, least)
    folder.write_csv(out / layout.CENTERS, centers, raw=rows.raw)
    folder.write_csv(out / layout.RELATIONS, _relation_columns(related, least, folder.names_of(model)), raw=rows.raw)
    contents = {
        "format": folder.FORMAT,
        "model": without_map(model) if rows.anonymous else model,
        "preprocessor": rows.preprocessor,
        "columns": rows.data.names,
        "roles": asdict(rows.roles),
        "checking": asdict(rows.checking),
        "anonymous": rows.anonymous,
        "findings": json.dumps(report.summary),
    }
    dump(contents, out / layout.MODEL)
    (out / layout.REPORT).write_text(report.html, encoding="utf-8")


def _scores(described: Any, rows: Prepared, found: Stability | None) -> dict[str, Array]:
    """Tell what labels.csv says about single rows; rows of which nothing is known are neither easy nor outlying."""
    losses, codes = described.losses_, described.fitted_.rows.tasks
    confidence = {} if found is None else {"confidence": found.row_confidence.round(3)}
    scores = confidence | {"easiness": easiness(losses, codes), "outlier_score": outlier_scores(losses, codes)}
    return {name: np.where(without_values(rows.X), np.nan, values) for name, values in scores.items()}


def _appended(columns: dict[str, Any], belonging: tuple[str, Array]) -> dict[str, Array]:
    """Make the columns that are appended to the tables: the probability is that of the row's own cluster."""
    name, values = belonging
    labels = np.asarray(columns["cluster"])
    own = np.where(labels >= 0, values[np.arange(len(labels)), np.maximum(labels, 0)].round(6), np.nan)
    told = [folder.no_formula(name) for name in columns.get(folder.NAME, ())]
    names = {folder.NAME: np.array(told, dtype=object)} if told else {}
    return {"cluster": labels, **names, name: own} | {key: np.asarray(columns[key]) for key in SCORES if key in columns}


def _relation_columns(related: Relations, least: int, names: dict[int, str]) -> dict[str, Any]:
    """Write the columns of relations.csv; numbers of rows below `least`, but not 0, are left out."""
    table = related.table
    rows = [n if n == 0 or n >= least else None for n in table["rows"]]
    found = table | {"support": [round(value, 6) for value in table["support"]], "rows": rows}
    before = {key: found.pop(key) for key in list(found)[: list(found).index("cluster") + 1]}
    return before | folder.name_column(before["cluster"], names) | found


def without_map(model: Any) -> Any:
    """Copy the model without its map of the rows."""
    found, fitted = copy(model), getattr(model, "fitted_", None)
    if fitted is not None:
        rows = replace(fitted.rows, map=fitted.rows.map[:0], map_rows=fitted.rows.map_rows[:0])
        found.fitted_ = replace(fitted, rows=rows)
    return found
