"""Random fits over shapes, types, scales, weights, labels and parameters, with what must hold for each.

Results are finite and in range, `predict` of the rows of a fit returns its labels, the objective does not rise within a
stage by more than squares of the rows are rounded, a fit is repeatable, also in two threads at once, a refit that fails
leaves the model as it was, and no warning of NumPy reaches the user. Models come back from a file as they were,
probabilities add up to 1, and tasks that join or rows that follow get labels in range. A fit may be refused, with a
`ValueError` or `TypeError` that says something. If clusters are clear, neither the order of the rows nor that of the
tasks matters.
"""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Schedule
from mtcluster.interop import dump, load

from .campaign import Outcome

MODELS = (SPMTC, LSSMTC, ASI, MultiTaskGaussianMixture)
SHARE_ORDER, CLEAR = 0.1, 15  # of trials with other orders of rows and tasks; distance of clear clusters of width 1
REFUSED = "refused"
SAID = 20  # characters of a refusal
SHARE_RISE = 1e-6  # of the objective
ROUNDINGS = 100  # of the terms of all losses
SHARE_PARAMETERS, SHARE_LATER = 0.4, 0.3  # of trials with other parameters, and such that go on after the fit
PACES = (Schedule(0.01), Schedule(1.0), Schedule(soft_rule="paper"), Schedule(fraction_step=0.05))
PARAMETERS: dict[str, tuple[Any, ...]] = {
    "weighting": ("hard", "soft"), "pace": PACES, "coupling": ("projection", "reconstruction"),
    "within_weight": (0, 0.3, 1), "task_offset": ("none", "mean", "matched", "scale"),
    "metric": ("shared", "euclidean"), "n_components": (1, 2, 40),
    "init": ("random", "per-task", "pooled", "search"),
    "n_init": (1, 3), "max_iter": (1, 7), "n_jobs": (1, 3), "n_clusters": ("auto", (2, 4)), "tol": (0.0, 10.0),
    "initial_fraction": (0.01, 1.0), "covariance_type": ("full", "diag", "spherical", "tied"),
    "shrinkage": (0.5, 10.0, np.inf), "final_fraction": (0.7,), "match": ("geometry",),
}  # fmt: skip


def measured(trials: Iterable[int], seed: int = 0) -> Outcome:
    """Draw and fit."""
    outcome = Outcome("Estimators")
    for i in trials:
        rng = np.random.default_rng([seed, i])
        model, X, tasks, weights = drawn(rng)
        in_order = rng.random() < SHARE_ORDER and not isinstance(model, PerTask)
        kind = type(model).__name__ + ", other orders" * in_order
        try:
            problem = reordered(model, rng) if in_order else trial(model, X, tasks, weights, rng)
        except Exception as error:  # anything else than a refusal is a failure
            problem = f"{type(error).__name__}: {str(error)[:200]}"
        if problem == REFUSED:
            kind, problem = f"{kind}, refused", ""
        outcome.add(kind, problem and f"seed {seed}, trial {i}: {problem}")
    return outcome


