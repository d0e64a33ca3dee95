"""A data set joins, part of it new: `python -m benchmarks.joining --out docs/results/joining`.

Generated tasks with a new group and with nothing new; the sets of the data folder that `MTCLUSTER_DATA` names, each
class and each task once left out; and what must change nothing, the order of the rows and the units of the columns.
`--only` makes one part, `--seed` draws other data, for choosing constants: those of the page begin at 0, so take 1000
or more.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale

from mtcluster import SPMTC
from mtcluster.datasets import load_task_set
from mtcluster.metrics import clustering_accuracy

Row = dict[str, Any]
N_CLUSTERS, N_FEATURES, RATE = 4, 10, 0.01
SHARES, NOISES, OFFSETS = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6), (1.0, 1.5, 2.0), (0.0, 2.0, 5.0)
TASKS, ROWS, SHIFTS = (2, 3, 6, 12), (50, 200, 1000), (0.0, 0.5, 1.0, 2.0, 5.0)
TEXTS = ("webkb", "webkb6")
SETS = (
    "cell_lines", "cellmix3", "breast_er", "enterotype", "heart_disease", "kang_pbmc", "mnist_usps", "occupancy",
    "pbmc_three_technologies", "penguins_island", "penguins_sex", "rnamix", "stemcells", "vowels_hillenbrand95",
    "wisdm8", "wisdm_many", *TEXTS,
)  # fmt: skip
MOST_TASKS = 4  # of a set that join, in turn


# ------------------------------------------------------------------------------------------------ generated data
def placed(n: int, apart: float, rng: np.random.Generator) -> Any:
    """Centres of which the nearest two lie so far from each other, and none much farther."""
    while True:
        Z = rng.normal(size=(n, N_FEATURES))
        gaps = np.linalg.norm(Z[:, None] - Z, axis=2)[np.triu_indices(n, 1)]
        if gaps.max() < 2 * gaps.min():
            return Z * apart / gaps.min()


def drawn(Z: Any, sizes: Iterable[int], offset: float, noise: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Rows of a task, in random order, and their clusters."""
    y = rng.permutation(np.repeat(np.arange(len(Z)), list(sizes)))
    step = rng.normal(size=N_FEATURES)
    return Z[y] + offset * step / np.linalg.norm(step) + noise * rng.normal(size=(len(y), N_FEATURES)), y


def shared_out(n: int, rng: np.random.Generator) -> list[int]:
    """Sizes of the known clusters of a task: unequal, none empty."""
    return (1 + rng.multinomial(n - N_CLUSTERS, rng.dirichlet(np.full(N_CLUSTERS, 10.0)))).tolist()


def fitted(Z: Any, n_tasks: int, rows: int, offset: float, rng: np.random.Generator) -> Any:
    parts = [drawn(Z, shared_out(rows, rng), offset, 1.0, rng)[0] for _ in range(n_tasks)]
    return SPMTC(len(Z), random_state=0).fit(dict(enumerate(parts)))


def new_groups(seed: int, n_seeds: int) -> Iterator[Row]:
    """A new group of 5 to 60 % of a task of 300 rows; clusters 10 standard deviations apart, three tasks known."""
    for draw, offset in product(range(seed, seed + n_seeds), OFFSETS):
        rng = np.random.default_rng([draw, int(10 * offset)])
        Z = placed(N_CLUSTERS + 1, 10.0, rng)
        model = fitted(Z[:-1], 3, 200, offset, rng)
        for share, noise in product(SHARES, NOISES):
            n_new = round(300 * share)
            X, y = drawn(Z, [*shared_out(300 - n_new, rng), n_new], offset, noise, rng)
            new, found = y == N_CLUSTERS, model.predict({"new": X}) < 0
            opened = model.adapt({"new": X}, novelty="new")
            yield {
                "share": share, "noise": noise, "offset": offset, "seed": draw, "found": float(found[new].mean()),
                "false": float(found[~new].mean()), "opened": opened.n_clusters_ - N_CLUSTERS,
            }  # fmt: skip


def nothing_new(seed: int, n_seeds: int) -> Iterator[Row]:
    """Tasks like those of the fit; clusters 9 standard deviations apart."""
    for draw, n_tasks, rows, offset in product(range(seed, seed + n_seeds), TASKS, ROWS, SHIFTS):
        rng = np.random.default_rng([draw, n_tasks, rows, int(10 * offset)])
        Z = placed(N_CLUSTERS, 9.0, rng)
        model = fitted(Z, n_tasks, rows, offset, rng)
        X, _ = drawn(Z, shared_out(rows, rng), offset, 1.0, rng)
        found = model.predict({"new": X}) < 0
        yield {"tasks": n_tasks, "rows": rows, "offset": offset, "seed": draw, "false": float(found.mean())}


