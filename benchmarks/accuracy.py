"""How well default fits do: `python -m benchmarks.accuracy --out docs/results/accuracy.md`.

Data sets of the folder that `MTCLUSTER_DATA` names, rare clusters, outliers, heavy tails, wide rows, and generated sets
that differ in one way at a time. Labels are used for scores alone. `--only` makes one part, `--seed` draws other
generated data, for choosing constants: those of the page begin at 0, so take 1000 or more.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.evaluation.data import FILES as TEXTS
from benchmarks.evaluation.data import view
from benchmarks.structures import apart
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from mtcluster import SPMTC
from mtcluster.datasets import load_task_set
from mtcluster.metrics import clustering_accuracy

SETS = (
    "cellmix3", "occupancy", "rnamix", "enterotype", "stemcells", "breast_er", "wisdm8", "wisdm_many", "cell_lines",
    "penguins_island", "penguins_sex", "kang_pbmc", "pbmc_three_technologies", "vowels_hillenbrand95", "mnist_usps",
    "heart_disease",
)  # fmt: skip
PAPER = ("COMPvsSCI", "RECvsTALK", "ORGSvsPEOPLE", "ORGSvsPLACES", "PEOPLEvsPLACES", "WebKB")
RARE = (0.30, 0.20, 0.15, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.007, 0.003)
CELLS = (10, 20, 40)  # of a type in one task


@dataclass(frozen=True)
class Case:
    """A data set, or one draw of a generated kind."""

    kind: str
    name: str
    X: Any
    y: Any  # −1: outliers, which are not scored
    tasks: Any
    n_clusters: int
    counted: Any = None  # rows that the score is about; None: all
    peers: bool = False  # also k-means?


# ------------------------------------------------------------------------------------------------ the data
def features(name: str, X: Any) -> Any:
    """Return rows as they are fitted: logarithms of formants, standardised; clinical values standardised."""
    if name.startswith("vowels"):
        return scale(np.log(X))
    return scale(X) if name == "heart_disease" else X


def development(folder: str, seed: int) -> Iterator[Case]:
    """Sets of the data folder, with five seeds each."""
    for name in SETS:
        loaded = load_task_set(name, folder)
        y = np.unique(loaded.y, return_inverse=True)[1]
        yield Case("sets", name, features(name, loaded.X), y, loaded.tasks, int(y.max()) + 1, peers=True)


def texts(folder: str, seed: int) -> Iterator[Case]:
    """The paper's collections, as unit rows of 50 directions, as TF-IDF, and as counts."""
    for kind in ("svd", "tfidf", "raw"):
        for name in PAPER:
            found = view(folder, name, kind)
            y = np.unique(found.y, return_inverse=True)[1]
            yield Case(f"texts, {kind}", TEXTS[name], found.X, y, found.tasks, int(y.max()) + 1)


def rare_types(folder: str, seed: int) -> Iterator[Case]:
    """Twelve types of 30 % to 0.3 % of 40,000 rows in four tasks; two tasks lack two types each."""
    for draw in range(seed, seed + 20):
        rng = np.random.default_rng(draw)
        centers, offsets = rng.normal(scale=4, size=(12, 30)), rng.normal(scale=2.5, size=(4, 30))
        parts = []
        for k in range(4):
            shares = np.array(RARE)
            if k < 2:
                shares[rng.choice(12, 2, replace=False)] = 0
            z = rng.choice(12, size=10_000, p=shares / shares.sum())
            parts.append((centers[z] + offsets[k] + 1.6 * rng.normal(size=(10_000, 30)), z))
        X, y = (np.concatenate(values) for values in zip(*parts, strict=True))
        yield Case("rare types", f"draw {draw}", X, y, np.repeat(np.arange(4), 10_000), 12)


def rare_cells(folder: str, seed: int) -> Iterator[Case]:
    """Stimulated blood cells with one type cut to a few cells."""
    loaded = load_task_set("kang_pbmc", folder)
    y = np.unique(loaded.y, return_inverse=True)[1]
    treated = np.asarray(loaded.tasks) == "stim"
    for n in CELLS:
        for j in range(y.max() + 1):
            for draw in range(seed, seed + 3):
                own = np.flatnonzero(treated & (y == j))
                kept = np.random.default_rng([draw, j, n]).choice(own, min(n, len(own)), replace=False)
                at = np.sort(np.r_[np.flatnonzero(~(treated & (y == j))), kept])
                counted = np.isin(at, kept)
                yield Case(f"rare cells, {n}", f"type {j}, draw {draw}", loaded.X[at], y[at], loaded.tasks[at],
                           int(y.max()) + 1, counted)  # fmt: skip


