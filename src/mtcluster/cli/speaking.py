"""Which features speak for the cluster of a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .preparing import Prepared

SHOWN = 8  # features


def speaking(rows: Prepared, model: Any, at: int, own: int, other: int) -> list[dict[str, Any]]:
    """List features by how much they bring a row closer to its cluster than to the next: terms of D_other − D_own."""
    fitted = model.fitted_
    x = rows.X[at]
    x = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float).ravel()
    k = [str(task) for task in fitted.tasks.tolist()].index(str(rows.tasks[at]))
    A, B = (np.asarray(model.task_centers_[k, j], dtype=float) for j in (own, other))
    tied = fitted.centers.geometry.tied
    inverse = np.linalg.pinv(tied.dense().reshape(len(x), len(x))) if hasattr(tied, "dense") else np.eye(len(x))
    terms = np.nan_to_num((inverse @ (A - B)) * (2 * x - A - B))
    order = np.argsort(-np.abs(terms))[:SHOWN].tolist()
    here, there = (np.ravel(rows.preprocessor.inverse_transform_centers(M[None], str(rows.tasks[at]))) for M in (A, B))
    value = np.ravel(rows.preprocessor.inverse_transform_centers(np.nan_to_num(x)[None], str(rows.tasks[at])))
    return [
        {
            "name": rows.features[j],
            "value": None if np.isnan(x[j]) else float(value[j]),
            "own": float(here[j]),
            "other": float(there[j]),
            "speaks": float(terms[j]),
        }
        for j in order
        if terms[j] != 0
    ]
