"""Export of a fitted model as scikit-learn's `KMeans`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from .._utils.tasks import positions
from ..core.arrays import Array
from ..core.fitted import Fitted
from ..core.geometry import Tied
from ..estimators.progress import warn_user

INDEPENDENT = 1e-3  # relative singular value below which the centres count as having no extent in a direction
EXACT = 1e-9  # share of the squared extent of the centres: a smaller error in a difference of losses is rounding
OUT_OF_REACH = {4: 1e18, 8: 1e150}  # by the size of a number: where centres are that no row may be nearest to
DIGITS = 1e-3  # share of the smallest squared distance of two centres: a smaller error changes hardly any label


def to_kmeans(model: Any, task: Hashable | None = None) -> KMeans:
    """Export a fitted model as a `KMeans` that gives the rows of one task the same labels.

    With one cluster per row, the loss of a row x in cluster j is, up to a term that is the same for all clusters,

        λ1 ‖x − a_j‖² + (1 − λ1) ‖x − b_j‖²  =  ‖x − C_j‖² + k_j,   C_j = λ1 a_j + (1 − λ1) b_j,

    with k_j = λ1 (1 − λ1) ‖a_j − b_j‖², for both couplings. Centres C_j + t give the same labels if
    2 (C_j − C_0)·t = k_j − k_0 for all j, which has a solution t if the centres are affinely independent. With a shared
    metric A and proportions π_j of the clusters, the same holds for the centres A C_j, with −2 log π_j in k_j; then the
    centres do not lie among the rows. The centre of a cluster that the task does not hold is far from everything.

    The labels are exact, with a warning where they cannot be: with non-negative memberships, with too many clusters for
    the number of features, and with data far from zero. Distances to the centres are not the losses of the model.

    Parameters
    ----------
    model : SPMTC, LSSMTC or ASI
        Fitted model.
    task : label of a task, optional
        Task whose rows are to be labelled. None: the shared centres decide, as in `predict` without `tasks`; after a
        fit of one task, that task.

    Returns
    -------
    kmeans : KMeans
        Fitted, with the floating type of the model; its cluster j is cluster j of the model.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.interop import to_kmeans
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
    >>> bool((to_kmeans(model, task=0).predict(X[tasks == 0]) == model.labels_[tasks == 0]).all())
    True
    """
    check_is_fitted(model)
    fitted: Fitted = model.fitted_
    at = _position(fitted.tasks.tolist(), task)
    C, k = _centers(fitted, at)
    held = fitted.exists if at is None else fitted.holds[at]
    shift, exact = _shift(C[held], k[held])
    mixtures = not fitted.model.membership.diagonal
    centers = (C + shift if exact and not mixtures else C).astype(fitted.centers.Ms.dtype)
    why = None
    if mixtures:
        why = "the memberships are non-negative mixtures, and k-means has one cluster per row"
    elif not exact:
        why = (
            f"the shared centres attract the {int(held.sum())} clusters to different degrees, which centres with "
            f"{C.shape[1]} feature(s) cannot reproduce"
        )
    elif _far(centers[held]):
        why = (
            f"the data are so far from zero that KMeans.predict loses the digits that separate clusters, in "
            f"{centers.dtype}; subtract the mean of the data from X before the fit"
        )
    if why is not None:
        warn_user(f"to_kmeans(task={task!r}) is not exact: {why}. Rows between clusters may get different labels.")
    centers[~held] = centers[held].mean(axis=0)
    centers[~held, 0] = OUT_OF_REACH[centers.dtype.itemsize]
    return _fitted(centers, getattr(model, "feature_names_in_", None))


def _position(known: list[Hashable], task: Hashable | None) -> int | None:
    """Find the index of a task; None for the shared centres."""
    if task is None:
        return 0 if len(known) == 1 else None
    [k] = positions([task], known)
    if k is None:
        raise ValueError(
            f"task={task!r} is not a task of the fit: choose one of {known}, or None for the shared centres."
        )
    return k


def _centers(fitted: Fitted, k: int | None) -> tuple[Array, Array]:
    """Compute C (c, d), or A C with a metric, and k (c,)."""
    centers, lam = fitted.centers, 0.0 if k is None else float(fitted.within_weight[k])
    own = placed = centers.shared
    if k is not None:
        own, placed = centers.Ms[k].astype(np.float64), centers.placed[k]
    if not isinstance(centers.geometry.tied, Tied):
        return lam * own + (1 - lam) * placed, lam * (1 - lam) * np.sum((own - placed) ** 2, axis=1)
    tied, alone = centers.geometry.tied.take("R", None), np.array([lam == 1])  # such a task has Euclidean distances
    middle = placed.mean(axis=0)
    own, placed = own - middle, placed - middle
    near, far = (tied.times(part[None, None], alone)[0, 0] for part in (lam * own, (1 - lam) * placed))
    C, h = near + far, np.sum(near * own, axis=1) + np.sum(far * placed, axis=1)
    if k is not None and centers.log_shares is not None:  # those of other tasks are not known
        h = h - 2 * centers.log_shares[k]
    return C, h + 2 * C @ middle - np.sum(C**2, axis=1)


def _shift(C: Array, k: Array) -> tuple[Array, bool]:
    """Find the shortest t that compensates for k, and whether it does so exactly."""
    directions, wanted = 2 * (C - C[0]), k - k[0]
    t = np.linalg.lstsq(directions, wanted, rcond=INDEPENDENT)[0]
    spread = np.max(np.sum((C - C[0]) ** 2, axis=1))
    return t, bool(np.all(np.abs(directions @ t - wanted) <= EXACT * spread))


def _far(centers: Array) -> bool:
    """Tell whether the rounding of ‖c‖² in KMeans.predict is large compared with the distances between centres."""
    apart = pdist(centers.astype(np.float64), "sqeuclidean")
    rounding = np.finfo(centers.dtype).eps * np.max(np.sum(centers.astype(np.float64) ** 2, axis=1))
    return bool(rounding > DIGITS * np.min(apart[apart > 0], initial=np.inf))


def _fitted(centers: Array, names: Any) -> KMeans:
    """Make a `KMeans` with these centres that any version of scikit-learn takes as fitted."""
    c, d = centers.shape
    model = KMeans(n_clusters=c, n_init=1, random_state=0)
    model.fit(np.arange(c * d, dtype=centers.dtype).reshape(c, d)).set_params(random_state=None)
    model.cluster_centers_ = centers
    del model.labels_, model.inertia_
    if names is not None:
        model.feature_names_in_ = names
    return model
