"""Which task holds which cluster: the relation table of a fit, and what it says in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.tables import Table, sentences_and_table
from ..core.arrays import Array
from ..core.fitted import Fitted
from ._subject import PRESENT, UNSURE, Subject, subject_of
from ._words import count, listed, named

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Relations:
    """Which task holds which cluster, and how certain that is.

    `print(relations)` shows one cell per cluster and task: the relation, the support, and the number of rows.

    Attributes
    ----------
    table : Table
        One row per cluster and task, with the columns "cluster", "task", "relation", "support" and "rows" (weighted, as
        `cluster_sizes_`). `pandas.DataFrame(relations.table)` converts it. The relation is one of

        - "shared": the task holds the cluster, and so does another;
        - "private": the task holds the cluster, and no other does;
        - "absent": the task does not hold it, so that no row of the task has that label;
        - "uncertain": support is within 0.1 of one half, or on the other side of it than what was decided;
        - "own": the task was left alone, or is the only one; its cluster need not correspond to those of other tasks.
    sentences : list of str
        What stands out: private, absent and uncertain clusters, tasks whose location cannot be told from what they
        hold, tasks that were left alone.
    """

    table: Table
    sentences: list[str]

    def rows(self) -> list[dict[str, Any]]:
        """List the rows of the table, one dict each."""
        return self.table.rows()

    def to_frame(self) -> pandas.DataFrame:
        """Make a data frame of the table: one row per cluster and task."""
        import pandas

        return pandas.DataFrame(self.table)

    def _wide(self) -> Table:
        """Make what is shown: one row per cluster or task, whichever are more."""
        tasks, clusters = (list(dict.fromkeys(self.table[name])) for name in ("task", "cluster"))
        cells = {(row["cluster"], row["task"]): _cell(row) for row in self.rows()}
        if len(tasks) > len(clusters):
            return Table.from_rows({"task": str(t)} | {f"cluster {j}": cells[j, t] for j in clusters} for t in tasks)
        return Table.from_rows({"cluster": str(j)} | {str(t): cells[j, t] for t in tasks} for j in clusters)

    def __str__(self) -> str:
        return "\n".join([str(self._wide()), *self.sentences])

    def _repr_html_(self) -> str:
        return sentences_and_table(self.sentences, self._wide())


def relations(model: Any) -> Relations:
    """Tell which task holds which cluster: shared, private, absent or uncertain.

    Parameters
    ----------
    model : SPMTC, LSSMTC, ASI or LabelDescription
        Fitted model. Its arrays may be on any device.

    Returns
    -------
    relations : Relations
        One entry per cluster and task, and sentences about what stands out.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, separation=9, random_state=0)
    >>> kept = (tasks == 0) | (y != 2)  # the second task lacks one of the clusters
    >>> model = SPMTC(3, random_state=0).fit(X[kept], tasks=tasks[kept])
    >>> sorted(model.relations().table["relation"])
    ['absent', 'private', 'shared', 'shared', 'shared', 'shared']
    """
    subject = subject_of(model, "relations")
    return Relations(relation_table(subject), relation_sentences(subject, [f"task {task!r}" for task in subject.tasks]))


def relation_words(fitted: Fitted) -> Array:
    """Tell the relation of each cluster to each task (m, c) in one word."""
    holds, support, together = fitted.holds, fitted.support, fitted.shares
    if len(holds) == 1:
        return np.where(holds, "own", "absent").astype("U9")
    held = holds & together[:, None]
    words = np.where(holds, np.where(held.sum(axis=0) > 1, "shared", "private"), "absent").astype("U9")
    margin = np.where(holds, support - PRESENT, PRESENT - support)
    words[margin < UNSURE] = "uncertain"
    words[~together] = np.where(holds[~together], "own", "absent")
    return words


def relation_table(subject: Subject) -> Table:
    """Make one row per cluster and task."""
    fitted, tasks = subject.fitted, subject.tasks
    words, sizes = relation_words(fitted), fitted.sizes
    m, c = words.shape
    return Table.from_rows(
        {
            "cluster": j,
            "task": tasks[k],
            "relation": str(words[k, j]),
            "support": float(fitted.support[k, j]),
            "rows": _rows(sizes[k, j]),
        }
        for j in range(c)
        for k in range(m)
    )


def relation_sentences(subject: Subject, names: list[str], row: str = "row", *, uncertain: bool = True) -> list[str]:
    """Say the relations in words; `names` are those of the tasks as they stand in a sentence, `row` is a word."""
    fitted, gone = subject.fitted, subject.gone
    words, together, m = relation_words(fitted), fitted.shares, len(names)
    if m == 1 or not together.any():
        return []
    without, over = ~np.any(fitted.sizes > 0, axis=0), np.flatnonzero(gone).tolist()
    words[:, without | gone] = "empty"
    empty = np.flatnonzero(without & ~gone).tolist()
    last = [f"Without {row}s in any task: {named('cluster', empty)}. The data may hold fewer groups."] if empty else []
    if over:
        last.append(f"No more in any task: {named('cluster', over)}.")
    last = [*_without_location(fitted, names), *last]
    where = "every task" if together.all() else "every task that shares"
    if np.all(np.isin(words[together], ("shared", "empty"))):
        return [f"Every cluster{' with rows' * bool(empty or over)} is present in {where}.", *last]
    lines = []
    if common := np.flatnonzero(np.all(words[together] == "shared", axis=0)).tolist():
        lines.append(f"Present in {where}: {named('cluster', common)}.")
    for k in np.flatnonzero(together).tolist():
        own = np.flatnonzero((words[k] == "private") | (_only(fitted, k) & (words[k] == "uncertain")))
        told = [f"cluster {j} ({count(round(float(fitted.sizes[k, j])), row)})" for j in own]
        if told:
            lines.append(
                f"Private to {names[k]}: {listed(told)}; no other task holds {'it' if len(own) == 1 else 'them'}."
            )
    lines += _places("Absent", words == "absent", together, names)
    if uncertain:
        lines += _places("Uncertain", words == "uncertain", together, names, fitted)
    return [*lines, *last]


def _only(fitted: Fitted, k: int) -> Array:
    """Find the clusters (c,) that task k holds, and no other that shares."""
    held = fitted.holds & fitted.shares[:, None]
    return held[k] & (held.sum(axis=0) == 1)


def _places(word: str, at: Array, together: Array, names: list[str], fitted: Fitted | None = None) -> list[str]:
    """Say which clusters are in this relation to which tasks; with a model, what was decided and by what support."""
    told = []
    for k in np.flatnonzero(together & at.any(axis=1)).tolist():
        own: list[Any] = np.flatnonzero(at[k]).tolist()
        if fitted is not None:
            there = ["not " * (not fitted.holds[k, j]) + "held" for j in own]
            own = [f"{j} ({how}, support {fitted.support[k, j]:.2f})" for j, how in zip(own, there, strict=True)]
        told.append(f"{named('cluster', own)} in {names[k]}")
    return [f"{word}: {listed_places(told)}."] if told else []


def listed_places(told: list[str], shown: int = 6) -> str:
    """List phrases that contain commas, in one sentence."""
    more = [f"and in {count(len(told) - shown, 'more task')}"] if len(told) > shown else []
    return "; ".join([*told[:shown], *more])


def _without_location(fitted: Fitted, names: list[str]) -> list[str]:
    """Name tasks with an offset that share too few clusters with the others to tell where they lie."""
    if fitted.task_offset != "matched":
        return []
    held = fitted.holds & fitted.shares[:, None]
    common = (held & (held.sum(axis=0) > 1)).sum(axis=1)
    few = np.flatnonzero((common < 2) & fitted.shares).tolist()
    if not few:
        return []
    return [
        f"Fewer than two clusters in common with the other tasks: {listed([names[k] for k in few])}. Where such a task "
        "lies cannot be told from what it holds, and the smaller offset was taken."
    ]


def _cell(row: dict[str, Any]) -> str:
    """Write one cell of the printed table."""
    if row["relation"] in ("own", "absent") and not (row["relation"] == "absent" and row["support"] > 0):
        return row["relation"] if row["relation"] == "absent" else f"own, {row['rows']:g}"
    return f"{row['relation']} {row['support']:.2f}" + f", {row['rows']:g}" * (row["rows"] > 0)


def _rows(size: float) -> int | float:
    """Write a number of rows; weights may make it a fraction."""
    return int(size) if float(size).is_integer() else float(size)
