"""What each constant of the search is worth: `python -m benchmarks.ablation --out docs/results`.

Default SPMTC on data sets that differ (embedded in scikit-learn, generated, and those of the data folder that
`MTCLUSTER_DATA` names), with one constant changed at a time. The two constants that labels chose are also chosen on one
half of the sets and reported on the other, both ways. `--quick` fits three sets with one seed.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.same_labels import accuracy
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from mtcluster import SPMTC, Search
from mtcluster.datasets import load_digits_tasks, load_task_set, make_multitask_blobs
from mtcluster.search import finding, search, view

FILES = ("cell_lines", "kang_pbmc", "penguins_island", "penguins_sex", "vowels_hillenbrand95", "heart_disease",
         "pbmc_three_technologies", "mnist_usps")  # fmt: skip
SEEDS = 3
# Name → where the constant is, and other values.
CONSTANTS: dict[str, tuple[Any, str, tuple[Any, ...]]] = {
    "gain of own centres, nats per value": (finding, "OWN_GAIN", (0.0, 0.07, 0.28, np.inf)),
    "scatter of rows that do not count, nats per value": (view, "SCATTERED", (1.0, 4.0, np.inf)),
    "least smoothing": (view, "LEAST_WEIGHT", (0.5, 2.0)),
    "directions of wide rows": (view, "DIRECTIONS", ((10,), (20,))),
    "labels that moves go on from": (Search, "n_moved", (1, 6)),
    "runs of each k-means": (Search, "n_seedings", (1, 10)),
    "rows looked at again": (search, "LOOKED_AGAIN", (1,)),
}
CHOSEN = ("gain of own centres, nats per value", "scatter of rows that do not count, nats per value")
VALUES = tuple(product((0.07, 0.14, 0.28), (1.0, 2.0, 4.0)))


@cache
def sets(quick: bool = False) -> dict[str, tuple[Any, Any, Any]]:
    """Name → (X, y, tasks)."""
    found = dict(_embedded())
    for i, (absent, offset) in enumerate(product((0, 0.2, 0.4), (0, 0.5, 2))):
        made = make_multitask_blobs(150, n_tasks=4, n_clusters=6, absent=absent, offset=offset, random_state=i)
        found[f"blobs, absent {absent}, offset {offset}"] = tuple(made)
    more = {"absent": 0.2, "offset": 0.5, "n_clusters": 6}
    found["blobs, outliers"] = tuple(make_multitask_blobs(150, n_tasks=4, outliers=0.2, random_state=1, **more))
    found["blobs, small tasks"] = tuple(make_multitask_blobs(40, n_tasks=20, random_state=2, **more))
    found["blobs, unequal tasks"] = tuple(make_multitask_blobs([50, 300, 2000], random_state=3, **more))
    folder = os.environ.get("MTCLUSTER_DATA")
    for name in FILES if folder else ():
        found[name] = tuple(load_task_set(name, folder))
    return dict(list(found.items())[:3]) if quick else found


def _embedded() -> Iterator[tuple[str, tuple[Any, Any, Any]]]:
    rng = np.random.default_rng(0)
    for name, load, m in (("iris", load_iris, 3), ("wine", load_wine, 3), ("breast cancer", load_breast_cancer, 4)):
        X, y = load(return_X_y=True)
        X, tasks = scale(X), rng.integers(m, size=len(X))
        kept = (tasks == 0) | (y != tasks % (y.max() + 1))
        shift = rng.normal(size=(m, X.shape[1]))
        yield name, (X, y, tasks)
        yield f"{name}, moved", (X + shift[tasks], y, tasks)
        yield f"{name}, a class absent", (X[kept], y[kept], tasks[kept])
        yield f"{name}, both", ((X + shift[tasks])[kept], y[kept], tasks[kept])
    X, y, tasks = load_digits_tasks()
    yield "digits", (X, y, tasks)
    kept = ~np.isin(y, [0, 1, 2]) | (tasks != tasks[0])
    yield "digits, three absent", (X[kept], y[kept], tasks[kept])


@contextmanager
def changed(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Meanwhile some constants have other values; defaults of dataclasses are constants too."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    fields = [(owner, owner.__init__.__defaults__) for owner, _, _ in changes if isinstance(owner, type)]
    try:
        for owner, name, value in changes:
            setattr(owner, name, value)
            if isinstance(owner, type):
                at, old = list(owner.__dataclass_fields__).index(name), list(owner.__init__.__defaults__)
                old[at - len(owner.__dataclass_fields__)] = value
                owner.__init__.__defaults__ = tuple(old)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        for owner, values in fields:
            owner.__init__.__defaults__ = values


def fit(name: str, seed: int, changes: list[tuple[Any, str, Any]], quick: bool) -> tuple[float, float]:
    """ACC of all rows together, and mean of the tasks."""
    X, y, tasks = sets(quick)[name]
    known = np.asarray(y) != -1
    y, codes = (np.unique(np.asarray(v), return_inverse=True)[1] for v in (np.asarray(y)[known], tasks))
    with warnings.catch_warnings(), threadpool_limits(1), changed(changes):
        warnings.simplefilter("ignore")
        labels = SPMTC(int(y.max()) + 1, random_state=seed).fit(X, tasks=codes).labels_[known]
    codes = codes[known]
    return accuracy(y, labels), float(np.mean([accuracy(y[codes == k], labels[codes == k]) for k in np.unique(codes)]))


def measure(changes: list[tuple[str, str, Any]], seeds: int, quick: bool) -> dict[str, tuple[float, float]]:
    """Set → mean ACC of all rows together, and of tasks."""
    names = list(sets(quick))
    jobs = [(name, seed) for name in names for seed in range(seeds)]
    found = Parallel(n_jobs=-1)(delayed(_named_fit)(name, seed, changes, quick) for name, seed in jobs)
    scores = np.reshape(found, (len(names), seeds, 2)).mean(axis=1)
    return {name: (float(a), float(b)) for name, (a, b) in zip(names, scores, strict=True)}


def _named_fit(name: str, seed: int, changes: list[tuple[str, str, Any]], quick: bool) -> tuple[float, float]:
    """Modules do not travel between processes; the names of constants do."""
    found = [(CONSTANTS[label][0], CONSTANTS[label][1], value) for label, _, value in changes]
    return fit(name, seed, found, quick)


def _mean(scores: dict[str, tuple[float, float]], names: list[str] | None = None) -> tuple[float, float]:
    return tuple(100 * np.mean([scores[name] for name in names or scores], axis=0))  # type: ignore[return-value]


def page(seeds: int, quick: bool) -> str:
    """The tables."""
    base = measure([], seeds, quick)
    lines = [
        "# Ablation of the search", "",
        f"Default SPMTC on {len(base)} sets, {seeds} seeds; ACC in per cent, of all rows together and mean of tasks.",
        "Made by `python -m benchmarks.ablation --out docs/results`, with the sets of the data folder if there is one.",
        "", "| constant | value | joint ACC | ACC of tasks | worst change of a set |", "|---|---|---|---|---|",
        "| defaults | | {:.1f} | {:.1f} | |".format(*_mean(base)),
    ]  # fmt: skip
    for label, (_, name, values) in CONSTANTS.items():
        for value in values:
            found = measure([(label, name, value)], seeds, quick)
            worst = min(base, key=lambda one: found[one][0] - base[one][0])
            change = 100 * (found[worst][0] - base[worst][0])
            lines.append(
                "| {} | {} | {:.1f} | {:.1f} | {:+.1f} ({}) |".format(label, value, *_mean(found), change, worst)
            )
    return "\n".join([*lines, "", *_halves(seeds, quick), "", *_sets(base)]) + "\n"


def _halves(seeds: int, quick: bool) -> list[str]:
    """Two constants, chosen on one half of the sets and reported on the other."""
    grid = {
        values: measure([(a, "", v) for a, v in zip(CHOSEN, values, strict=True)], seeds, quick)
        for values in VALUES[: 2 if quick else None]
    }
    names = list(sets(quick))
    halves = names[::2], names[1::2]
    lines = [
        "| chosen on | own centres, scatter | joint ACC there | joint ACC on the other half | best there |",
        "|---|---|---|---|---|",
    ]
    for i, (own, other) in enumerate((halves, halves[::-1])):
        best = max(grid, key=lambda values: _mean(grid[values], own)[0])
        most = max(_mean(scores, other)[0] for scores in grid.values())
        lines.append(
            f"| half {i + 1} | {best[0]}, {best[1]} | {_mean(grid[best], own)[0]:.1f} | "
            f"{_mean(grid[best], other)[0]:.1f} | {most:.1f} |"
        )
    return lines


def _sets(base: dict[str, tuple[float, float]]) -> list[str]:
    rows = [f"| {name} | {100 * a:.1f} | {100 * b:.1f} |" for name, (a, b) in base.items()]
    return ["| set, with defaults | joint ACC | ACC of tasks |", "|---|---|---|", *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder that gets ablation.md")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    text = page(1 if arguments.quick else SEEDS, arguments.quick)
    (arguments.out / "ablation.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    from benchmarks.ablation import main as run  # by its name, so that other processes find it

    run()
