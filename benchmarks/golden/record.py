"""What is recorded of a fit: arrays and plain values, each under a name."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import states

MOST = 4_000  # numbers of an array that are kept, beside its norm, mean size and ends
DEEP = 3  # dicts in dicts that have names of their own
ATTRIBUTES = (
    "labels_", "n_clusters_", "losses_", "weights_", "admitted_", "weight_trace_", "fractions_", "tasks_",
    "task_indices_", "task_centers_", "shared_centers_", "subspace_", "within_weight_", "membership_", "metric_",
    "metric_covariance_", "metric_directions_", "metric_rest_", "log_proportions_", "task_offset_", "task_offsets_",
    "task_scales_", "task_relatedness_", "cluster_support_", "cluster_presence_", "feature_presence_", "missing_",
    "cluster_sizes_", "decisions_", "matching_", "map_", "map_rows_", "objective_trace_", "n_iter_", "converged_",
    "n_features_in_", "feature_names_in_", "temperature_", "own_temperature_", "task_temperatures_", "memberships_",
    "selection_", "changes_", "drift_", "means_", "covariances_", "proportions_", "shrinkage_", "lower_bound_",
    "lower_bounds_", "joined_", "loss_scales_", "group_centers_", "group_tasks_", "task_means_",
)  # fmt: skip


class Record:
    """Values by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.values: dict[str, Any] = {}

    def put(self, what: str, value: Any, depth: int = 0) -> None:
        """Keep a value; each entry of a dict has a name of its own."""
        value = states.plain(value)
        if isinstance(value, dict) and depth < DEEP:
            for name, item in value.items():
                self.put(f"{what}.{name}", item, depth + 1)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
            self._put_array(what, value)
        else:
            self.values[what] = _json(value)

    def _put_array(self, what: str, value: np.ndarray) -> None:
        """Keep an array, or of a large one some numbers, and what all of them add up to."""
        if value.dtype.kind != "f" or value.size <= MOST:
            self.arrays[what] = value
            return
        self.values[f"{what} (shape)"] = list(value.shape)
        flat = value.ravel()
        known = flat[np.isfinite(flat)].astype(np.float64)
        ends = [known.min(initial=0), known.max(initial=0)]
        told = [np.sqrt(np.sum(known**2)), np.abs(known).mean() if len(known) else 0, *ends]
        some = flat[:: math.ceil(value.size / MOST) | 1]
        self.arrays[what] = np.concatenate([np.array(told, dtype=value.dtype), some])

    def guard(self, what: str, value: Callable[[], Any]) -> Any:
        """Keep what a function returns and warns of, or the error that it raises."""
        with _noted() as notes:
            try:
                found = value()
            except Exception as error:
                self.values[f"{what} (error)"] = f"{type(error).__name__}: {_steady(str(error))}"
                found = None
            else:
                self.put(what, found)
        if notes:
            self.values[f"{what} (warnings)"] = sorted(set(notes))
        return found

    def fit(self, model: Any, fit: Callable[[Any], Any], what: str = "fit") -> Any:
        """Fit a model, and keep warnings or the error; None if it is refused."""
        with _noted() as notes:
            try:
                model = fit(model)
            except Exception as error:
                self.values[f"{what} (error)"] = f"{type(error).__name__}: {_steady(str(error))}"
                return None
        if notes:
            self.values[f"{what} (warnings)"] = sorted(set(notes))
        return model

    def attributes(self, model: Any, prefix: str = "") -> None:
        """Keep the fitted attributes of a model, what follows from them, and what it tells of itself."""
        for name in ATTRIBUTES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = states.get(model, name)
            if name == "memberships_" and states.get(model, "membership_") == "binary":
                continue  # the labels
            if found is not None:
                self.put(prefix + name, found)
        losses, tasks = (states.plain(states.get(model, name)) for name in ("losses_", "task_indices_"))
        if losses is not None and tasks is not None:
            self._outlying(losses, tasks, prefix)
        M, W = (states.plain(states.get(model, name)) for name in ("shared_centers_", "subspace_"))
        if M is not None and W is not None:
            self.put(f"{prefix}shared centres in feature space", M @ W.T)
        if states.get(model, "cluster_presence_") is not None:
            self.guard(f"{prefix}explain", lambda: states.explained(model))
            self.guard(f"{prefix}relations", lambda: states.related(model))

    def _outlying(self, losses: Any, tasks: Any, prefix: str) -> None:
        from mtcluster.inspection import easiness, outlier_scores

        self.guard(f"{prefix}outlier_scores", lambda: outlier_scores(losses, tasks))
        self.guard(f"{prefix}easiness", lambda: easiness(losses, tasks))

    def predictions(self, model: Any, rows: Any, prefix: str = "", wrap: Callable[[Any], Any] = lambda X: X) -> None:
        """Keep what a model says about the rows of its fit, and about new rows of known tasks and of others."""
        new = rows.new()
        asked = {"train": (rows.X, rows.tasks), "new rows": new, "unknown task": rows.unknown()}
        asked |= {"small unknown task": rows.unknown(few=True)}
        if rows.tasks is not None:
            asked["no task"] = (new[0], None)
        for name, (X, tasks) in asked.items():
            X = wrap(X)
            for method in ("predict", "predict_proba", "score_samples"):
                if hasattr(model, method):
                    self.guard(
                        f"{prefix}{method} {name}", lambda X=X, tasks=tasks, m=method: getattr(model, m)(X, tasks=tasks)
                    )
        X, tasks = asked["unknown task"]
        if hasattr(model, "transform"):
            self.guard(f"{prefix}predict novelty=none", lambda: model.predict(wrap(X), tasks=tasks, novelty="none"))
            self.guard(f"{prefix}transform train", lambda: model.transform(wrap(rows.X), tasks=rows.tasks))
            self.guard(f"{prefix}transform new rows", lambda: model.transform(wrap(new[0]), tasks=new[1]))
            self.guard(f"{prefix}score", lambda: model.score(wrap(rows.X), tasks=rows.tasks))


