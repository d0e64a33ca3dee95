"""A first look at files: their columns, first rows, and what columns are probably there for."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

from .preparing import read

PREVIEW = 8  # rows that a preview shows
MOST_GROUPS = 50  # values of a column that may name the groups
GROUP_WORDS = re.compile(
    "task|group|site|hospital|cent(re|er)|country|region|island|batch|donor|study|cohort|dataset|school|city|year|lab"
)


def look(arguments: Namespace) -> dict[str, Any]:
    """Read files as they came: their columns, first rows, and the column that probably names the groups."""
    _, data = read(arguments)
    found = {"n_rows": len(data), "notes": list(data.notes), "grouped": len(arguments.files) > 1 or not data.is_table}
    if not data.is_table:
        return found | {"columns": [], "rows": [], "group": None, "id": None, "names": len(data.names)}
    columns = [_column(name, data.X[name]) for name in data.names]
    some = data.X.iloc[:PREVIEW].astype(object)
    rows = some.where(some.notna(), "").astype(str).to_numpy().tolist()
    group = None if found["grouped"] else _group(columns, len(data))
    id = next((one["name"] for one in columns if one["kind"] == "text" and one["distinct"] == len(data)), None)
    return found | {"columns": columns, "rows": rows, "group": group, "id": id, "names": len(data.names)}


def _column(name: str, values: Any) -> dict[str, Any]:
    """Describe a column of a table."""
    kind = "number" if values.dtype.kind in "iuf" else "date" if values.dtype.kind == "M" else "text"
    return {"name": str(name), "kind": kind, "distinct": int(values.nunique()), "missing": int(values.isna().sum())}


def _group(columns: list[dict[str, Any]], n_rows: int) -> str | None:
    """Suggest the column of groups: one of few values whose name says so, or else the only one of few texts."""
    few = [one for one in columns if 2 <= one["distinct"] <= min(MOST_GROUPS, max(2, n_rows // 4))]
    named = [one for one in few if GROUP_WORDS.search(one["name"].casefold())]
    texts = [one for one in few if one["kind"] == "text"]
    return next((one["name"] for one in (*named, *texts[:1] * (len(texts) == 1))), None)
