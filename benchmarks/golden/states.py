"""What depends on the library's interface; all other files are the same for every state that is recorded.

When a public name changes, it is told here: `ALSO` for attributes and results, `make` for parameters, and a function
for each result that is read in more than one way. What a state does not have is not recorded, and the comparison tells
it as "not there".
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import io
import json
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

# Name of a fitted attribute → other names of it, with dots. Without any, `model.fitted_` is asked without the "_".
ALSO: dict[str, tuple[str, ...]] = {
    "shared_centers_": ("fitted_.centers.M",),
    "subspace_": ("fitted_.centers.W",),
    "task_offsets_": ("fitted_.centers.offsets.b",),
    "task_scales_": ("fitted_.centers.offsets.s",),
    "cluster_support_": ("fitted_.support",),
    "feature_presence_": ("fitted_.has",),
    "task_indices_": ("fitted_.rows.tasks",),
    "weight_trace_": ("fitted_.rows.weights",),
    "fractions_": ("fitted_.rows.fractions",),
    "admitted_": ("fitted_.rows.admitted",),
    "map_": ("fitted_.rows.map",),
    "map_rows_": ("fitted_.rows.map_rows",),
    "metric_covariance_": ("fitted_.centers.geometry.tied.K",),
    "metric_rest_": ("fitted_.centers.geometry.tied.rest",),
    "metric_directions_": ("fitted_.centers.geometry.tied.V",),
    "cluster_covariances_": ("fitted_.centers.geometry.K",),
    "log_proportions_": ("fitted_.centers.log_shares",),
    "metric_": ("decisions_.metric",),
    "membership_": ("decisions_.membership",),
    "novelty_losses_": ("fitted_.ordinary.losses",),
    "novelty_ratios_": ("fitted_.ordinary.ratios",),
    "joined_": ("fitted_.groups.joined",),
    "loss_scales_": ("fitted_.groups.scales",),
    "group_centers_": ("fitted_.groups.centers",),
    "group_tasks_": ("fitted_.groups.tasks",),
    "n_samples_fit_": ("fitted_.rows.n_all",),
    "statistics_": ("fitted_.sums",),
    "shrinkage_": ("fitted_.model.sharing.rows",),
}
UNTOLD = ("date", "versions", "seconds", "sha256", "out", "files", "format", "bytes")  # keys that are never the same


def make(kind: str, n_clusters: Any, **parameters: Any) -> Any:
    """An estimator by the name of its class; parameters that it does not take are those of its pace."""
    import mtcluster

    cls = getattr(mtcluster, kind)
    known = inspect.signature(cls.__init__).parameters
    own = {name: value for name, value in parameters.items() if name in known}
    pace = {name: value for name, value in parameters.items() if name not in known}
    return cls(n_clusters, **own, **pace_of(cls, **pace))


def pace_of(cls: type, **parameters: Any) -> dict[str, Any]:
    """The pace of an estimator as its signature takes it: as parameters, or as one `Schedule` of that name or another.

    Names: initial_fraction, fraction_step, warmup_iter, max_iter, tol, weighting, soft_rule, full_weight_share.
    """
    known = inspect.signature(cls.__init__).parameters
    if not parameters or "pace" not in known:
        return parameters  # as they are, or refused by the class
    schedule = first(("mtcluster", "mtcluster.estimators", "mtcluster.core.pacing"), ("Schedule", "Pace"))
    fields = inspect.signature(schedule).parameters
    if "fractions" in fields and {"initial_fraction", "fraction_step"} & set(parameters):
        initial, step = parameters.pop("initial_fraction", 0.5), parameters.pop("fraction_step", 0.1)
        before = int(np.ceil((1 - initial) / step - 1e-9))
        parameters["fractions"] = (*(round(initial + i * step, 12) for i in range(before)), 1.0)
    shorter = {"warmup_iter": "warmup", "initial_fraction": "initial", "fraction_step": "step"}
    named = {name if name in fields else shorter.get(name, name): value for name, value in parameters.items()}
    return {"pace": schedule(**named)}


def first(modules: tuple[str, ...], names: tuple[str, ...]) -> Any:
    """The first of some names that one of some modules has."""
    for module in modules:
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        for name in names:
            if hasattr(found, name):
                return getattr(found, name)
    raise AttributeError(f"none of {', '.join(modules)} has {' or '.join(names)}")


def get(model: Any, name: str) -> Any:
    """A fitted attribute by its public name, or by that in `model.fitted_`; None where there is none."""
    inside = getattr(model, "fitted_", None)
    for one in (name, *ALSO.get(name, ())):
        for owner, attribute in ((model, one), (inside, one), (inside, one.removesuffix("_"))):
            try:
                found = attrgetter(attribute)(owner)
            except AttributeError:
                continue
            if found is not None:
                return (
                    found[0] if name == "shrinkage_" and np.ndim(found) > 1 else found
                )  # records have an axis of runs
    return None


def explained(model: Any, **given: Any) -> list[str]:
    """The lines of `explain`, whether it is a function that returns them, or a method that prints or returns them."""
    import mtcluster.inspection as inspection

    said, found = io.StringIO(), None
    with redirect_stdout(said):
        explain = getattr(inspection, "explain", None)
        found = model.explain(**given) if explain is None else explain(model, **given)
    return (said.getvalue() if found is None else str(found)).splitlines()


def related(model: Any) -> dict[str, Any]:
    """The table of the relations, and the sentences."""
    import mtcluster.inspection as inspection

    found = inspection.relations(model) if hasattr(inspection, "relations") else model.relations()
    table = getattr(found, "table", None)
    told = getattr(found, "sentences", None)
    return {"table": plain(found if table is None else table)} | ({} if told is None else {"sentences": plain(told)})


def summary(model: Any, X: Any) -> dict[str, Any]:
    """What the report of a model says."""
    import mtcluster.inspection as inspection

    make_report = getattr(inspection, "make_report", None)
    report = model.report(X=X) if make_report is None else make_report(model, X=X)
    return without_untold(plain(report.summary), ("settings",))


def summary_of(folder: Path) -> dict[str, Any]:
    """What the report of a results folder says."""
    from mtcluster.interop import load

    found = load(folder / "model.skops")["findings"]
    found = json.loads(found) if isinstance(found, str) else plain(found)
    return without_untold(found, ("settings",))


def without_untold(value: Any, more: tuple[str, ...] = ()) -> Any:
    """A value without times, versions and places, however deep they are."""
    if isinstance(value, dict):
        return {key: without_untold(item) for key, item in value.items() if key not in (*UNTOLD, *more)}
    return [without_untold(item) for item in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """Arrays of NumPy, dicts, lists, texts and numbers, of whatever the library returns."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "compute"):  # of Dask
        value = value.compute()
    if sparse.issparse(value):
        return value.toarray()
    if isinstance(value, np.ndarray) or hasattr(value, "__array_namespace__"):
        found = np.asarray(value)
        return plain(found.tolist()) if found.dtype == object else found
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # of pandas
        return plain(value.to_dict("list"))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | range):
        return [plain(item) for item in value]
    return _of_object(value)


def _of_object(value: Any) -> Any:
    """An object of the library as a dict."""
    for name in ("as_dict", "to_dict"):
        if hasattr(value, name):
            return plain(getattr(value, name)())
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        told = ("sentences", "table", "born", "died", "split", "merged", "best", "likeness", "margin")
        names += [name for name in told if name not in names and hasattr(value, name)]
        return {name: plain(getattr(value, name)) for name in names}
    if hasattr(value, "to_frame"):
        return plain(value.to_frame())
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
