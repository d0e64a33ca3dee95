"""Plot of a stream: how far tasks and clusters moved, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, INK, add_legend, attribute, colors, mark, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHAPES = {"born": "^", "vanished": "v", "returned": ">", "died": "x"}


def plot_drift(model: Any, ax: Any = None) -> Axes:
    """Plot how far the rows of each cluster, and of the tasks as a whole, lay from where they had been, by batch.

    A line is the largest distance over the tasks, in units of the spread within clusters; it is broken where the
    cluster was gone. Marks at the lower edge tell which clusters were born, vanished from a batch, returned or died.
    Batch 0 is the first call of `partial_fit`, with which the others are compared.

    Parameters
    ----------
    model : fitted model
        Model with `drift_`, that of `partial_fit`.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    drift = attribute(model, "drift_", "plot_drift")
    ax = new_axes(ax, (7.0, 3.6))
    rows = drift.table.rows()
    clusters = sorted({row["cluster"] for row in rows if row["cluster"] is not None})
    events = drift.events.rows()
    entries = []
    for cluster, color in ((None, GREY), *zip(clusters, colors(clusters), strict=True)):
        own = [row for row in rows if row["cluster"] == cluster]
        away = set() if cluster is None else _away(events, cluster, drift.n_batches)
        known = [row["batch"] for row in own]
        batches = range(min(known, default=1), max(known, default=0) + 1)
        there = [[row["apart"] for row in own if row["batch"] == batch and batch not in away] for batch in batches]
        far = [max(values, default=np.nan) for values in there]
        name = "tasks as a whole" if cluster is None else f"cluster {cluster}"
        ax.plot(batches, far, color=color, linewidth=2.5 if cluster is None else 1.4, marker="o", markersize=3)
        entries.append(mark("s", color, name))
    top = max([row["apart"] for row in rows], default=1.0)
    for event in events:
        ax.plot(event["batch"], -0.06 * top, marker=SHAPES[event["event"]], color=INK, clip_on=False)
        ax.annotate(str(event["cluster"]), (event["batch"], -0.06 * top), (3, 3), textcoords="offset points")
    entries += [mark(shape, INK, word) for word, shape in SHAPES.items() if any(e["event"] == word for e in events)]
    label = "distance from where rows had been,\nlargest over tasks, in spreads of a cluster"
    ax.set(xlabel="batch", ylabel=label, ylim=(-0.12 * top, 1.08 * top or 1.0))
    ax.set_xticks(np.unique([row["batch"] for row in rows]))
    add_legend(ax, entries)
    return ax


def _away(events: list[dict[str, Any]], cluster: int, last: int) -> set[int]:
    """Find the batches in which a cluster was gone."""
    found: set[int] = set()
    for event in events:
        if event["cluster"] == cluster and event["event"] in ("vanished", "died"):
            found |= set(range(event["batch"], last + 1))
        elif event["cluster"] == cluster:
            found -= set(range(event["batch"], last + 1))
    return found
