"""Small pieces of messages: counts, lists that stop, versions of packages."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version


def count(n: int, noun: str, write: Callable[[int], str] = str) -> str:
    """A number and its noun, in the singular or the plural.

    Examples
    --------
    >>> count(1, "row"), count(3, "row")
    ('1 row', '3 rows')
    """
    return f"{write(n)} {noun}{'s' * (n != 1)}"


def listed(names: Iterable[object], shown: int = 8, final: str = ", ") -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], shown=2)
    'a, b and 2 more'
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], final=" and ")
    ('a, b, c', 'a, b and c')
    """
    items = [str(name) for name in names]
    if len(items) > shown:
        items, final = [*items[:shown], f"{len(items) - shown} more"], " and "
    return final.join([*([", ".join(items[:-1])] if len(items) > 1 else []), *items[-1:]])


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
