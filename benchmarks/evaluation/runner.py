"""Runs of specs: the rows of one, with all its scores, and many in parallel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, roc_auc_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits

from mtcluster._utils import text
from mtcluster.metrics import clustering_accuracy, task_scores

from . import data
from .methods import Clustering, needed, run_across, run_method
from .store import RunFile, Spec, table

NEIGHBOURS = 90  # as scib-metrics recommends for its neighbour scores


@cache
def versions(*others: str) -> str:
    """Name the versions of Python and of the packages that determine a row."""
    found = text.versions(("mtcluster", "numpy", "scipy", "scikit-learn", *others))
    return " ".join(f"{name}={version}" for name, version in found.items())


def execute(spec: Spec, folder: str) -> list[dict[str, Any]]:
    """Run a spec on one thread, so that its scores do not depend on other runs; give a row for each task."""
    drawn = spec.noise > 0 or spec.data_set in data.DRAWN
    rows = data.view(folder, spec.data_set, spec.features, spec.outliers, spec.noise, spec.run if drawn else 0)
    began = perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the projection coupling warns in every run; the rows show why
        integrated = spec.study == "integration"
        found = run_across(spec, rows) if integrated else run_method(spec, folder, rows)
    of_run = spec._asdict() | {"seconds": perf_counter() - began, "n_iter": found.n_iter}
    of_run["versions"] = versions(*needed(spec.method))
    if integrated:
        of_run |= scores_of_run(found, rows, embedded=not drawn)
    return [of_run | own for own in _scores_of_tasks(found, rows)]


def _scores_of_tasks(found: Clustering, rows: data.LabelledRows) -> list[dict[str, Any]]:
    kept, strangeness, scores = ~rows.strange, found.scores, []
    by_task = task_scores(rows.y[kept], found.labels[kept], rows.tasks[kept]).rows()
    for score in by_task:
        here = rows.tasks == score["task"]
        y, labels = rows.y[kept & here], found.labels[kept & here]
        own = {"acc": score["accuracy"], "nmi": score["nmi"], "joint": score["joint_accuracy"]}
        own["nmi_geometric"] = normalized_mutual_info_score(y, labels, average_method="geometric")
        own = {name: 100 * value for name, value in own.items()}
        if strangeness is not None:
            own["auc"] = float(roc_auc_score(rows.strange[here], -strangeness[here]))
        scores.append(own | {"task": score["task"], "n_tasks": len(by_task)})
    return scores


def scores_of_run(found: Clustering, rows: data.LabelledRows, *, embedded: bool) -> dict[str, Any]:
    """Give the scores that a run has once; `embedded`: also those of the rows that were clustered."""
    kept = ~rows.strange
    y, labels, tasks = rows.y[kept], found.labels[kept], rows.tasks[kept]
    scores = {
        "joint_rows": 100 * clustering_accuracy(y, labels),
        "ari": 100 * float(adjusted_rand_score(y, labels)),
        "linked": int(data.linked(y, tasks)),
    }
    if found.presence is not None:
        scores["presence"] = 100 * presence_score(found.presence, y, labels, tasks)
    if embedded and found.embedding is not None and find_spec("scib_metrics") is not None:
        scores["biology"], scores["batch"] = integration_scores(found.embedding[kept], y, tasks)
    return scores


def presence_score(presence: Any, y: Any, labels: Any, tasks: Any) -> float:
    """Give the share of pairs of a task and a class in which `presence` (m, c) says rightly whether the task holds it.

    Clusters are matched with classes over all rows. A class without a cluster is taken to be found in no task.
    """
    holds = contingency_matrix(tasks, y) > 0
    rows, columns = linear_sum_assignment(contingency_matrix(y, labels), maximize=True)
    said = np.zeros_like(holds)
    said[:, rows] = np.asarray(presence, dtype=bool)[:, np.unique(labels)[columns]]
    return float(np.mean(said == holds))


def integration_scores(embedding: Any, y: Any, tasks: Any) -> tuple[float, float]:
    """Give biology and batch in per cent, from scib-metrics: means of a silhouette and of a neighbour score.

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


def run_all(specs: Sequence[Spec], folder: Path, file: RunFile, *, jobs: int, progress: Callable[[int], None]) -> None:
    """Execute specs in parallel, then timed ones one after the other, and append the rows of each as it finishes.

    Runs that share a view are neighbours, so that a worker computes the view once.
    """
    timed = [spec for spec in specs if spec.study == "time"]
    together = [spec for spec in specs if spec.study != "time"]
    together.sort(key=lambda spec: (spec.data_set, spec.features, spec.noise, spec.run))
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    done = parallel(delayed(execute)(spec, str(folder)) for spec in together)
    for number, rows in enumerate(chain(done, (execute(spec, str(folder)) for spec in timed)), start=1):
        file.append(table(rows))
        progress(number)
