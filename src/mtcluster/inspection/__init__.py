"""Inspection of fitted models and of labels: descriptions, judgements, explanations, outlier scores, reports."""

from ..estimators.changes import Changes, Drift
from ._explanation import Explanation, explain
from ._judgement import Judgement, judge_labels
from ._labels import LabelDescription
from ._outliers import easiness, outlier_scores
from ._relations import Relations, relations
from ._report import Report, make_report

__all__ = [
    "Changes",
    "Drift",
    "Explanation",
    "Judgement",
    "LabelDescription",
    "Relations",
    "Report",
    "easiness",
    "explain",
    "judge_labels",
    "make_report",
    "outlier_scores",
    "relations",
]
