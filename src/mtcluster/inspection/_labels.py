"""Labels of any clusterer, described as a fitted model is: for reports and plots."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from ..consensus.embedding import shared_map
from ..core.arrays import Array
from ..core.model import Settings
from ..core.relations import relatedness, support
from ..core.solver import first_state, with_subspace
from ..core.updates import one_hot
from ..engines.local import local_rows, row_threads
from ..estimators._validation import read_tasks, read_weights


class LabelDescription(BaseEstimator):
    """What can be said of given labels: centres, sizes, losses, relations between tasks and a map.

    It has the fitted attributes of `SPMTC` that make sense for labels which came from elsewhere, so that
    `mtcluster.plotting` and `mtcluster.inspection.make_report` take it. Nothing is clustered anew: `labels_` are those
    given.

    Parameters
    ----------
    method : str, default="given labels"
        The name that a report calls the labels by.

    Attributes
    ----------
    labels_, memberships_, losses_, tasks_, task_indices_, task_centers_, shared_centers_, subspace_, cluster_sizes_, \
task_relatedness_, cluster_support_, map_, map_rows_
        As in `SPMTC`; a loss is the squared distance to the mean of the cluster in the row's task.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from mtcluster import Pooled
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.inspection import LabelDescription
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> labels = Pooled(KMeans(4, random_state=0)).fit(X, tasks=tasks).labels_
    >>> LabelDescription("k-means").fit(X, labels, tasks=tasks).cluster_sizes_.sum(axis=1)
    array([100., 100., 100.])
    """

    def __init__(self, method: str = "given labels") -> None:
        self.method = method

    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> LabelDescription:
        """Compute the attributes.

        Parameters
        ----------
        X, tasks
            As in `SPMTC.fit`.
        y : array of shape (n,)
            The labels: cluster of each row, whole numbers from 0.

        Returns
        -------
        self : LabelDescription
            With its attributes.
        """
        data = read_tasks(self, X, tasks, reset=True)
        self.labels_ = _read_labels(y, data.n)
        self.tasks_, self.task_indices_ = data.labels, data.indices()
        c, d = int(self.labels_.max()) + 1, data.n_features
        settings = Settings(1.0, min(c, d))
        with row_threads(None) as each:
            rows = local_rows(data, read_weights(None, data, data.dtype), settings, c, each)
            state = first_state(rows, settings, data.split(self.labels_))
            centers = with_subspace(state.centers, settings)
            self.task_centers_ = centers.Ms
            self.shared_centers_, self.subspace_ = np.asarray(centers.M), np.asarray(centers.W)
            self.losses_ = data.join(state.Ls)
            self.cluster_sizes_ = rows.sizes(state.Ps)
            self.map_rows_, self.map_ = shared_map(
                rows, settings, self.shared_centers_, self.subspace_, self.cluster_sizes_, np.random.default_rng(0)
            )
        m = len(self.tasks_)
        self.memberships_ = one_hot(self.labels_, c, self.losses_)
        self.task_relatedness_ = relatedness(centers.Ms, self.cluster_sizes_)
        self.cluster_support_ = support(centers.Ms, self.cluster_sizes_, np.ones(m, dtype=bool))
        self.task_offsets_, self.task_scales_, self.within_weight_ = np.zeros((m, d)), np.ones(m), np.zeros(m)
        self.weights_, self.admitted_ = np.ones(data.n), np.ones(data.n)
        self.fractions_, self.weight_trace_ = np.zeros(0), np.zeros((0, data.n))
        self.objective_trace_: list[Array] = []
        return self


def _read_labels(y: Any, n: int) -> Array:
    values = column_or_1d(y)
    if len(values) != n:
        raise ValueError(f"y has {len(values)} labels, but X has {n} rows: one label a row is needed.")
    if values.dtype.kind not in "iu" or values.min() < 0:
        raise ValueError(f"y should hold labels, whole numbers from 0; got {values.dtype}, {values[:3].tolist()} …")
    return values.astype(np.int32)
