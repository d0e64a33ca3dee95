"""Numbers and names as a reader sees them, and values as JSON takes them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.arrays import host
from .._explanation import ALIKE

NAME = 80  # characters of a name that are shown
CELL = 160  # of a cell of the user's table
SHOWN = 8  # names in a list
SPACE = "\u00a0"  # between the thousands of a number, where no line may break
CONTROLS = {code: 0x2400 + code for code in range(32)} | {127: 0x2421}  # their pictures in Unicode
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
BIDI = re.compile("[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]")


def text(value: Any, longest: int = NAME) -> str:
    """A name or a cell from the data as text: one line, no control characters, the middle left out where it is long.

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
    """A name in a sentence; one that may turn the direction of writing is kept from doing so to the sentence."""
    return f"“\u2068{name}\u2069”" if BIDI.search(name) else f"“{name}”"


def listed(items: list[str], shown: int = SHOWN) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 2)
    ('a, b and c', 'a, b and 1 more')
    """
    if len(items) > shown:
        items = [*items[:shown], f"{len(items) - shown} more"]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def clusters_named(numbers: Sequence[Any]) -> str:
    """Clusters in a sentence.

    Examples
    --------
    >>> clusters_named([3]), clusters_named([0, 2])
    ('cluster 3', 'clusters 0 and 2')
    """
    return f"{'cluster' if len(numbers) == 1 else 'clusters'} {listed([str(j) for j in numbers])}"


def whole(value: float) -> str:
    """A whole number with its thousands apart."""
    return f"{round(value):,}".replace(",", SPACE)


def count(n: int, word: str) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "row"), count(3, "row")
    ('1 row', '3 rows')
    """
    return f"{whole(n)} {word}" if n == 1 else f"{whole(n)} {word}s"


def number(value: float | None) -> str:
    """A number in three digits or so."""
    if value is None:
        return "–"
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.1e}".replace("-", "−")
    return (whole(value) if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")


def percent(share: float | None) -> str:
    r"""A share of 1 in per cent; what is there at all is not 0.

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


def likeness(value: float) -> str:
    """A relatedness in two digits, or in three where two would say that tasks are alike which are not.

    Examples
    --------
    >>> likeness(0.73), likeness(0.498)
    ('0.73', '0.498')
    """
    return f"{value:.2f}" if (value >= ALIKE) == (round(value, 2) >= ALIKE) else f"{value:.3f}"


def rounded(values: Any, digits: int = 4) -> list[Any]:
    """Numbers of an array to so many significant digits, as lists of floats; None for what is not finite."""
    array = np.asarray(host(values), dtype=np.float64)
    if array.ndim > 1:
        return [rounded(row, digits) for row in array]
    return plain([float(f"{value:.{digits}g}") for value in array])


def plain(value: Any) -> Any:
    """Anything as JSON takes it: dicts, lists, strings, finite numbers, true, false and None."""
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


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element."""
    found = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, code in ESCAPES.items():
        found = found.replace(character, code)
    return found
