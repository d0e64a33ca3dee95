"""A fitted model as k-means: for whatever knows scikit-learn's `KMeans` and not this library."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans

from .._utils.tasks import positions
from ..core.arrays import Array, host
from ..estimators._progress import warn_user

INDEPENDENT = 1e-3  # of the spread of the centres: what they spread less in a direction counts as not at all
EXACT = 1e-9  # of that spread, squared: an error in the difference of two losses that is rounding
DIGITS = 1e-3  # of the least squared distance of two centres: the error of a distance that changes no label to speak of


def to_kmeans(model: Any, task: Hashable | None) -> KMeans:
    """The labels that a fitted model gives the rows of one task, as a `KMeans`.

    With one cluster a row, the loss of a row x in cluster j is, but for what is the same in all clusters,

        λ1 ‖x − a_j‖² + (1 − λ1) ‖x − b_j‖²  =  ‖x − C_j‖² + k_j,   C_j = λ1 a_j + (1 − λ1) b_j,

    with k_j = λ1 (1 − λ1) ‖a_j − b_j‖², for both couplings. Centres C_j + t lead to the same labels if 2 (C_j − C_0)·t
    = k_j − k_0 for all j, which some t fulfils wherever no centre lies in the flat through the others.
    """
    C, k = _centers(model, _position(model, task))
    shift, exact = _shift(C, k)
    centers = (C + shift if exact else C).astype(host(model.task_centers_).dtype)
    why = None
    if model.membership_ == "nonnegative":
        centers, why = C.astype(centers.dtype), "the memberships are non-negative mixtures, and k-means knows labels"
    elif not exact:
        why = (
            f"what tasks share pulls the {len(C)} clusters differently far, and {C.shape[1]} feature(s) leave no room "
            "for centres that make up for it"
        )
    elif _far(centers):
        why = (
            f"the data lie so far from zero that KMeans.predict loses the digits that tell clusters apart, in "
            f"{centers.dtype}; take the mean of the data out of X before the fit"
        )
    if why is not None:
        warn_user(f"to_kmeans(task={task!r}) is not exact: {why}. Rows between clusters may get other labels.")
    return _fitted(centers, getattr(model, "feature_names_in_", None))


def _position(model: Any, task: Hashable | None) -> int | None:
    """The index of a task; None: the shared centres decide, as in `predict`."""
    known = host(model.tasks_).tolist()
    if task is None:
        return 0 if len(known) == 1 else None
    [k] = positions([task], known)
    if k is None:
        raise ValueError(f"task={task!r} was not there in fit: known are {known}, or None for the shared centres.")
    return k


def _centers(model: Any, k: int | None) -> tuple[Array, Array]:
    """C (c, d) and k (c,)."""
    shared = host(model.shared_centers_).astype(np.float64) @ host(model.subspace_).astype(np.float64).T
    if k is None:
        return shared, np.zeros(len(shared))
    lam, own = float(model.within_weight_[k]), host(model.task_centers_[k]).astype(np.float64)
    placed = host(model.task_offsets_[k]) + float(model.task_scales_[k]) * shared
    return lam * own + (1 - lam) * placed, lam * (1 - lam) * np.sum((own - placed) ** 2, axis=1)


def _shift(C: Array, k: Array) -> tuple[Array, bool]:
    """The shortest t that makes up for k, and whether it does."""
    directions, wanted = 2 * (C - C[0]), k - k[0]
    t = np.linalg.lstsq(directions, wanted, rcond=INDEPENDENT)[0]
    spread = np.max(np.sum((C - C[0]) ** 2, axis=1))
    return t, bool(np.all(np.abs(directions @ t - wanted) <= EXACT * spread))


def _far(centers: Array) -> bool:
    """Whether rounding of ‖c‖², from which KMeans.predict computes, is not small beside the distances of centres."""
    apart = pdist(centers.astype(np.float64), "sqeuclidean")
    rounding = np.finfo(centers.dtype).eps * np.max(np.sum(centers.astype(np.float64) ** 2, axis=1))
    return bool(rounding > DIGITS * np.min(apart[apart > 0], initial=np.inf))


def _fitted(centers: Array, names: Any) -> KMeans:
    """A `KMeans` with these centres, which is fitted as far as any version of scikit-learn can ask."""
    c, d = centers.shape
    model = KMeans(n_clusters=c, n_init=1, random_state=0)
    model.fit(np.arange(c * d, dtype=centers.dtype).reshape(c, d)).set_params(random_state=None)
    model.cluster_centers_ = centers
    del model.labels_, model.inertia_
    if names is not None:
        model.feature_names_in_ = names
    return model
