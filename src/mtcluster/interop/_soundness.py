"""Whether the parts of a model that comes from a file fit together: a checksum says only that somebody wrote them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._sklearn_compat import check_parameters
from ..core.arrays import Array, host
from ..core.fitted import Fitted
from ..core.geometry import Tied
from ..core.record import Declared, Record, declared
from ..estimators.base import MultiTaskClusterer
from ..estimators.publish import public
from ..search import Decisions

ROWS = 4  # that a model is tried with
ROUNDED = 1e-6  # part of the largest variance of a covariance that rounding may make negative


def estimators_in(value: Any) -> Iterator[BaseEstimator]:
    """Find all estimators in an object, also those in others."""
    if isinstance(value, BaseEstimator):
        yield value
    parts = vars(value) if isinstance(value, BaseEstimator) else value
    if isinstance(parts, dict | list | tuple):
        for item in parts.values() if isinstance(parts, dict) else parts:
            yield from estimators_in(item)


def complete(value: Any) -> None:
    """Make public attributes from fitted models; raise an error if one lacks parts, or has such that do not fit."""
    for model in list(estimators_in(value)):
        clusterer = isinstance(model, MultiTaskClusterer)
        if clusterer:
            check_parameters(model)
        if "fitted_" in vars(model) or (clusterer and any(name.endswith("_") for name in vars(model))):
            _check_fitted(model)
            vars(model).update(public(model, model.fitted_))
            if clusterer:
                _try_out(model)


def _check_fitted(model: Any) -> None:
    wanted = {"fitted_": Fitted, "n_features_in_": int | np.integer}
    for name, kind in (wanted | {"decisions_": Decisions} if isinstance(model, MultiTaskClusterer) else wanted).items():
        if not isinstance(vars(model).get(name), kind):
            raise ValueError(f"{name} is missing, or something else")
    fitted: Fitted = model.fitted_
    fitted.check({"d": int(model.n_features_in_)})
    m, c = fitted.sizes.shape
    whole = {"rows.labels": (-1, c - 1), "rows.tasks": (0, m - 1)}
    for name, one, values in _arrays(fitted):
        found, (least, most) = np.asarray(host(values)), whole.get(name, (one.least, one.most))
        number = found.dtype.kind in ("iu" if name in whole else "biuf")
        if not number or (one.finite and not np.all((found >= least) & (found <= most))):
            raise ValueError(f"{name} holds something else than numbers from {least:g} to {most:g}")
    if fitted.n_asked is not None and not 1 <= fitted.n_asked <= c:
        raise ValueError(f"n_clusters_ is {fitted.n_asked} of {c} numbers")
    if any(not 0 <= into < number < c for number, into in fitted.merged):
        raise ValueError("merged names clusters that are not there")
    names = fitted.tasks.tolist()
    if any(one in names[:k] for k, one in enumerate(names)):
        raise ValueError("tasks names a task twice")
    if isinstance(tied := fitted.centers.geometry.tied, Tied):
        variances = np.linalg.eigvalsh(tied.K)
        if variances[0] < -ROUNDED * abs(variances[-1]) or variances[-1] <= 0:
            raise ValueError("the covariance of the geometry is not positive definite")


def _arrays(record: Record, where: str = "") -> Iterator[tuple[str, Declared, Array]]:
    """List the arrays of a record and of those in it, by the way to them; labels of tasks are no numbers."""
    for one in declared(type(record)):
        if (values := getattr(record, one.name)) is not None and (where or one.name != "tasks"):
            yield f"{where}{one.name}", one, values
    for part in fields(record):
        if isinstance(own := getattr(record, part.name), Record):
            yield from _arrays(own, f"{where}{part.name}.")


def _try_out(model: Any) -> None:
    """Let the model do its work on a few rows that it knows, its own centres, which any fitted model can."""
    fitted: Fitted = model.fitted_
    X = np.where(fitted.has[:1], fitted.centers.Ms[0], np.nan)[:ROWS]
    known, new = fitted.tasks[:1], _another(fitted.tasks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("predict", "predict_proba", "score_samples"):
            getattr(model, method)(X, tasks=np.repeat(known, len(X)))
        if len(new):
            model.predict(X, tasks=np.repeat(new, len(X)))


def _another(tasks: Array) -> Array:
    """Make the label of a task that is not there, as an array; empty if labels are neither numbers nor texts."""
    if tasks.dtype.kind in "iu":
        return np.array([int(tasks.max()) + 1])
    return np.array(["".join(tasks.tolist()) + "?"]) if tasks.dtype.kind == "U" else tasks[:0]
