"""Axes, colours, names and legends that all plots share."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array, host

# The colour-blind safe palette of Okabe and Ito without black; the last colour is the faintest on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
BLUE, ORANGE, GREY, LIGHT, INK = COLORS[0], COLORS[3], "#59616A", "#D9DDE2", "#1C1F23"
SHADES = ((0.0, 0.0), (0.0, 0.45), (1.0, 0.55))  # rounds of the palette: unchanged, towards black, towards white
INSIDE = 4  # entries of a legend that may be placed among the data
COLUMN_ENTRIES = 18  # entries per column of a legend
CHARACTERS = 24  # of the name of a task
ENTRY, LETTER = 0.45, 0.075  # inches that an entry of a legend takes beside its name, and a letter of the name


def new_axes(ax: Any, size: tuple[float, float], beside: list[Any] | None = None) -> Any:
    """Take the axes given, or make new ones of about this size in a figure of pyplot, with room for a legend.

    The tight layout is computed at every draw, so that `tight_layout` of the user changes nothing and does not warn.
    """
    if ax is not None:
        return ax
    width = size[0] + legend_width(beside or [])
    return matplotlib("pyplot").subplots(figsize=(width, size[1]), layout="tight")[1]


def matplotlib(module: str) -> Any:
    """Import a module of matplotlib."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'mtcluster[plot]'.") from error


def attribute(model: Any, name: str, function: str) -> Any:
    """Read a fitted attribute, or raise an error that says which models have it."""
    check_is_fitted(model)
    if not hasattr(model, name):
        raise TypeError(
            f"{function} needs a model with {name}, and {type(model).__name__} has none: "
            "mtcluster.inspection.LabelDescription().fit(X, labels, tasks=tasks) makes one from any labels."
        )
    return getattr(model, name)


def task_names(model: Any, alone: bool = False) -> list[str]:
    """Names of the tasks, shortened; with `alone`, they say that they are tasks."""
    tasks = host(model.tasks_).tolist()
    names = [f"task {task}" if alone and not isinstance(task, str) else str(task) for task in tasks]
    return [name if len(name) <= CHARACTERS else f"{name[: CHARACTERS - 1]}…" for name in names]


def colors(numbers: Iterable[int]) -> Array:
    """Choose a colour per number, (n, 3); darker from the eighth on, lighter from the fifteenth on; grey for -1."""
    *base, grey = np.array([[int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)] for code in (*COLORS, GREY)])
    shades = np.concatenate([base + (target - np.array(base)) * share for target, share in SHADES])
    wanted = np.asarray(list(numbers), dtype=int)
    return np.where((wanted < 0)[:, None], grey, shades[wanted % len(shades)])


def legend_columns(entries: list[Any]) -> int:
    """Columns of a legend beside the data; 0 if it is short enough to be placed among them."""
    return 0 if len(entries) <= INSIDE else -(-len(entries) // COLUMN_ENTRIES)


def legend_width(entries: list[Any]) -> float:
    """About how many inches a legend takes beside the data."""
    longest = max((len(entry.get_label()) for entry in entries), default=0)
    return (ENTRY + LETTER * longest) * -(-len(entries) // COLUMN_ENTRIES)


def add_legend(ax: Any, entries: list[Any], inside: bool = False) -> None:
    """Add a legend with these entries, beside the data or among them."""
    if not entries:
        return
    where = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "frameon": False, "fontsize": 9}
    columns = max(legend_columns(entries), 1)
    if inside:
        where = {"framealpha": 0.85, "fontsize": 9}
    elif len(ax.figure.axes) > 1:  # beside the data it would cover the other axes
        where, columns = {"framealpha": 0.85, "fontsize": 7}, 1 + (len(entries) > 2 * INSIDE)
    ax.legend(handles=entries, handletextpad=0.4, ncols=columns, **where)


def mark(marker: str, color: Any, label: str) -> Any:
    """Make a marker as an entry of a legend."""
    return matplotlib("lines").Line2D([], [], linestyle="none", marker=marker, color=color, label=label, markersize=6)
