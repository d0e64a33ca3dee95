"""Columns of a data frame: what each holds, and its values as numbers, categories or texts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from .._utils.text import count, listed
from ..core.arrays import Array
from ._written import mostly_written

MAX_CATEGORIES = 50  # different values of a column that is one-hot encoded
MIN_NUMBERS = 0.5  # share of numbers above which the other values of a column are mistakes, not categories
LARGEST = 1e150  # numbers up to which sums of squares can be computed
MISSING_CATEGORY = "(missing)"  # the category of a missing value


class TableError(ValueError):
    """Data that :class:`TablePreprocessor` cannot use.

    Parameters
    ----------
    problem : str
        What is wrong.
    advice : str
        What can be done about it in Python.
    kind : str
        The problem as a keyword, such as "missing" or "dates", for programs that give advice of their own.
    column : str, default=None
        The column in which the problem is.
    row : int, default=None
        The first row in which it is, counted from 0.

    Examples
    --------
    >>> print(TableError("column 'age' holds infinity", "correct it", kind="infinite", column="age", row=3))
    column 'age' holds infinity in row 3: correct it.
    """

    def __init__(
        self, problem: str, advice: str = "", *, kind: str = "", column: str | None = None, row: int | None = None
    ) -> None:
        super().__init__(problem, advice)
        self.problem, self.advice, self.kind, self.column, self.row = problem, advice, kind, column, row

    def __str__(self) -> str:
        where = "" if self.row is None else f" in row {self.row}"
        return f"{self.problem}{where}: {self.advice}."


def column_kind(column: Any) -> str:
    """Tell whether a column holds numbers ("number") or categories ("category"); anything else is refused."""
    kind = _dtype_kind(column)
    if kind == "date":
        advice = "convert them to numbers, or leave the column out"
        raise TableError(f"column {column.name!r} holds dates", advice, kind="dates", column=column.name)
    if kind == "category":
        _refuse_mistakes(column, MIN_NUMBERS)
        problem = f"column {column.name!r} holds {column.nunique()} different texts"
        if column.nunique() > MAX_CATEGORIES:
            advice = "name it in text to use its words, or leave it out"
            raise TableError(problem, advice, kind="many_categories", column=column.name)
    return kind


def as_frame(X: Any, numbers: list[str], categories: list[str], texts: list[str]) -> Any:
    """Make a data frame of floats and strings, with the columns of each kind in this order."""
    import pandas as pd

    convert = {as_numbers: numbers, as_categories: categories, as_texts: texts}
    return pd.DataFrame({name: function(X[name]) for function, names in convert.items() for name in names})


def as_numbers(column: Any) -> Array:
    """Write a column as floats, NaN where a value is missing."""
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        _refuse_mistakes(column, -1.0)
        raise
    except OverflowError:
        values = np.where(column.isna(), np.nan, np.inf)  # whole numbers of any size, some too large
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        problem, advice = f"column {column.name!r} holds infinity", "correct the value, or leave the row out"
        raise TableError(problem, advice, kind="infinite", column=column.name, row=int(infinite[0]))
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if len(large):
        problem = f"column {column.name!r} holds {values[large[0]]:.1e}, whose square overflows"
        advice = "correct the value, rescale the column, or leave it out"
        raise TableError(problem, advice, kind="too_large", column=column.name, row=int(large[0]))
    return values


def as_computed(column: Any) -> Any:
    """Read a column as it is computed with: whole numbers that floats cannot tell apart are one."""
    return column.astype(np.float64) if column.dtype.kind in "iu" and not column.isna().any() else column


def as_categories(column: Any) -> Array:
    """Write a column as strings; whole numbers are written as such, even if a missing value made them floats."""
    whole = column.dtype.kind == "f" and bool((column.dropna() % 1 == 0).all())
    values = (column.astype("Int64") if whole else column).astype(object)
    return values.where(column.notna(), MISSING_CATEGORY).astype(str).to_numpy(dtype=object)


def as_texts(column: Any) -> Array:
    """Write a column as strings, empty where a text is missing."""
    return column.astype(object).where(column.notna(), "").astype(str).to_numpy(dtype=object)


def missing_values(counts: Mapping[str, int]) -> TableError:
    """Make the refusal of missing values where the output is sparse, given their number per column."""
    where = f"{count(len(counts), 'column')}: {counts_listed(counts)}"
    problem = f"texts, TF-IDF and sparse matrices cannot hold missing values, and values are missing in {where}"
    return TableError(problem, "fill them in, or fit with impute='median'", kind="missing")


def no_values() -> TableError:
    """Make the refusal of data without a single value."""
    return TableError("no column has a value", "give rows with values", kind="empty")


def counts_listed(counts: Mapping[str, int]) -> str:
    """Columns and their counts as in "age (2), sex (1)"."""
    return listed(f"{name} ({n})" for name, n in counts.items())


def holds_dates(column: Any) -> bool:
    """Tell whether the type of a column is that of dates."""
    return _dtype_kind(column) == "date"


def holds_texts(column: Any) -> bool:
    """Tell whether the type of a column is that of texts."""
    return column.dtype.kind not in "iufbmMc" and not holds_dates(column)


def _dtype_kind(column: Any) -> str:
    dtype = str(column.dtype).lower()
    if dtype.startswith(("datetime", "timedelta", "period", "date", "time", "duration")):
        return "date"
    if dtype.startswith(("int", "uint", "float", "double", "decimal")):
        return "number"
    given = column.dropna()
    first = given.iloc[0] if len(given) and dtype == "object" else None
    if isinstance(first, date | time | timedelta):
        return "date"
    return "number" if isinstance(first, Decimal) else "category"


def mostly_numbers(column: Any) -> bool:
    """Tell whether a column of texts should hold numbers, some of which are written wrongly."""
    try:
        _refuse_mistakes(column, MIN_NUMBERS)
    except TableError:
        return True
    return False


def _refuse_mistakes(column: Any, min_numbers: float) -> None:
    """Refuse a column of which more than a share are numbers, and some values are not."""
    import pandas as pd

    if str(column.dtype) in ("bool", "boolean", "category"):
        return
    given = column.notna().to_numpy()
    parsed = pd.to_numeric(column.astype(object), errors="coerce").notna().to_numpy()
    commas = column.astype(str).str.fullmatch(r"\s*[+-]?[\d.]*\d,\d+\s*").to_numpy(dtype=bool)
    readable = mostly_written(column)
    if readable is not None and readable.sum() > (parsed | commas).sum():
        parsed, commas = readable, np.zeros_like(commas)
    wrong = np.flatnonzero(given & ~parsed)
    if not len(wrong) or (parsed | commas).sum() <= min_numbers * given.sum():
        return
    kind, fix = ("commas", "write decimals with a point") if commas.any() else ("not_numbers", "correct them")
    first = f"{count(len(wrong), 'value')} cannot be read as one, first {str(column.iloc[wrong[0]])[:40]!r}"
    problem, advice = f"column {column.name!r} should hold numbers, but {first}", f"{fix}, or leave the column out"
    raise TableError(problem, advice, kind=kind, column=column.name, row=int(wrong[0]))
