"""The rows that are recorded: the task sets of the data folder, cut to a few hundred rows, and generated ones.

They are made without mtcluster, so that both states see the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize, scale

MOST_ROWS, MOST_COLUMNS = 600, 300  # of a set of the data folder
TEXTS = ("comp", "rec", "orgs", "people", "webkb", "webkb6")  # how the names of sets of term counts begin
WHOLE = ("comp_vs_sci",)  # with all columns
OF_LIBRARIES, MANY_ROWS, UNLINKED = "other-libraries", "many-rows", "no-common-column"  # sets for some cases alone
FEW = 3  # rows of a task that is not placed, as it is too small
Made = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Rows:
    """A set of rows: an array and the task of each row, or a dict of data frames."""

    name: str
    X: Any
    y: Any
    tasks: Any  # None: one task, or a dict

    @property
    def n_clusters(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y[self.y >= 0]))

    @property
    def names(self) -> list[Any]:
        """Labels of the tasks."""
        if isinstance(self.X, dict):
            return list(self.X)
        return [0] if self.tasks is None else np.unique(self.tasks).tolist()

    def take(self, at: Any) -> Rows:
        """Some of the rows of an array."""
        return replace(self, X=self.X[at], y=self.y[at], tasks=None if self.tasks is None else self.tasks[at])

    def of(self, names: list[Any]) -> Rows:
        """The rows of some tasks."""
        if not isinstance(self.X, dict):
            return self.take(np.isin(self.tasks, names))
        codes = np.repeat(np.arange(len(self.X)), [len(part) for part in self.X.values()])
        known = list(self.X)
        y = np.concatenate([self.y[codes == known.index(name)] for name in names])
        return replace(self, X={name: self.X[name] for name in names}, y=y)

    def new(self, n: int = 60) -> tuple[Any, Any]:
        """Rows of known tasks that were not in the fit, between two rows of a task each, and their tasks."""
        if isinstance(self.X, dict):
            return {name: part.iloc[::7] * 1.01 for name, part in self.X.items()}, None
        rng, codes = np.random.default_rng(5), np.zeros(self.X.shape[0], dtype=int)
        if self.tasks is not None:
            codes = np.unique(self.tasks, return_inverse=True)[1]
        at = rng.permutation(len(codes))[:n]
        other = np.array([rng.choice(np.flatnonzero(codes == codes[i])) for i in at])
        return self.X[at] * 0.7 + self.X[other] * 0.3, None if self.tasks is None else self.tasks[at]

    def unknown(self, few: bool = False) -> tuple[Any, Any]:
        """Rows of a task that was not in the fit: of the first, somewhere else."""
        n = FEW if few else 8 * self.n_clusters + 12
        if isinstance(self.X, dict):
            part = next(iter(self.X.values()))
            return {"other": part.iloc[:n] * 1.02}, None
        X = (self if self.tasks is None else self.of(self.names[:1])).X[:n]
        if not sparse.issparse(X):
            X = X + 0.5 * np.nanstd(X, axis=0)
        return X, np.repeat("new" if isinstance(self.names[0], str) else 99, X.shape[0])


def names(folder: Path | None) -> list[str]:
    """All sets: those of the folder, if there is one, and generated ones."""
    files = sorted(path.stem for path in folder.glob("*.npz")) if folder else []
    return [*files, *GENERATED]


def load(name: str, folder: Path | None) -> Rows:
    """A set by its name."""
    if name in GENERATED:
        return Rows(name, *GENERATED[name]())
    assert folder is not None
    return smaller(Rows(name, *read(folder / f"{name}.npz")))


def smaller(rows: Rows) -> Rows:
    """At most `MOST_ROWS` rows, of every task, and of sparse rows the columns that most rows have."""
    rng, n = np.random.default_rng(0), rows.X.shape[0]
    if n > MOST_ROWS:
        least = MOST_ROWS // (2 * len(rows.names))
        kept = np.zeros(n, dtype=bool)
        for task in rows.names:
            own = rng.permutation(np.flatnonzero(rows.tasks == task))
            kept[own[: max(round(len(own) * MOST_ROWS / n), least)]] = True
        rows = rows.take(kept)
    if sparse.issparse(rows.X) and rows.X.shape[1] > MOST_COLUMNS and rows.name not in WHOLE:
        columns = np.sort(np.argsort(-rows.X.getnnz(axis=0), kind="stable")[:MOST_COLUMNS])
        X = rows.X[:, columns]
        rows = replace(rows, X=normalize(X) if is_text(rows.name) else X).take(X.getnnz(axis=1) > 0)
    return rows


def data_sets(folder: Path | None) -> Iterator[tuple[str, Any, Any, Any]]:
    """(name, X, y, tasks) of whole sets: those of the folder, and some that everybody can make."""
    for path in sorted(folder.glob("*.npz")) if folder else []:
        yield (path.stem, *read(path))
    yield ("digits-shifted", *digits())
    for name in ("iris-two-tasks", "blobs", "blobs-moved"):
        yield (name, *GENERATED[name]())
    X, y, tasks = blobs(12_000, 20, 6, 3.0)
    yield "blobs-many-rows", X, y, tasks
    yield "blobs-many-rows-moved", X + 5 * np.random.default_rng(1).normal(size=(4, 20))[tasks], y, tasks
    yield ("noise", *GENERATED["noise"]())


def is_text(name: str) -> bool:
    """Whether a set of the data folder holds counts of words."""
    return name.split("_")[0] in TEXTS


def read(path: Path) -> Made:
    """X, y and tasks of a file of the data folder."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    m = len({key.split("_")[0] for key in arrays if key.startswith("task") and key.endswith("_y")})
    parts = []
    for k in range(1, m + 1):
        own = {key.removeprefix(f"task{k}_"): v for key, v in arrays.items() if key.startswith(f"task{k}_")}
        csr = (own[name] for name in ("data", "indices", "indptr")) if "data" in own else None
        parts.append(sparse.csr_matrix(tuple(csr), shape=tuple(own["shape"])) if csr else own["X"])
    X = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    y = np.concatenate([arrays[f"task{k}_y"] for k in range(1, m + 1)])
    tasks = np.repeat(np.arange(m), [part.shape[0] for part in parts])
    if "vocabulary" in arrays or is_text(path.stem):
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X.astype(float))
    elif path.stem == "vowels_hillenbrand95":
        X = scale(np.log(X))
    elif path.stem == "heart_disease":
        X = scale(X)
    return X, y, tasks


