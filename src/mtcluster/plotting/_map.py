"""The map of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.tasks import positions
from ..core.arrays import Array
from ..inspection import easiness
from ..inspection._subject import subject_of
from ._style import (
    GREY,
    INK,
    LIGHT,
    add_legend,
    colors,
    legend_columns,
    mark,
    matplotlib,
    new_axes,
    task_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TASK_MARKERS = "o^sDvPX*<>"


def plot_tasks(
    model: Any,
    ax: Any = None,
    *,
    color: str = "cluster",
    axes: Sequence[int] = (0, 1),
    tasks: Iterable[Any] | None = None,
) -> Axes:
    """Plot the map of the rows in the shared subspace, with all tasks in a common frame.

    Its axes are the directions that separate the clusters best. A number is drawn at the median of each cluster, rows
    without a cluster (-1) are grey, those without any value are not drawn, and
    markers show the task of each row. If the map has one direction, the second axis is the distance of a row from its
    reconstruction by the model, the square root of its loss.

    Parameters
    ----------
    model : fitted model
        Any estimator of this library, or a `LabelDescription`. The map is one of all rows or of a sample of them.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.
    color : {"cluster", "task", "easiness"}, default="cluster"
        What colours show. Easiness is the share of the rows of the same task whose loss is at least as large: dark rows
        are hard.
    axes : pair of int, default=(0, 1)
        Columns of the map to draw.
    tasks : iterable of labels, optional
        Tasks to show in colour; the others are grey. None: all tasks.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.

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
    if color not in ("cluster", "task", "easiness"):
        raise ValueError(f"color={color!r} should be 'cluster', 'task' or 'easiness'.")
    subject = subject_of(model, "plot_tasks")
    found, (rows, places), shown = subject.rows, subject.map, _shown(subject.tasks, tasks)
    points, labels = _points(places, found.losses[rows], axes)
    codes, clusters = found.tasks[rows], found.labels[rows]
    hidden, easy = ~np.isin(codes, shown), color == "easiness"
    entries = _entries(color, task_names(model, alone=True), shown, clusters[~hidden], bool(hidden.any()))
    ax = new_axes(ax, (6.4, 4.8), entries if legend_columns(entries) and not easy else None)
    style: dict[str, Any] = {"s": float(np.clip(18_000 / len(points), 8, 30)), "linewidths": 0, "rasterized": True}
    ax.scatter(*points[hidden].T, color=LIGHT, zorder=1, **style)
    if easy:
        values = easiness(found.losses, found.tasks)[rows]
        style |= {"vmin": 0, "vmax": 1, "cmap": "cividis"}
    else:
        values = colors(clusters if color == "cluster" else codes)
    for k in shown:
        own = codes == k
        drawn = ax.scatter(
            *points[own].T, c=values[own], marker=TASK_MARKERS[k % len(TASK_MARKERS)], alpha=0.75, zorder=2, **style
        )
    _number_clusters(ax, points[~hidden], clusters[~hidden])
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if labels[1].startswith("shared"):
        ax.set_aspect("equal", adjustable="datalim")
    if easy:
        ax.figure.colorbar(drawn, ax=ax, label="easiness in its task", location="bottom", aspect=40)
    add_legend(ax, entries, inside=legend_columns(entries) == 0)
    return ax


def _shown(known: list[Any], tasks: Iterable[Any] | None) -> list[int]:
    """Find indices of the tasks to show in colour."""
    if tasks is None:
        return list(range(len(known)))
    wanted = [tasks] if isinstance(tasks, str | bytes) else list(tasks)
    found = positions(wanted, known)
    if not found or None in found:
        strange = [task for task, k in zip(wanted, found, strict=True) if k is None]
        raise ValueError(f"tasks={strange or wanted} should be tasks of the fit: choose from {known}.")
    return sorted({k for k in found if k is not None})


def _points(Y: Array, losses: Array, axes: Sequence[int]) -> tuple[Array, tuple[str, str]]:
    """Find coordinates (k, 2) of the rows of the map, and their labels."""
    if Y.shape[1] == 1:
        if tuple(axes) != (0, 1):
            raise ValueError(f"axes={tuple(axes)}, but the map has one direction: only axes=(0, 1) can be drawn.")
        return np.column_stack([Y[:, 0], np.sqrt(losses)]), ("shared direction 1", "distance from the reconstruction")
    try:
        first, second = (index(axis) for axis in axes)
        right = first != second and {first, second} <= set(range(Y.shape[1]))
    except (TypeError, ValueError):
        right = False
    if not right:
        raise ValueError(f"axes={axes!r} should be two different columns of the map, from 0 to {Y.shape[1] - 1}.")
    return Y[:, [first, second]], (f"shared direction {first + 1}", f"shared direction {second + 1}")


def _number_clusters(ax: Any, points: Array, clusters: Array) -> None:
    outline = matplotlib("patheffects").withStroke(linewidth=3, foreground="white")
    style = {"fontsize": 11, "fontweight": "bold", "color": INK, "zorder": 3, "path_effects": [outline]}
    for j in np.unique(clusters[clusters >= 0]):
        ax.annotate(str(j), np.median(points[clusters == j], axis=0), ha="center", va="center", **style)


def _entries(color: str, names: list[str], shown: list[int], clusters: Array, hidden: bool) -> list[Any]:
    """List entries of the legend: colours of clusters, then markers of tasks."""
    entries = []
    if color == "cluster":
        named = [(j, f"cluster {j}" if j >= 0 else "no cluster (-1)") for j in np.unique(clusters).tolist()]
        entries += [mark("o", colors([j])[0], name) for j, name in sorted(named, key=lambda entry: entry[0] < 0)]
    if len(names) > 1:
        shades = colors(shown) if color == "task" else [GREY] * len(shown)
        entries += [
            mark(TASK_MARKERS[k % len(TASK_MARKERS)], shade, names[k]) for k, shade in zip(shown, shades, strict=True)
        ]
    return [*entries, *([mark("o", LIGHT, "other tasks")] if hidden else [])]
