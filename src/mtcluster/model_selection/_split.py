"""Cross-validation that knows tasks: splitters, and a scorer."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils.metadata_routing import UNUSED, MetadataRequest

from .._sklearn_compat import num_samples
from .._utils.tasks import column_of_tasks, encode_tasks
from ..core.arrays import Array
from ..metrics import joint_accuracy

__all__ = ["LeaveOneTaskOut", "TaskKFold", "joint_accuracy_scorer"]


class _TaskSplitter(BaseCrossValidator):
    """What the splitters share: they ask for `tasks`, and read them."""

    __metadata_request__split: ClassVar[dict[str, Any]] = {"tasks": True, "groups": UNUSED}

    def _read(self, X: Any, tasks: Any, groups: Any) -> tuple[Array, Array]:
        """Labels of the tasks, and the index of each row's."""
        tasks = groups if tasks is None else tasks
        if tasks is None:
            raise ValueError(
                f"{type(self).__name__} needs tasks, the task of each row. A search or cross_validate passes them on "
                "with sklearn.set_config(enable_metadata_routing=True)."
            )
        _, tasks = column_of_tasks(X, tasks)
        return encode_tasks(tasks, num_samples(tasks if X is None else X))


class TaskKFold(_TaskSplitter):
    """K-fold cross-validation in which every fold has its share of every task.

    Every task is in every training set, so the rows held out belong to tasks that the model knows.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of rows of the smallest task.
    shuffle : bool, default=False
        Whether rows are shuffled before they are split. False: the rows of a task go to the folds in their order.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.

    See Also
    --------
    LeaveOneTaskOut : Each fold is a task.
    joint_accuracy_scorer : A scorer for rows of known classes.

    Notes
    -----
    What a search can compare depends on the score. `model.score`, minus the mean loss of the rows held out, is
    comparable between models with the same loss: for `n_components`, `weighting`, `initial_fraction`, `init`. It always
    rises with `n_clusters`, and has another meaning under another `within_weight`, `task_offset` or `coupling`.
    `joint_accuracy_scorer` compares all of these, where classes are known; `select_n_clusters` chooses the number of
    clusters where they are not.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.model_selection import TaskKFold
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model = SPMTC(4, random_state=0).set_fit_request(tasks=True).set_score_request(tasks=True)
    ...     search = GridSearchCV(model, {"n_components": [1, 4]}, cv=TaskKFold(3)).fit(X, tasks=tasks)
    >>> search.best_params_
    {'n_components': 4}
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        if not isinstance(n_splits, Integral) or n_splits < 2:
            raise ValueError(f"n_splits={n_splits!r} should be a whole number of at least 2.")
        if random_state is not None and not shuffle:
            raise ValueError(f"random_state={random_state!r} does nothing without shuffle=True.")
        self.n_splits: int = int(n_splits)
        self.shuffle: bool = shuffle
        self.random_state: Any = random_state

    def split(self, X: Any, y: Any = None, tasks: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:
        """Generate rows to fit on, and rows to test on.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The rows; only their number matters.
        y : ignored
            Present for API consistency.
        tasks : sequence of n labels or str
            The task of each row, or the name of the column of a data frame X that holds it.
        groups : sequence of n labels, optional
            Used as `tasks` if these are None: the name that scikit-learn passes on without metadata routing.

        Yields
        ------
        train, test : arrays of int
            Indices of rows.
        """
        labels, codes = self._read(X, tasks, groups)
        sizes = np.bincount(codes, minlength=len(labels))
        if sizes.min() < self.n_splits:
            label = labels.tolist()[int(sizes.argmin())]
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {sizes.min()} row(s) of task {label!r}: take fewer splits, "
                "or leave the task out."
            )
        folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        yield from folds.split(np.zeros(len(codes)), codes)

    def get_n_splits(self, X: Any = None, y: Any = None, tasks: Any = None, groups: Any = None) -> int:
        """Number of folds.

        Parameters
        ----------
        X, y, tasks, groups : ignored
            Present for API consistency.

        Returns
        -------
        n_splits : int
            As set.
        """
        return self.n_splits


class LeaveOneTaskOut(_TaskSplitter):
    """Each task held out in turn: how well a model of the other tasks labels a new data set.

    The shared centres decide about rows of a task that was not in `fit`; where tasks have offsets, the new task is
    placed by its mean (see `SPMTC.predict`).

    See Also
    --------
    TaskKFold : Folds with a share of every task.

    Examples
    --------
    >>> from mtcluster.model_selection import LeaveOneTaskOut
    >>> [test.tolist() for _, test in LeaveOneTaskOut().split(range(5), tasks=["b", "a", "b", "a", "c"])]
    [[1, 3], [0, 2], [4]]
    """

    def split(self, X: Any, y: Any = None, tasks: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:
        """Generate rows to fit on, and the rows of one task to test on.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The rows; only their number matters.
        y : ignored
            Present for API consistency.
        tasks : sequence of n labels or str
            The task of each row, or the name of the column of a data frame X that holds it.
        groups : sequence of n labels, optional
            Used as `tasks` if these are None: the name that scikit-learn passes on without metadata routing.

        Yields
        ------
        train, test : arrays of int
            Indices of rows.
        """
        labels, codes = self._read(X, tasks, groups)
        if len(labels) < 2:
            raise ValueError(f"tasks holds one task, {labels.tolist()[0]!r}: at least 2 are needed.")
        for k in range(len(labels)):
            yield np.flatnonzero(codes != k), np.flatnonzero(codes == k)

    def get_n_splits(self, X: Any = None, y: Any = None, tasks: Any = None, groups: Any = None) -> int:
        """Number of tasks.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), optional
            The rows; only their number matters.
        y : ignored
            Present for API consistency.
        tasks : sequence of n labels or str
            The task of each row, or the name of the column of a data frame X that holds it.
        groups : sequence of n labels, optional
            Used as `tasks` if these are None.

        Returns
        -------
        n_splits : int
            How many different labels there are in `tasks`.
        """
        return len(self._read(X, tasks, groups)[0])


class _TaskScorer:
    """A score of labels that are predicted with the tasks of the rows, which it asks for."""

    def __init__(self, score: Any) -> None:
        self.score = score

    def __call__(self, estimator: Any, X: Any, y: Any, tasks: Any = None) -> float:
        """Compute the score of a fitted model on rows of known classes."""
        labels = estimator.predict(X) if tasks is None else estimator.predict(X, tasks=tasks)
        return float(self.score(y, labels, column_of_tasks(X, tasks)[1]))

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask for `tasks`."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="tasks", alias=True)
        return request

    def __repr__(self) -> str:
        return f"{self.score.__name__}_scorer"


joint_accuracy_scorer = _TaskScorer(joint_accuracy)
"""`mtcluster.metrics.joint_accuracy` as a scorer: for `scoring=` of a search over rows of known classes.

`make_scorer(joint_accuracy)` would predict without tasks, by the shared centres alone. This one passes the tasks of the
rows to `predict` as well::

    with sklearn.config_context(enable_metadata_routing=True):
        model = SPMTC(4).set_fit_request(tasks=True)
        grid = {"within_weight": [0.3, 0.7, "auto"]}
        GridSearchCV(model, grid, scoring=joint_accuracy_scorer, cv=TaskKFold(3)).fit(X, y, tasks=tasks)

In a pipeline, `predict` must be told to take them: `.set_predict_request(tasks=True)`.
"""
