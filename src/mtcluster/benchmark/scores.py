"""Scores of a run over the rows of all tasks."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from ..metrics import clustering_accuracy
from .generated import linked
from .methods import Outcome
from .views import View

NEIGHBOURS = 90  # as scib-metrics recommends for its neighbour scores


def of_run(found: Outcome, view: View, *, embedded: bool) -> dict[str, Any]:
    """The scores that a run has once; `embedded`: also those of the rows that were clustered."""
    kept = ~view.strange
    y, labels, tasks = view.y[kept], found.labels[kept], view.tasks[kept]
    scores = {
        "joint_rows": 100 * clustering_accuracy(y, labels),
        "ari": 100 * float(adjusted_rand_score(y, labels)),
        "linked": int(linked(y, tasks)),
    }
    if found.presence is not None:
        scores["presence"] = 100 * presence_score(found.presence, y, labels, tasks)
    if embedded and found.embedding is not None and find_spec("scib_metrics") is not None:
        scores["biology"], scores["batch"] = integration_scores(found.embedding[kept], y, tasks)
    return scores


def presence_score(presence: Any, y: Any, labels: Any, tasks: Any) -> float:
    """Share of the pairs of a task and a class in which `presence` (m, c) says rightly whether the task holds it.

    Clusters are matched with classes over all rows. A class without a cluster is taken to be found in no task.
    """
    classes, y_codes = np.unique(y, return_inverse=True)
    _, t_codes = np.unique(tasks, return_inverse=True)
    holds = np.zeros((t_codes.max() + 1, len(classes)), dtype=bool)
    holds[t_codes, y_codes] = True
    used = np.unique(labels)
    rows, columns = linear_sum_assignment(contingency_matrix(y, labels), maximize=True)
    said = np.zeros_like(holds)
    said[:, rows] = np.asarray(presence, dtype=bool)[:, used[columns]]
    return float(np.mean(said == holds))


def integration_scores(embedding: Any, y: Any, tasks: Any) -> tuple[float, float]:
    """Biology and batch in per cent, from scib-metrics: means of a silhouette and of a neighbour score.

    Biology: are rows of a class together. Batch: are the tasks mixed, within each class (silhouette) and among the
    nearest rows (iLISI). The latter takes it for an error that tasks hold different classes.
    """
    import scib_metrics
    from scib_metrics.nearest_neighbors import pynndescent

    Z = np.ascontiguousarray(embedding, dtype=np.float32)
    near = pynndescent(Z, n_neighbors=min(NEIGHBOURS, len(Z) - 1), random_state=0)
    biology = scib_metrics.silhouette_label(Z, y), scib_metrics.clisi_knn(near, y)
    batch = scib_metrics.silhouette_batch(Z, y, tasks), scib_metrics.ilisi_knn(near, tasks)
    return 100 * float(np.mean(biology)), 100 * float(np.mean(batch))
