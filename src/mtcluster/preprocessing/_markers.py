"""Texts that mean that a value is missing, such as "-" and "?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MARKERS = ("-", "?", "--", "---", ".", "..", "n.a.", "n/a", "na", "nan", "none", "null", "missing", "unknown", "#n/a")
PLAIN = ("-", "?", "--", "---")  # those that are no category either
MOST = 0.5  # share of the other values that are numbers, from which a marker stands for a missing number


def without_markers(column: Any, asked: Sequence[str]) -> tuple[Any, dict[str, int]]:
    """Make a column of texts with markers as missing values, and how often each was there.

    Markers in a column that is otherwise of numbers make it one; in a column of categories only those count that are no
    words. `asked` are further ones, which the user has named, and may be numbers.
    """
    import pandas as pd

    if column.dtype.kind in "iuf":
        wanted = [number for number in map(_number, asked) if number is not None]
        return _masked(column, column.isin(wanted))
    if column.dtype.kind in "bmM" or not _texts(column):
        return column, {}
    stripped = column.astype(object).astype(str).str.strip()
    given = column.notna()
    named = given & stripped.isin(asked)
    plain, any_kind = (given & (named | stripped.str.lower().isin(known)) for known in (PLAIN, MARKERS))
    rest = pd.to_numeric(stripped[given & ~any_kind], errors="coerce")
    if any_kind.any() and len(rest) and rest.notna().all():
        masked, counts = _masked(column, any_kind)
        return pd.to_numeric(masked.astype(object).where(masked.notna())), counts
    if any_kind.any() and rest.notna().mean() > MOST:
        return _masked(column, any_kind)
    return _masked(column, plain)


def _texts(column: Any) -> bool:
    return str(column.dtype) in ("object", "str", "string", "category") or str(column.dtype).startswith("string")


def _masked(column: Any, markers: Any) -> tuple[Any, dict[str, int]]:
    if not markers.any():
        return column, {}
    counts = column[markers].astype(str).str.strip().value_counts()
    return column.mask(markers), {str(name): int(n) for name, n in counts.items()}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