def same_labels(seed: int, n_seeds: int) -> Iterator[Row]:
    """Rows in another order, columns in other units; with and without missing values."""
    for draw, missing in product(range(seed, seed + n_seeds), (0.0, 0.1)):
        rng = np.random.default_rng([draw, 7])
        Z = placed(N_CLUSTERS + 1, 7.0, rng)
        units, offset = 10.0 ** rng.uniform(-3, 3, N_FEATURES), float(rng.uniform(0, 3))
        parts = [drawn(Z[:-1], shared_out(150, rng), offset, 1.0, rng)[0] for _ in range(3)]
        X, _ = drawn(Z, [*shared_out(150, rng), 30], offset, 1.0, rng)
        for A in (*parts, X):
            A[rng.random(A.shape) < missing] = np.nan
        model = SPMTC(N_CLUSTERS, random_state=0).fit(dict(enumerate(parts)))
        moved = SPMTC(N_CLUSTERS, random_state=0).fit({k: part * units for k, part in enumerate(parts)})
        same_fit = bool(np.array_equal(model.labels_, moved.labels_))
        order, labels = rng.permutation(len(X)), model.predict({"new": X})
        again = model.predict({"new": X[order]}) != labels[order]
        scaled = moved.predict({"new": X * units}) != labels if same_fit else [np.nan]
        yield {"missing": missing, "seed": draw, "order": float(np.mean(again)), "units": float(np.mean(scaled))}


# ------------------------------------------------------------------------------------------------ sets of the folder
def data_sets() -> Iterator[tuple[str, Any, Any, Any]]:
    """Sets of the data folder, as they are clustered."""
    if "MTCLUSTER_DATA" not in os.environ:
        return
    for name in SETS:
        X, y, tasks = load_task_set(name)
        if name in TEXTS:
            X = TfidfTransformer().fit_transform(X)
        elif name.startswith("vowels"):
            X = scale(np.log(X))
        elif name == "heart_disease":
            X = scale(X)
        yield name, X, y, tasks


def joining_tasks(tasks: Any) -> list[Any]:
    """Some tasks, the same each time."""
    names = np.unique(tasks)
    return names[np.unique(np.linspace(0, len(names) - 1, MOST_TASKS).astype(int))].tolist()


def unseen_classes(seed: int, n_seeds: int) -> Iterator[Row]:
    """A class that only the new task holds: each class of sets with three or more."""
    for name, X, y, tasks in data_sets():
        classes = np.unique(y)
        for unseen, task in product(classes if len(classes) > 2 else [], joining_tasks(tasks)):
            own, others = tasks == task, (tasks != task) & (y != unseen)
            new = y[own] == unseen
            known = np.isin(y[own], y[others])
            if min(new.sum(), known.sum()) < 5 or not (known | new).all():
                continue
            model = SPMTC(len(np.unique(y[others])), random_state=seed).fit(X[others], tasks=tasks[others])
            names = np.full(int(own.sum()), "the new one")
            losses = -model.score_samples(X[own], tasks=names)
            found = {"ours": model.predict(X[own], tasks=names) < 0} | rivals(X[others], X[own], model.losses_, losses)
            yield {"data": name, "class": str(unseen), "task": str(task), "auroc": roc_auc_score(new, losses)} | {
                f"{way}_{what}": float(flags[at].mean())
                for way, flags in found.items()
                for what, at in (("found", new), ("false", ~new))
            }


def rivals(X: Any, new: Any, losses: Any, new_losses: Any) -> dict[str, Any]:
    """What an isolation forest, and the quantile of the distances of rows of the fit, flag."""
    forest = IsolationForest(random_state=0).fit(X)
    least = np.quantile(forest.score_samples(X), RATE)
    return {"forest": forest.score_samples(new) < least, "distance": new_losses > np.quantile(losses, 1 - RATE)}


def left_out(seed: int, n_seeds: int) -> Iterator[Row]:
    """Each task left out of the fit and adapted back; those of which every class is in the others."""
    for name, X, y, tasks in data_sets():
        c = len(np.unique(y))
        joint = SPMTC(c, random_state=seed).fit(X, tasks=tasks)
        for task in joining_tasks(tasks):
            own = tasks == task
            model = SPMTC(c, random_state=seed).fit(X[~own], tasks=tasks[~own])
            adapted = model.adapt(X[own], tasks=tasks[own], novelty="none")
            known = bool(np.isin(y[own], y[~own]).all())
            false = float(np.mean(model.predict(X[own], tasks=np.full(own.sum(), "new")) < 0)) if known else np.nan
            yield {
                "data": name, "task": str(task), "false": false, "acc": clustering_accuracy(y[own], adapted.labels_),
                "acc_fit": clustering_accuracy(y[own], joint.labels_[own]),
            }  # fmt: skip


