"""The argument y, which clusterers ignore: groups that come in its place are not lost in silence."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClusterMixin

from .._utils.tasks import as_parts
from ..core.arrays import Array
from ._progress import warn_user


def warn_ignored(X: Any, y: Any, tasks: Any) -> None:
    """Warn where y was given and no tasks: the second argument of `fit` may have been meant as them."""
    if y is not None and tasks is None and as_parts(X, "X") is None:
        warn_user("y is ignored and all rows are one task: pass the groups as fit(X, tasks=groups).")


class TaskClusterMixin(ClusterMixin):
    """`fit_predict`, for clusterers of tasks."""

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Array:
        """Cluster all tasks, and return the cluster of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task.
        y : ignored
            Present for API consistency.
        **kwargs : dict
            Further arguments of `fit`, such as `tasks`.

        Returns
        -------
        labels : array of shape (n,)
            The cluster of each row, `labels_`.
        """
        warn_ignored(X, y, kwargs.get("tasks"))
        return super().fit_predict(X, **kwargs)
