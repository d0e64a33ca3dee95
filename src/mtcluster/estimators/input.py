"""The one door for data: whatever form tasks come in, they leave checked and split by task, on an engine."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._utils.tasks import Positions, as_parts, column_of_tasks, encode_tasks, label_array, task_rows
from ..core.arrays import Array, ColumnPlaces, Summary, host
from ..engines import Engine, LocalData, LocalEngine, engine_of
from .matrices import (
    check_finite,
    columns_of,
    in_double,
    library,
    matched,
    matrix_of,
    named_error,
    near,
    numbers_in,
    places,
    quoted,
    record,
    rows_of,
)  # fmt: skip
from .progress import warn_user

MANY_ROWS = 20  # from which so many tasks cannot be meant
HEADROOM = 1e4  # factor by which sums of squares may grow on the way
LOST_DIGITS = 1e-6  # part of the spread of rows that rounding may take
Given = Any  # what a user passed: an array, a sparse matrix or a data frame, one for all tasks or one for each
OUT_OF_RANGE = "X cannot be fitted in its floating type ({}): its columns differ too much in scale. Rescale them."
COPIED = 2**21  # numbers of a matrix up to which rows that stand apart are copied, one task after the other


def open_rows(
    estimator: BaseEstimator,
    X: Any,
    tasks: Any,
    *,
    reset: bool,
    sample_weight: Any = None,
    pooled: bool = False,
    centered: bool = True,
    n_jobs: int | None = None,
    threads: bool = True,
) -> Engine:
    """Return the one door: whatever X is, checked and split by task, on the engine that works on such arrays.

    `reset` records the features on the estimator, otherwise they are compared with those it has. `pooled`: all rows
    are one task. `centered`: losses may be computed from the mean of each task instead of 0; if not, rows of single
    precision are taken in double precision where they lie so far from 0 that their losses would be rounding.
    """
    X, tasks = read_column(estimator, X, tasks, reset=reset)
    dtype = getattr(getattr(estimator, "task_centers_", None), "dtype", None)
    if not centered and not reset and "float64" in str(dtype):
        X = in_double(X)

    def opened(X: Any) -> Engine:
        engine = engine_of(X)
        if engine is not None:
            features = _Features(estimator, reset)
            return engine.read(X, tasks, sample_weight, features, pooled=pooled, centered=centered)
        data = _read_local(estimator, X, tasks, reset=reset, missing=True)
        us = read_weights(sample_weight, data, data.dtype)
        if pooled:
            data, us = data.pooled(), [data.join(us)]
        return LocalEngine(data, us, centered=centered, n_jobs=n_jobs, threads=threads)

    found = opened(X)
    if not centered and reset and "float32" in str(found.dtype) and loses_digits(found.summary):
        return opened(in_double(X))
    return found


class _Features:
    """Records the features of the first data set on an estimator, and compares those of others with them."""

    def __init__(self, estimator: BaseEstimator, reset: bool) -> None:
        self.estimator, self.reset = estimator, reset

    def __call__(self, n_features: int, columns: Any) -> None:
        stand_in: Any = np.zeros((1, n_features))
        if columns is not None:
            import pandas as pd

            stand_in = pd.DataFrame(stand_in, columns=list(columns))
        validate_data(self.estimator, stand_in, reset=self.reset, skip_check_array=True)
        self.reset = False

    def matched(self, parts: dict[Hashable, Any]) -> dict[Hashable, ColumnPlaces] | None:
        """Tell where the columns of data sets stand, if they are matched by name; None: all have the same."""
        columns = columns_of(self.estimator, parts, reset=self.reset)
        names = matched(self.estimator, columns, reset=self.reset)
        if names is None:
            return None
        if self.reset:
            record(self.estimator, names)
            self.reset = False
        return {key: places(own, names, f"X[{key!r}]") for key, own in columns.items() if own is not None}


def check_counting(labels: Array, sizes: list[int], counting: Any) -> None:
    """Every task needs a row with positive weight."""
    for label, size, count in zip(labels, sizes, counting, strict=True):
        if not count:
            raise ValueError(
                f"sample_weight is zero for all {size} rows of task {quoted(label)}: "
                "at least one needs a positive weight."
            )


def warn_small(engine: Engine) -> None:
    """Say that tasks of one row or two cannot be compared: what differs between them is taken for their location."""
    m, n = len(engine.sizes), int(sum(engine.sizes))
    if n >= MANY_ROWS and 2 * m > n:
        warn_user(
            f"There are {m} tasks of {n} rows, so the labels mean little: a task is a group of rows, and differences "
            "between tasks are taken for their location. Are these the right tasks? One group of rows needs none."
        )


def check_gaps(estimator: BaseEstimator, engine: Engine) -> None:
    """Every column and every task needs a value."""
    if not engine.gaps:
        return
    empty = np.flatnonzero(engine.summary.observed.sum(axis=0) == 0)
    if len(empty):
        names = getattr(estimator, "feature_names_in_", np.arange(engine.n_features))[empty]
        shown = ", ".join(repr(name) for name in names[:5].tolist()) + (", …" if len(empty) > 5 else "")
        raise ValueError(f"X has {len(empty)} column(s) without any value: {shown}. Leave them out.")
    check_values(engine)


def check_range(engine: Engine) -> None:
    """Squares of values and weights, and their sums, must not overflow in the floating type of the rows, nor vanish."""
    seen, limits = engine.summary, np.finfo(str(engine.dtype).rpartition(".")[2])
    total, largest = float(seen.sizes.sum()), float(limits.max) / HEADROOM
    most = (float(np.finfo(np.float32).max) / HEADROOM) ** 0.5  # members of a fit may be in single precision
    for label, size in zip(engine.labels, seen.sizes, strict=True):
        if not 1 / most < size < most:
            raise ValueError(
                f"sample_weight adds up to {size:.1e} in task {quoted(label)}; that should be between {1 / most:.0e} "
                f"and {most:.0e}: rescale the weights."
            )
    if not max(float(seen.energy), float(seen.longest)) < largest:
        weights = " together with sample_weight" * (total != sum(engine.sizes))
        longest = float(seen.longest) ** 0.5
        told = f": the norm of the longest row is {longest:.1e}" if np.isfinite(longest) else ""
        raise ValueError(f"X{weights} holds values whose squares overflow in {limits.dtype}{told}. Rescale X.")
    if seen.energy < total * float(limits.tiny) * HEADROOM and np.any(seen.sums):
        longest = float(seen.longest) ** 0.5
        raise ValueError(
            f"X holds values so small that their squares vanish in {limits.dtype}: the norm of the longest row is "
            f"{longest:.1e}. Rescale X."
        )


@contextmanager
def within_range() -> Iterator[None]:
    """Decompositions that fail, because numbers left the range of their type on the way, are told as what they are."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(OUT_OF_RANGE.format(error)) from error


