"""Known classes beside the clusters: how many rows of each class are in each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...core.arrays import Array
from .._subject import Subject
from .._words import count, percent, text, whole

CLASSES = 40  # classes that are listed, the largest first; the others are counted together
OWN_TABLES = 12  # largest tasks with a table of their own


def class_table(subject: Subject, classes: Sequence[Any] | None, table: Array) -> dict[str, Any] | None:
    """Count classes by cluster, over all tasks and in the largest ones, and the best matching of both."""
    if classes is None:
        return None
    (m, c), labels, tasks = table.shape, subject.rows.labels, subject.rows.tasks
    n = len(labels)
    if len(classes) != n:
        raise ValueError(f"classes has {len(classes)} entries for {count(n, 'row')}: one per row is needed.")
    names, codes = _coded(classes)
    some = (codes >= 0) & (labels >= 0)
    if not some.any():
        return None
    found = np.zeros((m, len(names), c), dtype=int)
    np.add.at(found, (tasks[some], codes[some], labels[some]), 1)
    total = found.sum(axis=0)
    listed = total[:CLASSES] if len(names) > CLASSES else total
    rows, matched = linear_sum_assignment(-listed)
    best: list[int | None] = [None] * len(names)
    for row, j in zip(rows.tolist(), matched.tolist(), strict=True):
        best[row] = j if listed[row, j] else None
    largest = sorted(np.argsort(-found.sum(axis=(1, 2)), kind="stable")[:OWN_TABLES].tolist()) if m > 1 else []
    agreeing = int(listed[rows, matched].sum())
    return {
        "names": names,
        "rows": total.tolist(),
        "tasks": [{"task": k, "rows": found[k].tolist()} for k in largest if found[k].any()],
        "tasks_left_out": m - len(largest) if m > 1 else 0,
        "best": best,
        "purity": round(int(total.max(axis=0).sum()) / int(some.sum()), 6),
        "sentences": _sentences(total, agreeing, n),
    }


def _coded(classes: Sequence[Any]) -> tuple[list[str], Array]:
    """Name the classes, the most frequent first, and the code of each row; -1 where the class is not known."""
    written = [None if value is None or value != value else text(value) for value in classes]
    values, counts = np.unique([name for name in written if name is not None], return_counts=True)
    names = [str(values[i]) for i in np.argsort(-counts, kind="stable")]
    index: dict[str | None, int] = {name: min(i, CLASSES) for i, name in enumerate(names)}
    if len(names) > CLASSES:
        more = len(names) - CLASSES
        names = [*names[:CLASSES], f"{whole(more)} other class{'es' * (more > 1)}"]
    return names, np.array([index.get(name, -1) for name in written], dtype=np.intp)


def _sentences(total: Array, agreeing: int, n: int) -> list[str]:
    known = int(total.sum())
    of = "of the rows" if known == n else f"of the {count(known, 'row')} whose class is known"
    line = (
        f"Known classes were not used for clustering. With the best matching of classes and clusters, one for all "
        f"tasks, {percent(agreeing / known)} {of} are in the cluster of their class."
    )
    if np.count_nonzero(total.any(axis=0)) <= np.count_nonzero(total.any(axis=1)):
        return [line]
    pure = percent(int(total.max(axis=0).sum()) / known)
    return [
        f"{line} There are more clusters than classes: {pure} have the class of most rows of their cluster (purity)."
    ]
