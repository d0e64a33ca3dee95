"""Any scikit-learn clusterer on tasks: on each separately, or on all rows together, as they are or centred."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._sklearn_compat import HasMethods, available_if, fit_context
from .._utils.restoring import restores
from .._utils.tasks import positions
from ..core.arrays import Array, Matrix, is_sparse
from ..engines import LocalData
from .input import Given, fit_predict, read_tasks, read_weights, warn_ignored


def _can_predict(self: PerTask) -> bool:
    return hasattr(self.clusterer, "predict")


class _Baseline(MetaEstimatorMixin, ClusterMixin, BaseEstimator):
    """What the two share: the parameter, and reading the data."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"clusterer": [HasMethods("fit_predict")]}

    def __init__(self, clusterer: Any) -> None:
        self.clusterer = clusterer

    fit_predict = fit_predict

    def _fit_one(self, X: Matrix, weights: Array | None) -> tuple[BaseEstimator, Array]:
        """A fitted clone and its labels; clusterers without `labels_`, such as mixtures, give theirs by fit_predict."""
        model = clone(self.clusterer)
        labels = model.fit_predict(X) if weights is None else model.fit_predict(X, sample_weight=weights)
        return model, np.asarray(labels)

    def _read_weights(self, sample_weight: Given, data: LocalData) -> list[Array | None]:
        if sample_weight is None:
            return [None] * len(data.Xs)
        if not has_fit_parameter(self.clusterer, "sample_weight"):
            raise ValueError(f"sample_weight was given, but {type(self.clusterer).__name__} does not take weights.")
        return list(read_weights(sample_weight, data, data.dtype))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.clusterer).input_tags.sparse
        return tags


class PerTask(_Baseline):
    """A clusterer fitted on each task separately; clusters of different tasks do not correspond.

    Parameters
    ----------
    clusterer : estimator
        Any scikit-learn clusterer, for example `KMeans(3)`. It is cloned for every task.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each row within its task.
    tasks_ : array of shape (m,)
        Labels of the tasks.
    estimators_ : list of m estimators
        The fitted clusterers, in the order of `tasks_`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, where X had names that are all strings.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from mtcluster import PerTask
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, random_state=0)
    >>> len(PerTask(KMeans(4, random_state=0)).fit(X, tasks=tasks).estimators_)
    3
    """

    @restores
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Fit one clusterer per task.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task.
        y : ignored
            Present for API consistency.
        tasks : sequence of n hashable labels or str, optional
            The task of each row of X, in any order, or the name of the column of a data frame X that holds it.
            None: one task.
        sample_weight : array of shape (n,), optional
            Weights of the rows, for clusterers that take them.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        warn_ignored(X, y, tasks)
        data = read_tasks(self, X, tasks, reset=True)
        fitted = []
        weights = self._read_weights(sample_weight, data)
        for k, label in enumerate(data.labels.tolist()):
            try:
                fitted.append(self._fit_one(data.matrix(k), weights[k]))
            except (TypeError, ValueError) as error:
                raise type(error)(f"task {label!r}: {error}") from error
        self.estimators_ = [model for model, _ in fitted]
        self.labels_ = data.join([labels for _, labels in fitted])
        self.tasks_ = data.labels
        return self

    @available_if(_can_predict)
    def predict(self, X: Any, *, tasks: Any = None) -> Array:
        """Cluster of each row, by the clusterer of its task.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels or str, optional
            The task of each row, which must have been in `fit`; None is allowed after a fit of one task.

        Returns
        -------
        labels : array of shape (n,)
            Cluster of each row within its task.
        """
        check_is_fitted(self)
        data = read_tasks(self, X, tasks, reset=False)
        if not data.named and len(self.tasks_) > 1:
            raise ValueError(
                f"tasks is None, but the clusterers of {len(self.tasks_)} tasks were fitted: pass the task of each row."
            )
        ks = positions(data.labels.tolist(), self.tasks_.tolist()) if data.named else [0]
        unknown = [label for label, k in zip(data.labels.tolist(), ks, strict=True) if k is None]
        if unknown:
            raise ValueError(
                f"tasks holds {unknown[0]!r}, which was not in fit: known tasks are {self.tasks_.tolist()}."
            )
        return data.join(
            [np.asarray(self.estimators_[k].predict(data.matrix(i))) for i, k in enumerate(ks) if k is not None]
        )


