"""A preprocessor for rows that are seen part by part: what parts add up to, and how a preprocessor is completed by it.

The kinds of columns come from a fit to a sample of the rows; means, standard deviations, categories and numbers of
missing values come from all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..core.arrays import Array
from ._columns import MAX_CATEGORIES, TableError, as_categories, as_computed, as_frame
from ._table import TablePreprocessor

VARIED = 2  # different values of a column after which it is known not to be constant


@dataclass(frozen=True)
class Statistics:
    """What the rows of some parts of a table add up to."""

    n_rows: int
    counts: Array  # (m, k) values of each task in each column of numbers
    means: Array  # (m, k)
    squares: Array  # (m, k) sums of squared differences from the means
    n_missing: dict[str, int]  # by column
    categories: dict[str, frozenset[str]]  # by column of categories
    values: dict[str, frozenset[str]]  # the first different values of columns that may be constant

    def __add__(self, other: Statistics) -> Statistics:
        counts, means, squares = combined(
            np.stack([self.counts, other.counts]),
            np.stack([self.means, other.means]),
            np.stack([self.squares, other.squares]),
        )
        return Statistics(
            self.n_rows + other.n_rows,
            counts,
            means,
            squares,
            {name: n + other.n_missing[name] for name, n in self.n_missing.items()},
            {name: known | other.categories[name] for name, known in self.categories.items()},
            {name: _few(known | other.values[name]) for name, known in self.values.items()},
        )


def combined(counts: Array, means: Array, squares: Array) -> tuple[Array, Array, Array]:
    """Counts, means and sums of squares of several groups, along the first axis, as one group.

    Examples
    --------
    >>> [float(found) for found in combined(np.array([1, 3]), np.array([0.0, 4.0]), np.array([0.0, 2.0]))]
    [4.0, 3.0, 14.0]
    """
    total = counts.sum(axis=0)
    mean = (counts * means).sum(axis=0) / np.maximum(total, 1)
    return total, mean, (squares + counts * (means - mean) ** 2).sum(axis=0)


def statistics_of(
    preprocessor: TablePreprocessor, X: Any, codes: Array, n_tasks: int, doubtful: Any = None
) -> Statistics:
    """Compute the statistics of some rows of a table.

    Parameters
    ----------
    preprocessor : TablePreprocessor
        Fitted to a sample of the rows.
    X : DataFrame of shape (n_samples, n_columns)
        Rows with the columns of the sample.
    codes : array of shape (n_samples,)
        The index of the task of each row.
    n_tasks : int
        The number of tasks.
    doubtful : DataFrame, optional
        Further columns of these rows, of which it is to be known whether they are constant.

    Returns
    -------
    statistics : Statistics
        Those of several parts can be added.
    """
    n_missing = {str(name): int(n) for name, n in X.isna().sum().items()}
    categories = {name: frozenset(as_categories(_given(preprocessor, X[name]))) for name in preprocessor.categories_}
    values = {} if doubtful is None else {name: _values(doubtful[name]) for name in doubtful.columns}
    numbers = _numbers(preprocessor, X)
    gaps = np.isnan(numbers)
    counts, sums = (_by_task(part, codes, n_tasks) for part in (~gaps, np.where(gaps, 0.0, numbers)))
    means = sums / np.maximum(counts, 1)
    squares = _by_task(np.where(gaps, 0.0, numbers - means[codes]) ** 2, codes, n_tasks)
    return Statistics(len(X), counts, means, squares, n_missing, categories, values)


def complete(preprocessor: TablePreprocessor, sample: Any, tasks: Sequence[str], found: Statistics) -> None:
    """Make a preprocessor that was fitted to a sample that of all rows, with the statistics of these.

    Raises
    ------
    TableError
        If a column holds too many categories.
    """
    preprocessor.n_missing_ = {
        name: n for name, n in found.n_missing.items() if n and name not in preprocessor.left_out_
    }
    for name, known in found.categories.items():
        if len(known) > MAX_CATEGORIES:
            problem, advice = f"column {name!r} holds {len(known)} different texts", "leave it out"
            raise TableError(problem, advice, kind="many_categories", column=name)
    if preprocessor.scaler_ is not None:
        total = combined(found.counts, found.means, found.squares)
        preprocessor.scaler_ = _scaler(*total)
        if preprocessor.task_scalers_:
            preprocessor.tasks_ = np.array(tasks)
            own = zip(found.counts, found.means, found.squares, strict=True)
            preprocessor.task_scalers_ = [_scaler(*one, other=preprocessor.scaler_) for one in own]
    if preprocessor.categories_:
        all_known = [np.array(sorted(found.categories[name]), dtype=object) for name in preprocessor.categories_]
        X = preprocessor._without_dates(sample)
        frame = as_frame(X, preprocessor.numbers_, preprocessor.categories_, preprocessor.texts_)
        preprocessor.encoder_.set_params(categories__categories=all_known).fit(frame)


def _numbers(preprocessor: TablePreprocessor, X: Any) -> Array:
    """Read the columns of numbers (n, k), filled where missing values are."""
    if not preprocessor.numbers_:
        return np.zeros((len(X), 0))
    frame = as_frame(preprocessor._without_dates(X), preprocessor.numbers_, [], [])
    return np.asarray(preprocessor.filling_.transform(frame.to_numpy(dtype=np.float64)))


def _by_task(values: Array, codes: Array, n_tasks: int) -> Array:
    """Sums (m, k) over the rows of each task."""
    sums = [np.bincount(codes, weights=column, minlength=n_tasks) for column in values.T]
    return np.stack(sums, axis=1) if sums else np.zeros((n_tasks, 0))


def _given(preprocessor: TablePreprocessor, column: Any) -> Any:
    return column.dropna() if preprocessor.impute is None else column


def _values(column: Any) -> frozenset[str]:
    return _few(map(str, as_computed(column).dropna().unique()[:VARIED]))


def _few(values: Any) -> frozenset[str]:
    return frozenset(sorted(values)[:VARIED])


def _scaler(counts: Array, means: Array, squares: Array, other: StandardScaler | None = None) -> StandardScaler:
    """Make a scaler with these statistics; columns without any value are scaled as by the other."""
    found, eps = StandardScaler(), np.finfo(np.float64).eps
    found.mean_, found.var_ = means, squares / np.maximum(counts, 1)
    constant = found.var_ <= counts * eps * found.var_ + (counts * means * eps) ** 2  # as scikit-learn has it
    found.scale_ = np.where(constant, 1.0, np.sqrt(found.var_))
    found.n_samples_seen_, found.n_features_in_ = counts.astype(np.int64), len(means)
    if other is not None:
        for name in ("mean_", "var_", "scale_"):
            setattr(found, name, np.where(counts == 0, getattr(other, name), getattr(found, name)))
    return found
