"""The rows of a fit in the user's own units: the columns of a table or matrix behind the features of the fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, host
from .._words import text

MISSING_LEVEL = "(missing)"  # the category that stands for missing values where they were filled in
CELLS = 50_000_000  # values that statistics of all features read; of larger tables, a sample of the rows
FEWEST = 5_000  # rows of that sample, whatever the number of features
ENTRIES = 2_000  # columns of a sparse matrix that are compared: those with the largest variance

Read = Callable[[], Array]


@dataclass(frozen=True)
class Field:
    """A column of the user's table: of numbers, or of categories as codes (-1: missing)."""

    name: str
    read: Read
    levels: list[str] | None = None

    @property
    def values(self) -> Array:
        """(n,) numbers with NaN where they are missing, or codes of categories."""
        return self.read()


@dataclass(frozen=True)
class Feature:
    """A feature of the fit that the user's table tells: a number, a category, or an entry of a sparse matrix."""

    index: int  # among the features of the fit
    name: str
    kind: str  # "number", "share" or "count"
    read: Read  # (n,) numbers, or 1 and 0 for a category; NaN where missing
    field: int  # the column that it comes from


@dataclass(frozen=True)
class Columns:
    """What X tells about the features of the fit."""

    n_rows: int
    features: list[Feature]
    fields: list[Field]

    def sample(self) -> Array | None:
        """Find rows that statistics of all features are computed of; None: all."""
        n = max(CELLS // max(len(self.features), 1), FEWEST)
        if self.n_rows <= n:
            return None
        return np.sort(np.random.default_rng(0).choice(self.n_rows, n, replace=False))


def kinds_of(columns: Columns, d: int) -> list[str]:
    """Tell what each feature of the fit is; a number where X does not tell."""
    kinds = ["number"] * d
    for feature in columns.features:
        kinds[feature.index] = feature.kind
    return kinds


def read_columns(X: Any, names: Sequence[Any] | None, n: int, d: int) -> Columns:
    """Read the columns of X that are features of a fit to n rows and d features with these names."""
    if X is None:
        return Columns(n, [], [])
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    frame = hasattr(X, "iloc")
    if not frame and not sparse.issparse(X):
        X = np.asarray(host(X) if hasattr(X, "__dlpack__") else X)
    if len(X.shape) != 2 or X.shape[0] != n:
        raise ValueError(f"X has the shape {tuple(X.shape)}, but the model has {n} rows: one row each is needed.")
    if frame and (names is not None or X.shape[1] != d):
        return _of_frame(X, [] if names is None else [str(name) for name in names])
    if frame:
        return _of_frame(X, [str(name) for name in X.columns])
    if X.shape[1] != d:
        raise ValueError(f"X has {X.shape[1]} columns, but the model has {d} features: one column each is needed.")
    called = [f"feature {i}" for i in range(d)] if names is None else [text(name) for name in names]
    return _of_sparse(X, called) if sparse.issparse(X) else _of_array(X, called)


def _of_array(X: Array, names: list[str]) -> Columns:
    def reader(i: int) -> Read:
        return lambda: np.asarray(X[:, i], dtype=np.float64)

    fields = [Field(name, reader(i)) for i, name in enumerate(names)]
    features = [Feature(i, name, "number", fields[i].read, i) for i, name in enumerate(names)]
    return Columns(len(X), features, fields)


def _of_sparse(X: Any, names: list[str]) -> Columns:
    by_column = sparse.csc_array(X)

    def reader(i: int) -> Read:
        return lambda: by_column[:, [i]].toarray().ravel().astype(np.float64)

    mean = np.asarray(by_column.mean(axis=0)).ravel()
    variance = np.asarray(by_column.multiply(by_column).mean(axis=0)).ravel() - mean**2
    widest = np.sort(np.argsort(-variance, kind="stable")[:ENTRIES]).tolist()
    return Columns(X.shape[0], [Feature(i, names[i], "count", reader(i), i) for i in widest], [])


def _of_frame(X: Any, names: list[str]) -> Columns:
    """Columns of numbers by their name, and categories by "column = value"; other columns are no features."""
    where = {name: i for i, name in enumerate(names)}
    features: list[Feature] = []
    fields: list[Field] = []
    for place, column in enumerate(X.columns):
        name, at = str(column), len(fields)
        values = X.iloc[:, place]
        if name in where and _is_number(values):
            field = Field(text(name), cache(_numbers(values)))
            fields.append(field)
            features.append(Feature(where[name], field.name, "number", field.read, at))
        elif name not in where and (known := [other for other in names if other.startswith(f"{name} = ")]):
            field, levels = _categories(values, name, known)
            fields.append(field)
            features += [
                Feature(where[own], text(own), "share", _indicator(field, levels.index(own)), at) for own in known
            ]
    return Columns(len(X), sorted(features, key=lambda feature: feature.index), fields)


def _is_number(column: Any) -> bool:
    if column.dtype != object:
        return str(column.dtype).lower().startswith(("int", "uint", "float", "double", "decimal"))
    given = column.dropna()
    return all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in given)


def _numbers(column: Any) -> Read:
    return lambda: column.astype(object).where(column.notna(), np.nan).to_numpy(dtype=np.float64)


def _categories(column: Any, name: str, known: list[str]) -> tuple[Field, list[str]]:
    """Read a column of categories, and the features of its levels; values that are no feature are levels as well."""
    there = column.notna().to_numpy()
    written = column.astype(object).where(there, MISSING_LEVEL).astype(str).to_numpy(dtype=object)
    filled = f"{name} = {MISSING_LEVEL}" in known
    levels = list(dict.fromkeys([*known, *(f"{name} = {value}" for value in np.unique(written[there | filled]))]))
    index = {level: i for i, level in enumerate(levels)}
    codes = np.array([index.get(f"{name} = {value}", -1) for value in written], dtype=np.intp)
    codes[~there & (not filled)] = -1
    return Field(text(name), lambda: codes, [text(level.removeprefix(f"{name} = ")) for level in levels]), levels


def _indicator(field: Field, level: int) -> Read:
    return lambda: np.where(field.values < 0, np.nan, (field.values == level).astype(np.float64))
