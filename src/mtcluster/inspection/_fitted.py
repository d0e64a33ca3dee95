"""What explanations and reports read of a model: its public fitted attributes, with arrays in host memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..core.arrays import Array, host

PRESENT = 0.5  # support from which a cluster counts as present in a task
UNSURE = 0.1  # support this close to it leaves that open
ALIKE = 0.5  # relatedness from which two tasks count as alike
PER_TASK = (
    "tasks_", "task_centers_", "shared_centers_", "subspace_", "task_offsets_", "task_scales_", "within_weight_",
    "cluster_sizes_", "task_relatedness_", "cluster_support_", "cluster_presence_", "fractions_",
)  # fmt: skip
PER_ROW = ("labels_", "losses_", "task_indices_", "admitted_", "weight_trace_", "map_", "map_rows_")
OTHERS = ("objective_trace_", "n_iter_", "converged_", "decisions_", "task_offset_", "metric_")


def on_host(model: Any, arrays: tuple[str, ...]) -> SimpleNamespace:
    """The attributes of a fitted model, the named arrays as NumPy arrays; None for an attribute that it lacks."""
    others = {name: getattr(model, name, None) for name in ("labels_", *OTHERS)}
    return SimpleNamespace(**others | {name: host(getattr(model, name)) for name in arrays}, method=method_name(model))


def method_name(model: Any) -> str:
    """The name of the method: its class, or the `method` of a `LabelDescription`."""
    return str(getattr(model, "method", type(model).__name__))


def sharing(model: Any) -> Array:
    """Which tasks share, (m,); a single task counts as sharing."""
    return (model.within_weight_ < 1) | (len(model.tasks_) == 1)