class Pooled(_Baseline):
    """A clusterer fitted on the rows of all tasks together, as if they were one data set.

    Parameters
    ----------
    clusterer : estimator
        Any scikit-learn clusterer, for example `KMeans(3)`.
    center : bool, default=False
        Whether the mean of each task is removed first. Right if tasks hold the same clusters in the same proportions
        and lie apart; wrong if their means differ because they hold different clusters. Dense rows only.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each row.
    tasks_ : array of shape (m,)
        Labels of the tasks.
    task_means_ : array of shape (m, d)
        What was removed from the rows of each task; only with `center=True`.
    estimator_ : estimator
        The fitted clusterer.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, where X had names that are all strings.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from mtcluster import Pooled
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, offset=2, random_state=0)
    >>> Pooled(KMeans(4, random_state=0)).fit(X, tasks=tasks).estimator_.cluster_centers_.shape
    (4, 10)
    >>> Pooled(KMeans(4, random_state=0), center=True).fit(X, tasks=tasks).task_means_.shape
    (3, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_Baseline._parameter_constraints, "center": ["boolean"]}

    def __init__(self, clusterer: Any, center: bool = False) -> None:
        self.clusterer = clusterer
        self.center = center

    @restores
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Fit one clusterer on all rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task.
        y : ignored
            Present for API consistency.
        tasks : sequence of n hashable labels or str, optional
            The task of each row of X, in any order, or the name of the column of a data frame X that holds it.
            None: one task.
        sample_weight : array of shape (n,), optional
            Weights of the rows, for clusterers that take them.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        warn_ignored(X, y, tasks)
        data = read_tasks(self, X, tasks, reset=True)
        weights = self._read_weights(sample_weight, data)
        joined = data.join([w for w in weights if w is not None]) if weights[0] is not None else None
        rows = data.stack()
        if self.center:
            self.task_means_ = np.stack([_mean(data.matrix(k), w) for k, w in enumerate(weights)])
            rows = _centered(data, self.task_means_)
        self.estimator_, self.labels_ = self._fit_one(rows, joined)
        self.tasks_ = data.labels
        return self

    @available_if(_can_predict)
    def predict(self, X: Any, *, tasks: Any = None) -> Array:
        """Cluster of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels or str, optional
            The task of each row. It makes no difference unless `center=True`: then the mean that the task had in `fit`
            is removed from its rows, and from those of a task that was not in `fit` their own mean.

        Returns
        -------
        labels : array of shape (n,)
            Cluster of each row.
        """
        check_is_fitted(self)
        data = read_tasks(self, X, tasks, reset=False)
        if not self.center:
            return np.asarray(self.estimator_.predict(data.stack()))
        known = self.tasks_.tolist()
        ks = positions(data.labels.tolist(), known) if data.named else [0 if len(known) == 1 else None]
        means = [_mean(data.matrix(i)) if k is None else self.task_means_[k] for i, k in enumerate(ks)]
        return np.asarray(self.estimator_.predict(_centered(data, np.stack(means))))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= not self.center
        return tags


def _mean(X: Matrix, weights: Array | None = None) -> Array:
    if is_sparse(X):
        raise TypeError("X is sparse, and center=True would fill it: give dense rows, or fewer and dense features.")
    return np.average(X, axis=0, weights=weights)


def _centered(data: LocalData, means: Array) -> Array:
    """Return all rows in their order, without the mean of their task."""
    return data.join([data.matrix(k) - mean.astype(data.dtype) for k, mean in enumerate(means)])