def digits() -> Made:
    """Handwritten digits in three tasks that lie apart."""
    rng, found = np.random.default_rng(0), load_digits()
    tasks = rng.integers(3, size=len(found.target))
    return found.data + 4 * rng.normal(size=(3, 64))[tasks], found.target, tasks


def some_digits() -> Made:
    """A third of them."""
    X, y, tasks = digits()
    return X[::3], y[::3], tasks[::3]


def iris() -> Made:
    """Iris in two tasks."""
    found = load_iris()
    return found.data, found.target, np.arange(150) % 2


def blobs(n: int = 600, d: int = 10, c: int = 5, spread: float = 2.0, seed: int = 0, m: int = 4) -> Made:
    """Round clusters in tasks that lie in the same place."""
    X, y = make_blobs(n, d, centers=c, cluster_std=spread, random_state=seed)
    return X, y, np.random.default_rng(seed).integers(m, size=n)


def moved() -> Made:
    """Tasks that lie apart."""
    X, y, tasks = blobs()
    return X + 5 * np.random.default_rng(1).normal(size=(4, 10))[tasks], y, tasks


def absent() -> Made:
    """Tasks with names that lie apart and lack clusters; the last one has a cluster of its own."""
    X, y, tasks = blobs(500, 6, 5, 1.0, seed=3)
    kept = (y + tasks) % 5 != 0
    kept &= (y != 4) | (tasks == 3)
    X = X + 3 * np.random.default_rng(2).normal(size=(4, 6))[tasks]
    return X[kept], y[kept], np.array(["east", "north", "south", "west"])[tasks[kept]]


def scales() -> Made:
    """Tasks and columns with scales of their own."""
    X, y, tasks = blobs(360, 5, 4, 1.5, seed=4, m=3)
    return X * np.array([1.0, 2.5, 0.4])[tasks][:, None] * np.array([1, 10, 0.1, 100, 1]), y, tasks


