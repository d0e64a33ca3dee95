"""How many rows of results have which cluster, as their files say."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from .layout import ROWS_TABLE
from .predict import told_new


def labelled(path: str) -> dict[str, Any]:
    """Count the rows of a file of labels, by task and cluster; −1 is a group of its own."""
    rows = table_of(Path(path))
    clusters = sorted({int(row["cluster"]) for row in rows})
    names = {int(row["cluster"]): row.get("name", "") for row in rows}
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(row["task"], [0] * len(clusters))[clusters.index(int(row["cluster"]))] += 1
    new = [row for row in rows if row["cluster"] == "-1"]
    return {"clusters": clusters, "names": names, "counts": counts, "n_rows": len(rows), "new": new[:50],
            "said": told_new(len(new))}  # fmt: skip


def flow(a: str, b: str) -> dict[str, Any]:
    """Count the rows that two results have in common, by their clusters in both; rows are the same by task and id."""
    first, second = ({(row["task"], row["id"]): row for row in table_of(Path(one, ROWS_TABLE))} for one in (a, b))
    common = [(first[key], second[key]) for key in first if key in second]
    names = [{int(row["cluster"]): row.get("name", "") for row in one.values()} for one in (first, second)]
    counts: dict[tuple[int, int], int] = {}
    for one, other in common:
        pair = int(one["cluster"]), int(other["cluster"])
        counts[pair] = counts.get(pair, 0) + 1
    flows = [[*pair, n] for pair, n in sorted(counts.items())]
    return {"n": len(common), "flows": flows, "names": names, "n_rows": [len(first), len(second)]}


def table_of(path: Path) -> list[dict[str, str]]:
    """Read a CSV file of a result."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
