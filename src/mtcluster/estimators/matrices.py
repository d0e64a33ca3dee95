"""Matrices that users give, and their columns: checked, of floats, matched by name, with errors that name them."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations, islice
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._sklearn_compat import get_config, get_namespace
from .._utils.tasks import Positions
from .._utils.text import listed
from ..core.arrays import Array, ColumnPlaces, Picked, host, is_sparse, not_finite, pieces, rows_at
from ..engines import LocalData
from ..engines.base import NO_NUMBERS
from .progress import warn_user


def library(X: Any) -> Any:
    """Return the array library that X is computed with: NumPy, unless scikit-learn's array API dispatch is on."""
    if sparse.issparse(X):
        return np
    values = X.data if is_sparse(X) else X
    if isinstance(values, np.ndarray) or not hasattr(values, "dtype") or not hasattr(values, "device"):
        return np
    xp, dispatched = get_namespace(values)
    return xp if dispatched else np


def near(values: Any) -> Any:
    """Tell what a user gave beside X, in NumPy's memory if it is an array of another library."""
    if np.ma.isMaskedArray(values):
        return unmasked(values)
    return host(values) if hasattr(values, "__dlpack__") else values


def unmasked(X: Any) -> Any:
    """Make a masked array as floats, with NaN where it is masked; anything else as it is."""
    if not np.ma.isMaskedArray(X):
        return X
    try:
        return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    except (TypeError, ValueError):
        return np.ma.getdata(X)  # no numbers, which is refused


def is_device_sparse(X: Any, name: str) -> bool:
    """Tell whether X is one of CuPy's sparse matrices; sparse arrays of other libraries are refused."""
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


