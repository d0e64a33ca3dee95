"""The course of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._subject import Subject
from .._words import count, percent, plain, rounded


def course(subject: Subject) -> dict[str, Any]:
    """Tell the objective and the selected rows per stage, and how the fit ended."""
    rows, traces = subject.rows, [np.asarray(trace, dtype=np.float64) for trace in subject.fitted.traces]
    if not traces:
        line = "These labels were given, not fitted here, so there are no stages and there is no objective."
        return {"stages": [], "objective": [], "sentences": [line]}
    n, warm = subject.n_rows, len(traces) - len(rows.fractions)
    each = n / len(rows.labels)  # rows that one of a sample stands for
    stages = [
        {
            "name": "warm-up" if i < warm else str(i - warm + 1),
            "fraction": 1.0 if i < warm else float(rows.fractions[i - warm]),
            "admitted": n if i < warm else round(each * np.count_nonzero(rows.weights[i - warm] > 0)),
            "iterations": len(trace),
            "objective": float(trace[-1]) if len(trace) else None,
        }
        for i, trace in enumerate(traces)
    ]
    objective = [rounded(trace, 6) for trace in traces]
    return plain({"stages": stages, "objective": objective, "sentences": _sentences(subject, warm)})


def _sentences(subject: Subject, warm: int) -> list[str]:
    fitted, fractions = subject.fitted, subject.rows.fractions
    stages, n_iter = len(fractions), fitted.n_iter
    lines = [
        f"All rows were used from the beginning, for {count(n_iter, 'iteration')}.",
        "The objective is the sum of the losses of all rows; it never increases from one iteration to the next.",
    ]
    if stages > 1:
        first, after = percent(float(fractions[0])), ", after a warm-up with all rows" * (warm > 0)
        lines = [
            f"The fit started with the easiest {first} of the rows of each task and added harder ones in {stages} "
            f"stages{after}; it took {count(n_iter, 'iteration')} in total.",
            "The objective is the weighted sum of the losses of the selected rows. It may increase when harder "
            "rows are added; it never increases within a stage.",
        ]
    if fitted.converged:
        return [*lines, "The last stage ended because the objective no longer changed: the fit converged."]
    if subject.decisions is not None and subject.decisions.start == "search" and n_iter == stages:
        return [*lines, "Each stage had one iteration on purpose: the fit started from the labels that a search found."]
    return [*lines, "The last stage ended at its largest number of iterations (max_iter); this is not an error."]