def loses_digits(seen: Summary) -> bool:
    """Tell whether squares of rows of single precision are rounded by more than a part of their spread within tasks."""
    sizes = np.maximum(seen.sizes, np.finfo(np.float64).tiny)
    length = float(seen.energy) / float(sizes.sum())
    spread = length - float(np.sum(np.sum(seen.sums**2, axis=1) / sizes)) / float(sizes.sum())
    return bool(np.finfo(np.float32).eps * length > LOST_DIGITS * spread)


def check_values(engine: Engine) -> None:
    """Every task needs a value."""
    if not engine.gaps:
        return
    for label, size, values in zip(engine.labels, engine.sizes, engine.summary.observed, strict=True):
        if not values.any():
            raise ValueError(f"X has no value in any of the {size} row(s) of task {quoted(label)}: leave the task out.")


def read_tasks(estimator: BaseEstimator, X: Any, tasks: Any = None, *, reset: bool, missing: bool = False) -> LocalData:
    """Validate X and split it by task, in this process.

    X is one matrix with `tasks`, a label for each row or the name of a column (None: one task), or a dict or list of
    matrices, one per task. `reset` records the features on the estimator, otherwise they are compared with those it
    has. `missing`: dense X may hold NaN, and data frames may have other columns.
    """
    X, tasks = read_column(estimator, X, tasks, reset=reset)
    return _read_local(estimator, X, tasks, reset=reset, missing=missing)