def drawn(rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """An estimator, rows, tasks and weights."""
    n, d, m = int(rng.choice([2, 3, 5, 12, 40, 120])), int(rng.choice([1, 2, 3, 8, 30])), int(rng.integers(1, 5))
    c = int(rng.integers(1, 6))
    y, codes = rng.integers(0, c, n), rng.integers(0, m, n)
    X = rng.normal(size=(c, d))[y] * rng.choice([0, 3, 10]) + rng.normal(size=(n, d)) * rng.choice([0, 1, 1, 1])
    X = X + rng.choice([0, 0, 5, 1e4]) * rng.normal(size=(m, d))[codes]
    X *= 10.0 ** rng.choice([0, 0, 0, -3, 5, 100, -100, 160, -170])
    if rng.random() < 0.15:
        X[rng.random(X.shape) < rng.choice([0.05, 0.4])] = np.nan
    if rng.random() < 0.1:
        X[int(rng.integers(n)), 0] = rng.choice([np.inf, 1e30])
    if rng.random() < 0.1:
        X[:] = X[0]
    with np.errstate(over="ignore"):
        X = X.astype(rng.choice([np.float64, np.float64, np.float32]))
    if rng.random() < 0.15:
        X = sparse.csr_matrix(np.where(np.nan_to_num(X) > 0, X, 0))
    weights = None
    if rng.random() < 0.3:
        weights = rng.choice([0.0, 0.5, 1.0, 3.0], n) * 10.0 ** rng.choice([0, 0, 0, 100, 200, -200])
    labels = [np.arange(m), np.array(["a", "b", "a ", "b\0"][:m], dtype=object), np.array([3.5, 1, 2, -7][:m])]
    tasks = None if rng.random() < 0.1 else labels[int(rng.integers(3))][codes]
    kind = MODELS[int(rng.integers(len(MODELS)))]
    model = kind(c, random_state=int(rng.integers(100)))
    if kind in (SPMTC, LSSMTC) and rng.random() < 0.2:
        model.set_params(membership="nonnegative", within_weight=0.5)
    elif rng.random() < SHARE_PARAMETERS:
        model.set_params(**_parameters(model, rng))
    return (PerTask(model) if rng.random() < 0.05 else model), X, tasks, weights


def _parameters(model: Any, rng: np.random.Generator) -> dict[str, Any]:
    """One to three parameters with other values; some do not go together, which is refused."""
    able = [name for name in PARAMETERS if name in model.get_params()]
    names = rng.choice(able, size=min(int(rng.integers(1, 4)), len(able)), replace=False).tolist()
    return {name: PARAMETERS[name][int(rng.integers(len(PARAMETERS[name])))] for name in names}


def reordered(model: Any, rng: np.random.Generator) -> str:
    """What other orders of rows and tasks change where clusters are clear; empty if nothing."""
    c, m, d = int(rng.integers(2, 6)), int(rng.integers(1, 5)), int(rng.integers(3, 12))
    Z = rng.uniform(-40, 40, (c, d))
    while np.min(pdist(Z)) < CLEAR:
        Z = rng.uniform(-40, 40, (c, d))
    y, tasks = np.tile(np.arange(c), 30 * m), np.repeat(np.arange(m), 30 * c)
    X = Z[y] + rng.normal(size=(m, d))[tasks] + rng.normal(size=(len(y), d))
    model = type(model)(c, random_state=model.random_state)
    labels, order = model.fit(X, tasks=tasks).labels_, rng.permutation(len(X))
    if adjusted_rand_score(labels[order], model.fit(X[order], tasks=tasks[order]).labels_) < 1:
        return "another order of the rows gives other clusters"
    if adjusted_rand_score(labels, model.fit(X, tasks=-tasks).labels_) < 1:
        return "another order of the tasks gives other clusters"
    return ""


def trial(model: Any, X: Any, tasks: Any, weights: Any, rng: np.random.Generator) -> str:
    """What does not hold; empty if everything does, and REFUSED if there is no fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, tasks=tasks, sample_weight=weights)
        except (ValueError, TypeError) as error:
            said = str(error)
            refused = len(said) > SAID and "converge" not in said and "zero-size" not in said
            return _warned(caught) or (REFUSED if refused else f"refused with {said!r}")
    if told := _warned(caught):
        return told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _holds(model, X, tasks, weights, rng)


def _warned(caught: list[warnings.WarningMessage]) -> str:
    wrong = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning)]
    return f"RuntimeWarning: {wrong[0]}" if wrong else ""


def _holds(model: Any, X: Any, tasks: Any, weights: Any, rng: np.random.Generator) -> str:
    labels = np.asarray(model.labels_)
    if isinstance(model, PerTask):
        return "" if labels.shape == (X.shape[0],) else "labels of another shape"
    c = model.task_centers_.shape[1]
    rounded = _rounded(model, X, tasks, weights)
    checks = {
        "labels out of range": bool((labels >= -1).all() and (labels < c).all()),
        "centres that are not finite": bool(np.isfinite(model.task_centers_).all()),
        "losses that are not finite": bool(np.isfinite(model.losses_).all()),
        "predict gives other labels": np.array_equal(model.predict(X, tasks=tasks), labels),
        "an objective that rises": not any(_rises(trace, rounded) for trace in model.objective_trace_),
    }
    for problem, holds in checks.items():
        if not holds:
            return problem
    again = type(model)(**model.get_params()).fit(X, tasks=tasks, sample_weight=weights)
    if not np.array_equal(again.labels_, labels):
        return "a second fit gives other labels"
    before = dict(vars(model))
    with suppress(ValueError):
        model.fit(np.full((3, 2), np.inf))
    if any(vars(model).get(name) is not value for name, value in before.items()):
        return "a fit that failed changed the model"
    if rng.random() < SHARE_LATER and (problem := _lives_on(model, X, tasks, labels, rng)):
        return problem
    return _in_two_threads(model, X, tasks, weights, labels) if rng.random() < 0.05 else ""


def _lives_on(model: Any, X: Any, tasks: Any, labels: Any, rng: np.random.Generator) -> str:
    """What does not hold for probabilities, files, tasks that join and rows that follow."""
    shares = model.predict_proba(X, tasks=tasks)
    known = labels >= 0  # rows without any value have no cluster
    if not np.allclose(shares[known].sum(axis=1), 1, atol=1e-5) or np.nanmin(shares, initial=0.0) < 0:
        return "probabilities that do not add up to 1"
    if not np.isfinite(model.score_samples(X, tasks=tasks)[known]).all():
        return "scores that are not finite"
    with tempfile.TemporaryDirectory() as folder:
        dump(model, Path(folder, "m.skops"))
        again = load(Path(folder, "m.skops"))
    if not np.array_equal(again.predict(X, tasks=tasks), labels):
        return "a model from a file gives other labels"
    before = dict(vars(model))
    for way in ("adapt", "partial_fit"):
        if not hasattr(model, way) or tasks is None:
            continue
        try:
            own = copy(model)
            later = getattr(own, way)(X, tasks=np.full(X.shape[0], "new") if way == "adapt" else tasks)
        except (ValueError, TypeError) as error:
            if len(str(error)) < SAID:
                return f"{way} refused with {str(error)!r}"
            continue
        found = np.asarray(later.labels_)
        if found.shape != labels.shape or found.max(initial=-1) >= later.task_centers_.shape[1]:
            return f"labels out of range after {way}"
        if not np.isfinite(later.task_centers_).all():
            return f"centres that are not finite after {way}"
    same = all(vars(model).get(name) is value for name, value in before.items())
    return "" if same else "a copy that went on changed the model"


def _rounded(model: Any, X: Any, tasks: Any, weights: Any) -> float:
    """How far the objective may be from what it is, as losses are differences of larger numbers."""
    rows = np.nan_to_num(np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64))
    u = np.ones(len(rows)) if weights is None else weights
    squares = model.fitted_.centers.geometry.squares(rows)
    if model.decisions_.membership == "nonnegative":  # centres may point away from each other
        codes = np.zeros(len(rows), dtype=int) if tasks is None else [model.tasks_.tolist().index(k) for k in tasks]
        lengths = np.linalg.norm(model.task_centers_, axis=2)[codes]
        squares = np.maximum(squares, 10 * np.sum(model.memberships_ * lengths, axis=1) ** 2)
    return ROUNDINGS * float(np.finfo(model.task_centers_.dtype).eps) * float(u @ squares)


def _rises(trace: Any, rounded: float) -> bool:
    values = np.asarray(trace, dtype=np.float64)
    return bool(np.any(np.diff(values) > max(rounded, SHARE_RISE * np.abs(values).max(initial=0.0))))


def _in_two_threads(model: Any, X: Any, tasks: Any, weights: Any, labels: Any) -> str:
    found: list[Any] = []

    def fit() -> None:
        found.append(type(model)(**model.get_params()).fit(X, tasks=tasks, sample_weight=weights).labels_)

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same = len(found) == 2 and all(np.array_equal(one, labels) for one in found)
    return "" if same else "fits in two threads at once give other labels"
