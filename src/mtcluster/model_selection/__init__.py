"""Choosing the number of clusters, measuring stability, and cross-validation that knows tasks."""

from ._n_clusters import Selection, select_n_clusters
from ._split import LeaveOneTaskOut, TaskKFold, joint_accuracy_scorer
from ._stability import Stability, stability

__all__ = [
    "LeaveOneTaskOut",
    "Selection",
    "Stability",
    "TaskKFold",
    "joint_accuracy_scorer",
    "select_n_clusters",
    "stability",
]
