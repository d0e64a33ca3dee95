"""Data sets with other columns: matched by name, in any order; what a data set lacks is missing."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations, islice
from typing import Any

import numpy as np

from .._utils.text import listed
from ..core.arrays import Columns
from ._progress import warn_user


def differing(columns: dict[Hashable, list[Any] | None]) -> bool:
    """Whether data sets, by the names of their columns, have other columns or another order of them."""
    named = list(columns.values())
    return None not in named and any(own != named[0] for own in named)


def matched(estimator: Any, columns: dict[Hashable, list[Any] | None], *, reset: bool) -> list[str] | None:
    """The names by which the columns of data sets are matched; None: all have the same in the same order.

    They are those of the fit, or all columns of the data sets, sorted by name.
    """
    known = None if reset else getattr(estimator, "feature_names_in_", None)
    if known is not None:
        return list(known) if differing({**columns, None: list(known)}) else None
    return (
        common_columns(columns, apart=getattr(estimator, "match", None) == "geometry") if differing(columns) else None
    )


def columns_of(estimator: Any, parts: dict[Hashable, Any], *, reset: bool) -> dict[Hashable, list[Any] | None]:
    """The names of the columns of data sets; None: they have none.

    With match="geometry" columns without names are those of their data set alone: the first of "a" is "a.0", or "a.00"
    if it has more than ten. After a fit they are known by these names.
    """
    apart = getattr(estimator, "match", None) == "geometry"
    known = None if reset else set(getattr(estimator, "feature_names_in_", ()))
    found: dict[Hashable, list[Any] | None] = {}
    for key, part in parts.items():
        if hasattr(part, "columns"):
            found[key] = list(part.columns)
        else:
            own = _own_names(key, part) if apart else None
            found[key] = own if known is None or own is None else _known_names(key, own, known)
    return found


def _known_names(key: Hashable, own: list[Any], known: set[str]) -> list[Any] | None:
    """The names that the columns of an array had in the fit; None: it was not there as an array without names."""
    before = [name for name in known if name.rpartition(".")[0] == str(key)]
    if not before:
        return None
    if sorted(before) == own:
        return own
    raise ValueError(f"X[{key!r}] has {len(own)} features, but it had {len(before)} in fit: the same are needed.")


def _own_names(key: Hashable, part: Any) -> list[Any]:
    """Names of the columns of an array that has none."""
    kind = type(part).__module__.split(".")[0]
    if kind in ("scipy", "cupyx") or (hasattr(part, "__dlpack__") and kind not in ("numpy", "dask")):
        raise TypeError(
            f"X[{key!r}] is a {type(part).__name__}, and match='geometry' takes dense NumPy or Dask arrays and data "
            "frames alone: what a data set lacks is missing, which other arrays cannot tell."
        )
    width = np.shape(part)[1] if np.ndim(part) > 1 else 1
    return [f"{key}.{j:0{len(str(width - 1))}}" for j in range(width)]


def common_columns(columns: dict[Hashable, Any], *, apart: bool = False) -> list[str]:
    """All columns of some data sets, sorted by name.

    Every data set must be linked to every other by columns that two of them have, unless they may lie `apart`.
    """
    for key, own in columns.items():
        check_names(own, f"X[{key!r}]")
    found = "" if apart else unlinked(columns)
    if found:
        raise ValueError(
            f"X: {found} Rename columns that mean the same, leave the data set out, or match clusters by their "
            "geometry alone (match='geometry')."
        )
    return sorted({name for own in columns.values() for name in own})


def record(estimator: Any, names: list[str]) -> None:
    """Tell an estimator the columns of its fit."""
    estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, dtype=object)


def check_names(own: list[Any], name: str) -> None:
    """Columns that are matched by name need names, each its own."""
    odd = [repr(column) for column in own if not isinstance(column, str)]
    if odd:
        raise ValueError(
            f"{name} has columns whose names are not text ({listed(odd[:5])}): columns are matched by name where data "
            "sets differ in them. Rename them, or give the same columns in the same order."
        )
    twice = sorted({column for column in own if own.count(column) > 1})
    if twice:
        raise ValueError(f"{name} has several columns named {listed(map(repr, twice[:5]))}: each needs its own name.")


def unlinked(columns: dict[Hashable, list[Any]]) -> str:
    """A sentence about data sets that no common column links to the others; empty if there are none."""
    keys, sets = list(columns), [set(own) for own in columns.values()]
    linked, waiting = {0}, [0]
    while waiting:
        k = waiting.pop()
        new = {l for l in range(len(sets)) if l not in linked and sets[k] & sets[l]}
        linked |= new
        waiting += sorted(new)
    if len(linked) == len(keys):
        return ""
    apart = [keys[k] for k in range(len(keys)) if k not in linked]
    pairs = (
        f"{keys[k]!r} and {keys[l]!r} have {len(sets[k] & sets[l])} columns in common"
        for k, l in combinations(range(len(keys)), 2)
    )
    return (
        f"No column links {listed(map(repr, apart[:5]))} to {keys[0]!r}, so their clusters cannot correspond: "
        f"{listed(islice(pairs, 6))}."
    )


def places(own: list[Any], names: list[str], name: str, *, new: bool = False) -> Columns:
    """Where the columns `own` of a data set stand among `names`; those that are not there are left out.

    `new`: the data set was not in the fit, and what it lacks is told.
    """
    check_names(own, name)
    at = {column: j for j, column in enumerate(names)}
    known = [i for i, column in enumerate(own) if column in at]
    if not known:
        raise ValueError(
            f"{name} has none of the columns of the fit ({listed(map(repr, names[:5]))}{', …' * (len(names) > 5)}): it "
            f"has {listed(map(repr, own[:5]))}{', …' * (len(own) > 5)}."
        )
    unknown = [repr(own[i]) for i in range(len(own)) if own[i] not in at]
    if unknown:
        warn_user(f"{name} has columns that were not in fit, which are left out: {listed(unknown[:5])}.")
    lacking = [repr(column) for column in names if column not in set(own)]
    if lacking and new:
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        warn_user(f"{name} lacks columns of the fit, which are missing in its rows: {listed(lacking[:5])}{more}.")
    return Columns(tuple(known), tuple(at[own[i]] for i in known), len(names))
