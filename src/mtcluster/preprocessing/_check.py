"""A check of a table before it is clustered: everything at once that a user should know, and what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.text import listed
from ..core.arrays import Array
from . import _column_checks as columns
from . import _matrix_check as matrices
from . import _row_checks as rows
from ._cells import as_single, may_be_odd
from ._draft import Draft
from ._findings import Finding, TableCheck, option
from ._input import is_table

Step = Callable[[Draft], Iterator[Finding]]
TABLE: tuple[Step, ...] = (
    columns.cells, rows.totals, columns.written, columns.markers, rows.unnamed, rows.spelling, rows.small_tasks,
    rows.repeated_rows, rows.repeated_ids, columns.stand_ins, columns.dates, columns.identifiers, columns.constant,
    columns.copies, columns.unusable, columns.truth, columns.missing, columns.scales,
)  # fmt: skip
MATRIX: tuple[Step, ...] = (rows.unnamed, rows.spelling, rows.small_tasks, rows.repeated_ids, matrices.numbers)
LEFT_OUT = ("identifier", "constant", "alike", "copies")  # kinds of findings whose columns --features would keep


def check(
    X: Any,
    *,
    task: Any = None,
    id: Any = None,
    label: str | None = None,
    features: Sequence[str] = (),
    text: Sequence[str] = (),
    missing: Sequence[str] | None = (),
    dates: Sequence[str] = (),
    impute: str | None = None,
    scale: str = "auto",
    min_rows: int = 1,
    drop_unnamed: bool = False,
    drop_duplicates: bool = False,
    keep_spelling: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    drop_rows: Sequence[str] = (),
) -> TableCheck:
    """Check a table before it is clustered, as `mtcluster check` and `mtcluster fit` do.

    It looks for columns that number or name the rows, constant and repeated columns, columns that only tell the tasks
    apart, repeated rows and ids, missing values and texts that stand for them, names of tasks that differ by case or
    blanks alone, small tasks, rows without a task, dates, truth values, texts among numbers, columns of too many
    categories, and features whose scales differ much.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_samples, n_columns)
        The table, or a matrix of numbers.
    task, id : str or array-like of shape (n_samples,), optional
        The task and the name of each row: a column of the table, or one value per row.
    label : str, optional
        A column of known classes, which is not used.
    features : sequence of str, default=()
        Columns to use, which are kept whatever they look like. Empty: all others.
    text : sequence of str, default=()
        Columns that hold texts.
    missing : sequence of str or None, default=()
        Further texts or numbers that stand for missing values, beside "-", "?" and the like. None: only empty cells are
        missing.
    dates : sequence of {"year", "month", "days"}, default=()
        What dates are turned into. Empty: columns of dates are left out.
    impute : {None, "median"}, default=None
        As in :class:`TablePreprocessor`; "median" makes an empty cell a category of its own.
    scale : {"auto", "standard", "within", "none"}, default="auto"
        As in :class:`TablePreprocessor`.
    min_rows : int, default=1
        Tasks with fewer rows are left out.
    drop_unnamed, drop_duplicates : bool, default=False
        Whether rows without a task, and rows that repeat an earlier one, are left out.
    keep_spelling : bool, default=False
        Whether tasks stay apart whose names differ by case or blanks alone.
    decimal : {".", ","}, optional
        The sign before decimals in columns of texts that are numbers. None: decided for each column from all its
        values, and from other columns where these can be read in two ways.
    thousands : {",", ".", " ", "'", ""}, optional
        The sign between thousands, likewise; "": none.
    drop_rows : sequence of str, default=()
        Texts such as "Total": rows with a cell that holds one of them are left out.

    Returns
    -------
    found : TableCheck
        `print` shows it, `found.table` has it by columns; `found.X` and `found.tasks` are what is left, for
        :class:`TablePreprocessor`.

    Examples
    --------
    >>> import pandas as pd
    >>> from mtcluster.preprocessing import check
    >>> table = pd.DataFrame({"no": range(1, 9), "age": [31, 45, 45, 52, 28, 31, 60, 33], "island": ["A", "b"] * 4})
    >>> found = check(table, task="island")
    >>> print(found)
    2 findings:
    - Tasks of few rows: 'A' (4), 'b' (4). They are kept.
    - Column 'no' is a running number. It is left out; --id no shows it in the results.
        --features age,no
    >>> found.X.columns.tolist()
    ['age']
    """
    if not is_table(X):
        X = X if sparse.issparse(X) else np.asarray(X)
        used = [f"feature {j}" for j in range(X.shape[1])]
    else:
        used = _used(X, (task, id, label), features, text)
    draft = Draft(
        X=X[used] if is_table(X) else X,
        names=used,
        tasks=_labels(X, task),
        ids=_labels(X, id),
        rows=np.arange(X.shape[0]),
        wanted=frozenset(features),
        text=tuple(text),
        missing=None if missing is None else tuple(missing),
        dates=tuple(dates),
        impute=impute is not None,
        scale=scale if scale != "auto" else "standard" if is_table(X) else "none",
        min_rows=min_rows,
        drop_unnamed=drop_unnamed,
        drop_duplicates=drop_duplicates,
        keep_spelling=keep_spelling,
        decimal=decimal,
        thousands=thousands,
        drop_rows=tuple(drop_rows),
        written=(),
        typed=False,
        task_column=f"column {task!r}" if isinstance(task, str) else "task",
        id_column=f"column {id!r}" if isinstance(id, str) else "id",
        where=lambda row: f"row {row}",
    )
    return examined(draft)


def examined(draft: Draft) -> TableCheck:
    """Look for everything in turn; each step sees what the ones before have left."""
    for step in TABLE if is_table(draft.X) else MATRIX:
        draft.findings += list(step(draft))
    kept = [name for name in draft.names if name not in draft.text]
    if not draft.names and not any(one.stops for one in draft.findings):
        draft.findings.append(Finding("nothing", (), "No column is left to cluster by.", "", stops=True))
    findings = [
        replace(one, option=option("--features", *kept, *one.columns)) if one.kind in LEFT_OUT else one
        for one in sorted(draft.findings, key=lambda one: not one.stops)
    ]
    return TableCheck(findings, draft.X, draft.tasks, draft.rows, draft.left_out, draft.written)


def _used(X: Any, roles: Sequence[Any], features: Sequence[str], text: Sequence[str]) -> list[str]:
    """Find the columns to cluster by."""
    others = [name for name in roles if isinstance(name, str)]
    absent = [name for name in (*others, *features, *text) if name not in X.columns]
    if absent:
        raise ValueError(f"X has no column {absent[0]!r}; its columns are {listed(map(repr, X.columns))}.")
    return [*dict.fromkeys([*features, *text])] if features else [name for name in X.columns if name not in others]


def _labels(X: Any, values: Any) -> Array | None:
    """Read a column, or one value per row, as texts; None where there is none."""
    if values is None:
        return None
    import pandas as pd

    column = X[values] if isinstance(values, str) else pd.Series(values)
    column = as_single(column) if may_be_odd(column) else column
    if len(column) != len(X):
        raise ValueError(f"task and id need one value per row: {len(column)} values came for {len(X)} rows.")
    return column.astype(object).where(column.notna().to_numpy(), None).map(_text, na_action="ignore").to_numpy()


def _text(value: Any) -> str | None:
    return None if value is None else str(int(value)) if isinstance(value, float) and value % 1 == 0 else str(value)
