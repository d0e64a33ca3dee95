"""The methods that the commands offer, by name; each is imported when it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mtcluster as mt

from .errors import need


@dataclass(frozen=True)
class Method:
    """A method, and what it can do."""

    title: str
    make: Callable[[int, int], Any]  # number of clusters, seed → estimator
    on_dask: bool = False
    continues: bool = False  # can a fit take an earlier model?
    missing: bool = False  # can it work with missing values?
    max_rows: float = float("inf")


def _kmeans(c: int, seed: int) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(c, n_init=10, random_state=seed)


def _spectral(c: int, seed: int) -> Any:
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(c, affinity="nearest_neighbors", assign_labels="cluster_qr", random_state=seed)


def _harmony(c: int, seed: int) -> Any:
    need("harmonypy", "harmony", "the method harmony")
    from ..estimators.harmony import Harmonized

    return Harmonized(_kmeans(c, seed), random_state=seed)


METHODS = {
    "spmtc": Method(
        "SPMTC", lambda c, seed: mt.SPMTC(c, random_state=seed), on_dask=True, continues=True, missing=True
    ),
    "lssmtc": Method(
        "LSSMTC", lambda c, seed: mt.LSSMTC(c, random_state=seed), on_dask=True, continues=True, missing=True
    ),
    "asi": Method("ASI", lambda c, seed: mt.ASI(c, random_state=seed), on_dask=True, continues=True, missing=True),
    "asi-per-task": Method("ASI per task", lambda c, seed: mt.PerTask(mt.ASI(c, random_state=seed))),
    "kmeans": Method("k-means pooled", lambda c, seed: mt.Pooled(_kmeans(c, seed))),
    "kmeans-centered": Method("k-means centred", lambda c, seed: mt.Pooled(_kmeans(c, seed), center=True)),
    "kmeans-per-task": Method("k-means per task", lambda c, seed: mt.PerTask(_kmeans(c, seed))),
    "spectral": Method("spectral pooled", lambda c, seed: mt.Pooled(_spectral(c, seed)), max_rows=20_000),
    "spectral-per-task": Method("spectral per task", lambda c, seed: mt.PerTask(_spectral(c, seed)), max_rows=20_000),
    "harmony": Method("Harmony and k-means", _harmony),
}
if "MultiTaskGaussianMixture" in mt.__all__:
    METHODS["mixture"] = Method(
        "mixture",
        lambda c, seed: mt.MultiTaskGaussianMixture(c, random_state=seed),
        on_dask=True,
        continues=True,
        missing=True,
    )
COMPARED = ("spmtc", "lssmtc", "kmeans", "kmeans-per-task")  # by `mtcluster compare`, unless others are named
