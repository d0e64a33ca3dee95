"""The clusters of each task, and the features that distinguish each cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array, host
from .._fitted import PRESENT, candidates_decided, feature_widths, gone, n_rows_of, sharing, unexplained, without_rows
from .._relations import listed_places, relation_sentences, relation_words
from .._words import count, listed, named, number, percent, plain, quoted, rounded
from .units import Units

SHARED_FEATURES, TASK_FEATURES = 6, 4  # features shown above the rest, and as many below
NAMED = 3  # features named in the short description of a cluster
TELLING = 0.2  # share of the largest difference of any cluster below which a feature is not named
FAINT = 0.02  # share of the largest difference of the cluster below which a feature is not shown
ROUNDING = 1e-6  # of that again: a value that is zero but for rounding
PAIRS = 400  # pairs of a task and a cluster whose features are shown; nobody reads more
TINY = float(np.finfo(np.float64).tiny)


def counts(model: Any) -> Array:
    """Rows of each cluster in each task, (m, c); of tasks whose rows are not those of the model, as it knows them."""
    m, c, _ = model.task_centers_.shape
    some = model.labels_ >= 0
    found = np.bincount((model.task_indices_ * c + model.labels_)[some], minlength=m * c).reshape(m, c)
    away = without_rows(model) | (n_rows_of(model) > len(model.labels_))
    found[away] = np.rint(model.cluster_sizes_[away])
    return found


def contrasts(centers: Array, sizes: Array) -> tuple[Array, Array]:
    """Each centre minus the mean of the rows of all other clusters, and that mean, both (c, d).

    NaN where no other cluster has rows.

    Examples
    --------
    >>> contrasts(np.array([[1.0], [3.0], [6.0]]), np.array([5.0, 2.0, 1.0]))[0].ravel().tolist()
    [-3.0, 1.1666666666666667, 4.428571428571429]
    """
    others = (sizes.sum() - sizes)[:, None].astype(np.float64)
    middle = sizes @ centers / max(sizes.sum(), TINY)
    moved = centers - middle  # keeps digits where the data lie far from zero
    sums = sizes @ moved - sizes[:, None] * moved
    rest = middle + np.divide(sums, others, out=np.full_like(sums, np.nan), where=others > 0)
    return centers - rest, rest


def shared_centers(model: Any) -> tuple[Array, Array]:
    """Shared centres (c, d) at the mean location and scale of the tasks that share, and cluster sizes (c,) there."""
    together = sharing(model) if sharing(model).any() else np.ones(len(model.tasks_), dtype=bool)
    sizes = model.cluster_sizes_[together].astype(np.float64)
    share = sizes.sum(axis=1) / max(sizes.sum(), TINY)
    Z = model.shared_centers_.astype(np.float64) @ model.subspace_.astype(np.float64).T
    return share @ model.task_offsets_[together] + (share @ model.task_scales_[together]) * Z, sizes.sum(axis=0)


def standing_out(
    difference: Array,
    here: Array,
    names: list[str],
    most: int,
    widths: Array | float = 1.0,
    write: Callable[[Array], Array] | None = None,
) -> list[dict[str, Any]]:
    """The features that are most above the rest, largest first, then those most below, in units of `widths`.

    `write` turns means (k, d) of the fit into the user's units; without it, they stay as they are.
    """
    rest, difference = here - difference, difference / widths
    least = FAINT * np.abs(difference).max(initial=0.0)
    if not np.isfinite(least) or least == 0:
        return []
    order = np.argsort(-difference, kind="stable")
    shown = [i for i in order[:most] if difference[i] > least] + [
        i for i in order[::-1][:most] if -difference[i] > least
    ]
    here, rest = (np.where(np.abs(values) < ROUNDING * least * widths, 0.0, values) for values in (here, rest))
    told = (here, rest) if write is None else write(np.stack([here, rest]))
    columns = (rounded(values[shown]) for values in (difference, *told, here, rest))
    return [
        {"name": names[i], "difference": d, "here": h, "rest": r} | ({} if write is None else {"fit": [own, other]})
        for i, d, h, r, own, other in zip(shown, *columns, strict=True)
    ]


def in_short(features: list[dict[str, Any]], largest: float) -> str:
    """The features of a cluster in a few words; `largest` is the largest difference of any cluster."""
    telling = [f for f in features if abs(f["difference"]) >= TELLING * largest]
    above = [f["name"] for f in telling if f["difference"] > 0][:NAMED]
    below = [f["name"] for f in telling if f["difference"] < 0][:NAMED]
    parts = [f"{word} {', '.join(names)}" for word, names in (("high", above), ("low", below)) if names]
    return "; ".join(parts) or "close to the overall mean: no feature stands out"


def sizes(model: Any, names: list[str]) -> dict[str, Any]:
    """Sizes, shares and support of the clusters in the tasks, and sentences about them."""
    table, together, support, words = counts(model), sharing(model), model.cluster_support_, relation_words(model)
    m = len(table)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    weak = (words == "uncertain") & (support < PRESENT) & model.cluster_presence_ & (not candidates_decided(model))
    missing: list[dict[str, Any]] = [
        {"cluster": int(j), "task": int(k), "support": float(support[k, j]), "few": _few(shares[:, j], k, together)}
        for j, k in zip(*np.nonzero(weak.T), strict=True)
    ]
    for item in missing:
        words[item["task"], item["cluster"]] = "rare" if item["few"] else "elsewhere"
    found = {
        "rows": table.tolist(),
        "shares": rounded(shares),
        "support": rounded(support),
        "relations": words.tolist(),
        "everywhere": np.flatnonzero(np.all(words[together] == "shared", axis=0) & (m > 1)).tolist(),
        "missing": missing,
        "empty": np.flatnonzero((table.sum(axis=0) == 0) & ~gone(model)).tolist(),
        "alone": np.flatnonzero(~together).tolist(),
        "decided": candidates_decided(model),
    }
    told = relation_sentences(model, [quoted(name) for name in names], "example", uncertain=candidates_decided(model))
    return plain({**found, "sentences": [*_unexplained(model), *told, *_size_sentences(found, names)]})


def _unexplained(model: Any) -> list[str]:
    """A sentence about examples of new tasks that no cluster explains."""
    n = unexplained(model)
    if not n:
        return []
    empty = ", or they have no value" * (model.missing_ is not None and bool(np.any(host(model.missing_))))
    return [f"No cluster explains {count(n, 'example')} of the new data{empty}; the label is -1."]


def _few(shares: Array, k: int, together: Array) -> bool:
    """Whether a cluster lacks support in a task because few rows are in it, not because they lie elsewhere."""
    others = together & (np.arange(len(shares)) != k)
    return bool(shares[k] < PRESENT * np.median(shares[others])) if others.any() else True


def _size_sentences(found: dict[str, Any], names: list[str]) -> list[str]:
    m, alone, empty, lines = len(names), found["alone"], found["empty"], []
    if len(alone) == m > 1:
        lines.append("Each task was clustered on its own: a cluster number need not mean the same in two tasks.")
    if few := places(found["missing"], names, few=True):
        lines.append(f"Rare: {few}.")
    if elsewhere := places(found["missing"], names, few=False):
        lines.append(f"Located elsewhere than in the other tasks, possibly a different group: {elsewhere}.")
    if empty and (m == 1 or len(alone) == m):
        lines.append(f"Without examples: {named('cluster', empty)}. The data may contain fewer groups.")
    if 0 < len(alone) < m:
        lines.append(
            f"Left alone: {listed([quoted(names[k]) for k in alone])}. What the other tasks share does not describe "
            "such a task, so it was clustered on its own; its clusters have the numbers of those that match best."
        )
    return lines


def places(missing: list[dict[str, Any]], names: list[str], *, few: bool) -> str:
    """Which clusters lack support in which tasks: those with few rows there, or those whose rows lie elsewhere."""
    by_task: dict[int, list[int]] = {}
    for item in missing:
        if item["few"] == few:
            by_task.setdefault(item["task"], []).append(item["cluster"])
    told = [f"{named('cluster', found)} in {quoted(names[k])}" for k, found in by_task.items()]
    return listed_places(told)


def features(model: Any, names: list[str], units: Units | None = None) -> dict[str, Any]:
    """The features that distinguish each cluster, over all tasks and in each task, and the most important feature."""
    units = Units(["number"] * len(names)) if units is None else units
    Z, sizes = shared_centers(model)
    table = counts(model)
    m, c = table.shape
    widths = feature_widths(model)
    largest = float(np.abs(contrasts(Z, sizes)[0] / widths).max(initial=0.0))
    shared = _profiles(Z, sizes, names, SHARED_FEATURES, widths, units)
    tasks = sorted(np.argsort(-table.sum(axis=1), kind="stable")[: max(PAIRS // c, 1)].tolist()) if m > 1 else []
    by_task = {k: _own_profiles(model, k, names, widths, units) for k in tasks}
    clusters = [
        {
            "cluster": j,
            "rows": int(table[:, j].sum()),
            "share": float(table[:, j].sum() / max(table.sum(), 1)),
            "in_short": in_short(shared[j], largest) if table[:, j].any() else _why_empty(model, j),
            "shared": shared[j],
            "tasks": [{"task": k, "rows": int(table[k, j]), "features": by_task[k][j]} for k in tasks],
        }
        for j in range(c)
    ]
    return plain({"clusters": clusters, "leading": leading(Z / widths, sizes, names), "tasks_left_out": m - len(tasks)})


def _why_empty(model: Any, j: int) -> str:
    return "no more in any task" if gone(model)[j] else "no examples"


def _own_profiles(model: Any, k: int, names: list[str], widths: Array, units: Units) -> list[list[dict[str, Any]]]:
    """Features of the clusters of one task, of those that it has."""
    has = getattr(model, "feature_presence_", None)
    own = np.flatnonzero(host(has)[k]) if has is not None else np.arange(len(names))
    centers, sizes = model.task_centers_[k], model.cluster_sizes_[k]
    return _profiles(centers, sizes, names, TASK_FEATURES, widths, units, own, model.tasks_.tolist()[k])


def _profiles(
    centers: Array,
    sizes: Array,
    names: list[str],
    most: int,
    widths: Array,
    units: Units,
    own: Array | None = None,
    task: Any = None,
) -> list[list[dict[str, Any]]]:
    """The features of each cluster; `own` are those that a task has."""
    own = np.arange(len(names)) if own is None else own
    centers, sizes, widths = centers[:, own].astype(np.float64), sizes.astype(np.float64), widths[own]
    difference, _ = contrasts(centers, sizes)
    called, kinds = [names[i] for i in own], {names[i]: units.kinds[i] for i in own}
    write = None if units.plain else lambda values: units.write(values, own, task)
    found = [
        standing_out(difference[j], centers[j], called, most, widths, write) if size > 0 else []
        for j, size in enumerate(sizes)
    ]
    return [[f | {"kind": kinds[f["name"]]} for f in features] for features in found]


def leading(Z: Array, sizes: Array, names: list[str]) -> dict[str, Any]:
    """The feature with the largest variance between the centres, and its share of that variance."""
    share = sizes / max(sizes.sum(), TINY)
    spread = share @ (Z - share @ Z) ** 2
    i = int(np.argmax(spread))
    return {"name": names[i], "share": float(spread[i] / max(spread.sum(), TINY))}


def neighbours(model: Any) -> list[str]:
    """The map as text: for each cluster with rows, the closest and the farthest cluster."""
    Z, sizes = shared_centers(model)
    used, lines = np.flatnonzero(sizes > 0), []
    for j in used:
        others = used[used != j]
        line = f"Cluster {j} ({count(round(sizes[j]), 'row')}, {percent(float(sizes[j] / sizes.sum()))})"
        if len(others):
            distances = np.linalg.norm(Z[others] - Z[j], axis=1)
            near, far = int(distances.argmin()), int(distances.argmax())
            line += f" is closest to cluster {others[near]} (distance {number(float(distances[near]))})"
            if near != far:
                line += f" and farthest from cluster {others[far]} ({number(float(distances[far]))})"
        lines.append(f"{line}.")
    return lines
