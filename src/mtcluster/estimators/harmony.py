"""Harmony, the integration method for single cells, followed by any scikit-learn clusterer."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags

from .._sklearn_compat import fit_context
from .._utils.restoring import restores
from ..core.arrays import is_sparse
from .baselines import _Baseline
from .input import read_tasks, warn_ignored


class Harmonized(_Baseline):
    """A clusterer fitted on the rows of all tasks after Harmony has brought them together.

    Harmony (Korsunsky et al., Nature Methods 2019) alternates soft clusters that mix the tasks with linear corrections
    per cluster and task. It is the library harmonypy with its defaults, but
    at least two clusters of its own. It corrects the rows that it is given and no
    others, so new rows cannot be labelled.

    Parameters
    ----------
    clusterer : estimator
        Any scikit-learn clusterer, for example `KMeans(3)`.
    random_state : int or None, default=0
        Determines random number generation of Harmony; None is 0.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each row.
    tasks_ : array of shape (m,)
        Labels of the tasks.
    embedding_ : array of shape (n, d)
        The corrected rows.
    estimator_ : estimator
        The clusterer, fitted on the corrected rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, where X had names that are all strings.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_Baseline._parameter_constraints,
        "random_state": [int, np.integer, None],
    }

    def __init__(self, clusterer: Any, random_state: int | None = 0) -> None:
        self.clusterer = clusterer
        self.random_state = random_state

    @restores
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, tasks: Any = None) -> Self:
        """Correct the rows, and fit the clusterer on them.

        Parameters
        ----------
        X : array or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task; usually principal components.
        y : ignored
            Present for API consistency.
        tasks : sequence of n hashable labels or str, optional
            The task of each row of X, in any order, or the name of the column of a data frame X that holds it.
            None: one task, in which nothing is corrected.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        try:
            from harmonypy import run_harmony
        except ImportError as error:
            raise ImportError("Harmony needs harmonypy: pip install 'mtcluster[harmony]'.") from error
        warn_ignored(X, y, tasks)
        data = read_tasks(self, X, tasks, reset=True)
        rows = data.stack()
        if is_sparse(rows):
            raise TypeError("X is sparse, and Harmony needs dense rows, such as principal components.")
        self.embedding_ = rows
        if len(data.labels) > 1:
            codes = data.join([np.full(size, k) for k, size in enumerate(data.sizes)])
            options = {"random_state": self.random_state or 0, "nclust": int(np.clip(round(data.n / 30), 2, 100))}
            found = run_harmony(rows.T, {"task": codes}, "task", verbose=False, ncores=1, **options)
            self.embedding_ = np.asarray(found.Z_corr, dtype=rows.dtype)
        self.estimator_, self.labels_ = self._fit_one(self.embedding_, None)
        self.tasks_ = data.labels
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
