"""Small pieces of messages: counts, lists that stop, versions of packages."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def count(n: int, noun: str) -> str:
    """A number and its noun, in the singular or the plural.

    Examples
    --------
    >>> count(1, "row"), count(3, "row")
    ('1 row', '3 rows')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def listed(names: Iterable[object], shown: int = 8) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], shown=2)
    'a, b and 2 more'
    >>> listed(["a", "b"])
    'a, b'
    """
    items = [str(name) for name in names]
    more = f" and {len(items) - shown} more" if len(items) > shown else ""
    return ", ".join(items[:shown]) + more


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of those packages that are installed.

    Examples
    --------
    >>> list(versions(["numpy", "a package that nobody has"]))
    ['python', 'numpy']
    """
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
