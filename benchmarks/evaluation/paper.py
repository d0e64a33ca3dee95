"""The paper's evaluation: its protocol, and the numbers beside those that it published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .data import FILES, OUTLIERS, SOURCES
from .methods import PAPER_TOL, SHARED
from .pages import named, shown
from .store import Spec, grid

HELP = "the evaluation of the paper of SPMTC, on its six data sets"
METHODS = ("KM", "SC", "ASI", "All KM", "All SC", "All ASI", *SHARED)
SETS = SOURCES
KNOWN_SETS = tuple(FILES)
FEATURES = {"raw": "raw counts", "tfidf": "sublinear TF-IDF, unit rows"}
RUNS, QUICK_RUNS = 20, 2
QUICK = "2 runs, 3 values of λ1: minutes instead of an hour"

CLASSES = {"WebKB": 4, "WebKB6": 6}  # all others have two
WITHIN = tuple(round(0.05 * i, 2) for i in range(1, 20))  # λ1
COMPONENTS = (2, 4, 8, 16)  # l
NOISE = (0.0, 0.05, 0.1, 0.2, 0.3)
FEW = 3  # runs of the studies other than the main one
TWO = ("PEOPLEvsPLACES", "WebKB")  # the sets of some of them

PROTOCOLS = {
    "paper": "the paper's protocol: non-negative memberships from random starts, λ1 and l chosen with the labels",
    "honest": "the protocol without labels: every method with its defaults",
}
PUBLISHED = pd.read_csv(Path(__file__).with_name("published.csv")).set_index(["method", "data_set", "task"])
HIGHEST = PUBLISHED.groupby(["data_set", "task"]).transform("max")  # that any method has in the paper
AGREEMENT = {
    "n": "columns", "within_4": "ACC within 4", "reached": "ACC ≥ paper − 2", "gap": "mean Δ ACC",
    "above_all": "ACC above all of the paper's", "nmi": "NMI above all",
}  # fmt: skip
POINT = ["method", "data_set", "within_weight", "n_components"]


def specs(
    *, sets: Sequence[str], methods: Sequence[str], features: Sequence[str], runs: int, quick: bool = False
) -> list[Spec]:
    """List every run; with the reconstruction coupling all l ≥ c are the same model, which is run once."""
    plain, shared = [m for m in methods if m not in SHARED], [m for m in SHARED if m in methods]
    main = {"study": "main", "features": features, "run": range(runs)}
    found = grid(**main, protocol="honest", data_set=sets, method=methods)
    found += grid(**main, protocol="paper", data_set=sets, method=plain)
    for name in sets:
        components = sorted({min(l, CLASSES.get(name, 2)) for l in COMPONENTS})
        of = {"data_set": name, "method": shared, "n_components": components}
        found += grid(**main, protocol="paper", **of, within_weight=(0.2, 0.5, 0.8) if quick else WITHIN)
    few = min(runs, 2 if quick else FEW)
    if "raw" in features:
        found += _projection(sets, shared, min(runs, 1 if quick else 2), quick)
        found += _sensitivity(sets, shared, few if quick else runs)
        found += [] if quick else _tolerance(sets, shared, few)
    if "tfidf" in features:
        of = {"data_set": sets, "outliers": OUTLIERS, "noise": (0.0, 0.2) if quick else NOISE}
        found += grid(study="noise", protocol="honest", features="tfidf", method=shared, **of, run=range(few))
    if "raw" in features and TWO[0] in sets:
        of = {"data_set": TWO[0], "within_weight": 0.5, "n_components": 2}
        found += grid(study="time", protocol="paper", features="raw", method=shared, **of, run=range(few))
    return list(dict.fromkeys(found))


def _projection(sets: Sequence[str], methods: Sequence[str], runs: int, quick: bool) -> list[Spec]:
    """The paper's own W-step: LSSMTC on all sets, the paced methods on two of them."""
    usual = {"study": "projection", "protocol": "paper", "features": "raw", "coupling": "projection"}
    found = []
    for method in methods[:1] if quick else methods:
        first = method == "LSSMTC"
        own = [one for one in sets if (first or one in TWO) and (one == "WebKB" or not quick)]
        usual |= {"data_set": own, "method": method, "n_components": (2, 16) if first and not quick else 2}
        found += grid(**usual, within_weight=0.5 if quick else (0.05, 0.5, 0.95), run=range(runs if first else 1))
    return found


def _tolerance(sets: Sequence[str], methods: Sequence[str], runs: int) -> list[Spec]:
    """How much depends on the stopping tolerance, which the paper does not give."""
    usual = {"study": "tolerance", "protocol": "paper", "features": "raw", "method": methods, "run": range(runs)}
    usual |= {"within_weight": (0.05, 0.35, 0.65, 0.8, 0.95), "tol": (1e-4, 1e-5, 0.0)}
    return [spec for one in sets for spec in grid(**usual, data_set=one, n_components=CLASSES.get(one, 2))]


