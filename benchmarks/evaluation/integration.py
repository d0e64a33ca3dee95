"""The comparison with tools for integration: tasks that lie apart, or hold different clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from .data import DIFFERENT_FILES, OTHERS, PHASE
from .methods import FITTED, LIGER, OURS
from .pages import marked, means, named, shown, title
from .store import Spec, grid

HELP = "comparison with Harmony, k-means and Gaussian mixtures on tasks that lie apart or hold different clusters"
METHODS = (*FITTED, LIGER, *OURS)
WIDE = "PBMC"  # too many features for mixtures and Harmony, which get principal components
PHASE_GROUP = "phase diagram"
# Group → set → features.
GROUPS: dict[str, dict[str, str]] = {
    "real sets": dict.fromkeys(DIFFERENT_FILES, "plain") | {WIDE: "pca"},
    "many features": {WIDE: "plain"},
    "generated sets": dict.fromkeys(OTHERS, "plain"),
    PHASE_GROUP: dict.fromkeys(PHASE, "plain"),
}
SETS = KNOWN_SETS = tuple(dict.fromkeys(data_set for sets in GROUPS.values() for data_set in sets))
RUNS, QUICK_RUNS = 10, 1
QUICK = "1 run"

# Field → column.
SCORES = {
    "joint_rows": "joint ACC", "ari": "ARI", "acc": "ACC per task", "nmi": "NMI", "presence": "presence",
    "biology": "biology", "batch": "batch", "auc": "AUC", "seconds": "seconds",
}  # fmt: skip
KMEANS = ["All KM", "Centred KM"]
REACH = 3.0  # points of joint ACC below the better of pooled and centred k-means that count as equal
HARD = 80.0  # below this both are wrong, and another method should be better


def specs(*, sets: Sequence[str], methods: Sequence[str], runs: int, quick: bool = False) -> list[Spec]:
    """List every run: each method that applies, on each set, with each seed; generated sets are drawn with each."""
    usual = {"study": "integration", "protocol": "honest", "method": methods, "run": range(runs)}
    pairs = [pair for group in GROUPS.values() for pair in group.items() if pair[0] in sets]
    found = [spec for name, features in pairs for spec in grid(data_set=name, features=features, **usual)]
    return [spec for spec in found if applies(spec)]


def applies(spec: Spec) -> bool:
    """Tell whether a method can be used: LIGER needs rows that are not negative, mixtures and Harmony few features."""
    wide = (spec.data_set, spec.features) == (WIDE, "plain")
    if spec.method == LIGER:
        return wide
    reach, clusterer = FITTED.get(spec.method, ("", "KM"))
    return not wide or (reach != "Harmony" and clusterer == "KM")


def numbers(rows: pd.DataFrame) -> dict[str, Any]:
    """Give everything that the pages tell."""
    found = _groups(rows)
    cells = found.pop(PHASE_GROUP, None)
    return {
        "n_seeds": rows["run"].nunique(),
        "groups": {
            title(name): {
                "overview": _overview(own, name),
                "sets": {data_set: _all_scores(own[own["data_set"] == data_set]) for data_set in _joint(own, name)},
                "best": [text for data_set, joint in _joint(own, name).items() if (text := _best(data_set, joint))],
            }
            for name, own in found.items()
        },
        "cells": None if cells is None else _cells(cells),
        "verdicts": {} if cells is None else _verdicts(cells),
        "ours": OURS,
        "kmeans": KMEANS,
    }


def summary(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Give what the command prints: joint ACC of each method on each set."""
    found = _groups(rows).items()
    tables = ((name, _cells(own) if name == PHASE_GROUP else _overview(own, name)) for name, own in found)
    return {f"{title(name)}, joint ACC": table for name, table in tables}


def _groups(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each group that has any."""
    found = {name: rows[rows["data_set"].map(sets) == rows["features"]] for name, sets in GROUPS.items()}
    return {name: own for name, own in found.items() if len(own)}


def _joint(own: pd.DataFrame, name: str) -> pd.DataFrame:
    """Joint ACC, methods by sets."""
    found = means(own, "joint_rows", ["data_set"], METHODS)
    return found.loc[[data_set for data_set in GROUPS[name] if data_set in found.index]].T


def _overview(own: pd.DataFrame, name: str) -> pd.DataFrame:
    joint = _joint(own, name)
    return named(marked(shown(joint.assign(mean=joint.mean(axis=1, skipna=False)))), "joint ACC")


def _all_scores(own: pd.DataFrame) -> pd.DataFrame:
    """All scores of one set; those that no method has are left out."""
    fields = [field for field in SCORES if (own[field] >= 0).any()]
    found = own.groupby("method")[fields].mean()
    found = found.loc[[method for method in METHODS if method in found.index]].where(lambda scores: scores >= 0)
    lines = shown(found)
    for field in {"auc", "seconds"} & set(fields):
        lines[field] = shown(found[field], ".2f")
    return named(marked(lines).assign(seconds=lines["seconds"]).rename(columns=SCORES), "method")


def _judged(own: pd.DataFrame) -> pd.Series:
    """Whether the tasks of each cell are linked in every draw."""
    return own.groupby("data_set")["linked"].min() == 1


def _cells(own: pd.DataFrame) -> pd.DataFrame:
    """Joint ACC, cells by methods."""
    judged = _judged(own)
    lines = shown(_joint(own, PHASE_GROUP).T)
    return named(lines.rename(lambda name: name if judged[name] else f"{name} (not judged)"), "joint ACC")


def _verdicts(own: pd.DataFrame) -> dict[str, str]:
    """How methods compare with the better of pooled and centred k-means, in the cells that are judged."""
    joint = _joint(own, PHASE_GROUP).T
    if not {*KMEANS} <= set(joint):
        return {}
    joint, found = joint[_judged(own).reindex(joint.index)], {}
    best = joint[KMEANS].max(axis=1, skipna=False)
    for method, gaps in ((method, (joint[method] - best).dropna()) for method in joint):
        if gaps.empty:
            continue
        hard = gaps[best[gaps.index] < HARD]
        text = (
            f"{method}: at most {REACH:g} points of joint ACC below the better of pooled and centred k-means in "
            f"{(gaps >= -REACH).sum()} of {len(gaps)} judged cells, {gaps.min():+.1f} at worst ({gaps.idxmin()})"
        )
        if len(hard):
            text += f"; above both in {(hard > 0).sum()} of the {len(hard)} where both are below {HARD:g}"
        found[method] = text + "."
    return found


def _best(data_set: str, joint: pd.Series) -> str:
    """The best peer on a set, and our methods."""
    joint = joint.dropna()
    peers = joint[~joint.index.isin(OURS)]
    if peers.empty:
        return ""
    text = f"{data_set}: best peer {peers.idxmax()}, joint ACC {peers.max():.1f}"
    ours = ", ".join(f"{m} {value:.1f} ({value - peers.max():+.1f})" for m, value in joint.items() if m in OURS)
    return text + (f"; {ours}." if ours else ".")
