"""Accuracy against the size of a consensus: `python -m benchmarks.consensus_curve --out docs/results`.

SPMTC with the Euclidean metric and consensuses of different samples and numbers of members, on every task set of the
data folder (`MTCLUSTER_DATA`), on generated sets and on the digits as tasks. Every fit is a row of consensus_curve.csv;
the page and the plot are made from the rows only. `--quick` fits two small sets with two seeds.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.golden.data import data_sets
from benchmarks.same_labels import accuracy
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from mtcluster import SPMTC, Consensus
from mtcluster.datasets import load_digits_tasks

SAMPLES = (500, 1000, 2000, 3000, 5000)
FROM_ROWS = 1000  # sets with more rows are sampled
SMOOTHINGS = (1, 2, 3, 5)  # as many of the default ones, from the first on
WEIGHTS = ((0.5,), (0.3, 0.5))
STARTS = (1, 2, 4)
SEEDS = 5
QUICK_SETS, QUICK_SEEDS = ("blobs", "digits-shifted"), 2
KINDS = 2  # of start: a smoothing and a λ1 have a member for each


@dataclass(frozen=True)
class Fitted:
    """One fit; the settings are those of its consensus."""

    name: str  # of the set
    rows: int
    curve: str  # "sample" or "members"
    sample: int
    smoothings: int
    within_weights: int
    n_init_member: int
    members: int
    seed: int
    task_acc: float  # mean over tasks
    joint_acc: float  # of all rows together
    seconds: float


def sets(only: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, Any, Any]]:
    """(name, X, y, tasks)."""
    folder = Path(os.environ["MTCLUSTER_DATA"]) if os.environ.get("MTCLUSTER_DATA") else None
    if folder is None:
        print("MTCLUSTER_DATA names no folder: generated sets and digits only.", flush=True)
    found = [*data_sets(None if only else folder)]
    X, y, tasks = load_digits_tasks()
    found.append(("digits-tasks", X, y, np.unique(tasks, return_inverse=True)[1]))
    return (one for one in found if not only or one[0] in only)


def settings(rows: int) -> Iterator[tuple[str, Consensus]]:
    """The consensuses of both curves for a set."""
    default = Consensus()
    if rows > FROM_ROWS:
        for sample in SAMPLES:
            yield "sample", Consensus(sample=sample)
    for smoothings, weights, starts in product(SMOOTHINGS, WEIGHTS, STARTS):
        first = default.smoothings[:smoothings]
        yield "members", Consensus(smoothings=first, within_weights=weights, n_init_member=starts)


def fitted(name: str, X: Any, y: Any, tasks: Any, curve: str, how: Consensus, seed: int) -> Fitted:
    """Fit once, and compare with the classes."""
    model = SPMTC(len(np.unique(y)), init=how, metric="euclidean", random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        labels = model.fit(X, tasks=tasks).labels_
        seconds = time.perf_counter() - began
    by_task = np.mean([accuracy(y[tasks == k], labels[tasks == k]) for k in np.unique(tasks)])
    smoothings, weights = len(how.smoothings), len(how.within_weights)
    return Fitted(
        name, len(y), curve, how.sample, smoothings, weights, how.n_init_member, KINDS * smoothings * weights, seed,
        100 * float(by_task), 100 * accuracy(y, labels), seconds,
    )  # fmt: skip


def measure(only: tuple[str, ...], seeds: int) -> list[Fitted]:
    """All fits, on two processes of one thread."""
    found: list[Fitted] = []
    with Parallel(n_jobs=2) as parallel:
        for name, X, y, tasks in sets(only):
            began = time.perf_counter()
            found += parallel(
                delayed(fitted)(name, X, y, tasks, curve, how, seed)
                for curve, how in settings(len(y))
                for seed in range(seeds)
            )
            print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    return found


def write_fits(path: Path, found: list[Fitted]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Fitted)], lineterminator="\n")
        writer.writeheader()
        for fit in found:
            short = {key: f"{getattr(fit, key):.6g}" for key in ("task_acc", "joint_acc", "seconds")}
            writer.writerow(asdict(fit) | short)


def read_fits(path: Path) -> list[Fitted]:
    types = {"str": str, "int": int, "float": float}
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Fitted(**{field.name: types[str(field.type)](record[field.name]) for field in fields(Fitted)})
            for record in csv.DictReader(file)
        ]


Key = Callable[[Fitted], Any]


def means(found: list[Fitted], key: Key) -> dict[Any, tuple[float, float, float, float]]:
    """Group → ACC per task, its standard error over seeds, joint ACC and seconds.

    Sets count the same, as all have as many seeds; the error is that of the mean over sets, with the sets given.
    """
    groups: dict[Any, list[Fitted]] = {}
    for fit in found:
        groups.setdefault(key(fit), []).append(fit)
    result = {}
    for group, fits in groups.items():
        by_seed: dict[int, list[float]] = {}
        for fit in fits:
            by_seed.setdefault(fit.seed, []).append(fit.task_acc)
        own = [np.mean(values) for values in by_seed.values()]
        error = float(np.std(own, ddof=1) / np.sqrt(len(own)))
        three = (np.mean([getattr(fit, name) for fit in fits]) for name in ("task_acc", "joint_acc", "seconds"))
        task, joint, seconds = map(float, three)
        result[group] = task, error, joint, seconds
    return result


def _table(heads: list[str], lines: list[list[str]], names: int = 1) -> list[str]:
    rule = ["---"] * names + ["---:"] * (len(heads) - names)
    return ["| " + " | ".join(cells) + " |" for cells in (heads, rule, *lines)]


def _by_set(found: list[Fitted], key: Key, heads: list[str], values: list[Any]) -> list[str]:
    """ACC per task: sets down, settings across."""
    cells = means(found, lambda fit: (fit.name, key(fit)))
    names = list(dict.fromkeys((fit.name, fit.rows) for fit in found))
    lines = [[f"{name} ({rows:,} rows)", *(f"{cells[name, value][0]:.1f}" for value in values)] for name, rows in names]
    return _table(["set", *heads], lines)


def markdown(found: list[Fitted]) -> str:
    """The page."""
    default = Consensus()
    seeds = len({fit.seed for fit in found})
    sampled, members = ([fit for fit in found if fit.curve == curve] for curve in ("sample", "members"))
    text = [
        "# The size of a consensus",
        "",
        "Made by `python -m benchmarks.consensus_curve --out docs/results`: default SPMTC with consensuses of "
        f"different sizes, {seeds} seeds on each of {len({fit.name for fit in found})} sets. ACC in points; per task: "
        "the mean over tasks, joint: of all rows together. All sets count the same. ± is the standard error over "
        "seeds. Seconds are those of a whole fit, one thread, with two processes at a time. Every fit is a row of "
        "[consensus_curve.csv](consensus_curve.csv).",
        "",
        "![Accuracy against sample size and number of members](consensus_curve.png)",
    ]
    scores = ["ACC per task", "±", "joint ACC", "seconds"]

    def shown(values: tuple[float, float, float, float]) -> list[str]:
        task, error, joint, seconds = values
        return [f"{task:.2f}", f"{error:.2f}", f"{joint:.2f}", f"{seconds:.3f}"]

    if sampled:
        by_sample = means(sampled, lambda fit: fit.sample)
        text += ["", "## Sample", ""]
        text += [f"Sets with more than {FROM_ROWS:,} rows; {default.sample:,} is the default.", ""]
        text += _table(["sample", *scores], [[f"{n:,}", *shown(values)] for n, values in by_sample.items()])
        text += ["", "ACC per task on each set; a sample that is larger than the set is the set.", ""]
        text += _by_set(sampled, lambda fit: fit.sample, [f"{n:,}" for n in by_sample], list(by_sample))
    kinds = means(members, lambda fit: (fit.smoothings, fit.within_weights, fit.n_init_member))
    standard = (len(default.smoothings), len(default.within_weights), default.n_init_member)
    text += ["", "## Members", ""]
    text += [
        "A member for each smoothing (as many as given, from the first default one on), each λ1 (0.5, or 0.3 and 0.5) "
        "and each of two kinds of start. The starts of a member are `n_init_member`. The defaults are "
        f"{standard[0]} smoothings, {standard[1]} λ1 and {standard[2]} starts.",
        "",
    ]
    heads = ["members", "smoothings", "λ1", "starts", *scores]
    ordered = sorted(kinds.items(), key=lambda item: (KINDS * item[0][0] * item[0][1], item[0]))
    text += _table(heads, [[str(KINDS * k[0] * k[1]), *map(str, k), *shown(values)] for k, values in ordered], 0)
    most = [fit for fit in members if (fit.within_weights, fit.n_init_member) == standard[1:]]
    numbers = sorted({fit.members for fit in most})
    text += ["", f"ACC per task on each set, by members, with {standard[1]} λ1 and {standard[2]} starts.", ""]
    text += _by_set(most, lambda fit: fit.members, [str(number) for number in numbers], numbers)
    return "\n".join(text) + "\n"


def plot(found: list[Fitted], path: Path) -> None:
    """ACC, and seconds below, against the sample (left) and the number of members (right)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, 2, figsize=(11, 6.4), sharex="col", height_ratios=[2, 1], layout="constrained"
    )  # fmt: skip
    (left, right), (left_time, right_time) = axes
    sampled = means([fit for fit in found if fit.curve == "sample"], lambda fit: fit.sample)
    if sampled:
        values = np.array(list(sampled.values()))
        left.errorbar(list(sampled), values[:, 0], values[:, 1], fmt="o-", capsize=3, label="per task")
        left.plot(list(sampled), values[:, 2], "s--", label="joint")
        left_time.plot(list(sampled), values[:, 3], "o-")
        left.legend()
    members = [fit for fit in found if fit.curve == "members"]
    kinds = means(members, lambda fit: (fit.within_weights, fit.n_init_member, fit.members))
    for weights, starts in sorted({key[:2] for key in kinds}):
        points = sorted((key[2], value) for key, value in kinds.items() if key[:2] == (weights, starts))
        numbers, values = [number for number, _ in points], np.array([value for _, value in points])
        style = "o-" if weights > 1 else "s--"
        right.plot(numbers, values[:, 0], style, label=f"{weights} λ1, {starts} starts")
        right_time.plot(numbers, values[:, 3], style)
    right.legend(fontsize="small")
    left.set(ylabel="ACC, points", title=f"Sample, sets with more than {FROM_ROWS:,} rows")
    right.set(ylabel="ACC per task, points", title="Members, all sets")
    left_time.set(xlabel="rows of the sample", ylabel="seconds", ylim=(0, None))
    right_time.set(xlabel="members", ylabel="seconds", ylim=(0, None))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of consensus_curve.csv, .md and .png")
    parser.add_argument("--quick", action="store_true", help="two small sets, two seeds")
    parser.add_argument("--render", action="store_true", help="fit nothing: write the page of the .csv again")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "consensus_curve.csv"
    if not arguments.render:
        write_fits(file, measure(*((QUICK_SETS, QUICK_SEEDS) if arguments.quick else ((), SEEDS))))
    found = read_fits(file)
    file.with_suffix(".md").write_text(markdown(found), encoding="utf-8")
    plot(found, file.with_suffix(".png"))


if __name__ == "__main__":
    main()
