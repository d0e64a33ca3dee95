"""How sure one can be: cold refits, data without clusters, gaps between clusters, and their number."""

from .cold import Cold, fitted_cold, reference_value
from .counting import Counted, Number, count_clusters
from .selection import Selection, selection_of
from .verdict import MEANINGS, VERDICTS, Verdict, judge

__all__ = [
    "MEANINGS",
    "VERDICTS",
    "Cold",
    "Counted",
    "Number",
    "Selection",
    "Verdict",
    "count_clusters",
    "fitted_cold",
    "judge",
    "reference_value",
    "selection_of",
]
