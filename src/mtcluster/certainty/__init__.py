"""How sure one can be: refits on halves of the rows, data without clusters, gaps between clusters, and their number."""

from .counting import Counted, Number, count_clusters
from .evidence import Evidence, gather
from .selection import Selection, selection_of
from .verdict import MEANINGS, VERDICTS, Verdict, judge
from .view import View, view_of

__all__ = [
    "MEANINGS",
    "VERDICTS",
    "Counted",
    "Evidence",
    "Number",
    "Selection",
    "Verdict",
    "View",
    "count_clusters",
    "gather",
    "judge",
    "selection_of",
    "view_of",
]
