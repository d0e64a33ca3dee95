"""Execute specs in parallel and append their rows as they finish."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from sklearn.metrics import normalized_mutual_info_score, roc_auc_score
from threadpoolctl import threadpool_limits

from .._utils import text
from ..metrics import task_scores
from . import generated, integration_methods, scores, views
from .methods import Outcome, run_method
from .runs import Row, RunFile, Spec


@cache
def versions(*others: str) -> str:
    """The versions of Python and of the packages that determine a row."""
    found = text.versions(("mtcluster", "numpy", "scipy", "scikit-learn", *others))
    return " ".join(f"{name}={version}" for name, version in found.items())


def execute(spec: Spec, folder: str) -> list[Row]:
    """One run, on one thread, so that its scores do not depend on other runs."""
    drawn = spec.noise or spec.data_set in generated.SETS
    view = views.view(folder, spec.data_set, spec.features, spec.outliers, spec.noise, spec.run if drawn else 0)
    began = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the projection coupling warns in every run; the rows show why
        across = spec.study == "integration"
        found = integration_methods.run(spec, view) if across else run_method(spec, folder, view)
    seconds = time.perf_counter() - began
    of_run: dict[str, Any] = {
        "seconds": seconds,
        "n_iter": found.n_iter,
        "versions": versions(*integration_methods.needed(spec.method)),
    }
    if across:
        of_run |= scores.of_run(found, view, embedded=not drawn)
    return _rows(spec, view, found, of_run)


def _rows(spec: Spec, view: views.View, found: Outcome, of_run: dict[str, Any]) -> list[Row]:
    """One row per task."""
    kept, labels, strangeness = ~view.strange, found.labels, found.scores
    table = task_scores(view.y[kept], labels[kept], view.tasks[kept])
    rows = []
    for score in table.rows():
        own = kept & (view.tasks == score["task"])
        here = view.tasks == score["task"]
        rows.append(
            Row(
                **vars(spec),
                task=score["task"],
                n_tasks=len(table["task"]),
                acc=100 * score["accuracy"],
                nmi=100 * score["nmi"],
                nmi_geometric=100 * normalized_mutual_info_score(view.y[own], labels[own], average_method="geometric"),
                joint=100 * score["joint_accuracy"],
                auc=-1.0 if strangeness is None else float(roc_auc_score(view.strange[here], -strangeness[here])),
                **of_run,
            )
        )
    return rows


def run_all(specs: Sequence[Spec], folder: Path, file: RunFile, *, jobs: int, progress: Callable[[int], None]) -> None:
    """Execute specs in parallel, then timed ones one after the other, and append the rows of each as it finishes.

    Runs that share a view are neighbours, so that a worker computes the view once.
    """
    together = sorted((s for s in specs if s.study != "time"), key=lambda s: (s.data_set, s.features, s.noise, s.run))
    timed = [s for s in specs if s.study == "time"]
    done = 0
    with file.appending() as append:
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        for rows in parallel(delayed(execute)(spec, str(folder)) for spec in together):
            append(rows)
            done += 1
            progress(done)
        for spec in timed:
            append(execute(spec, str(folder)))
            done += 1
            progress(done)
