"""The methods of all benchmarks: a spec and rows → labels, and what else a method finds."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
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

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled, Schedule, Search
from mtcluster.core.relations import align
from mtcluster.estimators.harmony import Harmonized

from .data import LabelledRows, view
from .store import Spec

SHARED = ("LSSMTC", "SPMTC-h", "SPMTC-s")  # methods with λ1 and l
# The paper gives no tolerance, only a limit of 50 iterations per inner loop. The study "tolerance" tries others.
PAPER_TOL = {"LSSMTC": 1e-4, "SPMTC-h": 1e-5, "SPMTC-s": 1e-5}
FULL = "SPMTC-s"  # the method that the ablations change: one decision of its defaults replaced
ABLATIONS: dict[str, dict[str, Any]] = {
    "no search": {"within_weight": 0.5},
    "one seeding": {"init": Search(n_seedings=1)},
    "moves from one labelling": {"init": Search(n_moved=1)},
    "a sample of 500 rows": {"init": Search(sample=500)},
    "Euclidean": {"metric": "euclidean"},
    "no task offset": {"task_offset": "none"},
    "always a task offset": {"task_offset": "mean"},
    "offset and scale": {"task_offset": "scale"},
    "long inner loops": {"max_iter": 50},
    "non-negative": {"membership": "nonnegative"},
}

# The comparison with tools for integration: what is fitted, and how it meets the tasks.
CLUSTERERS = ("KM", "GMM", "tied GMM")
REACHES: dict[str, Callable[[Any, int], Any]] = {
    "": lambda clusterer, seed: PerTask(clusterer),
    "All": lambda clusterer, seed: Pooled(clusterer),
    "Centred": lambda clusterer, seed: Pooled(clusterer, center=True),
    "Harmony": lambda clusterer, seed: Harmonized(clusterer, random_state=seed),
}
LIGER = "LIGER KM"
FITTED = {f"{reach} {one}".strip(): (reach, one) for reach in REACHES for one in CLUSTERERS}
OURS = {"LSSMTC": LSSMTC, "SPMTC": SPMTC, "MTGM": MultiTaskGaussianMixture}
N_FACTORS = 20


@dataclass(frozen=True)
class Clustering:
    """What a method found; None for what it does not have."""

    labels: Any
    scores: Any = None  # of each row; low for outliers
    n_iter: int = -1
    presence: Any = None  # (m, c), whether a task holds a cluster
    embedding: Any = None  # the rows that were clustered


def dense(X: Any) -> Any:
    """Make an array of rows."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def fitted(model: Any, X: Any, rows: LabelledRows) -> Clustering:
    """Fit an estimator, and score the rows where some are outliers."""
    model.fit(X, tasks=rows.tasks)
    rated = rows.strange.any() and hasattr(model, "score_samples")
    return Clustering(
        np.asarray(model.labels_),
        model.score_samples(X, tasks=rows.tasks) if rated else None,
        int(getattr(model, "n_iter_", -1)),
    )


def run_method(spec: Spec, folder: str, rows: LabelledRows) -> Clustering:
    """Fit the method of a spec."""
    if spec.method in ("SC", "All SC"):
        return Clustering(_spectral(spec, folder, rows))
    return fitted(_model(spec, rows.n_classes), dense(rows.X) if "GMM" in spec.method else rows.X, rows)


def _model(spec: Spec, c: int) -> Any:
    seed, name = spec.run, spec.method.removeprefix("All ")
    reach = PerTask if name == spec.method else Pooled
    paper = spec.protocol == "paper"
    if name == "KM":
        return reach(KMeans(c, n_init=1 if paper else 10, random_state=seed))
    if name == "GMM":
        return reach(GaussianMixture(c, covariance_type="diag", n_init=3, random_state=seed))
    if name == "NMF":
        return reach(LargestComponent(c, random_state=seed))
    if name in ABLATIONS:
        return SPMTC(c, random_state=seed, **ABLATIONS[name])
    options: dict[str, Any] = {"random_state": seed, "coupling": spec.coupling}
    if paper:
        options |= {"membership": "nonnegative", "init": "random", "tol": PAPER_TOL.get(name, 1e-4)}
    if spec.tol >= 0:
        options["tol"] = spec.tol
    if spec.n_components > 0:
        options["n_components"] = spec.n_components
    if name == "ASI":
        return reach(ASI(c, **options))
    if spec.within_weight >= 0:
        options["within_weight"] = spec.within_weight
    if name == "LSSMTC":
        return LSSMTC(c, **options)
    rule = "paper" if paper else "quantile"
    options["pace"] = Schedule(spec.initial_fraction, spec.fraction_step, rule)
    weighting = "hard" if name == "SPMTC-h" else "soft"
    return SPMTC(c, weighting=weighting, **options)


def _spectral(spec: Spec, folder: str, rows: LabelledRows) -> Any:
    """Normalised spectral clustering with cosine affinity; runs differ in the k-means on the same embedding."""
    labels = np.empty(len(rows.y), dtype=int)
    for task in [0] if spec.method == "All SC" else np.unique(rows.tasks).tolist():
        own = rows.tasks == task if task else np.ones(len(rows.y), dtype=bool)
        embedding = _embedding(folder, spec.data_set, spec.features, task)
        labels[own] = KMeans(rows.n_classes, n_init=10, random_state=spec.run).fit_predict(embedding)
    return labels


