"""Which clusters are where, and what makes each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from .._explanation import PRESENT
from .words import clusters_named, count, listed, number, percent, plain, quoted, rounded, whole

SHARED_FEATURES, TASK_FEATURES = 6, 4  # above the rest that are shown, and as many below
NAMED = 3  # features that stand for a cluster in a line
TELLING = 0.2  # a difference of a smaller share of the largest one of any cluster does not tell a cluster apart
FAINT = 0.02  # a difference of a smaller share of the cluster's largest one says nothing
ROUNDING = 1e-6  # of that again: 0 but for rounding
PLACES = 6  # tasks that a sentence about missing clusters names
PAIRS = 400  # of a task and a cluster that are shown: what differs in all of them is no longer read


def counts(model: Any) -> Array:
    """Rows of each cluster in each task, (m, c)."""
    m, c, _ = model.task_centers_.shape
    return np.bincount(model.task_indices_ * c + model.labels_, minlength=m * c).reshape(m, c)


def sharing(model: Any) -> Array:
    """Which tasks share, (m,); one task alone has nobody to be apart from."""
    return (model.within_weight_ < 1) | (len(model.tasks_) == 1)


def contrasts(centers: Array, sizes: Array) -> tuple[Array, Array]:
    """Each centre less the mean of the other centres by the sizes of their clusters, and that mean, both (c, d).

    Not a number where no other cluster has rows.

    Examples
    --------
    >>> contrasts(np.array([[1.0], [3.0], [6.0]]), np.array([5.0, 2.0, 1.0]))[0].ravel().tolist()
    [-3.0, 1.1666666666666667, 4.428571428571429]
    """
    others = (sizes.sum() - sizes)[:, None].astype(np.float64)
    middle = sizes @ centers / max(sizes.sum(), np.finfo(np.float64).tiny)
    moved = centers - middle  # so that few digits are lost where the data lie far from zero
    sums = sizes @ moved - sizes[:, None] * moved
    rest = middle + np.divide(sums, others, out=np.full_like(sums, np.nan), where=others > 0)
    return centers - rest, rest


def shared_centers(model: Any) -> tuple[Array, Array]:
    """Shared centres (c, d) as they lie in the middle of the tasks that share, and sizes (c,) of the clusters there."""
    together = sharing(model) if sharing(model).any() else np.ones(len(model.tasks_), dtype=bool)
    sizes = model.cluster_sizes_[together].astype(np.float64)
    share = sizes.sum(axis=1) / max(sizes.sum(), np.finfo(np.float64).tiny)
    Z = model.shared_centers_.astype(np.float64) @ model.subspace_.astype(np.float64).T
    return share @ model.task_offsets_[together] + (share @ model.task_scales_[together]) * Z, sizes.sum(axis=0)


def standing_out(difference: Array, here: Array, names: list[str], most: int) -> list[dict[str, Any]]:
    """The features that are most above the rest, largest first, then those most below."""
    least = FAINT * np.abs(difference).max(initial=0.0)
    if not np.isfinite(least) or least == 0:
        return []
    here, rest = (np.where(np.abs(values) < ROUNDING * least, 0.0, values) for values in (here, here - difference))
    order = np.argsort(-difference, kind="stable")
    above = [i for i in order[:most] if difference[i] > least]
    below = [i for i in order[::-1][:most] if -difference[i] > least]
    return [
        {"name": names[i], "difference": d, "here": h, "rest": r}
        for i, d, h, r in zip(
            [*above, *below],
            rounded(difference[[*above, *below]]),
            rounded(here[[*above, *below]]),
            rounded(rest[[*above, *below]]),
            strict=True,
        )
    ]


def in_short(features: list[dict[str, Any]], largest: float) -> str:
    """The features of a cluster in a few words; `largest` is the largest difference of any cluster."""
    features = [f for f in features if abs(f["difference"]) >= TELLING * largest]
    above = [f["name"] for f in features if f["difference"] > 0][:NAMED]
    below = [f["name"] for f in features if f["difference"] < 0][:NAMED]
    parts = [f"{word} {', '.join(names)}" for word, names in (("high", above), ("low", below)) if names]
    return "; ".join(parts) or "lies in the middle: nothing stands out"


def sizes(model: Any, names: list[str]) -> dict[str, Any]:
    """Sizes, shares and support of the clusters in the tasks, and what to notice about them."""
    table, together, support = counts(model), sharing(model), model.cluster_support_
    m, c = table.shape
    used, several = table.sum(axis=0) > 0, m > 1
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    missing = [
        {"cluster": int(j), "task": int(k), "support": float(support[j, k]), "few": _few(shares[:, j], k, together)}
        for j, k in zip(*np.nonzero((support < PRESENT) & together & used[:, None]), strict=True)
        if several
    ]
    lacking = {item["cluster"] for item in missing}
    found = {
        "rows": table.tolist(),
        "shares": rounded(shares),
        "support": rounded(support),
        "everywhere": [j for j in range(c) if used[j] and j not in lacking],
        "missing": missing,
        "empty": np.flatnonzero(~used).tolist(),
        "alone": np.flatnonzero(~together).tolist(),
    }
    return plain({**found, "sentences": _size_sentences(found, names, c)})


def _few(shares: Array, k: int, together: Array) -> bool:
    """Whether a cluster lacks support in a task because few rows are in it, and not because these lie elsewhere."""
    others = together & (np.arange(len(shares)) != k)
    return bool(shares[k] < PRESENT * np.median(shares[others])) if others.any() else True


def _size_sentences(found: dict[str, Any], names: list[str], c: int) -> list[str]:
    m, everywhere, missing, alone = len(names), found["everywhere"], found["missing"], found["alone"]
    lines = []
    if m > 1 and len(alone) == m:
        lines.append("Every task was clustered by itself: cluster numbers need not mean the same from task to task.")
    elif m > 1:
        where = "every task" if not alone else "every task that shares"
        if len(everywhere) + len(found["empty"]) == c:
            lines.append(f"Every cluster is present in {where}.")
        elif everywhere:
            lines.append(f"Present in {where}: {clusters_named(everywhere)}.")
        else:
            lines.append(f"No cluster is present in {where}.")
    lines += _missing_sentences(missing, names)
    if found["empty"]:
        lines.append(f"Without examples: {clusters_named(found['empty'])}. The data may hold fewer groups.")
    if 0 < len(alone) < m:
        lines.append(
            f"Left alone: {listed([quoted(names[k]) for k in alone])}. What the others share says nothing about it, so "
            "it was clustered by itself; its clusters carry the numbers that fit best."
        )
    return lines


def _missing_sentences(missing: list[dict[str, Any]], names: list[str]) -> list[str]:
    few, elsewhere = places(missing, names, few=True), places(missing, names, few=False)
    lines = []
    if few:
        lines.append(f"Missing, or hardly there: {few}.")
    if elsewhere:
        lines.append(f"Elsewhere than in the other tasks, so perhaps another group: {elsewhere}.")
    return lines


def places(missing: list[dict[str, Any]], names: list[str], *, few: bool) -> str:
    """Which clusters lack support where, because they have few rows there or because these lie elsewhere."""
    by_task: dict[int, list[str]] = {}
    for item in missing:
        if item["few"] == few:
            by_task.setdefault(item["task"], []).append(str(item["cluster"]))
    told = [f"{clusters_named(found)} in {quoted(names[k])}" for k, found in by_task.items()]
    more = [f"and in {count(len(told) - PLACES, 'more task')}"] if len(told) > PLACES else []
    return "; ".join([*told[:PLACES], *more])


def features(model: Any, names: list[str]) -> dict[str, Any]:
    """What makes each cluster, over all tasks and in each, and how much of it hangs on one feature."""
    Z, sizes = shared_centers(model)
    table = counts(model)
    difference, _ = contrasts(Z, sizes)
    tasks = _shown_tasks(table)
    by_task = {k: _in_task(model, k, names) for k in tasks}
    clusters = []
    for j in range(len(Z)):
        shown = standing_out(difference[j], Z[j], names, SHARED_FEATURES) if sizes[j] > 0 else []
        clusters.append(
            {
                "cluster": j,
                "rows": int(table[:, j].sum()),
                "share": float(table[:, j].sum() / max(table.sum(), 1)),
                "in_short": in_short(shown, float(np.abs(difference).max(initial=0.0))),
                "shared": shown,
                "tasks": [{"task": k, "rows": int(table[k, j]), "features": by_task[k][j]} for k in tasks],
            }
        )
    return plain({"clusters": clusters, "leading": leading(Z, sizes, names), "tasks_left_out": len(table) - len(tasks)})


def _shown_tasks(table: Array) -> list[int]:
    m, c = table.shape
    if m == 1:
        return []
    return sorted(np.argsort(-table.sum(axis=1), kind="stable")[: max(PAIRS // c, 1)].tolist())


def _in_task(model: Any, k: int, names: list[str]) -> list[list[dict[str, Any]]]:
    centers, sizes = model.task_centers_[k].astype(np.float64), model.cluster_sizes_[k].astype(np.float64)
    difference, _ = contrasts(centers, sizes)
    return [
        standing_out(difference[j], centers[j], names, TASK_FEATURES) if sizes[j] > 0 else [] for j in range(len(sizes))
    ]


def leading(Z: Array, sizes: Array, names: list[str]) -> dict[str, Any]:
    """The feature that tells the clusters apart most, and its share of the spread between the centres."""
    share = sizes / max(sizes.sum(), np.finfo(np.float64).tiny)
    spread = share @ (Z - share @ Z) ** 2
    i = int(np.argmax(spread))
    return {"name": names[i], "share": float(spread[i] / spread.sum()) if spread.sum() > 0 else 0.0}


def neighbours(model: Any) -> list[str]:
    """For each cluster with rows, in words, which cluster lies closest and which farthest: a map for the ear."""
    Z, sizes = shared_centers(model)
    at = np.flatnonzero(sizes > 0)
    lines = []
    for j in at:
        others = at[at != j]
        distances = np.linalg.norm(Z[others] - Z[j], axis=1)
        line = f"Cluster {j} ({whole(sizes[j])} rows, {percent(float(sizes[j] / sizes.sum()))})"
        if len(others):
            near, far = int(distances.argmin()), int(distances.argmax())
            line += f" lies closest to cluster {others[near]} (distance {number(float(distances[near]))})"
            if near != far:
                line += f" and farthest from cluster {others[far]} ({number(float(distances[far]))})"
        lines.append(f"{line}.")
    return lines