def outliers(folder: str, seed: int) -> Iterator[Case]:
    """Five clusters six deviations apart in four tasks, some rows scattered; and heavy tails."""
    for draw in range(seed, seed + 5):
        for width in (4.0, 12.0, 40.0):
            for share in (0.0, 0.05, 0.1, 0.2):
                rng = np.random.default_rng([draw, int(width), int(100 * share)])
                Z, offsets = apart(5, 8, 6.0, rng), rng.normal(size=(4, 8))
                tasks, y = np.repeat(np.arange(4), 250), rng.integers(5, size=1000)
                X = Z[y] + offsets[tasks] + rng.normal(size=(1000, 8))
                far = rng.random(1000) < share
                X[far] = Z.mean(axis=0) + offsets[tasks[far]] + width * rng.normal(size=(far.sum(), 8))
                yield Case(f"{share:.0%} of the rows scattered, {width:g} times as wide", f"draw {draw}", X,
                           np.where(far, -1, y), tasks, 5)  # fmt: skip
        for freedom in (3, 5):
            rng = np.random.default_rng([draw, freedom])
            Z, tasks, y = apart(5, 6, 8.0, rng), np.repeat(np.arange(4), 250), rng.integers(5, size=1000)
            X = Z[y] + rng.normal(size=(4, 6))[tasks] + rng.standard_t(freedom, size=(1000, 6))
            yield Case(f"t with {freedom} degrees of freedom", f"draw {draw}", X, y, tasks, 5)


