"""Which metric a fit uses, and what stands against a shared one."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from .._utils.tasks import positions
from ..consensus.embedding import directional
from ..core.arrays import Array
from ..core.model import Model
from ..engines import Engine

METRICS = ("auto", "shared", "euclidean")
LOOKED_AT = 100  # rows of a task that tell whether sparse rows are counts
IMPOSSIBLE = {
    "coupling": "coupling={0.coupling!r}: take coupling='reconstruction'",
    "membership": "membership={0.membership!r}: take membership='binary'",
    "subspace": "n_components={0.n_components} below n_clusters={1.n_clusters}: take n_components=None",
    "scale": "task_offset='scale': take task_offset='auto', 'none', 'matched' or 'mean'",
    "gaps": "missing values in more than {2} features: take metric='euclidean', or fill them in",
}


def metric_of(estimator: Any, engine: Engine, model: Model, dimensions: int) -> tuple[str, str]:
    """The metric of the fit, and why it is that one."""
    asked = estimator._metric()
    obstacle = _obstacle(estimator, engine, model, dimensions)
    if asked == "shared":
        if obstacle:
            why = IMPOSSIBLE[obstacle].format(estimator, model, dimensions)
            if not hasattr(estimator, "metric"):
                name = type(estimator).__name__
                raise ValueError(f"{name} cannot work with {why.partition(':')[0]}: fill them in, or take SPMTC.")
            raise ValueError(f"metric='shared' cannot go with {why}.")
        return "shared", "set"
    if asked == "euclidean":
        return "euclidean", "set"
    if obstacle:
        return "euclidean", obstacle
    if directional(engine.summary):
        return "euclidean", "unit rows"
    if estimator._within_weight() != "auto":
        return "euclidean", "fixed within_weight"
    if engine.summary.entries.shape[1] > 1:  # entries are counted of sparse rows alone
        return "euclidean", "counts" if _counts(engine) else "sparse rows"
    if min(engine.n_features, sum(engine.sizes)) > dimensions:
        return "euclidean", "many features"
    return "shared", "default"


def candidates_decide(metric: str, reason: str) -> bool:
    """Whether candidates with a shared metric decide about the tasks, whatever the metric of the fit is."""
    return metric == "shared" or reason in ("sparse rows", "many features")


def unused_clusters_per_task(reason: str) -> str:
    """What to say where nothing decides which task holds which cluster."""
    start = "init='consensus', or 'auto' with within_weight='auto', is needed"
    why = {"start": start, "set": "metric='euclidean' is set: take metric='auto' or 'shared'"}
    return (
        "n_clusters_per_task needs fits with a shared metric that decide which clusters a task holds, and there are "
        f"none: {why.get(reason, f'the metric is Euclidean because of {reason!r}')}."
    )


def _counts(engine: Engine) -> bool:
    """Whether some rows of each task hold whole numbers alone: clusters of counts are far from elliptical."""
    some = engine.take([np.arange(min(int(n), LOOKED_AT)) for n in engine.summary.counting])
    return all(bool(np.all(block.X.data == np.round(block.X.data))) for block in some)


def _obstacle(estimator: Any, engine: Engine, model: Model, dimensions: int) -> str:
    """What makes a shared metric impossible; nothing: ""."""
    if not model.coupling.free_origin:
        return "coupling"
    if not model.membership.diagonal:
        return "membership"
    if model.n_components < min(model.n_clusters, engine.n_features):
        return "subspace"
    if estimator._task_offset() == "scale":
        return "scale"
    wide = min(engine.n_features, sum(engine.sizes)) > dimensions
    return "gaps" if engine.gaps and wide and estimator._metric() == "shared" else ""


def clusters_per_task(value: Any, n_clusters: int, labels: Array) -> Array | None:
    """The number of clusters of each task, in the order of `tasks_`, as the user gave it."""
    if value is None:
        return None
    names = labels.tolist()
    if isinstance(value, Mapping):
        missing = [name for name, at in zip(names, positions(names, list(value)), strict=True) if at is None]
        unknown = [name for name, at in zip(value, positions(list(value), names), strict=True) if at is None]
        if missing or unknown:
            lacks = f"lacks task {missing[0]!r}" if missing else f"holds {unknown[0]!r}, which is no task"
            raise ValueError(f"n_clusters_per_task {lacks}: a number for each of {names} is needed.")
        value = [value[name] for name in names]
    try:
        numbers = list(value)
    except TypeError as error:
        raise ValueError(f"n_clusters_per_task={value!r} should be a number for each of the tasks {names}.") from error
    if len(numbers) != len(names):
        raise ValueError(
            f"n_clusters_per_task has {len(numbers)} entries, but there are {len(names)} tasks: one per task, in the "
            f"order {names}, is needed."
        )
    for name, number in zip(names, numbers, strict=True):
        if not isinstance(number, Real) or float(number) not in range(1, n_clusters + 1):
            raise ValueError(
                f"n_clusters_per_task of task {name!r} is {number!r}; a whole number from 1 to n_clusters={n_clusters} "
                "is needed."
            )
    if sum(numbers) < n_clusters:
        raise ValueError(
            f"n_clusters_per_task adds up to {sum(numbers)}, below n_clusters={n_clusters}: some cluster would be in "
            "no task. n_clusters counts the clusters of all tasks together."
        )
    return np.array(numbers, dtype=int)
