"""A column of two values that makes clusters by itself, and what would be found without it."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from .._utils.text import count, listed
from ..inspection._report.columns import read_columns
from ..inspection._report.sentences import ruling_columns, ruling_sentences
from ..inspection._subject import subject_of
from ..model_selection._n_clusters import select_n_clusters
from . import modelling
from .methods import METHODS
from .preparing import Prepared


def told_ruling(arguments: Namespace, rows: Prepared, described: Any) -> list[str]:
    """Say which columns make clusters by themselves, and what the same method finds in the others."""
    if not rows.data.is_table:
        return []
    columns = read_columns(rows.data.X, rows.features, len(rows.data), len(rows.features))
    found = ruling_columns(subject_of(described, "fit"), columns)
    lines = ruling_sentences(found)
    return [
        f"{line} {_without(name, arguments, rows, described)}".strip() for name, line in zip(found, lines, strict=True)
    ]


def _without(name: str, arguments: Namespace, rows: Prepared, described: Any) -> str:
    """Fit the columns but one, with about half as many clusters at most, and say what comes out."""
    kept = [i for i, feature in enumerate(rows.features) if feature != name and not feature.startswith(f"{name} = ")]
    method, most = METHODS[arguments.method], described.n_clusters_
    if not kept or not method.missing or most < 2:
        return ""
    X = rows.X[:, kept]
    with modelling.noted():
        selection = select_n_clusters(
            X, tasks=rows.tasks, n_clusters=range(2, most // 2 + 2), random_state=arguments.seed
        )
        if selection.n_clusters in (None, 1):
            return "Without it, no clusters stand out."
        labels = method.make(selection.n_clusters, arguments.seed).fit(X, tasks=rows.tasks).labels_
    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1].tolist()
    return f"Without it there are {count(selection.n_clusters, 'cluster')}, of {listed(sizes, final=' and ')} rows."