def wide(folder: str, seed: int) -> Iterator[Case]:
    """Wide rows: few and many, informative directions few and many, tasks small and large."""
    for draw in range(seed, seed + 3):
        for n, d, informative, size in (
            (40, 60, 5, 8), (40, 500, 10, 20), (80, 2000, 20, 40), (200, 100, 5, 50), (200, 1000, 50, 20),
            (500, 200, 50, 100), (500, 2000, 10, 125), (1000, 500, 20, 8), (1000, 100, 30, 250), (2000, 300, 5, 500),
            (2000, 2000, 30, 500), (2000, 60, 50, 100),
        ):  # fmt: skip
            rng = np.random.default_rng([draw, n, d])
            tasks = np.repeat(np.arange(n // size), size)
            y = rng.integers(4, size=len(tasks))
            Z = np.zeros((4, d))
            Z[:, :informative] = apart(4, informative, 5.0, rng)
            moved = rng.normal(scale=rng.choice([0.0, 0.3, 1.0]), size=(n // size, d))
            X = Z[y] + moved[tasks] + rng.normal(size=(len(tasks), d))
            name = f"{n} × {d}, {informative} informative, tasks of {size}"
            yield Case(f"wide: {name}", f"draw {draw}", X, y, tasks, 4, peers=True)


def differences(folder: str, seed: int) -> Iterator[Case]:
    """Generated tasks that differ in one way at a time: location, scale, composition, sizes, shapes, gaps of it all."""
    kinds: dict[str, dict[str, Any]] = {
        "alike": {}, "location": {"offset": 4.0}, "scale of columns": {"scale": 0.7}, "composition": {"alpha": 0.4},
        "absent clusters": {"absent": 2}, "location and absent clusters": {"offset": 4.0, "absent": 2},
        "location and composition": {"offset": 4.0, "alpha": 0.4}, "centres of tasks": {"own": 1.2},
        "sizes of tasks": {"sizes": (30, 100, 300, 1000), "offset": 2.0}, "elongated": {"shape": 4.0, "offset": 2.0},
        "covariance of each task": {"turned": True, "offset": 2.0}, "covariance of each cluster": {"spread": 0.6},
        "skewed": {"skewed": True, "offset": 1.0}, "many small tasks": {"sizes": (25,) * 30, "offset": 2.0},
        "one task": {"sizes": (600,)}, "noise columns": {"noise": 20}, "two clusters of ten": {"c": 10, "absent": 5},
        "units of columns": {"units": True, "offset": 2.0},
    }  # fmt: skip
    for draw in range(seed, seed + 6):
        for number, (kind, how) in enumerate(kinds.items()):
            rng = np.random.default_rng([draw, number])
            yield Case(f"tasks differ: {kind}", f"draw {draw}", *drawn(rng, **how), peers=True)


def drawn(
    rng: np.random.Generator, c: int = 5, d: int = 6, sizes: tuple[int, ...] = (200,) * 4, offset: float = 0.0,
    scale: float = 0.0, alpha: float = 5.0, absent: int = 0, own: float = 0.0, shape: float = 0.0, turned: bool = False,
    spread: float = 0.0, skewed: bool = False, noise: int = 0, units: bool = False,
) -> tuple[Any, Any, Any, int]:  # fmt: skip
    """Draw rows, clusters, tasks and the number of clusters."""
    m, Z = len(sizes), apart(c, d, 4.5, rng)
    common = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.exp(rng.uniform(0, np.log(max(shape, 1.0)), d))
    spreads = np.exp(spread * rng.normal(size=c))
    lacking = [rng.choice(c, absent, replace=False) if k else [] for k in range(m)]
    parts = []
    for k, n in enumerate(sizes):
        shares = rng.dirichlet(np.full(c, alpha))
        shares[lacking[k]] = 0
        z = rng.choice(c, size=n, p=shares / shares.sum())
        E = rng.exponential(size=(n, d)) - 1 if skewed else rng.normal(size=(n, d))
        E = E * spreads[z][:, None] @ common.T
        if turned:
            E = E @ np.linalg.qr(rng.normal(size=(d, d)))[0] * np.exp(rng.normal(scale=0.3, size=d))
        X = Z[z] + own * rng.normal(size=(c, d))[z] + E
        X = X * np.exp(scale * rng.normal(size=d)) + offset * rng.normal(size=d)
        parts.append((np.c_[X, rng.normal(size=(n, noise))], z))
    X, y = (np.concatenate(values) for values in zip(*parts, strict=True))
    X = X * np.exp(rng.uniform(-5, 5, size=X.shape[1])) if units else X
    return X, y, np.repeat(np.arange(m), sizes), c


PARTS: dict[str, Callable[[str, int], Iterator[Case]]] = {
    "sets": development, "texts": texts, "types": rare_types, "cells": rare_cells, "outliers": outliers, "wide": wide,
    "differences": differences,
}  # fmt: skip
SEEDS = {"sets": 5, "texts": 5}  # of the fits; generated data are drawn again instead


# ------------------------------------------------------------------------------------------------ fits and scores
def scores(case: Case, labels: Any) -> dict[str, Any]:
    """Joint ACC, ARI, ACC of each task, and the share of the counted rows that are with their class elsewhere."""
    known = case.y >= 0
    y, z, codes = case.y[known], labels[known], np.unique(case.tasks, return_inverse=True)[1][known]
    found: dict[str, Any] = {"joint": clustering_accuracy(y, z), "ari": adjusted_rand_score(y, z)}
    found["tasks"] = [clustering_accuracy(y[codes == k], z[codes == k]) for k in np.unique(codes)]
    if case.counted is not None:
        own = y == case.y[case.counted][0]
        usual = np.bincount(labels[own & ~case.counted]).argmax()
        found["with their own"] = float(np.mean(labels[case.counted] == usual))
    return found


def kmeans(X: Any, codes: Any, c: int, seed: int) -> dict[str, Any]:
    """Labels by k-means of each task, and of all rows around the means of tasks."""
    X = np.asarray(X.todense()) if hasattr(X, "todense") else np.asarray(X)
    if X.shape[1] > 50 and len(np.unique(codes)) * 10 < len(X):
        X = PCA(10, random_state=0).fit_transform(X) if X.shape[1] != 256 else X
    own, around = np.zeros(len(X), dtype=int), X.copy()
    for k in np.unique(codes):
        at = codes == k
        own[at] = KMeans(min(c, int(at.sum())), n_init=10, random_state=seed).fit_predict(X[at])
        around[at] -= X[at].mean(axis=0)
    return {
        "k-means per task": own,
        "k-means, means removed": KMeans(c, n_init=10, random_state=seed).fit_predict(around),
    }


def fitted(case: Case, seed: int) -> tuple[dict[str, dict[str, Any]], Any]:
    """Score a default fit, and k-means where it is asked for; with the labels."""
    codes = np.unique(case.tasks, return_inverse=True)[1]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        labels = SPMTC(case.n_clusters, random_state=seed).fit(case.X, tasks=codes).labels_
        others = kmeans(case.X, codes, case.n_clusters, seed) if case.peers else {}
    return {name: scores(case, z) for name, z in {"SPMTC": labels, **others}.items()}, labels


def measure(part: str, folder: str, seed: int) -> dict[str, list[tuple[str, list[Any]]]]:
    """Kind → (name, fits of each seed)."""
    found: dict[str, list[tuple[str, list[Any]]]] = {}
    seeds = range(SEEDS.get(part, 1))
    cases = PARTS[part](folder, seed)
    runs = Parallel(n_jobs=2, return_as="generator")(delayed(_all_seeds)(case, seeds) for case in cases)
    for kind, name, fits in runs:
        found.setdefault(kind, []).append((name, fits))
    return found


def _all_seeds(case: Case, seeds: range) -> tuple[str, str, list[Any]]:
    return case.kind, case.name, [fitted(case, seed) for seed in seeds]


# ------------------------------------------------------------------------------------------------ the page
def mean(fits: list[Any], method: str, score: str) -> float:
    """Return the mean of a score over fits, in per cent."""
    return 100 * float(np.mean([np.mean(found[method][score]) for found, _ in fits]))


@cache
def _header(columns: tuple[str, ...]) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def sets_table(found: dict[str, list[tuple[str, list[Any]]]]) -> list[str]:
    """One line per data set, and what k-means of each task has more of."""
    lines, low, columns = [], [], 0
    for name, fits in (row for rows in found.values() for row in rows):
        agree = [adjusted_rand_score(a, b) for (_, a), (_, b) in combinations(fits, 2)]
        own, peer = (np.mean([f[m]["tasks"] for f, _ in fits], axis=0) for m in ("SPMTC", "k-means per task"))
        columns += len(own)
        low += [f"{name}, task {k + 1}: {100 * own[k]:.1f} (k-means {100 * peer[k]:.1f})"
                for k in range(len(own)) if own[k] < peer[k] - 0.05]  # fmt: skip
        lines.append(
            f"| {name} | {mean(fits, 'SPMTC', 'joint'):.1f} | {mean(fits, 'SPMTC', 'ari'):.1f} | "
            f"{mean(fits, 'SPMTC', 'tasks'):.1f} | {mean(fits, 'k-means per task', 'tasks'):.1f} | "
            f"{mean(fits, 'k-means, means removed', 'joint'):.1f} | {np.mean(agree):.3f} |"
        )
    header = ("set", "joint ACC", "ARI", "ACC of tasks", "k-means per task: ACC of tasks",
              "k-means, means removed: joint ACC", "ARI of two seeds")  # fmt: skip
    told = f"Tasks more than 5 points below k-means on them alone, {len(low)} of {columns}: {'; '.join(low) or 'none'}."
    return [*_header(header), *lines, "", told]


def draws_table(found: dict[str, list[tuple[str, list[Any]]]]) -> list[str]:
    """One line per kind of data."""
    lines, peers, counted = [], False, False
    for kind, rows in found.items():
        fits = [fit for _, own in rows for fit in own]
        aris = [100 * f["SPMTC"]["ari"] for f, _ in fits]
        line = f"| {kind} | {len(rows)} | {mean(fits, 'SPMTC', 'joint'):.1f} | {np.mean(aris):.1f} | {min(aris):.1f} |"
        line += f" {mean(fits, 'SPMTC', 'tasks'):.1f} |"
        if "k-means per task" in fits[0][0]:
            peers = True
            line += f" {mean(fits, 'k-means per task', 'tasks'):.1f} |"
            line += f" {mean(fits, 'k-means, means removed', 'joint'):.1f} |"
        if "with their own" in fits[0][0]["SPMTC"]:
            counted = True
            line += f" {mean(fits, 'SPMTC', 'with their own'):.1f} |"
        lines.append(line)
    header = ["data", "sets", "joint ACC", "ARI", "lowest ARI", "ACC of tasks"]
    header += ["k-means per task: ACC of tasks", "k-means, means removed: joint ACC"] if peers else []
    header += ["rare rows with their type"] if counted else []
    return [*_header(tuple(header)), *lines]


TITLES = {
    "sets": "Data sets", "texts": "Texts", "types": "Twelve types of 30 % to 0.3 % of 40,000 rows",
    "cells": "Few cells of a type in one task", "outliers": "Outliers and heavy tails", "wide": "Wide rows",
    "differences": "Tasks that differ in one way",
}  # fmt: skip


def page(parts: list[str], folder: str | None, seed: int) -> str:
    """Measure, and write the tables."""
    lines = [
        "# Accuracy of default fits", "",
        "Made by `python -m benchmarks.accuracy --out docs/results/accuracy.md`: `SPMTC(c, random_state=s).fit(X, "
        "tasks=tasks)` with the number of classes as c. ACC and ARI in per cent, means of five seeds, or of draws of "
        "generated data; joint ACC has one matching of clusters and classes for all tasks. k-means sees wide generated "
        "rows in their ten first principal components.",
    ]  # fmt: skip
    for part in parts:
        doc = (PARTS[part].__doc__ or "").splitlines()[0]
        if folder is None and part in ("sets", "texts", "cells"):
            lines += ["", f"## {TITLES[part]}", "", "Not measured: MTCLUSTER_DATA names no folder."]
            continue
        found = measure(part, folder or "", seed)
        table = sets_table(found) if part == "sets" else draws_table(found)
        lines += ["", f"## {TITLES[part]}", "", doc, "", *table]
        print("\n".join(lines[-len(table) - 4 :]), flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="the page that is written")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="parts")
    parser.add_argument("--seed", type=int, default=0, help="the first draw of generated data")
    asked = parser.parse_args()
    text = page(asked.only, os.environ.get("MTCLUSTER_DATA"), asked.seed)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
