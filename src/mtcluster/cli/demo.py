"""`mtcluster demo`: handwritten digits as three tasks, clustered by four methods."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from .._utils.tables import Table
from .._utils.text import count
from ..datasets import load_digits_tasks
from ..metrics import joint_accuracy, task_scores
from .methods import METHODS, Method

SHOWN = ("kmeans-per-task", "kmeans", "lssmtc", "spmtc")


def run(seeds: int, slant: float = 0.15) -> str:
    """Return what `mtcluster demo` prints."""
    digits = load_digits_tasks(slant)
    methods = [METHODS[name] for name in SHOWN]
    table = Table.from_rows({"method": method.title, **_scores(method, digits, seeds)} for method in methods)
    return "\n".join(
        [
            f"{len(digits.y)} handwritten digits in {digits.n_classes} clusters; tasks: plain, blurred, slanted.",
            f"Mean of {count(seeds, 'seed')}, in per cent. ACC and NMI score each task by itself; joint uses one",
            "matching of clusters and digits for all tasks: is cluster 3 the same digit everywhere?",
            "",
            table.text(digits=1),
            "",
            f"Best ACC: {max(table['ACC']):.1f}. "
            f"Try it: SPMTC(n_clusters={digits.n_classes}).fit(X, tasks=tasks).labels_",
        ]
    )


def _scores(method: Method, digits: Any, seeds: int) -> dict[str, float]:
    scores, began = [], perf_counter()
    for seed in range(seeds):
        labels = method.make(digits.n_classes, seed).fit(digits.X, tasks=digits.tasks).labels_
        own = task_scores(digits.y, labels, digits.tasks)
        joint = joint_accuracy(digits.y, labels, digits.tasks)
        scores.append([np.mean(own["accuracy"]), np.mean(own["nmi"]), joint])
    acc, nmi, joint = (100 * np.mean(scores, axis=0)).tolist()
    return {"ACC": acc, "NMI": nmi, "joint": joint, "seconds": (perf_counter() - began) / seeds}
