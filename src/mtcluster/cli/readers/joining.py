"""The rows of several files as one data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from .base import Dataset


def joined(parts: Sequence[Dataset]) -> Dataset:
    """The rows of several files under the columns of the first."""
    first = parts[0]
    if any(part.is_table != first.is_table for part in parts):
        raise InputError("tables cannot be joined with matrices (.npz, .mtx, .h5ad): give files of one kind.")
    classes = [part.classes for part in parts if part.classes is not None]
    return replace(
        first,
        files=tuple(path for part in parts for path in part.files),
        X=_stacked([_in_order(part, first) for part in parts]),
        tasks=np.concatenate([part.tasks for part in parts if part.tasks is not None]),
        ids=np.concatenate([part.ids for part in parts]),
        classes=np.concatenate(classes) if len(classes) == len(parts) else None,
        counts=tuple(n for part in parts for n in part.counts),
        notes=tuple(note for part in parts for note in part.notes),
    )


def _stacked(values: list[Any]) -> Any:
    if hasattr(values[0], "iloc"):
        import pandas as pd

        return pd.concat(values, ignore_index=True)
    if any(sparse.issparse(X) for X in values):
        return sparse.vstack([sparse.csr_matrix(X) for X in values], format="csr")
    return np.concatenate(values)


def _in_order(part: Dataset, first: Dataset) -> Any:
    """The columns of a file in the order of the first file."""
    if part.names == first.names:
        return part.X
    path, there, wanted = part.files[0], set(part.names), set(first.names)
    lacking = next((name for name in first.names if name not in there), None)
    extra = next((name for name in part.names if name not in wanted), None)
    if lacking is not None or extra is not None:
        wrong = f"lacks the column {lacking!r}" if lacking is not None else f"has a column {extra!r} that others lack"
        raise InputError(f"{path} {wrong}: all files need the same columns; --features names those to use.")
    if part.is_table:
        return part.X[first.names]
    repeated = [name for name, n in Counter(first.names).items() if n > 1]
    if repeated:
        raise InputError(
            f"{path} has its columns in another order than {first.files[0]}, and several are named {repeated[0]!r}: "
            "column names must be unique."
        )
    index = {name: j for j, name in enumerate(part.names)}
    return part.X[:, [index[name] for name in first.names]]
