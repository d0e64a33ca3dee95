"""Plots of the clusters of the tasks, the stages of a fit, and the choice of the number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import host
from ..inspection._fitted import PER_TASK, comparable, on_host
from ..inspection._relations import relation_words
from ..inspection._words import listed
from ._style import BLUE, COLORS, GREY, INK, LIGHT, ORANGE, add_legend, attribute, colors, mark, new_axes, task_names

NUMBERED = 20  # tasks up to which a matrix has numbers in it
STAGE_LABELS = 12  # stages that have room for a label each
NARROW = 0.08  # share of all iterations: the labels of shorter stages are rotated
FULL = 1 - 1e-9  # a weight of 1, up to rounding
MARKS = {"absent": "x", "private": "*", "uncertain": "$?$"}  # of clusters that are not shared by all tasks
STAGES = "stages, by the fraction of the rows of each task that is selected"


def plot_cluster_sizes(model: Any, ax: Any = None) -> Any:
    """Plot the share of each cluster in each task, and mark what is not shared by all.

    A cross marks a cluster that a task does not hold, a star one that no other task holds, and a question mark one of
    which that is uncertain; see `mtcluster.inspection.relations`.

    Parameters
    ----------
    model : fitted model
        Model with `cluster_sizes_`, `cluster_support_` and `cluster_presence_`.
    ax : matplotlib axes, optional
        Axes to draw on. None: new axes.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    sizes, names = host(attribute(model, "cluster_sizes_", "plot_cluster_sizes")), task_names(model, alone=True)
    shares = 100 * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    words = relation_words(on_host(model, PER_TASK))
    m, c = shares.shape
    ax = new_axes(ax, (float(np.clip(0.16 * c * (m + 1), 5.5, 16)), 3.6))
    width, entries = 0.8 / m, []
    for k, color in enumerate(colors(range(m))):
        at = np.arange(c) - 0.4 + width * (k + 0.5)
        ax.bar(at, shares[k], 0.94 * width, color=color)
        for word, shape in MARKS.items():
            own = words[k] == word
            if own.any():
                above = {"linestyle": "none", "color": INK, "markersize": 5, "clip_on": False}
                ax.plot(at[own], shares[k, own] + 0.025 * shares.max(), marker=shape, **above)
        entries += [mark("s", color, names[k])] * (m > 1)
    ax.set_xticks(range(c), [str(j) for j in range(c)])
    ax.set(xlabel="cluster", ylabel="rows of the task, %", xlim=(-0.6, c - 0.4), ylim=(0, 1.08 * shares.max()))
    add_legend(ax, [*entries, *(mark(shape, INK, word) for word, shape in MARKS.items() if np.any(words == word))])
    return ax


def plot_relatedness(model: Any, ax: Any = None) -> Any:
    """Plot the relatedness of the tasks, the matrix `task_relatedness_` with values from 0 to 1.

    Two tasks that hold fewer than two common clusters cannot be compared; their cell is grey.

    Parameters
    ----------
    model : fitted model
        Model with `task_relatedness_`.
    ax : matplotlib axes, optional
        Axes to draw on. None: new axes.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    R, names = host(attribute(model, "task_relatedness_", "plot_relatedness")), task_names(model)
    known = comparable(on_host(model, PER_TASK)) | np.eye(len(R), dtype=bool)
    side, long = float(np.clip(2.0 + 0.55 * len(R), 3.2, 12)), max(map(len, names)) > 4
    ax = new_axes(ax, (side + 0.9, side))
    ax.set_facecolor(LIGHT)
    drawn = ax.imshow(np.ma.masked_array(R, ~known), vmin=0, vmax=1, cmap="Blues")
    ax.set_xticks(range(len(R)), names, rotation=45 * long, rotation_mode="anchor", ha="right" if long else "center")
    ax.set_yticks(range(len(R)), names)
    ax.set(xlabel="task", ylabel="task")
    ax.tick_params(length=0)
    for i, j in np.ndindex(R.shape) if len(R) <= NUMBERED else ():
        told, color = f"{R[i, j]:.2f}" if known[i, j] else "–", "white" if known[i, j] and R[i, j] > 0.6 else INK
        ax.text(j, i, told, ha="center", va="center", color=color, fontsize=9)
    ax.figure.colorbar(drawn, ax=ax, label="relatedness")
    return ax


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
            ax.text(first + 0.5 + len(trace) / 2, 1.01, name, fontsize=8, color=GREY, **where)
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
    ax.set(ylabel="rows, %", ylim=(0, 100), xlim=(-0.5, len(stages) - 0.5), xlabel=STAGES)
    ax.set_xticks(range(len(stages)), stages, rotation=90 * (len(stages) > STAGE_LABELS))
    if bars > 1:
        ax.set_title(f"bars from left to right: {listed(task_names(model))}", fontsize=9, color=GREY)
    add_legend(ax, [mark("s", shade, name) for name, (_, shade) in parts.items()])
    return ax


def _recorded(model: Any, name: str, function: str) -> Any:
    """An attribute that has an entry per stage."""
    found = attribute(model, name, function)
    if not len(found):
        raise ValueError(f"{function} shows the stages of a fit, and {type(model).__name__} has none.")
    return found


def plot_selection(selection: Any, ax: Any = None, *, clear: float = 0.5) -> Any:
    """Plot stability by number of clusters, with the suggested number marked.

    Parameters
    ----------
    selection : Selection, Table or data frame
        Result of `mtcluster.model_selection.select_n_clusters`, or its table alone, which has no suggestion.
    ax : matplotlib axes, optional
        Axes to draw on. None: new axes.
    clear : float, default=0.5
        Stability below which there is no clear structure, drawn as a line.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    table, chosen = (selection.table, selection.n_clusters) if hasattr(selection, "table") else (selection, None)
    try:
        c, stability, error = (list(table[name]) for name in ("n_clusters", "stability", "error"))
    except (TypeError, KeyError, IndexError) as problem:
        raise TypeError(
            "selection should be a result of select_n_clusters, or its table with the columns n_clusters, stability "
            f"and error; got {type(selection).__name__}."
        ) from problem
    ax = new_axes(ax, (5, 3.2))
    ax.errorbar(c, stability, yerr=error, color=BLUE, marker="o", capsize=3)
    ax.axhline(clear, color="0.6", linestyle=":", linewidth=1)
    below = {"transform": ax.get_yaxis_transform(), "va": "top", "fontsize": 8, "color": GREY}
    ax.text(0.02, clear - 0.01, "no clear structure below", **below)
    if chosen is not None:
        at = (chosen, stability[c.index(chosen)])
        ax.plot(*at, "o", color=ORANGE, markersize=11, fillstyle="none", markeredgewidth=2)
        above = {"xytext": (0, 10), "textcoords": "offset points", "ha": "center", "color": ORANGE}
        ax.annotate(f"suggested: {chosen}", at, **above)
    ax.set(xlabel="number of clusters", ylabel="stability", ylim=(min(0, *stability), 1.12), xticks=c)
    return ax
