"""The methods of the integration benchmark: tools that people use on data sets that differ, and ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

import mtcluster

from .. import LSSMTC, SPMTC, PerTask, Pooled
from ..core.relations import align
from ..estimators._harmony import Harmonized
from .methods import Outcome
from .runs import Spec
from .views import View

# What is fitted, and how it meets the tasks.
CLUSTERERS = ("KM", "GMM", "tied GMM")
REACHES: dict[str, Callable[[Any, int], Any]] = {
    "": lambda clusterer, seed: PerTask(clusterer),
    "All": lambda clusterer, seed: Pooled(clusterer),
    "Centred": lambda clusterer, seed: Pooled(clusterer, center=True),
    "Harmony": lambda clusterer, seed: Harmonized(clusterer, random_state=seed),
}
LIGER = "LIGER KM"
FITTED = {f"{reach} {one}".strip(): (reach, one) for reach in REACHES for one in CLUSTERERS}
PEERS = (*FITTED, LIGER)
OURS: dict[str, Callable[[int, int], Any]] = {
    "LSSMTC": lambda c, seed: LSSMTC(c, random_state=seed),
    "SPMTC": lambda c, seed: SPMTC(c, random_state=seed),
}
if "MultiTaskGaussianMixture" in mtcluster.__all__:
    OURS["MTGM"] = lambda c, seed: mtcluster.MultiTaskGaussianMixture(c, random_state=seed)
METHODS = (*PEERS, *OURS)


def needed(method: str) -> tuple[str, ...]:
    """The packages that a method needs beside those of the benchmark."""
    if method == LIGER:
        return ("pyliger",)
    return ("harmonypy",) if method.startswith("Harmony") else ()


def run(spec: Spec, view: View) -> Outcome:
    """Fit the method of a spec with its defaults and the number of classes."""
    c, seed = view.n_classes, spec.run
    if spec.method == LIGER:
        from .liger import factors

        Z = factors(view.X, view.tasks, seed)
        return Outcome(KMeans(c, n_init=10, random_state=seed).fit_predict(Z), embedding=Z)
    if spec.method in OURS:
        return _outcome(OURS[spec.method](c, seed), view.X, view)
    reach, clusterer = FITTED[spec.method]
    X = view.X.toarray() if sparse.issparse(view.X) else view.X
    found = _outcome(REACHES[reach](_clusterer(clusterer, c, seed, X), seed), X, view)
    return Outcome(matched(found.labels, X, view.tasks, c)) if not reach else found


def _clusterer(name: str, c: int, seed: int, X: Any) -> Any:
    if name == "KM":
        return KMeans(c, n_init=10, random_state=seed)
    shape = "tied" if name.startswith("tied") else "full"
    floor = 1e-6 * float(np.var(X))  # scikit-learn's default, for rows of unit variance
    return GaussianMixture(c, covariance_type=shape, n_init=3, reg_covar=floor, random_state=seed)


def _outcome(model: Any, X: Any, view: View) -> Outcome:
    model.fit(X, tasks=view.tasks)
    rated = view.strange.any() and hasattr(model, "score_samples")
    return Outcome(
        np.asarray(model.labels_),
        model.score_samples(X, tasks=view.tasks) if rated else None,
        int(getattr(model, "n_iter_", -1)),
        getattr(model, "cluster_presence_", None),
        _embedding(model, X, view.tasks),
    )


def _embedding(model: Any, X: Any, tasks: Any) -> Any:
    """The rows as the model brings tasks together: corrected, or without means or offsets of tasks."""
    if hasattr(model, "embedding_"):
        return model.embedding_
    rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
    _, codes = np.unique(tasks, return_inverse=True)
    offsets = getattr(model, "task_offsets_", getattr(model, "task_means_", None))
    scales = getattr(model, "task_scales_", None)
    rows = rows if offsets is None else rows - np.asarray(offsets)[codes]
    return rows if scales is None else rows / np.asarray(scales)[codes, None]


def matched(labels: Any, X: Any, tasks: Any, n_clusters: int) -> Any:
    """Labels of each task alone, under the numbers that make their centres lie alike; shifts of tasks do not matter."""
    codes = np.unique(tasks, return_inverse=True)[1]
    m = codes.max() + 1
    sizes, sums = np.zeros((m, n_clusters)), np.zeros((m, n_clusters, X.shape[1]))
    np.add.at(sizes, (codes, labels), 1)
    np.add.at(sums, (codes, labels), X)
    orders = np.stack(align(sums / np.maximum(sizes, 1)[:, :, None], sizes))
    return np.argsort(orders, axis=1)[codes, labels]
