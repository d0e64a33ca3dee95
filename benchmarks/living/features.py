"""Data sets with other columns: each task of the digits, and of generated data, keeps some of the columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from mtcluster import SPMTC
from mtcluster.datasets import load_digits_tasks, make_multitask_blobs
from mtcluster.metrics import joint_accuracy

FIRST = 10_000  # of the seeds: development used smaller ones
KEPT = 0.6  # share of the columns that a task keeps
Data = tuple[Any, Any, Any]


def data_sets() -> Iterator[tuple[str, Data]]:
    """Tasks that had the same columns."""
    yield "digits", tuple(load_digits_tasks())
    for i, (n, d, shift) in enumerate([(100, 10, 0), (100, 10, 2), (200, 30, 1), (60, 100, 1)]):
        data = make_multitask_blobs(
            n, d, n_tasks=3, n_clusters=4, separation=7, task_shift=shift, random_state=FIRST + i
        )
        yield f"blobs, {n} x {d} in each of 3 tasks, shift {shift}", tuple(data)


def measured(n_seeds: int = 5) -> list[dict[str, Any]]:
    """Joint accuracy of default fits with all columns, with those that tasks keep, and of what one would do else."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in data_sets():
            rows += [{"data": name, "seed": seed} | _one(*data, seed) for seed in range(n_seeds)]
    return rows


def _one(X: Any, y: Any, tasks: Any, seed: int) -> dict[str, Any]:
    rng, labels = np.random.default_rng([FIRST, seed]), np.unique(tasks)
    order = np.concatenate([np.flatnonzero(tasks == label) for label in labels])
    X, y, tasks = X[order], y[order], tasks[order]
    d, c = X.shape[1], len(np.unique(y))
    names = np.array([f"column {j:03d}" for j in range(d)])
    kept = {label: np.sort(rng.choice(d, round(KEPT * d), replace=False)) for label in labels}
    frames = {label: pd.DataFrame(X[tasks == label][:, own], columns=names[own]) for label, own in kept.items()}
    mixed = {label: frame[rng.permutation(frame.columns)] for label, frame in frames.items()}

    def fit(rows: Any, **given: Any) -> Any:
        return SPMTC(c, random_state=seed).fit(rows, **given).labels_

    found = fit(frames)
    everywhere = sorted(set.intersection(*(set(own) for own in kept.values())))
    union = sorted(set.union(*(set(own) for own in kept.values())))
    filled = np.concatenate([frame.reindex(columns=names[union]).to_numpy() for frame in frames.values()])
    filled = np.where(np.isnan(filled), np.nanmean(filled, axis=0), filled)
    score = {
        "all": fit(X, tasks=tasks),
        "kept": found,
        "common": fit(X[:, everywhere], tasks=tasks) if everywhere else np.zeros(len(y), dtype=int),
        "filled": fit(filled, tasks=tasks),
    }
    return {key: joint_accuracy(y, own, tasks) for key, own in score.items()} | {
        "same_in_any_order": bool(np.array_equal(found, fit(mixed)))
    }


def section(rows: list[dict[str, Any]]) -> str:
    """A Markdown section."""
    keys, names = ("all", "kept", "common", "filled"), list(dict.fromkeys(row["data"] for row in rows))
    same = sum(row["same_in_any_order"] for row in rows)
    lines = [
        "## Data sets with other columns",
        "",
        f"Each task keeps {KEPT:.0%} of the columns, at random; joint accuracy of default SPMTC fits, in per cent, "
        f"means over {len(rows) // len(names)} seeds. With the columns of each task in another order labels were the "
        f"same in {same} of {len(rows)} fits.",
        "",
        "| data | all columns | those that tasks keep | only columns of all tasks | means filled in |",
        "|---|---|---|---|---|",
    ]
    for name in names:
        own = [f"{100 * np.mean([row[key] for row in rows if row['data'] == name]):.1f}" for key in keys]
        lines.append(f"| {name} | {' | '.join(own)} |")
    return "\n".join([*lines, ""])