def noise() -> Made:
    """Nothing."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 6)), rng.integers(4, size=400), np.arange(400) % 2


def wide() -> Made:
    """More columns than rows."""
    X, y, tasks = blobs(90, 200, 3, 4.0, seed=6, m=2)
    return X, y, tasks


def counts() -> Made:
    """Sparse counts around three profiles."""
    rng = np.random.default_rng(0)
    profiles = rng.gamma(0.3, size=(3, 60))
    y, tasks = rng.integers(3, size=240), np.arange(240) % 3
    X = rng.poisson(2 * profiles[y] * np.exp(0.2 * rng.normal(size=(3, 60)))[tasks]).astype(float)
    X[X.sum(axis=1) == 0, 0] = 1
    return sparse.csr_matrix(X), y, tasks


def directions() -> Made:
    """Sparse rows of unit length."""
    X, y, tasks = counts()
    return normalize(X), y, tasks


def small_tasks() -> Made:
    """Many tasks of a few rows."""
    X, y, _ = blobs(480, 6, 4, 1.5, seed=7)
    tasks = np.arange(480) % 40
    return X + np.random.default_rng(7).normal(size=(40, 6))[tasks], y, tasks


def missing() -> Made:
    """Values that are missing, a column that one task lacks, and two rows without any value."""
    X, y, tasks = blobs(330, 6, 4, 1.5, seed=8, m=3)
    X = X + np.random.default_rng(8).normal(size=(3, 6))[tasks]
    X[np.random.default_rng(9).random(X.shape) < 0.1] = np.nan
    X[np.ix_(tasks == 2, [3])] = np.nan
    X[[4, 70]] = np.nan
    return X, y, tasks


def columns() -> Made:
    """Data frames with some columns in common."""
    X, y, tasks = blobs(300, 6, 4, 1.5, seed=10, m=3)
    order = np.argsort(tasks, kind="stable")
    X, y, tasks, letters = X[order], y[order], tasks[order], "abcdef"
    parts = {
        name: pd.DataFrame({one: X[tasks == k, letters.index(one)] for one in own})
        for k, (name, own) in enumerate({"first": "abcd", "second": "cdef", "third": "fbea"}.items())
    }
    return parts, y, None


def apart() -> Made:
    """Data frames without a common column, whose clusters are arranged alike."""
    Z = np.array([[0, 0, 0], [9, 0, 0], [0, 16, 0], [4, 5, 22], [-14, 6, 7]], dtype=float)
    parts, ys = {}, []
    for name, n, d, seed in (("p", 150, 4, 0), ("q", 120, 6, 1)):
        rng, y = np.random.default_rng(seed), np.arange(n) % 5
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:3]
        parts[name] = pd.DataFrame(Z[y] @ turn + rng.normal(size=(n, d)), columns=[f"{name}{j}" for j in range(d)])
        ys.append(y)
    return parts, np.concatenate(ys), None


def tails() -> Made:
    """Clusters with long tails in two tasks."""
    rng = np.random.default_rng(11)
    y, tasks = rng.integers(4, size=400), rng.integers(2, size=400)
    return 8 * rng.normal(size=(4, 8))[y] + rng.standard_t(2, size=(400, 8)) + 2 * tasks[:, None], y, tasks


def alone() -> Made:
    """One task."""
    X, y, _ = blobs(240, 5, 4, 1.5, seed=12)
    return X, y, None


def flat() -> Made:
    """A column that is constant, one that repeats another, and rows that repeat."""
    X, y, tasks = blobs(160, 4, 3, 1.0, seed=13, m=2)
    X = np.round(np.column_stack([X, np.full(160, 3.0), X[:, 0]]))
    return np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]]), np.concatenate([tasks, tasks[:40]])


def many_rows() -> Made:
    """More rows than a search, a sort of losses or a map look at."""
    X, y, tasks = blobs(24_000, 6, 5, 2.5, seed=14)
    return X + 4 * np.random.default_rng(14).normal(size=(4, 6))[tasks], y, tasks


def of_libraries() -> Made:
    """Fewer rows of tasks that lie apart, for arrays of other libraries."""
    X, y, tasks = moved()
    return X[:320], y[:320], tasks[:320]


GENERATED: dict[str, Callable[[], Made]] = {
    "digits-shifted": some_digits,
    "iris-two-tasks": iris,
    "blobs": blobs,
    "blobs-moved": moved,
    "blobs-absent": absent,
    "scales": scales,
    "noise": noise,
    "wide": wide,
    "counts": counts,
    "unit-rows": directions,
    "small-tasks": small_tasks,
    "missing": missing,
    "columns": columns,
    UNLINKED: apart,
    "t-tailed": tails,
    "one-task": alone,
    "flat": flat,
    MANY_ROWS: many_rows,
    OF_LIBRARIES: of_libraries,
}
