"""Plots of the clusters of the tasks, the stages of a fit, the number of clusters and how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import host
from ..core.fitted import Fitted
from ..inspection._relations import relation_words
from ..inspection._subject import subject_of
from ..inspection._words import listed
from ._style import (
    BLUE,
    COLORS,
    GREY,
    INK,
    LETTER,
    LIGHT,
    ORANGE,
    add_legend,
    colors,
    mark,
    new_axes,
    task_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERED = 20  # tasks up to which a matrix has numbers in it
STAGE_LABELS = 12  # stages that have room for a label each
NARROW = 0.08  # share of all iterations: the labels of shorter stages are rotated
FULL = 1 - 1e-9  # a weight of 1, up to rounding
MARKS = {"absent": "x", "private": "*", "uncertain": "$?$"}  # of clusters that are not shared by all tasks
STAGES = "stages, by the fraction of the rows of each task that is selected"


def plot_cluster_sizes(model: Any, ax: Any = None) -> Axes:
    """Plot the share of each cluster in each task, and mark what is not shared by all.

    A cross marks a cluster that a task does not hold, a star one that no other task holds, and a question mark one of
    which that is uncertain; see `mtcluster.inspection.relations`.

    Parameters
    ----------
    model : fitted model
        Any estimator of this library, or a `LabelDescription`.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    fitted, names = subject_of(model, "plot_cluster_sizes").fitted, task_names(model, alone=True)
    sizes = fitted.sizes
    shares = 100 * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    words = relation_words(fitted)
    m, c = shares.shape
    shades = colors(range(m))
    entries = [mark("s", color, name) for color, name in zip(shades, names, strict=True)] if m > 1 else []
    entries += [mark(shape, INK, word) for word, shape in MARKS.items() if np.any(words == word)]
    ax, width = new_axes(ax, (float(np.clip(0.16 * c * (m + 1), 5, 14)), 3.6), entries), 0.8 / m
    for k, color in enumerate(shades):
        at = np.arange(c) - 0.4 + width * (k + 0.5)
        ax.bar(at, shares[k], 0.94 * width, color=color)
        for word, shape in MARKS.items():
            own = words[k] == word
            if own.any():
                above = {"linestyle": "none", "color": INK, "markersize": 5, "clip_on": False}
                ax.plot(at[own], shares[k, own] + 0.025 * shares.max(), marker=shape, **above)
    ax.set_xticks(range(c), [str(j) for j in range(c)])
    ax.set(xlabel="cluster", ylabel="rows of the task, %", xlim=(-0.6, c - 0.4), ylim=(0, 1.08 * shares.max()))
    add_legend(ax, entries)
    return ax


def plot_relatedness(model: Any, ax: Any = None) -> Axes:
    """Plot the relatedness of the tasks, the matrix `task_relatedness_` with values from 0 to 1.

    Two tasks that hold fewer than two common clusters cannot be compared; their cell is grey.

    Parameters
    ----------
    model : fitted model
        Model with `task_relatedness_`.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    subject, names = subject_of(model, "plot_relatedness"), task_names(model)
    R = subject.fitted.relatedness
    known = subject.comparable | np.eye(len(R), dtype=bool)
    letters, side = max(map(len, names)), float(np.clip(2.0 + 0.55 * len(R), 3.2, 12))
    long, name = letters > 4, LETTER * letters
    ax = new_axes(ax, (side + 0.9 + name, side + 0.7 * name * long))
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


def plot_objective(model: Any, ax: Any = None) -> Axes:
    """Plot the objective by iteration, with the stages of the fit.

    It decreases within a stage. It may increase from one stage to the next, because more rows are selected.

    Parameters
    ----------
    model : fitted model
        Model with `objective_trace_`.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    fitted = _staged(model, "plot_objective")
    traces, fractions = fitted.traces, host(fitted.rows.fractions)
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


