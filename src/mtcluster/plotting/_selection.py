"""Plot of the choice of the number of clusters."""

from __future__ import annotations

from typing import Any

from ._style import BLUE, GREY, ORANGE, new_axes


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
