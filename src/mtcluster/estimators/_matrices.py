"""Matrices that users give, one at a time: checked, of floats, and errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._sklearn_compat import get_config, get_namespace
from .._utils.tasks import Positions
from ..core.arrays import Array, Picked, host, is_sparse, not_finite, pieces, rows_at
from ..engines import LocalData
from ..engines.base import NO_NUMBERS


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
    if np.ma.isMaskedArray(values):
        return unmasked(values)
    return host(values) if hasattr(values, "__dlpack__") else values


def unmasked(X: Any) -> Any:
    """A masked array as floats, with NaN where it is masked; anything else as it is."""
    if not np.ma.isMaskedArray(X):
        return X
    try:
        return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    except (TypeError, ValueError):
        return np.ma.getdata(X)  # no numbers, which is refused


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


def matrix_of(estimator: Any, X: Any, name: str, *, reset: bool, first: bool = True) -> Any:
    """One validated matrix, dense or CSR, float64 or float32; the first of several sets the estimator's features."""
    _check_dates(X, name)
    X = unmasked(X)
    if is_device_sparse(X, name):
        return _device_csr(estimator, X, reset=reset)
    xp = library(X)
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [xp.float64, xp.float32], "ensure_all_finite": False}
    try:
        checked = validate_data(estimator, X, reset=reset, **options) if first else check_array(X, **options)
    except (TypeError, ValueError) as error:
        if "feature names should match" in str(error).lower() or "same order" in str(error):
            raise type(error)(f"{str(error).rstrip()}\nA dict of tasks and data frames is matched by name.") from error
        raise named_error(error, X, name) from error
    if sparse.issparse(checked) and not checked.has_canonical_format:
        checked = checked.copy()
        checked.sum_duplicates()
    return checked


def _check_dates(X: Any, name: str) -> None:
    """Dates would pass for numbers, and mean nothing as such."""
    dtypes = zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False)
    dates = [repr(c) for c, dtype in dtypes if str(dtype).lower().startswith(("date", "time", "duration", "period"))]
    if dates:
        raise ValueError(f"{name} has {len(dates)} column(s) that are dates, not numbers: {', '.join(dates[:5])}.")


def rows_of(X: Any, rows: Positions, xp: Any, lazy: bool) -> Any:
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


def numbers_in(X: Any) -> int:
    return int(X.nnz) if is_sparse(X) else int(X.shape[0] * X.shape[1])


def in_double(X: Any) -> Any:
    """Matrices of single precision in double precision; anything else as it is."""
    if isinstance(X, dict) and not hasattr(X, "dtype"):  # a DOK matrix is a dict too
        return {key: in_double(part) for key, part in X.items()}
    if isinstance(X, list | tuple):
        return [in_double(part) for part in X] if any(hasattr(part, "shape") for part in X) else X
    if "float32" not in str(getattr(X, "dtype", "")):
        return X
    return X.astype(np.float64) if hasattr(X, "astype") else X.double()


def check_finite(data: LocalData, names: list[str], *, missing: bool) -> None:
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
            f"Input {name} contains {what} in {len(bad)} row(s) of task {quoted(label)}, "
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
        return kind(f"{name} has {len(bad)} column(s) that are not numbers: {shown}. {NO_NUMBERS}")
    return error if str(error).startswith((f"{name} ", f"Input {name}")) else kind(f"{name}: {error}")


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def quoted(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