@lru_cache(maxsize=32)
def _embedding(folder: str, data_set: str, features: str, task: int) -> Any:
    rows = view(folder, data_set, features)
    affinity = np.maximum(cosine_similarity(rows.X[rows.tasks == task] if task else rows.X), 0)
    np.fill_diagonal(affinity, 1)  # an all-zero row is similar to itself
    return spectral_embedding(affinity, n_components=rows.n_classes, drop_first=False, random_state=0)


def needed(method: str) -> tuple[str, ...]:
    """Name the packages that a method needs beside those of the benchmarks."""
    if method == LIGER:
        return ("pyliger",)
    return ("harmonypy",) if method.startswith("Harmony") else ()


def run_across(spec: Spec, rows: LabelledRows) -> Clustering:
    """Fit a method of the comparison with tools for integration, with its defaults and the number of classes."""
    c, seed = rows.n_classes, spec.run
    if spec.method == LIGER:
        Z = factors(rows.X, rows.tasks, seed)
        return Clustering(KMeans(c, n_init=10, random_state=seed).fit_predict(Z), embedding=Z)
    if spec.method in OURS:
        return _embedded(OURS[spec.method](c, random_state=seed), rows.X, rows)
    reach, clusterer = FITTED[spec.method]
    X = dense(rows.X)
    found = _embedded(REACHES[reach](_clusterer(clusterer, c, seed, X), seed), X, rows)
    return found if reach else Clustering(matched(found.labels, X, rows.tasks, c))


def _clusterer(name: str, c: int, seed: int, X: Any) -> Any:
    if name == "KM":
        return KMeans(c, n_init=10, random_state=seed)
    shape = "tied" if name.startswith("tied") else "full"
    floor = 1e-6 * float(np.var(X))  # scikit-learn's default, for rows of unit variance
    return GaussianMixture(c, covariance_type=shape, n_init=3, reg_covar=floor, random_state=seed)


def _embedded(model: Any, X: Any, rows: LabelledRows) -> Clustering:
    """Fit an estimator, and keep the rows as it brings tasks together: corrected, or without means or offsets."""
    found = replace(fitted(model, X, rows), presence=getattr(model, "cluster_presence_", None))
    if hasattr(model, "embedding_"):
        return replace(found, embedding=model.embedding_)
    Z, codes = dense(X), np.unique(rows.tasks, return_inverse=True)[1]
    if not hasattr(model, "fitted_"):
        means = getattr(model, "task_means_", None)
        return replace(found, embedding=Z if means is None else Z - np.asarray(means)[codes])
    offsets = model.fitted_.centers.offsets
    return replace(found, embedding=(Z - offsets.b[codes]) / offsets.s[codes, None])


def matched(labels: Any, X: Any, tasks: Any, n_clusters: int) -> Any:
    """Number the clusters of each task alone so that their centres lie alike; shifts of tasks do not matter."""
    codes = np.unique(tasks, return_inverse=True)[1]
    m = codes.max() + 1
    sizes, sums = np.zeros((m, n_clusters)), np.zeros((m, n_clusters, X.shape[1]))
    np.add.at(sizes, (codes, labels), 1)
    np.add.at(sums, (codes, labels), X)
    orders = np.stack(align(sums / np.maximum(sizes, 1)[:, :, None], sizes))
    return np.argsort(orders, axis=1)[codes, labels]


def factors(X: Any, tasks: Any, seed: int) -> Any:
    """Find loadings (n, 20) of the rows on factors that tasks share, with the same quantiles in all tasks (LIGER).

    The steps and settings are those of pyliger's tutorial. It needs rows ≥ 0, and draws from NumPy's global
    random state.
    """
    import anndata
    import pyliger

    np.random.seed(seed)  # noqa: NPY002
    parts = []
    for task in np.unique(tasks).tolist():
        rows = np.flatnonzero(tasks == task)
        part = anndata.AnnData(sparse.csr_matrix(X[rows], dtype=np.float64))
        part.obs_names, part.var_names = [f"r{i}" for i in rows], [f"f{j}" for j in range(X.shape[1])]
        part.obs.index.name, part.var.index.name, part.uns["sample_name"] = "row", "feature", f"task {task}"
        parts.append(part)
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        liger = pyliger.create_liger(parts)
        pyliger.normalize(liger)
        pyliger.select_genes(liger)
        pyliger.scale_not_center(liger)
        pyliger.optimize_ALS(liger, k=N_FACTORS, rand_seed=seed + 1)  # 1 is its first
        pyliger.quantile_norm(liger, rand_seed=seed + 1)
    found = np.zeros((X.shape[0], N_FACTORS))  # rows without a single value are left out by pyliger
    for part in liger.adata_list:
        found[[int(name[1:]) for name in part.obs_names]] = part.obsm["H_norm"]
    return found


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
