"""Columns of bytes, as Parquet files and databases have them: texts, if they are encoded as UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._columns import TableError
from ._findings import Finding, option, shown


def decoded(frame: Any) -> Any:
    """A data frame with texts in the place of bytes; a column of bytes that are no text is refused by name."""
    changed = {name: as_text(frame[name]) for name in frame.columns if holds_bytes(frame[name])}
    return frame.assign(**changed) if changed else frame


def told_bytes(frame: Any, where: Callable[[int], str]) -> tuple[Any, list[Finding]]:
    """A data frame with texts in the place of bytes, whatever they are, and what is wrong with some of them."""
    changed, found = {}, []
    for name in frame.columns:
        if not holds_bytes(frame[name]):
            continue
        try:
            changed[name] = as_text(frame[name])
        except TableError as error:
            changed[name] = as_text(frame[name], "replace")
            what = f"Column {shown(name)} holds bytes that are not text in UTF-8, first in {where(error.row or 0)}."
            advice = "Convert it to text, or leave it out:"
            found.append(Finding("bytes", (name,), what, advice, option("--drop", name), stops=True))
    return (frame.assign(**changed) if changed else frame), found


def holds_bytes(column: Any) -> bool:
    """Whether a column of a data frame may have bytes among its values."""
    from pandas.api.types import infer_dtype

    if column.dtype == object:
        return infer_dtype(column, skipna=True) in ("bytes", "mixed")
    return str(column.dtype) == "category" and infer_dtype(column.cat.categories) in ("bytes", "mixed")


def as_text(column: Any, errors: str = "strict") -> Any:
    """A column with texts in the place of bytes; `errors="replace"`: whatever they are."""
    import pandas as pd

    values = column.to_numpy(dtype=object, copy=True)
    for i, value in enumerate(values):
        if isinstance(value, bytes | bytearray | memoryview):
            try:
                values[i] = bytes(value).decode("utf-8", errors)
            except UnicodeDecodeError as error:
                problem = f"column {column.name!r} holds bytes that are not text in UTF-8"
                advice = "convert them to text, or leave the column out"
                raise TableError(problem, advice, kind="bytes", column=column.name, row=i) from error
    return pd.Series(values, index=column.index, name=column.name)
