"""What to try next: simple rules over the summary of a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...certainty import VERDICTS
from ...certainty.verdict import FAIRLY_STABLE
from .._subject import ALIKE
from .._words import count, listed, named, percent, quoted, related
from .clusters import places

FAR_OUT = 10.0  # outlier score from which a row is far out
MORE_THAN_FEW = 0.01  # share of rows far out that is more than a few
HUGE = 0.8  # share of the rows above which one cluster dominates
RULING = 0.8  # share of the variance between clusters above which one feature dominates

Advice = Iterator[tuple[str, str]]  # what was found, and what to try


def advise(summary: dict[str, Any]) -> list[dict[str, str]]:
    """All advice for a summary; a single entry where no rule applies."""
    calm = ("Nothing stands out.", "Read the clusters above and name them by the features that distinguish them.")
    rules = (_stability, _sizes, _relations, _missing, _data)
    found = [advice for rule in rules for advice in rule(summary)] or [calm]
    return [{"found": what, "try": then} for what, then in found]


def _stability(summary: dict[str, Any]) -> Advice:
    sure = summary["certainty"]
    stable = [(item["cluster"], item["stability"]) for item in sure["clusters"] if item["stability"] is not None]
    weak = [cluster for cluster, value in stable if value < FAIRLY_STABLE]
    if sure["verdict"] in VERDICTS[3:]:
        yield (f"How sure: {sure['verdict']}.", _other_number(summary))
    elif weak:
        yield (
            f"Found again less often than the others: {named('cluster', weak)}.",
            "Trust the other clusters more. Try one cluster fewer, and see whether these merge with others.",
        )


def _other_number(summary: dict[str, Any]) -> str:
    """Tell what to try if the clusters are not sure."""
    found, c = summary["selection"], summary["n_clusters"]
    if found is None:
        return (
            'Another number of clusters may suit the data better. Let it be chosen: n_clusters="auto", or --clusters '
            "auto on the command line."
        )
    if found["n_clusters"] not in (None, c):
        return f"Another number of clusters may suit the data better: try {found['n_clusters']}."
    return (
        "Other numbers of clusters were compared, so look at the features: are those missing that would separate the "
        "groups, or are many there that do not?"
    )


def _sizes(summary: dict[str, Any]) -> Advice:
    empty, c = summary["sizes"]["empty"], summary["n_clusters"]
    if empty:
        yield (
            f"{count(len(empty), 'cluster')} {'has' if len(empty) == 1 else 'have'} no rows.",
            f"Ask for fewer clusters, for instance {c - len(empty)}.",
        )
    huge = [cluster for cluster in summary["features"]["clusters"] if cluster["share"] > HUGE]
    if huge and c > 1:
        yield (
            f"Cluster {huge[0]['cluster']} contains {percent(huge[0]['share'])} of all rows.",
            "Check whether a few unusual rows form the other clusters, and whether the features are on comparable "
            "scales; more clusters may divide it.",
        )
    one = 1.0 if summary["sizes"]["decided"] else 2.0  # a task of one cluster is a finding, not a fault
    full = [(k, max(shares)) for k, shares in enumerate(summary["sizes"]["shares"]) if HUGE < max(shares) < one]
    if full and not huge:
        told = [f"{quoted(summary['tasks'][k]['name'])} ({percent(share)})" for k, share in full]
        yield (
            f"Almost all rows in one cluster: {listed(told)}.",
            "Such a task may contain one group only, or a few outliers may form its other clusters: see the table of "
            "outliers.",
        )


def _relations(summary: dict[str, Any]) -> Advice:
    alone, m, matrix = summary["sizes"]["alone"], summary["n_tasks"], summary["relatedness"]["matrix"]
    if 0 < len(alone) < m:
        yield (
            f"Little in common with the other tasks, so left alone: "
            f"{listed([quoted(summary['tasks'][k]['name']) for k in alone])}.",
            "Check whether the features mean the same there: the same order, units and coding. If they do, the task "
            "contains other groups.",
        )
    pairs = [matrix[i][j] for j in range(m) for i in range(j) if i not in alone and j not in alone]
    pairs = [value for value in pairs if value is not None]
    if pairs and max(pairs) < ALIKE:
        yield (
            f"The tasks are not alike: the highest relatedness is {related(max(pairs))} of 1.",
            "Cluster them separately (PerTask, or within_weight=1) and compare; sharing may not help here.",
        )


def _missing(summary: dict[str, Any]) -> Advice:
    names, words = [task["name"] for task in summary["tasks"]], summary["sizes"]["relations"]
    cells = [(k, j, word) for k, own in enumerate(words) for j, word in enumerate(own)]
    if private := [f"{j} in {quoted(names[k])}" for k, j, word in cells if word == "private"]:
        yield (
            f"In one task only: {named('cluster', private)}.",
            "Compare its features with those of the other clusters: it may be a group that the other tasks lack, or "
            "one of theirs that lies elsewhere in this task.",
        )
    if uncertain := [f"{j} in {quoted(names[k])}" for k, j, word in cells if word == "uncertain"]:
        yield (
            f"Present or absent, with little evidence for either: {named('cluster', uncertain)}.",
            "Look at the rows near it. If you know how many clusters each task holds, say so: n_clusters_per_task, "
            "or --clusters-per-task on the command line.",
        )
    for few, what, then in (
        (True, "Rare", "The few rows that have this cluster number there may not belong to it: look at some."),
        (False, "Possibly a different group", "Look at some of its rows before you compare tasks by it."),
    ):
        if found := places(summary["sizes"]["missing"], names, few=few):
            yield f"{what}: {found}.", then


def _data(summary: dict[str, Any]) -> Advice:
    share, leading = summary["examples"]["far_share"], summary["features"]["leading"]
    if share > MORE_THAN_FEW:
        yield (
            f"{percent(share)} of the rows have at least {FAR_OUT:g} times the typical loss of their task.",
            "Look at the table of outliers: are they errors, in other units, or a group of their own? Correct or "
            "remove what is wrong, and fit again.",
        )
    if summary["metric"] != "shared" and summary["n_features"] > 2 and leading["share"] > RULING:
        yield (
            f"Feature {quoted(leading['name'])} accounts for {percent(leading['share'])} of the variance between "
            "clusters.",
            "If it only has larger values than the others, bring all features to one scale (StandardScaler or "
            "MinMaxScaler) and fit again.",
        )
