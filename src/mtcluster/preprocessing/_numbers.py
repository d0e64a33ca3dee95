"""Matrices of numbers: filling, TF-IDF weights and scaling, over all tasks or within each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._utils.tasks import encode_tasks, positions
from ..core.arrays import Array
from ._columns import TableError

MIN_ROWS = 20  # of a new task that is scaled by its own mean and standard deviation


class NumbersMixin:
    """The part of :class:`TablePreprocessor` that fills, weights and scales numbers."""

    scale: str
    impute: str | None
    tfidf: bool
    is_table_: bool
    scaler_: Any

    def _fit_numbers(self, X: Any, tasks: Any) -> Any:
        scale = self.scale if self.scale != "auto" else "standard" if self.is_table_ else "none"
        if scale != "none" and sparse.issparse(X):
            advice = "use scale='none', or tfidf=True for counts"
            raise TableError("scaling would make a sparse matrix dense", advice, kind="sparse")
        if self.tfidf and (X.data if sparse.issparse(X) else X).min(initial=0) < 0:
            raise TableError("some counts are negative", "set tfidf=False", kind="negative")
        impute = "passthrough" if self.impute is None else SimpleImputer(strategy=self.impute)
        weight = TfidfTransformer(sublinear_tf=True) if self.tfidf else "passthrough"
        self.filling_ = Pipeline([("impute", impute), ("tfidf", weight)])
        filled = self.filling_.fit_transform(X)
        if scale != "none":
            dense = _dense(filled)
            self.scaler_ = StandardScaler().fit(dense)
            if scale == "within" and tasks is not None:
                self.tasks_, codes = encode_tasks(tasks, len(dense))
                self.task_scalers_ = [self._own_scaler(dense[codes == k]) for k in range(len(self.tasks_))]
        return self._scaled(filled, tasks)

    def _own_scaler(self, X: Array, least: int = 1) -> StandardScaler:
        """Fit the scaler of one task; columns of fewer values are scaled as those of all tasks together."""
        few = np.count_nonzero(~np.isnan(X), axis=0) < least
        own = StandardScaler().fit(np.where(few, 0.0, X))
        for name in ("mean_", "var_", "scale_"):
            setattr(own, name, np.where(few, getattr(self.scaler_, name), getattr(own, name)))
        return own

    def _transform_numbers(self, X: Any, tasks: Any) -> Any:
        return self._scaled(self.filling_.transform(X), tasks)

    def _scaled(self, X: Any, tasks: Any) -> Any:
        if self.scaler_ is None:
            return X
        X = _dense(X)
        if not self.task_scalers_ or tasks is None:
            return self.scaler_.transform(X)
        labels, codes = encode_tasks(tasks, len(X))
        scaled = np.empty(X.shape)
        for k, known in enumerate(positions(labels.tolist(), self.tasks_.tolist())):
            own = X[codes == k]
            new = self._own_scaler(own, MIN_ROWS) if known is None and len(own) >= MIN_ROWS else self.scaler_
            scaled[codes == k] = (new if known is None else self.task_scalers_[known]).transform(own)
        return scaled

    def inverse_transform_centers(self, centers: Array, task: Any = None) -> Array:
        """Cluster centres in the units of the columns.

        Parameters
        ----------
        centers : ndarray of shape (n_clusters, n_features_out)
            Centres of clusters of the transformed rows.
        task : label, default=None
            The task that they belong to, for `scale="within"`; None for centres that all tasks share.

        Returns
        -------
        centers : ndarray of shape (n_clusters, n_features_out)
            The centres, with numbers in their own units; those of categories are shares of rows.
        """
        check_is_fitted(self)
        if self.scaler_ is None:
            return centers
        [known] = positions([task], self.tasks_.tolist())
        scaler = self.scaler_ if known is None else self.task_scalers_[known]
        found, k = np.array(centers, dtype=np.float64), scaler.n_features_in_
        found[:, :k] = scaler.inverse_transform(found[:, :k])
        return found


def _dense(X: Any) -> Array:
    return X.toarray() if sparse.issparse(X) else X
