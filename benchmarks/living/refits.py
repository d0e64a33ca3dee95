"""Refits and streams: whether clusters keep their numbers, and births and deaths are told in the right batch.

Each function measures one thing and returns a plain dict; `section` writes them as Markdown.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from mtcluster import SPMTC
from mtcluster.datasets import load_digits_tasks, make_multitask_blobs

BATCHES, BORN, DIES = 20, 8, 13  # of drifting blobs: the batch in which a cluster is born, and in which another dies
TASKS, FEATURES, CLUSTERS = 3, 5, 4
WAYS = ("previous", "partial_fit")
Batch = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, classes, tasks


def drifting_blobs(
    seed: int, *, new_tasks: bool, n: int = 60, separation: float = 9.0, drift: float = 0.35
) -> Iterator[Batch]:
    """Batches of Gaussian clusters that drift, in tasks that drift too; one cluster is born, and another dies."""
    rng = np.random.default_rng(seed)
    centers: list[np.ndarray] = []
    while len(centers) < CLUSTERS + 1:
        one = separation * rng.normal(size=FEATURES)
        if all(np.linalg.norm(one - other) > 0.7 * separation for other in centers):
            centers.append(one)
    Z, ways = np.array(centers), _directions(rng, CLUSTERS + 1, drift)
    places, paths = rng.normal(size=(TASKS, FEATURES)), _directions(rng, TASKS, drift)
    for t in range(BATCHES):
        there = [j for j in range(CLUSTERS + 1) if (j < CLUSTERS or t >= BORN) and (j != 1 or t < DIES)]
        y, k = rng.choice(there, size=TASKS * n), np.repeat(np.arange(TASKS), n)
        X = Z[y] + t * ways[y] + places[k] + t * paths[k] + rng.normal(size=(len(y), FEATURES))
        yield X, y, np.array([f"task {i} of batch {t}" if new_tasks else f"task {i}" for i in k.tolist()])


def _directions(rng: np.random.Generator, n: int, length: float) -> np.ndarray:
    found = rng.normal(size=(n, FEATURES))
    return length * found / np.linalg.norm(found, axis=1, keepdims=True)


def identity(classes: list[np.ndarray], labels: list[np.ndarray]) -> float:
    """The share of rows whose number is that of their class, with one matching of both for all batches."""
    y, found = np.concatenate(classes).astype(int), np.concatenate(labels).astype(int)
    table = np.zeros((max(y.max(), found.max()) + 1,) * 2)
    np.add.at(table, (y, found), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / len(y))


def stream_of_blobs(way: str, seed: int, *, new_tasks: bool, forgetting: float = 0.7) -> dict[str, Any]:
    """A stream of drifting blobs: agreement of numbers with the truth, and what was told about births and deaths."""
    classes, labels, born, gone = [], [], [], []
    model: Any = None
    for t, (X, y, tasks) in enumerate(drifting_blobs(seed, new_tasks=new_tasks)):
        if way == "previous":
            model = SPMTC("auto", random_state=t).fit(X, tasks=tasks, previous=model)
            born += [t] * len(model.changes_.born) if t else []
            gone += [t] * len(model.changes_.died) if t else []
        else:
            model = SPMTC(CLUSTERS, forgetting=forgetting, random_state=0) if model is None else model
            model.partial_fit(X, tasks=tasks)
        classes.append(y)
        labels.append(model.labels_)
    if way == "partial_fit":
        told = model.drift_.events.rows()
        born = [event["batch"] for event in told if event["event"] == "born"]
        gone = [event["batch"] for event in told if event["event"] == "vanished"]
    return {
        "way": way, "seed": seed, "new_tasks": new_tasks, "identity": identity(classes, labels), "born": born,
        "gone": gone, "birth_told": BORN in born, "death_told": DIES in gone,
        "false_events": len([t for t in born if t != BORN]) + len([t for t in gone if t != DIES]),
    }  # fmt: skip


def stream_of_digits(way: str, n_batches: int = 8, seed: int = 0) -> dict[str, Any]:
    """The digits tasks in batches: agreement with the classes under one matching, and that of a fit to all rows."""
    X, y, tasks = load_digits_tasks()
    parts = np.array_split(np.random.default_rng(seed).permutation(len(X)), n_batches)
    model: Any = None
    classes, labels, moved, events = [], [], [], 0
    for t, part in enumerate(parts):
        if way == "previous":
            model = SPMTC(10, random_state=t).fit(X[part], tasks=tasks[part], previous=model)
            events += len(model.changes_.born) + len(model.changes_.died) if t else 0
            moved += [model.changes_.n_moved / model.changes_.n_rows] if t else []
        else:
            model = SPMTC(10, random_state=0) if model is None else model
            model.partial_fit(X[part], tasks=tasks[part])
        classes.append(y[part])
        labels.append(model.labels_)
    if way == "partial_fit":
        events = len(model.drift_.events.rows())
    alone = [SPMTC(10, random_state=t).fit(X[part], tasks=tasks[part]).labels_ for t, part in enumerate(parts)]
    whole = SPMTC(10, random_state=0).fit(X, tasks=tasks).labels_
    return {
        "way": way, "n_batches": n_batches, "identity": identity(classes, labels), "one_fit": identity([y], [whole]),
        "without_previous": identity(classes, alone), "moved": float(np.mean(moved)) if moved else None,
        "events": events,
    }  # fmt: skip


def digits_with_a_new_class(digit: int, way: str) -> dict[str, Any]:
    """Digits of nine classes, then a batch with all ten: whether the tenth is told, and how pure its cluster is."""
    X, y, tasks = load_digits_tasks()
    rng = np.random.default_rng(digit)
    first = (y != digit) & (rng.random(len(X)) < 0.5)
    later = ~first
    model: Any = SPMTC(9, random_state=0).fit(X[first], tasks=tasks[first])
    if way == "previous":
        model = SPMTC(10, random_state=1).fit(X[later], tasks=tasks[later], previous=model)
        born = model.changes_.born
    else:
        model.partial_fit(X[later], tasks=tasks[later])
        born = [event["cluster"] for event in model.drift_.events.rows() if event["event"] == "born"]
    own = np.isin(model.labels_, born)
    new = y[later] == digit
    return {
        "digit": digit, "way": way, "born": len(born), "recall": float(own[new].mean()),
        "false_rate": float(own[~new].mean()),
    }  # fmt: skip


def same_data_again(seed: int) -> dict[str, Any]:
    """The same rows from another seed: rows that keep their number, with and without the earlier model."""
    X, _, tasks = make_multitask_blobs([80, 60, 90], 6, n_tasks=3, n_clusters=5, separation=8, random_state=seed)
    first = SPMTC(5, random_state=0).fit(X, tasks=tasks)
    other = SPMTC(5, random_state=seed + 1).fit(X, tasks=tasks)
    again = SPMTC(5, random_state=seed + 1).fit(X, tasks=tasks, previous=first)
    return {
        "seed": seed, "without": float(np.mean(other.labels_ == first.labels_)),
        "with": float(np.mean(again.labels_ == first.labels_)), "moved": again.changes_.n_moved,
    }  # fmt: skip


def measured(seeds: range = range(5), digits: range = range(10)) -> dict[str, list[dict[str, Any]]]:
    """Everything, by the name of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return {
            "blobs": [stream_of_blobs(way, s, new_tasks=new) for way in WAYS for new in (False, True) for s in seeds],
            "digits": [stream_of_digits(way) for way in WAYS],
            "classes": [digits_with_a_new_class(digit, way) for way in WAYS for digit in digits],
            "again": [same_data_again(seed) for seed in seeds],
        }


