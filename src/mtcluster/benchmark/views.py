"""What a run computes on: a task set in one feature view, with outliers put in where asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from ..datasets import load_task_set
from .rows import BenchmarkError

FILES = {
    "COMPvsSCI": "comp_vs_sci",
    "RECvsTALK": "rec_vs_talk",
    "ORGSvsPEOPLE": "orgs_vs_people",
    "ORGSvsPLACES": "orgs_vs_places",
    "PEOPLEvsPLACES": "people_vs_places",
    "WebKB": "webkb",
    "WebKB6": "webkb6",
}
# The sets that outliers of a set come from: all others, or one that shares no topic with it.
SOURCES = ("COMPvsSCI", "RECvsTALK", "ORGSvsPEOPLE", "ORGSvsPLACES", "PEOPLEvsPLACES", "WebKB")
OUTLIERS = ("foreign", "shuffled", "one foreign collection")


@dataclass(frozen=True)
class View:
    """Rows of all tasks with their classes; `strange` marks the outliers."""

    X: Any
    y: Any
    tasks: Any
    strange: Any

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))


@lru_cache(maxsize=8)
def counts(folder: str, data_set: str) -> View:
    """Raw term counts of a set; tasks are numbered from 1."""
    name = FILES[data_set]
    try:
        loaded = load_task_set(name, folder)
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"the data set {data_set} is needed as {name}.npz: {error}") from error
    names = list(dict.fromkeys(loaded.tasks.tolist()))
    tasks = np.array([names.index(task) + 1 for task in loaded.tasks.tolist()])
    return View(sparse.csr_matrix(loaded.X), loaded.y, tasks, np.zeros(len(loaded.y), dtype=bool))


@lru_cache(maxsize=8)
def view(folder: str, data_set: str, features: str, outliers: str = "none", noise: float = 0.0, seed: int = 0) -> View:
    """A set in one view: raw counts, or sublinear TF-IDF over the pooled tasks with unit rows."""
    plain = counts(folder, data_set)
    if noise:
        plain = with_outliers(folder, data_set, outliers, noise, seed)
    if features == "raw":
        return plain
    return View(TfidfTransformer(sublinear_tf=True).fit_transform(plain.X), plain.y, plain.tasks, plain.strange)


def with_outliers(folder: str, data_set: str, outliers: str, noise: float, seed: int) -> View:
    """A share of the rows of each task replaced, before any weighting of features.

    "foreign": rows of the other collections in turn. "one foreign collection": rows of one of them, which are alike
    and so may form a cluster. Word numbers of a foreign row mean random other words here, the same for all rows of its
    collection. "shuffled": each count of a row moved to a random word.
    """
    plain = counts(folder, data_set)
    rng = np.random.default_rng([seed, int(1000 * noise), OUTLIERS.index(outliers)])
    strange = np.zeros(len(plain.y), dtype=bool)
    for task in np.unique(plain.tasks):
        rows = np.flatnonzero(plain.tasks == task)
        strange[rng.choice(rows, size=round(noise * len(rows)), replace=False)] = True
    d, n = plain.X.shape[1], int(strange.sum())
    if outliers == "shuffled":
        entries = plain.X[strange].tocoo()
        new = sparse.csr_matrix((entries.data, (entries.row, rng.integers(d, size=entries.nnz))), shape=(n, d))
    else:
        sources = [s for s in SOURCES if FILES[s][:5] != FILES[data_set][:5]]
        new = _foreign(folder, sources if outliers == "foreign" else sources[:1], n, d, rng)
    order = np.empty(len(strange), dtype=int)
    order[~strange], order[strange] = np.arange(len(strange) - n), len(strange) - n + np.arange(n)
    return View(sparse.vstack([plain.X[~strange], new], format="csr")[order], plain.y, plain.tasks, strange)


def _foreign(folder: str, sources: list[str], n: int, d: int, rng: np.random.Generator) -> Any:
    """n rows of other collections, as many of each, with their words renamed."""
    parts = []
    for i, source in enumerate(sources):
        X = counts(folder, source).X
        size = (n - i + len(sources) - 1) // len(sources)
        entries = X[rng.choice(X.shape[0], size=size, replace=size > X.shape[0])].tocoo()
        words = rng.permutation(max(d, X.shape[1]))[entries.col] % d
        parts.append(sparse.csr_matrix((entries.data, (entries.row, words)), shape=(size, d)))
    return sparse.vstack(parts, format="csr")[rng.permutation(n)]


def check_folder(folder: Path, data_sets: list[str], noise: bool) -> None:
    """Read every file that will be needed, before anything is computed."""
    if not folder.is_dir():
        raise BenchmarkError(f"--data {folder} is not a folder.")
    for data_set in dict.fromkeys([*data_sets, *(SOURCES if noise else ())]):
        counts(str(folder), data_set)
