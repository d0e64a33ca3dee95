"""`mtcluster demo`: handwritten digits as three tasks, clustered by four methods."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .._utils.tables import Table
from .._utils.text import count
from ..datasets import load_digits_tasks
from ..metrics import joint_accuracy, task_scores
from .console import Console
from .methods import METHODS, Method

COMPARED_METHODS = {"kmeans-per-task": 1, "kmeans": 1, "lssmtc": 6, "spmtc": 6}  # methods, and about how long they take


def run(seeds: int, slant: float = 0.15, console: Console | None = None) -> str:
    """Return what `mtcluster demo` prints; the console shows how far it is."""
    console, digits, rows = console or Console(quiet=True), load_digits_tasks(slant), []
    # Threads on so few rows wait for each other longer than they work.
    with threadpool_limits(1), console.working(seeds * sum(COMPARED_METHODS.values())):
        for name, units in COMPARED_METHODS.items():
            method = METHODS[name]
            console.begin(f"fitting {method.title}, {count(seeds, 'seed')}")
            step = partial(console.finish, units)
            rows.append({"method": method.title, **_scores(method, digits, seeds, step)})
    table = Table.from_rows(rows)
    return "\n".join(
        [
            f"{len(digits.y)} handwritten digits in {digits.n_classes} clusters; tasks: plain, blurred, slanted.",
            f"Mean of {count(seeds, 'seed')}, in per cent. ACC and NMI score each task by itself; joint uses one",
            "matching of clusters and digits for all tasks: is cluster 3 the same digit everywhere?",
            "",
            table.text(digits=1),
            "",
            f"Try it: SPMTC(n_clusters={digits.n_classes}).fit(X, tasks=tasks).labels_",
        ]
    )


def _scores(method: Method, digits: Any, seeds: int, step: Callable[[], None]) -> dict[str, float]:
    """Mean scores, and seconds for each seed; `step` is called after each."""
    scores, began = [], perf_counter()
    for seed in range(seeds):
        labels = method.make(digits.n_classes, seed).fit(digits.X, tasks=digits.tasks).labels_
        own = task_scores(digits.y, labels, digits.tasks)
        joint = joint_accuracy(digits.y, labels, digits.tasks)
        scores.append([np.mean(own["accuracy"]), np.mean(own["nmi"]), joint])
        step()
    acc, nmi, joint = (100 * np.mean(scores, axis=0)).tolist()
    return {"ACC": acc, "NMI": nmi, "joint": joint, "seconds": (perf_counter() - began) / seeds}
