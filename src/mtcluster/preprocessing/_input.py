"""What comes in: tables with names and matrices of numbers, and which of their values are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ._cells import single_values
from ._columns import LARGEST, TableError, missing_values, no_values


def is_table(X: Any) -> bool:
    """Tell whether X is a data frame."""
    return hasattr(X, "iloc")


class InputMixin:
    """The part of :class:`TablePreprocessor` that checks its input."""

    impute: str | None
    text: Sequence[str]
    tfidf: bool
    is_table_: bool
    left_out_: list[str]

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """X as a data frame with names, or as a matrix of numbers; columns without any value in `fit` are noted."""
        if is_table(X) != self.is_table_:
            seen, came = ("table", "matrix") if self.is_table_ else ("matrix", "table")
            raise TableError(f"fit was given a {seen}, and this is a {came}", f"give a {seen}", kind="other_input")
        X, missing = (self._checked_table if self.is_table_ else self._checked_matrix)(X, reset)
        if missing and self.impute is None and (self.text or self.tfidf or sparse.issparse(X)):
            raise missing_values(missing)
        if reset:
            self.n_missing_ = missing
        return X

    def _missing_in(self, X: Any) -> dict[str, int]:
        """Count the missing values of the columns that are used, in rows that need not be those of `fit`."""
        return (self._checked_table if self.is_table_ else self._checked_matrix)(X, reset=False)[1]

    def _checked_table(self, X: Any, reset: bool) -> tuple[Any, dict[str, int]]:
        """Read a data frame with names, and the number of missing values of the columns that are used."""
        X = X.set_axis([str(name) for name in X.columns], axis=1)
        if not X.columns.is_unique:
            raise ValueError(f"X has several columns named {X.columns[X.columns.duplicated()][0]!r}.")
        X = single_values(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        counts = {name: int(n) for name, n in X.isna().sum().items() if n}
        if reset:
            self.left_out_ = [name for name, n in counts.items() if n == len(X)]
            if len(self.left_out_) == X.shape[1]:
                raise no_values()
        return X, {name: n for name, n in counts.items() if name not in self.left_out_}

    def _checked_matrix(self, X: Any, reset: bool) -> tuple[Any, dict[str, int]]:
        """Read a matrix without features that had no value in `fit`, and the number of its missing values."""
        X = validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)
        values = X.data if sparse.issparse(X) else X
        if np.isinf(values).any():
            raise TableError("the matrix holds infinity", "correct it", kind="not_finite")
        if float(np.abs(values).max(initial=0, where=~np.isnan(values))) > LARGEST:
            raise TableError("the matrix holds numbers whose squares overflow", "rescale it", kind="too_large")
        gaps = np.isnan(values)
        if reset and gaps.ndim == 2:
            self.left_out_ = [str(j) for j in np.flatnonzero(gaps.all(axis=0))]
            if len(self.left_out_) == X.shape[1]:
                raise no_values()
        if self.left_out_:
            out = list(map(int, self.left_out_))
            X, gaps = np.delete(X, out, axis=1), np.delete(gaps, out, axis=1)
        n = int(gaps.sum())
        return X, {"all features": n} if n else {}
