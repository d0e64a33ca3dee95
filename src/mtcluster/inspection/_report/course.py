"""The course of the fit, and the stability of its clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._words import CLEAR, FAIR, MEANING, count, grade, listed, named, percent, plain, quoted, rounded


def overlap_of(agreement: float) -> float:
    """The Jaccard index of two clusters of equal size that agree on this share of their rows.

    It takes 0.75 to 0.6, the value below which clusterwise stability (Hennig, 2007) trusts no cluster.

    Examples
    --------
    >>> overlap_of(0.75)
    0.6
    """
    return agreement / (2 - agreement)


def course(model: Any) -> dict[str, Any]:
    """The objective and the selected rows per stage, and sentences about how the fit ended."""
    traces = [np.asarray(trace, dtype=np.float64) for trace in model.objective_trace_]
    if not traces:
        line = "These labels were given, not fitted here, so there are no stages and there is no objective."
        return {"stages": [], "objective": [], "sentences": [line]}
    n, warm = len(model.labels_), len(traces) - len(model.fractions_)
    stages = [
        {
            "name": "warm-up" if i < warm else str(i - warm + 1),
            "fraction": 1.0 if i < warm else float(model.fractions_[i - warm]),
            "admitted": n if i < warm else int(np.count_nonzero(model.weight_trace_[i - warm] > 0)),
            "iterations": len(trace),
            "objective": float(trace[-1]) if len(trace) else None,
        }
        for i, trace in enumerate(traces)
    ]
    objective = [rounded(trace, 6) for trace in traces]
    return plain({"stages": stages, "objective": objective, "sentences": _sentences(model, warm)})


def _sentences(model: Any, warm: int) -> list[str]:
    stages, n_iter = len(model.fractions_), int(model.n_iter_)
    lines = [
        f"All examples were used from the beginning, for {count(n_iter, 'iteration')}.",
        "The objective is the sum of the losses of all examples; it never increases from one iteration to the next.",
    ]
    if stages > 1:
        first, after = percent(float(model.fractions_[0])), ", after a warm-up with all examples" * (warm > 0)
        lines = [
            f"The fit started with the easiest {first} of the examples of each task and added harder ones in {stages} "
            f"stages{after}; it took {count(n_iter, 'iteration')} in total.",
            "The objective is the weighted sum of the losses of the selected examples. It may increase when harder "
            "examples are added; it never increases within a stage.",
        ]
    if model.converged_:
        return [*lines, "The last stage ended because the objective no longer changed: the fit converged."]
    if model.decisions_ is not None and model.decisions_.start == "consensus" and n_iter == stages:
        return [*lines, "Each stage had one iteration on purpose: the fit started from a consensus of many fits."]
    return [*lines, "The last stage ended at its largest number of iterations (max_iter); this is not an error."]


def certainty(model: Any, stability: dict[str, Any] | None, names: list[str]) -> dict[str, Any]:
    """How stable the clusters are: over restarts if these were run, otherwise within the consensus."""
    if stability is not None:
        return _over_restarts(stability, names)
    found = None if model.decisions_ is None else model.decisions_.consensus
    share, line = None, "Stability was not measured."
    if found is not None:
        share = float(found.unanimity)
        fits = (
            f"the best {found.n_members} of {found.n_candidates} fits"
            if found.n_candidates
            else f"{found.n_members} quick fits"
        )
        line = (
            f"The fit started from a consensus of {fits}. On average {percent(share)} of them "
            f"agree on the cluster of an example: {MEANING[grade(share)]}."
        )
    how = (
        "To measure how stable the clusters are, fit again from other starts: `mtcluster fit --restarts 5` on the "
        "command line, mtcluster.model_selection.restart_stability in Python. This section then shows the stability of "
        "each cluster."
    )
    return _certainty("none" if found is None else "consensus", share, [line, how], [], [])


def _certainty(source: str, share: float | None, sentences: list[str], clusters: Any, tasks: Any) -> dict[str, Any]:
    found = {"source": source, "agreement": share, "word": grade(share), "sentences": sentences}
    return found | {"clusters": clusters, "tasks": tasks}


def _over_restarts(stability: dict[str, Any], names: list[str]) -> dict[str, Any]:
    agreement = plain(stability["agreement"])
    if agreement is None or not 0 <= agreement <= 1:
        raise ValueError(f"stability['agreement'] should be a number from 0 to 1; got {stability['agreement']!r}.")
    clear, fair = overlap_of(CLEAR), overlap_of(FAIR)
    values = {key: plain(list(stability.get(key) or [])) for key in ("clusters", "tasks")}
    clusters = [{"cluster": j, "value": v, "word": grade(v, clear, fair)} for j, v in enumerate(values["clusters"])]
    tasks = [{"task": k, "value": v, "word": grade(v)} for k, v in enumerate(values["tasks"][: len(names)])]
    times, rows = stability.get("n_restarts"), stability.get("n_rows")
    again = f"{count(times, 'time')} more from other starts" if times else "again"
    on = f", and {count(rows, 'example')} were compared" if rows else ""
    same = f"On average {percent(agreement)} of the examples kept their cluster"
    lines = [f"The model was fitted {again}{on}. {same}: {MEANING[grade(agreement)]}."]
    if weak := [item["cluster"] for item in clusters if item["word"] == "unstable"]:
        lines.append(f"Unstable: {named('cluster', weak)}.")
    if weak := [quoted(names[item["task"]]) for item in tasks if item["word"] == "unstable"]:
        lines.append(f"Unstable in {listed(weak)}.")
    lines.append(
        f"A task is called clear from {percent(CLEAR)} and unstable below {percent(FAIR)}; a cluster, by its overlap "
        f"with itself in another fit, from {percent(clear)} and below {percent(fair)}."
    )
    return _certainty("restarts", agreement, lines, clusters, tasks)
