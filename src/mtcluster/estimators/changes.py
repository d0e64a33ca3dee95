"""What changed: rows that a refit moved, clusters that came and went, and how far tasks drift in a stream."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import poisson

from .._utils.tables import Row, Table, sentences_and_table
from .._utils.text import count, listed
from ..core.arrays import Array

MAIN_PART, NOTED_PART = (
    0.5,
    0.1,
)  # shares of the rows of a cluster that make it a part of another, and that are worth telling


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
        return _several((of_new >= MAIN_PART) & (of_old >= NOTED_PART) & self.inside)

    @property
    def merged(self) -> dict[int, list[int]]:
        """New clusters that several old ones became: most rows of each are in it, and they are a part of it.

        An old cluster that lives on under its number has not become another.
        """
        of_new = self.counts / np.maximum(self.counts.sum(axis=0), 1)
        of_old = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        old, new = self.counts.shape
        over = ~self.now[:old, None] | (np.arange(old)[:, None] == np.arange(new))
        return _several(((of_old >= MAIN_PART) & (of_new >= NOTED_PART) & over).T)

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
        """Tell where the rows of a new cluster were before."""
        if not self.counts[:, j].any():
            return ""
        i = int(self.counts[:, j].argmax())
        return f", {100 * self.counts[i, j] / self.counts[:, j].sum():.0f} % of them in cluster {i} before"

    def _heir(self, i: int) -> str:
        """Tell where the rows of a cluster that is no more are now."""
        if not self.counts[i].any():
            return "; no row is nearest to it"
        j = int(self.counts[i].argmax())
        return f"; {100 * self.counts[i, j] / self.counts[i].sum():.0f} % of the rows that it had are in cluster {j}"

    def rows(self) -> list[Row]:
        """Return the rows of the table, one dict each."""
        return self.table.rows()

    def __str__(self) -> str:
        return "\n".join([str(self.table), *self.sentences])

    def _repr_html_(self) -> str:
        return sentences_and_table(self.sentences, self.table)


def _several(at: Array) -> dict[int, list[int]]:
    """Return rows of a table with several entries, and which these are."""
    return {int(i): np.flatnonzero(at[i]).tolist() for i in np.flatnonzero(at.sum(axis=1) > 1)}


NOTABLE_MOVE = 1.0  # spreads from which on a movement is put into words
TOLD = 8  # movements that are
FEW_LEFT, RARE_LOSS = (
    0.1,
    1e-3,
)  # share of the expected rows, and probability, at which a cluster has vanished from a batch
BACK = 5  # rows with which it is back

WORDS = {
    "born": "Batch {batch}: cluster {cluster} is new ({rows}).",
    "vanished": "Batch {batch}: cluster {cluster} has {rows}, where about {expected:.0f} were expected.",
    "returned": "Batch {batch}: cluster {cluster} is back ({rows}).",
    "died": "Batch {batch}: cluster {cluster} has died; what was known about it is forgotten.",
}


@dataclass(frozen=True)
class Drift:
    """How far tasks and clusters moved in each batch of a stream, and which clusters came and went.

    Distances are in units of the spread within clusters, in the metric of the model. `print(drift)` shows the table
    and the sentences.

    Attributes
    ----------
    table : Table
        One row per batch, task and cluster with rows in it, and one per batch and task with cluster None for the
        location of the task as a whole, which is not counted again in its clusters. "rows" (weighted), "apart": how far
        these rows lay from where those of the same task and cluster lay before, beyond what their numbers explain, and
        "moved": how far their common mean moved. A task that is new is compared with where the clusters were expected.
    events : Table
        One row per cluster that came or went: "batch", "event" ("born", "vanished" from the batch, "returned", or
        "died" because its weight is forgotten), "cluster", "rows" and the "expected" number of rows.
    n_batches : int
        Batches so far, beside the fit that came first and is batch 0.
    missing : list of int
        Clusters that have vanished and not returned.
    """

    table: Table = field(default_factory=Table)
    events: Table = field(default_factory=Table)
    n_batches: int = 0
    missing: list[int] = field(default_factory=list)

    def after(self, rows: list[Row], events: list[Row]) -> Drift:
        """With one more batch."""
        batch = {"batch": self.n_batches + 1}
        gone = {event["cluster"] for event in events if event["event"] == "vanished"}
        back = {event["cluster"] for event in events if event["event"] in ("returned", "died")}
        return Drift(
            Table.from_rows([*self.table.rows(), *(batch | row for row in rows)]),
            Table.from_rows([*self.events.rows(), *(batch | event for event in events)]),
            self.n_batches + 1,
            sorted((set(self.missing) | gone) - back),
        )

    @property
    def sentences(self) -> list[str]:
        """What is notable, in words, batch by batch."""
        told = [
            (event["batch"], WORDS[event["event"]].format(**event | {"rows": count(round(event["rows"]), "row")}))
            for event in self.events.rows()
        ]
        far = sorted((row for row in self.table.rows() if row["apart"] >= NOTABLE_MOVE), key=lambda row: -row["apart"])
        for row in far[:TOLD]:
            what = f"task {row['task']!r}" if row["cluster"] is None else f"cluster {row['cluster']} in {row['task']!r}"
            line = (
                f"Batch {row['batch']}: the rows of {what} lay {row['apart']:.1f} spreads from where they had "
                f"been; their centre followed by {row['moved']:.1f}."
            )
            told.append((row["batch"], line))
        lines, more = [line for _, line in sorted(told, key=lambda one: one[0])], len(far) - TOLD
        return [*lines, f"{count(more, 'smaller movement')} of at least one spread."] if more > 0 else lines

    def __str__(self) -> str:
        return "\n".join([str(self.table), *self.sentences])

    def _repr_html_(self) -> str:
        return sentences_and_table(self.sentences, self.table)


def movements(
    tasks: list[Hashable], before: Array, means: Array, after: Array, sizes: Array, known: Array,
    measure: Callable[[Array], Array], d: int,
) -> list[Row]:  # fmt: skip
    """Return the rows of the table for one batch.

    `before` and `after` (m, c, d) are centres, `means` those of the rows, `sizes` (m, c) their numbers, `known` (m, c)
    those of the rows before; `measure` turns vectors (…, d) into such whose length is in units of the spread.
    """
    found: list[Row] = []
    weights = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    for k, task in enumerate(tasks):
        here = np.flatnonzero(sizes[k] > 0)
        if not len(here):
            continue
        seen, followed = (measure((x - before)[k, here]) for x in (means, after))
        seen_all, followed_all = (weights[k, here] @ x for x in (seen, followed))
        total = float(sizes[k].sum())
        noise = d / np.maximum(sizes[k, here], 1.0) + d / np.maximum(known[k, here], 1.0) * (known[k, here] >= 1)
        found.append(_row(task, None, total, seen_all, followed_all, float(weights[k, here] ** 2 @ noise)))
        for i, j in enumerate(here.tolist()):
            found.append(
                _row(task, j, float(sizes[k, j]), seen[i] - seen_all, followed[i] - followed_all, float(noise[i]))
            )
    return found


def _row(task: Hashable, cluster: int | None, rows: float, seen: Array, followed: Array, noise: float) -> Row:
    apart = np.sqrt(max(float(seen @ seen) - noise, 0.0))  # means of few rows differ by so much
    moved = float(np.sqrt(followed @ followed))
    return {"task": task, "cluster": cluster, "rows": rows, "apart": float(apart), "moved": moved}


def comings_and_goings(
    seen: Array, expected: Array, living: Array, born: list[int], died: list[int], missing: list[int]
) -> list[Row]:
    """Return the events of one batch, from the rows (c,) of each cluster and how many were expected."""
    found = []
    for j in range(len(seen)):
        n, wanted = float(seen[j]), float(expected[j])
        if j in born:
            event = "born"
        elif j in died:
            event = "died"
        elif not living[j]:
            continue
        elif j not in missing and n <= FEW_LEFT * wanted and poisson.cdf(n, wanted) < RARE_LOSS:
            event = "vanished"
        elif j in missing and n >= BACK:
            event = "returned"
        else:
            continue
        found.append({"event": event, "cluster": j, "rows": n, "expected": wanted})
    return found
