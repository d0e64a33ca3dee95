"""Columns that name or number the rows instead of describing them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..core.arrays import Array

ENOUGH_ROWS = 8  # rows that say anything about a column
SURPRISE = 14.0  # −log of the probability that values of chance do not repeat, from which they are numbers of rows
DECIMALS = 4  # of numbers that may lie on a grid
WORDY = 3.0  # words of a text, on average, rather than of a name
CALLED = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|rowid|idx|barcode)([^a-z]|$)|(^|[^a-z])(nr|no)$")
HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def ranks(column: Any) -> bool:
    """Tell whether a column numbers the rows in another order than theirs, as ranks do, and is called no identifier."""
    if column.dtype.kind not in "iuf" or len(column) < ENOUGH_ROWS or _called_id(str(column.name)):
        return False
    values = column.to_numpy(dtype=np.float64)
    whole = _on_grid(values)
    return (
        whole is not None and np.array_equal(np.sort(whole), np.arange(len(whole))) and bool(np.any(np.diff(whole) < 0))
    )


def identifier(column: Any, codes: Array) -> str:
    """Why a column looks like names or numbers of rows, as a clause; empty if it does not.

    `codes` are the tasks of the rows as whole numbers.
    """
    given = column.notna().to_numpy()
    values, codes = column[given], codes[given]
    if len(values) < ENOUGH_ROWS:
        return ""
    if column.dtype.kind in "iuf":
        return _numbers_rows(values.to_numpy(dtype=np.float64), codes, str(column.name))
    if column.dtype.kind == "b" or str(column.dtype) in ("boolean", "category"):
        return ""
    if values.nunique() == len(values) and _words(values) < WORDY:
        return "names each row: no value occurs twice"
    return ""


def _numbers_rows(values: Array, codes: Array, name: str) -> str:
    whole = _on_grid(values)
    if whole is None:
        return ""
    steps = np.diff(whole)
    if np.all(steps == steps[0]) and steps[0] != 0:
        return "is a running number"
    if (surprise := _surprise(whole, np.zeros(len(whole), dtype=int))) > SURPRISE:
        return "numbers the rows: no value occurs twice"
    if len(np.unique(codes)) > 1 and (surprise or _surprise(whole, codes)) > SURPRISE:
        return "numbers the rows of each task: no value occurs twice in one"
    distinct = len(np.unique(whole))
    if _called_id(name) and np.all(values % 1 == 0) and distinct > max(ENOUGH_ROWS, np.sqrt(len(whole))):
        return f"has the name of an identifier, and {distinct} different whole numbers"
    return ""


def _on_grid(values: Array) -> Array | None:
    """Values as whole numbers of the smallest step between them; None if they lie on no grid of a few decimals."""
    if not np.isfinite(values).all() or np.abs(values).max() > 2**52 / 10**DECIMALS:
        return None
    for decimals in range(DECIMALS + 1):
        scaled = values * 10**decimals
        whole = np.rint(scaled)
        if np.all(np.abs(scaled - whole) < 1e-6 * np.maximum(1, np.abs(whole))):
            whole = whole.astype(np.int64)
            step = int(np.gcd.reduce(whole - whole.min()))
            return (whole - whole.min()) // max(step, 1)
    return None


def _surprise(whole: Array, codes: Array) -> float:
    """Tell how surprising it is that no value occurs twice in a task: −log of its probability; 0 if one does.

    Of n values drawn from r possible ones none occurs twice with a probability of about exp(−n² / 2r). Measured values
    do repeat unless they are recorded finely; numbers of rows never do.
    """
    total = 0.0
    for k in np.unique(codes):
        own = whole[codes == k]
        if len(np.unique(own)) < len(own):
            return 0.0
        total += len(own) * (len(own) - 1) / (2.0 * (own.max() - own.min() + 1))
    return total


def _words(values: Any) -> float:
    """Compute the mean number of words of texts."""
    return float(np.mean([len(str(value).split()) for value in values.head(1000)]))


def _called_id(name: str) -> bool:
    """Tell whether a name is that of an identifier, such as patient_id, PatientID or No."""
    return CALLED.search(HUMPS.sub(" ", name).lower()) is not None
