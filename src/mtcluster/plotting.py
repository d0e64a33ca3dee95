"""Pictures of fitted models: each function takes a model or a table and axes of matplotlib, and returns the axes.

Where no axes are given, new ones are made without pyplot, so that nothing is kept and no window opens:
`ax.figure.savefig("map.png")` writes the picture, and in a notebook with `%matplotlib inline` a cell that ends with
`ax.figure` shows it. Axes of `matplotlib.pyplot.subplots` work as well, and are shown by `matplotlib.pyplot.show`.

Models are `SPMTC`, `LSSMTC` and `ASI`; `mtcluster.inspection.LabelDescription` makes one of the labels of any other clusterer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from operator import index
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._utils.tasks import positions
from .core.arrays import Array, host
from .inspection._explanation import PRESENT
from .inspection._outliers import easiness

__all__ = ["plot_cluster_sizes", "plot_objective", "plot_pace", "plot_relatedness", "plot_selection", "plot_tasks"]

# Okabe and Ito's colours, which the colour-blind can tell apart, without black; the last is weakest on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
MARKERS = "o^sDvPX*<>"
BLUE, ORANGE, GREY, LIGHT, INK = COLORS[0], COLORS[3], "#59616A", "#D9DDE2", "#1C1F23"
SHADES = ((0.0, 0.0), (0.0, 0.45), (1.0, 0.55))  # rounds of the colours: as they are, towards black, towards white
INSIDE = 4  # entries of a legend that may stand among the data
LINES = 18  # entries of a legend one below the other
NUMBERED = 20  # tasks up to which a matrix has numbers in it
STAGE_LABELS = 12  # stages that have room for a label each
NARROW = 0.08  # of all iterations: in a shorter stage its label stands upright
NAMED_BARS = 48  # that have room for the name of a task each
FULL = 1 - 1e-9  # a weight of 1, but for rounding
STAGES = "stages, by the share of each task's rows that is let in"
CHARACTERS = 24  # of the name of a task


def plot_tasks(
    model: Any,
    ax: Any = None,
    *,
    color: str = "cluster",
    axes: Sequence[int] = (0, 1),
    tasks: Iterable[Any] | None = None,
) -> Any:
    """The map of the rows in the shared subspace, all tasks in their common frame.

    Its axes are directions that tell the clusters apart best. Cluster numbers stand at the middle of each cluster,
    markers say which task a row belongs to. Where the map has one direction, the second axis is the distance of a row
    from what the model makes of it, the root of its loss.

    Parameters
    ----------
    model : fitted model
        With a map: `map_`, of all rows or of a sample of them.
    ax : matplotlib axes, optional
        Where to draw. None: new axes.
    color : {"cluster", "task", "easiness"}, default="cluster"
        What colours say. Easiness is the share of a row's task that fits no better: dark rows are hard.
    axes : pair of int, default=(0, 1)
        Columns of `map_` to draw.
    tasks : iterable of labels, optional
        Tasks to show in colour, the others in grey. None: all.

    Returns
    -------
    ax : matplotlib axes
        With the drawing.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.plotting import plot_tasks
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> ax = plot_tasks(SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks))
    >>> ax.get_xlabel()
    'shared direction 1'
    """
    _check(model, "map_", "plot_tasks")
    if color not in ("cluster", "task", "easiness"):
        raise ValueError(f"color={color!r} should be 'cluster', 'task' or 'easiness'.")
    names = _names(model, alone=True)
    shown = _shown(model, tasks)
    points, labels = _points(model, axes)
    rows = host(model.map_rows_)
    codes, clusters = host(model.task_indices_)[rows], host(model.labels_)[rows]
    easy = easiness(host(model.losses_), host(model.task_indices_))[rows] if color == "easiness" else None
    hidden = ~np.isin(codes, shown)
    entries = _map_entries(color, names, shown, clusters[~hidden], bool(hidden.any()))
    ax = _axes(ax, (6.4 + 1.6 * _columns(entries), 4.8))
    size, drawn = float(np.clip(18_000 / len(points), 8, 30)), None
    ax.scatter(*points[hidden].T, s=size, color=LIGHT, linewidths=0, zorder=1, rasterized=True)
    for k in shown:
        own = codes == k
        values = easy[own] if easy is not None else _colors(clusters[own] if color == "cluster" else codes[own])
        style = {"vmin": 0, "vmax": 1, "cmap": "cividis"} if easy is not None else {}
        drawn = ax.scatter(*points[own].T, s=size, c=values, marker=MARKERS[k % len(MARKERS)], alpha=0.75,
                           linewidths=0, zorder=2, rasterized=True, **style)  # fmt: skip
    _number_clusters(ax, points[~hidden], clusters[~hidden])
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if labels[1].startswith("shared"):
        ax.set_aspect("equal", adjustable="datalim")
    if easy is not None:
        ax.figure.colorbar(drawn, ax=ax, label="easiness in its task", location="bottom", aspect=40)
    _legend(ax, entries, inside=_columns(entries) == 0)
    return ax


def plot_objective(model: Any, ax: Any = None) -> Any:
    """The objective by iteration, stage by stage.

    Within a stage it falls. From a stage to the next it may rise, as more rows are let in.

    Parameters
    ----------
    model : fitted model
        With `objective_trace_`.
    ax : matplotlib axes, optional
        Where to draw. None: new axes.

    Returns
    -------
    ax : matplotlib axes
        With the drawing.
    """
    traces = [host(trace) for trace in _course(model, "objective_trace_", "plot_objective")]
    fractions = host(model.fractions_)
    names = [*["warm-up"] * (len(traces) - len(fractions)), *(f"{100 * share:.0f} %" for share in fractions)]
    ax = _axes(ax, (6.4, 3.6))
    ends = np.cumsum([len(trace) for trace in traces])
    every, upright = -(-len(traces) // STAGE_LABELS), any(len(trace) < NARROW * ends[-1] for trace in traces)
    for i, (trace, end, name) in enumerate(zip(traces, ends, names, strict=True)):
        first = int(end) - len(trace)
        ax.plot(np.arange(first + 1, end + 1), trace, color=BLUE, marker="o", markersize=3.5, linewidth=1.5)
        if i % 2:
            ax.axvspan(first + 0.5, end + 0.5, color="#EEF1F4", linewidth=0, zorder=0)
        if i % every == 0 or i == len(traces) - 1:
            ax.text(first + 0.5 + len(trace) / 2, 1.01, name, transform=ax.get_xaxis_transform(), ha="center",
                    va="bottom", fontsize=8, color=GREY, rotation=90 if upright else 0)  # fmt: skip
    ax.set(xlabel="iteration", ylabel="objective", xlim=(0.5, ends[-1] + 0.5))
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(fractions) > 1:
        ax.set_title(STAGES, fontsize=9, color=GREY, pad=34 if upright else 16)
    return ax


def plot_pace(model: Any, ax: Any = None, *, by_task: bool = False) -> Any:
    """The rows that have full weight, some and none, as shares, stage by stage.

    Parameters
    ----------
    model : fitted model
        With `weight_trace_`.
    ax : matplotlib axes, optional
        Where to draw. None: new axes.
    by_task : bool, default=False
        Whether every stage has a bar for each task.

    Returns
    -------
    ax : matplotlib axes
        With the drawing.
    """
    trace = host(_course(model, "weight_trace_", "plot_pace"))
    stages, names = [f"{100 * share:.0f} %" for share in host(model.fractions_)], _names(model)
    codes = host(model.task_indices_) if by_task else np.zeros(trace.shape[1], dtype=int)
    bars = int(codes.max()) + 1
    ax = _axes(ax, (float(np.clip(0.3 * bars * len(stages), 5.5, 16)), 3.6))
    full, none = (
        np.stack([found[:, codes == k].mean(axis=1) for k in range(bars)], axis=1).ravel()
        for found in (trace >= FULL, trace <= 0)
    )
    parts = {"full weight": (full, BLUE), "some": (1 - full - none, COLORS[5]), "none": (none, LIGHT)}
    width, below = 0.8 / bars, np.zeros(len(full))
    at = (np.arange(len(stages))[:, None] - 0.4 + width * (np.arange(bars) + 0.5)).ravel()
    for share, shade in parts.values():
        ax.bar(at, 100 * share, width, bottom=100 * below, color=shade, edgecolor="white", linewidth=0.4)
        below = below + share
    ax.set(ylabel="rows, %", ylim=(0, 100), xlim=(-0.5, len(stages) - 0.5), xlabel=STAGES)
    if 1 < bars and len(at) <= NAMED_BARS:
        ax.set_xticks(at, names * len(stages), rotation=90, fontsize=8)
        ax.set_xlabel("task")
        for i, name in enumerate(stages):
            ax.text(i, 101, name, ha="center", va="bottom", fontsize=8, color=GREY)
        ax.set_title(STAGES, fontsize=9, color=GREY, pad=16)
    else:
        ax.set_xticks(range(len(stages)), stages, rotation=90 if len(stages) > STAGE_LABELS else 0)
        if bars > 1:
            ax.set_title(f"bars from left to right: {', '.join(names)}", fontsize=9, color=GREY)
    _legend(ax, [_patch(shade, name) for name, (_, shade) in parts.items()])
    return ax


def plot_cluster_sizes(model: Any, ax: Any = None) -> Any:
    """The share of each cluster in every task; a cross marks clusters that a task hardly has.

    The cross stands where `cluster_support_` is below 0.5, in tasks that were not left alone: few rows compared with
    the other tasks, or rows that lie elsewhere.

    Parameters
    ----------
    model : fitted model
        With `cluster_sizes_` and `cluster_support_`.
    ax : matplotlib axes, optional
        Where to draw. None: new axes.

    Returns
    -------
    ax : matplotlib axes
        With the drawing.
    """
    _check(model, "cluster_sizes_", "plot_cluster_sizes")
    sizes, names = host(model.cluster_sizes_), _names(model, alone=True)
    shares = 100 * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    weak = (host(model.cluster_support_).T < PRESENT) & (host(model.within_weight_) < 1)[:, None]
    m, c = shares.shape
    ax = _axes(ax, (float(np.clip(0.16 * c * (m + 1), 5.5, 16)), 3.6))
    width = 0.8 / m
    for k in range(m):
        at = np.arange(c) - 0.4 + width * (k + 0.5)
        ax.bar(at, shares[k], 0.94 * width, color=_colors([k])[0])
        ax.plot(at[weak[k]], shares[k, weak[k]] + 0.02 * shares.max(), "x", color=INK, markersize=5, clip_on=False)
    ax.set_xticks(range(c), [str(j) for j in range(c)])
    ax.set(xlabel="cluster", ylabel="rows of the task, %", xlim=(-0.6, c - 0.4), ylim=(0, 1.08 * shares.max()))
    entries = [] if m == 1 else [_patch(_colors([k])[0], name) for k, name in enumerate(names)]
    _legend(ax, [*entries, *([_mark("x", INK, f"support below {PRESENT:g}")] if weak.any() else [])])
    return ax


def plot_relatedness(model: Any, ax: Any = None) -> Any:
    """How alike the clusters of the tasks lie: the matrix `task_relatedness_`, from 0 to 1.

    Parameters
    ----------
    model : fitted model
        With `task_relatedness_`.
    ax : matplotlib axes, optional
        Where to draw. None: new axes.

    Returns
    -------
    ax : matplotlib axes
        With the drawing.
    """
    _check(model, "task_relatedness_", "plot_relatedness")
    R, names = host(model.task_relatedness_), _names(model)
    side = float(np.clip(2.0 + 0.55 * len(R), 3.2, 12))
    ax = _axes(ax, (side + 0.9, side))
    drawn = ax.imshow(R, vmin=0, vmax=1, cmap="Blues")
    ax.set_xticks(range(len(R)), names, rotation=45 if max(map(len, names)) > 4 else 0, rotation_mode="anchor",
                  ha="right" if max(map(len, names)) > 4 else "center")  # fmt: skip
    ax.set_yticks(range(len(R)), names)
    ax.set(xlabel="task", ylabel="task")
    ax.tick_params(length=0)
    for i, j in np.ndindex(R.shape) if len(R) <= NUMBERED else ():
        ax.text(j, i, f"{R[i, j]:.2f}", ha="center", va="center", color="white" if R[i, j] > 0.6 else INK, fontsize=9)
    ax.figure.colorbar(drawn, ax=ax, label="relatedness")
    return ax


def plot_selection(selection: Any, ax: Any = None, *, clear: float = 0.5) -> Any:
    """Stability by number of clusters, the suggestion marked.

    Parameters
    ----------
    selection : Selection, Table or data frame
        What `mtcluster.model_selection.select_n_clusters` found, or its table alone, which holds no suggestion.
    ax : matplotlib axes, optional
        Where to draw. None: new axes.
    clear : float, default=0.5
        Stability below which there is no clear structure; a line is drawn there.

    Returns
    -------
    ax : matplotlib axes
        With the drawing.
    """
    table, chosen = (selection.table, selection.n_clusters) if hasattr(selection, "table") else (selection, None)
    try:
        c, stability, error = (list(table[name]) for name in ("n_clusters", "stability", "error"))
    except (TypeError, KeyError, IndexError) as problem:
        raise TypeError(
            "selection should be what select_n_clusters returns, or its table with the columns n_clusters, stability "
            f"and error; got {type(selection).__name__}."
        ) from problem
    ax = _axes(ax, (5, 3.2))
    ax.errorbar(c, stability, yerr=error, color=BLUE, marker="o", capsize=3)
    ax.axhline(clear, color="0.6", linestyle=":", linewidth=1)
    ax.text(0.02, clear - 0.01, "no clear structure below", transform=ax.get_yaxis_transform(), va="top", fontsize=8,
            color=GREY)  # fmt: skip
    if chosen is not None:
        best = stability[c.index(chosen)]
        ax.plot([chosen], [best], "o", color=ORANGE, markersize=11, fillstyle="none", markeredgewidth=2)
        ax.annotate(f"suggested: {chosen}", (chosen, best), xytext=(0, 10), ha="center", textcoords="offset points",
                    color=ORANGE)  # fmt: skip
    ax.set(xlabel="number of clusters", ylabel="stability", ylim=(min(0, *stability), 1.12), xticks=c)
    return ax


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    return _matplotlib("figure").Figure(figsize=size, layout="constrained").subplots()


def _matplotlib(module: str) -> Any:
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'mtcluster[plot]'.") from error


def _check(model: Any, name: str, function: str) -> None:
    """Refuse what is not fitted, or has nothing to draw."""
    check_is_fitted(model)
    if not hasattr(model, name):
        raise TypeError(
            f"{function} needs a model with {name}, and {type(model).__name__} has none: "
            "mtcluster.inspection.LabelDescription().fit(X, labels, tasks=tasks) makes one of any labels."
        )


def _course(model: Any, name: str, function: str) -> Any:
    """What was recorded stage by stage."""
    _check(model, name, function)
    found = getattr(model, name)
    if not len(found):
        raise ValueError(f"{function} draws the stages of a fit, and {type(model).__name__} had none.")
    return found


def _names(model: Any, alone: bool = False) -> list[str]:
    """The tasks, as strings that are not too long; `alone`: such as say that they are tasks."""
    tasks = host(model.tasks_).tolist()
    names = [f"task {task}" if alone and not isinstance(task, str) else str(task) for task in tasks]
    return [name if len(name) <= CHARACTERS else f"{name[: CHARACTERS - 1]}…" for name in names]


def _shown(model: Any, tasks: Iterable[Any] | None) -> list[int]:
    known = host(model.tasks_).tolist()
    if tasks is None:
        return list(range(len(known)))
    wanted = [tasks] if isinstance(tasks, str | bytes) else list(tasks)
    found = positions(wanted, known)
    if not found or None in found:
        strange = [task for task, k in zip(wanted, found, strict=True) if k is None]
        raise ValueError(f"tasks={strange or wanted} should be tasks of the fit: known are {known}.")
    return sorted({k for k in found if k is not None})


def _points(model: Any, axes: Sequence[int]) -> tuple[Array, tuple[str, str]]:
    """Coordinates (k, 2) of the rows of the map, and what they are."""
    Y = host(model.map_)
    if Y.shape[1] == 1:
        if tuple(axes) != (0, 1):
            raise ValueError(f"axes={tuple(axes)}, but the map has one direction: only axes=(0, 1) can be drawn.")
        distance = np.sqrt(host(model.losses_)[host(model.map_rows_)])
        return np.column_stack([Y[:, 0], distance]), ("shared direction 1", "distance from what the model makes of it")
    try:
        first, second = (index(axis) for axis in axes)
        right = first != second and {first, second} <= set(range(Y.shape[1]))
    except (TypeError, ValueError):
        right = False
    if not right:
        raise ValueError(f"axes={axes!r} should be two different columns of the map, from 0 to {Y.shape[1] - 1}.")
    return Y[:, [first, second]], (f"shared direction {first + 1}", f"shared direction {second + 1}")


def _number_clusters(ax: Any, points: Array, clusters: Array) -> None:
    around = _matplotlib("patheffects").withStroke(linewidth=3, foreground="white")
    for j in np.unique(clusters):
        middle = np.median(points[clusters == j], axis=0)
        ax.annotate(str(j), middle, ha="center", va="center", fontsize=11, fontweight="bold", color=INK, zorder=3,
                    path_effects=[around])  # fmt: skip


def _map_entries(color: str, names: list[str], shown: list[int], clusters: Array, hidden: bool) -> list[Any]:
    """Entries of the legend: colours of clusters, then markers of tasks."""
    entries = []
    if color == "cluster":
        entries += [_mark("o", _colors([j])[0], f"cluster {j}") for j in np.unique(clusters)]
    if len(names) > 1:
        shades = _colors(shown) if color == "task" else [GREY] * len(shown)
        entries += [_mark(MARKERS[k % len(MARKERS)], shade, names[k]) for k, shade in zip(shown, shades, strict=True)]
    return [*entries, *([_mark("o", LIGHT, "other tasks")] if hidden else [])]


def _columns(entries: list[Any]) -> int:
    """Columns of a legend beside the data; 0: it is short enough to stand among them."""
    return 0 if len(entries) <= INSIDE else -(-len(entries) // LINES)


def _legend(ax: Any, entries: list[Any], inside: bool = False) -> None:
    if not entries:
        return
    where = {"framealpha": 0.85} if inside else {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "frameon": False}
    columns, size = max(_columns(entries), 1), 9
    if not inside and len(ax.figure.axes) > 1:  # beside the data it would take the room of the other axes
        where, columns, size = {"framealpha": 0.85}, 1 + (len(entries) > 2 * INSIDE), 7
    ax.legend(handles=entries, fontsize=size, handletextpad=0.4, ncols=columns, **where)


def _mark(marker: str, color: Any, label: str) -> Any:
    return _matplotlib("lines").Line2D([], [], linestyle="none", marker=marker, color=color, label=label, markersize=6)


def _patch(color: Any, label: str) -> Any:
    return _matplotlib("patches").Patch(color=color, label=label)


def _colors(numbers: Iterable[int]) -> Array:
    """A colour for each number, (n, 3); from the eighth on darker, from the fifteenth on lighter ones."""
    base = np.array([[int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)] for code in COLORS])
    every = np.concatenate([base + (target - base) * share for target, share in SHADES])
    return every[np.asarray(list(numbers), dtype=int) % len(every)]
