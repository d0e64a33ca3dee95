"""Pictures of what clusters are: how tight, how near each other, by which columns, and where their rows went."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import Array, host
from ..inspection._report.clusters import counts
from ..inspection._report.columns import read_columns
from ..inspection._report.effects import STRONG, effects_of
from ..inspection._report.merging import linkage_of
from ..inspection._subject import subject_of
from ._style import BLUE, GREY, INK, LIGHT, add_legend, attribute, colors, mark, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 2000  # rows whose silhouettes are computed, and that are embedded
SHOWN_COLUMNS = 20  # columns of a heat map, those that separate the clusters most


def plot_silhouette(model: Any, ax: Any = None) -> Axes:
    """Plot the silhouette of each row of the map, by cluster: how much nearer it lies to its own cluster.

    The silhouette is 1 for a row far from all other clusters, 0 for a row between two, and negative for a row that lies
    nearer to another. The line is the mean. Distances are those of the map, with all tasks in a common frame.

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
    from sklearn.metrics import silhouette_samples

    subject = subject_of(model, "plot_silhouette")
    rows, points = subject.map
    labels = subject.rows.labels[rows]
    at = _some(np.flatnonzero(labels >= 0))
    points, labels = points[at], labels[at]
    if len(np.unique(labels)) < 2:
        raise ValueError("plot_silhouette needs two clusters with rows: a silhouette compares clusters.")
    values, start = silhouette_samples(points, labels), 0
    ax = new_axes(ax, (6.0, 4.2))
    for j in np.unique(labels).tolist():
        own = np.sort(values[labels == j])
        ax.barh(np.arange(start, start + len(own)), own, 1.0, color=colors([j])[0], linewidth=0)
        ax.text(min(values.min(), 0) - 0.02, start + len(own) / 2, str(j), ha="right", va="center", color=INK)
        start += len(own) + max(len(values) // 60, 1)
    ax.axvline(values.mean(), color=GREY, linestyle="--", linewidth=1.2)
    ax.set(xlabel="silhouette", ylabel="rows by cluster", yticks=[], ylim=(start, -1))
    ax.set_xlim(min(values.min(), 0) - 0.08, 1)
    return ax


def plot_dendrogram(model: Any, ax: Any = None) -> Axes:
    """Plot in which order the clusters merge: a dendrogram of their shared centres, by average distance.

    Distances are in units of the spread within clusters where the metric is shared.

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
    from scipy.cluster.hierarchy import dendrogram

    subject = subject_of(model, "plot_dendrogram")
    used, steps = linkage_of(subject, counts(subject))
    if len(used) < 2:
        raise ValueError("plot_dendrogram needs two clusters with rows: one has nothing to merge with.")
    ax = new_axes(ax, (float(np.clip(0.4 * len(used) + 2, 4.5, 14)), 3.6))
    dendrogram(steps, labels=[str(j) for j in used], ax=ax, color_threshold=0, above_threshold_color=BLUE)
    ax.set(xlabel="cluster", ylabel="distance of centres")
    return ax


def plot_features(model: Any, ax: Any = None, *, X: Any = None, feature_names: Sequence[Any] | None = None) -> Axes:
    """Plot columns × clusters: how far the mean of a cluster is above or below the others, as a heat map.

    Colours are effect sizes: differences to the other rows of the same task, in standard deviations within clusters.

    Parameters
    ----------
    model : fitted model
        Any estimator of this library, or a `LabelDescription`.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.
    X : data frame, array or sparse matrix of n rows, optional
        The rows of the fit, in its order, as `make_report` takes them. None: effect sizes are those of the centres.
    feature_names : sequence of length d, optional
        Names of the features. None: `model.feature_names_in_` if present, otherwise their numbers.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot, the columns that separate the clusters most at the top.
    """
    subject = subject_of(model, "plot_features")
    d, table = subject.shape[2], counts(subject)
    names = subject.feature_names if feature_names is None else feature_names
    found = effects_of(subject, read_columns(X, names, len(subject.rows.labels), d))
    called = [str(name) for name in names] if names is not None else [f"feature {i}" for i in range(d)]
    order, used = found.order()[:SHOWN_COLUMNS], np.flatnonzero(table.any(axis=0))
    values = found.effect[order][:, used]
    ax = new_axes(ax, (float(np.clip(0.5 * len(used) + 3.5, 4.5, 14)), float(np.clip(0.3 * len(order) + 1.2, 2.5, 9))))
    drawn = ax.imshow(np.ma.masked_invalid(values), vmin=-STRONG, vmax=STRONG, cmap="RdBu_r", aspect="auto")
    ax.set_facecolor(LIGHT)
    ax.set_xticks(range(len(used)), [str(j) for j in used])
    ax.set_yticks(range(len(order)), [called[found.features[i]] for i in order])
    ax.set(xlabel="cluster", ylabel="column")
    ax.tick_params(length=0)
    ax.figure.colorbar(drawn, ax=ax, label="effect size", extend="both")
    return ax


def plot_flow(before: Any, after: Any = None, ax: Any = None) -> Axes:
    """Plot where the rows of each cluster of one fit are in another: bands as wide as their rows are many.

    Parameters
    ----------
    before : fitted model or array of shape (n,)
        The first fit or its labels; or, without `after`, a model with `changes_`, that of `fit(previous=...)`.
    after : fitted model or array of shape (n,), optional
        The second fit of the same rows, in the same order, or its labels.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot: clusters of the first fit on the left, those of the second on the right.
    """
    table = _flows(before, after)
    total = max(sum(table.values()), 1)
    ax, x = new_axes(ax, (5.6, 4.2)), np.linspace(0, 1, 40)
    ease = 3 * x**2 - 2 * x**3
    places = [_stacked(table, side, total) for side in (0, 1)]
    starts = [dict(own) for own in places]
    for (i, j), n in sorted(table.items()):
        a, b, width = starts[0][i], starts[1][j], n / total
        low = a + (b - a) * ease
        ax.fill_between(x, low, low + width, color=colors([j])[0], alpha=0.5, linewidth=0)
        starts[0][i], starts[1][j] = a + width, b + width
    for side, own in enumerate(places):
        for j, at in own.items():
            middle = (at + starts[side][j]) / 2
            ax.text(1.04 * side - 0.02, middle, str(j), ha="left" if side else "right", va="center", color=INK)
    ax.set(xlim=(-0.1, 1.1), yticks=[], ylabel="rows")
    ax.set_xticks([0, 1], ["before", "after"])
    ax.invert_yaxis()
    return ax


def _flows(before: Any, after: Any) -> dict[tuple[int, int], int]:
    """Count the rows of each pair of clusters."""
    if after is None:
        rows = attribute(before, "changes_", "plot_flow").rows()
        return {(row["before"], row["after"]): row["rows"] for row in rows if row["rows"]}
    one, other = (np.asarray(host(getattr(fit, "labels_", fit))) for fit in (before, after))
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError(f"plot_flow needs two labels for each row; got {one.shape} and {other.shape}.")
    pairs, n = np.unique(np.stack([one, other]), axis=1, return_counts=True)
    return {(int(i), int(j)): int(k) for i, j, k in zip(*pairs, n, strict=True)}


def _stacked(table: dict[tuple[int, int], int], side: int, total: int) -> dict[int, float]:
    """Place the clusters of one side below each other, with gaps."""
    found, at = {}, 0.0
    for j in sorted({pair[side] for pair in table}):
        found[j] = at
        at += sum(n for pair, n in table.items() if pair[side] == j) / total + 0.03
    return found


def plot_embedding(model: Any, X: Any, ax: Any = None, *, method: str = "auto", random_state: int = 0) -> Axes:
    """Plot an embedding of the rows that knows nothing of the clusters, UMAP or t-SNE, in the colours of the clusters.

    Such a picture shows whether rows of a cluster are neighbours. How far clusters lie apart in it means little.

    Parameters
    ----------
    model : fitted model
        Any estimator of this library, or a `LabelDescription`.
    X : array or sparse matrix of shape (n, d)
        The rows of the fit, in its order.
    ax : matplotlib axes, optional
        Axes to draw on. None: those of a new figure of pyplot.
    method : {"auto", "umap", "tsne"}, default="auto"
        "auto": UMAP where umap-learn is installed, else t-SNE. At most 2 000 rows are embedded.
    random_state : int, default=0
        Seed of the sample and of the embedding.

    Returns
    -------
    ax : matplotlib axes
        Axes with the plot.
    """
    if method not in ("auto", "umap", "tsne"):
        raise ValueError(f"method={method!r} should be 'auto', 'umap' or 'tsne'.")
    subject = subject_of(model, "plot_embedding")
    labels = subject.rows.labels
    if X.shape[0] != len(labels):
        raise ValueError(f"X has {X.shape[0]} rows, but the model has {len(labels)}: one row each is needed.")
    rows = _some(np.arange(len(labels)), random_state)
    some = X.iloc[rows].to_numpy() if hasattr(X, "iloc") else host(X[rows])
    name = "umap" if method == "umap" or (method == "auto" and find_spec("umap") is not None) else "tsne"
    points = _embedded(some, name, random_state)
    used = np.unique(labels[rows]).tolist()
    entries = [mark("o", colors([j])[0], f"cluster {j}" if j >= 0 else "no cluster (-1)") for j in used]
    ax = new_axes(ax, (6.0, 4.6), entries)
    ax.scatter(*points.T, c=colors(labels[rows]), s=float(np.clip(12_000 / len(rows), 6, 26)), linewidths=0, alpha=0.75)
    title = "UMAP" if name == "umap" else "t-SNE"
    ax.set(xlabel=f"{title} 1", ylabel=f"{title} 2", xticks=[], yticks=[])
    add_legend(ax, entries)
    return ax


def _embedded(X: Any, name: str, seed: int) -> Array:
    """Embed rows in the plane; missing values are at the median of their column."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    X = np.asarray(X, dtype=np.float64)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    if name == "umap":
        if find_spec("umap") is None:
            raise ImportError(
                'method="umap" needs umap-learn: pip install umap-learn; method="tsne" needs nothing more.'
            )
        umap = import_module("umap")
        return np.asarray(umap.UMAP(random_state=seed, n_jobs=1).fit_transform(X))
    from sklearn.manifold import TSNE

    near = min(30.0, max((len(X) - 1) / 3, 1.0))
    return np.asarray(
        TSNE(perplexity=near, init="pca" if X.shape[1] > 1 else "random", random_state=seed).fit_transform(X)
    )


def _some(rows: Array, seed: int = 0) -> Array:
    """Take a sample of rows, in their order."""
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False))
