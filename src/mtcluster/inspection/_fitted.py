"""What explanations and reports read of a model: its public fitted attributes, with arrays in host memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.arrays import Array, host

PRESENT = 0.5  # support from which a cluster counts as present in a task
UNSURE = 0.1  # support this close to it leaves that open
ALIKE = 0.5  # relatedness from which two tasks count as alike
PER_TASK = (
    "tasks_", "task_centers_", "shared_centers_", "subspace_", "task_offsets_", "task_scales_", "within_weight_",
    "cluster_sizes_", "task_relatedness_", "cluster_support_", "cluster_presence_", "fractions_",
)  # fmt: skip
PER_ROW = ("labels_", "losses_", "task_indices_", "admitted_", "weight_trace_", "map_", "map_rows_")
METRIC = ("metric_covariance_", "metric_directions_", "metric_rest_")  # of a shared metric
OTHERS = (
    "objective_trace_", "n_iter_", "converged_", "decisions_", "selection_", "task_offset_", "metric_", "changes_",
    "drift_", "joined_", "matching_", "missing_", "feature_presence_", "feature_names_in_",
    "n_samples_fit_",
)  # fmt: skip


def on_host(model: Any, arrays: tuple[str, ...]) -> SimpleNamespace:
    """The attributes of a fitted model, the named arrays as NumPy arrays; None for an attribute that it lacks."""
    others = {name: getattr(model, name, None) for name in ("labels_", *OTHERS)}
    others |= {name: host(getattr(model, name)) for name in METRIC if hasattr(model, name)}
    found = SimpleNamespace(**others | {name: host(getattr(model, name)) for name in arrays}, method=method_name(model))
    found.n_clusters_ = getattr(model, "n_clusters_", found.task_centers_.shape[1])  # numbers may be more
    return found


def n_rows_of(model: Any) -> int:
    """The number of rows of the fit, of which those of the model may be a sample."""
    return int(getattr(model, "n_samples_fit_", None) or len(model.labels_))


def method_name(model: Any) -> str:
    """The name of the method: its class, or the `method` of a `LabelDescription`."""
    return str(getattr(model, "method", type(model).__name__))


def candidates_decided(model: Any) -> bool:
    """Whether candidates with a shared metric decided which task holds which cluster, and support is that evidence."""
    found = None if model.decisions_ is None else model.decisions_.consensus
    return found is not None and found.n_candidates > 0


def feature_widths(model: Any) -> Array:
    """(d,) the width of a cluster in each feature, where a shared metric has measured it; else 1."""
    d = model.task_centers_.shape[2]
    if getattr(model, "metric_", None) != "shared":
        return np.ones(d)
    K, V = model.metric_covariance_, getattr(model, "metric_directions_", None)
    if V is None:
        return np.sqrt(np.diag(K))
    return np.sqrt(np.sum(V @ K * V, axis=1) + model.metric_rest_ * np.clip(1 - np.sum(V**2, axis=1), 0, None))


def comparable(model: Any) -> Array:
    """Which tasks hold at least two common clusters, (m, m), so that it can be told how alike they are."""
    held = model.cluster_presence_.astype(int)
    return (held @ held.T > 1) | (model.task_centers_.shape[1] == 1)


def sharing(model: Any) -> Array:
    """Which tasks share, (m,); a single task counts as sharing."""
    return (model.within_weight_ < 1) | (len(model.tasks_) == 1)


def without_rows(model: Any) -> Array:
    """Which tasks (m,) have no row among those of the model: after `adapt` or `partial_fit`, those of earlier data."""
    return np.bincount(model.task_indices_, minlength=len(model.tasks_)) == 0


def unexplained(model: Any) -> int:
    """Number of rows of tasks that joined after the fit and have the label -1."""
    joined = getattr(model, "joined_", None)
    return 0 if joined is None or not np.any(host(joined)) else int(np.count_nonzero(host(model.labels_) < 0))


def gone(model: Any) -> Array:
    """(c,) numbers of clusters of earlier fits that no task holds any more."""
    held = np.any(model.cluster_presence_, axis=0)
    return ~held & (len(held) > getattr(model, "n_clusters_", len(held)))
