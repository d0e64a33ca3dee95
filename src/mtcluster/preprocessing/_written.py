"""Numbers as people write them: decimal commas, signs between thousands, per cent, currencies.

How the numbers of a column are written is decided from all its values. Where these can be read in two ways, the other
columns of the table decide, and where they say nothing either, the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .._utils.text import listed
from ._markers import MARKERS

SPACES = "\u00a0\u2009\u202f"  # that are written between thousands, too
QUOTES = "\u2019"  # an apostrophe
MINUS = "\u2212"
CODES = "CHF|CZK|DKK|EUR|Euro|euro|GBP|HUF|INR|JPY|NOK|PLN|SEK|USD|Fr\\.|kr\\.?|zł|Kč"
UNIT = rf"(?:[$€£¥₹₽₩₺]|US\$|{CODES})"
CELL = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<before>{UNIT}?)\s*(?P<minus>[+-]?)(?P<body>\d(?:[\d.,' ]*\d)?[.,]?|[.,]\d+)"
    rf"(?P<power>[eE][+-]?\d+)?\s*(?P<after>{UNIT}|%)?"
)
NONE = "0"  # written for no sign between thousands
NAMES = {".": "points", ",": "commas", " ": "blanks", "'": "apostrophes"}
TELLING = 50  # values with a sign that tell two ways of reading apart
SEEN = 1000  # values of a column that show whether most are numbers


@dataclass(frozen=True)
class Written:
    """How the numbers of a column are written."""

    decimal: str
    thousands: str = ""

    def options(self) -> str:
        """Write the options of the command line that ask for it."""
        between = {"": "", " ": " --thousands space", "'": ' --thousands "\'"'}
        return f"--decimal {self.decimal}{between.get(self.thousands, f' --thousands {self.thousands}')}"

    def coded(self, name: str) -> str:
        """Write it with the name of its column, as a text."""
        return f"{self.decimal}{self.thousands or NONE}{name}"

    def read(self, body: str) -> float | None:
        """Read digits and the signs between them; None if they are not written in this way."""
        if _pattern(self).fullmatch(body) is None:
            return None
        return float((body.replace(self.thousands, "") if self.thousands else body).replace(self.decimal, "."))


POINTS, COMMAS = Written("."), Written(",")
KNOWN = [POINTS, COMMAS, Written(".", ","), Written(",", ".")]
KNOWN += [Written(decimal, thousands) for thousands in (" ", "'") for decimal in ".,"]


@dataclass(frozen=True)
class Reading:
    """A column of texts that are numbers, and the ways in which they can be read."""

    ways: tuple[Written, ...]  # of several the first has a decimal sign where the second one separates thousands
    example: str  # a value that shows it
    plain: bool  # whether it is written as computers do
    per_cent: bool
    unit: str

    def asked_for(self, decimal: str | None, thousands: str | None) -> tuple[Written, ...]:
        """List the ways that agree with what a user asks for, who does not mean columns that can be read in one way."""
        if len(self.ways) == 1:
            return self.ways
        ways = [way for way in self.ways if decimal is None or way.decimal == decimal]
        if thousands is not None:
            ways = [way for way in ways if way.thousands in ("", thousands) and way.decimal != thousands]
        return tuple(ways)

    def like(self, ways: Sequence[Written], before: Written | None) -> Written | None:
        """Choose the way in which a column was written before, if it can be read so; None if not."""
        return None if before is None else next((way for way in ways if way.decimal == before.decimal), None)

    def chosen(self, ways: Sequence[Written], signs: set[str]) -> Written | None:
        """Choose a way, by the decimal signs of other columns if there are several; None if nothing tells which."""
        if len(ways) > 1 and len(signs) == 1:
            ways = [way for way in ways if way.decimal in signs] or ways
        return ways[0] if len(ways) == 1 else None

    def named(self, way: Written) -> str:
        """Write in words how the numbers are written."""
        parts = [f"decimal {NAMES[way.decimal]}"] if way.decimal in self.example else []
        parts += [f"{NAMES[way.thousands]} between thousands"] if way.thousands else []
        parts += ["per cent signs"] if self.per_cent else []
        parts += [f"the currency {self.unit}"] if self.unit else []
        return f"with {listed(parts, final=' and ')}" if parts else "as texts"

    def shown(self, way: Written) -> str:
        """Write how the example is read in a way."""
        found = number_of(self.example, way)
        assert found is not None
        return f"{found:.15g}"


def decimal_signs(readings: Iterable[Reading]) -> set[str]:
    """List the decimal signs that columns show which can be read in one way alone."""
    clear = [(one, one.ways[0]) for one in readings if len(one.ways) == 1]
    return {way.decimal for one, way in clear if way.decimal in one.example or way.thousands in tuple(",.")}


def decoded(written: Iterable[str]) -> dict[str, Written]:
    """Read what `Written.coded` wrote: how columns are written, by name."""
    return {one[2:]: Written(one[0], "" if one[1] == NONE else one[1]) for one in written if len(one) > 1}


def number_of(text: str, way: Written) -> float | None:
    """Read a cell; None if it is no number that is written in this way."""
    parts = CELL.fullmatch(_plain(text))
    if parts is None or (parts["sign"] and parts["minus"]) or (parts["before"] and parts["after"]):
        return None
    found = way.read(parts["body"])
    if found is None:
        return None
    found *= float(f"1{parts['power']}") if parts["power"] else 1.0
    return -found if "-" in (parts["sign"], parts["minus"]) else found


def reading_of(column: Any, asked: Sequence[str] | None = ()) -> Reading | None:
    """Find how the numbers of a column of texts are written; None if it holds others, or numbers already.

    `asked` are texts that stand for missing values, beside the usual ones; None: there are none.
    """
    if not holds_strings(column):
        return None
    texts = _texts(column, asked)
    if not texts or not any(any(c in ",.'% " or not c.isalnum() for c in text) for text in texts):
        return None
    signs, bodies = [], []
    for text in texts:
        cell = CELL.fullmatch(text)
        if cell is None:
            return None
        signs.append((cell["after"] == "%", cell["before"] or (cell["after"] or "").replace("%", "")))
        bodies.append(cell["body"])
    units = {unit for _, unit in signs if unit}
    per_cent = {one for one, _ in signs}
    if len(units) > 1 or len(per_cent) > 1:
        return None
    telling = [body for sign in ".," for body in [body for body in bodies if sign in body][:TELLING]]
    found: dict[tuple[float | None, ...], Written] = {}
    for way in KNOWN:
        if all(map(_pattern(way).fullmatch, bodies)):
            found.setdefault(tuple(map(way.read, telling)), way)
    ways = tuple(found.values())
    if not ways:
        return None
    marked = [text for text in texts if any(c in text for c in (",", ".", "'", " "))]
    example = max(
        marked or texts, key=lambda text: (len(set(text) & set(",.' ")), text.count(ways[0].thousands or ","))
    )
    percent, [unit] = True in per_cent, [*units, ""][:1]
    if len(ways) > 1 and (percent or _whole(texts, ways[0].decimal)):
        ways = ways[:1] if percent else ways[1:]
    plain = ways == (POINTS,) and not percent and not unit and not any("+" in t or " " in t for t in texts)
    return Reading(ways, example, plain, percent, unit)


def holds_strings(column: Any) -> bool:
    """Tell whether some cells of a column are texts."""
    if column.dtype.kind in "iufbmMc" or str(column.dtype) in ("boolean", "category"):
        return False
    return str(column.dtype).startswith(("str", "object"))


def has_decimals(column: Any) -> bool:
    """Tell whether a column of numbers has some that are not whole."""
    values = column.dropna().to_numpy(dtype=np.float64) if column.dtype.kind == "f" else np.zeros(0)
    return bool((values[np.isfinite(values)] % 1 != 0).any())


def as_written(column: Any, way: Written, asked: Sequence[str] | None = ()) -> Any:
    """Make a column with numbers in the place of texts that are written in this way; others stay as they are."""
    import pandas as pd

    if not holds_strings(column):
        return column
    kept = frozenset() if asked is None else frozenset(asked)
    known: dict[str, Any] = {}
    values = column.to_numpy(dtype=object, copy=True)
    for i, value in enumerate(values):
        if isinstance(value, str):
            if value not in known:
                found = None if value.strip() in kept else number_of(value, way)
                known[value] = value if found is None else found
            values[i] = known[value]
    found = pd.Series(values, index=column.index, name=column.name)
    if not any(isinstance(value, str) for value in known.values()):
        given = found.isna().to_numpy()
        numbers = np.array([np.nan if gap else value for gap, value in zip(given, values, strict=True)], dtype=object)
        if not any(isinstance(value, bool) or not isinstance(value, int | float | np.number) for value in numbers):
            return pd.Series(numbers.astype(np.float64), index=column.index, name=column.name)
    return found


def grouped(column: Any) -> bool:
    """Tell whether all numbers of a column of texts could have points between thousands, and some have."""
    texts = [_plain(value) for value in column.dropna().unique()]
    way = Written(",", ".")
    return any("." in text for text in texts) and all(number_of(text, way) is not None for text in texts)


def mostly_written(column: Any) -> Any:
    """Tell which values (n,) of a column can be read, if most can in one way; None if none are written by people."""
    if not holds_strings(column):
        return None
    values = [value if isinstance(value, str) else None for value in column.to_numpy(dtype=object)]
    some = [value for value in values[:SEEN] if value is not None]
    if 2 * sum(CELL.fullmatch(_plain(value)) is not None for value in some) < len(some):
        return None
    tried = {way: {v: number_of(v, way) is not None for v in set(values) if v is not None} for way in KNOWN}
    best = max(KNOWN, key=lambda way: sum(value is not None and tried[way][value] for value in values))
    given = column.notna().to_numpy()
    return np.array([value is None or tried[best][value] for value in values]) & given


def _texts(column: Any, asked: Sequence[str] | None) -> list[str]:
    """List the different texts of a column, without those that stand for missing values."""
    unique = {_plain(value) for value in column.dropna().unique() if isinstance(value, str)}
    if asked is not None:
        unique = {text for text in unique if text.lower() not in MARKERS and text not in asked}
    return sorted(text for text in unique if text)


def _plain(text: str) -> str:
    for sign in SPACES:
        text = text.replace(sign, " ")
    return text.strip().replace(QUOTES, "'").replace(MINUS, "-")


def _whole(texts: Sequence[str], sign: str) -> bool:
    """Tell whether numbers with a sign before three digits are whole: decimals would not be cut here and kept there."""
    without = [text for text in texts if sign not in text]
    return bool(without) and any(sign in text and re.search(r"0\D*$", text) for text in texts)


@lru_cache(maxsize=16)
def _pattern(way: Written) -> re.Pattern[str]:
    decimal, digits = re.escape(way.decimal), r"\d+"
    if way.thousands:
        digits = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(way.thousands)}\d{{3}})+|\d+)"
    return re.compile(rf"{digits}(?:{decimal}\d*)?|{decimal}\d+")