def plot_pace(model: Any, ax: Any = None, *, by_task: bool = False) -> Axes:
    """Plot the shares of rows with full weight, partial weight and no weight at each stage.

    Parameters
    ----------
    model : fitted model
        Any estimator of this library.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.
    by_task : bool, default=False
        Whether each stage has one bar per task.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    rows = _staged(model, "plot_pace").rows
    trace, stages = host(rows.weights), [f"{100 * share:.0f} %" for share in host(rows.fractions)]
    codes = host(rows.tasks) if by_task else np.zeros(trace.shape[1], dtype=int)
    bars = int(codes.max()) + 1
    full, none = (
        np.stack([found[:, codes == k].mean(axis=1) for k in range(bars)], axis=1).ravel()
        for found in (trace >= FULL, trace <= 0)
    )
    parts = {"full weight": (full, BLUE), "partial": (1 - full - none, COLORS[5]), "none": (none, LIGHT)}
    entries = [mark("s", shade, name) for name, (_, shade) in parts.items()]
    ax = new_axes(ax, (float(np.clip(0.3 * bars * len(stages), 5, 14)), 3.6), entries)
    width, below = 0.8 / bars, np.zeros(len(full))
    at = (np.arange(len(stages))[:, None] - 0.4 + width * (np.arange(bars) + 0.5)).ravel()
    for share, shade in parts.values():
        ax.bar(at, 100 * share, width, bottom=100 * below, color=shade, edgecolor="white", linewidth=0.4)
        below = below + share
    ax.set(ylabel="rows, %", ylim=(0, 100), xlim=(-0.5, len(stages) - 0.5), xlabel=STAGES)
    ax.set_xticks(range(len(stages)), stages, rotation=90 * (len(stages) > STAGE_LABELS))
    if bars > 1:
        ax.set_title(f"bars from left to right: {listed(task_names(model))}", fontsize=9, color=GREY)
    add_legend(ax, entries)
    return ax


def _staged(model: Any, function: str) -> Fitted:
    """Read a model that was fitted in stages."""
    found = subject_of(model, function).fitted
    if not found.traces:
        raise ValueError(f"{function} shows the stages of a fit, and {type(model).__name__} has none.")
    return found


def plot_selection(selection: Any, ax: Any = None) -> Axes:
    """Plot silhouettes by number of clusters next to those of data without clusters, with the suggested number marked.

    Numbers that are supported are filled.

    Parameters
    ----------
    selection : Selection, Table or data frame
        Result of `mtcluster.model_selection.select_n_clusters`, or its table alone, which has no suggestion.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    table, chosen = (selection.table, selection.n_clusters) if hasattr(selection, "table") else (selection, None)
    try:
        columns = [list(table[name]) for name in ("n_clusters", "silhouette", "reference", "supported")]
    except (TypeError, KeyError, IndexError) as problem:
        raise TypeError(
            "selection should be a result of select_n_clusters, or its table with the columns n_clusters, silhouette, "
            f"reference and supported; got {type(selection).__name__}."
        ) from problem
    shown = [row for row in zip(*columns, strict=True) if row[0] > 1]
    c, sharp, reference, supported = (
        (list(column) for column in zip(*shown, strict=True)) if shown else ([], [], [], [])
    )
    ax = new_axes(ax, (5.6, 3.6))
    ax.plot(c, reference, color=GREY, linestyle="--", linewidth=1.2, label="data without clusters")
    ax.plot(c, sharp, color=BLUE, linewidth=1.5)
    for filled, name in ((True, "supported"), (False, "not supported")):
        own = [(x, y) for x, y, given in zip(c, sharp, supported, strict=True) if bool(given) == filled]
        style = {"color": BLUE, "markerfacecolor": BLUE if filled else "white", "markersize": 6, "label": name}
        if own:
            ax.plot(*zip(*own, strict=True), "o", zorder=3, **style)
    if chosen in c:
        at = (chosen, sharp[c.index(chosen)])
        ax.plot(*at, "o", color=ORANGE, markersize=12, fillstyle="none", markeredgewidth=2, zorder=4)
        ends = {c[0]: "left", c[-1]: "right"} if len(c) > 1 else {}
        above = {"xytext": (0, 11), "textcoords": "offset points", "ha": ends.get(chosen, "center"), "color": ORANGE}
        ax.annotate(f"suggested: {chosen}", at, **above)
    elif chosen is not None:
        ax.set_title(f"suggested: {chosen}", fontsize=11, color=INK)
    ax.set(xlabel="number of clusters", ylabel="silhouette")
    ax.set_xticks(c if len(c) <= STAGE_LABELS else c[:: -(-len(c) // STAGE_LABELS)])
    ax.margins(x=0.08, y=0.16)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False, fontsize=8.5)
    return ax


def plot_stability(stability: Any, ax: Any = None) -> Axes:
    """Plot how far each cluster is found again in refits, next to data without clusters, with the verdict.

    Bars are Jaccard indices of clusters with their matches. The line is the share of all rows that keep their cluster,
    and the band is the range of the same in data without clusters.

    Parameters
    ----------
    stability : Stability
        Result of `mtcluster.model_selection.stability`.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    if not all(hasattr(stability, name) for name in ("verdict", "overall", "reference", "cluster_stability")):
        raise TypeError(
            f"stability should be a result of mtcluster.model_selection.stability; got {type(stability).__name__}."
        )
    values = np.asarray(stability.cluster_stability, dtype=np.float64)
    reference = np.asarray(stability.reference)
    c = len(values)
    ax = new_axes(ax, (float(np.clip(0.45 * c + 3, 6.2, 14)), 3.6))
    ax.bar(range(c), np.nan_to_num(values), 0.5, color=COLORS[5], label="each cluster")
    ax.axhline(stability.overall, color=INK, linewidth=1.5, label="all rows")
    if len(reference):
        shade = {"color": ORANGE, "alpha": 0.25, "linewidth": 0, "zorder": 0}
        ax.axhspan(reference.min(), reference.max(), label="all rows, data\nwithout clusters", **shade)
    every = -(-c // NUMBERED)
    ax.set_xticks(range(0, c, every), [str(j) for j in range(0, c, every)])
    ax.set(xlabel="cluster", ylabel="stability in refits", xlim=(-0.6, c - 0.4), ylim=(0, 1.04))
    ax.set_title(f"how sure: {stability.verdict}", fontsize=11, color=INK)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=9)
    return ax
