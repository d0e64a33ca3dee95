"""Whether a preprocessor that comes from a file can do its work: on a row that is made up from what it knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ._columns import TableError
from ._table import TablePreprocessor


def try_out(preprocessor: TablePreprocessor, columns: list[str], task: list[str]) -> Any:
    """Prepare a row, which any fitted preprocessor can do.

    Parameters
    ----------
    preprocessor : TablePreprocessor
        One that says of itself that it is fitted.
    columns : list of str
        The columns that it is given.
    task : list of one str
        The task of the row.

    Returns
    -------
    X : ndarray or CSR matrix of shape (1, n_features_out), or None
        The row; None if the preprocessor refuses missing values, of which the row may have some.

    Raises
    ------
    Exception
        Of any kind, if parts of the preprocessor are missing or do not fit together.
    """
    preprocessor._validate_params()
    row = _row(preprocessor, columns)
    try:
        X = preprocessor.transform(row, tasks=task)
    except TableError:
        return None
    names = preprocessor.get_feature_names_out(None if preprocessor.is_table_ else columns)
    if X.shape != (1, len(names)):
        raise ValueError("the preprocessor makes other features than it names")
    if not set(preprocessor.left_out_) <= set(map(str, (*columns, *range(len(columns))))):
        raise ValueError("left_out_ of the preprocessor names other columns")
    preprocessor.describe(row)
    preprocessor.unseen_categories(row)
    if not sparse.issparse(X):
        preprocessor.inverse_transform_centers(X, task[0])
    return X


def _row(preprocessor: TablePreprocessor, columns: list[str]) -> Any:
    """Zeros, first categories, empty texts and missing dates."""
    if not preprocessor.is_table_:
        return np.zeros((1, len(columns)))
    import pandas as pd

    cells: dict[str, Any] = dict.fromkeys(columns, 0.0)
    cells |= {name: values[0] for name, values in preprocessor._known_categories().items()}
    cells |= dict.fromkeys(preprocessor.texts_, "") | dict.fromkeys(preprocessor.dates_, pd.NaT)
    return pd.DataFrame({name: [cells[name]] for name in columns})
