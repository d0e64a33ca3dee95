"""The number of clusters in words and tables: what `select_n_clusters` and `n_clusters="auto"` tell."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._utils.tables import Table, sentences_and_table
from .._utils.text import listed
from ..core.arrays import Array
from .counting import Counted, Number
from .verdict import GAP

NUMBERS_SHOWN = 0.02  # share of a cluster from which on a part of it is shown in the tree


@dataclass(frozen=True)
class Selection:
    """What `select_n_clusters` found.

    Attributes
    ----------
    n_clusters : int or None
        The suggestion. 1: no number cuts the rows more sharply than data without clusters. None: some do, and none is
        found again in halves.
    named : list of int
        Numbers that are supported, the coarsest first: the suggestion, and coarser ones that it divides further.
    reason : str
        The suggestion in words.
    table : Table
        A row for each number of clusters, 1 included: `n_clusters`, `stability` (share of the rows that keep their
        cluster in cold refits to halves), `weakest` (stability of the least stable cluster), `between` (how wide the
        path between the two clusters that are separated least stays: up to 0.7 there is a gap, at 1 there is none),
        `silhouette` (around the means of the tasks), `reference` (the largest one of data without clusters),
        `supported`.
    tree : Table
        What splits into what between the supported numbers: `coarse` and `fine` number, `parent` and `child` cluster,
        `share` of the parent's rows. Clusters are numbered by size, the largest first.
    """

    n_clusters: int | None
    named: list[int]
    reason: str
    table: Table
    tree: Table

    def __str__(self) -> str:
        return f"{self.table}\n\n{self.reason}"

    def _repr_html_(self) -> str:
        return sentences_and_table([self.reason], self.table)

    @property
    def best(self) -> int:
        """The suggestion, or where there is none the sharpest number above 1."""
        if self.n_clusters is not None:
            return self.n_clusters
        rows = [row for row in self.table.rows() if row["n_clusters"] > 1]
        return int(max(rows, key=lambda row: row["silhouette"])["n_clusters"])

    def plot(self, ax: Any = None) -> Any:
        """Return stability by number of clusters, the suggestion marked.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. None: those of a new figure of pyplot.

        Returns
        -------
        ax : matplotlib axes
            With the drawing.
        """
        from ..plotting import plot_selection

        return plot_selection(self, ax)


def selection_of(counted: Counted) -> Selection:
    """Return the result of a count."""
    found, chosen, named = counted.numbers, counted.n_clusters, counted.named
    nothing = float("nan")
    first = {
        "n_clusters": 1, "stability": 1.0, "weakest": 1.0, "between": nothing, "silhouette": nothing,
        "reference": nothing, "supported": chosen == 1,
    }  # fmt: skip
    rows = [
        {
            "n_clusters": one.n_clusters,
            "stability": one.stability,
            "weakest": one.weakest,
            "between": one.between,
            "silhouette": one.silhouette,
            "reference": float(one.reference.max()),
            "supported": one.n_clusters in named,
        }
        for one in found
    ]
    return Selection(chosen, named, _reason(counted), Table.from_rows([first, *rows]), _tree(counted))


def _reason(counted: Counted) -> str:
    found, chosen, named = counted.numbers, counted.n_clusters, counted.named
    if counted.why == "none":
        return (
            "One group: no number cuts the rows more sharply than data without clusters of the same shape are cut (no "
            "clear structure)."
        )
    if chosen is None:
        best = max(found, key=lambda one: one.silhouette)
        return (
            "No number: rows are cut more sharply than data without clusters, but no clusters are found again; with "
            f"the sharpest, {best.n_clusters}, {_percent(best.stability)} of the rows keep their cluster in halves."
        )
    one = counted.number(chosen)
    kept = f"{_percent(one.stability)} of the rows keep their cluster in halves of the data"
    if counted.why == "separated":
        others = [number for number in named if number != chosen]
        coarser = f" {listed(others, final=' and ')} clusters are separated too, and coarser." if others else ""
        reason = f"{chosen} clusters: {kept}, and there are gaps between them.{coarser}"
    else:
        others = [number for number in named if number != chosen]
        also = f" Found again as well: {listed(others, final=' and ')}." if others else ""
        but = "" if one.between <= GAP else ", but the gaps between some are narrow"
        reason = f"{chosen} clusters: {kept}, the sharpest cut{but}.{also}"
    last = found[-1].n_clusters
    return reason + (f" It is the largest number compared: try more than {last}." if chosen == last else "")


def _tree(counted: Counted) -> Table:
    """Tell what splits into what between numbers that are supported."""
    ones = [counted.number(number) for number in counted.named]
    rows = [row for coarse, fine in pairwise(ones) for row in _splits(coarse, fine)]
    return Table.from_rows(rows) if rows else Table(coarse=[], fine=[], parent=[], child=[], share=[])


def _splits(coarse: Number, fine: Number) -> list[dict[str, Any]]:
    a, b = _by_size(coarse.labels), _by_size(fine.labels)
    table = np.zeros((coarse.n_clusters, fine.n_clusters))
    np.add.at(table, (a, b), 1)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    return [
        {"coarse": coarse.n_clusters, "fine": fine.n_clusters, "parent": i, "child": j, "share": float(shares[i, j])}
        for i, j in np.argwhere(shares >= NUMBERS_SHOWN).tolist()
    ]


def _by_size(labels: Array) -> Array:
    """Return labels under the ranks of their clusters by size."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share < 0.995 else "all" if share == 1 else "more than 99 %"
