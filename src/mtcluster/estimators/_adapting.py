"""New tasks join a fitted model."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from .._utils.tasks import as_parts
from ..core.arrays import host
from ..core.memberships import FORMS
from ._extended import all_tasks, set_adapted
from ._fitted import FittedModelMixin
from ._novelty import RATE, check_novelty
from ._validation import check_counting, check_range, check_values

CHOICES = ("flag", "none", "new")


class AdaptingMixin(FittedModelMixin):
    """What lets a fitted model serve further tasks."""

    _pools_tasks: ClassVar[bool]

    def adapt(
        self,
        X: Any,
        *,
        tasks: Any = None,
        novelty: str = "flag",
        novelty_rate: float = RATE,
        update: bool = False,
    ) -> Self:
        """A new model that serves further tasks too; this one does not change.

        A task that joins is placed by its clusters: where it lies, which of the known clusters it holds, and its own
        centres are found from its rows, as in a fit, while the other tasks stay as they are. Nothing of the rows of
        `fit` is needed. A task of fewer than 5 rows per cluster lies where the shared centres do.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict of them
            Rows of new tasks.
        tasks : sequence of n hashable labels or str, optional
            The task of each row. None: X is a dict of tasks.
        novelty : {"flag", "none", "new"}, default="flag"
            What to do with rows that no cluster explains: those with a larger loss than ordinary rows have, and groups
            of rows that lie apart from all known clusters, more than parts of tasks of the fit do. "flag": their label
            is -1. "new": groups become clusters, after the last number; other rows get -1. "none": each row gets a
            known cluster. If most rows of a task are like that, a warning says so, and none gets -1.
        novelty_rate : float in (0, 1), default=0.01
            Share of ordinary rows that get -1 by their loss.
        update : bool, default=False
            Whether the shared centres follow the new rows, as if these had been in the fit with the same labels. Rows
            of known tasks are then allowed too: they add to their task.

        Returns
        -------
        model : object
            A fitted model of the same class. Attributes with a value per task hold the new tasks after the old ones;
            those with a value per row are those of X. Cluster numbers are the same. `joined_` (m,) tells which tasks
            joined after the fit, `group_centers_` (g, d) and `group_tasks_` (g,) are the centres of groups
            that no cluster explains, and the index of their task.
        """
        check_is_fitted(self)
        check_novelty(novelty, novelty_rate, CHOICES)
        self._check_adaptable(X, tasks, novelty, update)
        engine = self._open(X, tasks, "adapt")
        check_values(engine)
        check_counting(engine.labels, engine.sizes, engine.summary.counting)
        check_range(engine)
        known = set(host(self.tasks_).tolist())
        again = [label for label in engine.labels.tolist() if label in known]
        if again and not update:
            raise ValueError(
                f"tasks holds {again[0]!r}, which the model knows: update=True lets its rows add to it, predict labels "
                "them, and a task of its own needs another name."
            )
        with engine:
            placed = self._place(engine, novelty_rate, expected=True)
            parts = all_tasks(self, placed, open_groups=novelty == "new")
            new = copy(self)
            new.novelty_, new.novelty_rate_ = ("none" if novelty == "none" else "flag"), float(novelty_rate)
            set_adapted(new, engine, placed, parts, update)
        return new

    def _check_adaptable(self, X: Any, tasks: Any, novelty: str, update: bool) -> None:
        name = type(self).__name__
        if self._pools_tasks:
            raise TypeError(f"{name} pools the rows of all tasks, so no task can join it: use predict, or SPMTC.")
        if tasks is None and as_parts(X, "X") is None:
            raise ValueError("tasks=None needs X to be a dict of tasks: give the task of each row.")
        plain = self.decisions_.coupling == "reconstruction" and FORMS[self.membership_].diagonal
        if novelty == "new" and not plain:
            raise ValueError(
                f"novelty='new' needs clusters that are centres of rows: coupling={self.decisions_.coupling!r} with "
                f"membership={self.membership_!r} has none; use novelty='flag'."
            )
