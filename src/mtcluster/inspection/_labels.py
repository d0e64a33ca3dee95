"""Labels of any clusterer with the attributes of a fitted model, for reports and plots."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from .._utils.restoring import restores
from ..core.arrays import Array, host
from ..core.couplings import COUPLINGS
from ..core.jobs import nearest, pick_runs
from ..core.memberships import MEMBERSHIPS, one_hot
from ..core.model import Model
from ..core.projecting import shared_map, task_indices
from ..core.relations import relatedness_by_common, support
from ..core.solver import first_state
from ..estimators._validation import open_rows


class LabelDescription(BaseEstimator):
    """Describe the labels of any clusterer with the attributes of a fitted model.

    It has the fitted attributes of `SPMTC` that make sense for labels from elsewhere, so that `mtcluster.plotting` and
    `mtcluster.inspection.make_report` accept it. Nothing is clustered: `labels_` are the labels given.

    Parameters
    ----------
    method : str, default="given labels"
        Name of the method that made the labels, shown in reports.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each row; -1 for rows that belong to none.
    memberships_ : array of shape (n, c)
        1 in the column of the cluster of each row, 0 elsewhere; 0 everywhere for rows that belong to none.
    losses_ : array of shape (n,)
        Squared distance of each row to the mean of its cluster in its task, to the nearest if it belongs to none.
    tasks_ : array of shape (m,)
        Labels of the tasks.
    task_indices_ : array of shape (n,)
        Task of each row, as an index into `tasks_`.
    task_centers_ : array of shape (m, c, d)
        Mean of each cluster in each task.
    shared_centers_ : array of shape (c, l)
        Mean of each cluster over all tasks, in the coordinates of `subspace_`.
    subspace_ : array of shape (d, l)
        Orthonormal basis of the subspace of these means; l is the smaller of c and d.
    cluster_sizes_ : array of shape (m, c)
        Number of rows of each cluster in each task.
    task_relatedness_ : array of shape (m, m)
        Relatedness of the clusters that two tasks have in common, from 0 to 1.
    cluster_support_ : array of shape (m, c)
        How present each cluster is in each task, from 0 (absent) to 1.
    cluster_presence_ : array of shape (m, c)
        Whether a task has rows of a cluster.
    feature_presence_ : array of shape (m, d)
        Whether a task has a value of a feature.
    missing_ : array of shape (m, d)
        Share of the rows of a task in which a feature is missing.
    map_ : array of shape (k, at most 4)
        Coordinates of some rows in the directions of the shared subspace that separate the clusters best. All rows, but
        no more than about 20 000.
    map_rows_ : array of shape (k,)
        Indices of these rows.
    task_offsets_ : array of shape (m, d)
        Zeros: no offset is removed.
    task_scales_ : array of shape (m,)
        Ones: no scale is removed.
    within_weight_ : array of shape (m,)
        Zeros: all tasks share their clusters.
    weights_ : array of shape (n,)
        Ones: all rows have full weight.
    admitted_ : array of shape (n,)
        Ones: no row is selected before another.
    fractions_ : array of shape (0,)
        Empty: there are no stages.
    weight_trace_ : array of shape (0, n)
        Empty: there are no stages.
    objective_trace_ : list
        Empty: there are no stages.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, if X has names that are all strings.

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

    @restores
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> LabelDescription:
        """Compute the attributes from the rows and their labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows of all tasks, or one item per task. A list is taken as tasks if its items are two-dimensional.
        y : array of shape (n,)
            Cluster of each row, as integers from 0; -1 for rows that belong to none, as of DBSCAN. Such rows count in
            no mean and no size.
        tasks : sequence of n hashable labels or str, optional
            Task of each row of X, in any order, or the name of the column of a data frame X that holds it.
            None: one task.

        Returns
        -------
        self : LabelDescription
            The description itself.
        """
        engine = open_rows(self, X, tasks, reset=True)
        n, m, d = sum(engine.sizes), len(engine.labels), engine.n_features
        self.labels_ = _read_labels(y, n)
        if self.labels_.min() < 0:
            engine = open_rows(self, X, tasks, reset=True, sample_weight=_counting(engine, self.labels_))
        c = int(self.labels_.max()) + 1
        model = Model(c, 1.0, min(c, d), COUPLINGS["reconstruction"], MEMBERSHIPS["binary"])
        with engine:
            labels = engine.split(np.maximum(self.labels_, 0), np.asarray)
            state = first_state(engine, model, [labels])
            centers = model.coupling.complete(state.centers, model.n_components).runs(0)
            self.tasks_ = engine.labels
            self.task_indices_ = engine.gather(engine.apply(task_indices, outputs=1)[0], np.intp)
            self.losses_ = engine.gather(engine.apply(partial(pick_runs, at=0), state.Ls, outputs=1)[0])
            if self.labels_.min() < 0:
                terms = model.terms(centers.runs(None), engine.origins, gaps=engine.gaps)
                job = partial(nearest, terms=terms, membership=model.membership)
                closest = engine.apply(job, outputs=2)[1]
                closest = engine.gather(engine.apply(partial(pick_runs, at=0), closest, outputs=1)[0])
                self.losses_ = np.where(self.labels_ < 0, closest, self.losses_)
            self.cluster_sizes_ = model.sizes(engine, labels)
            self.missing_ = engine.summary.missing
            self.feature_presence_ = self.missing_ < 1
            rng, sizes = np.random.default_rng(0), self.cluster_sizes_.sum(axis=0)
            self.map_rows_, self.map_ = shared_map(engine, model, centers, sizes, rng)
        self.task_centers_ = centers.Ms
        self.shared_centers_, self.subspace_ = np.asarray(centers.M), np.asarray(centers.W)
        self.memberships_ = one_hot(self.labels_, c, self.losses_.dtype)  # of −1: zeros
        self.cluster_support_ = support(centers.Ms, self.cluster_sizes_, np.ones(m, dtype=bool))
        self.cluster_presence_ = self.cluster_sizes_ > 0
        self.task_relatedness_ = relatedness_by_common(centers.Ms, self.cluster_sizes_, self.cluster_presence_)
        self.task_offsets_, self.task_scales_, self.within_weight_ = np.zeros((m, d)), np.ones(m), np.zeros(m)
        self.weights_, self.admitted_ = np.ones(n), np.ones(n)
        self.fractions_, self.weight_trace_ = np.zeros(0), np.zeros((0, n))
        self.objective_trace_: list[Array] = []
        return self


def _read_labels(y: Any, n: int) -> Array:
    values = column_or_1d(y)
    if len(values) != n:
        raise ValueError(f"y has {len(values)} labels, but X has {n} rows: one label per row is needed.")
    if values.dtype.kind not in "iu" or values.min() < -1 or values.max() < 0:
        wanted = "integers from 0, or -1 for rows that belong to no cluster"
        raise ValueError(f"y should contain {wanted}; got {values.dtype}, {values[:3].tolist()} …")
    return values.astype(np.int32)


def _counting(engine: Any, labels: Array) -> Array:
    """Weights 1 of the rows that belong to a cluster, and 0 of the others; every task needs a cluster."""
    codes = host(engine.gather(engine.apply(task_indices, outputs=1)[0], np.intp))
    for k, task in enumerate(engine.labels.tolist()):
        if not np.any(labels[codes == k] >= 0):
            raise ValueError(f"y is -1 for all rows of task {task!r}: leave the task out, as it has no clusters.")
    return (labels >= 0).astype(np.float64)
