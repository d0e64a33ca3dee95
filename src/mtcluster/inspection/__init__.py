"""What a fitted model found: descriptions of clusters, outlier scores, and reports as one HTML page."""

from ._labels import LabelDescription
from ._outliers import easiness, outlier_scores
from ._report import Report, make_report

__all__ = ["LabelDescription", "Report", "easiness", "make_report", "outlier_scores"]
