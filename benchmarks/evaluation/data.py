"""The data of a run: a task set in one feature view, with outliers added on request.

Views: "raw" counts; "tfidf", sublinear, over the pooled tasks, with unit rows; "svd", TF-IDF projected to its 50
leading singular vectors, with unit rows again; "plain", the features of sets that are not text; "pca", their 20 leading
principal components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import normalize, scale

from mtcluster.datasets import TaskSet, load_digits_tasks, load_task_set, make_multitask_blobs

from .store import BenchmarkError

FILES = {
    "COMPvsSCI": "comp_vs_sci", "RECvsTALK": "rec_vs_talk", "ORGSvsPEOPLE": "orgs_vs_people",
    "ORGSvsPLACES": "orgs_vs_places", "PEOPLEvsPLACES": "people_vs_places", "WebKB": "webkb", "WebKB6": "webkb6",
}  # fmt: skip
OTHER_FILES = {
    "MNIST-USPS": "mnist_usps", "Vowels": "vowels_hillenbrand95", "Heart": "heart_disease",
    "PBMC": "pbmc_three_technologies",
}  # fmt: skip
# Tasks that differ in where they lie, or in what they hold; features as they are stored.
DIFFERENT_FILES = {
    "Cell lines": "cell_lines", "Kang": "kang_pbmc", "Penguins by island": "penguins_island",
    "Penguins by sex": "penguins_sex",
}  # fmt: skip
PLAIN_FILES = OTHER_FILES | DIFFERENT_FILES
# Two tasks of different topics; words hashed to one vocabulary.
UNRELATED = {
    "COMP+ORGS": (("COMPvsSCI", 1), ("ORGSvsPEOPLE", 1)),
    "REC+PLACES": (("RECvsTALK", 1), ("ORGSvsPLACES", 2)),
    "SCI+PEOPLE": (("COMPvsSCI", 2), ("PEOPLEvsPLACES", 1)),
}
HASHED = 2000
# The sets that outliers of a set come from: all others, or one that shares no topic with it.
SOURCES = ("COMPvsSCI", "RECvsTALK", "ORGSvsPEOPLE", "ORGSvsPLACES", "PEOPLEvsPLACES", "WebKB")
OUTLIERS = ("foreign", "shuffled", "one foreign collection")


def _blobs(**options: Any) -> TaskSet:
    usual = {"n_samples": 150, "n_tasks": 4, "n_clusters": 5, "separation": 4.0, "random_state": 0}
    return make_multitask_blobs(**(usual | options))


def _moved() -> TaskSet:
    blobs = _blobs()
    offsets = np.random.default_rng(0).normal(scale=3, size=(4, blobs.X.shape[1]))
    return TaskSet(blobs.X + offsets[blobs.tasks], blobs.y, blobs.tasks)


# Sets that are the same with each seed.
GENERATED: dict[str, Callable[[int], TaskSet]] = {
    "digits": lambda seed: load_digits_tasks(0.15),
    "digits, slanted": lambda seed: load_digits_tasks(0.35),
    "blobs": lambda seed: _blobs(),
    "blobs, moved": lambda seed: _moved(),
    "blobs, shifted": lambda seed: _blobs(task_shift=3.0),
    "blobs, few rows": lambda seed: _blobs(n_samples=40, n_tasks=6, n_clusters=6, task_shift=0.5, balance=0.8),
}
ABSENT = (0.0, 0.2, 0.4, 0.6)  # shares of the clusters that each task lacks
OFFSETS = (0.0, 0.5, 1.0, 2.0, 3.0)  # in mean distances between clusters


def cell(absent: float, offset: float) -> str:
    """Name a set of the phase diagram."""
    return f"absent {absent:g} offset {offset:g}"


def _apart(**options: Any) -> Callable[[int], TaskSet]:
    usual = {"n_samples": 150, "n_tasks": 4, "n_clusters": 6, "absent": 0.2, "offset": 0.5}
    return lambda seed: _blobs(n_features=10, separation=6.0, random_state=seed, **(usual | options))


def _one_unrelated(seed: int) -> TaskSet:
    """Three tasks with the same four clusters, and one with four others; all eight are classes."""
    related = _apart(n_tasks=3, n_clusters=4, absent=0.0)(seed)
    other = _apart(n_tasks=1, n_clusters=4, absent=0.0, offset=0.0)(seed + 1000)
    X = np.concatenate([related.X, other.X])
    return TaskSet(X, np.r_[related.y, other.y + 4], np.r_[related.tasks, other.tasks + 3])


# Sets that are drawn again with each seed: tasks that lie apart, and tasks that hold different clusters.
PHASE = {cell(absent, offset): _apart(absent=absent, offset=offset) for absent in ABSENT for offset in OFFSETS}
OTHERS = {
    "unequal tasks": _apart(n_samples=[50, 5000], n_tasks=2),
    "small tasks": _apart(n_samples=40, n_tasks=30),
    "one unrelated task": _one_unrelated,
    "outliers": _apart(outliers=0.2),
    "correlated features": _apart(correlation=0.8, scales=np.logspace(-1, 1, 10).tolist()),
}
DRAWN = OTHERS | PHASE


@dataclass(frozen=True)
class LabelledRows:
    """Rows of all tasks, by number from 1, with their classes; `strange` marks the outliers."""

    X: Any
    y: Any
    tasks: Any
    strange: Any

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y[~self.strange]))


def linked(y: Any, tasks: Any) -> bool:
    """Tell whether all tasks hang together by pairs of tasks that have at least two classes in common.

    Otherwise the shift of some task cannot be told from what it holds.
    """
    holds = (contingency_matrix(tasks, y) > 0).astype(int)
    return connected_components(holds @ holds.T >= 2, directed=False)[0] == 1


def _numbered(loaded: TaskSet) -> LabelledRows:
    """Number the tasks from 1, in the order in which they appear."""
    return LabelledRows(loaded.X, loaded.y, pd.factorize(loaded.tasks)[0] + 1, loaded.y < 0)


def _load(folder: str, data_set: str) -> LabelledRows:
    name = (FILES | PLAIN_FILES)[data_set]
    try:
        return _numbered(load_task_set(name, folder))
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"the data set {data_set} is needed as {name}.npz: {error}") from error


@lru_cache(maxsize=8)
def counts(folder: str, data_set: str) -> LabelledRows:
    """Read the raw term counts of a set."""
    found = _load(folder, data_set)
    return replace(found, X=sparse.csr_matrix(found.X))


@lru_cache(maxsize=8)
def view(
    folder: str, data_set: str, features: str, outliers: str = "none", noise: float = 0.0, seed: int = 0
) -> LabelledRows:
    """Make a set in one view."""
    if features in ("plain", "pca"):
        plain = _plain(folder, data_set, seed)
        if features == "plain":
            return plain
        X = plain.X.toarray() if sparse.issparse(plain.X) else plain.X
        return replace(plain, X=PCA(min(20, *X.shape), random_state=0).fit_transform(X))
    if noise:
        plain = with_outliers(folder, data_set, outliers, noise, seed)
    else:
        plain = _unrelated(folder, data_set) if data_set in UNRELATED else counts(folder, data_set)
    if features == "raw":
        return plain
    X = TfidfTransformer(sublinear_tf=True).fit_transform(plain.X)
    if features == "svd":
        X = normalize(TruncatedSVD(min(50, min(X.shape) - 1), random_state=0).fit_transform(X))
    return replace(plain, X=X)


def _plain(folder: str, data_set: str, seed: int) -> LabelledRows:
    """Sets that are not text: logarithms of formants; formants and clinical values standardised within each task."""
    if data_set in GENERATED | DRAWN:
        return _numbered((GENERATED | DRAWN)[data_set](seed))
    loaded = _load(folder, data_set)
    if data_set not in ("Vowels", "Heart"):
        return loaded
    X = (np.log(loaded.X) if data_set == "Vowels" else loaded.X).astype(np.float64)
    for task in np.unique(loaded.tasks):
        X[loaded.tasks == task] = scale(X[loaded.tasks == task])
    return replace(loaded, X=X)


def _with_words(entries: Any, words: Any, n_words: int) -> Any:
    """The same counts of other words."""
    return sparse.csr_matrix((entries.data, (entries.row, words)), shape=(entries.shape[0], n_words))


def _unrelated(folder: str, data_set: str) -> LabelledRows:
    Xs, ys, tasks = [], [], []
    rng = np.random.default_rng(0)
    for number, (source, task) in enumerate(UNRELATED[data_set], start=1):
        own = counts(folder, source)
        entries = own.X[own.tasks == task].tocoo()
        Xs.append(_with_words(entries, rng.integers(HASHED, size=entries.shape[1])[entries.col], HASHED))
        ys.append(own.y[own.tasks == task])
        tasks.append(np.full(len(ys[-1]), number))
    y = np.concatenate(ys)
    return LabelledRows(sparse.vstack(Xs, format="csr"), y, np.concatenate(tasks), np.zeros(len(y), dtype=bool))


def with_outliers(folder: str, data_set: str, outliers: str, noise: float, seed: int) -> LabelledRows:
    """Replace a share of the rows of each task, before any weighting of features.

    "foreign": rows of the other collections in turn. "one foreign collection": rows of one of them, which are similar
    to each other and may form a cluster. The words of foreign rows are mapped to random words, in the same way for all
    rows of a collection. "shuffled": each count of a row is moved to a random word.
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
        new = _with_words(entries, rng.integers(d, size=entries.nnz), d)
    else:
        sources = [s for s in SOURCES if FILES[s][:5] != FILES[data_set][:5]]
        new = _foreign(folder, sources if outliers == "foreign" else sources[:1], n, d, rng)
    order = np.empty(len(strange), dtype=int)
    order[np.r_[np.flatnonzero(~strange), np.flatnonzero(strange)]] = np.arange(len(strange))
    return replace(plain, X=sparse.vstack([plain.X[~strange], new], format="csr")[order], strange=strange)


def _foreign(folder: str, sources: list[str], n: int, d: int, rng: np.random.Generator) -> Any:
    """n rows of other collections, equally many from each, with their words permuted."""
    parts = []
    for i, source in enumerate(sources):
        X = counts(folder, source).X
        size = (n - i + len(sources) - 1) // len(sources)
        entries = X[rng.choice(X.shape[0], size=size, replace=size > X.shape[0])].tocoo()
        parts.append(_with_words(entries, rng.permutation(max(d, X.shape[1]))[entries.col] % d, d))
    return sparse.vstack(parts, format="csr")[rng.permutation(n)]


def check_folder(folder: Path, data_sets: list[str], noise: bool) -> None:
    """Read every file that is needed, before anything is computed."""
    if not folder.is_dir():
        raise BenchmarkError(f"--data {folder} is not a folder.")
    sources = [source for name in data_sets for source, _ in UNRELATED.get(name, ())]
    for data_set in dict.fromkeys([*data_sets, *sources, *(SOURCES if noise else ())]):
        if data_set in FILES | PLAIN_FILES:
            _load(str(folder), data_set)
