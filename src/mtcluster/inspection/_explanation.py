"""The decisions of a fit in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..consensus.decisions import ConsensusEvidence, Decisions
from ..core.arrays import host
from ..core.couplings import COUPLINGS
from ..core.memberships import FORMS
from ..core.weightings import WEIGHTINGS
from ._certainty import certainty_sentences, check_stability, number_sentence
from ._fitted import ALIKE, PER_TASK, comparable, method_name, n_rows_of, on_host, unexplained
from ._gaps import missing_of, missing_sentences
from ._matching import matching_sentences
from ._relations import relation_sentences
from ._words import count, named, number, related

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
    "sparse rows": "the rows are sparse",
    "many features": "there are many features, in which one covariance cannot follow the clusters",
    "no clear clusters": "fits with a shared metric found no clusters that stand apart",
    "fixed within_weight": "a number for within_weight gives the plain model",
    "membership": "only binary memberships support another metric",
    "coupling": "only coupling='reconstruction' supports another metric",
    "subspace": "n_components is below n_clusters",
    "scale": "task_offset='scale' does not go with another metric",
}


def explain(model: Any, stability: Any = None) -> str:
    """Explain what a fit decided from the data alone, and on what evidence.

    Parameters
    ----------
    model : SPMTC, LSSMTC or ASI
        Fitted model. Its arrays may be on any device.
    stability : Stability, optional
        Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.

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
    Start: a consensus of the best 8 of 48 Gaussian mixtures...
    """
    check_is_fitted(model)
    if not hasattr(model, "decisions_"):
        raise TypeError(f"explain needs a fitted SPMTC, LSSMTC or ASI; got {type(model).__name__}.")
    check_stability(stability, model.task_centers_.shape[1], len(model.labels_))
    matched = bool(getattr(model, "matching_", None))  # stability cannot be measured then
    sure = [] if matched and stability is None else certainty_sentences(stability)
    return "\n".join([*describe(on_host(model, PER_TASK)), *sure])


def describe(model: Any) -> list[str]:
    """The lines of `explain` on the fit itself, of a model whose arrays are in host memory."""
    m, c, n, made = len(model.tasks_), model.n_clusters_, n_rows_of(model), model.decisions_
    joined = model.joined_ is not None and bool(np.any(host(model.joined_)))
    own = f"{count(n, 'row')}{' of the new data' * joined}"
    head = f"{method_name(model)}: {count(c, 'cluster')} in {count(m, 'task')}, {own}."
    chosen = [] if model.selection_ is None else [number_sentence(model.selection_, c)]
    earlier = joined or model.drift_ is not None  # then the rows are not those that the fit started from
    begun = made.consensus.n_rows if earlier and made.consensus is not None else n
    lines = [head, *_missing(model), *chosen, _start(made, begun, m)]
    if made.within_weight_reason != "none":
        lines += [_metric(made), *_sharing(made, model.within_weight_, model.tasks_.tolist()), _offset(made, model)]
    lines += [*matching_sentences(model.matching_), *_joined(model)]
    lines += [f"Coupling: {made.coupling}. {COUPLINGS[made.coupling].explanation}"]
    lines += [_membership(made), _iterations(made, model.fractions_, model.n_iter_)]
    if model.drift_ is not None:
        calls = count(model.drift_.n_batches, "call")
        lines.append(f"Stream: {calls} of partial_fit since. {' '.join(model.drift_.sentences)}".rstrip())
    lines += [] if model.changes_ is None else [f"Since the previous model: {' '.join(model.changes_.sentences)}"]
    if m == 1:
        return lines
    names = [repr(task) for task in model.tasks_.tolist()]
    alike = relatedness_sentence(model.task_relatedness_, comparable(model), names)
    told = relation_sentences(model, [f"task {name}" for name in names])
    return [*lines, f"Relatedness: {alike}", *told]


def _missing(model: Any) -> list[str]:
    """Values, columns of tasks and rows that are missing."""
    named, d = model.feature_names_in_, model.task_centers_.shape[2]
    features = range(d) if named is None else [str(name) for name in named]
    lines = missing_sentences(missing_of(model, features, model.tasks_.tolist()), repr)
    empty = int(np.count_nonzero(host(model.labels_) < 0)) if model.joined_ is None else 0
    if empty:
        lines.append(f"{count(empty, 'row')} without any value {'has' if empty == 1 else 'have'} the label -1.")
    return lines


def _joined(model: Any) -> list[str]:
    """Tasks that were not in the fit."""
    if model.joined_ is None or not np.any(model.joined_):
        return []
    later = [repr(task) for task, joined in zip(model.tasks_.tolist(), host(model.joined_), strict=True) if joined]
    new = unexplained(model)
    empty = ", or they have no value" * (model.missing_ is not None and bool(np.any(host(model.missing_))))
    flagged = f" No cluster explains {count(new, 'row')} of them{empty}, which have the label -1." if new else ""
    return [f"Joined after the fit: {named('task', later)}. The other lines are about the fit before.{flagged}"]


def _start(made: Decisions, n: int, m: int) -> str:
    if made.start == "given":
        return "Start: the memberships given as init."
    if made.start != "consensus" or made.consensus is None:
        best = f"; of {made.n_starts} starts, the fit with the lowest sum of losses was kept" * (made.n_starts > 1)
        return f"Start: {made.start}{best}."
    found = made.consensus
    seen = f"all {count(n, 'row')}" if found.n_rows == n else f"{found.n_rows} of the {count(n, 'row')}"
    differ = "how much tasks share, how much " if m > 1 else "how much "
    fits = f"{found.n_members} quick fits that differ in {differ}rows follow their neighbours and where they started"
    if found.n_candidates:
        differ = ", in offsets and in whether tasks have centres of their own" * (m > 1)
        fits = (
            f"the best {found.n_members} of {found.n_candidates} Gaussian mixtures that differ in their start{differ}"
        )
    line = (
        f"Start: a consensus of {fits}, on {seen} in {count(found.n_dimensions, 'dimension')}. On average "
        f"{100 * found.unanimity:.0f} % of the fits agree on the cluster of a row."
    )
    far = found.n_distant_rows
    return f"{line} {count(far, 'row')} far from all others had a smaller weight in it." if far else line


def _metric(made: Decisions) -> str:
    if made.metric == "shared":
        how = ", as set" if made.metric_reason == "set" else " by default"
        return (
            f"Metric: shared{how}. Distances are relative to the scatter within clusters, one covariance for all tasks "
            "that is estimated with the clusters, so that units of the features do not matter."
        )
    if made.metric_reason == "set":
        return "Metric: Euclidean, as set."
    line = f"Metric: Euclidean, because {EUCLIDEAN[made.metric_reason]}."
    if made.consensus is not None and made.consensus.n_candidates:
        return f"{line} The fits that decided about the tasks had a shared metric, in fewer dimensions."
    return line


def _sharing(made: Decisions, weights: Any, tasks: list[Any]) -> list[str]:
    if made.within_weight_reason == "one task":
        return ["Sharing: none, because there is one task."]
    if made.within_weight_reason == "geometry":
        return ["Sharing: none but the numbers of clusters, because no two tasks have a column in common."]
    if made.within_weight_reason == "coupling":
        return [
            f"Sharing: within_weight={weights[0]:g} for all tasks; coupling={made.coupling!r} allows one value only."
        ]
    if made.within_weight_reason == "set" or made.consensus is None:
        return [f"Sharing: within_weight={weights[0]:g}, as set."]
    found = made.consensus
    told = [f"{task!r} ({words})" for task, words in zip(tasks, _evidence(found), strict=False)]  # others joined later
    together, alone = ([text for text, w in zip(told, weights, strict=False) if (w == 1) == left] for left in (0, 1))
    lines = [f"Sharing: {_drawn(made, found, weights[weights < 1])} {named('task', together)}."] if together else []
    if alone:
        lines.append(
            f"Left alone: {named('task', alone)}. What the other tasks share does not describe such a task, so it was "
            "clustered on its own; its clusters have the numbers of those that match best."
        )
    return [*lines, _thresholds(found)]


def _evidence(found: ConsensusEvidence) -> list[str]:
    """What stands for or against sharing, of each task."""
    kin = [f"relatedness {max(value, 0):.2f}" for value in found.relatedness]
    if found.agreement is None:
        return kin
    return [f"agreement {max(value, 0):.2f}, {text}" for value, text in zip(found.agreement, kin, strict=True)]


def _drawn(made: Decisions, found: ConsensusEvidence, weights: Any) -> str:
    """How much tasks share."""
    if made.metric != "shared":
        return f"within_weight={weights.min():g} for"
    if not weights.any() or np.isinf(found.shrinkage):
        return "within_weight=0, estimated: the shared centres alone describe"
    low, high = (f"{value:.2f}" for value in (weights.min(), weights.max()))
    values = low if low == high else f"{low} to {high}"
    return (
        f"within_weight {values}, estimated: centres of tasks are drawn to the shared ones as by "
        f"{count(round(found.shrinkage), 'row')}, in"
    )


def _thresholds(found: ConsensusEvidence) -> str:
    if found.agreement is None:
        return (
            "  Relatedness is that to the most similar task, at most 1, by the clusters that both hold; 1 if that is a "
            f"single one. A task with at least {count(found.min_rows, 'row')} per cluster is left alone if it is below "
            f"{found.min_relatedness:.2g}."
        )
    return (
        "  Agreement is the adjusted Rand index between the clusters of the task on its own and the consensus; "
        "relatedness is that to the most similar task. Both are at most 1. A task with at least "
        f"{count(found.min_rows, 'row')} per cluster is left alone if agreement is below {found.min_agreement:g} or "
        f"relatedness below {found.min_relatedness:g}."
    )


def _offset(made: Decisions, model: Any) -> str:
    if made.task_offset_reason == "set":
        return f"Task offsets: task_offset={made.task_offset!r}, as set."
    if made.task_offset_reason == "criterion":
        return f"Task offsets: {_by_criterion(made)}{_largest_offset(model) * (made.task_offset != 'none')}"
    if made.offset_gain is None:
        return f"Task offsets: not removed, because {NO_OFFSET[made.task_offset_reason]}."
    change = f"{100 * abs(made.offset_gain):.0f} % {'tighter' if made.offset_gain >= 0 else 'wider'}"
    if made.task_offset == "none":
        return f"Task offsets: not removed; without the mean of each task, pooled clusters would be {change}."
    return (
        f"Task offsets: the mean of each task was removed from what tasks share, which makes pooled clusters {change}."
        f"{_largest_offset(model)}"
    )


def _by_criterion(made: Decisions) -> str:
    """Whether tasks have offsets, by the best candidates with and without them."""
    matched = made.task_offset == "matched"
    values = (made.consensus.criterion if made.consensus is not None else None) or {}
    what = "estimated from the clusters that tasks have in common" if matched else "none"
    if len(values) < 2:
        return f"{what}; no candidate {'without' if matched else 'with'} them was among the best."
    apart = number(abs(values[True] - values[False]))
    return (
        f"{what}; with them the criterion of the best candidate is {apart} {'lower' if matched else 'higher'} than "
        "without (twice the nats of a row; offsets have to pay for themselves)."
    )


def _largest_offset(model: Any) -> str:
    """Which task lies farthest from where the others lie."""
    b, unit = model.task_offsets_, ""
    if model.metric_ == "shared":
        K, V = model.metric_covariance_, getattr(model, "metric_directions_", None)
        inside = b if V is None else b @ V
        rest = (np.sum(b**2, axis=1) - np.sum(inside**2, axis=1)).clip(0) / model.metric_rest_
        moved, unit = (
            np.sqrt(np.sum(inside @ np.linalg.inv(K) * inside, axis=1) + rest),
            " times the width of a cluster",
        )
    else:
        moved = np.linalg.norm(b, axis=1)
    return f" Task {model.tasks_.tolist()[int(np.argmax(moved))]!r} has the largest offset ({moved.max():.3g}{unit})."


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


def relatedness_sentence(R: Any, known: Any, names: list[str]) -> str:
    """How many pairs of tasks are alike, and which are most and least alike, of those for which it is `known`."""
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
