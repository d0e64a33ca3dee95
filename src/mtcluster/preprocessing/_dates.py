"""Columns of dates: recognised, and turned into numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ._columns import holds_dates, holds_texts

DATE_PARTS = ("year", "month", "days")  # that a date can be turned into
FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S",
           "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M")  # fmt: skip
DAY = 86_400.0  # seconds


class DatesMixin:
    """The part of :class:`TablePreprocessor` that turns dates into numbers."""

    text: Sequence[str]
    dates: Sequence[str]
    left_out_: list[str]
    dates_: dict[str, tuple[str | None, float]]

    def _fit_dates(self, X: Any) -> None:
        """Find the columns of dates, and the first day of each."""
        wrong = [part for part in self.dates if part not in DATE_PARTS]
        if wrong:
            raise ValueError(f"dates={list(self.dates)!r} should hold 'year', 'month' and 'days' only.")
        for name in X.columns if self.dates else ():
            if name in self.text or name in self.left_out_:
                continue
            written = dates_in(X[name]) if holds_texts(X[name]) else []
            if holds_dates(X[name]) or len(written) == 1:
                dates = as_dates(X[name], written[0] if written else None)
                self.dates_[name] = (written[0] if written else None, float(np.nanmin(days_of(dates))))

    def _without_dates(self, X: Any) -> Any:
        """Make the table with numbers in the place of dates, called "born (year)"."""
        for name, (written, first) in self.dates_.items():
            same = written if holds_texts(X[name]) else None
            numbers = date_numbers(as_dates(X[name], same), self.dates, first)
            since = np.datetime64(int(np.floor(first)), "D")
            called = {"days": f"days since {since}"}
            X = X.drop(columns=name).assign(
                **{f"{name} ({called.get(part, part)})": values for part, values in numbers.items()}
            )
        return X


def dates_in(column: Any) -> list[str]:
    """Find the formats in which all values of a column of texts are dates; empty if there is none."""
    given = column.dropna().astype(str).str.strip()
    if not len(given) or not given.head(100).str.fullmatch(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*").all():
        return []
    import pandas as pd

    return [one for one in FORMATS if pd.to_datetime(given, format=one, errors="coerce").notna().all()]


def as_dates(column: Any, written: str | None = None) -> Any:
    """Write a column of dates, or of texts in one format, as pandas' type of dates without a time zone."""
    import pandas as pd

    values = column.astype(str).str.strip().where(column.notna()) if written else column
    dates = pd.to_datetime(values, format=written, errors="coerce", utc=True)
    return dates.dt.tz_localize(None)


def date_numbers(dates: Any, parts: Sequence[str], origin: float) -> dict[str, Array]:
    """Write parts of dates as numbers, NaN where one is missing; days count from `origin`, in days since 1970."""
    found = {"year": dates.dt.year, "month": dates.dt.month, "days": days_of(dates) - origin}
    return {part: np.asarray(found[part], dtype=np.float64) for part in parts}


def days_of(dates: Any) -> Array:
    """Days since 1970, NaN where a date is missing."""
    seconds = dates.to_numpy(dtype="datetime64[s]")
    return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / DAY)