def _device_csr(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return one of CuPy's sparse matrices as CSR of floats, its features recorded or compared."""
    validate_data(estimator, np.zeros((1, X.shape[1])), reset=reset, skip_check_array=True)
    X = X.tocsr()
    X.sum_duplicates()
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def matrix_of(estimator: BaseEstimator, X: Any, name: str, *, reset: bool, first: bool = True) -> Any:
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
    """Get some rows of a matrix: a view where they stand together, else a copy, or none at all where that is large."""
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
    """Count the numbers that a matrix holds."""
    return int(X.nnz) if is_sparse(X) else int(X.shape[0] * X.shape[1])


def in_double(X: Any) -> Any:
    """Return matrices of single precision in double precision; anything else as it is."""
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
    """Return numbers of the rows that hold NaN or infinity, read in pieces."""
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
    """Write the label of a task as Python does."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def differing(columns: dict[Hashable, list[Any] | None]) -> bool:
    """Tell whether data sets, by the names of their columns, have other columns or another order of them."""
    named = list(columns.values())
    return None not in named and any(own != named[0] for own in named)


def matched(estimator: BaseEstimator, columns: dict[Hashable, list[Any] | None], *, reset: bool) -> list[str] | None:
    """Return the names by which the columns of data sets are matched; None: all have the same in the same order.

    They are those of the fit, or all columns of the data sets, sorted by name.
    """
    known = None if reset else getattr(estimator, "feature_names_in_", None)
    if known is not None:
        return list(known) if differing({**columns, None: list(known)}) else None
    return (
        common_columns(columns, apart=getattr(estimator, "match", None) == "geometry") if differing(columns) else None
    )


def columns_of(
    estimator: BaseEstimator, parts: dict[Hashable, Any], *, reset: bool
) -> dict[Hashable, list[Any] | None]:
    """Return the names of the columns of data sets; None: they have none.

    With match="geometry" columns without names are those of their data set alone: the first of "a" is "a.0", or "a.00"
    if it has more than ten. After a fit they are known by these names.
    """
    apart = getattr(estimator, "match", None) == "geometry"
    known = None if reset else set(getattr(estimator, "feature_names_in_", ()))
    found: dict[Hashable, list[Any] | None] = {}
    for key, part in parts.items():
        if hasattr(part, "columns"):
            found[key] = list(part.columns)
        else:
            own = _own_names(key, part) if apart else None
            found[key] = own if known is None or own is None else _known_names(key, own, known)
    return found


def _known_names(key: Hashable, own: list[Any], known: set[str]) -> list[Any] | None:
    """Get the names that the columns of an array had in the fit; None: it was not there as an array without names."""
    before = [name for name in known if name.rpartition(".")[0] == str(key)]
    if not before:
        return None
    if sorted(before) == own:
        return own
    raise ValueError(f"X[{key!r}] has {len(own)} features, but it had {len(before)} in fit: the same are needed.")


def _own_names(key: Hashable, part: Any) -> list[Any]:
    """Return names of the columns of an array that has none."""
    kind = type(part).__module__.split(".")[0]
    if kind in ("scipy", "cupyx") or (hasattr(part, "__dlpack__") and kind not in ("numpy", "dask")):
        raise TypeError(
            f"X[{key!r}] is a {type(part).__name__}, and match='geometry' takes dense NumPy or Dask arrays and data "
            "frames alone: what a data set lacks is missing, which other arrays cannot tell."
        )
    width = np.shape(part)[1] if np.ndim(part) > 1 else 1
    return [f"{key}.{j:0{len(str(width - 1))}}" for j in range(width)]


def common_columns(columns: dict[Hashable, Any], *, apart: bool = False) -> list[str]:
    """Return all columns of some data sets, sorted by name.

    Every data set must be linked to every other by columns that two of them have, unless they may lie `apart`.
    """
    for key, own in columns.items():
        check_names(own, f"X[{key!r}]")
    found = "" if apart else unlinked(columns)
    if found:
        raise ValueError(
            f"X: {found} Rename columns that mean the same, leave the data set out, or match clusters by their "
            "geometry alone (match='geometry')."
        )
    return sorted({name for own in columns.values() for name in own})


def record(estimator: BaseEstimator, names: list[str]) -> None:
    """Tell an estimator the columns of its fit."""
    estimator.__dict__.update(n_features_in_=len(names), feature_names_in_=np.array(names, dtype=object))


def check_names(own: list[Any], name: str) -> None:
    """Columns that are matched by name need names, each its own."""
    odd = [repr(column) for column in own if not isinstance(column, str)]
    if odd:
        raise ValueError(
            f"{name} has columns whose names are not text ({listed(odd[:5])}): columns are matched by name where data "
            "sets differ in them. Rename them, or give the same columns in the same order."
        )
    twice = sorted({column for column in own if own.count(column) > 1})
    if twice:
        raise ValueError(f"{name} has several columns named {listed(map(repr, twice[:5]))}: each needs its own name.")


def unlinked(columns: dict[Hashable, list[Any]]) -> str:
    """Make a sentence about data sets that no common column links to the others; empty if there are none."""
    keys, sets = list(columns), [set(own) for own in columns.values()]
    linked, waiting = {0}, [0]
    while waiting:
        k = waiting.pop()
        new = {l for l in range(len(sets)) if l not in linked and sets[k] & sets[l]}
        linked |= new
        waiting += sorted(new)
    if len(linked) == len(keys):
        return ""
    apart = [keys[k] for k in range(len(keys)) if k not in linked]
    pairs = (
        f"{keys[k]!r} and {keys[l]!r} have {len(sets[k] & sets[l])} columns in common"
        for k, l in combinations(range(len(keys)), 2)
    )
    return (
        f"No column links {listed(map(repr, apart[:5]))} to {keys[0]!r}, so their clusters cannot correspond: "
        f"{listed(islice(pairs, 6))}."
    )


def places(own: list[Any], names: list[str], name: str, *, new: bool = False) -> ColumnPlaces:
    """Tell where the columns `own` of a data set stand among `names`; those that are not there are left out.

    `new`: the data set was not in the fit, and what it lacks is told.
    """
    check_names(own, name)
    at = {column: j for j, column in enumerate(names)}
    known = [i for i, column in enumerate(own) if column in at]
    if not known:
        raise ValueError(
            f"{name} has none of the columns of the fit ({listed(map(repr, names[:5]))}{', …' * (len(names) > 5)}): it "
            f"has {listed(map(repr, own[:5]))}{', …' * (len(own) > 5)}."
        )
    unknown = [repr(own[i]) for i in range(len(own)) if own[i] not in at]
    if unknown:
        warn_user(f"{name} has columns that were not in fit, which are left out: {listed(unknown[:5])}.")
    lacking = [repr(column) for column in names if column not in set(own)]
    if lacking and new:
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        warn_user(f"{name} lacks columns of the fit, which are missing in its rows: {listed(lacking[:5])}{more}.")
    return ColumnPlaces(tuple(known), tuple(at[own[i]] for i in known), len(names))