def _read_local(estimator: BaseEstimator, X: Any, tasks: Any, *, reset: bool, missing: bool) -> LocalData:
    """Compute X as it is, without a column of tasks, split by task."""
    parts = as_parts(X, "X")
    if parts is None:
        known = getattr(estimator, "feature_names_in_", None)
        if missing and not reset and known is not None and _has_mosaic(estimator) and hasattr(X, "columns"):
            columns = places(list(X.columns), list(known), "X")
            X = columns.place(matrix_of(estimator, X, "X", reset=False, first=False))
        else:
            X = matrix_of(estimator, X, "X", reset=reset)
        labels, codes = encode_tasks(tasks, int(X.shape[0]))
        data = _split(X, labels, codes, named=tasks is not None)
    else:
        if tasks is not None:
            raise ValueError("tasks must be None when X is a dict or a list of data sets: its items are the tasks.")
        data = _stack_of(estimator, parts, reset=reset, missing=missing)
    names = ["X"] * len(data.Xs) if parts is None else [f"X[{key!r}]" for key in parts]
    check_finite(data, names, missing=missing)
    return data


def _has_mosaic(estimator: BaseEstimator) -> bool:
    """Tell whether the tasks of the fit had other columns."""
    fitted = getattr(estimator, "fitted_", None)
    return fitted is not None and not bool(fitted.has.all())


def read_weights(sample_weight: Any, data: LocalData, dtype: Any) -> list[Array]:
    """Sample weights of each task; they must be non-negative and not all zero in any task."""
    if sample_weight is None:
        return [np.ones(X.shape[0], dtype=dtype) for X in data.Xs]
    parts = as_parts(sample_weight, "sample_weight", ndim=1)
    if parts is not None:
        sample_weight = _weights_by_task(parts, data)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(data.n, sample_weight)
    try:
        with np.errstate(over="ignore"):  # what is infinite is refused
            weights = check_array(
                near(sample_weight), ensure_2d=False, dtype=dtype, allow_nd=True, input_name="sample_weight"
            )
    except (TypeError, ValueError) as error:
        raise named_error(error, sample_weight, "sample_weight") from error
    if weights.shape != (data.n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but X has {data.n} rows: one weight per row is needed."
        )
    split = data.split(weights)
    for label, part in zip(data.labels, split, strict=True):
        if np.any(part < 0):
            raise ValueError(f"sample_weight must not be negative: task {quoted(label)} has a weight of {part.min()}.")
    check_counting(data.labels, data.sizes, [np.count_nonzero(part) for part in split])
    return split


def _weights_by_task(parts: dict[Hashable, Any], data: LocalData) -> Array:
    """Return weights that came as a dict or list, in the order of the rows."""
    labels = data.labels.tolist()
    if set(parts) != set(labels):
        raise ValueError(f"sample_weight has the tasks {list(parts)}, but X has {labels}: the same are needed.")
    arrays = [np.asarray(parts[label]) for label in labels]
    for label, array, X in zip(labels, arrays, data.Xs, strict=True):
        if array.shape != (X.shape[0],):
            raise ValueError(
                f"sample_weight[{label!r}] has shape {array.shape}, but task {label!r} has {X.shape[0]} rows."
            )
    return data.join(arrays)


def check_start(init: Any, dtype: Any, labels_only: bool) -> Array:
    """Return memberships (n, c) that the user gave as `init`, or the labels that they mean."""
    try:
        P = check_array(near(init), dtype=dtype, input_name="init", ensure_min_samples=0)
    except (TypeError, ValueError) as error:
        raise named_error(error, init, "init") from error
    if np.any(P < 0) or np.any(P.sum(axis=1) == 0):
        raise ValueError("init must hold non-negative memberships, with at least one positive entry in each row.")
    return np.argmax(P, axis=1) if labels_only else P


def _stack_of(estimator: BaseEstimator, parts: dict[Hashable, Any], *, reset: bool, missing: bool) -> LocalData:
    """Get data sets that came apart; data frames with other columns, or another order of them, are matched by name."""
    columns = columns_of(estimator, parts, reset=reset) if missing else {}
    names = matched(estimator, columns, reset=reset) if missing else None
    if names is None:
        return _joined(_alike(estimator, parts, reset=reset), parts)
    if reset:
        record(estimator, names)
    Xs, known = [], host(getattr(estimator, "tasks_", ())).tolist()
    for key, part in parts.items():
        X = matrix_of(estimator, part, f"X[{key!r}]", reset=False, first=False)
        new = not reset and key not in known
        Xs.append(places(columns[key] or [], names, f"X[{key!r}]", new=new).place(X))
    return _joined(Xs, parts)


