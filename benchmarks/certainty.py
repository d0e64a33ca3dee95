"""Can certainty be trusted: `python -m benchmarks.certainty --out docs/results/certainty`.

Verdicts on generated data without clusters and with them, calibration of `predict_proba`, the number of clusters on
generated sets, on sets embedded in scikit-learn and on those of the data folder that `MTCLUSTER_DATA` names, and time
relative to a default fit. `--quick` computes a few of each; `--only verdicts` (probabilities, numbers, time) one part.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from benchmarks.structures import SHAPELESS, STRUCTURED, Rows, with_clusters, without_clusters
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from mtcluster import SPMTC
from mtcluster.certainty import VERDICTS
from mtcluster.datasets import load_digits_tasks, load_task_set, make_multitask_blobs
from mtcluster.model_selection import select_n_clusters, stability

Data = tuple[Any, Any, Any]
TEXT = ("comp_vs_sci", "rec_vs_talk", "orgs_vs_people", "orgs_vs_places", "people_vs_places")
BINS = 10
FIRST = 10_000  # of the seeds of these data: development used smaller ones


def drawn(make: Callable[[str, int], Rows], kind: str, seed: int) -> tuple[Any, Any, int]:
    """Rows of a kind, their tasks, and a number of clusters to ask for."""
    X, _, tasks, c = make(kind, seed)
    return X, tasks, c


def blobs(separation: float, apart: bool, seed: int) -> tuple[Any, Any, int]:
    """Blobs of noise 1; `apart`: every two centres are at least `separation` apart, else that is usual."""
    rng = np.random.default_rng(seed)
    d, m = int(rng.choice([2, 5, 10, 20, 50] if apart else [10, 20, 50])), int(rng.integers(1, 11))
    n, c = int(rng.integers(150, 501)), int(rng.integers(2, 9))
    if not apart:
        X, _, tasks = make_multitask_blobs(n, d, n_tasks=m, n_clusters=c, separation=separation, random_state=seed)
        return X, tasks, c
    Z, spread = np.zeros((0, d)), separation
    while len(Z) < c:
        z = rng.normal(scale=spread / np.sqrt(2 * d), size=(1, d))
        if not len(Z) or np.linalg.norm(Z - z, axis=1).min() >= separation:
            Z = np.concatenate([Z, z])
        spread *= 1.02
    tasks, y = np.repeat(np.arange(m), n), rng.integers(c, size=m * n)
    return Z[y] + rng.standard_normal((m * n, d)), tasks, c


def verdict(make: Callable[[int], tuple[Any, Any, int]], seed: int) -> str:
    """The verdict on a default fit."""
    X, tasks, c = make(seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = SPMTC(c, random_state=seed).fit(X, tasks=tasks)
        return stability(model, X, tasks=tasks, random_state=seed).verdict


def verdicts(quick: bool) -> list[str]:
    """The table of verdicts."""
    n = 4 if quick else 40
    kinds: dict[str, tuple[Callable[[int], Any], int]] = {
        f"no clusters: {shape}": (partial(drawn, without_clusters, shape), n // 2) for shape in SHAPELESS
    }
    kinds |= {f"clusters: {kind}": (partial(drawn, with_clusters, kind), n // 2) for kind in STRUCTURED}
    for separation, apart in product((8, 4), (True, False)):
        which = "at least" if apart else "usually"
        kinds[f"blobs, centres {which} {separation} apart"] = partial(blobs, separation, apart), 2 * n
    jobs = [(make, FIRST + i) for make, size in kinds.values() for i in range(size)]
    found = iter(Parallel(n_jobs=-1)(delayed(verdict)(*job) for job in jobs))
    lines = ["| data | fits | " + " | ".join(VERDICTS) + " |", "|---|---|" + "---|" * len(VERDICTS)]
    none: Counter[str] = Counter()
    for name, (_, size) in kinds.items():
        words = Counter(next(found) for _ in range(size))
        none += words if name.startswith("no clusters") else Counter()
        lines.append(_shares(name, words))
    lines.insert(2 + len(SHAPELESS), _shares("**no clusters, all**", none))
    return [
        "## Verdicts",
        "",
        "Default SPMTC fits and `stability`. Data without clusters: 3 to 200 columns, 1 to 10 tasks, 60 to 2,000 rows, "
        "2 to 8 clusters asked for; torus, arc and swiss roll are curves. Clusters of a kind lie 3 to 10 standard "
        "deviations apart, in 1 to 6 tasks. Blobs: noise 1, 2 to 8 clusters, 1 to 10 tasks of 150 to 500 rows; "
        "“usually” is `make_multitask_blobs` with 10 to 50 features, in which some centres lie nearer.",
        "",
        *lines,
    ]


def _shares(name: str, words: Counter[str]) -> str:
    total = sum(words.values())
    cells = " | ".join(f"{100 * words[word] / total:.1f} %" for word in VERDICTS)
    return f"| {name} | {total} | {cells} |"


def calibration(seed: int) -> tuple[Any, Any, Any, Any]:
    """Confidences and whether they were right, of seen and of new rows, on one generated set."""
    rng = np.random.default_rng(seed)
    d, m, c = int(rng.choice([5, 10, 20, 50])), int(rng.integers(2, 6)), int(rng.integers(2, 7))
    n, separation = int(rng.integers(100, 400)), float(rng.uniform(4, 8))
    offset, absent = float(rng.choice([0, 1])), float(rng.choice([0, 0.3]))
    X, y, tasks = make_multitask_blobs(
        2 * n, d, n_tasks=m, n_clusters=c, separation=separation, offset=offset, absent=absent, random_state=seed
    )
    seen = np.zeros(len(y), dtype=bool)
    for k in range(m):
        seen[np.flatnonzero(tasks == k)[:n]] = True
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = SPMTC(c, random_state=seed).fit(X[seen], tasks=tasks[seen])
        P = model.predict_proba(X, tasks=tasks)
    table = np.zeros((c, c))
    np.add.at(table, (y[seen], model.labels_), 1)
    classes, clusters = linear_sum_assignment(-table)
    right = classes[np.argsort(clusters)][P.argmax(axis=1)] == y
    confidence = P.max(axis=1)
    return confidence[seen], right[seen], confidence[~seen], right[~seen]


def expected_error(confidence: Any, right: Any) -> float:
    """The expected calibration error, in ten bins."""
    at = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[at == b].mean() - right[at == b].mean()) * np.mean(at == b) for b in np.unique(at)]
    return float(np.sum(gaps))


def probabilities(quick: bool, out: Path) -> list[str]:
    """The table and the curve of the calibration of `predict_proba`."""
    n = 6 if quick else 60
    found = Parallel(n_jobs=-1)(delayed(calibration)(FIRST + i) for i in range(n))
    lines = [
        "| rows | mean ECE of the sets | median | sets at most 0.05 | ECE of all rows together | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    curves = {}
    for name, first in (("seen in the fit", 0), ("new", 2)):
        errors = np.array([expected_error(one[first], one[first + 1]) for one in found])
        confidence, right = (np.concatenate([one[first + i] for one in found]) for i in (0, 1))
        curves[name] = confidence, right
        lines.append(
            f"| {name} | {errors.mean():.3f} | {np.median(errors):.3f} | {100 * np.mean(errors <= 0.05):.0f} % | "
            f"{expected_error(confidence, right):.3f} | {100 * right.mean():.1f} % |"
        )
    _draw(curves, out / "reliability.png")
    return [
        "## Probabilities",
        "",
        f"`predict_proba` of default SPMTC fits on {n} generated sets (2 to 5 tasks of 100 to 400 rows, 2 to 6 "
        "clusters, 5 to 50 features, separation 4 to 8, some with offsets or absent clusters): the expected "
        "calibration error (ECE, ten bins) of the most probable cluster; clusters are matched with the true ones.",
        "",
        *lines,
        "",
        "![Reliability curve](reliability.png)",
    ]


def _draw(curves: dict[str, tuple[Any, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", linewidth=1)
    for (name, (confidence, right)), marker in zip(curves.items(), "os", strict=True):
        at = np.minimum((confidence * BINS).astype(int), BINS - 1)
        kept = [b for b in np.unique(at) if np.sum(at == b) >= 20]
        points = [(confidence[at == b].mean(), right[at == b].mean()) for b in kept]
        ax.plot(*zip(*points, strict=True), marker=marker, label="new rows" if name == "new" else f"rows {name}")
    ax.set(xlabel="probability of the most probable cluster", ylabel="share of the rows that are right",
           xlim=(0.2, 1.02), ylim=(0.2, 1.02))  # fmt: skip
    ax.legend(frameon=False)
    figure.savefig(path, dpi=150)


@cache
def generated() -> dict[str, tuple[Data, set[int]]]:
    """Sixty sets of blobs whose clusters are apart, by their number."""
    found, i = {}, FIRST
    for c, absent, offset in product((1, 2, 3, 5, 8, 12), (0.0, 0.3), (0.0, 1.0)):
        made = 0
        while made < (3 if c not in (1, 2) or not absent else 2):
            i += 1
            rng = np.random.default_rng(i)
            m, n, d = int(rng.integers(3, 6)), int(rng.integers(120, 300)), int(rng.choice([5, 10, 20]))
            lacking = absent if c > 2 else 0.0
            settings = {"n_tasks": m, "n_clusters": c, "absent": lacking, "separation": 8}
            X, y, tasks = make_multitask_blobs(n, d, random_state=i, **settings)
            if c > 1 and pdist([X[y == j].mean(axis=0) for j in range(c)]).min() < 4:
                continue
            X, y, tasks = make_multitask_blobs(n, d, random_state=i, offset=offset, **settings)
            found[f"{c} clusters, absent {lacking:g}, offset {offset:g}, {made}"] = (X, y, tasks), {c}
            made += 1
    return found


@cache
def real() -> dict[str, tuple[Data, set[int]]]:
    """Sets that are embedded, or in the data folder, and the numbers that are right."""
    rng = np.random.default_rng(0)
    X, y = load_wine(return_X_y=True)
    tasks = rng.integers(3, size=len(y))
    shift = rng.normal(size=(3, X.shape[1]))
    found: dict[str, tuple[Data, set[int]]] = {
        "iris, one task": ((*load_iris(return_X_y=True), None), {2, 3}),
        "wine in three tasks, moved": ((scale(X) + shift[tasks], y, tasks), {3}),
        "digits": (tuple(load_digits_tasks()), {9, 10, 11}),
    }
    folder = os.environ.get("MTCLUSTER_DATA")
    for name, right in (("penguins_sex", {3}), ("penguins_island", {3}), ("kang_pbmc", {4, 5, 6}), ("cell_lines", {2})):
        if folder:
            found[name] = tuple(load_task_set(name, folder)), right
    for name in TEXT if folder else ():
        X, y, tasks = load_task_set(name, folder)
        found[f"{name}, TF-IDF"] = (TfidfTransformer().fit_transform(X), y, tasks), {2}
    return found


def chosen(kind: str, name: str, most: int, seed: int) -> tuple[int | None, list[int]]:
    """The suggestion for one set, and the numbers that are named."""
    (X, _, tasks), _ = (generated() if kind == "generated" else real())[name]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = select_n_clusters(X, tasks=tasks, n_clusters=range(2, most + 1), random_state=seed)
    return found.n_clusters, found.named


def numbers(quick: bool) -> list[str]:
    """The tables of numbers of clusters."""
    names = list(generated())[:: 8 if quick else 1]
    jobs = [("generated", name, most, 0) for name in names for most in (14, 6, 10)]
    seeds = range(2 if quick else 10)
    jobs += [("real", name, 12, seed) for name in real() for seed in seeds]
    found = dict(zip(jobs, Parallel(n_jobs=-1)(delayed(chosen)(*job) for job in jobs), strict=True))
    by_number: dict[int, list[bool]] = {}
    same = []
    for name in names:
        [right] = generated()[name][1]
        by_number.setdefault(right, []).append(found["generated", name, 14, 0][0] == right)
        narrow, wide = (found["generated", name, most, 0][0] for most in (6, 10))
        if right <= 6:
            same.append(narrow == wide)
    every = [one for own in by_number.values() for one in own]
    lines = ["| clusters | sets | number right |", "|---|---|---|"]
    lines += [f"| {c} | {len(own)} | {100 * np.mean(own):.0f} % |" for c, own in by_number.items()]
    lines += [f"| **all** | {len(every)} | {100 * np.mean(every):.0f} % |"]
    lines += ["", f"Of the {len(same)} sets with at most 6 clusters, {sum(same)} get the same number from "
              "`range(2, 7)` and `range(2, 11)`."]  # fmt: skip
    lines += ["", "| set | right | suggested by seed | right, or named | most frequent |", "|---|---|---|---|---|"]
    for name, (_, right) in real().items():
        own = [found["real", name, 12, seed] for seed in seeds]
        wanted = ", ".join(map(str, sorted(right)))
        usual = Counter(number for number, _ in own).most_common(1)[0]
        named = np.mean([number in right or bool(right & set(also)) for number, also in own])
        told = ", ".join("none" if number is None else str(number) for number, _ in own)
        lines.append(f"| {name} | {wanted} | {told} | {100 * named:.0f} % | {usual[0]} ({usual[1]} of {len(own)}) |")
    return [
        "## Numbers of clusters",
        "",
        "`select_n_clusters` on generated sets (3 to 5 tasks of 120 to 300 rows, 5 to 20 features, separation 8 and at "
        "least 4 between any two shared centres), over 2 to 14 clusters:",
        "",
        *lines,
    ]


def seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """The best of several."""
    best = np.inf
    for _ in range(repeats):
        began = perf_counter()
        call()
        best = min(best, perf_counter() - began)
    return best


def times(quick: bool) -> list[str]:
    """Time relative to a default fit, in one process."""
    sets: dict[str, tuple[Data, int]] = {
        "240 × 4, 3 tasks": (tuple(make_multitask_blobs(80, 4, n_tasks=3, n_clusters=3, random_state=0)), 3),
        "digits": (tuple(load_digits_tasks()), 10),
        "5,000 × 50, 5 tasks": (tuple(make_multitask_blobs(1000, 50, n_tasks=5, n_clusters=6, random_state=0)), 6),
    }
    for name in [name for name in real() if name.startswith(TEXT[1])]:
        sets[name] = real()[name][0], 2
    lines = ["| set | default fit, s | stability, 20 refits | select_n_clusters, 2 to 10 |", "|---|---|---|---|"]
    for name, ((X, _, tasks), c) in list(sets.items())[: 1 if quick else None]:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            model = SPMTC(c, random_state=0)
            base = seconds(partial(model.fit, X, tasks=tasks), 5)
            again = seconds(partial(stability, model, X, tasks=tasks, random_state=0))
            number = seconds(partial(select_n_clusters, X, tasks=tasks, random_state=0))
        lines.append(f"| {name} | {base:.3f} | {again / base:.1f} fits | {number / base:.1f} fits |")
    return [
        "## Time",
        "",
        "Best of several runs in one process with one thread, relative to a default fit.",
        "",
        *lines,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, required=True, help="folder that gets index.md, reliability.png and parts.json"
    )
    parser.add_argument("--only", action="append", choices=("verdicts", "probabilities", "numbers", "time"))
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = arguments.out / "parts.json"  # parts may be made one at a time
    texts = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    made = {
        "verdicts": partial(verdicts, arguments.quick),
        "probabilities": partial(probabilities, arguments.quick, arguments.out),
        "numbers": partial(numbers, arguments.quick),
        "time": partial(times, arguments.quick),
    }
    for name in arguments.only or made:
        texts[name] = "\n".join(made[name]()) + "\n"
        kept.write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    head = (
        "# Certainty\n\nMade by `python -m benchmarks.certainty --out docs/results/certainty`, with the sets of the "
        "data folder if there is one. Generated data have other seeds than those that rules were chosen on. What the "
        "numbers say is in the [interpretation](interpretation.md).\n\n"
    )
    text = head + "\n".join(texts[name] for name in made if name in texts)
    (arguments.out / "index.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    from benchmarks.certainty import main as run  # by its name, so that other processes find it

    run()
