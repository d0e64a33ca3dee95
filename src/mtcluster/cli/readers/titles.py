"""Lines above the header of a table, as people write titles and dates there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LINES = 30  # in which the header is looked for


def titles_above(rows: Sequence[Sequence[Any]]) -> int:
    """Count the rows above the header of a table, given its first rows as lists of cells; blank ones count.

    Examples
    --------
    >>> titles_above([["Penguins, 2024"], [], ["island", "mass"], ["Biscoe", "3750"]])
    2
    """
    return header_in(rows) or 0


def header_in(rows: Sequence[Sequence[Any]]) -> int | None:
    """Find the row with the names of the columns; None if the rows below it have not as many cells."""
    filled = [sum(cell is not None and str(cell).strip() != "" for cell in row) for row in rows]
    at = next((i for i, n in enumerate(filled) if n > 1), None)
    if at is None or {len(row) for row, n in zip(rows[at:], filled[at:], strict=True) if n} != {len(rows[at])}:
        return None
    if at == 0 or not any(filled[:at]):
        return 0
    return at if filled[at] == len(rows[at]) and len(rows) > at + 1 else None


def told_titles(path: Path, skip: int) -> str:
    """Write a note on lines above the header."""
    lines, were = ("The first line", "was") if skip == 1 else (f"The first {skip} lines", "were")
    return f"{lines} of {path.name}, above the header, {were} left out (--skip {skip}; --skip 0 keeps them)."
