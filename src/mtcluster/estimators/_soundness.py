"""Whether the parts of a model that comes from a file fit together: a checksum says only that somebody wrote them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.arrays import host
from ._base import MultiTaskClusterer

ROWS = 4  # that a model is tried with
ROUNDED = 1e-6  # part of the largest variance of a covariance that rounding may make negative
# m tasks, c numbers of clusters, d features, l directions of the subspace, n rows. The first three come first.
SHAPES = {
    "task_centers_": "mcd", "tasks_": "m", "task_offsets_": "md", "task_scales_": "m", "within_weight_": "m",
    "task_relatedness_": "mm", "feature_presence_": "md", "missing_": "md", "cluster_presence_": "mc",
    "cluster_support_": "mc", "cluster_sizes_": "mc", "shared_centers_": "cl", "subspace_": "dl", "labels_": "n",
    "losses_": "n", "weights_": "n", "admitted_": "n", "task_indices_": "n",
}  # fmt: skip
SOME = {"log_proportions_": "mc", "proportions_": "mc", "means_": "cd"}  # that only some models have
OPEN = ("log_proportions_", "task_relatedness_")  # that may hold NaN or infinity
NUMBERS = ("log_proportions_",)  # of these, those that may not be NaN
RANGES = {  # of numbers, least and largest
    "log_proportions_": (-np.inf, 1e-6), "within_weight_": (0, 1), "cluster_sizes_": (0, np.inf),
    "weights_": (0, np.inf), "cluster_support_": (0, 1), "missing_": (0, 1), "task_scales_": (0, np.inf),
}  # fmt: skip
KINDS = {"membership_": str, "metric_": str, "task_offset_": str, "n_clusters_": int, "n_features_in_": int}


def check_sound(value: Any) -> None:
    """Raise an error if an estimator in what was loaded lacks parts, or has such that do not fit together."""
    for model in _models(value):
        model._validate_params()
        if "task_centers_" in vars(model) or "labels_" in vars(model):
            _check_fitted(model)
            _try_out(model)


def _models(value: Any) -> Iterator[Any]:
    """The estimators of this library in a dict, a list or a pipeline."""
    if isinstance(value, MultiTaskClusterer):
        yield value
        return
    parts = vars(value) if hasattr(value, "steps") else value
    if isinstance(parts, dict | list | tuple):
        for item in parts.values() if isinstance(parts, dict) else parts:
            yield from _models(item)


def _check_fitted(model: Any) -> None:
    there = vars(model)
    lacking = [name for name in (*SHAPES, *KINDS) if name not in there]
    if lacking:
        raise ValueError(f"{lacking[0]} is missing")
    for name, kind in KINDS.items():
        if not isinstance(there[name], kind | np.generic):
            raise ValueError(f"{name} is no {kind.__name__}")
    sizes = {"d": int(model.n_features_in_)}
    for name, letters in (SHAPES | SOME).items():
        if name in there:
            _check_shape(name, np.shape(there[name]), letters, sizes)
            if name != "tasks_":
                _check_numbers(name, np.asarray(host(there[name])))
    if not 1 <= model.n_clusters_ <= sizes["c"]:
        raise ValueError(f"n_clusters_ is {model.n_clusters_} of {sizes['c']} numbers")
    names = there["tasks_"].tolist()
    if any(one in names[:k] for k, one in enumerate(names)):
        raise ValueError("tasks_ names a task twice")
    if "metric_covariance_" in there:
        values = np.linalg.eigvalsh(host(there["metric_covariance_"]))
        if values[0] < -ROUNDED * abs(values[-1]) or values[-1] <= 0:
            raise ValueError("metric_covariance_ is not positive definite")
    for name, least, most in (("labels_", -1, sizes["c"]), ("task_indices_", 0, sizes["m"])):
        found = np.asarray(there[name])
        if found.dtype.kind not in "iu" or np.any((found < least) | (found >= most)):
            raise ValueError(f"{name} holds something else than whole numbers from {least} to {most - 1}")


def _check_shape(name: str, shape: tuple[int, ...], letters: str, sizes: dict[str, int]) -> None:
    """Sizes that are met for the first time are kept."""
    expected = tuple(sizes.setdefault(letter, size) for letter, size in zip(letters, shape, strict=False))
    if len(shape) != len(letters) or shape != expected:
        wanted = expected if len(shape) == len(letters) else f"{len(letters)} dimensions"
        raise ValueError(f"{name} has the shape {shape} instead of {wanted}")


def _check_numbers(name: str, found: Any) -> None:
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds something else than numbers")
    if name not in OPEN and not np.all(np.isfinite(found)):
        raise ValueError(f"{name} holds numbers that are not finite")
    least, most = RANGES.get(name, (-np.inf, np.inf))
    if np.any((found < least) | (found > most)) or (name in NUMBERS and np.isnan(found).any()):
        raise ValueError(f"{name} holds numbers outside of {least:g} to {most:g}")


def _try_out(model: Any) -> None:
    """Let the model do its work on a few rows that it knows, its own centres, which any fitted model can."""
    X = np.where(host(model.feature_presence_)[:1], host(model.task_centers_)[0], np.nan)[:ROWS]
    known, new = host(model.tasks_)[:1], _another(host(model.tasks_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("predict", "predict_proba", "score_samples"):
            getattr(model, method)(X, tasks=np.repeat(known, len(X)))
        if len(new):
            model.predict(X, tasks=np.repeat(new, len(X)))


def _another(tasks: Any) -> Any:
    """The label of a task that is not there, as an array; empty if labels are neither numbers nor texts."""
    if tasks.dtype.kind in "iu":
        return np.array([int(tasks.max()) + 1])
    return np.array(["".join(tasks.tolist()) + "?"]) if tasks.dtype.kind == "U" else tasks[:0]
