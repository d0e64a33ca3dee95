"""The coordinates of the charts of a page, in units of their own."""

from __future__ import annotations

import math
from typing import Any

LEFT, RIGHT, TOP, BOTTOM = 70.0, 630.0, 20.0, 164.0  # the area of a chart
LABEL = 14  # least width of a stage in a chart whose name fits
AXIS_START, AXIS_END = 34.0, 606.0  # the area of a chart without names at its side
LEVEL = 74.0  # height of a level of a tree
NODES = 16  # clusters of a level of a tree that can be told apart


def line_chart(stages: list[dict[str, Any]], objective: list[list[float | None]], **_: Any) -> dict[str, Any]:
    """Coordinates of the objective by iteration: points, and the borders and names of the stages."""
    values = [value for part in objective for value in part if value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    step = (RIGHT - LEFT) / max(sum(map(len, objective)), 1)
    points, parts, x = [], [], LEFT
    for stage, part in zip(stages, objective, strict=True):
        room = step * len(part)
        parts.append({"x": x, "middle": x + room / 2, "name": stage["name"] if room >= LABEL else ""})
        for i, value in enumerate(part):
            if value is not None:
                height = (value - low) / ((high - low) or 1.0)
                points.append((round(x + step * (i + 0.5), 1), round(BOTTOM - (BOTTOM - TOP) * height, 1)))
        x += room
    return {"points": points, "parts": parts, "low": low, "high": high}


def reference_chart(overall: float | None, reference: list[float], **_: Any) -> dict[str, Any] | None:
    """Coordinates of the stability of the data, and of data without clusters, on one axis."""
    if overall is None:
        return None
    low = min(math.floor(10 * min([overall, *reference])) / 10, 0.9)

    def across(value: float) -> float:
        return round(AXIS_START + (AXIS_END - AXIS_START) * (value - low) / (1 - low), 1)

    step = 0.05 if low >= 0.75 else 0.1 if low >= 0.45 else 0.2
    ticks = [1 - i * step for i in range(round((1 - low) / step) + 1) if 1 - i * step > low - 1e-9]
    return {
        "here": across(overall),
        "others": [across(value) for value in reference],
        "ticks": [{"x": across(tick), "share": tick} for tick in ticks],
    }


def number_chart(selection: dict[str, Any] | None) -> dict[str, Any] | None:
    """Coordinates of the silhouettes by number of clusters, and of those of data without clusters."""
    table = [] if selection is None else selection["table"]
    rows = [row for row in table if row["n_clusters"] > 1 and row.get("silhouette") is not None]  # older ones lack it
    if selection is None or not rows:
        return None
    first, last = (pick(row["n_clusters"] for row in rows) for pick in (min, max))
    values = [row[name] for row in rows for name in ("silhouette", "reference") if row[name] is not None]
    low = min(math.floor(10 * min(values)) / 10, 0.9)

    def up(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (min(max(value, low), 1) - low) / (1 - low), 1)

    points = []
    for row in rows:
        x = LEFT + 24 + (RIGHT - LEFT - 48) * ((row["n_clusters"] - first) / (last - first) if last > first else 0.5)
        points.append(
            {
                "x": round(x, 1),
                "y": up(row["silhouette"]),
                "reference": up(row["reference"]),
                "number": row["n_clusters"],
                "supported": row["supported"],
                "chosen": row["n_clusters"] == selection["n_clusters"],
            }
        )
    return {"points": points, "low": low, "every": -(-len(points) // 18)}


def tree_chart(selection: dict[str, Any] | None) -> dict[str, Any] | None:
    """Coordinates of the clusters of each supported number, a level each, and of the lines between them.

    The clusters of a level stand in the order of their parents, so that few lines cross.
    """
    levels = [] if selection is None else selection["tree"]
    if not levels or max(level["fine"] for level in levels) > NODES:
        return None
    order = list(range(levels[0]["coarse"]))
    nodes, lines, above = _nodes(order, 0), [], _places(order)
    for depth, level in enumerate(levels, start=1):
        pull: dict[int, float] = {}
        mass: dict[int, float] = {}
        links = [
            (split["parent"], part["child"], part["share"]) for split in level["splits"] for part in split["parts"]
        ]
        for parent, child, share in links:
            pull[child] = pull.get(child, 0.0) + share * above[parent]
            mass[child] = mass.get(child, 0.0) + share
        order = sorted(range(level["fine"]), key=lambda j: (pull.get(j, math.inf) / mass.get(j, 1.0), j))
        below = _places(order)
        lines += [
            {
                "x1": above[parent], "y1": _height(depth - 1) + 12, "x2": below[child], "y2": _height(depth) - 12,
                "width": round(1 + 7 * share, 1),
            }
            for parent, child, share in links
        ]  # fmt: skip
        nodes += _nodes(order, depth)
        above = below
    names = [levels[0]["coarse"], *(level["fine"] for level in levels)]
    heads = [{"y": _height(depth), "number": number} for depth, number in enumerate(names)]
    return {"nodes": nodes, "lines": lines, "heads": heads, "height": _height(len(levels)) + 22}


def _height(depth: int) -> float:
    return 22 + LEVEL * depth


def _places(order: list[int]) -> dict[int, float]:
    """Tell where the clusters of a level stand, from left to right."""
    room = (RIGHT - LEFT - 50) / len(order)
    return {j: round(LEFT + 50 + room * (i + 0.5), 1) for i, j in enumerate(order)}


def _nodes(order: list[int], depth: int) -> list[dict[str, Any]]:
    return [{"x": x, "y": _height(depth), "cluster": j} for j, x in _places(order).items()]


def dendrogram(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Coordinates of a dendrogram: a bracket for each step, at the height of its distance."""
    if found is None:
        return None
    low, high = 176.0, 20.0
    most = max(step[2] for step in found["steps"]) or 1.0
    room = (RIGHT - LEFT) / len(found["order"])
    leaves = [{"cluster": j, "x": round(LEFT + room * (i + 0.5), 1)} for i, j in enumerate(found["order"])]
    at = {leaf["cluster"]: leaf["x"] for leaf in leaves}
    places = [(at[j], low) for j in found["clusters"]]
    paths = []
    for a, b, value in found["steps"]:
        (x1, y1), (x2, y2), y = places[a], places[b], round(low - (low - high) * value / most, 1)
        paths.append(f"{x1},{y1} {x1},{y} {x2},{y} {x2},{y2}")
        places.append((round((x1 + x2) / 2, 1), y))
    ticks = [{"y": round(low - (low - high) * share, 1), "value": most * share} for share in (0.0, 0.5, 1.0)]
    return {"paths": paths, "leaves": leaves, "ticks": ticks, "height": 206}


def flow_chart(found: list[dict[str, int]]) -> dict[str, Any] | None:
    """Coordinates of bands from old clusters on the left to new ones on the right, as wide as their rows are many."""
    if not found or max(len({one[side] for one in found}) for side in ("before", "after")) > NODES:
        return None
    total, tall, gap = sum(one["rows"] for one in found), 220.0, 10.0
    bars, starts = [], {}
    for side, x in (("before", 70.0), ("after", 558.0)):
        y = 10.0
        for j in sorted({one[side] for one in found}):
            height = tall * sum(one["rows"] for one in found if one[side] == j) / total
            bars.append({"cluster": j, "x": x, "y": round(y, 1), "height": round(height, 1), "left": side == "before"})
            starts[side, j] = y
            y += height + gap
    bands = []
    for one in sorted(found, key=lambda one: (one["before"], one["after"])):
        width = tall * one["rows"] / total
        a, b = starts["before", one["before"]], starts["after", one["after"]]
        starts["before", one["before"]] += width
        starts["after", one["after"]] += width
        upper = f"M82 {a:.1f}C320 {a:.1f} 320 {b:.1f} 558 {b:.1f}"
        lower = f"V{b + width:.1f}C320 {b + width:.1f} 320 {a + width:.1f} 82 {a + width:.1f}Z"
        bands.append(one | {"path": upper + lower, "moved": one["before"] != one["after"]})
    return {"bars": bars, "bands": bands, "height": round(max(bar["y"] + bar["height"] for bar in bars) + 10, 1)}
