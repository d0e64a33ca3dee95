"""Rows of several tasks with their known classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class TaskSet:
    """Rows of several tasks; `X, y, tasks = task_set` unpacks it.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        All rows.
    y : array of shape (n,)
        Known classes, for scoring only; −1 for outliers and where they are not known.
    tasks : array of shape (n,)
        The task of each row.
    name : str
        Name of the set.
    class_names, feature_names : list of str
        Names, where they are known.
    """

    X: Any
    y: Array
    tasks: Array
    name: str = ""
    class_names: list[str] = field(default_factory=list)
    feature_names: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.tasks))

    @property
    def n_classes(self) -> int:
        """Number of classes, outliers excluded."""
        return len(np.unique(self.y[self.y >= 0]))
