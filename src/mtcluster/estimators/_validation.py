"""The one door for data: whatever form tasks come in, they leave checked and split by task, on an engine."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._sklearn_compat import get_config, get_namespace
from .._utils.tasks import Positions, as_parts, encode_tasks, label_array, task_rows
from ..core.arrays import Array, Columns, Picked, host, is_sparse, not_finite, pieces, rows_at
from ..engines import Engine, LocalData, LocalEngine, engine_of
from ._columns import columns_of, matched, places, record

COPIED = 2**21  # numbers of a matrix up to which rows that stand apart are copied, one task after the other


def open_rows(
    estimator: Any,
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
    """The one door: whatever X is, checked and split by task, on the engine that works on such arrays.

    `reset` records the features on the estimator, otherwise they are compared with those it has. `pooled`: all rows
    are one task. `centered`: losses may be computed from the mean of each task instead of 0.
    """
    engine = engine_of(X)
    if engine is not None:
        features = _Features(estimator, reset)
        return engine.read(X, tasks, sample_weight, features, pooled=pooled, centered=centered)
    data = read_tasks(estimator, X, tasks, reset=reset, missing=True)
    us = read_weights(sample_weight, data, data.dtype)
    if pooled:
        data, us = data.pooled(), [data.join(us)]
    return LocalEngine(data, us, centered=centered, n_jobs=n_jobs, threads=threads)


class _Features:
    """Records the features of the first data set on an estimator, and compares those of others with them."""

    def __init__(self, estimator: Any, reset: bool) -> None:
        self.estimator, self.reset = estimator, reset

    def __call__(self, n_features: int, columns: Any) -> None:
        stand_in: Any = np.zeros((1, n_features))
        if columns is not None:
            import pandas as pd

            stand_in = pd.DataFrame(stand_in, columns=list(columns))
        validate_data(self.estimator, stand_in, reset=self.reset, skip_check_array=True)
        self.reset = False

    def matched(self, parts: dict[Hashable, Any]) -> dict[Hashable, Columns] | None:
        """Where the columns of data sets stand, if they are matched by name; None: all have the same."""
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
                f"sample_weight is zero for all {size} rows of task {_name(label)}: "
                "at least one needs a positive weight."
            )


def check_gaps(estimator: Any, engine: Engine) -> None:
    """Every column and every task needs a value."""
    if not engine.gaps:
        return
    empty = np.flatnonzero(engine.summary.observed.sum(axis=0) == 0)
    if len(empty):
        names = getattr(estimator, "feature_names_in_", np.arange(engine.n_features))[empty]
        shown = ", ".join(repr(name) for name in names[:5].tolist()) + (", …" if len(empty) > 5 else "")
        raise ValueError(f"X has {len(empty)} column(s) without any value: {shown}. Leave them out.")
    check_values(engine)


def check_values(engine: Engine) -> None:
    """Every task needs a value."""
    if not engine.gaps:
        return
    for label, size, values in zip(engine.labels, engine.sizes, engine.summary.observed, strict=True):
        if not values.any():
            raise ValueError(f"X has no value in any of the {size} row(s) of task {_name(label)}: leave the task out.")


def read_tasks(estimator: Any, X: Any, tasks: Any = None, *, reset: bool, missing: bool = False) -> LocalData:
    """Validate X and split it by task.

    X is one matrix with `tasks`, a label for each row (None: one task), or a dict or list of matrices, one per task.
    `reset` records the features on the estimator, otherwise they are compared with those it has. `missing`: dense X may
    hold NaN, and data frames may have other columns.
    """
    parts = as_parts(X, "X")
    if parts is None:
        if missing and not reset and _has_mosaic(estimator) and hasattr(X, "columns"):
            columns = places(list(X.columns), list(estimator.feature_names_in_), "X")
            X = columns.place(_matrix(estimator, X, "X", reset=False, first=False))
        else:
            X = _matrix(estimator, X, "X", reset=reset)
        labels, codes = encode_tasks(tasks, int(X.shape[0]))
        data = _split(X, labels, codes, named=tasks is not None)
    else:
        if tasks is not None:
            raise ValueError("tasks must be None when X is a dict or a list of data sets: its items are the tasks.")
        data = _stack_of(estimator, parts, reset=reset, missing=missing)
    names = ["X"] * len(data.Xs) if parts is None else [f"X[{key!r}]" for key in parts]
    _check_finite(data, names, missing=missing)
    return data


def _has_mosaic(estimator: Any) -> bool:
    """Whether the tasks of the fit had other columns."""
    has = getattr(estimator, "feature_presence_", None)
    return has is not None and not bool(np.all(host(has)))


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
            raise ValueError(f"sample_weight must not be negative: task {_name(label)} has a weight of {part.min()}.")
    check_counting(data.labels, data.sizes, [np.count_nonzero(part) for part in split])
    return split


def _weights_by_task(parts: dict[Hashable, Any], data: LocalData) -> Array:
    """Weights that came as a dict or list, in the order of the rows."""
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
    """Memberships (n, c) that the user gave as `init`, or the labels that they mean."""
    try:
        P = check_array(near(init), dtype=dtype, input_name="init", ensure_min_samples=0)
    except (TypeError, ValueError) as error:
        raise named_error(error, init, "init") from error
    if np.any(P < 0) or np.any(P.sum(axis=1) == 0):
        raise ValueError("init must hold non-negative memberships, with at least one positive entry in each row.")
    return np.argmax(P, axis=1) if labels_only else P


def library(X: Any) -> Any:
    """The array library that X is computed with: NumPy, unless scikit-learn's array API dispatch is on."""
    if sparse.issparse(X):
        return np
    values = X.data if is_sparse(X) else X
    if isinstance(values, np.ndarray) or not hasattr(values, "dtype") or not hasattr(values, "device"):
        return np
    xp, dispatched = get_namespace(values)
    return xp if dispatched else np


