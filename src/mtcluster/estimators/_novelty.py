"""What is new to a fitted model: what it keeps for that, and when a row of a new task gets the label -1."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ..consensus import Consensus
from ..core.arrays import host
from ..core.centers import Centers
from ..core.joining import Known, width_of
from ..core.model import Model
from ..core.novelty import Usual, Verdict, learn_usual
from ..engines import Engine
from ._placement import Fitted, Placement

RATE = 0.01  # of ordinary rows that are flagged
KEPT = ("novelty_losses_", "novelty_ratios_", "novelty_scores_")
LATER = ("novelty_", "novelty_rate_", "joined_", "group_centers_", "group_tasks_", "loss_scales_")  # set by adapt


def set_usual(estimator: Any, engine: Engine, rng: np.random.Generator) -> None:
    """Let a fitted estimator learn what ordinary rows of a new task look like."""
    for name in LATER:
        estimator.__dict__.pop(name, None)
    if estimator._pools_tasks:  # no task is new to it
        return
    model, centers = estimator._fitted()
    known = known_clusters(estimator, model, centers)
    usual = learn_usual(engine, model, centers, host(estimator.cluster_sizes_), known, rng)
    for name, values in zip(KEPT, (usual.losses, usual.ratios, usual.scores), strict=True):
        setattr(estimator, name, values)


def known_clusters(estimator: Any, model: Model, centers: Centers) -> Known:
    """What a fitted estimator knows about its clusters."""
    sizes, shares = host(estimator.cluster_sizes_), host(estimator.within_weight_)
    sharing = shares < 1 if (shares < 1).any() else np.ones(len(shares), dtype=bool)
    reach = widths = kappa = None
    if model.offsets is not None:
        b = model.offsets.b[sharing]
        shape = model.shape(centers.runs(None))
        squares = np.sum((b if shape is None else shape.times(b[None, None])[0, 0]) * b, axis=1)
        reach = float(squares.mean())
    if estimator.task_offset_ == "scale" and model.offsets is not None:
        own = [width_of(M, n) / s for M, n, s in zip(centers.Ms, sizes, model.offsets.s, strict=True)]
        widths = float(np.median(np.array(own)[sharing]))
    if model.shrinkage is not None:
        kappa = float(np.median(np.broadcast_to(model.shrinkage, (1, len(sizes)))[0][sharing]))
    share = float(np.median(shares[sharing])) if (shares < 1).any() else Consensus().within_weight
    found = estimator.decisions_.consensus
    return Known(
        np.asarray(host(estimator.cluster_presence_).any(axis=0)),
        sizes[sharing].sum(axis=0),
        share,
        kappa,
        reach,
        widths,
        getattr(estimator, "temperature_", 1.0),
        decided=found is not None and found.n_candidates > 0,
    )


def fitted_tasks(estimator: Any, model: Model, centers: Centers) -> Fitted:
    """What a fitted estimator knows about its tasks."""
    usual = usual_of(estimator)
    shape = model.shape(centers.runs(None))
    width = float(np.median(usual.losses)) if len(usual.losses) else 0.0
    if shape is not None:
        width = float(shape.trace(centers.Z.shape[1])[0])
    known = known_clusters(estimator, model, centers)
    return Fitted(model, centers, host(estimator.tasks_).tolist(), known, usual, width)


def usual_of(estimator: Any) -> Usual:
    """What ordinary rows of a new task look like; nothing is known of models that pool all tasks."""
    return Usual(*(host(getattr(estimator, name, np.zeros(0))) for name in KEPT))


def verdict_of(estimator: Any, placed: Placement, novelty: str | None, rate: float | None) -> Verdict:
    """What makes rows of new tasks, and of those that joined after the fit, new."""
    how = getattr(estimator, "novelty_", "flag") if novelty is None else novelty
    limits = placed.verdict.limits.copy()
    if how == "none":
        return Verdict(np.full_like(limits, np.inf), {}, placed.verdict.held)
    groups = dict(placed.verdict.groups)
    if hasattr(estimator, "joined_"):
        joined, owners, scales = (
            host(getattr(estimator, name)) for name in ("joined_", "group_tasks_", "loss_scales_")
        )
        for i, k in enumerate(placed.at):
            if k is None or not joined[k]:
                continue
            limits[i] = usual_of(estimator).loss(estimator.novelty_rate_ if rate is None else rate, scales[k])
            if (owners == k).any():
                groups[i] = host(estimator.group_centers_)[owners == k]
    return Verdict(limits, groups, placed.verdict.held)


def check_novelty(novelty: Any, rate: Any, choices: tuple[Any, ...]) -> None:
    """Refuse what is no way to treat new rows."""
    if novelty not in choices:
        shown = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise ValueError(f"novelty={novelty!r} should be one of {shown}.")
    if rate is not None and not (isinstance(rate, Real) and 0 < float(rate) < 1):
        raise ValueError(f"novelty_rate={rate!r} should be a number between 0 and 1.")
