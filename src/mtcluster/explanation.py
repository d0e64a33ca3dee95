"""What a fitted model decided, in words: behind `explain()`."""

from __future__ import annotations

from typing import Any

import numpy as np

PRESENT = 0.5  # support from which on a cluster counts as present in a task
ALIKE = 0.5  # relatedness from which on two tasks count as alike


def describe(model: Any) -> list[str]:
    """One sentence or two for each decision, with its evidence."""
    m = len(model.tasks_)
    lines = [f"{type(model).__name__}: {model.n_clusters} clusters in {m} {_plural('task', m)}, {_rows(model)} rows."]
    lines += [_start(model), *_sharing(model), _offset(model), _membership(model)]
    lines += _iterations(model)
    if len(model.tasks_) > 1:
        lines += [_relatedness(model), *_missing(model)]
    return lines


def _rows(model: Any) -> int:
    return len(model.labels_)


def _start(model: Any) -> str:
    evidence = model._evidence
    if evidence is None or model._started != "vote":
        return f"Start: {model._started}, as set. The run with the lowest sum of losses was kept."
    part = "all" if evidence.n_rows == _rows(model) else "a sample of"
    return (
        f"Start: a vote of {evidence.n_votes} quick fits that differ in how much tasks share, in how much rows follow "
        f"their neighbours and in where they began, on {part} {evidence.n_rows} rows in {evidence.n_dimensions} "
        f"dimensions. On average {100 * evidence.unanimity:.0f} % of the votes agree on a row's cluster "
        f"({_certainty(evidence.unanimity)})."
    )


def _certainty(unanimity: float) -> str:
    if unanimity >= 0.9:
        return "the clusters are clear"
    return "most rows are clear" if unanimity >= 0.75 else "many rows lie between clusters: read them with care"


def _sharing(model: Any) -> list[str]:
    evidence, weights = model._evidence, model.within_weight_
    if evidence is None:
        return [f"Sharing: within_weight={weights[0]:g}, as set."]
    if len(weights) == 1:
        return ["Sharing: there is one task, so nothing is shared."]
    found = list(zip(model.tasks_.tolist(), evidence.agreement, evidence.kinship, weights, strict=True))
    evidence_of = "{!r} ({:.2f}, {:.2f})".format
    together = [evidence_of(*rest) for *rest, weight in found if weight < 1]
    alone = [evidence_of(*rest) for *rest, weight in found if weight == 1]
    lines = []
    if together:
        lines.append(f"Sharing: within_weight={weights.min():g} for {_list(together)}.")
    if alone:
        lines.append(
            f"Left alone: {_list(alone)}. What the tasks share says nothing about such a task, so it was clustered by "
            "itself; its clusters carry the numbers that fit best."
        )
    lines.append(
        "  (In brackets: how much the task's own best clustering agrees with the common one, adjusted Rand index; how "
        f"alike its clusters lie to those of the task most like it. Left alone below {model._vote.chance:g} or "
        f"{model._vote.kinship:g}; 1 is the most.)"
    )
    return lines


def _offset(model: Any) -> str:
    chosen, evidence = model.task_offset_, model._evidence
    if evidence is None or getattr(model, "task_offset", "none") != "auto":
        return f"Location of tasks: task_offset={chosen!r}, as set."
    if chosen == "none":
        why = "all rows have the same length, so they are directions, and a direction has no location"
        if not model._unit_rows:
            why = "there is one task" if len(model.tasks_) == 1 else "the chosen model knows none"
        return f"Location of tasks: used as it is ({why})."
    moved = np.linalg.norm(model.task_offsets_, axis=1)
    most = model.tasks_.tolist()[int(np.argmax(moved))]
    return (
        f"Location of tasks: the mean of each task was taken out of what tasks share. Task {most!r} lies farthest from "
        f"the middle ({moved.max():.3g})."
    )


def _membership(model: Any) -> str:
    if model.membership != "auto":
        return f"Memberships: {model.membership_}, as set."
    return "Memberships: binary, one cluster a row, which needs no meaningful zero in the features."


def _iterations(model: Any) -> list[str]:
    n = len(model.fractions_)
    stages = "all rows at once"
    if n > 1:
        stages = f"{n} stages, from the easiest {100 * model.fractions_[0]:.0f} % of each task's rows to all"
    if model._started == "vote" and model.max_iter == "auto":
        return [f"Fit: {stages}, one iteration{' each' if n > 1 else ''}: longer loops drift away from the vote."]
    return [f"Fit: {stages}, {model.n_iter_} iterations in all."]


def _relatedness(model: Any) -> str:
    R, names = model.task_relatedness_, [repr(task) for task in model.tasks_.tolist()]
    pairs = [(R[i, j], names[i], names[j]) for i in range(len(R)) for j in range(i)]
    (high, a, b), (low, c, d) = max(pairs), min(pairs)
    if len(pairs) == 1:
        return f"Relatedness of the two tasks: {high:.2f} of 1 ({'alike' if high >= ALIKE else 'not much alike'})."
    return f"Relatedness of tasks: most alike are {b} and {a} ({high:.2f} of 1), least {d} and {c} ({low:.2f})."


def _missing(model: Any) -> list[str]:
    names = model.tasks_.tolist()
    weak = [
        f"cluster {j} in {names[k]!r} ({model.cluster_support_[j, k]:.2f})"
        for j, k in zip(*np.nonzero(model.cluster_support_ < PRESENT), strict=True)
        if model.within_weight_[k] < 1
    ]
    if not weak:
        return ["Clusters: every cluster is present in every task that shares."]
    more = f" and {len(weak) - 8} more (see cluster_support_)" if len(weak) > 8 else ""
    return [f"Clusters with little support (below {PRESENT:g} of 1): {'; '.join(weak[:8])}{more}."]


def _plural(word: str, n: int) -> str:
    return word if n == 1 else f"{word}s"


def _list(items: list[str]) -> str:
    shown = items if len(items) <= 8 else [*items[:8], f"{len(items) - 8} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
