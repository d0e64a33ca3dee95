"""The decisions of a fit in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..consensus.decisions import ConsensusEvidence, Decisions
from ..core.couplings import COUPLINGS
from ..core.memberships import FORMS
from ..core.weightings import WEIGHTINGS
from ._fitted import ALIKE, PER_TASK, PRESENT, method_name, on_host
from ._words import MEANING, count, grade, listed, named, related

NO_OFFSET = {
    "unit rows": "all rows have the same length, so they are directions, and a direction has no location",
    "one task": "there is one task",
    "fixed within_weight": "a number for within_weight gives the plain model",
    "unsupported": "only binary memberships with coupling='reconstruction' support offsets",
}


def explain(model: Any) -> str:
    """Explain what a fit decided from the data alone, and on what evidence.

    Parameters
    ----------
    model : SPMTC, LSSMTC or ASI
        Fitted model. Its arrays may be on any device.

    Returns
    -------
    explanation : str
        One or two sentences per decision, one decision per line.

    Examples
    --------
    >>> from mtcluster import LSSMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.inspection import explain
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> print(explain(LSSMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)))  # doctest: +ELLIPSIS
    LSSMTC: 4 clusters in 3 tasks, 300 rows.
    Start: a consensus of 20 quick fits...
    """
    check_is_fitted(model)
    if not hasattr(model, "decisions_"):
        raise TypeError(f"explain needs a fitted SPMTC, LSSMTC or ASI; got {type(model).__name__}.")
    return "\n".join(describe(on_host(model, PER_TASK)))


def describe(model: Any) -> list[str]:
    """The lines of `explain`, of a model whose arrays are in host memory."""
    (m, c, _), n, made = model.task_centers_.shape, len(model.labels_), model.decisions_
    head = f"{method_name(model)}: {count(c, 'cluster')} in {count(m, 'task')}, {count(n, 'row')}."
    lines = [head, _start(made, n, m)]
    if made.within_weight_reason != "none":
        lines += [*_sharing(made, model.within_weight_, model.tasks_.tolist()), _offset(made, model)]
    lines += [f"Coupling: {made.coupling}. {COUPLINGS[made.coupling].explanation}"]
    lines += [_membership(made), _iterations(made, model.fractions_, model.n_iter_)]
    if m == 1:
        return lines
    alike = relatedness_sentence(model.task_relatedness_, [repr(task) for task in model.tasks_.tolist()])
    return [*lines, f"Relatedness: {alike}", *_missing(model)]


def _start(made: Decisions, n: int, m: int) -> str:
    if made.start == "given":
        return "Start: the memberships given as init."
    if made.start != "consensus" or made.consensus is None:
        best = f"; of {made.n_starts} starts, the fit with the lowest sum of losses was kept" * (made.n_starts > 1)
        return f"Start: {made.start}{best}."
    found = made.consensus
    seen = f"all {count(n, 'row')}" if found.n_rows == n else f"{found.n_rows} of the {count(n, 'row')}"
    differ = "how much tasks share, how much " if m > 1 else "how much "
    line = (
        f"Start: a consensus of {found.n_members} quick fits that differ in {differ}rows follow their neighbours and "
        f"where they started, on {seen} in {count(found.n_dimensions, 'dimension')}. On average "
        f"{100 * found.unanimity:.0f} % of the fits agree on the cluster of a row: {MEANING[grade(found.unanimity)]}."
    )
    far = found.n_distant_rows
    return f"{line} {count(far, 'row')} far from all others had a smaller weight in it." if far else line


def _sharing(made: Decisions, weights: Any, tasks: list[Any]) -> list[str]:
    if made.within_weight_reason == "one task":
        return ["Sharing: none, because there is one task."]
    if made.within_weight_reason == "coupling":
        return [
            f"Sharing: within_weight={weights[0]:g} for all tasks; coupling={made.coupling!r} allows one value only."
        ]
    if made.within_weight_reason == "set" or made.consensus is None:
        return [f"Sharing: within_weight={weights[0]:g}, as set."]
    told = [
        f"{task!r} (agreement {max(a, 0):.2f}, relatedness {max(r, 0):.2f})"
        for task, a, r in zip(tasks, made.consensus.agreement, made.consensus.relatedness, strict=True)
    ]
    together, alone = ([text for text, w in zip(told, weights, strict=True) if (w == 1) == left] for left in (0, 1))
    lines = [f"Sharing: within_weight={weights.min():g} for {named('task', together)}."] if together else []
    if alone:
        lines.append(
            f"Left alone: {named('task', alone)}. What the other tasks share does not describe such a task, so it was "
            "clustered on its own; its clusters have the numbers of those that match best."
        )
    return [*lines, _thresholds(made.consensus)]


def _thresholds(found: ConsensusEvidence) -> str:
    return (
        "  Agreement is the adjusted Rand index between the clusters of the task on its own and the consensus; "
        "relatedness is that to the most similar task. Both are at most 1. A task with at least "
        f"{count(found.min_rows, 'row')} per cluster is left alone if agreement is below {found.min_agreement:g} or "
        f"relatedness below {found.min_relatedness:g}."
    )


def _offset(made: Decisions, model: Any) -> str:
    if made.task_offset_reason == "set":
        return f"Task offsets: task_offset={made.task_offset!r}, as set."
    if made.offset_gain is None:
        return f"Task offsets: not removed, because {NO_OFFSET[made.task_offset_reason]}."
    change = f"{100 * abs(made.offset_gain):.0f} % {'tighter' if made.offset_gain >= 0 else 'wider'}"
    if made.task_offset == "none":
        return f"Task offsets: not removed; without the mean of each task, pooled clusters would be {change}."
    moved = np.linalg.norm(model.task_offsets_, axis=1)
    return (
        f"Task offsets: the mean of each task was removed from what tasks share, which makes pooled clusters {change}. "
        f"Task {model.tasks_.tolist()[int(np.argmax(moved))]!r} has the largest offset ({moved.max():.3g})."
    )


def _membership(made: Decisions) -> str:
    how = ", as set" if made.membership_reason == "set" else " by default"
    return f"Memberships: {made.membership}{how}. {FORMS[made.membership].explanation}"


def _iterations(made: Decisions, fractions: Any, n_iter: int) -> str:
    n = len(fractions)
    stages = "all rows at once"
    if n > 1:
        stages = f"{n} stages, from the easiest {100 * fractions[0]:.0f} % of the rows of each task to all rows"
    if made.start == "consensus" and n_iter == n:
        line = f"Fit: {stages}, one iteration{' each' * (n > 1)}: more would drift away from the consensus."
    else:
        line = f"Fit: {stages}, {count(n_iter, 'iteration')} in total."
    if made.weighting not in WEIGHTINGS or made.full_weight_share == 1:
        return line
    rest = f"{100 * (1 - made.full_weight_share):.0f} %"
    return f"{line} {WEIGHTINGS[made.weighting].explanation.format(rest=rest)}"


def relatedness_sentence(R: Any, names: list[str]) -> str:
    """How many pairs of tasks are alike, and which are most and least alike."""
    pairs = [(float(R[i, j]), names[i], names[j]) for j in range(len(R)) for i in range(j)]
    if len(pairs) == 1:
        value = pairs[0][0]
        return f"The two tasks are {'alike' if value >= ALIKE else 'not alike'}: relatedness {related(value)} of 1."
    alike, (high, a, b), (low, c, d) = sum(value >= ALIKE for value, _, _ in pairs), max(pairs), min(pairs)
    return (
        f"{'All' if alike == len(pairs) else f'{alike} of {len(pairs)}'} pairs of tasks are alike (relatedness of "
        f"{ALIKE:g} or more, of at most 1). It is highest for {a} and {b} ({related(high)}) and lowest for {c} and {d} "
        f"({related(low)})."
    )


def _missing(model: Any) -> list[str]:
    names, shares = model.tasks_.tolist(), model.within_weight_ < 1
    if not shares.any():
        return []
    weak = [
        f"cluster {j} in {names[k]!r} ({model.cluster_support_[j, k]:.2f})"
        for j, k in zip(*np.nonzero((model.cluster_support_ < PRESENT) & shares), strict=True)
    ]
    if not weak:
        return ["Clusters: every cluster is present in every task that shares."]
    return [f"Clusters with little support (cluster_support_ below {PRESENT:g}): {listed(weak)}."]