@contextmanager
def _noted() -> Iterator[list[str]]:
    """The user warnings of the block; those of what will change are no result."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield notes
        finally:
            notes += [
                f"{one.category.__name__}: {_steady(str(one.message))}"
                for one in caught
                if issubclass(one.category, UserWarning)
            ]


def _steady(text: str) -> str:
    """A message without addresses and names of temporary files."""
    return re.sub(r"0x[0-9a-f]{6,}|(/[\w.-]+)*/tmp[\w.-]+(/[\w.-]+)*", "…", text)


def _json(value: Any) -> Any:
    """A value as JSON takes it."""
    if isinstance(value, np.ndarray):
        return _json(value.tolist())
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def save(path: Path, stamp: str, cases: dict[str, tuple[Record, float]]) -> None:
    """Write the records of a set: arrays, and everything else as JSON in an array of bytes."""
    arrays = {f"{case}|{what}": value for case, (record, _) in cases.items() for what, value in record.arrays.items()}
    told = {case: {"seconds": seconds, "values": record.values} for case, (record, seconds) in cases.items()}
    text = json.dumps({"stamp": stamp, "cases": told})
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, told=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
    partial.replace(path)


def restore(path: Path, stamp: str | None = None) -> dict[str, tuple[Record, float]]:
    """Read the records of a set; none if there are none, or another recorder wrote them."""
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as file:
        told = json.loads(file["told"].tobytes())
        if stamp is not None and told["stamp"] != stamp:
            return {}
        cases = {case: (Record(), one["seconds"]) for case, one in told["cases"].items()}
        for case, one in told["cases"].items():
            cases[case][0].values = one["values"]
        for key in file.files:
            if key != "told":
                case, what = key.split("|", 1)
                cases[case][0].arrays[what] = file[key]
    return cases