def _sensitivity(sets: Sequence[str], methods: Sequence[str], runs: int) -> list[Spec]:
    """Sensitivity to l at λ1 = 0.5, and to the schedule of fractions."""
    found = []
    for data_set in [one for one in sets if one in TWO]:
        c = CLASSES.get(data_set, 2)
        usual = {"protocol": "paper", "features": "raw", "data_set": data_set, "within_weight": 0.5, "run": range(runs)}
        found += grid(study="subspace", method=methods, n_components=range(1, c + 1), **usual)
        paced = {"study": "pace", "method": [m for m in methods if m != "LSSMTC"], "n_components": c}
        for first, step in ((0.3, 0.1), (0.5, 0.05), (0.5, 0.1), (0.5, 0.25), (0.7, 0.1), (0.9, 0.1)):
            found += grid(**paced, initial_fraction=first, fraction_step=step, **usual)
    return found


def chosen(rows: pd.DataFrame, protocol: str, features: str, study: str = "main") -> pd.DataFrame:
    """Take the rows at the point of the grid with the best mean ACC over the tasks of a set, as in the paper."""
    own = rows[(rows["study"] == study) & (rows["protocol"] == protocol) & (rows["features"] == features)]
    best = own.groupby(POINT)["acc"].mean().groupby(["method", "data_set"]).idxmax()
    return own[pd.MultiIndex.from_frame(own[POINT]).isin(best)]


def gaps(own: pd.DataFrame, metric: str = "acc") -> pd.Series:
    """Give the points of ACC or NMI above the paper's number, by method, set and task."""
    ours = own.groupby(PUBLISHED.index.names)[metric].mean()
    return (ours - PUBLISHED[metric]).reindex(ours.index).dropna()


def agreement(own: pd.DataFrame) -> pd.DataFrame:
    """Count the columns (a set and a task) in which methods are near the paper's numbers, and above all of them."""
    acc, nmi = (gaps(own, metric) for metric in ("acc", "nmi"))
    highest = (HIGHEST - PUBLISHED).reindex(acc.index)
    counts = {"n": 1, "within_4": acc.abs() <= 4, "reached": acc >= -2}
    counts |= {"above_all": acc > highest["acc"], "nmi": nmi > highest["nmi"]}
    found = pd.DataFrame(counts).groupby("method").sum()
    found["gap"] = shown(acc.groupby("method").mean(), "+.1f")
    return found.loc[[method for method in METHODS if method in found.index]]


def comparable(runs: pd.Series, level: float = 0.05) -> pd.Series:
    """Mark the best method of a column, and those that a two-sided t-test does not distinguish from it."""
    best = runs[runs.map(np.mean).idxmax()]
    return runs.map(lambda own: p_value(best, own) >= level)


def p_value(a: Sequence[float], b: Sequence[float]) -> float:
    """Give the p-value of Welch's t-test; constant runs are comparable only if they are equal."""
    if len(a) < 2 or len(b) < 2 or max(np.ptp(a), np.ptp(b)) < 1e-9:
        return 1.0 if np.isclose(np.mean(a), np.mean(b)) else 0.0
    (mean_a, std_a), (mean_b, std_b) = ((np.mean(x), np.std(x, ddof=1)) for x in (a, b))
    return float(stats.ttest_ind_from_stats(mean_a, std_a, len(a), mean_b, std_b, len(b), equal_var=False).pvalue)


def numbers(rows: pd.DataFrame) -> dict[str, Any]:
    """Give everything that the pages tell."""
    main, noisy = rows[rows["study"] == "main"], rows[(rows["study"] == "noise") & rows["noise"].isin((0.0, 0.2))]
    both = ((protocol, features) for protocol in PROTOCOLS for features in FEATURES)
    return {
        "stops": ", ".join(f"{tol:g} ({method})" for method, tol in PAPER_TOL.items()),
        "comparisons": [_comparison(own, *one) for one in both if len(own := chosen(rows, *one))],
        "normalisation": main["nmi_geometric"] - main["nmi"] if len(main) else None,
        "on_counts": _sentences(chosen(rows, "paper", "raw")),
        "honest": _sentences(chosen(rows, "honest", "tfidf")),
        "outliers": {kind: _losses(own) for kind, own in noisy.groupby("outliers")},
        **{study: CHAPTERS[study](own) for study, own in rows.groupby("study") if study in CHAPTERS},
    }


