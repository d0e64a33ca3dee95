"""What to try next: plain rules over what a report found, one function each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._explanation import ALIKE
from .clusters import places
from .words import clusters_named, count, likeness, listed, percent, quoted

FAR = 10.0  # times the usual loss from which on an example is far out
MANY = 0.01  # share of examples far out that is more than a few odd ones
HUGE = 0.8  # share of one cluster from which on the others are details
RULING = 0.8  # share of the spread between clusters from which on one feature decides alone

Advice = dict[str, str]  # what was found, and what to try


def advise(summary: dict[str, Any]) -> list[Advice]:
    """All advice that the rules have for a summary; where nothing stands out, that."""
    rules = (
        shaky,
        too_many_clusters,
        huge_cluster,
        huge_in_task,
        left_alone,
        unrelated,
        missing,
        outliers,
        ruling_feature,
    )
    found = [advice for rule in rules for advice in rule(summary)]
    return found or [
        {"found": "Nothing stands out.", "try": "Read the clusters above, and name them by what makes them."}
    ]


def shaky(summary: dict[str, Any]) -> Iterator[Advice]:
    """Many examples change their cluster from fit to fit, or those of single clusters do."""
    sure = summary["certainty"]
    weak = [str(item["cluster"]) for item in sure["clusters"] if item["word"] == "shaky"]
    if sure["word"] == "shaky":
        yield {
            "found": f"The clusters are shaky: {percent(sure['agreement'])} agreement.",
            "try": "Another number of clusters may fit better. select_n_clusters tries several, and so does "
            "--clusters auto on the command line.",
        }
    elif weak:
        yield {
            "found": f"Shaky, unlike the rest: {clusters_named(weak)}.",
            "try": "Trust the others more. Try one cluster fewer, and see whether the shaky ones become one.",
        }


def too_many_clusters(summary: dict[str, Any]) -> Iterator[Advice]:
    """Clusters without rows."""
    empty = summary["sizes"]["empty"]
    if empty:
        yield {
            "found": f"{count(len(empty), 'cluster')} {'has' if len(empty) == 1 else 'have'} no examples.",
            "try": f"Ask for fewer clusters: {summary['n_clusters'] - len(empty)}, say.",
        }


def huge_cluster(summary: dict[str, Any]) -> Iterator[Advice]:
    """Nearly everything in one cluster."""
    for cluster in summary["features"]["clusters"]:
        if cluster["share"] > HUGE and summary["n_clusters"] > 1:
            yield {
                "found": f"Cluster {cluster['cluster']} holds {percent(cluster['share'])} of all examples.",
                "try": "Look whether a few odd examples make the other clusters, and whether the features are on "
                "comparable scales; more clusters may divide it.",
            }


def huge_in_task(summary: dict[str, Any]) -> Iterator[Advice]:
    """Nearly all of a task in one cluster, where that is not so of all tasks together."""
    if any(cluster["share"] > HUGE for cluster in summary["features"]["clusters"]):
        return
    found = [(k, max(shares)) for k, shares in enumerate(summary["sizes"]["shares"]) if max(shares) > HUGE]
    if found:
        told = [f"{_names(summary, [k])[0]} ({percent(share)})" for k, share in found]
        yield {
            "found": f"Nearly all in one cluster: {listed(told)}.",
            "try": "Such a task may hold one group alone, or a few far examples may take its other clusters: see the "
            "table of outlying examples.",
        }


def left_alone(summary: dict[str, Any]) -> Iterator[Advice]:
    """Tasks that share nothing with the others, unless that was asked of all."""
    alone = summary["sizes"]["alone"]
    if 0 < len(alone) < summary["n_tasks"]:
        yield {
            "found": f"Task {listed(_names(summary, alone))} has little in common with the others and was left alone.",
            "try": "Look whether its features mean the same: the same order, units and coding. If they do, it holds "
            "other groups than the rest.",
        }


def unrelated(summary: dict[str, Any]) -> Iterator[Advice]:
    """No two of the tasks that share are alike."""
    together = [k for k in range(summary["n_tasks"]) if k not in summary["sizes"]["alone"]]
    matrix = summary["relatedness"]["matrix"]
    pairs = [matrix[i][j] for i in together for j in together if i < j]
    if pairs and max(pairs) < ALIKE:
        yield {
            "found": f"The tasks are not much alike: their relatedness is {likeness(max(pairs))} of 1 at most.",
            "try": "Cluster them apart (PerTask, or within_weight=1) and compare; sharing may not help here.",
        }


def missing(summary: dict[str, Any]) -> Iterator[Advice]:
    """Clusters that some tasks lack."""
    names = [task["name"] for task in summary["tasks"]]
    for few, what, then in (
        (True, "Hardly there", "The few examples with such a number there may be stragglers: look at some of them."),
        (False, "Perhaps another group", "Look at some of its examples before you compare tasks by it."),
    ):
        found = places(summary["sizes"]["missing"], names, few=few)
        if found:
            yield {"found": f"{what}: {found}.", "try": then}


def outliers(summary: dict[str, Any]) -> Iterator[Advice]:
    """More than a few examples far out."""
    share = summary["examples"]["far_share"]
    if share > MANY:
        yield {
            "found": f"{percent(share)} of the examples fit at least {FAR:g} times worse than usual in their task.",
            "try": "Look at the table of outlying examples: errors in the data, other units, or a group of their own? "
            "Repair or leave out what is wrong, and fit again.",
        }


def ruling_feature(summary: dict[str, Any]) -> Iterator[Advice]:
    """One feature that decides nearly alone."""
    leading = summary["features"]["leading"]
    if summary["n_features"] > 2 and leading["share"] > RULING:
        yield {
            "found": f"{percent(leading['share'])} of what tells clusters apart is feature {quoted(leading['name'])}.",
            "try": "If it only has larger numbers than the others, bring all features to one scale (StandardScaler or "
            "MinMaxScaler) and fit again.",
        }


def _names(summary: dict[str, Any], tasks: list[int]) -> list[str]:
    return [quoted(summary["tasks"][k]["name"]) for k in tasks]
