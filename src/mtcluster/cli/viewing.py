"""The rows of a result as a person looks at them: a column as a colour, some rows, and why one is where it is."""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..inspection._report.axes import TOLD_APART, _axis
from .again import rows_again, settings_in
from .counting import table_of
from .errors import InputError
from .folder import no_formula
from .layout import ROWS_TABLE
from .loading import load_model
from .preparing import Prepared
from .speaking import speaking

LEAST_SHARE = 0.0005  # probabilities below it are not told


@lru_cache(maxsize=1)
def _rows(folder: str, changed: float) -> tuple[Prepared, Any]:
    contents = load_model(Path(folder))
    return rows_again(Path(folder), contents)[1], contents["model"]


def rows_of(folder: str) -> tuple[Prepared, Any]:
    """Read the rows of a result and its model; those that were read last are kept."""
    return _rows(folder, Path(folder, "settings.json").stat().st_mtime)


def list_columns(folder: str) -> list[str]:
    """List the columns by which the map can be coloured."""
    settings = settings_in(Path(folder))
    return [] if isinstance(settings["columns"], str) or settings["options"].get("anonymous") else settings["columns"]


def column(folder: str, name: str, at: list[int] | None) -> dict[str, Any]:
    """Make a colour for the map of a column, as the report does; `at` are the rows of the map, None for all."""
    rows, _ = rows_of(folder)
    if name not in rows.data.names:
        raise InputError(f"There is no column {name!r}; {len(rows.data.names)} others are there.")
    values: Any = rows.data.X[name] if rows.data.is_table else _dense(rows.data.X[:, rows.data.names.index(name)])
    if rows.data.is_table and values.dtype.kind not in "iuf":
        texts = values.astype(object).where(values.notna(), None).to_numpy()
        levels = sorted({str(text) for text in texts if text is not None})
        if len(levels) > TOLD_APART:
            raise InputError(f"{name!r} has {len(levels)} values; {TOLD_APART} can be told apart by colour.")
        codes = [None if text is None else levels.index(str(text)) for text in texts]
        return {
            "name": name,
            "kind": "category",
            "levels": levels,
            "at": codes if at is None else [codes[i] for i in at],
        }
    numbers = np.asarray(values, dtype=float)
    return _axis(name, numbers if at is None else numbers[at], "number")


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values).ravel()


def selection(folder: str, numbers: list[int]) -> str:
    """Write some rows of a result as CSV: what labels.csv says of them, and their columns."""
    rows, _ = rows_of(folder)
    labels = table_of(Path(folder, ROWS_TABLE))
    kept = [i for i in numbers if 0 <= i < len(labels)]
    out, X = io.StringIO(), rows.data.X
    names = rows.data.names if rows.data.is_table else []
    writer = csv.writer(out, lineterminator="\n")
    told = [name for name in ("id", "task", "cluster", "name") if labels and name in labels[0]]
    writer.writerow([*told, *map(no_formula, names)])
    for i in kept:
        cells = X.iloc[i].tolist() if names else []
        writer.writerow([*(labels[i][name] for name in told), *(no_formula(c) if c == c else "" for c in cells)])
    return out.getvalue()


def why(folder: str, wanted: str) -> dict[str, Any]:
    """Tell why a row is where it is: how probable its clusters are, and which features speak for the first of them."""
    labels = table_of(Path(folder, ROWS_TABLE))
    at = next((i for i, row in enumerate(labels) if row["id"] == wanted), None)
    if at is None:
        known = labels[0]["id"] if labels else ""
        raise InputError(f"No row has the id {wanted!r}; ids look like {known!r}.")
    rows, model = rows_of(folder)
    label = labels[at]
    shares = sorted(
        ((int(key.rpartition("_")[2]), float(value)) for key, value in label.items() if _is_share(key)),
        key=lambda one: -one[1],
    )
    own = int(label["cluster"])
    other = next((j for j, _ in shares if j != own), own)
    told = {key: label[key] for key in ("id", "task", "confidence", "easiness", "outlier_score") if key in label}
    features = speaking(rows, model, at, own if own >= 0 else shares[0][0], other)
    shares = [one for one in shares if one[1] > LEAST_SHARE][:4]
    return told | {"cluster": own, "other": other, "shares": shares, "features": features, "row": at}


def _is_share(name: str) -> bool:
    word, _, number = name.rpartition("_")
    return word in ("probability", "membership") and number.isdecimal()
