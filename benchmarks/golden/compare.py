"""What differs between two recordings."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .record import Record

RELATIVE, SINGLE = 1e-9, 1e-5  # of numbers, and of those of fits in single precision
ROUNDING = 1e-12  # of the largest number of an array, and absolute where that is smaller than 1
CRASHED = "crashed"
LINES = 60
NAMED = 5  # sets or fits of a line
LONG = 280  # characters of a line


@dataclass(frozen=True)
class Difference:
    """What differs in one recorded thing."""

    count: int
    largest: float  # relative difference; NaN: no numbers, or other shapes
    told: str = ""


@dataclass
class Outcome:
    """All differences: keys are (set, fit, what)."""

    different: dict[tuple[str, str, str], Difference] = field(default_factory=dict)
    absent: dict[tuple[str, str, str], str] = field(default_factory=dict)  # in which state it is
    equal: int = 0
    identical: int = 0

    def lines(self, name: str) -> list[str]:
        """A line for each fit of a set that differs."""
        found = defaultdict(list)
        for (one, case, _), difference in self.different.items():
            if one == name:
                found[case].append(difference)
        lines = []
        for case, ones in found.items():
            largest = np.array([one.largest for one in ones])
            most = f"{np.nanmax(largest):.1e}" if np.isfinite(largest).any() else "-"
            lines.append(f"{name:24} {case:28} {len(ones):4} differ, largest relative difference {most}")
        return lines


def compare_set(name: str, before: dict[str, Any], after: dict[str, Any], outcome: Outcome) -> None:
    """Compare the records of a set in two states."""
    for case in dict.fromkeys([*before, *after]):
        if case not in before or case not in after:
            outcome.different[name, case, "the whole case"] = Difference(1, np.nan, "not recorded in one state")
            continue
        _compare_case(name, case, before[case][0], after[case][0], outcome)


def _compare_case(name: str, case: str, before: Record, after: Record, outcome: Outcome) -> None:
    rtol = SINGLE if "float32" in case else RELATIVE
    a, b = (record.arrays | record.values for record in (before, after))
    for what in dict.fromkeys([*a, *b]):
        key = (name, case, what)
        if what not in a or what not in b:
            if what.endswith(("(error)", "(warnings)")) or what == CRASHED:
                there = "now" if what in b else "before"
                said = str(b.get(what, a.get(what)))[:150]
                outcome.different[key] = Difference(1, np.nan, f"only {there}: {said}")
            else:
                outcome.absent[key] = "now" if what in b else "before"
            continue
        found = difference(a[what], b[what], rtol)
        if what == CRASHED:
            found = Difference(1, np.nan, f"in both states: {b[what]}")  # nothing was compared
        if found is None:
            outcome.equal += 1
            outcome.identical += same(a[what], b[what])
        else:
            outcome.different[key] = found


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same to the last bit."""
    return a.tobytes() == b.tobytes() if isinstance(a, np.ndarray) else repr(a) == repr(b)


def difference(a: Any, b: Any, rtol: float) -> Difference | None:
    """How two values differ; None if they do not."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _of_arrays(a, b, rtol)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = (value.tolist() if isinstance(value, np.ndarray) else value for value in (a, b))
    found = list(_of_values(a, b, rtol))
    if not found:
        return None
    numbers = [size for size, _ in found if np.isfinite(size)]
    return Difference(len(found), max(numbers, default=np.nan), found[0][1])


def _of_arrays(a: np.ndarray, b: np.ndarray, rtol: float) -> Difference | None:
    if a.shape != b.shape:
        return Difference(max(a.size, b.size), np.nan, f"shape {a.shape} → {b.shape}")
    if a.dtype != b.dtype and not (a.dtype.kind == b.dtype.kind == "U"):
        return Difference(a.size, np.nan, f"{a.dtype} → {b.dtype}")
    if a.dtype.kind != "f":
        n = int(np.count_nonzero(a != b))
        return Difference(n, np.nan, f"{n} of {a.size}") if n else None
    x, y = (values.astype(np.float64) for values in (a, b))
    size = np.abs(x[np.isfinite(x)]).max(initial=0)
    close = np.isclose(y, x, rtol=rtol, atol=_rounding(size, rtol), equal_nan=True)
    if close.all():
        return None
    with np.errstate(all="ignore"):
        relative = np.abs(y - x) / np.maximum(np.abs(x), np.abs(y))
    worst = relative[~close & np.isfinite(relative)].max(initial=0)
    return Difference(int(np.count_nonzero(~close)), float(worst), f"{np.count_nonzero(~close)} of {a.size}")


def _rounding(size: float, rtol: float) -> float:
    """An absolute difference that is none, among numbers as large as this."""
    return ROUNDING * max(size, 1e-2) * (rtol / RELATIVE)


def _of_values(a: Any, b: Any, rtol: float, at: str = "") -> Any:
    """(relative difference, words) of each place where two plain values differ."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (a, b))
    if numbers:
        if not np.isclose(b, a, rtol=rtol, atol=_rounding(0, rtol), equal_nan=True):
            yield abs(b - a) / max(abs(a), abs(b)), f"{at} {a:.6g} → {b:.6g}".strip()
    elif isinstance(a, dict) and isinstance(b, dict):
        for name in dict.fromkeys([*a, *b]):
            if name not in a or name not in b:
                yield np.nan, f"{at}.{name} only {'before' if name in a else 'now'}"
            else:
                yield from _of_values(a[name], b[name], rtol, f"{at}.{name}")
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield np.nan, f"{at} {len(a)} → {len(b)} entries"
        for i, pair in enumerate(zip(a, b, strict=False)):
            yield from _of_values(*pair, rtol, f"{at}[{i}]")
    elif a != b:
        yield np.nan, f"{at} {str(a)[:100]!r} → {str(b)[:100]!r}".strip()


def grouped(keys: dict[tuple[str, str, str], Any]) -> list[str]:
    """Keys in as few lines as a simple way finds: each tells one recorded thing of many fits, or one fit in many."""
    left, lines = dict(keys), []
    while left:
        fits, things = (Counter(key[i] for key in left) for i in (1, 2))
        (fit, most), (thing, many) = fits.most_common(1)[0], things.most_common(1)[0]
        own = [key for key in left if (key[2] == thing if many >= most else key[1] == fit)]
        found = [left.pop(key) for key in own]
        sets = _some(list(dict.fromkeys(key[0] for key in own)))
        others = list(dict.fromkeys(key[1 if many >= most else 2] for key in own))
        what = f"{thing} of {_some(others)}" if many >= most else f"{fit}: {_some(others)}"
        lines.append(f"{len(own):5} × {what}, in {sets}; {_first(found)}"[:LONG])
    return lines


def _some(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + f" and {more} more" * (more > 0)


def _first(found: list[Any]) -> str:
    """What the first difference is, and the largest of all; or in which state it is."""
    if not isinstance(found[0], Difference):
        return f"only {found[0]}"
    largest = [one.largest for one in found if np.isfinite(one.largest)]
    return f"the first: {found[0].told}" + (f"; at most {max(largest):.1e}" if largest else "")
