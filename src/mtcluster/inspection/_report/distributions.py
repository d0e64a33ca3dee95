"""The distribution of the leading features of each cluster: quantiles of numbers, shares of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import Subject
from .._words import rounded
from .columns import Columns, Feature
from .effects import CLUSTERS, Effects

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MIDDLE = QUANTILES[1:4]  # without extremes, which may be those of single rows
LEADING_FEATURES, FEWER_FEATURES = 3, 2  # features of a cluster; fewer from `SEVERAL` clusters on
SEVERAL, BESIDE = 5, 12  # clusters; the largest that stand beside each other
SHOWN_TASKS = 6  # largest tasks by which a feature is shown


def distributions(
    subject: Subject, columns: Columns, found: Effects, table: Array, *, levels: tuple[float, ...], least: int
) -> dict[str, Any] | None:
    """Compute quantiles or shares of the leading features of each cluster, by cluster and by task.

    Groups of fewer than `least` rows are left out.
    """
    if not columns.features:
        return None
    by_size = np.argsort(-table.sum(axis=0), kind="stable")
    largest = sorted(int(j) for j in by_size[:CLUSTERS] if table[:, j].any())
    beside = sorted(int(j) for j in by_size[:BESIDE] if table[:, j].any())
    tasks = sorted(np.argsort(-table.sum(axis=1), kind="stable")[:SHOWN_TASKS].tolist()) if len(table) > 1 else []
    leading = {j: found.of_cluster(j, LEADING_FEATURES if len(largest) < SEVERAL else FEWER_FEATURES) for j in largest}
    used = sorted({i for own in leading.values() for i in own})
    places = {i: place for place, i in enumerate(used)}
    features, by_task = [], []
    for i in used:
        groups = _Groups(columns.features[i], subject, levels, least)
        features.append(groups.by_cluster(largest))
        by_task += [
            {"cluster": j, "feature": places[i]} | groups.by_task(j, tasks)
            for j in largest
            if i in leading[j] and tasks
        ]
    return {
        "levels": list(levels),
        "features": features,
        "clusters": [{"cluster": j, "features": [places[i] for i in leading[j]]} for j in largest if leading[j]],
        "beside": beside,
        "tasks": tasks,
        "by_task": by_task,
    }


class _Groups:
    """One feature in groups of rows."""

    def __init__(self, feature: Feature, subject: Subject, levels: tuple[float, ...], least: int) -> None:
        values, rows = feature.read(), subject.rows
        some = np.isfinite(values) & (rows.labels >= 0)
        self.feature, self.levels, self.least = feature, levels, least
        self.values, self.labels, self.tasks = values[some], rows.labels[some], rows.tasks[some]

    def by_cluster(self, clusters: list[int]) -> dict[str, Any]:
        """Describe the feature in each cluster."""
        found = {str(j): self._told(self.values[self.labels == j]) for j in clusters}
        return {"name": self.feature.name, "kind": self.feature.kind, "clusters": found}

    def by_task(self, j: int, tasks: list[int]) -> dict[str, Any]:
        """Describe the feature in a cluster and in the rest of each of these tasks."""
        found = []
        for k in tasks:
            own, labels = self.values[self.tasks == k], self.labels[self.tasks == k]
            found.append({"task": k, "here": self._told(own[labels == j]), "rest": self._told(own[labels != j])})
        return {"tasks": found}

    def _told(self, values: Array) -> list[Any] | None:
        """Compute quantiles of numbers; the share of rows with a category, or with an entry other than zero."""
        if len(values) < self.least:
            return None
        if self.feature.kind == "number":
            return rounded(np.quantile(values, self.levels))
        return rounded([np.mean(values != 0)])
