"""Stability and the choice of the number of clusters as plain values, for reports, explanations and JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..certainty import VERDICTS
from ._words import plain, rounded

LOW = (0.5, 0.9)  # confidence of rows below which a report counts them
STABILITY = ("verdict", "overall", "reference", "cluster_stability")  # what no result of `stability` lacks
SELECTION = ("n_clusters", "named", "reason", "table", "tree")
KEPT = re.compile(
    r"; with the sharpest, \d+, [^,;:]+ of the rows keep their cluster in halves(?=\.)"
    r"|(?<=:) [^,;:]+ of the rows keep their cluster in halves of the data,(?: and)?"
)
NOT_MEASURED = (
    "How sure: not measured. mtcluster.model_selection.stability(model, X, tasks=tasks) measures it, and "
    "explain(stability=...) tells what it found."
)


def plain_stability(stability: Any) -> dict[str, Any] | None:
    """Write a result of `stability` as JSON takes it, without confidence of single rows; a dict of this kind stays."""
    if stability is None or (isinstance(stability, Mapping) and set(STABILITY) <= set(stability)):
        return None if stability is None else _checked(dict(stability))
    if not all(hasattr(stability, name) for name in (*STABILITY, "table", "row_confidence")):
        raise TypeError(
            f"stability should be a result of mtcluster.model_selection.stability; got {type(stability).__name__}."
        )
    confidence, table = np.asarray(stability.row_confidence), stability.table
    return _checked(
        {
            "verdict": stability.verdict,
            "overall": round(float(stability.overall), 6),
            "reference": rounded(stability.reference, 6),
            "beats": stability.beats,
            "cluster_stability": rounded(stability.cluster_stability, 6),
            "cluster_task_stability": rounded(stability.cluster_task_stability, 6),
            "next_to": [int(name) if name else None for name in table["next_to"]],
            "between": rounded(table["between"], 6),
            "halves": round(float(stability.halves), 6),
            "seeds": round(float(stability.seeds), 6),
            "within": round(float(stability.within), 6),
            "location_share": plain(stability.location_share),
            "rows_below": {str(bound): float(np.mean(confidence < bound)) for bound in LOW},
            "tasks": [str(task) for task in stability.tasks],
            "n_refits": int(stability.n_refits),
            "n_rows": int(stability.n_rows),
            "sentences": list(stability.sentences),
        }
    )


def _checked(found: dict[str, Any]) -> dict[str, Any]:
    if found["verdict"] not in VERDICTS:
        raise ValueError(f"stability['verdict'] should be one of {', '.join(VERDICTS)}; got {found['verdict']!r}.")
    return found


def check_stability(stability: Any, n_clusters: int, n_rows: int) -> None:
    """Refuse the stability of another model, as far as numbers of clusters and rows tell."""
    found = plain_stability(stability)
    if found is None:
        return
    clusters, confidence = len(found["cluster_stability"]), getattr(stability, "row_confidence", None)
    if clusters > n_clusters or (confidence is not None and len(confidence) != n_rows):
        rows = "" if confidence is None else f" and {len(confidence)} rows"
        raise ValueError(
            f"stability is that of {clusters} clusters{rows}, but model has {n_clusters} and {n_rows}: measure that of "
            "this model."
        )


def plain_selection(selection: Any) -> dict[str, Any] | None:
    """Write a result of `select_n_clusters` as JSON takes it; a dict of this kind stays."""
    if selection is None:
        return None
    if isinstance(selection, Mapping) and set(SELECTION) <= set(selection):
        return dict(selection)
    if not all(hasattr(selection, name) for name in SELECTION):
        raise TypeError(
            "selection should be a result of mtcluster.model_selection.select_n_clusters; got "
            f"{type(selection).__name__}."
        )
    return {
        "n_clusters": selection.n_clusters,
        "named": [int(number) for number in selection.named],
        "reason": selection.reason,
        "table": _rows(selection.table.rows()),
        "tree": _rows(selection.tree.rows()),
    }


def _rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write rows of a table, with numbers of 6 digits."""
    return [{name: plain(float(f"{v:.6g}") if isinstance(v, float) else v) for name, v in row.items()} for row in rows]


def number_sentence(selection: Any, n_clusters: int, stability: Any = None) -> str:
    """Tell how the number of clusters was chosen."""
    reason = reason_of(selection, stability)
    if selection.n_clusters is None:
        return f"Number of clusters: {reason} The sharpest number, {n_clusters}, was taken."
    return f"Number of clusters, chosen from the data: {reason}"


def reason_of(selection: Any, stability: Any) -> str:
    """Tell why a number was chosen; what was measured for the fit itself takes the place of what was for the choice.

    The choice fits other halves, so that its share of rows that keep their cluster is another estimate of the same.
    """
    return str(selection.reason) if stability is None else KEPT.sub("", selection.reason)


def certainty_sentences(stability: Any) -> list[str]:
    """Tell how sure one can be of the clusters, if that was measured, and otherwise how to measure it."""
    found = plain_stability(stability)
    return [NOT_MEASURED] if found is None else list(found["sentences"])
