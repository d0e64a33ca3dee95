"""Plots of fitted models: each function takes a model or table and matplotlib axes, and returns the axes.

Without axes, new ones are made without pyplot, so that no figure is kept and no window opens:
`ax.figure.savefig("map.png")` writes the figure, and a notebook with `%matplotlib inline` shows it where a cell ends
with `ax.figure`. Axes of `matplotlib.pyplot.subplots` work as well, and are shown by `matplotlib.pyplot.show`.

Models are `SPMTC`, `LSSMTC` and `ASI`, and `mtcluster.inspection.LabelDescription` for the labels of any other
clusterer.
"""

from ._charts import (
    plot_cluster_sizes,
    plot_objective,
    plot_pace,
    plot_relatedness,
    plot_selection,
    plot_stability,
)
from ._drift import plot_drift
from ._map import plot_tasks

__all__ = [
    "plot_cluster_sizes",
    "plot_drift",
    "plot_objective",
    "plot_pace",
    "plot_relatedness",
    "plot_selection",
    "plot_stability",
    "plot_tasks",
]
