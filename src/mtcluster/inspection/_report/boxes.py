"""The coordinates of box plots, in per cent of the width of a chart."""

from __future__ import annotations

from typing import Any

from .._words import number, percent

Box = dict[str, Any]
SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # where an axis of shares may end


def box_charts(found: dict[str, Any] | None) -> dict[int, list[dict[str, Any]]]:
    """For each cluster the charts of its leading features: by cluster, and by task beside the other clusters."""
    if found is None:
        return {}
    by_task = {(one["cluster"], one["feature"]): one["tasks"] for one in found["by_task"]}
    return {
        item["cluster"]: [_chart(found, item["cluster"], i, by_task) for i in item["features"]]
        for item in found["clusters"]
    }


def _chart(found: dict[str, Any], j: int, i: int, by_task: dict[tuple[int, int], Any]) -> dict[str, Any]:
    """Draw one feature of one cluster."""
    feature, tasks = found["features"][i], by_task.get((j, i), [])
    shown = sorted({j, *found["beside"]})
    values = {other: feature["clusters"].get(str(other)) for other in shown}
    kind = feature["kind"]
    ends = _range(list(feature["clusters"].values()), kind)  # the same beside every cluster
    own_ends = _range([part[side] for part in tasks for side in ("here", "rest")], kind)
    return {
        "name": feature["name"],
        "kind": kind,
        "ends": ends,
        "rows": [{"cluster": other, "here": other == j, "box": _box(own, ends, kind)} for other, own in values.items()],
        "task_ends": own_ends,
        "tasks": [
            {"task": part["task"]} | {side: _box(part[side], own_ends, kind) for side in ("here", "rest")}
            for part in tasks
            if part["here"] is not None
        ],
    }


def _range(groups: list[list[float] | None], kind: str) -> tuple[float, float]:
    """Find the values that a chart spans."""
    values = [value for own in groups if own is not None for value in own]
    if kind != "number":
        return 0.0, next(end for end in SHARES if end >= max(values, default=0.0))
    low, high = min(values, default=0.0), max(values, default=1.0)
    return low, high if high > low else low + 1.0


def _box(own: list[float] | None, ends: tuple[float, float], kind: str) -> Box | None:
    """Write a box from the first to the last quarter, its median, and its whiskers if they are known; or a share."""
    if own is None:
        return None
    low, high = ends
    at = [round(100 * (value - low) / (high - low), 1) for value in own]
    if kind != "number":
        return {"share": own[0], "width": at[0], "told": percent(own[0])}
    middle = at[1:4] if len(at) == 5 else at
    first, median, last = own[1:4] if len(own) == 5 else own
    return {
        "from": middle[0],
        "width": round(max(middle[2] - middle[0], 0.6), 1),
        "median": middle[1],
        "whiskers": [at[0], at[-1]] if len(at) == 5 else None,
        "middle": number(median),
        "told": f"median {number(median)}, middle half from {number(first)} to {number(last)}",
    }
