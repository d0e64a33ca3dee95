"""Labels of any clusterer with the attributes of a fitted model, for reports and plots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from .._utils.restoring import restores
from ..core.arrays import Array, host
from ..core.fitted import Fitted, RowResults
from ..core.jobs import nearest, pick_runs
from ..core.model import Model
from ..core.projecting import shared_map, task_indices
from ..core.relations import support
from ..core.sharing import Share
from ..core.solver import first_state
from ..engines import Engine
from ..estimators.base import MultiTaskClusterer
from ..estimators.input import open_rows
from ..estimators.publish import public, published, settled


class LabelDescription(BaseEstimator):
    """Describe the labels of any clusterer with the attributes of a fitted model.

    It has the fitted attributes of `SPMTC`, so that `mtcluster.plotting` and `mtcluster.inspection.make_report` accept
    it. Nothing is clustered: `labels_` are the labels given.

    Parameters
    ----------
    method : str, default="given labels"
        Name of the method that made the labels, shown in reports.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each row; -1 for rows that belong to none.
    n_clusters_ : int
        Number of clusters c.
    memberships_ : array of shape (n, c)
        1 in the column of the cluster of each row, 0 elsewhere; 0 everywhere for rows that belong to none.
    losses_ : array of shape (n,)
        Squared distance of each row to the mean of its cluster in its task, to the nearest if it belongs to none.
    weights_ : array of shape (n,)
        Ones: all rows have full weight.
    tasks_ : array of shape (m,)
        Labels of the tasks.
    cluster_centers_ : array of shape (c, d)
        Mean of each cluster over all tasks.
    task_centers_ : array of shape (m, c, d)
        Mean of each cluster in each task.
    task_offsets_ : array of shape (m, d)
        Zeros: no offset is removed.
    cluster_sizes_ : array of shape (m, c)
        Number of rows of each cluster in each task.
    cluster_presence_ : array of shape (m, c)
        Whether a task has rows of a cluster.
    task_relatedness_ : array of shape (m, m)
        Relatedness of the clusters that two tasks have in common, from 0 to 1.
    objective_trace_ : list
        Empty: nothing was fitted.
    n_iter_ : int
        0: nothing was fitted.
    fitted_ : Fitted
        All of this as one record; see `SPMTC`.
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

    memberships_ = MultiTaskClusterer.memberships_

    @restores
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Self:
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
        labels = _read_labels(y, sum(engine.sizes))
        if labels.min() < 0:
            engine = open_rows(self, X, tasks, reset=True, sample_weight=_counting(engine, labels))
        with engine:
            self.__dict__.update(public(self, _fitted(engine, labels)))
        return self

    def _published(self, fitted: Fitted, small: Callable[[Array], Any]) -> dict[str, Any]:
        """Make the public attributes."""
        return published(fitted, small)


def _fitted(engine: Engine, labels: Array) -> Fitted:
    """Make the fitted model that labels stand for: no offsets, no metric, and all tasks share."""
    (m, d), n, c = engine.origins.shape, len(labels), int(labels.max()) + 1
    model = Model(c, Share.of(1.0).whole(m=m), min(c, d))
    Ps = engine.split(np.maximum(labels, 0), np.asarray)
    state = first_state(engine, model, [Ps])
    Ls = state.Ls
    losses = engine.gather(engine.apply(partial(pick_runs, at=0), Ls, outputs=1)[0])
    if labels.min() < 0:
        terms = model.terms(state.centers, engine.origins, gaps=engine.gaps)
        Ls = engine.apply(partial(nearest, terms=terms, membership=model.membership), outputs=2)[1]
        closest = engine.gather(engine.apply(partial(pick_runs, at=0), Ls, outputs=1)[0])
        losses = np.where(labels < 0, closest, losses)
    centers, sizes = settled(model.complete(state.centers).take("R", 0), m, d), model.sizes(engine, Ps)
    codes = engine.gather(engine.apply(task_indices, outputs=1)[0], np.intp)
    map_rows, points = shared_map(engine, centers, sizes.sum(axis=0), np.random.default_rng(0))
    ones = np.ones(n)
    fitted = Fitted(
        tasks=engine.labels,
        model=replace(
            model, sharing=Share.of(0.0).whole(m=m), holds=(sizes > 0)[None], offsets=centers.offsets.take("R", None)
        ),
        centers=centers,
        task_offset="none",
        decided=False,
        temperature=1.0,
        rows=RowResults(labels, losses, codes, None, ones[None], np.ones(1), ones, points, map_rows),
        sizes=sizes,
        support=support(centers.Ms, sizes, np.ones(m, dtype=bool)),
        has=engine.summary.missing < 1,
        missing=engine.summary.missing,
        temperatures=np.ones(m),
        n_asked=c,
    )
    return replace(fitted, relatedness=fitted.related())


def _read_labels(y: Any, n: int) -> Array:
    values = column_or_1d(y)
    if len(values) != n:
        raise ValueError(f"y has {len(values)} labels, but X has {n} rows: one label per row is needed.")
    if values.dtype.kind not in "iu" or values.min() < -1 or values.max() < 0:
        wanted = "integers from 0, or -1 for rows that belong to no cluster"
        raise ValueError(f"y should contain {wanted}; got {values.dtype}, {values[:3].tolist()} …")
    return values.astype(np.int32)


def _counting(engine: Any, labels: Array) -> Array:
    """Give weight 1 to the rows that belong to a cluster, and 0 to the others; every task needs a cluster."""
    codes = host(engine.gather(engine.apply(task_indices, outputs=1)[0], np.intp))
    for k, task in enumerate(engine.labels.tolist()):
        if not np.any(labels[codes == k] >= 0):
            raise ValueError(f"y is -1 for all rows of task {task!r}: leave the task out, as it has no clusters.")
    return (labels >= 0).astype(np.float64)
