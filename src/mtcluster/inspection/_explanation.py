"""What a fitted model decided, in words: behind `explain()`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..consensus.vote import Decision

PRESENT = 0.5  # support from which on a cluster counts as present in a task
ALIKE = 0.5  # relatedness from which on two tasks count as alike
SHOWN = 8  # names in a list


def describe(model: Any) -> list[str]:
    """One sentence or two for each decision, with its evidence."""
    m, c, _ = model.task_centers_.shape
    n = len(model.labels_)
    lines = [
        f"{type(model).__name__}: {_count(c, 'cluster')} in {_count(m, 'task')}, {_count(n, 'row')}.",
        _start(model),
    ]
    if "within_weight" in model._evidence.parameters:
        lines += [*_sharing(model), _offset(model)]
    lines += [_membership(model), _iterations(model)]
    return [*lines, _relatedness(model), *_missing(model)] if m > 1 else lines


def _start(model: Any) -> str:
    evidence, decision = model._evidence, model._evidence.decision
    if evidence.start == "given":
        return "Start: the memberships given as init."
    if evidence.start != "vote" or decision is None:
        return f"Start: {evidence.start}; of several starts the one with the lowest sum of losses was kept."
    n = len(model.labels_)
    seen = f"all {n} rows" if decision.n_rows == n else f"{decision.n_rows} of the {n} rows"
    differ = "in how much rows follow their neighbours and in where they began"
    if len(model.tasks_) > 1:
        differ = f"in how much tasks share, {differ}"
    return (
        f"Start: a vote of {decision.n_votes} quick fits that differ {differ}, on {seen} in {decision.n_dimensions} "
        f"dimensions. On average {100 * decision.unanimity:.0f} % of the votes agree on a row's cluster "
        f"({_certainty(decision.unanimity)})."
        + (f" {_count(decision.n_far, 'row')} far from all others counted less in it." if decision.n_far else "")
    )


def _certainty(unanimity: float) -> str:
    if unanimity >= 0.9:
        return "the clusters are clear"
    return "most rows are clear" if unanimity >= 0.75 else "many rows lie between clusters: read them with care"


def _sharing(model: Any) -> list[str]:
    decision: Decision | None = model._evidence.decision
    weights = model.within_weight_
    if decision is None:
        return [f"Sharing: within_weight={weights[0]:g}, as set."]
    if len(weights) == 1:
        return ["Sharing: there is one task, so nothing is shared."]
    if model._settings.coupling == "projection":
        return [f"Sharing: within_weight={weights[0]:g} in all tasks alike, as coupling='projection' has it."]
    found = list(zip(model.tasks_.tolist(), decision.agreement, decision.kinship, weights, strict=True))
    told = [(f"{task!r} (agreement {_number(a)}, likeness {_number(k)})", weight) for task, a, k, weight in found]
    together, alone = ([text for text, weight in told if (weight == 1) == left] for left in (False, True))
    lines = []
    if together:
        lines.append(f"Sharing: within_weight={weights.min():g} for {_tasks(together)}.")
    if alone:
        lines.append(
            f"Left alone: {_tasks(alone)}. What the tasks share says nothing about such a task, so it was clustered by "
            "itself; its clusters carry the numbers that fit best."
        )
    how = model._vote
    return [
        *lines,
        "  Agreement of the task's own best clustering with the common one (adjusted Rand index) and likeness of its "
        f"clusters to those of the task most like it go up to 1; a task is left alone below {how.chance:g} or "
        f"{how.kinship:g}, if it has at least {how.enough} rows a cluster.",
    ]


def _offset(model: Any) -> str:
    evidence, chosen = model._evidence, model.task_offset_
    if evidence.parameters["task_offset"] != "auto":
        return f"Location of tasks: task_offset={chosen!r}, as set."
    if evidence.gain is not None:
        tighter = f"pooled clusters are {100 * abs(evidence.gain):.0f} % {'tighter' if evidence.gain >= 0 else 'wider'}"
        if chosen == "none":
            return f"Location of tasks: used as it is ({tighter} with the mean of each task taken out)."
        moved = np.linalg.norm(model.task_offsets_, axis=1)
        most = model.tasks_.tolist()[int(np.argmax(moved))]
        return (
            f"Location of tasks: the mean of each task was taken out of what tasks share ({tighter} then). Task "
            f"{most!r} lies farthest from the middle ({moved.max():.3g})."
        )
    why = "a number for within_weight gives the plain model"
    if evidence.unit_rows:
        why = "all rows have the same length, so they are directions, and a direction has no location"
    elif len(model.tasks_) == 1:
        why = "there is one task"
    elif evidence.decision is not None:
        why = "only binary memberships with coupling='reconstruction' can take it out"
    return f"Location of tasks: used as it is ({why})."


def _membership(model: Any) -> str:
    if model._evidence.parameters["membership"] != "auto":
        return f"Memberships: {model.membership_}, as set."
    return "Memberships: binary, one cluster a row, which needs no meaningful zero in the features."


def _iterations(model: Any) -> str:
    n, pace = len(model.fractions_), model._evidence.pace
    stages = "all rows at once"
    if n > 1:
        stages = f"{n} stages, from the easiest {100 * model.fractions_[0]:.0f} % of each task's rows to all"
    if model._evidence.start == "vote" and model.n_iter_ == n:
        line = f"Fit: {stages}, one iteration{' each' if n > 1 else ''}: longer loops drift away from the vote."
    else:
        line = f"Fit: {stages}, {_count(model.n_iter_, 'iteration')} in all."
    if pace.weighting == "soft" and pace.soft_rule == "quantile":
        line += f" At each stage the hardest {100 * (1 - pace.lower_share):.0f} % of the rows let in count less."
    return line


def _relatedness(model: Any) -> str:
    R, names = model.task_relatedness_, [repr(task) for task in model.tasks_.tolist()]
    pairs = [(R[i, j], names[i], names[j]) for i in range(len(R)) for j in range(i)]
    (high, a, b), (low, c, d) = max(pairs), min(pairs)
    if len(pairs) == 1:
        return f"Relatedness of the two tasks: {high:.2f} of 1 ({'alike' if high >= ALIKE else 'not much alike'})."
    return f"Relatedness of tasks: most alike are {b} and {a} ({high:.2f} of 1), least {d} and {c} ({low:.2f})."


def _missing(model: Any) -> list[str]:
    names, sharing = model.tasks_.tolist(), model.within_weight_ < 1
    weak = [
        f"cluster {j} in {names[k]!r} ({model.cluster_support_[j, k]:.2f})"
        for j, k in zip(*np.nonzero((model.cluster_support_ < PRESENT) & sharing), strict=True)
    ]
    if not sharing.any():
        return []
    if not weak:
        return ["Clusters: every cluster is present in every task that shares."]
    more = f" and {len(weak) - SHOWN} more (see cluster_support_)" if len(weak) > SHOWN else ""
    return [f"Clusters with little support (below {PRESENT:g} of 1): {'; '.join(weak[:SHOWN])}{more}."]


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def _number(value: float) -> str:
    return f"{max(value, 0):.2f}"


def _tasks(items: list[str]) -> str:
    shown = items if len(items) <= SHOWN else [*items[:SHOWN], f"{len(items) - SHOWN} more"]
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"task {listed}" if len(items) == 1 else f"tasks {listed}"