def section(found: dict[str, list[dict[str, Any]]]) -> str:
    """The figures as a section in Markdown."""
    kept, without = (np.mean([row[name] for row in found["again"]]) for name in ("with", "without"))
    shown = ("identity", "without_previous", "one_fit")
    parts = [
        "## Refits and streams",
        f"Blobs in {TASKS} tasks that drift over {BATCHES} batches; a cluster is born in batch {BORN}, another dies in "
        f"batch {DIES}. Identity is the share of rows whose number is that of their class, with one matching for all "
        "batches.",
        _table(["way", "tasks", "identity, mean (least)", "birth told", "death told", "false events"], _blobs(found)),
        "Digits tasks in 8 batches, agreement with the classes:",
        _table(["way", "one matching for all batches", "without the earlier model", "one fit to all rows", "events"], [
            [f"`{row['way']}`", *(_percent(row[name]) for name in shown), row["events"]]
            for row in found["digits"]
        ]),
        "A tenth digit joins nine, mean over the digits:",
        _table(["way", "told", "its rows in new clusters", "other rows in new clusters"], _classes(found)),
        f"The same rows again from another seed: {_percent(kept)} of the rows keep their number with `previous`, "
        f"{_percent(without)} without.",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _blobs(found: dict[str, list[dict[str, Any]]]) -> list[list[Any]]:
    lines = []
    for way in WAYS:
        for new in (False, True):
            rows = [row for row in found["blobs"] if row["way"] == way and row["new_tasks"] == new]
            share = [row["identity"] for row in rows]
            told = [f"{sum(row[name] for row in rows)} of {len(rows)}" for name in ("birth_told", "death_told")]
            agreement = f"{_percent(np.mean(share))} ({_percent(min(share))})"
            false = sum(row["false_events"] for row in rows)
            lines.append([f"`{way}`", "new in each batch" if new else "the same", agreement, *told, false])
    return lines


def _classes(found: dict[str, list[dict[str, Any]]]) -> list[list[Any]]:
    lines = []
    for way in WAYS:
        rows = [row for row in found["classes"] if row["way"] == way]
        shares = [_percent(np.mean([row[name] for row in rows])) for name in ("recall", "false_rate")]
        lines.append([f"`{way}`", f"{sum(row['born'] > 0 for row in rows)} of {len(rows)}", *shares])
    return lines


def _table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _percent(share: Any) -> str:
    return f"{100 * float(share):.1f} %"
