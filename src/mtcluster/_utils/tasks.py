"""Labels of tasks: which task each row belongs to, and where the rows of a task stand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Array, host

Positions = slice | Array  # of the rows of a task, in the order in which all rows came


def encode_tasks(tasks: Any, n: int) -> tuple[Array, Array]:
    """Distinct labels, sorted where they can be, and for each row the index of its label."""
    if tasks is None:
        return np.array([0]), np.zeros(n, dtype=np.intp)
    if isinstance(tasks, str | bytes) or not hasattr(tasks, "__len__"):
        raise TypeError(f"tasks must be a sequence of {n} labels, one per row; got {tasks!r}.")
    if np.ma.isMaskedArray(tasks) and np.ma.is_masked(tasks):
        i = int(np.flatnonzero(np.ma.getmaskarray(tasks))[0])
        raise ValueError(f"tasks has a masked label at row {i}: every row needs a task.")
    tasks = np.ma.getdata(tasks) if np.ma.isMaskedArray(tasks) else tasks
    tasks = host(tasks) if hasattr(tasks, "__dlpack__") else tasks
    values = np.asarray(tasks) if hasattr(tasks, "__array__") else None
    if values is not None and values.ndim != 1:
        raise ValueError(f"tasks must be one-dimensional, one label per row; got an array of shape {values.shape}.")
    if len(tasks) != n:
        raise ValueError(f"tasks has {len(tasks)} labels for {n} rows: one label per row is needed.")
    if values is not None and values.dtype.kind in "biuSU":
        return np.unique(values, return_inverse=True)
    if values is not None and values.dtype.kind in "mM":  # nanoseconds would become whole numbers
        values = values.astype(f"{values.dtype.kind}8[us]")
    return _codes_of_objects(values.tolist() if values is not None else list(tasks))


def column_of_tasks(X: Any, tasks: Any) -> tuple[Any, Any]:
    """A data frame without the column that `tasks` names, and that column; both as they came if it names none."""
    if not isinstance(tasks, str) or as_parts(X, "X") is not None:
        return X, tasks
    if not hasattr(X, "columns"):
        raise TypeError(
            "tasks must be a sequence of labels, one per row, or where X is a data frame the name of a column; "
            f"got {tasks!r}, and X is a {type(X).__name__}."
        )
    names = list(X.columns)
    if tasks not in names:
        close = get_close_matches(tasks, [name for name in names if isinstance(name, str)], n=1)
        raise ValueError(f"tasks={tasks!r}: X has no such column{f'; did you mean {close[0]!r}?' if close else '.'}")
    if names.count(tasks) > 1:
        raise ValueError(f"tasks={tasks!r}: X has {names.count(tasks)} columns of that name, and one is needed.")
    rest = [name for name in names if name != tasks]
    if not rest:
        raise ValueError(f"tasks={tasks!r} is the only column of X: at least one feature is needed.")
    return X[rest], X[tasks]


def _codes_of_objects(items: list[Any]) -> tuple[Array, Array]:
    try:
        index: dict[Hashable, int] = {label: k for k, label in enumerate(dict.fromkeys(items))}
    except TypeError as error:
        i = next(i for i, item in enumerate(items) if not _is_hashable(item))
        found = f"row {i} holds {items[i]!r}"
        raise TypeError(f"tasks must hold hashable labels such as numbers or strings; {found}.") from error
    if any(map(_is_missing, index)):
        i = next(i for i, item in enumerate(items) if _is_missing(item))
        raise ValueError(f"tasks has a missing label at row {i} ({items[i]!r}): every row needs a task.")
    codes = np.fromiter(map(index.__getitem__, items), dtype=np.intp, count=len(items))
    labels = list(index)
    try:
        order = [index[label] for label in sorted(labels)]  # type: ignore[type-var]
    except TypeError:  # labels of several kinds: in the order in which they came
        order = list(range(len(labels)))
    rank = np.empty(len(labels), dtype=np.intp)
    rank[order] = np.arange(len(labels))
    return label_array([labels[i] for i in order]), rank[codes]


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def _is_missing(item: Any) -> bool:
    """None; NaN, NaT and pandas.NA differ from themselves, or cannot say."""
    try:
        return item is None or bool(item != item)
    except TypeError:
        return True


def label_array(labels: list[Hashable]) -> Array:
    """Labels as a one-dimensional array that keeps them what they are."""
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | bool | int | float | np.generic):
        found = np.asarray(labels)
        if found.dtype.kind != "U" or found.tolist() == labels:  # NumPy cuts zero characters at the end of texts
            return found
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def task_rows(codes: Array, n_tasks: int) -> list[Positions]:
    """Where the rows of each task stand: a slice where they stand together, else their indices in order."""
    order = np.argsort(codes, kind="stable")
    rows: list[Positions] = []
    end = 0
    for size in np.bincount(codes, minlength=n_tasks).tolist():
        index = order[end : end + size]
        together = size == 0 or index[-1] - index[0] + 1 == size
        first = int(index[0]) if size else 0
        rows.append(slice(first, first + size) if together else index)
        end += size
    return rows


def positions(labels: Iterable[Hashable], known: Iterable[Hashable]) -> list[int | None]:
    """The index of each label among the known ones, None for a label that is not."""
    index = {label: k for k, label in enumerate(known)}
    return [index.get(label) for label in labels]


def as_parts(X: Any, name: str, ndim: int = 2) -> dict[Hashable, Any] | None:
    """The data sets of a dict, or of a list whose items all have `ndim` dimensions; None for anything else."""
    if isinstance(X, Mapping) and not sparse.issparse(X):  # SciPy's DOK format is a dict
        if not X:
            raise ValueError(f"{name} is an empty dict: at least one task is needed.")
        return dict(X)
    if not isinstance(X, list | tuple) or not X:
        return None
    dimensions = [_ndim(item) for item in X]
    if all(n == ndim for n in dimensions):
        return dict(enumerate(X))
    if ndim in dimensions:
        odd = next(i for i, n in enumerate(dimensions) if n != ndim)
        raise ValueError(f"{name}[{odd}] has {dimensions[odd]} dimension(s), other items have {ndim}: all need {ndim}.")
    return None


def _ndim(item: Any) -> int:
    if hasattr(item, "shape"):
        return len(item.shape)
    if isinstance(item, list | tuple) and item:
        return 1 + _ndim(item[0])
    return 0
