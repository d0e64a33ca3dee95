"""Cells that are not single values, as Parquet files and databases have them: bytes, and lists and the like.

Bytes are texts, if they are encoded as UTF-8. Lists, sets and dicts cannot be clustered by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._columns import TableError
from ._findings import Finding, option, shown

BINARY = (bytes, bytearray, memoryview)
NESTED = (list, tuple, dict, set, frozenset, np.ndarray)
UNCLEAR = ("bytes", "mixed")  # what pandas calls columns that may hold them


def single_values(frame: Any) -> Any:
    """Read a data frame with texts in the place of bytes; columns of cells that are no single values are refused."""
    changed = {name: as_single(frame[name]) for name in frame.columns if may_be_odd(frame[name])}
    return frame.assign(**changed) if changed else frame


def told_cells(frame: Any, where: Callable[[int], str]) -> tuple[Any, list[Finding]]:
    """Make a data frame of single values, whatever its cells are, and what is wrong with some of them."""
    changed, found = {}, []
    for name in frame.columns:
        if not may_be_odd(frame[name]):
            continue
        try:
            changed[name] = as_single(frame[name])
        except TableError as error:
            changed[name] = as_single(frame[name], strict=False)
            what = f"{error.problem.replace(f'column {name!r}', f'Column {shown(name)}', 1)}, first in "
            advice = f"{error.advice.replace('the column', 'it')}:".capitalize()
            found.append(
                Finding(
                    error.kind,
                    (name,),
                    f"{what}{where(error.row or 0)}.",
                    advice,
                    option("--drop", name),
                    stops=True,
                )
            )
    return (frame.assign(**changed) if changed else frame), found


def may_be_odd(column: Any) -> bool:
    """Tell whether cells of a column of a data frame may be no single values."""
    from pandas.api.types import infer_dtype

    if column.dtype == object:
        return infer_dtype(column, skipna=True) in UNCLEAR
    return str(column.dtype) == "category" and infer_dtype(column.cat.categories) in UNCLEAR


def as_single(column: Any, *, strict: bool = True) -> Any:
    """Make a column with texts in the place of bytes; if not `strict`, also of bytes that are no text, and of lists."""
    import pandas as pd

    values = column.to_numpy(dtype=object, copy=True)
    for i, value in enumerate(values):
        if isinstance(value, BINARY):
            try:
                values[i] = bytes(value).decode("utf-8", "strict" if strict else "replace")
            except UnicodeDecodeError as error:
                problem = f"column {column.name!r} holds bytes that are not text in UTF-8"
                advice = "convert them to text, or leave the column out"
                raise TableError(problem, advice, kind="bytes", column=column.name, row=i) from error
        elif isinstance(value, NESTED):
            if strict:
                problem = f"column {column.name!r} holds a {type(value).__name__}, which is not a single value"
                advice = "make columns of its parts, or leave the column out"
                raise TableError(problem, advice, kind="nested", column=column.name, row=i)
            values[i] = str(value)
    return pd.Series(values, index=column.index, name=column.name)
