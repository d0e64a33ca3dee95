"""Draw docs/picture.png: three data sets clustered by k-means per task, by pooled k-means, and by SPMTC.

Every panel shows a fit with defaults and the same seed; nothing is recoloured.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from mtcluster import SPMTC, PerTask, Pooled

INK = "#7b838c"  # can be read on white and on black
COLORS, MARKERS = ["#0072B2", "#E69F00", "#009E73"], ["o", "^", "s"]
METHODS = {
    "k-means on each data set alone: cluster numbers do not correspond": PerTask(KMeans(3, n_init=10, random_state=0)),
    "k-means on all together: clusters follow the data set": Pooled(KMeans(3, n_init=10, random_state=0)),
    "SPMTC: cluster 3 is the same cluster in every data set": SPMTC(3, random_state=0),
}
SHOWN = 10  # rows from which on a cluster gets its number written


def make_tasks(seed=1, size=150):
    """Three clusters, the same in three tasks, which lie apart and are a little out of shape."""
    rng = np.random.default_rng(seed)
    shared = np.array([[-2.2, -1.0], [2.2, -1.4], [0.0, 2.4]])
    offsets = np.array([[-6.5, -0.8], [0.3, 1.2], [6.4, -1.0]])
    shares = np.array([[0.4, 0.3, 0.3], [0.25, 0.45, 0.3], [0.35, 0.2, 0.45]])
    y = np.concatenate([rng.choice(3, size=size, p=p) for p in shares])
    k = np.repeat(np.arange(3), size)
    bent = shared + rng.normal(scale=0.35, size=(3, 3, 2))
    X = bent[k, y] + offsets[k] + rng.normal(scale=0.75, size=(3 * size, 2))
    return X, np.array(["first", "second", "third"])[k]


def draw(path):
    """Methods from top to bottom, tasks from left to right; rows of the other tasks are grey."""
    X, tasks = make_tasks()
    fig = plt.figure(figsize=(9, 5.5), layout="constrained")
    for part, (title, method) in zip(fig.subfigures(3, 1), METHODS.items(), strict=True):
        labels = method.fit(X, tasks=tasks).labels_
        part.suptitle(title, color=INK, fontsize=13, fontweight="bold")
        part.patch.set_alpha(0)
        for ax, name in zip(part.subplots(1, 3), ["first", "second", "third"], strict=True):
            _panel(ax, X, tasks == name, labels)
    fig.savefig(path, dpi=120, transparent=True)


def _panel(ax, X, own, labels):
    ax.scatter(*X[~own].T, s=3, color=INK, alpha=0.3, linewidth=0)
    for j, (color, marker) in enumerate(zip(COLORS, MARKERS, strict=True)):
        part = X[own & (labels == j)]
        ax.scatter(*part.T, s=15, color=color, marker=marker, linewidth=0, alpha=0.85)
        if len(part) >= SHOWN:
            circle = {"boxstyle": "circle,pad=0.25", "facecolor": color, "edgecolor": "white", "linewidth": 1.2}
            ax.text(*part.mean(axis=0), j + 1, color="white", weight="bold", ha="center", va="center", bbox=circle)
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.patch.set_alpha(0)
    for spine in ax.spines.values():
        spine.set(color=INK, alpha=0.4)


if __name__ == "__main__":
    draw(Path(__file__).parent / "picture.png")
