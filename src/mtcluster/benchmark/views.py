"""The data of a run: a task set in one feature view, with outliers added on request.

Views: "raw" counts; "tfidf", sublinear, over the pooled tasks, with unit rows; "svd", TF-IDF projected to its 50
leading singular vectors, with unit rows again; "plain", the features of sets that are not text; "pca", their 20 leading
principal components.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize, scale

from ..datasets import TaskSet, load_digits_tasks, load_task_set, make_multitask_blobs
from . import generated
from .runs import BenchmarkError

FILES = {
    "COMPvsSCI": "comp_vs_sci",
    "RECvsTALK": "rec_vs_talk",
    "ORGSvsPEOPLE": "orgs_vs_people",
    "ORGSvsPLACES": "orgs_vs_places",
    "PEOPLEvsPLACES": "people_vs_places",
    "WebKB": "webkb",
    "WebKB6": "webkb6",
}
OTHER_FILES = {
    "MNIST-USPS": "mnist_usps",
    "Vowels": "vowels_hillenbrand95",
    "Heart": "heart_disease",
    "PBMC": "pbmc_three_technologies",
}
# Tasks that differ in where they lie, or in what they hold; features as they are stored.
DIFFERENT_FILES = {
    "Cell lines": "cell_lines",
    "Kang": "kang_pbmc",
    "Penguins by island": "penguins_island",
    "Penguins by sex": "penguins_sex",
}
PLAIN_FILES = OTHER_FILES | DIFFERENT_FILES
# Two tasks of different topics; words hashed to one vocabulary.
UNRELATED = {
    "COMP+ORGS": (("COMPvsSCI", 1), ("ORGSvsPEOPLE", 1)),
    "REC+PLACES": (("RECvsTALK", 1), ("ORGSvsPLACES", 2)),
    "SCI+PEOPLE": (("COMPvsSCI", 2), ("PEOPLEvsPLACES", 1)),
}
HASHED = 2000
BLOBS = {"n_samples": 150, "n_tasks": 4, "n_clusters": 5, "separation": 4.0, "random_state": 0}
GENERATED = ("digits", "digits, slanted", "blobs", "blobs, moved", "blobs, shifted", "blobs, few rows")
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
        return len(np.unique(self.y[~self.strange]))


@lru_cache(maxsize=8)
def counts(folder: str, data_set: str) -> View:
    """Raw term counts of a set; tasks are numbered from 1."""
    found = _numbered(_load(folder, data_set, FILES[data_set]))
    return View(sparse.csr_matrix(found.X), found.y, found.tasks, found.strange)


def _load(folder: str, data_set: str, name: str) -> TaskSet:
    try:
        return load_task_set(name, folder)
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"the data set {data_set} is needed as {name}.npz: {error}") from error


def _numbered(loaded: TaskSet) -> View:
    """Tasks by number, from 1, in the order in which they appear."""
    names = {name: i for i, name in enumerate(dict.fromkeys(loaded.tasks.tolist()), start=1)}
    tasks = np.array([names[task] for task in loaded.tasks.tolist()])
    return View(loaded.X, loaded.y, tasks, loaded.y < 0)


@lru_cache(maxsize=8)
def view(folder: str, data_set: str, features: str, outliers: str = "none", noise: float = 0.0, seed: int = 0) -> View:
    """A set in one view."""
    if features == "plain":
        return _plain(folder, data_set, seed)
    if features == "pca":
        plain = _plain(folder, data_set, seed)
        X = plain.X.toarray() if sparse.issparse(plain.X) else plain.X
        return replace(plain, X=PCA(min(20, *X.shape), random_state=0).fit_transform(X))
    plain = _unrelated(folder, data_set) if data_set in UNRELATED else counts(folder, data_set)
    if noise:
        plain = with_outliers(folder, data_set, outliers, noise, seed)
    if features == "raw":
        return plain
    X = TfidfTransformer(sublinear_tf=True).fit_transform(plain.X)
    if features == "svd":
        X = normalize(TruncatedSVD(min(50, min(X.shape) - 1), random_state=0).fit_transform(X))
    return View(X, plain.y, plain.tasks, plain.strange)


def _plain(folder: str, data_set: str, seed: int) -> View:
    """Sets that are not text: logarithms of formants; formants and clinical values standardised within each task."""
    if data_set in generated.SETS:
        return _numbered(generated.SETS[data_set](seed))
    if data_set in GENERATED:
        return _numbered(_generated(data_set))
    loaded = _numbered(_load(folder, data_set, PLAIN_FILES[data_set]))
    X = np.log(loaded.X) if data_set == "Vowels" else loaded.X
    if data_set in ("Vowels", "Heart"):
        X = X.astype(np.float64)
        for task in np.unique(loaded.tasks):
            X[loaded.tasks == task] = scale(X[loaded.tasks == task])
    return View(X, loaded.y, loaded.tasks, loaded.strange)


def _generated(data_set: str) -> TaskSet:
    if data_set.startswith("digits"):
        return load_digits_tasks(0.35 if "slanted" in data_set else 0.15)
    more: dict[str, Any] = {
        "blobs, shifted": {"task_shift": 3.0},
        "blobs, few rows": {"n_samples": 40, "n_tasks": 6, "n_clusters": 6, "task_shift": 0.5, "balance": 0.8},
    }
    blobs = make_multitask_blobs(**(BLOBS | more.get(data_set, {})))
    if data_set == "blobs, moved":
        offsets = np.random.default_rng(0).normal(scale=3, size=(4, blobs.X.shape[1]))
        return TaskSet(blobs.X + offsets[blobs.tasks], blobs.y, blobs.tasks)
    return blobs


def _unrelated(folder: str, data_set: str) -> View:
    parts = []
    rng = np.random.default_rng(0)
    for number, (source, task) in enumerate(UNRELATED[data_set], start=1):
        own = counts(folder, source)
        entries = own.X[own.tasks == task].tocoo()
        words = rng.integers(HASHED, size=entries.shape[1])[entries.col]
        X = sparse.csr_matrix((entries.data, (entries.row, words)), shape=(entries.shape[0], HASHED))
        parts.append((X, own.y[own.tasks == task], np.full(X.shape[0], number)))
    Xs, ys, tasks = zip(*parts, strict=True)
    y = np.concatenate(ys)
    return View(sparse.vstack(Xs, format="csr"), y, np.concatenate(tasks), np.zeros(len(y), dtype=bool))


def with_outliers(folder: str, data_set: str, outliers: str, noise: float, seed: int) -> View:
    """A share of the rows of each task replaced, before any weighting of features.

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
        new = sparse.csr_matrix((entries.data, (entries.row, rng.integers(d, size=entries.nnz))), shape=(n, d))
    else:
        sources = [s for s in SOURCES if FILES[s][:5] != FILES[data_set][:5]]
        new = _foreign(folder, sources if outliers == "foreign" else sources[:1], n, d, rng)
    order = np.empty(len(strange), dtype=int)
    order[~strange], order[strange] = np.arange(len(strange) - n), len(strange) - n + np.arange(n)
    return View(sparse.vstack([plain.X[~strange], new], format="csr")[order], plain.y, plain.tasks, strange)


def _foreign(folder: str, sources: list[str], n: int, d: int, rng: np.random.Generator) -> Any:
    """n rows of other collections, equally many from each, with their words permuted."""
    parts = []
    for i, source in enumerate(sources):
        X = counts(folder, source).X
        size = (n - i + len(sources) - 1) // len(sources)
        entries = X[rng.choice(X.shape[0], size=size, replace=size > X.shape[0])].tocoo()
        words = rng.permutation(max(d, X.shape[1]))[entries.col] % d
        parts.append(sparse.csr_matrix((entries.data, (entries.row, words)), shape=(size, d)))
    return sparse.vstack(parts, format="csr")[rng.permutation(n)]


def check_folder(folder: Path, data_sets: list[str], noise: bool) -> None:
    """Read every file that is needed, before anything is computed."""
    if not folder.is_dir():
        raise BenchmarkError(f"--data {folder} is not a folder.")
    sources = [source for name in data_sets for source, _ in UNRELATED.get(name, ())]
    for data_set in dict.fromkeys([*data_sets, *sources, *(SOURCES if noise else ())]):
        if data_set in FILES:
            counts(str(folder), data_set)
        elif data_set in PLAIN_FILES:
            _load(str(folder), data_set, PLAIN_FILES[data_set])