def near(values: Any) -> Any:
    """What a user gave beside X, in NumPy's memory if it is an array of another library."""
    return host(values) if hasattr(values, "__dlpack__") else values


def is_device_sparse(X: Any, name: str) -> bool:
    """Whether X is one of CuPy's sparse matrices; sparse arrays of other libraries are refused."""
    module = type(X).__module__.split(".")[0]
    if module == "torch" and str(getattr(X, "layout", "torch.strided")) != "torch.strided":
        raise TypeError(
            f"{name} is a sparse PyTorch tensor ({X.layout}): of the libraries for accelerators only CuPy's sparse "
            "matrices are supported. Give a dense tensor, a cupyx.scipy.sparse or a scipy.sparse matrix."
        )
    if module != "cupyx":
        return False
    if not get_config()["array_api_dispatch"]:
        raise TypeError(
            f"{name} is a sparse matrix of CuPy's: sklearn.set_config(array_api_dispatch=True) lets it be computed on "
            f"where it is; {name}.get() is SciPy's, for the CPU."
        )
    return True


def _device_csr(estimator: Any, X: Any, *, reset: bool) -> Any:
    """One of CuPy's sparse matrices as CSR of floats, its features recorded or compared."""
    validate_data(estimator, np.zeros((1, X.shape[1])), reset=reset, skip_check_array=True)
    X = X.tocsr()
    X.sum_duplicates()
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _matrix(estimator: Any, X: Any, name: str, *, reset: bool, first: bool = True) -> Any:
    """One validated matrix, dense or CSR, float64 or float32; the first of several sets the estimator's features."""
    _check_dates(X, name)
    if is_device_sparse(X, name):
        return _device_csr(estimator, X, reset=reset)
    xp = library(X)
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [xp.float64, xp.float32], "ensure_all_finite": False}
    try:
        checked = validate_data(estimator, X, reset=reset, **options) if first else check_array(X, **options)
    except (TypeError, ValueError) as error:
        raise named_error(error, X, name) from error
    if sparse.issparse(checked) and not checked.has_canonical_format:
        checked = checked.copy()
        checked.sum_duplicates()
    return checked


def _stack_of(estimator: Any, parts: dict[Hashable, Any], *, reset: bool, missing: bool) -> LocalData:
    """Data sets that came apart; data frames with other columns, or another order of them, are matched by name."""
    columns = columns_of(estimator, parts, reset=reset) if missing else {}
    names = matched(estimator, columns, reset=reset) if missing else None
    if names is None:
        return _joined(_alike(estimator, parts, reset=reset), parts)
    if reset:
        record(estimator, names)
    Xs = []
    for key, part in parts.items():
        X = _matrix(estimator, part, f"X[{key!r}]", reset=False, first=False)
        Xs.append(places(columns[key] or [], names, f"X[{key!r}]").place(X))
    return _joined(Xs, parts)


