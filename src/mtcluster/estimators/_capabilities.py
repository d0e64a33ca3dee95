"""Checks that need the data at hand: sizes of tasks, and what the parts of the model can work with."""

from __future__ import annotations

from typing import Any

from ..core.couplings import Coupling
from ..core.memberships import Membership
from ..engines import Engine
from ._progress import warn_user


def check_sizes(estimator: Any, engine: Engine, c: int) -> None:
    """Numbers of clusters and components against numbers of rows and features."""
    d, l = engine.n_features, getattr(estimator, "n_components", None)
    n = sum(engine.sizes)
    if n < c:
        raise ValueError(f"n_samples={n} should be >= n_clusters={c}: take fewer clusters.")
    if l is not None and l > d:
        raise ValueError(f"n_components={l} should be at most the number of features of X, {d}.")
    l = d if l is None else l
    room, of = (d, "feature(s)") if estimator._within_weight() != 0 or l >= d else (l, "component(s)")
    if estimator.membership == "nonnegative" and room < c:
        warn_user(
            f"membership='nonnegative' with {room} {of} and {c} clusters: with fewer {of} than clusters a row can "
            "be fitted in many ways, and clusters mean little. membership='binary' is right here."
        )


def check_capabilities(
    estimator: Any, engine: Engine, coupling: Coupling, membership: Membership, **others: Any
) -> None:
    """Refuse what a part of the model cannot work with, made from what it says it can."""
    check_missing(engine, {"coupling": coupling, "membership": membership, **others})
    offset = estimator._task_offset()
    order = min(sum(engine.sizes), engine.n_features)
    for parameter, part in {"coupling": coupling, "membership": membership, **others}.items():
        can, name = part.supports, f"{parameter}={part.name!r}"
        if offset not in ("auto", "none") and not can.offsets:
            raise ValueError(f"task_offset={offset!r} cannot go with {name}: take task_offset='none'.")
        if not all(getattr(can, need) for need in engine.needs):
            raise ValueError(
                f"{name} works on NumPy arrays in one process only: take {parameter}={_other(parameter)!r}, or "
                f"{engine.instead}."
            )
        if can.max_features is not None and engine.n_features > can.max_features:
            raise ValueError(
                f"{name} works on at most {can.max_features} features, and X has {engine.n_features}: take "
                f"{parameter}={_other(parameter)!r}, or reduce X before, as PCA does."
            )
        if can.max_order is not None and order > can.max_order:
            raise ValueError(
                f"{name} needs a dense eigenproblem of order min(rows, features) = {order}, and at most "
                f"{can.max_order} is allowed; {parameter}={_other(parameter)!r} has no such limit."
            )


def check_missing(engine: Engine, parts: dict[str, Any]) -> None:
    """Refuse missing values that a part of the model cannot work with; rows are read only if there is such a part."""
    for parameter, part in parts.items():
        if not part.supports.missing and engine.gaps:
            raise ValueError(
                f"{parameter}={part.name!r} cannot work with missing values, and X holds {engine.summary.gaps} (NaN): "
                f"take {parameter}={_other(parameter)!r}, or fill them in."
            )


def _other(parameter: str) -> str:
    """The default, which can work with everything."""
    return {"coupling": "reconstruction", "membership": "binary", "covariance_type": "tied"}[parameter]
