"""Missing values: how much worse clusters are found than in complete data, and than after filling in medians."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from mtcluster import SPMTC
from mtcluster.datasets import load_digits_tasks, load_task_set, make_multitask_blobs
from mtcluster.metrics import joint_accuracy

SETS = ("penguins_island", "penguins_sex", "kang_pbmc", "cell_lines", "vowels_hillenbrand95", "heart_disease",
        "mnist_usps")  # fmt: skip
FIRST = 10_000  # of the seeds of generated data: development used smaller ones
AT_RANDOM, ABOVE_MEDIAN = 0.2, 0.3  # shares of values that are taken away
LARGE, SHARES = (100_000, 30), (0.02, 0.2)  # rows and features of a large set, and shares of its values taken away
Data = tuple[Any, Any, Any]


def data_sets() -> Iterator[tuple[str, Data]]:
    """Sets embedded in scikit-learn, generated ones, and the dense sets of the data folder."""
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        tasks = np.arange(len(X)) % 3
        yield f"{name}, three tasks that lie apart", (scale(X) + 0.8 * tasks[:, None], y, tasks)
    yield "digits", tuple(load_digits_tasks())
    for i, (n, d, shift) in enumerate([(120, 6, 0), (80, 10, 2), (300, 4, 1), (60, 20, 3)]):
        data = make_multitask_blobs(
            n, d, n_tasks=3, n_clusters=4, separation=6, task_shift=shift, random_state=FIRST + i
        )
        yield f"blobs, {n} x {d} in each of 3 tasks, shift {shift}", tuple(data)
    if "MTCLUSTER_DATA" not in os.environ:
        return
    for name in SETS:
        X, y, tasks = load_task_set(name)
        if name.startswith("vowels"):
            X = scale(np.log(X))
        yield name, (scale(X) if name == "heart_disease" else X, y, tasks)


def at_random(X: Any, tasks: Any, rng: np.random.Generator) -> Any:
    """Every fifth value gone."""
    return _without(X, rng.random(X.shape) < AT_RANDOM)


def above_median(X: Any, tasks: Any, rng: np.random.Generator) -> Any:
    """Of the first task, of the values above the median of a column nearly every third."""
    own = (tasks == np.unique(tasks)[0])[:, None]
    return _without(X, own & (np.median(X[own[:, 0]], axis=0) < X) & (rng.random(X.shape) < ABOVE_MEDIAN))


def _without(X: Any, gone: Any) -> Any:
    gone[gone.all(axis=1), 0] = False
    return np.where(gone, np.nan, X)


def measured(n_seeds: int = 3) -> dict[str, Any]:
    """Joint accuracy of default fits, and their time; time alone of a large set."""
    return {"sets": _sets(n_seeds), "large": _large()}


def _large() -> list[float]:
    """Time of a fit of LARGE rows and features relative to complete data, by the share of values that is gone."""
    n, d = LARGE
    X, y, tasks = make_multitask_blobs(n // 4, d, n_tasks=4, n_clusters=5, separation=6, random_state=FIRST)
    gone = np.random.default_rng(FIRST).random(X.shape)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        base = _fit(X, y=y, tasks=tasks, seed=0)[1]
        return [_fit(_without(X, gone < share), y=y, tasks=tasks, seed=0)[1] / base for share in SHARES]


def _sets(n_seeds: int) -> list[dict[str, Any]]:
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name, (X, y, tasks) in data_sets():
            for seed in range(n_seeds):
                fit = partial(_fit, y=y, tasks=tasks, seed=seed)
                row = {"data": name, "seed": seed}
                row["complete"], base = fit(X)
                known = SPMTC(len(np.unique(y)), random_state=seed).fit(X, tasks=tasks)
                for kind, take in (("random", at_random), ("above", above_median)):
                    N = take(X, tasks, np.random.default_rng([FIRST, seed]))
                    row[kind], seconds = fit(N)
                    row[f"{kind}_median"], _ = fit(np.where(np.isnan(N), np.nanmedian(N, axis=0), N))
                    row[f"{kind}_known"] = joint_accuracy(y, known.predict(N, tasks=tasks), tasks)
                    row[f"{kind}_time"] = seconds / base
                rows.append(row)
    return rows


def _fit(X: Any, *, y: Any, tasks: Any, seed: int) -> tuple[float, float]:
    times = []
    for _ in range(2):
        begin = perf_counter()
        model = SPMTC(len(np.unique(y)), random_state=seed).fit(X, tasks=tasks)
        times.append(perf_counter() - begin)
    return joint_accuracy(y, model.labels_, tasks), min(times)


def section(found: dict[str, Any]) -> str:
    """A Markdown section."""
    rows = found["sets"]
    own = ("", "_known", "_median", "_time")
    keys = ("complete", *(f"{kind}{what}" for kind in ("random", "above") for what in own))
    names = list(dict.fromkeys(row["data"] for row in rows))
    means = {name: [np.mean([row[key] for row in rows if row["data"] == name]) for key in keys] for name in names}
    means["**mean**"] = np.mean(list(means.values()), axis=0).tolist()
    lines = [
        "## Missing values",
        "",
        f"Joint accuracy of default SPMTC fits, in per cent, means over {len(rows) // len(names)} seeds. At random: "
        f"{AT_RANDOM:.0%} of all values are gone. Above the median: {ABOVE_MEDIAN:.0%} of the values above the median "
        "of their column, in the first task. “Known” is `predict` of the rows that lack values by the model of "
        "complete data: what could be had if centres and metric were known. “Filled in” is the same fit after filling "
        "in the median of the column. Time is relative to the fit of complete data, in one process with one thread.",
        "",
        "| data | complete | at random | known | filled in | time | above the median | known | filled in | time |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, values in means.items():
        shown = [f"{v:.1f}" if "time" in key else f"{100 * v:.1f}" for key, v in zip(keys, values, strict=True)]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    n, d = LARGE
    times = " and ".join(
        f"{time:.1f} times with {share:.0%}" for time, share in zip(found["large"], SHARES, strict=True)
    )
    return "\n".join([*lines, "", f"{n:,} rows of {d} features, values gone at random: {times}.", ""])
