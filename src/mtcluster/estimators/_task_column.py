"""Tasks that are a column of a data frame: taken out of X, remembered, and asked for again."""

from __future__ import annotations

from typing import Any

from .._utils.tasks import column_of_tasks


def read_column(estimator: Any, X: Any, tasks: Any, *, reset: bool) -> tuple[Any, Any]:
    """X without its column of tasks, and the task of each row; both as they came if `tasks` names no column.

    `reset` records the name of the column on the estimator, so that rows that still have it can be refused in words
    that help.
    """
    if reset:
        estimator.__dict__.pop("_task_column", None)
        if isinstance(tasks, str):
            estimator._task_column = tasks
    elif not isinstance(tasks, str):
        _check_left_out(estimator, X)
    return column_of_tasks(X, tasks)


def _check_left_out(estimator: Any, X: Any) -> None:
    """A column that held the tasks in fit is no feature."""
    name, known = getattr(estimator, "_task_column", None), getattr(estimator, "feature_names_in_", ())
    if name is None or name in known or name not in list(getattr(X, "columns", ())):
        return
    raise ValueError(
        "The feature names should match those that were passed during fit.\n"
        f"Feature names unseen at fit time:\n- {name}\n"
        f"In fit this column held the tasks: pass tasks={name!r}, or leave it out of X."
    )
