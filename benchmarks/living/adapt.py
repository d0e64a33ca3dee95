"""Data sets that join a fitted model: how well they are clustered, and what is noticed as new.

The functions return plain dicts; `section` puts them into a Markdown section.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import scale

from mtcluster import SPMTC
from mtcluster.datasets import load_digits_tasks, load_task_set, make_multitask_blobs
from mtcluster.metrics import clustering_accuracy, joint_accuracy

TEXTS = ("webkb", "webkb6")
SETS = (*TEXTS, "vowels_hillenbrand95", "heart_disease", "pbmc_three_technologies", "cell_lines", "penguins_island")
Data = tuple[Any, Any, Any, int]  # rows, classes, tasks, number of classes


def data_sets() -> Iterator[tuple[str, Data]]:
    """Digits, and the sets of the data folder with three tasks or more, as they are clustered."""
    X, y, tasks = load_digits_tasks()
    yield "digits", (X, y, tasks, 10)
    if "MTCLUSTER_DATA" not in os.environ:
        return
    for name in SETS:
        X, y, tasks = load_task_set(name)
        if name in TEXTS:
            X = TfidfTransformer().fit_transform(X)
        elif name.startswith("vowels"):
            X = scale(np.log(X))
        elif name == "heart_disease":
            X = scale(X)
        yield name, (X, y, tasks, len(np.unique(y)))


def left_out(data: Data, seed: int = 0) -> list[dict[str, Any]]:
    """Each task once left out of the fit and adapted back, against the fit of all tasks."""
    X, y, tasks, c = data
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        joint = SPMTC(c, random_state=seed).fit(X, tasks=tasks)
        for task in np.unique(tasks).tolist():
            own = tasks == task
            model = SPMTC(c, random_state=seed).fit(X[~own], tasks=tasks[~own])
            adapted = model.adapt(X[own], tasks=tasks[own], novelty="none")
            labels = np.empty(len(y), dtype=int)
            labels[~own], labels[own] = model.labels_, adapted.labels_
            flagged = adapted.predict(X[own], tasks=tasks[own], novelty="flag") < 0
            rows.append(
                {
                    "task": str(task),
                    "accuracy": clustering_accuracy(y[own], adapted.labels_),
                    "accuracy_fit": clustering_accuracy(y[own], joint.labels_[own]),
                    "joint_accuracy": _joint_on(y, labels, tasks, own),
                    "joint_accuracy_fit": _joint_on(y, joint.labels_, tasks, own),
                    "joint_accuracy_all": joint_accuracy(y, labels, tasks),
                    "joint_accuracy_all_fit": joint_accuracy(y, joint.labels_, tasks),
                    "flagged": float(flagged.mean()),
                }
            )
    return rows


def _joint_on(y: Any, labels: Any, tasks: Any, own: Any) -> float:
    """Accuracy on some rows, with one matching of cluster numbers and classes for all tasks."""
    from scipy.optimize import linear_sum_assignment

    classes, codes = np.unique(y, return_inverse=True)
    table = np.zeros((int(labels.max()) + 1, len(classes)))
    for task in np.unique(tasks):
        at = tasks == task
        np.add.at(table, (labels[at], codes[at]), 1 / at.sum())  # each task counts alike
    rows, columns = linear_sum_assignment(table, maximize=True)
    named = np.full(len(table), -1)
    named[rows] = columns
    return float(np.mean(named[labels[own]] == codes[own]))


def unseen_digit(seed: int = 0) -> list[dict[str, Any]]:
    """A digit that only the new task holds, each digit and each task once."""
    X, y, tasks = load_digits_tasks()
    return [
        {"class": digit, "task": task} | _unseen(X, y, tasks, task, digit, 9, seed)
        for digit in range(10)
        for task in np.unique(tasks).tolist()
    ]


def unseen_blob(n_sets: int = 20, separation: float = 8.0, first: int = 1000) -> list[dict[str, Any]]:
    """A cluster that only the new task holds, in generated data, with and without offsets of tasks."""
    found = []
    for i in range(n_sets):
        n, offset = (60, 100, 200)[i % 3], (0.0, 0.5)[i % 2]
        X, y, tasks = make_multitask_blobs(
            n, n_tasks=4, n_clusters=5, separation=separation, offset=offset, random_state=first + i
        )
        found.append({"rows": n, "offset": offset} | _unseen(X, y, tasks, 3, 0, 4, 0))
    return found


def _unseen(X: Any, y: Any, tasks: Any, task: Any, unseen: Any, n_clusters: int, seed: int) -> dict[str, Any]:
    own, others = tasks == task, (tasks != task) & (y != unseen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SPMTC(n_clusters, random_state=seed).fit(X[others], tasks=tasks[others])
        flagged = model.adapt(X[own], tasks=tasks[own]).labels_ < 0
        opened = model.adapt(X[own], tasks=tasks[own], novelty="new")
        known = own & (y != unseen)
        nothing = model.adapt(X[known], tasks=tasks[known]).labels_ < 0
    new, strange = y[own] == unseen, (opened.labels_ < 0) | (opened.labels_ >= n_clusters)
    return {
        "found": float(flagged[new].mean()),
        "false": float(flagged[~new].mean()),
        "found_new": float(strange[new].mean()),
        "false_new": float(strange[~new].mean()),
        "opened": opened.n_clusters_ - n_clusters,
        "false_without": float(nothing.mean()),
    }


def measured() -> dict[str, Any]:
    """Everything."""
    return {
        "left_out": {name: left_out(data) for name, data in data_sets()},
        "digit": unseen_digit(),
        "blob": unseen_blob(),
    }


def section(found: dict[str, Any]) -> str:
    """A Markdown section."""
    lines = [
        "## A new data set joins",
        "",
        'Each task once left out of the fit and adapted back (`novelty="none"`), against the fit of all tasks; means '
        'over tasks. The last column is what `"flag"` would flag; two islands of the penguins have a species of their '
        "own.",
        "",
        "| data | ACC | ACC of the fit | joint ACC | joint ACC of the fit | flagged |",
        "|---|---|---|---|---|---|",
    ]
    names = ("accuracy", "accuracy_fit", "joint_accuracy", "joint_accuracy_fit", "flagged")
    means = {name: [_mean(rows, key) for key in names] for name, rows in found["left_out"].items()}
    lines += [f"| {name} | {_row(values)} |" for name, values in means.items()]
    lines += [f"| mean | {_row(np.mean(list(means.values()), axis=0).tolist())} |", ""]
    lines += [
        "A class that only the new task holds: rows of it that get -1 or a new cluster, and rows of known classes that "
        "do, in per cent.",
        "",
        '| data | of it, flagged | of known ones | of it, with `"new"` | of known ones | known ones without it |',
        "|---|---|---|---|---|---|",
    ]
    keys = ("found", "false", "found_new", "false_new", "false_without")
    for name, title in (("digit", "digits, each class and task once"), ("blob", "blobs, separation 8")):
        lines.append(f"| {title} | {_row([_mean(found[name], key) for key in keys])} |")
    return "\n".join([*lines, ""])


def _mean(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _row(values: list[float]) -> str:
    return " | ".join(f"{100 * value:.1f}" for value in values)
