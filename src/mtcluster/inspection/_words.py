"""Numbers, names and lists in sentences, and values as JSON takes them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._utils.text import count as _count
from .._utils.text import listed as _listed
from ..core.arrays import host
from ._subject import ALIKE

NAME = 80  # characters of a name that are shown
CELL = 160  # characters of a cell of the user's table that are shown
SHOWN = 8  # names shown in a list
SPACE = "\u00a0"  # between the thousands of a number, where no line may break
CONTROLS = {code: 0x2400 + code for code in range(32)} | {127: 0x2421}  # control characters to their Unicode pictures
BIDI = re.compile("[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]")


def text(value: Any, longest: int = NAME) -> str:
    """Write a name or cell on one line, without control characters, shortened in the middle if it is long.

    Examples
    --------
    >>> text("a long name", 7)
    'a l…ame'
    """
    found = " ".join(str(value).split())
    found = found.encode("utf-8", "replace").decode("utf-8").translate(CONTROLS)
    if len(found) <= longest:
        return found
    head = (longest - 1) // 2
    return f"{found[:head]}…{found[len(found) - (longest - 1 - head) :]}"


def quoted(name: str) -> str:
    """Write a name in a sentence; characters that change the direction of writing are isolated from the sentence."""
    return f"“\u2068{name}\u2069”" if BIDI.search(name) else f"“{name}”"


def listed(items: Sequence[Any], shown: int = SHOWN) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 2)
    ('a, b and c', 'a, b and 1 more')
    """
    return _listed(items, shown, final=" and ")


def named(word: str, items: Sequence[Any]) -> str:
    """Names in a sentence after a word for what they are.

    Examples
    --------
    >>> named("cluster", [3]), named("cluster", [0, 2])
    ('cluster 3', 'clusters 0 and 2')
    """
    return f"{word}{'s' * (len(items) != 1)} {listed(items)}"


def whole(value: float) -> str:
    """Write a whole number with its thousands set apart."""
    return f"{round(value):,}".replace(",", SPACE)


def count(n: int, word: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(1, "row"), count(3, "row")
    ('1 row', '3 rows')
    """
    return _count(n, word, whole)


def number(value: float | None) -> str:
    """Write a number with about three digits."""
    if value is None:
        return "–"
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.1e}".replace("-", "−")
    return (whole(value) if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")


def percent(share: float | None) -> str:
    r"""Write a share of 1 in per cent; 0 and 100 are kept for exactly none and all.

    Examples
    --------
    >>> percent(0.123), percent(0.001), percent(0.0)
    ('12\xa0%', '<\xa01\xa0%', '0\xa0%')
    """
    if share is None:
        return "–"
    if 0 < share < 0.005:
        return f"<{SPACE}1{SPACE}%"
    return f"{min(100 * share, 99) if share < 1 else 100:.0f}{SPACE}%"


def related(value: float) -> str:
    """Write a relatedness with two digits, or three where two would put it on the wrong side of the threshold.

    Examples
    --------
    >>> related(0.73), related(0.498)
    ('0.73', '0.498')
    """
    return f"{value:.2f}" if (value >= ALIKE) == (round(value, 2) >= ALIKE) else f"{value:.3f}"


def rounded(values: Any, digits: int = 4) -> list[Any]:
    """Write an array as lists of floats with so many significant digits; None for values that are not finite."""
    array = np.asarray(host(values), dtype=np.float64)
    if array.ndim > 1:
        return [rounded(row, digits) for row in array]
    return plain([float(f"{value:.{digits}g}") for value in array])


def plain(value: Any) -> Any:
    """Any value as JSON takes it: dicts, lists, strings, finite numbers, true, false and None."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if getattr(value, "ndim", 0) >= 1:
        return f"array of shape {tuple(value.shape)}"
    return text(value, CELL)
