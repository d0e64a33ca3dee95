"""The fits that are recorded on every set: defaults, and each setting at least once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import states
from .data import Rows
from .record import Record

SEED = 0
PACE = {"initial_fraction": 0.3, "fraction_step": 0.2, "warmup_iter": 3, "max_iter": 7, "tol": 1e-6}
REPORTED = ("SPMTC", "LSSMTC fixed", "mixture")  # whose report is recorded, too


MANY_COLUMNS = (
    "mnist_usps", "pbmc_three_technologies", "webkb", "webkb6", "rec_vs_talk", "orgs_vs_people", "orgs_vs_places",
    "people_vs_places",
)  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """One fit: a class, its parameters, and what is done to the rows."""

    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)  # functions take the rows
    single: bool = False  # rows in single precision
    weighted: bool = False
    as_dict: bool = False  # a dict of tasks


FITS = {
    "SPMTC": Fit("SPMTC"),
    "LSSMTC": Fit("LSSMTC"),
    "mixture": Fit("MultiTaskGaussianMixture"),
    "ASI": Fit("ASI"),
    "SPMTC soft, λ1 = 0.5": Fit("SPMTC", {"within_weight": 0.5}),
    "SPMTC hard, per-task": Fit("SPMTC", {"within_weight": 0.3, "weighting": "hard", "init": "per-task"}),
    "SPMTC paper, pooled": Fit("SPMTC", {"within_weight": 0.6, "soft_rule": "paper", "init": "pooled", "n_init": 2}),
    "SPMTC nonnegative": Fit(
        "SPMTC", {"within_weight": 0.5, "membership": "nonnegative", "init": "random", "soft_rule": "paper"}
    ),
    "SPMTC projection": Fit("SPMTC", {"within_weight": 0.5, "coupling": "projection", "init": "pooled", "n_init": 1}),
    "SPMTC scale": Fit("SPMTC", {"within_weight": 0.5, "task_offset": "scale"}),
    "SPMTC mean, euclidean": Fit("SPMTC", {"task_offset": "mean", "metric": "euclidean", "init": "search"}),
    "SPMTC matched, shared": Fit("SPMTC", {"task_offset": "matched", "metric": "shared"}),
    "SPMTC shared, λ1 = 0.4": Fit(
        "SPMTC", {"within_weight": 0.4, "metric": "shared", "task_offset": "matched", "init": "random"}
    ),
    "SPMTC no offset": Fit("SPMTC", {"task_offset": "none"}),
    "SPMTC few components": Fit(
        "SPMTC", {"within_weight": 0.4, "n_components": lambda rows: max(rows.n_clusters - 1, 1), "n_init": 1}
    ),
    "SPMTC pace": Fit("SPMTC", {"within_weight": 0.5, "full_weight_share": 0.7, **PACE}),
    "SPMTC pace, search": Fit(
        "SPMTC", {"initial_fraction": 0.4, "fraction_step": 0.3, "warmup_iter": 2, "max_iter": 4}
    ),
    "SPMTC λ1 = 0": Fit("SPMTC", {"within_weight": 0, "n_init": 1}),
    "SPMTC λ1 = 1": Fit("SPMTC", {"within_weight": 1, "init": "per-task", "weighting": "hard"}),
    "SPMTC given start": Fit("SPMTC", {"within_weight": 0.5, "init": lambda rows: memberships(rows)}),
    "SPMTC numbers per task": Fit("SPMTC", {"n_clusters_per_task": lambda rows: fewer(rows)}),
    "SPMTC search of its own": Fit("SPMTC", {"init": lambda rows: small_search()}),
    "SPMTC weights": Fit("SPMTC", weighted=True),
    "SPMTC float32": Fit("SPMTC", single=True),
    "SPMTC as dict, threads": Fit("SPMTC", {"n_jobs": 2, "random_state": 3}, as_dict=True),
    "LSSMTC fixed": Fit("LSSMTC", {"within_weight": 0.7, "init": "pooled", "task_offset": "mean"}),
    "LSSMTC nonnegative": Fit(
        "LSSMTC", {"within_weight": 0.5, "membership": "nonnegative", "n_init": 1, "max_iter": 6, "tol": 1e-3}
    ),
    "LSSMTC projection": Fit("LSSMTC", {"within_weight": 0.5, "coupling": "projection", "max_iter": 5}),
    "LSSMTC weights, λ1 = 0.5": Fit("LSSMTC", {"within_weight": 0.5, "init": "random"}, weighted=True),
    "LSSMTC float32, λ1 = 0.3": Fit("LSSMTC", {"within_weight": 0.3, "n_init": 1}, single=True),
    "LSSMTC euclidean": Fit("LSSMTC", {"metric": "euclidean"}),
    "ASI nonnegative": Fit("ASI", {"membership": "nonnegative", "init": "random", "n_init": 2}),
    "ASI projection": Fit("ASI", {"coupling": "projection", "init": "random", "max_iter": 10}),
    "mixture full": Fit("MultiTaskGaussianMixture", {"covariance_type": "full", "shrinkage": 5.0}),
    "mixture diag": Fit("MultiTaskGaussianMixture", {"covariance_type": "diag", "weighting": "soft"}),
    "mixture spherical": Fit(
        "MultiTaskGaussianMixture", {"covariance_type": "spherical", "weighting": "hard", "final_fraction": 0.8}
    ),
    "mixture tied, per-task": Fit(
        "MultiTaskGaussianMixture", {"init": "per-task", "task_offset": "mean", "covariance_prior": 4.0, "max_iter": 20}
    ),
    "mixture weights": Fit("MultiTaskGaussianMixture", {"shrinkage": np.inf, "task_offset": "matched"}, weighted=True),
    "mixture float32": Fit("MultiTaskGaussianMixture", single=True),
    "Pooled": Fit("Pooled"),
    "Pooled, centred": Fit("Pooled", {"center": True}),
    "PerTask": Fit("PerTask", weighted=True),
    "PerTask ASI": Fit("PerTask", {"inner": "ASI"}),
}


def on(name: str) -> list[str]:
    """The fits of a set: covariances of many columns, one for each cluster, take minutes."""
    return [fit for fit in FITS if fit != "mixture full" or name not in MANY_COLUMNS]


def memberships(rows: Rows) -> Any:
    """Random memberships to start from."""
    return np.random.default_rng(17).random((len(rows.y), rows.n_clusters))


def fewer(rows: Rows) -> list[int]:
    """One cluster less in every other task."""
    return [max(rows.n_clusters - k % 2, 1) for k in range(len(rows.names))]


def small_search() -> Any:
    """A search with parameters of its own."""
    from mtcluster import Search

    return Search(sample=200, n_seedings=2, n_moved=1, n_init=2)


def weights_of(rows: Rows) -> Any:
    """Weights of the rows, some of them 0; of each task, for a dict."""
    found = np.random.default_rng(18).integers(4, size=len(rows.y)) / 2
    if isinstance(rows.X, dict):
        ends = np.cumsum([len(part) for part in rows.X.values()])[:-1]
        return dict(zip(rows.X, np.split(found, ends), strict=True))
    return found


def estimator(fit: Fit, rows: Rows) -> Any:
    """The estimator of a fit, for these rows."""
    given = {name: value(rows) if callable(value) else value for name, value in fit.parameters.items()}
    given = {"random_state": SEED} | given
    if fit.kind not in ("Pooled", "PerTask"):
        return states.make(fit.kind, rows.n_clusters, **given)
    from sklearn.cluster import KMeans

    import mtcluster

    seed, inner = given.pop("random_state"), given.pop("inner", None)
    clusterer = states.make(inner, rows.n_clusters, random_state=seed) if inner else None
    return getattr(mtcluster, fit.kind)(clusterer or KMeans(rows.n_clusters, n_init=2, random_state=seed), **given)


def prepared(fit: Fit, rows: Rows) -> Rows:
    """The rows as the fit takes them."""
    if fit.single:
        cast: Callable[[Any], Any] = lambda X: X.astype(np.float32)  # noqa: E731
        X = {name: cast(part) for name, part in rows.X.items()} if isinstance(rows.X, dict) else cast(rows.X)
        rows = replace(rows, X=X)
    return rows


def split(rows: Rows) -> dict[Any, Any]:
    """The rows as a dict of tasks."""
    if isinstance(rows.X, dict):
        return rows.X
    if rows.tasks is None:
        return {"only": rows.X}
    return {name: rows.X[rows.tasks == name] for name in rows.names}


def record_fit(name: str, rows: Rows, record: Record) -> None:
    """Record one fit of a set, and what the model says of other rows."""
    fit = FITS[name]
    rows = prepared(fit, rows)
    extra = {"sample_weight": weights_of(rows)} if fit.weighted else {}
    X, tasks = (split(rows), None) if fit.as_dict else (rows.X, rows.tasks)
    model = record.fit(None, lambda _: estimator(fit, rows).fit(X, tasks=tasks, **extra))
    if model is None:
        return
    record.attributes(model)
    record.predictions(model, rows)
    if name in REPORTED:
        whole = None if isinstance(rows.X, dict) else rows.X
        record.guard("report", lambda: states.summary(model, whole))
