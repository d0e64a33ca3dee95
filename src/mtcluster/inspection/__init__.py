"""Inspection of fitted models: descriptions of labels, explanations, outlier scores, and reports as one HTML page."""

from ._explanation import explain
from ._labels import LabelDescription
from ._outliers import easiness, outlier_scores
from ._report import Report, make_report

__all__ = ["LabelDescription", "Report", "easiness", "explain", "make_report", "outlier_scores"]
