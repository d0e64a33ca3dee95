"""The rows of several files as one data set, their columns matched by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..._utils.text import listed
from ...preprocessing import Finding
from ..errors import InputError
from .base import Dataset, numbered


def joined(parts: Sequence[Dataset]) -> Dataset:
    """Join the rows of several files under all their columns; what a file lacks is missing in its rows."""
    first = parts[0]
    if any(part.is_table != first.is_table for part in parts):
        raise InputError("tables cannot be joined with matrices (.npz, .mtx, .h5ad): give files of one kind.")
    classes = [part.classes for part in parts if part.classes is not None]
    names = first.names
    if any(part.names != names for part in parts):
        _check_unique(parts)
        names = list(dict.fromkeys(name for part in parts for name in part.names))
    return replace(
        first,
        files=tuple(path for part in parts for path in part.files),
        X=_stacked([with_columns(part, names, "the other files") for part in parts]),
        names=names,
        tasks=np.concatenate([part.tasks for part in parts if part.tasks is not None]),
        ids=np.concatenate([part.ids for part in parts]),
        classes=np.concatenate(classes) if len(classes) == len(parts) else None,
        counts=tuple(n for part in parts for n in part.counts),
        notes=tuple(note for part in parts for note in part.notes),
        others=tuple(dict.fromkeys(name for part in parts for name in part.others)),
        findings=tuple(finding for part in parts for finding in _placed(part)),
    )


def with_columns(part: Dataset, names: list[str], of: str) -> Any:
    """Place the rows of a file under other columns, matched by name; those that it lacks are missing.

    `of` says in a message whose columns these are.
    """
    if part.names == names:
        return part.X
    index = {name: j for j, name in enumerate(part.names)}
    known = [(index[name], j) for j, name in enumerate(names) if name in index]
    lacking = [name for name in names if name not in index]
    if not known:
        raise InputError(
            f"{part.name} {part.verb('has', 'have')} none of the columns of {of}: {listed(map(repr, names))}."
        )
    if not part.is_table and numbered(len(part.names)) == part.names:
        widths = f"{len(part.names)} features, and {len(names)} are needed as in {of}"
        raise InputError(f"{part.name} {part.verb('has', 'have')} {widths}: without names they cannot be matched.")
    if part.is_table:
        return part.X.reindex(columns=names)
    if lacking and sparse.issparse(part.X):
        wrong = (
            f"{part.verb('lacks', 'lack')} {listed(map(repr, lacking))}, and a sparse matrix cannot hold missing values"
        )
        raise InputError(f"{part.name} {wrong}: leave these features out with --features or --drop, or give dense X.")
    if not lacking:
        return part.X[:, [i for i, _ in known]]
    found = np.full((len(part), len(names)), np.nan, dtype=np.result_type(part.X.dtype, np.float32))
    found[:, [j for _, j in known]] = part.X[:, [i for i, _ in known]]
    return found


def _placed(part: Dataset) -> list[Finding]:
    """Tell what a reader found, with the file."""
    return [replace(one, found=f"{part.files[0].name}: {one.found}") for one in part.findings]


def stacked(frames: Sequence[Any]) -> Any:
    """Join data frames; a column that is empty in one has no type there: the others say what it holds."""
    import pandas as pd

    filled = pd.concat([frame.dropna(axis=1, how="all") for frame in frames], ignore_index=True)
    return filled.reindex(columns=frames[0].columns)


def _stacked(values: list[Any]) -> Any:
    if hasattr(values[0], "iloc"):
        return stacked(values)
    if any(sparse.issparse(X) for X in values):
        return sparse.vstack([sparse.csr_matrix(X) for X in values], format="csr")
    return np.concatenate(values)


def _check_unique(parts: Sequence[Dataset]) -> None:
    """Columns that are matched by name need names of their own."""
    for part in parts:
        repeated = [name for name, n in Counter(part.names).items() if n > 1]
        if repeated:
            raise InputError(
                f"{part.files[0]} has other columns than another file, or another order of them, and several are named "
                f"{repeated[0]!r}: column names must be unique."
            )
