"""Coordinates of rows in the shared subspace of a fitted model."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from sklearn.base import TransformerMixin
from sklearn.utils.metadata_routing import UNUSED

from ..core.arrays import Array, host
from ..core.centers import TINY
from ..core.projecting import axes_of, project


class ProjectingMixin(TransformerMixin):
    """`transform`, the same for every task."""

    # Tasks make no difference to the axes, so metadata routing need not pass them on.
    __metadata_request__transform: ClassVar[dict[str, Any]] = {"tasks": UNUSED}

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and return the coordinates of each row in the shared subspace.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task.
        y : ignored
            Present for API consistency.
        **fit_params : dict
            Further arguments of `fit`, such as `tasks`.

        Returns
        -------
        coordinates : array of shape (n, l)
            See `transform`.
        """
        me: Any = self
        return me.fit(X, y, **fit_params).transform(X, tasks=fit_params.get("tasks"))

    def transform(self, X: Any, *, tasks: Any = None) -> Array:
        """Coordinates of each row in the shared subspace: X W, or X S⁻¹ W with a shared metric.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows of any task.
        tasks : sequence of n hashable labels or str, optional
            The task of each row, which makes no difference, or the column of a data frame that is to be left out.

        Returns
        -------
        coordinates : array of shape (n, l)
            The same axes for every task.
        """
        me: Any = self
        engine, (model, centers) = me._open(X, tasks, "transform"), me._fitted()
        W, sizes = axes_of(model, centers), host(me.cluster_sizes_).sum(axis=0)
        middle = sizes @ centers.shared / max(float(sizes.sum()), TINY)
        return engine.gather(
            engine.apply(partial(project, W=W, middle=middle), outputs=1, lazy=True)[0], width=W.shape[1]
        )
