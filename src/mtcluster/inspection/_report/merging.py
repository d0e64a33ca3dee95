"""How clusters hang together: in which order their centres merge, and how rows moved since an earlier fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import Subject
from .._words import rounded
from .clusters import centers_of_sharing

LEAVES = 40  # clusters of a dendrogram that can be read


def linkage_of(subject: Subject, table: Array) -> tuple[list[int], Array]:
    """Merge the centres of clusters with rows, step by step, by average distance in units of the spread within them.

    Returns the numbers of the clusters, and a linkage matrix as SciPy's.
    """
    from scipy.cluster.hierarchy import average

    used = np.flatnonzero(table.sum(axis=0) > 0).tolist()
    Z = centers_of_sharing(subject.fitted)[0] / subject.widths
    return used, average(Z[used]) if len(used) > 1 else np.zeros((0, 4))


def merging(subject: Subject, table: Array) -> dict[str, Any] | None:
    """Tell the order of the clusters in a dendrogram of their centres, and its steps; None if there is none to draw."""
    from scipy.cluster.hierarchy import leaves_list

    used, steps = linkage_of(subject, table)
    if not 2 < len(used) <= LEAVES:
        return None
    return {
        "order": [used[i] for i in leaves_list(steps)],
        "clusters": used,
        "steps": [[int(a), int(b), rounded([height])[0]] for a, b, height, _ in steps.tolist()],
    }


def flow_of(changes: Any) -> list[dict[str, int]]:
    """List how many rows went from which old cluster to which new one."""
    table = changes.table
    return [
        {"before": i, "after": j, "rows": n}
        for i, j, n in zip(table["before"], table["after"], table["rows"], strict=True)
        if n
    ]