def _alike(estimator: BaseEstimator, parts: dict[Hashable, Any], *, reset: bool) -> list[Any]:
    """Return data sets with the same columns as matrices."""
    Xs: list[Any] = []
    first_key = next(iter(parts))
    columns = None if reset else getattr(estimator, "feature_names_in_", None)
    for key, part in parts.items():
        name = f"X[{key!r}]"
        X = matrix_of(estimator, part, name, reset=reset, first=not Xs)
        if Xs and X.shape[1] != Xs[0].shape[1]:
            raise ValueError(
                f"{name} has {X.shape[1]} features, but X[{first_key!r}] has {Xs[0].shape[1]}: "
                "every task needs the same features."
                + " match='geometry' matches clusters without a common column."
                * hasattr(estimator, "match")
            )
        if hasattr(part, "columns"):
            columns = list(part.columns) if columns is None else columns
            _check_columns(list(part.columns), list(columns), name)
        Xs.append(X)
    return Xs


def _joined(Xs: list[Any], parts: dict[Hashable, Any]) -> LocalData:
    """Return matrices of all tasks, one after the other, of one library and type."""
    xp = library(Xs[0])
    if any(library(X) is not xp for X in Xs):
        raise TypeError("X holds arrays of several libraries: all tasks need the same.")
    if xp is np:
        dtype = np.result_type(*Xs)
        Xs = [X.astype(dtype, copy=False) for X in Xs]
    elif len({str(X.dtype) for X in Xs}) > 1:
        Xs = [X if X.dtype == xp.float64 else xp.astype(X, xp.float64) for X in Xs]
    ends = np.cumsum([X.shape[0] for X in Xs])
    rows: list[Positions] = [slice(int(end) - X.shape[0], int(end)) for X, end in zip(Xs, ends, strict=True)]
    return LocalData(label_array(list(parts)), Xs, rows, int(ends[-1]), xp=xp)


def _check_columns(own: list[Any], others: list[Any], name: str) -> None:
    if own != others:
        odd = [str(column) for column in own if column not in others] or ["the same names in another order"]
        raise ValueError(
            f"{name} has other columns than the tasks before it or in fit ({', '.join(odd[:5])}): "
            "every task needs the same features in the same order."
        )


def _split(X: Any, labels: Array, codes: Array, named: bool) -> LocalData:
    """Return rows of each task, from one matrix."""
    xp, n = library(X), int(X.shape[0])
    if len(labels) == 1:
        return LocalData(labels, [X], [slice(0, n)], n, named, X, xp)
    rows = task_rows(codes, len(labels))
    lazy = numbers_in(X) > COPIED
    return LocalData(labels, [rows_of(X, r, xp, lazy) for r in rows], rows, n, source=X, xp=xp)


def read_column(estimator: BaseEstimator, X: Any, tasks: Any, *, reset: bool) -> tuple[Any, Any]:
    """Compute X without its column of tasks, and the task of each row; both as they came if `tasks` names no column.

    `reset` records the name of the column on the estimator, so that rows that still have it can be refused in words
    that help.
    """
    if reset:
        estimator.__dict__.pop("_task_column", None)
        if isinstance(tasks, str):
            estimator.__dict__["_task_column"] = tasks
    elif not isinstance(tasks, str):
        _check_left_out(estimator, X)
    return column_of_tasks(X, tasks)


def _check_left_out(estimator: BaseEstimator, X: Any) -> None:
    """A column that held the tasks in fit is no feature."""
    name, known = getattr(estimator, "_task_column", None), getattr(estimator, "feature_names_in_", ())
    if name is None or name in known or name not in list(getattr(X, "columns", ())):
        return
    raise ValueError(
        "The feature names should match those that were passed during fit.\n"
        f"Feature names unseen at fit time:\n- {name}\n"
        f"In fit this column held the tasks: pass tasks={name!r}, or leave it out of X."
    )


def warn_ignored(X: Any, y: Any, tasks: Any) -> None:
    """Warn where y was given and no tasks: the second argument of `fit` may have been meant as them."""
    if y is not None and tasks is None and as_parts(X, "X") is None:
        warn_user("y is ignored and all rows are one task: pass the groups as fit(X, tasks=groups).")


def fit_predict(self: Any, X: Any, y: Any = None, **kwargs: Any) -> Array:
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
    labels: Array = self.fit(X, **kwargs).labels_
    return labels
