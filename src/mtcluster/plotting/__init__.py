"""Plots of fitted models: each function takes a model or table and matplotlib axes, and returns the axes.

Without axes, a new figure is made with `matplotlib.pyplot.subplots`: a notebook shows it, `plt.show()` opens it,
`plt.savefig("map.png")` writes it and `plt.close()` lets it go. With axes, they are drawn on, and pyplot is not used.

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
from ._pictures import plot_dendrogram, plot_embedding, plot_features, plot_flow, plot_silhouette

__all__ = [
    "plot_cluster_sizes",
    "plot_dendrogram",
    "plot_drift",
    "plot_embedding",
    "plot_features",
    "plot_flow",
    "plot_objective",
    "plot_pace",
    "plot_relatedness",
    "plot_selection",
    "plot_silhouette",
    "plot_stability",
    "plot_tasks",
]
