"""Plots of the clusters of the tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import host
from ..inspection._fitted import PRESENT
from ._style import INK, add_legend, attribute, colors, mark, new_axes, patch, task_names

NUMBERED = 20  # tasks up to which a matrix has numbers in it


def plot_cluster_sizes(model: Any, ax: Any = None) -> Any:
    """Plot the share of each cluster in each task, with a cross at clusters that are hardly present.

    A cross marks a cluster whose `cluster_support_` in a task is below 0.5, unless the task was left alone: it has few
    rows compared with the other tasks, or its rows lie elsewhere.

    Parameters
    ----------
    model : fitted model
        Model with `cluster_sizes_` and `cluster_support_`.
    ax : matplotlib axes, optional
        Axes to draw on. None: new axes.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    sizes, names = host(attribute(model, "cluster_sizes_", "plot_cluster_sizes")), task_names(model, alone=True)
    shares = 100 * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    weak = (host(model.cluster_support_).T < PRESENT) & (host(model.within_weight_) < 1)[:, None]
    m, c = shares.shape
    ax = new_axes(ax, (float(np.clip(0.16 * c * (m + 1), 5.5, 16)), 3.6))
    width, entries = 0.8 / m, []
    for k, color in enumerate(colors(range(m))):
        at = np.arange(c) - 0.4 + width * (k + 0.5)
        ax.bar(at, shares[k], 0.94 * width, color=color)
        ax.plot(at[weak[k]], shares[k, weak[k]] + 0.02 * shares.max(), "x", color=INK, markersize=5, clip_on=False)
        entries += [patch(color, names[k])] * (m > 1)
    ax.set_xticks(range(c), [str(j) for j in range(c)])
    ax.set(xlabel="cluster", ylabel="rows of the task, %", xlim=(-0.6, c - 0.4), ylim=(0, 1.08 * shares.max()))
    add_legend(ax, [*entries, *([mark("x", INK, f"support below {PRESENT:g}")] if weak.any() else [])])
    return ax


def plot_relatedness(model: Any, ax: Any = None) -> Any:
    """Plot the relatedness of the tasks, the matrix `task_relatedness_` with values from 0 to 1.

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
    side, long = float(np.clip(2.0 + 0.55 * len(R), 3.2, 12)), max(map(len, names)) > 4
    ax = new_axes(ax, (side + 0.9, side))
    drawn = ax.imshow(R, vmin=0, vmax=1, cmap="Blues")
    ax.set_xticks(range(len(R)), names, rotation=45 * long, rotation_mode="anchor", ha="right" if long else "center")
    ax.set_yticks(range(len(R)), names)
    ax.set(xlabel="task", ylabel="task")
    ax.tick_params(length=0)
    for i, j in np.ndindex(R.shape) if len(R) <= NUMBERED else ():
        ax.text(j, i, f"{R[i, j]:.2f}", ha="center", va="center", color="white" if R[i, j] > 0.6 else INK, fontsize=9)
    ax.figure.colorbar(drawn, ax=ax, label="relatedness")
    return ax
