"""The methods of the comparison: a spec and a view → labels, and what else a method finds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.manifold import spectral_embedding
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.mixture import GaussianMixture

from .. import ASI, LSSMTC, SPMTC, Consensus, PerTask, Pooled
from . import views
from .runs import Spec

PACED = ("SPMTC-h", "SPMTC-s")
SHARED = ("LSSMTC", *PACED)  # methods with λ1 and l
PEERS = ("KM", "GMM", "NMF", "SC", "All KM", "All GMM", "All NMF", "All SC")
METHODS = ("KM", "SC", "ASI", "All KM", "All SC", "All ASI", *SHARED)
# The paper gives no tolerance, only a limit of 50 iterations per inner loop. The study "tolerance" tries others.
PAPER_TOL = {"LSSMTC": 1e-4, "SPMTC-h": 1e-5, "SPMTC-s": 1e-5}

# SPMTC with one decision of its defaults replaced.
ABLATIONS: dict[str, dict[str, Any]] = {
    "no consensus": {"within_weight": 0.5},
    "no smoothing": {"init": Consensus(smoothings=((5, 0),) * 5)},
    "one λ1": {"init": Consensus(within_weights=(0.5,))},
    "no task left alone": {"init": Consensus(min_agreement=-1.0, min_relatedness=-1.0)},
    "all rows count alike": {"init": Consensus(downweight=False)},
    "clusters not matched": {"init": Consensus(match_tasks=False)},
    "no task offset": {"task_offset": "none"},
    "always a task offset": {"task_offset": "mean"},
    "offset and scale": {"task_offset": "scale"},
    "long inner loops": {"max_iter": 50},
    "non-negative": {"membership": "nonnegative"},
}


@dataclass(frozen=True)
class Outcome:
    """What a method found; None for what it does not have."""

    labels: Any
    scores: Any = None  # of each row; low for outliers
    n_iter: int = -1
    presence: Any = None  # (m, c), whether a task holds a cluster
    embedding: Any = None  # the rows that were clustered


def run_method(spec: Spec, folder: str, view: views.View) -> Outcome:
    """Fit the method of a spec."""
    c = view.n_classes
    if spec.method in ("SC", "All SC"):
        return Outcome(_spectral(spec, folder, view))
    model = _model(spec, c)
    X = view.X.toarray() if "GMM" in spec.method and sparse.issparse(view.X) else view.X
    model.fit(X, tasks=view.tasks)
    scores = model.score_samples(view.X, tasks=view.tasks) if view.strange.any() else None
    return Outcome(model.labels_, scores, int(getattr(model, "n_iter_", -1)))


def _model(spec: Spec, c: int) -> Any:
    seed = spec.run
    reach = Pooled if spec.method.startswith("All ") else PerTask
    if spec.method in ("KM", "All KM"):
        return reach(KMeans(c, n_init=1 if spec.protocol == "paper" else 10, random_state=seed))
    if spec.method in ("GMM", "All GMM"):
        return reach(GaussianMixture(c, covariance_type="diag", n_init=3, random_state=seed))
    if spec.method in ("NMF", "All NMF"):
        return reach(LargestComponent(c, random_state=seed))
    if spec.method in ABLATIONS:
        return SPMTC(c, random_state=seed, **ABLATIONS[spec.method])
    options: dict[str, Any] = {"random_state": seed, "coupling": spec.coupling}
    if spec.protocol == "paper":
        options |= {"membership": "nonnegative", "init": "random", "tol": PAPER_TOL.get(spec.method, 1e-4)}
    if spec.tol >= 0:
        options["tol"] = spec.tol
    if spec.n_components > 0:
        options["n_components"] = spec.n_components
    if spec.method in ("ASI", "All ASI"):
        return reach(ASI(c, **options))
    if spec.within_weight >= 0:
        options["within_weight"] = spec.within_weight
    if spec.method == "LSSMTC":
        return LSSMTC(c, **options)
    weighting = "hard" if spec.method == "SPMTC-h" else "soft"
    rule = "paper" if spec.protocol == "paper" else "quantile"
    pace: dict[str, Any] = {"initial_fraction": spec.initial_fraction, "fraction_step": spec.fraction_step}
    return SPMTC(c, weighting=weighting, soft_rule=rule, **pace, **options)


def _spectral(spec: Spec, folder: str, view: views.View) -> Any:
    """Normalised spectral clustering with cosine affinity; runs differ in the k-means on the same embedding."""
    labels = np.empty(len(view.y), dtype=int)
    groups = [0] if spec.method == "All SC" else np.unique(view.tasks).tolist()
    for task in groups:
        rows = view.tasks == task if task else np.ones(len(view.y), dtype=bool)
        embedding = _embedding(folder, spec.data_set, spec.features, task)
        labels[rows] = KMeans(view.n_classes, n_init=10, random_state=spec.run).fit_predict(embedding)
    return labels


@lru_cache(maxsize=32)
def _embedding(folder: str, data_set: str, features: str, task: int) -> Any:
    view = views.view(folder, data_set, features)
    X = view.X[view.tasks == task] if task else view.X
    affinity = np.maximum(cosine_similarity(X), 0)
    np.fill_diagonal(affinity, 1)  # an all-zero row is similar to itself
    return spectral_embedding(affinity, n_components=view.n_classes, drop_first=False, random_state=0)


class LargestComponent(ClusterMixin, BaseEstimator):
    """NMF as a clusterer: the largest component of each row. Features with negative values enter twice, by sign."""

    def __init__(self, n_components: int, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Any:
        """Factorise X, and keep the largest component of each row."""
        if (X.data if sparse.issparse(X) else X).min(initial=0) < 0:
            X = np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])
        init = "nndsvdar" if self.n_components <= min(X.shape) else "random"
        model = NMF(self.n_components, init=init, random_state=self.random_state, max_iter=400, tol=1e-4)
        self.labels_ = model.fit_transform(X).argmax(axis=1)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
