"""How the fit went, and how sure one can be of what it found."""

from __future__ import annotations

from typing import Any

import numpy as np

from .words import clusters_named, count, listed, percent, plain, quoted, rounded

# Share of rows that keep their cluster. At 0.9 one row in ten moves: a cluster reads the same whichever fit one looks
# at. Below 0.75 more than one in four moves, and a cluster's profile may change with them. `explain` has these borders.
CLEAR, FAIR = 0.9, 0.75


def overlap_of(agreement: float) -> float:
    """The overlap, rows in both by rows in either, of two clusters of one size that agree on this share of their rows.

    It takes 0.75 to 0.6, below which clusterwise stability (Hennig, 2007) trusts no cluster.

    Examples
    --------
    >>> overlap_of(0.75)
    0.6
    """
    return agreement / (2 - agreement)


def word(value: float | None, clear: float = CLEAR, fair: float = FAIR) -> str:
    """How sure a share is, in a word.

    Examples
    --------
    >>> [word(value) for value in (0.95, 0.8, 0.5, None)]
    ['clear', 'fair', 'shaky', 'not measured']
    """
    if value is None:
        return "not measured"
    return "clear" if value >= clear else "fair" if value >= fair else "shaky"


MEANING = {
    "clear": "the clusters are clear",
    "fair": "most examples are clear, some lie between clusters",
    "shaky": "many examples lie between clusters, so read them with care",
}


def course(model: Any) -> dict[str, Any]:
    """The objective and the rows let in, stage by stage, and how the fit ended, in words."""
    traces = [np.asarray(trace, dtype=np.float64) for trace in model.objective_trace_]
    if not traces:
        line = "These labels were given, not fitted here: this method has no stages and no objective to follow."
        return {"stages": [], "objective": [], "sentences": [line]}
    n, stages = len(model.labels_), len(model.fractions_)
    warm = len(traces) - stages
    found = []
    for i, trace in enumerate(traces):
        stage = i - warm
        found.append(
            {
                "name": "warm-up" if stage < 0 else str(stage + 1),
                "fraction": 1.0 if stage < 0 else float(model.fractions_[stage]),
                "admitted": n if stage < 0 else int(np.count_nonzero(model.weight_trace_[stage] > 0)),
                "iterations": len(trace),
                "objective": float(trace[-1]) if len(trace) else None,
            }
        )
    return plain(
        {
            "stages": found,
            "objective": [rounded(trace, 6) for trace in traces],
            "sentences": _course_sentences(model, warm),
        }
    )


def _course_sentences(model: Any, warm: int) -> list[str]:
    stages, n_iter = len(model.fractions_), int(model.n_iter_)
    if stages > 1:
        first = percent(float(model.fractions_[0]))
        lines = [
            f"The fit began with the easiest {first} of each task's examples and let in harder ones in {stages} stages"
            f"{', after a warm-up with all of them' if warm > 0 else ''}; it took {count(n_iter, 'iteration')} in all.",
            "The objective is the sum of what the examples let in are off. It grows when harder ones come in, and "
            "falls or stays within a stage.",
        ]
    else:
        lines = [
            f"All examples took part from the beginning, for {count(n_iter, 'iteration')}.",
            "The objective is the sum of what all examples are off; it falls or stays in every iteration.",
        ]
    voted = getattr(getattr(model, "_evidence", None), "start", "") == "vote"
    if model.converged_:
        lines.append("The last stage ended because nothing changed any more: the fit converged.")
    elif voted and n_iter == stages:
        lines.append("Each stage was kept to one iteration on purpose: its start, a vote of many fits, is good.")
    else:
        lines.append("The last stage ended at its largest number of iterations (max_iter); that is no fault.")
    return lines


def certainty(model: Any, stability: dict[str, Any] | None, names: list[str]) -> dict[str, Any]:
    """How sure the clusters are: by fitting again if that was done, else by the vote, in words and by cluster."""
    if stability is not None:
        return _by_restarts(stability, names)
    decision = getattr(getattr(model, "_evidence", None), "decision", None)
    how = (
        "To measure how stable the clusters are, fit again from other starts: `mtcluster fit --restarts 5` on the "
        "command line, mtcluster.model_selection.restart_stability in Python. The report then shows it here, cluster by "
        "cluster."
    )
    line = "This was not measured."
    if decision is None:
        source, share = "none", None
    else:
        source, share = "vote", float(decision.unanimity)
        line = (
            f"The fit started from a vote of {decision.n_votes} quick fits. On average {percent(share)} of the votes "
            f"agree on an example's cluster: {MEANING[word(share)]}."
        )
    found = {"source": source, "agreement": share, "word": word(share), "sentences": [line, how]}
    return {**found, "clusters": [], "tasks": []}


def _by_restarts(stability: dict[str, Any], names: list[str]) -> dict[str, Any]:
    agreement = plain(stability["agreement"])
    if agreement is None or not 0 <= agreement <= 1:
        raise ValueError(f"stability['agreement'] should be a number from 0 to 1; got {stability['agreement']!r}.")
    clear, fair = overlap_of(CLEAR), overlap_of(FAIR)
    clusters = [
        {"cluster": j, "value": value, "word": word(value, clear, fair)}
        for j, value in enumerate(plain(list(stability.get("clusters") or [])))
    ]
    tasks = [
        {"task": k, "value": value, "word": word(value)}
        for k, value in enumerate(plain(list(stability.get("tasks") or []))[: len(names)])
    ]
    times, rows = stability.get("n_restarts"), stability.get("n_rows")
    again = f"{count(times, 'time')} more from other starts" if times else "again"
    on = f", and {count(rows, 'example')} were compared" if rows else ""
    same = f"On average {percent(agreement)} of the examples got the same cluster again"
    lines = [f"The model was fitted {again}{on}. {same}: {MEANING[word(agreement)]}."]
    shaky = [str(item["cluster"]) for item in clusters if item["word"] == "shaky"]
    if shaky:
        lines.append(f"Shaky: {clusters_named(shaky)}.")
    weak = [quoted(names[item["task"]]) for item in tasks if item["word"] == "shaky"]
    if weak:
        lines.append(f"Shaky in {listed(weak)}.")
    lines.append(
        f"Tasks are called clear from {percent(CLEAR)} on and shaky below {percent(FAIR)}; clusters, by the overlap of "
        f"one with itself in another fit, from {percent(clear)} on and below {percent(fair)}."
    )
    return {
        "source": "restarts",
        "agreement": agreement,
        "word": word(agreement),
        "sentences": lines,
        "clusters": clusters,
        "tasks": tasks,
    }