def summary(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Give what the command prints: ACC and the paper's, with stars at the best and comparable methods."""
    found = {}
    for protocol, features in (("paper", "raw"), ("honest", "tfidf")):
        own = chosen(rows, protocol, features)
        for name, here in own.groupby("data_set"):
            found[f"{name}, ACC, {features}, {protocol}"] = _against_paper(here, "acc")
    return found


def _comparison(own: pd.DataFrame, protocol: str, features: str) -> dict[str, Any]:
    return {
        "heading": f"{FEATURES[features].capitalize()}, {PROTOCOLS[protocol]}",
        "agreement": named(agreement(own).rename(columns=AGREEMENT), "method"),
        "sets": {
            f"{name}, {metric.upper()}": _against_paper(own[own["data_set"] == name], metric)
            for name in KNOWN_SETS
            if name in set(own["data_set"])
            for metric in ("acc", "nmi")
        },
    }


def _against_paper(own: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One set: each task, with the paper's numbers, then the means over tasks and the point of the grid."""
    columns: list[tuple[str, Any]] = []
    for (name, task), part in own.groupby(["data_set", "task"]):
        runs = part.groupby("method")[metric].apply(np.array)
        values, theirs = runs.map(np.mean), PUBLISHED[metric].reindex([(method, name, task) for method in METHODS])
        theirs, texts = theirs.droplevel([1, 2]), shown(values) + " ± " + shown(runs.map(np.std))
        columns += [(f"task {task}", texts.where(~comparable(runs), "**" + texts + "**"))]
        columns += [("paper", shown(theirs)), ("Δ", shown(values - theirs, "+.1f"))]
    points = own.groupby("method")[["within_weight", "n_components"]].first().where(lambda point: point >= 0)
    columns += [("joint", shown(own.groupby(["method", "task"])["joint"].mean().groupby("method").mean()))]
    columns += [("λ1", shown(points["within_weight"], ".2f")), ("l", shown(points["n_components"], ".0f"))]
    found = pd.concat([texts for _, texts in columns], axis=1).fillna("")
    found = found.loc[[method for method in METHODS if method in points.index]]
    return named(found.set_axis([heading for heading, _ in columns], axis=1), "method")


def _projection_table(own: pd.DataFrame) -> pd.DataFrame:
    by_task = shown(own.groupby([*POINT, "task"])["acc"].mean())
    points = pd.MultiIndex.from_product([(0.05, 0.5, 0.95), (2, 16)])
    lines = by_task.groupby(POINT).agg(" / ".join).unstack(POINT[2:]).reindex(columns=points).fillna("")
    lines = lines.swaplevel().sort_index().set_axis([f"λ1 {weight}, l {l}" for weight, l in points], axis=1)
    return named(lines, "set", "method")


def _subspace_table(own: pd.DataFrame) -> pd.DataFrame:
    lines = shown(own.groupby(["data_set", "method", "n_components"])[["acc", "nmi"]].mean())
    return named(lines.set_axis(["ACC", "NMI"], axis=1), "set", "method", "l")


def _pace_table(own: pd.DataFrame) -> pd.DataFrame:
    schedule = own["initial_fraction"].astype(str) + " + " + own["fraction_step"].astype(str)
    found = own.groupby(["data_set", "method", schedule])[["acc", "nmi", "n_iter"]].mean()
    lines = shown(found).assign(n_iter=shown(found["n_iter"], ".0f")).set_axis(["ACC", "NMI", "iterations"], axis=1)
    return named(lines, "set", "method", "first fraction + step")


def _tolerance_table(own: pd.DataFrame) -> pd.DataFrame:
    by_tol = own.groupby(own["tol"].astype(str))
    lines = pd.concat({tol: agreement(chosen(runs, "paper", "raw", "tolerance")) for tol, runs in by_tol})
    lines = lines.swaplevel().sort_index()[["within_4", "reached", "gap"]]
    return named(lines.rename(columns=AGREEMENT), "method", "tolerance")


def _noise_table(own: pd.DataFrame) -> pd.DataFrame:
    found = own.groupby(["outliers", "method", "noise"])[["acc", "auc"]].mean().unstack()
    lines = {"ACC": shown(found["acc"]), "AUC": shown(found["auc"].where(found["auc"] >= 0), ".3f")}
    lines = pd.concat(lines).reorder_levels([1, 2, 0]).sort_index().rename(columns="{:.0%}".format)
    return named(lines, "outliers", "method", "")


def _time_table(own: pd.DataFrame) -> pd.DataFrame:
    lines = shown(own.groupby("method")["seconds"].agg(["min", "median"]), ".2f")
    lines = lines.set_axis(["best, s", "median, s"], axis=1)
    lines["paper, s"] = lines.index.map({"LSSMTC": "3.1", "SPMTC-h": "4.2"}).fillna("")
    return named(lines, "method")


CHAPTERS = {
    "projection": _projection_table, "subspace": _subspace_table, "pace": _pace_table,
    "tolerance": _tolerance_table, "noise": _noise_table, "time": _time_table,
}  # fmt: skip


def _sentences(own: pd.DataFrame) -> list[dict[str, Any]]:
    """The agreement of each method, with the columns that are more than 4 points off."""
    far = gaps(own).loc[lambda gap: gap.abs() > 4]
    texts = {m: [f"{s} task {t} ({d:+.1f})" for (one, s, t), d in far.items() if one == m] for m in METHODS}
    found = agreement(own).reset_index().to_dict("records")
    return [one | {"far": ", ".join(texts[one["method"]])} for one in found]


def _losses(own: pd.DataFrame) -> dict[str, str]:
    """What a fifth of outliers costs each method on the other rows, and how well it finds them."""
    found = own.groupby(["method", "noise"])[["acc", "auc"]].mean().unstack()
    losses, aucs = found["acc", 0.0] - found["acc", 0.2], found["auc", 0.2]
    texts = {"losses": losses.map("{:.1f}".format), "aucs": aucs.map("{:.2f}".format)}
    return {name: ", ".join(f"{method} {value}" for method, value in own.items()) for name, own in texts.items()}
