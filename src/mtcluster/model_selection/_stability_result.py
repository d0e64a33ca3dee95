"""What `stability` finds: the numbers, and the same in sentences and in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.tables import Table, sentences_and_table
from ..certainty.verdict import MEANINGS, MOVED
from ..core.arrays import Array


@dataclass(frozen=True)
class Stability:
    """What `stability` found.

    Attributes
    ----------
    verdict : {"clear", "clear within tasks", "fair", "unsure", "no clear structure"}
        How sure one can be of the clusters.
    overall : float
        Share of the rows that keep their cluster when the model is fitted again: the lower one of `halves` and `seeds`.
    halves, seeds : float
        This share in refits to halves of the rows, and to all rows with other seeds.
    within : float
        The same as `overall` where the clusters of each task are matched on their own.
    reference : array
        `halves` of data sets without clusters.
    beats : {"yes", "barely", "no"}
        Whether `overall` is above all of `reference`, above most of it, or not.
    cluster_stability : array of shape (c,)
        Jaccard index of each cluster with its match, mean over all refits; NaN for a cluster without rows.
    cluster_task_stability : array of shape (m, c)
        The same within each task; NaN where the task has no rows of the cluster.
    row_confidence : array of shape (n,)
        For each row, the share of the refits that keep it with its cluster.
    between : array of shape (c, c)
        For i < j how wide the best path between two neighbouring clusters stays, relative to the rows of the sparser
        one: up to 0.7 there is a gap, at 1 there is none. NaN for clusters that are no neighbours.
    location_share : float or None
        Share of the rows that change their cluster if the location of tasks is treated the other way: estimated if the
        model keeps it, kept if it estimates it. None: it was not left to the data.
    tasks : list
        Labels of the tasks.
    n_refits, n_rows : int
        Number of refits to halves, and of the rows that are fitted again.
    table : Table
        A row for each cluster: its rows, its stability, the neighbour that it is separated from least, and its
        stability in each task.
    """

    verdict: str
    overall: float
    halves: float
    seeds: float
    within: float
    reference: Array
    beats: str
    cluster_stability: Array
    cluster_task_stability: Array
    row_confidence: Array
    between: Array
    location_share: float | None
    tasks: list[Any]
    n_refits: int
    n_rows: int
    table: Table

    @property
    def sentences(self) -> list[str]:
        """What was found, in sentences."""
        if len(self.cluster_stability) < 2:
            return [f"How sure: {self.verdict}. There is one cluster, which holds all rows."]
        low, high = float(self.reference.min()), float(self.reference.max())
        said = [
            f"How sure: {self.verdict}. {MEANINGS[self.verdict][:1].upper()}{MEANINGS[self.verdict][1:]}.",
            f"{100 * self.halves:.0f} % of {self.n_rows} rows keep their cluster when the model is fitted again to "
            f"halves of them, and {100 * self.seeds:.0f} % with other seeds; in halves of data without clusters of the "
            f"same shape it would be {100 * low:.0f} to {100 * high:.0f} %.",
        ]
        if self.within - self.overall >= MOVED:
            said.append(
                f"Within each task {100 * self.within:.0f} % keep their cluster: it is less sure which clusters of "
                "different tasks correspond."
            )
        if self.location_share is not None and self.location_share >= MOVED:
            said.append(
                f"It matters where tasks lie: {100 * self.location_share:.0f} % of the rows would change their cluster "
                "if the location of the tasks were treated the other way."
            )
        return said

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", str(self.table)])

    def _repr_html_(self) -> str:
        return sentences_and_table(self.sentences, self.table)

    def plot(self, ax: Any = None) -> Any:
        """Draw the stability of each cluster, and of data without clusters.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. None: those of a new figure of pyplot.

        Returns
        -------
        ax : matplotlib axes
            With the drawing.
        """
        from ..plotting import plot_stability

        return plot_stability(self, ax)


def table_of(clusters: Array, cells: Array, between: Array, sizes: Array, tasks: list[Any]) -> Table:
    """Make a row for each cluster."""
    both = np.fmax(between, between.T)
    rows = []
    for j, size in enumerate(sizes.tolist()):
        known = np.flatnonzero(np.isfinite(both[j]))
        worst = int(known[np.argmax(both[j, known])]) if len(known) else None
        row = {
            "cluster": j,
            "rows": size,
            "stability": float(clusters[j]),
            "next_to": "" if worst is None else str(worst),
            "between": float("nan") if worst is None else float(both[j, worst]),
        }
        if len(tasks) > 1:
            row |= {f"in {task}": float(cells[k, j]) for k, task in enumerate(tasks)}
        rows.append(row)
    return Table.from_rows(rows)
