"""The comparison with other methods: the same features, labels for scoring only; and the ablations of the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from .data import FILES, GENERATED, OTHER_FILES, UNRELATED
from .methods import ABLATIONS, FULL, SHARED
from .pages import marked, means, named, shown, title
from .store import Spec, grid

HELP = "comparison with k-means, Gaussian mixtures, NMF and spectral clustering, without labels"
PEERS = ("KM", "GMM", "NMF", "SC", "All KM", "All GMM", "All NMF", "All SC")
METHODS = (*PEERS, *SHARED)
TEXT = tuple(name for name in FILES if name != "WebKB6")
# Group → (features, sets).
FEATURES_AND_SETS = {
    "text, 50 singular vectors": ("svd", TEXT),
    "text, TF-IDF": ("tfidf", TEXT),
    "not text": ("plain", tuple(OTHER_FILES)),
    "unrelated tasks": ("svd", tuple(UNRELATED)),
    "generated": ("plain", tuple(GENERATED)),
}
SETS = KNOWN_SETS = tuple(dict.fromkeys(name for _, sets in FEATURES_AND_SETS.values() for name in sets))
RUNS, QUICK_RUNS = 5, 1
QUICK = "1 run, no ablations"
ABLATION_RUNS = 3
COLUMN = ["data_set", "task"]


def specs(*, sets: Sequence[str], methods: Sequence[str], runs: int, quick: bool = False) -> list[Spec]:
    """List every run; ablations are run if the full method is, which is part of the comparison."""
    found = []
    for features, group in FEATURES_AND_SETS.values():
        own = {"protocol": "honest", "features": features, "data_set": [one for one in group if one in sets]}
        found += grid(study="peers", **own, method=methods, run=range(runs))
        if FULL in methods and not quick:
            found += grid(study="ablation", **own, method=ABLATIONS, run=range(min(runs, ABLATION_RUNS)))
    return list(dict.fromkeys(found))


def numbers(rows: pd.DataFrame) -> dict[str, Any]:
    """Give everything that the pages tell."""
    taken = set(rows.loc[rows["study"] == "ablation", "run"])
    full = (rows["study"] == "peers") & (rows["method"] == FULL) & rows["run"].isin(taken)
    ablated = _groups(rows[full | (rows["study"] == "ablation")])
    return {
        "n_seeds": rows["run"].nunique(),
        "groups": {
            title(name): {"overview": _overview(own, name), "columns": _by_task(own), **_distances(own)}
            for name, own in _groups(rows[rows["study"] == "peers"])
        },
        "full": FULL,
        "n_ablation_seeds": len(taken),
        "ablations": {title(name): _steps(own, name) for name, own in ablated},
    }


def summary(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Give what the command prints."""
    return {f"{title(name)}, ACC": _overview(own, name) for name, own in _groups(rows[rows["study"] == "peers"])}


def _groups(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each group that has any."""
    for name, (features, sets) in FEATURES_AND_SETS.items():
        own = rows[(rows["features"] == features) & rows["data_set"].isin(sets)]
        if len(own):
            yield name, own


def _apart(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The scores of the peers, and of our methods."""
    theirs = scores.columns.isin(PEERS)
    return scores.loc[:, theirs], scores.loc[:, ~theirs]


def _by_set(scores: pd.DataFrame, name: str) -> pd.DataFrame:
    """Means over tasks, methods by sets, and over all tasks."""
    found = scores.groupby("data_set").mean()
    return found.loc[[one for one in FEATURES_AND_SETS[name][1] if one in found.index]].T.assign(mean=scores.mean())


def _overview(own: pd.DataFrame, name: str) -> pd.DataFrame:
    acc = means(own, "acc", COLUMN, METHODS)
    peers, _ = _apart(acc)
    lines = marked(shown(_by_set(acc, name)))
    lines["to best peer"] = shown(acc.sub(peers.max(axis=1), axis=0).min(), "+.1f")
    lines["NMI"] = shown(means(own, "nmi", COLUMN, METHODS).mean())
    lines["joint"] = shown(means(own, "joint", COLUMN, METHODS).mean())
    lines["seconds"] = shown(own.groupby("method")["seconds"].mean(), ".2f")
    return named(lines, "ACC")


def _by_task(own: pd.DataFrame) -> pd.DataFrame | None:
    """Every task of the group: k-means, the best peer, our methods, and the differences."""
    acc = means(own, "acc", COLUMN, METHODS)
    if not {"KM", "All KM", FULL} <= set(acc):
        return None
    peers, ours = _apart(acc)
    lines = shown(acc[["KM", "All KM"]])
    lines["best peer"] = shown(peers.max(axis=1)) + " (" + peers.idxmax(axis=1) + ")"
    lines = lines.join(shown(ours))
    lines[f"{FULL} − better k-means"] = shown(acc[FULL] - acc[["KM", "All KM"]].max(axis=1), "+.1f")
    lines[f"{FULL} − best peer"] = shown(acc[FULL] - peers.max(axis=1), "+.1f")
    return named(lines.set_axis(lines.index.map("{0[0]} {0[1]}".format)), "task")


def _distances(own: pd.DataFrame) -> dict[str, Any]:
    """The best peer on average, and where our methods are beside it, and beside the best peer of each task."""
    acc, joint = (means(own, metric, COLUMN, METHODS) for metric in ("acc", "joint"))
    peers, ours = _apart(acc)
    if peers.empty:
        return {"ours": []}
    behind = ours.sub(peers.max(axis=1), axis=0)
    found = pd.DataFrame({"acc": ours.mean(), "above": ours.mean() - peers.mean().max(), "joint": joint.mean()})
    found = found.loc[ours.columns].assign(gap=behind.min(), worst=behind.idxmin().map("{0[0]} {0[1]}".format))
    records = found.rename_axis("method").reset_index().to_dict("records")
    return {"best": peers.mean().idxmax(), "highest": peers.mean().max(), "ours": records}


def _steps(own: pd.DataFrame, name: str) -> pd.DataFrame:
    """One decision of the defaults replaced at a time: the difference in ACC per set."""
    acc, joint = (means(own, metric, COLUMN, (FULL, *ABLATIONS)) for metric in ("acc", "joint"))
    found = _by_set(acc, name).assign(joint=joint.mean())
    steps = found.drop(index=FULL) - found.loc[FULL]
    return named(pd.concat([shown(found.loc[[FULL]]), shown(steps, "+.1f")]), "ACC")
