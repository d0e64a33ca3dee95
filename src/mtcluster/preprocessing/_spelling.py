"""Names that differ by case or blanks alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping


def plain_name(name: str) -> str:
    """Write a name without what people see as the same: case, blanks, forms of letters.

    Examples
    --------
    >>> plain_name(" New  York ") == plain_name("new york")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def spellings(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Names with several spellings, the most frequent one first, given how often each occurs.

    Examples
    --------
    >>> spellings({"Biscoe": 5, "biscoe": 2, "Biscoe ": 1, "Dream": 4})
    {'Biscoe': ['biscoe', 'Biscoe ']}
    """
    groups: dict[str, list[str]] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        groups.setdefault(plain_name(name), []).append(name)
    return {best: others for best, *others in groups.values() if others}