# ------------------------------------------------------------------------------------------------ the page
def mean(rows: list[Row], key: str) -> float:
    values = [row[key] for row in rows if not np.isnan(row[key])]
    return float(np.mean(values)) if values else np.nan


def by(rows: list[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def table(head: list[str], lines: Iterable[Iterable[Any]]) -> str:
    def cell(value: Any) -> str:
        return ("–" if np.isnan(value) else f"{100 * value:.1f}") if isinstance(value, float) else str(value)

    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*text, *("| " + " | ".join(map(cell, line)) + " |" for line in lines), ""])


def told_groups(rows: list[Row]) -> str:
    cells = by(rows, "share", "noise", "offset")
    found, false = ({key: mean(own, what) for key, own in cells.items()} for what in ("found", "false"))
    lines = [
        [
            f"{100 * share:.0f} %",
            f"{noise:g}",
            *(x for o in OFFSETS for x in (found[share, noise, o], false[share, noise, o])),
        ]
        for share, noise in product(SHARES, NOISES)
    ]
    head = ["share", "noise", *(x for o in OFFSETS for x in (f"found, offset {o:g}", "false"))]
    one = np.mean([row["opened"] == 1 for row in rows])
    return table(head, lines) + (
        f"\nLeast found in a cell {100 * min(found.values()):.1f}, most false {100 * max(false.values()):.1f}; "
        '`novelty="new"` '
        f"opened exactly one cluster in {100 * one:.1f} % of the draws.\n"
    )


def told_nothing(rows: list[Row]) -> str:
    cells = {key: mean(own, "false") for key, own in by(rows, "tasks", "rows", "offset").items()}
    lines = [[t, n, *(cells[t, n, o] for o in SHIFTS)] for t, n in product(TASKS, ROWS)]
    text = table(["tasks", "rows", *(f"offset {o:g}" for o in SHIFTS)], lines)
    return f"{text}\nMean {100 * mean(rows, 'false'):.2f}, largest cell {100 * max(cells.values()):.1f}.\n"


def told_same(rows: list[Row]) -> str:
    lines = [
        [
            f"{100 * missing:.0f} %",
            *(
                f"{sum(row[what] > 0 for row in own)} of {sum(row[what] >= 0 for row in own)}"
                for what in ("order", "units")
            ),
        ]
        for (missing,), own in by(rows, "missing").items()
    ]
    return table(["values missing", "draws in which the order changes a label", "units of the columns"], lines)


def told_classes(rows: list[Row]) -> str:
    keys = [f"{way}_{what}" for way in ("ours", "forest", "distance") for what in ("found", "false")]
    head = [
        "data",
        "cases",
        "AUROC of the loss",
        "found",
        "false",
        "IsolationForest found",
        "false",
        "distance found",
        "false",
    ]
    groups = {name: own for (name,), own in by(rows, "data").items()}
    sure = [row for row in rows if row["auroc"] > 0.9]
    told = [*groups.items(), ("**all cases**", rows), ("**AUROC > 0.9**", sure)]
    lines = [[name, len(own), mean(own, "auroc"), *(mean(own, key) for key in keys)] for name, own in told]
    return table(head, lines)


def told_left_out(rows: list[Row]) -> str:
    names = ("false", "acc", "acc_fit")
    lines = [[name, *(mean(own, key) for key in names)] for (name,), own in by(rows, "data").items()]
    means = np.array([line[1:] for line in lines])
    lines.append(["**mean**", *np.nanmean(means, axis=0).tolist()])
    return table(["data", "false", "ACC adapted", "ACC of the joint fit"], lines)


PARTS: dict[str, tuple[str, Callable[[int, int], Iterator[Row]], Callable[[list[Row]], str]]] = {
    "groups": ("A new group", new_groups, told_groups),
    "nothing": ("Nothing new", nothing_new, told_nothing),
    "classes": ("A class left out", unseen_classes, told_classes),
    "tasks": ("A task left out", left_out, told_left_out),
    "same": ("What changes nothing", same_labels, told_same),
}
HEAD = (
    "# A data set joins, part of it new\n\nMade by `python -m benchmarks.joining --out docs/results/joining`, with the "
    "sets of the data folder if there is one. Shares in per cent: *found*, rows of what is new that get -1; *false*, "
    "other rows that do. The rate asked for is 1 %.\n\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder that gets index.md and parts.json")
    parser.add_argument("--only", action="append", choices=tuple(PARTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=20, help="draws of generated data")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = arguments.out / "parts.json"  # parts may be made one at a time
    texts = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in arguments.only or PARTS:
        title, measured, told = PARTS[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = list(measured(arguments.seed, arguments.seeds))
        if rows:
            about = (measured.__doc__ or "").strip().splitlines()[0]
            texts[name] = f"## {title}\n\n{about}\n\n{told(rows)}"
            kept.write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = HEAD + "\n".join(texts[name] for name in PARTS if name in texts)
    (arguments.out / "index.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
