"""The clusters of each task, and the features that distinguish each cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.centers import TINY
from ...core.fitted import Fitted
from .._relations import listed_places, relation_sentences, relation_words
from .._subject import PRESENT, Subject
from .._words import count, listed, named, number, percent, plain, quoted, rounded
from .units import Units

SHARED_FEATURES, TASK_FEATURES = 6, 4  # features shown above the rest, and as many below
FAINT = 0.02  # share of the largest difference of the cluster below which a feature is not shown
ROUNDING = 1e-6  # of that again: a value that is zero but for rounding
PAIRS = 400  # pairs of a task and a cluster whose features are shown; nobody reads more


def counts(subject: Subject) -> Array:
    """Count rows of clusters in tasks (m, c); of tasks whose rows are not those of the model, as it knows them."""
    (m, c, _), rows = subject.shape, subject.rows
    some = rows.labels >= 0
    found = np.bincount((rows.tasks * c + rows.labels)[some], minlength=m * c).reshape(m, c)
    away = subject.without_rows | (subject.n_rows > len(rows.labels))
    found[away] = np.rint(subject.fitted.sizes[away])
    return found


def contrasts(centers: Array, sizes: Array) -> tuple[Array, Array]:
    """Subtract the mean of the rows of all other clusters from each centre; also that mean, both (c, d).

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


def centers_of_sharing(fitted: Fitted) -> tuple[Array, Array]:
    """Place shared centres (c, d) at the mean location and scale of the tasks that share; also their sizes (c,)."""
    together, offsets = fitted.shares if fitted.shares.any() else np.ones_like(fitted.shares), fitted.centers.offsets
    sizes = fitted.sizes[together].astype(np.float64)
    share = sizes.sum(axis=1) / max(sizes.sum(), TINY)
    Z = fitted.centers.shared
    return share @ offsets.b[together] + (share @ offsets.s[together]) * Z, sizes.sum(axis=0)


def standing_out(
    difference: Array,
    here: Array,
    names: list[str],
    most: int,
    widths: Array | float = 1.0,
    write: Callable[[Array], Array] | None = None,
) -> list[dict[str, Any]]:
    """Find the features that are most above the rest, largest first, then those most below, in units of `widths`.

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


def sizes(subject: Subject, names: list[str]) -> dict[str, Any]:
    """Tell sizes, shares and support of the clusters in the tasks, in numbers and sentences."""
    fitted, gone, table = subject.fitted, subject.gone, counts(subject)
    together, support, words, m = fitted.shares, fitted.support, relation_words(fitted), len(table)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    weak = (words == "uncertain") & (support < PRESENT) & fitted.holds & (not fitted.decided)
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
        "empty": np.flatnonzero((table.sum(axis=0) == 0) & ~gone).tolist(),
        "alone": np.flatnonzero(~together).tolist(),
        "decided": fitted.decided,
    }
    told = relation_sentences(subject, [quoted(name) for name in names], "row", uncertain=fitted.decided)
    return plain({**found, "sentences": [*_unexplained(subject), *told, *_size_sentences(found, names)]})


def _unexplained(subject: Subject) -> list[str]:
    """Say how many rows of new tasks no cluster explains."""
    n = subject.unexplained
    if not n:
        return []
    empty = ", or they have no value" * bool(subject.fitted.missing.any())
    return [f"No cluster explains {count(n, 'row')} of the new data{empty}; the label is -1."]


def _few(shares: Array, k: int, together: Array) -> bool:
    """Tell whether a cluster lacks support in a task because few rows are in it, not because they lie elsewhere."""
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
        lines.append(f"Without rows: {named('cluster', empty)}. The data may contain fewer groups.")
    if 0 < len(alone) < m:
        lines.append(
            f"Left alone: {listed([quoted(names[k]) for k in alone])}. What the other tasks share does not describe "
            "such a task, so it was clustered on its own; its clusters have the numbers of those that match best."
        )
    return lines


def places(missing: list[dict[str, Any]], names: list[str], *, few: bool) -> str:
    """Say which clusters lack support in which tasks: those with few rows there, or those whose rows lie elsewhere."""
    by_task: dict[int, list[int]] = {}
    for item in missing:
        if item["few"] == few:
            by_task.setdefault(item["task"], []).append(item["cluster"])
    told = [f"{named('cluster', found)} in {quoted(names[k])}" for k, found in by_task.items()]
    return listed_places(told)


def features(subject: Subject, names: list[str], units: Units | None = None) -> dict[str, Any]:
    """Find the features that distinguish each cluster, over all tasks and in each, and the most important one."""
    units = Units(["number"] * len(names)) if units is None else units
    Z, sizes = centers_of_sharing(subject.fitted)
    table, widths = counts(subject), subject.widths
    m, c = table.shape
    shared = _profiles(Z, sizes, names, SHARED_FEATURES, widths, units)
    tasks = sorted(np.argsort(-table.sum(axis=1), kind="stable")[: max(PAIRS // c, 1)].tolist()) if m > 1 else []
    by_task = {k: _own_profiles(subject, k, names, widths, units) for k in tasks}
    clusters = [
        {
            "cluster": j,
            "rows": int(table[:, j].sum()),
            "share": float(table[:, j].sum() / max(table.sum(), 1)),
            "shared": shared[j],
            "tasks": [{"task": k, "rows": int(table[k, j]), "features": by_task[k][j]} for k in tasks],
        }
        for j in range(c)
    ]
    return plain({"clusters": clusters, "leading": leading(Z / widths, sizes, names), "tasks_left_out": m - len(tasks)})


def _own_profiles(
    subject: Subject, k: int, names: list[str], widths: Array, units: Units
) -> list[list[dict[str, Any]]]:
    """Find the features of the clusters of one task, of those that it has."""
    fitted, own = subject.fitted, np.flatnonzero(subject.fitted.has[k])
    return _profiles(fitted.centers.Ms[k], fitted.sizes[k], names, TASK_FEATURES, widths, units, own, subject.tasks[k])


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
    """Find the features of each cluster; `own` are those that a task has."""
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
    """Find the feature with the largest variance between the centres, and its share of that variance."""
    share = sizes / max(sizes.sum(), TINY)
    spread = share @ (Z - share @ Z) ** 2
    i = int(np.argmax(spread))
    return {"name": names[i], "share": float(spread[i] / max(spread.sum(), TINY))}


def neighbours(subject: Subject) -> list[str]:
    """Tell the map as text: for each cluster with rows, the closest and the farthest cluster."""
    Z, sizes = centers_of_sharing(subject.fitted)
    Z = Z / subject.widths  # as in the dendrogram
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