def _alike(estimator: Any, parts: dict[Hashable, Any], *, reset: bool) -> list[Any]:
    """Data sets with the same columns as matrices."""
    Xs: list[Any] = []
    first_key = next(iter(parts))
    columns = None if reset else getattr(estimator, "feature_names_in_", None)
    for key, part in parts.items():
        name = f"X[{key!r}]"
        X = _matrix(estimator, part, name, reset=reset, first=not Xs)
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
    """Matrices of all tasks, one after the other, of one library and type."""
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


def _check_dates(X: Any, name: str) -> None:
    """Dates would pass for numbers, and mean nothing as such."""
    dtypes = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    dates = [repr(c) for c, dtype in dtypes if str(dtype).lower().startswith(("date", "time", "duration", "period"))]
    if dates:
        raise ValueError(f"{name} has {len(dates)} column(s) that are dates, not numbers: {', '.join(dates[:5])}.")


def _split(X: Any, labels: Array, codes: Array, named: bool) -> LocalData:
    """Rows of each task, from one matrix."""
    xp, n = library(X), int(X.shape[0])
    if len(labels) == 1:
        return LocalData(labels, [X], [slice(0, n)], n, named, X, xp)
    rows = task_rows(codes, len(labels))
    lazy = _numbers(X) > COPIED
    return LocalData(labels, [_rows_of(X, r, xp, lazy) for r in rows], rows, n, source=X, xp=xp)


def _rows_of(X: Any, rows: Positions, xp: Any, lazy: bool) -> Any:
    """Some rows of a matrix: a view where they stand together, else a copy, or none at all where that is large."""
    if isinstance(rows, slice):
        if not sparse.issparse(X):
            return X[rows] if is_sparse(X) else X[rows, ...]
        a, b = X.indptr[rows.start], X.indptr[rows.stop]
        parts = (X.data[a:b], X.indices[a:b], X.indptr[rows.start : rows.stop + 1] - a)
        return type(X)(parts, shape=(rows.stop - rows.start, X.shape[1]), copy=False)
    index = rows if xp is np else xp.asarray(rows, device=(X.data if is_sparse(X) else X).device)
    picked = Picked(X, index, xp)
    return picked if lazy else picked[:]


def _numbers(X: Any) -> int:
    return int(X.nnz) if is_sparse(X) else int(X.shape[0] * X.shape[1])


def _check_finite(data: LocalData, names: list[str], *, missing: bool) -> None:
    """Refuse NaN and infinity, saying where the first stands: in the user's own numbering.

    `missing`: NaN in dense rows is a missing value.
    """
    if data.source is not None and not len(_not_finite(data.source, data.xp, missing)):  # one pass for all tasks
        return
    for label, X, rows, name in zip(data.labels, data.Xs, data.positions, names, strict=True):
        bad = _not_finite(X, data.xp, missing)
        if not len(bad):
            continue
        own_numbering = np.arange(X.shape[0]) if name != "X" else np.arange(data.n)[rows]
        first = rows_at(X, slice(int(bad[0]), int(bad[0]) + 1))
        values = host(first.data if is_sparse(first) else first)
        what = "infinity" if np.isinf(values).any() else "NaN"
        dense = " Missing values are taken in dense X alone." if what == "NaN" and missing else ""
        raise ValueError(
            f"Input {name} contains {what} in {len(bad)} row(s) of task {_name(label)}, "
            f"the first of them row {own_numbering[bad[0]]}: fill these values in or drop the rows.{dense}"
        )


def _not_finite(X: Any, xp: Any, missing: bool) -> Array:
    """Numbers of the rows that hold NaN or infinity, read in pieces."""
    return np.concatenate([part.start + not_finite(rows_at(X, part), xp, missing=missing) for part in pieces(X)])


def named_error(error: Exception, X: Any, name: str) -> Exception:
    """scikit-learn's complaint about a matrix, with the argument and the columns that are not numbers named."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    bad = [column for column in getattr(X, "columns", ()) if not _is_numeric(X[column])]
    if bad:
        shown = ", ".join(repr(column) for column in bad[:5]) + (", …" if len(bad) > 5 else "")
        return kind(f"{name} has {len(bad)} column(s) that are not numbers: {shown}. Drop or encode them.")
    return error if str(error).startswith((f"{name} ", f"Input {name}")) else kind(f"{name}: {error}")


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _name(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
