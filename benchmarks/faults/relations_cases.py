"""What the campaign on relations fits: rows of clear clusters, and what every call says about them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import clone

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.interop import dump, load

Answers = dict[str, Any]  # call → what it returns
MODELS: tuple[tuple[type[Any], dict[str, Any]], ...] = (
    (SPMTC, {}),
    (SPMTC, {"weighting": "hard"}),
    (SPMTC, {"within_weight": 0.4}),
    (LSSMTC, {}),
    (LSSMTC, {"task_offset": "mean"}),
    (ASI, {}),
    (MultiTaskGaussianMixture, {}),
    (MultiTaskGaussianMixture, {"covariance_type": "full"}),
    (MultiTaskGaussianMixture, {"covariance_type": "diag"}),
)
KINDS = ("plain", "gaps", "columns that differ", "single precision", "counts")
CLEAR, FAR = 18.0, 200.0  # distance of clusters of width 1, and of rows that belong to none
SHARE_WEIGHTED, SHARE_GAPS = 0.4, 0.05
JOINS = "new"  # the task that joins


@dataclass(frozen=True)
class Case:
    """An estimator that is not fitted, rows of its tasks, and rows of a task that joins."""

    model: Any
    kind: str
    X: Any  # (n, d), NaN where a value is missing
    tasks: Any
    weights: Any  # None: all 1
    more: Any  # (k, d) rows of a task that joins

    @property
    def name(self) -> str:
        """Tell what is fitted to what."""
        said = f"{self.model!r}"
        return f"{said} on {self.X.shape[0]} × {self.X.shape[1]}, {self.kind}{', weights' * (self.weights is not None)}"

    @property
    def has_gaps(self) -> bool:
        """Tell whether a value is missing."""
        return bool(np.isnan(self.X).any())

    def change(self, **given: Any) -> Case:
        """Return the same with other rows, tasks or weights."""
        return replace(self, **given)

    def fit(self, previous: Any = None) -> Any:
        """Fit a new model."""
        return clone(self.model).fit(self.X, tasks=self.tasks, sample_weight=self.weights, previous=previous)


def drawn(rng: np.random.Generator, number: int) -> Case:
    """Draw a case; models and kinds of rows take turns."""
    kind, options = MODELS[number % len(MODELS)]
    rows = KINDS[number % len(KINDS)]
    c, m, d = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.choice([4, 6, 9, 16]))
    if rows == "columns that differ":
        m = max(m, 2)
    if rows in ("gaps", "columns that differ") and "covariance_type" in options:
        rows = "plain"  # such covariances need all values
    if rows == "columns that differ" and kind is ASI:
        rows = "gaps"  # to ASI all rows are one task
    Z = rng.uniform(-40, 40, (c, d))
    while np.min(pdist(Z)) < CLEAR * np.sqrt(d / 4):
        Z = rng.uniform(-40, 40, (c, d))
    n = int(rng.integers(15, 25)) * c
    y, tasks = np.tile(np.arange(c), (m + 1) * n // c), np.repeat(np.arange(m + 1), n)
    X = Z[y] + rng.normal(size=(m + 1, d))[tasks] + rng.normal(size=(len(y), d))
    far = np.flatnonzero(tasks == m)[:2]
    X[far] += FAR * rng.normal(size=(2, d))
    X = _of_kind(X, tasks, m, rows, rng)
    order = rng.permutation(np.flatnonzero(tasks < m))
    weights = rng.choice([0.5, 1.0, 3.0], len(order)) if rng.random() < SHARE_WEIGHTED else None
    model = kind(c, random_state=int(rng.integers(100)), n_jobs=1, **options)
    return Case(model, rows, X[order], tasks[order], weights, X[tasks == m])


def _of_kind(X: Any, tasks: Any, m: int, kind: str, rng: np.random.Generator) -> Any:
    """Make what the kind says of rows."""
    X = X.copy()
    if kind == "gaps":
        X[rng.random(X.shape) < SHARE_GAPS] = np.nan
    if kind == "columns that differ":
        for k in range(m):
            X[tasks == k, k] = np.nan
    if kind == "single precision":
        return X.astype(np.float32)
    return np.where(np.abs(X) < 1, 0.0, X) if kind == "counts" else X


# ------------------------------------------------------------------------------------------------ what a model says
RowCall = Callable[[Any, Any, Any], Any]  # model, rows, tasks → one entry per row
ROW_CALLS: dict[str, RowCall] = {
    "predict": lambda model, X, tasks: model.predict(X, tasks=tasks),
    "predict_proba": lambda model, X, tasks: model.predict_proba(X, tasks=tasks),
    "score_samples": lambda model, X, tasks: model.score_samples(X, tasks=tasks),
}
WITHOUT_TASKS: dict[str, RowCall] = {
    "predict without tasks": lambda model, X, _: model.predict(X),
    "transform": lambda model, X, _: model.transform(X),  # whose axes another fit may turn
}
JOIN_CALLS: dict[str, RowCall] = {
    "adapt": lambda model, X, tasks: model.adapt(X, tasks=tasks).labels_,
    "adapt, novelty='new'": lambda model, X, tasks: model.adapt(X, tasks=tasks, novelty="new").labels_,
    "adapt, update=True": lambda model, X, tasks: model.adapt(X, tasks=tasks, update=True).labels_,
    "adapt, then score": lambda model, X, tasks: model.adapt(X, tasks=tasks).score_samples(X, tasks=tasks),
}


def joins(model: Any) -> bool:
    """Tell whether tasks can join."""
    return not isinstance(model, ASI)


def join_calls(case: Case) -> dict[str, RowCall]:
    """Return the calls on rows of a task that joins."""
    if not joins(case.model):
        return {}
    return {f"{name} of a new task": call for name, call in ROW_CALLS.items()} | JOIN_CALLS


def answers(model: Any, case: Case) -> Answers:
    """Return what a fitted model says about the rows of a case, in all ways."""
    new = np.full(case.more.shape[0], JOINS)
    found: Answers = {"labels": model.labels_, "predict without tasks": model.predict(case.X)}
    found |= {name: call(model, case.X, case.tasks) for name, call in ROW_CALLS.items()}
    found |= {name: call(model, case.more, new) for name, call in join_calls(case).items()}
    if hasattr(model, "partial_fit"):
        found["partial_fit"] = copy(model).partial_fit(case.X, tasks=case.tasks, sample_weight=case.weights).labels_
    return found


def stored(model: Any) -> Any:
    """Return the model from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        dump(model, path)
        return load(path)
