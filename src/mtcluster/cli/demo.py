"""The demonstration: the digits tasks by k-means per task, k-means pooled, LSSMTC and SPMTC."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from .. import LSSMTC, SPMTC, PerTask, Pooled
from .._utils.tables import Table
from ..datasets import load_digits_tasks
from ..metrics import joint_accuracy, task_scores

METHODS: dict[str, Callable[[int, int], Any]] = {
    "k-means per task": lambda c, seed: PerTask(KMeans(c, n_init=10, random_state=seed)),
    "k-means pooled": lambda c, seed: Pooled(KMeans(c, n_init=10, random_state=seed)),
    "LSSMTC": lambda c, seed: LSSMTC(c, random_state=seed),
    "SPMTC": lambda c, seed: SPMTC(c, random_state=seed),
}


def run(seeds: int, slant: float = 0.15) -> str:
    """What `mtcluster demo` prints."""
    digits = load_digits_tasks(slant)
    table = Table.from_rows({"method": name, **_scores(make, digits, seeds)} for name, make in METHODS.items())
    best = max(table["ACC"])
    return "\n".join(
        [
            f"{len(digits.y)} handwritten digits in {digits.n_classes} clusters; tasks: plain, blurred, slanted.",
            f"Mean of {seeds} seed(s), in per cent. ACC and NMI score each task alone; joint asks whether",
            "cluster 3 of one task is cluster 3 of the others.",
            "",
            table.text(digits=1),
            "",
            f"Best ACC: {best:.1f}. Try it: SPMTC(n_clusters={digits.n_classes}).fit(X, tasks=tasks).labels_",
        ]
    )


def _scores(make: Callable[[int, int], Any], digits: Any, seeds: int) -> dict[str, Any]:
    rows, began = [], perf_counter()
    for seed in range(seeds):
        labels = make(digits.n_classes, seed).fit(digits.X, tasks=digits.tasks).labels_
        scores = task_scores(digits.y, labels, digits.tasks)
        rows.append(
            [np.mean(scores["accuracy"]), np.mean(scores["nmi"]), joint_accuracy(digits.y, labels, digits.tasks)]
        )
    seconds = (perf_counter() - began) / seeds
    acc, nmi, joint = (float(100 * value) for value in np.mean(rows, axis=0))
    return {"ACC": acc, "NMI": nmi, "joint": joint, "seconds": seconds}
