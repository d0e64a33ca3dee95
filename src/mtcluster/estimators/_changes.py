"""What a refit changed: rows that moved, and clusters that were born, split, merged or died."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.tables import Table, sentences_and_table
from .._utils.text import count, listed
from ..core.arrays import Array

MOST, SOME = 0.5, 0.1  # shares of the rows of a cluster that make it a part of another, and that are worth telling


@dataclass(frozen=True)
class Changes:
    """What changed between an earlier model and a fit that continues it.

    The old label of a row is what the earlier model predicts for it. `print(changes)` shows the table and the
    sentences.

    Attributes
    ----------
    counts : array of shape (c_old, c)
        Rows by their old label and their new one.
    living : array of shape (c_old,)
        Which clusters the earlier model had; others were no more even then.
    now : array of shape (c,)
        Which clusters there are now.
    inside : array of shape (c_old, c)
        Whether these rows lie where the old cluster was, not only nearer to it than to the others: else a new cluster
        is no part of the old one.
    """

    counts: Array
    living: Array
    now: Array
    inside: Array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_moved(self) -> int:
        """Number of rows with another label than before."""
        return self.n_rows - int(np.trace(self.counts))

    @property
    def born(self) -> list[int]:
        """Clusters that the earlier model did not have."""
        return [int(j) for j in np.flatnonzero(self.now) if j >= len(self.living)]

    @property
    def died(self) -> list[int]:
        """Clusters of the earlier model that are no more."""
        return [int(j) for j in np.flatnonzero(self.living) if not self.now[j]]

    @property
    def split(self) -> dict[int, list[int]]:
        """Old clusters that became several: each new one has most of its rows from the old one, and a part of it."""
        of_new = self.counts / np.maximum(self.counts.sum(axis=0), 1)
        of_old = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        return _several((of_new >= MOST) & (of_old >= SOME) & self.inside)

    @property
    def merged(self) -> dict[int, list[int]]:
        """New clusters that several old ones became: most rows of each are in it, and they are a part of it.

        An old cluster that lives on under its number has not become another.
        """
        of_new = self.counts / np.maximum(self.counts.sum(axis=0), 1)
        of_old = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        old, new = self.counts.shape
        over = ~self.now[:old, None] | (np.arange(old)[:, None] == np.arange(new))
        return _several(((of_old >= MOST) & (of_new >= SOME) & over).T)

    @property
    def table(self) -> Table:
        """One row per old and new label with common rows: "before", "after", "rows", and "share" of the old cluster.

        A cluster that died has a row too, of 0 rows, with its number before and after.
        """
        totals, shown = np.maximum(self.counts.sum(axis=1), 1), self.counts > 0
        shown[self.died, self.died] = True
        return Table.from_rows(
            {"before": int(i), "after": int(j), "rows": int(self.counts[i, j]), "share": self.counts[i, j] / totals[i]}
            for i, j in np.argwhere(shown)
        )

    @property
    def sentences(self) -> list[str]:
        """What changed, in words."""
        share = 100 * self.n_moved / max(self.n_rows, 1)
        has = "has" if self.n_moved == 1 else "have"
        lines = [
            f"{self.n_moved} of {count(self.n_rows, 'row')} ({share:.1f} %) {has} another cluster than the previous "
            "model gives them."
        ]
        split, merged = self.split, self.merged
        lines += [f"Split: cluster {i} into {listed(parts, final=' and ')}." for i, parts in split.items()]
        lines += [f"Merged: clusters {listed(parts, final=' and ')} into {j}." for j, parts in merged.items()]
        parts_of = {j for parts in split.values() for j in parts} | set(merged)
        for j in (j for j in self.born if j not in parts_of):  # a part is told already
            lines.append(f"Born: cluster {j} ({count(int(self.counts[:, j].sum()), 'row')}){self._source(j)}.")
        for i in self.died:
            lines.append(f"Died: cluster {i}{self._heir(i)}.")
        return lines

    def _source(self, j: int) -> str:
        """Where the rows of a new cluster were before."""
        if not self.counts[:, j].any():
            return ""
        i = int(self.counts[:, j].argmax())
        return f", {100 * self.counts[i, j] / self.counts[:, j].sum():.0f} % of them in cluster {i} before"

    def _heir(self, i: int) -> str:
        """Where the rows of a cluster that is no more are now."""
        if not self.counts[i].any():
            return "; no row is nearest to it"
        j = int(self.counts[i].argmax())
        return f"; {100 * self.counts[i, j] / self.counts[i].sum():.0f} % of the rows that it had are in cluster {j}"

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, one dict each."""
        return self.table.rows()

    def __str__(self) -> str:
        return "\n".join([str(self.table), *self.sentences])

    def _repr_html_(self) -> str:
        return sentences_and_table(self.sentences, self.table)


def _several(at: Array) -> dict[int, list[int]]:
    """Rows of a table with several entries, and which these are."""
    return {int(i): np.flatnonzero(at[i]).tolist() for i in np.flatnonzero(at.sum(axis=1) > 1)}
