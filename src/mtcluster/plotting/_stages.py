"""Plots of the stages of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import host
from ._style import BLUE, COLORS, GREY, LIGHT, add_legend, attribute, new_axes, patch, task_names

STAGE_LABELS = 12  # stages that have room for a label each
NARROW = 0.08  # share of all iterations: the labels of shorter stages are rotated
NAMED_BARS = 48  # bars that have room for the name of a task each
FULL = 1 - 1e-9  # a weight of 1, up to rounding
STAGES = "stages, by the fraction of the rows of each task that is selected"
SMALL = {"fontsize": 8, "color": GREY}


def plot_objective(model: Any, ax: Any = None) -> Any:
    """Plot the objective by iteration, with the stages of the fit.

    It decreases within a stage. It may increase from one stage to the next, because more rows are selected.

    Parameters
    ----------
    model : fitted model
        Model with `objective_trace_`.
    ax : matplotlib axes, optional
        Axes to draw on. None: new axes.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    traces = [host(trace) for trace in _recorded(model, "objective_trace_", "plot_objective")]
    fractions = host(model.fractions_)
    names = [*["warm-up"] * (len(traces) - len(fractions)), *(f"{100 * share:.0f} %" for share in fractions)]
    ax = new_axes(ax, (6.4, 3.6))
    ends = np.cumsum([len(trace) for trace in traces])
    every, upright = -(-len(traces) // STAGE_LABELS), any(len(trace) < NARROW * ends[-1] for trace in traces)
    for i, (trace, end, name) in enumerate(zip(traces, ends, names, strict=True)):
        first = int(end) - len(trace)
        ax.plot(np.arange(first + 1, end + 1), trace, color=BLUE, marker="o", markersize=3.5, linewidth=1.5)
        if i % 2:
            ax.axvspan(first + 0.5, end + 0.5, color="#EEF1F4", linewidth=0, zorder=0)
        if i % every == 0 or i == len(traces) - 1:
            where = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "rotation": 90 * upright}
            ax.text(first + 0.5 + len(trace) / 2, 1.01, name, **where, **SMALL)
    ax.set(xlabel="iteration", ylabel="objective", xlim=(0.5, ends[-1] + 0.5))
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(fractions) > 1:
        ax.set_title(STAGES, fontsize=9, color=GREY, pad=34 if upright else 16)
    return ax


def plot_pace(model: Any, ax: Any = None, *, by_task: bool = False) -> Any:
    """Plot the shares of rows with full weight, partial weight and no weight at each stage.

    Parameters
    ----------
    model : fitted model
        Model with `weight_trace_`.
    ax : matplotlib axes, optional
        Axes to draw on. None: new axes.
    by_task : bool, default=False
        Whether each stage has one bar per task.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    trace = host(_recorded(model, "weight_trace_", "plot_pace"))
    stages = [f"{100 * share:.0f} %" for share in host(model.fractions_)]
    codes = host(model.task_indices_) if by_task else np.zeros(trace.shape[1], dtype=int)
    bars = int(codes.max()) + 1
    ax = new_axes(ax, (float(np.clip(0.3 * bars * len(stages), 5.5, 16)), 3.6))
    full, none = (
        np.stack([found[:, codes == k].mean(axis=1) for k in range(bars)], axis=1).ravel()
        for found in (trace >= FULL, trace <= 0)
    )
    parts = {"full weight": (full, BLUE), "partial": (1 - full - none, COLORS[5]), "none": (none, LIGHT)}
    width, below = 0.8 / bars, np.zeros(len(full))
    at = (np.arange(len(stages))[:, None] - 0.4 + width * (np.arange(bars) + 0.5)).ravel()
    for share, shade in parts.values():
        ax.bar(at, 100 * share, width, bottom=100 * below, color=shade, edgecolor="white", linewidth=0.4)
        below = below + share
    ax.set(ylabel="rows, %", ylim=(0, 100), xlim=(-0.5, len(stages) - 0.5))
    _label_bars(ax, at, stages, task_names(model) if bars > 1 else [])
    add_legend(ax, [patch(shade, name) for name, (_, shade) in parts.items()])
    return ax


def _label_bars(ax: Any, at: Any, stages: list[str], tasks: list[str]) -> None:
    if tasks and len(at) <= NAMED_BARS:
        ax.set_xticks(at, tasks * len(stages), rotation=90, fontsize=8)
        ax.set_xlabel("task")
        for i, name in enumerate(stages):
            ax.text(i, 101, name, ha="center", va="bottom", **SMALL)
        ax.set_title(STAGES, fontsize=9, color=GREY, pad=16)
        return
    ax.set_xticks(range(len(stages)), stages, rotation=90 * (len(stages) > STAGE_LABELS))
    ax.set_xlabel(STAGES)
    if tasks:
        ax.set_title(f"bars from left to right: {', '.join(tasks)}", fontsize=9, color=GREY)


def _recorded(model: Any, name: str, function: str) -> Any:
    """An attribute that has an entry per stage."""
    found = attribute(model, name, function)
    if not len(found):
        raise ValueError(f"{function} shows the stages of a fit, and {type(model).__name__} has none.")
    return found
