"""The decisions of a fit in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.tables import Table, sentences_and_table
from ..core.arrays import host
from ..core.couplings import COUPLINGS
from ..core.geometry import Tied
from ..core.memberships import FORMS
from ..core.weightings import WEIGHTINGS
from ..search.decisions import Decisions, SearchEvidence
from ._certainty import certainty_sentences, check_stability, number_sentence
from ._gaps import missing_of, missing_sentences
from ._matching import matching_sentences
from ._relations import relation_sentences
from ._subject import ALIKE, Subject, subject_of
from ._words import count, named, number, related

if TYPE_CHECKING:
    import pandas

NO_OFFSET = {
    "unit rows": "all rows have the same length, so they are directions, and a direction has no location",
    "one task": "there is one task",
    "fixed within_weight": "a number for within_weight gives the plain model",
    "geometry": "no two tasks have a column in common",
    "unsupported": "only binary memberships with coupling='reconstruction' support offsets",
}

EUCLIDEAN = {
    "unit rows": "all rows have the same length, so they are directions, which the cosine compares",
    "counts": "the rows are sparse counts, whose clusters are far from elliptical",
    "gaps": "values are missing in many features",
    "neighbours": "rows follow their neighbours beyond what clusters tell, so clusters are not elliptical",
    "fixed within_weight": "a number for within_weight gives the plain model",
    "membership": "only binary memberships support another metric",
    "coupling": "only coupling='reconstruction' supports another metric",
    "subspace": "n_components is below n_clusters",
    "scale": "task_offset='scale' does not go with another metric",
}


@dataclass(frozen=True, repr=False)
class Explanation:
    """What a fit decided, in words.

    It shows itself at the prompt, by `print` and in notebooks.

    Attributes
    ----------
    told : dict of str to list of str
        The sentences about each decision, in their order.
    """

    told: dict[str, list[str]]

    @property
    def table(self) -> Table:
        """One row per decision, with the columns "decision" and "explanation"."""
        pairs = ((name, (line.removeprefix(f"{name}:").strip() for line in lines)) for name, lines in self.told.items())
        return Table.from_rows({"decision": name, "explanation": " ".join(lines)} for name, lines in pairs)

    def to_frame(self) -> pandas.DataFrame:
        """Make a data frame with one row per decision, and the columns "decision" and "explanation"."""
        import pandas

        return pandas.DataFrame(self.table)

    def __str__(self) -> str:
        return "\n".join(line for lines in self.told.values() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return sentences_and_table([], self.table)


def explain(model: Any, stability: Any = None) -> Explanation:
    """Explain what a fit decided from the data alone, and on what evidence.

    Parameters
    ----------
    model : SPMTC, LSSMTC or ASI
        Fitted model. Its arrays may be on any device.
    stability : Stability, optional
        Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.

    Returns
    -------
    explanation : Explanation
        A few sentences per decision. It shows itself; `to_frame()` has one row per decision.

    Examples
    --------
    >>> from mtcluster import LSSMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.inspection import explain
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> explain(LSSMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks))  # doctest: +ELLIPSIS
    LSSMTC: 4 clusters in 3 tasks, 300 rows.
    Start: the most probable of ... labellings of all 300 rows in 10 dimensions...
    """
    subject = subject_of(model, "explain")
    if subject.decisions is None:
        raise TypeError(f"explain needs a fitted SPMTC, LSSMTC or ASI; got {type(model).__name__}.")
    check_stability(stability, subject.shape[1], len(subject.fitted.rows.labels))
    sure = [] if subject.matching and stability is None else certainty_sentences(stability)  # it cannot be measured
    return Explanation(describe(subject, subject.decisions, stability) | ({"How sure": sure} if sure else {}))


def describe(subject: Subject, made: Decisions, stability: Any = None) -> dict[str, list[str]]:
    """Say what was decided: sentences on the fit itself, by decision."""
    fitted, changes, drift = subject.fitted, subject.changes, subject.drift
    m, n, joined = len(fitted.tasks), subject.n_rows, bool(subject.joined.any())
    size = f"{count(subject.n_clusters, 'cluster')} in {count(m, 'task')}, {count(n, 'row')}"
    told = {"Model": [f"{subject.method}: {size}{' of the new data' * joined}."], "Missing values": _missing(subject)}
    if subject.selection is not None:
        told["Number of clusters"] = [number_sentence(subject.selection, subject.n_clusters, stability)]
    earlier = joined or drift is not None  # then the rows are not those that the fit started from
    told["Start"] = [_start(made, made.search.n_rows if earlier and made.search is not None else n, m)]
    if made.within_weight_reason != "none":
        told["Metric"] = [_metric(made)]
        told["Sharing"] = _sharing(made, subject)
        told["Task offsets"] = [_offset(made, subject)]
    told |= {"Matching": matching_sentences(subject.matching), "Joined after the fit": _joined(subject)}
    told["Shared centres"] = [f"Shared centres: {COUPLINGS[made.coupling].explanation} (coupling={made.coupling!r})"]
    told["Rows and clusters"] = [_membership(made)]
    told["Fit"] = [_iterations(made, fitted.rows.fractions, fitted.n_iter)]
    if drift is not None:
        calls = count(drift.n_batches, "call")
        told["Stream"] = [f"Stream: {calls} of partial_fit since. {' '.join(drift.sentences)}".rstrip()]
    if changes is not None:
        told["Since the previous model"] = [f"Since the previous model: {' '.join(changes.sentences)}"]
    if m > 1:
        names = [repr(task) for task in subject.tasks]
        told["Relatedness"] = [f"Relatedness: {relatedness_sentence(fitted.relatedness, subject.comparable, names)}"]
        told["Clusters of the tasks"] = relation_sentences(subject, [f"task {name}" for name in names])
    return {name: lines for name, lines in told.items() if lines}


def _missing(subject: Subject) -> list[str]:
    """Name values, columns of tasks and rows that are missing."""
    names = subject.feature_names
    features = range(subject.shape[2]) if names is None else [str(name) for name in names]
    lines = missing_sentences(missing_of(subject.fitted, features, subject.tasks), repr)
    known = subject.fitted.groups is not None
    empty = 0 if known else int(np.count_nonzero(host(subject.fitted.rows.labels) < 0))
    if empty:
        lines.append(f"{count(empty, 'row')} without any value {'has' if empty == 1 else 'have'} the label -1.")
    return lines


def _joined(subject: Subject) -> list[str]:
    """Name tasks that were not in the fit."""
    later, new = [repr(subject.tasks[k]) for k in np.flatnonzero(subject.joined)], subject.unexplained
    if not later:
        return []
    empty = ", or they have no value" * bool(subject.fitted.missing.any())
    flagged = f" No cluster explains {count(new, 'row')} of them{empty}, which have the label -1." if new else ""
    return [f"Joined after the fit: {named('task', later)}. The other lines are about the fit before.{flagged}"]


def _start(made: Decisions, n: int, m: int) -> str:
    if made.start == "given":
        return "Start: the memberships given as init."
    if made.start != "search" or made.search is None:
        best = f"; of {made.n_starts} starts, the fit with the lowest sum of losses was kept" * (made.n_starts > 1)
        return f"Start: {made.start}{best}."
    found = made.search
    seen = f"all {count(n, 'row')}" if found.n_rows == n else f"{found.n_rows} of the {count(n, 'row')}"
    line = (
        f"Start: the most probable of {count(found.n_candidates, 'labelling')} of {seen} in "
        f"{count(found.n_dimensions, 'dimension')}; it explains a row by {number(found.gain)} nats better than one "
        "cluster for all does."
    )
    if found.smoothing:
        line += f" Rows were moved towards their neighbours first, by {100 * found.smoothing:.0f} % of a step."
    far = found.n_distant_rows
    return f"{line} {count(far, 'row')} far from all others did not count in it." if far else line


def _metric(made: Decisions) -> str:
    if made.metric == "shared":
        how = ", as set" if made.metric_reason == "set" else " by default"
        return (
            f"Metric: shared{how}. Distances are relative to the scatter within clusters, one covariance for all tasks "
            "that is estimated with the clusters, so that units of the features do not matter."
        )
    if made.metric_reason == "set":
        return "Metric: Euclidean, as set."
    return f"Metric: Euclidean, because {EUCLIDEAN[made.metric_reason]}."


def _sharing(made: Decisions, subject: Subject) -> list[str]:
    weights, tasks = subject.fitted.within_weight, subject.tasks
    if made.within_weight_reason == "one task":
        return ["Sharing: none, because there is one task."]
    if made.within_weight_reason == "geometry":
        return ["Sharing: none but the numbers of clusters, because no two tasks have a column in common."]
    if made.within_weight_reason == "coupling":
        return [
            f"Sharing: within_weight={weights[0]:g} for all tasks; coupling={made.coupling!r} allows one value only."
        ]
    if made.within_weight_reason == "set" or made.search is None:
        return [f"Sharing: within_weight={weights[0]:g}, as set."]
    found = made.search
    told = [f"{tasks[k]!r}{_likeness(subject, k)}" for k in range(len(found.relatedness))]  # others joined later
    together, alone = ([text for text, w in zip(told, weights, strict=False) if (w == 1) == left] for left in (0, 1))
    lines = [f"Sharing: {_drawn(found, weights[weights < 1])} {named('task', together)}."] if together else []
    if alone:
        lines.append(
            f"Left alone: {named('task', alone)}. The rows of such a task are more probable with clusters of their "
            "own, so it was clustered on its own; its clusters have the numbers of those that match best."
        )
    return [*lines, "  Relatedness is that to the most similar task, at most 1, by the clusters that both hold."]


def _likeness(subject: Subject, k: int) -> str:
    """Say how like a task is to the one most like it, if it can be compared with any."""
    known = subject.comparable[k] & (np.arange(len(subject.tasks)) != k)
    return f" (relatedness {related(float(subject.fitted.relatedness[k][known].max()))})" if known.any() else ""


def _drawn(found: SearchEvidence, weights: Any) -> str:
    """Say how much tasks share."""
    if not weights.any() or np.isinf(found.shrinkage):
        return "within_weight=0, estimated: the shared centres alone describe"
    low, high = (f"{value:.2f}" for value in (weights.min(), weights.max()))
    values = low if low == high else f"{low} to {high}"
    rows = "less than one row" if found.shrinkage < 0.5 else count(round(found.shrinkage), "row")
    return f"within_weight {values}, estimated: centres of tasks are drawn to the shared ones as by {rows}, in"


def _offset(made: Decisions, subject: Subject) -> str:
    if made.task_offset_reason == "set":
        return f"Task offsets: task_offset={made.task_offset!r}, as set."
    if made.task_offset_reason != "evidence" or made.search is None:
        return f"Task offsets: not removed, because {NO_OFFSET[made.task_offset_reason]}."
    if made.task_offset == "none":
        return "Task offsets: none; the rows are more probable without them."
    spread = ", and differ in the spread of their columns" * made.search.scaled
    return (
        "Task offsets: estimated from the clusters that tasks have in common; the rows are more probable if tasks lie "
        f"apart{spread}.{_largest_offset(subject)}"
    )


def _largest_offset(subject: Subject) -> str:
    """Name the task that lies farthest from where the others lie."""
    centers = subject.fitted.centers
    moved = np.sqrt(np.maximum(centers.geometry.squares(centers.offsets.b), 0))
    unit = " times the width of a cluster" * isinstance(centers.geometry.tied, Tied)
    return f" Task {subject.tasks[int(np.argmax(moved))]!r} has the largest offset ({moved.max():.3g}{unit})."


def _membership(made: Decisions) -> str:
    how = ", as set" if made.membership_reason == "set" else " by default"
    return f"Rows and clusters: {FORMS[made.membership].explanation} (membership={made.membership!r}{how})"


def _iterations(made: Decisions, fractions: Any, n_iter: int) -> str:
    n = len(fractions)
    stages = "all rows at once"
    if n > 1:
        stages = f"{n} stages, from the easiest {100 * fractions[0]:.0f} % of the rows of each task to all rows"
    if made.start == "search" and n_iter == n:
        line = f"Fit: {stages}, one iteration{' each' * (n > 1)}: more would drift away from the start."
    else:
        line = f"Fit: {stages}, {count(n_iter, 'iteration')} in total."
    if made.weighting not in WEIGHTINGS or made.full_weight_share == 1:
        return line
    rest = f"{100 * (1 - made.full_weight_share):.0f} %"
    return f"{line} {WEIGHTINGS[made.weighting].explanation.format(rest=rest)}"


def relatedness_sentence(R: Any, known: Any, names: list[str]) -> str:
    """Say how many pairs of tasks are alike, and which are most and least, of those for which it is `known`."""
    pairs = [(float(R[i, j]), names[i], names[j]) for j in range(len(R)) for i in range(j) if known[i, j]]
    left = len(R) * (len(R) - 1) // 2 - len(pairs)
    if not pairs:
        return "No two tasks have two clusters in common, so it cannot be told how alike they are."
    others = f" {count(left, 'other pair')} with fewer than two clusters in common cannot be compared." if left else ""
    if len(pairs) == 1:
        (value, a, b), both = pairs[0], "The two tasks" if len(R) == 2 else f"{pairs[0][1]} and {pairs[0][2]}"
        return f"{both} are {'alike' if value >= ALIKE else 'not alike'}: relatedness {related(value)} of 1.{others}"
    alike, (high, a, b), (low, c, d) = sum(value >= ALIKE for value, _, _ in pairs), max(pairs), min(pairs)
    return (
        f"{'All' if alike == len(pairs) else f'{alike} of {len(pairs)}'} pairs of tasks are alike (relatedness of "
        f"{ALIKE:g} or more, of at most 1). It is highest for {a} and {b} ({related(high)}) and lowest for {c} and {d} "
        f"({related(low)}).{others}"
    )
