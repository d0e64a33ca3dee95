"""The fitted model of a run, and the public attributes that every estimator makes from its fitted model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..core.arrays import Array
from ..core.blocks import PerRow, Place
from ..core.centers import Centers
from ..core.fitted import Fitted, RowResults, admission
from ..core.gaps import empty_rows
from ..core.memberships import Membership
from ..core.model import Model, total_loss
from ..core.projecting import shared_map, task_indices
from ..core.relations import support
from ..engines import Engine
from .input import OUT_OF_RANGE
from .merging import as_told
from .plan import Plan, Run
from .progress import warn_user

if TYPE_CHECKING:
    from .base import MultiTaskClusterer

NO_VALUE = "have no value at all"


def published(fitted: Fitted, small: Callable[[Array], Array]) -> dict[str, object]:
    """Make the public attributes; `small` brings small arrays to the library of the user's rows."""
    told = as_told(fitted)
    centers, rows = told.centers, told.rows
    found = {
        "tasks_": fitted.tasks,
        "cluster_centers_": centers.shared.astype(centers.Ms.dtype),
        "task_centers_": centers.Ms,
        "cluster_sizes_": told.sizes,
        "cluster_presence_": told.holds,
        "task_relatedness_": told.relatedness,
    }
    return {name: small(values) for name, values in found.items()} | {
        "fitted_": fitted,
        "labels_": rows.labels,
        "losses_": rows.losses,
        "weights_": rows.weights[-1, ...],
        "objective_trace_": list(fitted.traces),
        "n_clusters_": int(told.exists.sum()) if told.n_asked is None else told.n_asked,
        "n_iter_": fitted.n_iter,
        "_n_features_out": fitted.model.n_components,
    }


def public(model: MultiTaskClusterer, fitted: Fitted) -> dict[str, object]:
    """Make the public attributes of any estimator that has a fitted model, as NumPy arrays."""
    return dict(model._published(fitted, np.asarray))


def fitted_model(engine: Engine, plan: Plan, run: Run) -> Fitted:
    """Make the fitted model of a run; probabilities are not calibrated, and nothing is known about new tasks yet."""
    (m, d), model, centers, decisions = engine.origins.shape, plan.model, run.centers, plan.decisions
    weights = engine.xp.stack([engine.gather(vs) for vs in run.fit.weight_trace])
    rows = row_results(engine, model, run.memberships, run.losses, weights, np.array(run.fit.fractions))
    sizes = model.sizes(engine, run.memberships)
    holds = held_clusters(engine, model, run.memberships, sizes)[None]
    centers = settled(centers, m, d)
    model = replace(
        model, sharing=model.sharing.whole(m=m).weighed(sizes), holds=holds, offsets=centers.offsets.take("R", None),
        geometry=centers.geometry.take("R", None), n_components=centers.basis.shape[1], log_shares=None,
    )  # fmt: skip
    Ms, shares = centers.Ms.astype(np.float64), np.broadcast_to(model.sharing.within[0], (m,)) < 1
    fitted = Fitted(
        tasks=engine.labels,
        model=model,
        centers=centers,
        task_offset=decisions.task_offset,
        decided=decisions.search is not None and decisions.search.n_candidates > 0,
        sizes=sizes,
        support=support(Ms, sizes, shares) if plan.support is None else plan.support,
        has=np.broadcast_to(engine.summary.observed > 0, (m, d)).copy(),
        missing=engine.summary.missing,
        temperatures=np.ones(m),
        temperature=1.0,
        rows=rows,
        traces=tuple(run.fit.traces),
        stage_sizes=tuple(total_loss(engine, vs) for vs in run.fit.weight_trace),
        converged=run.fit.converged,
        n_asked=model.n_clusters,
        n_iter=sum(len(trace) for trace in run.fit.traces),
    )
    return replace(fitted, relatedness=fitted.related())


def settled(centers: Centers, m: int, d: int) -> Centers:
    """Get centres of one run as they are kept: shared ones are those in the subspace, and each task has its offset."""
    assert centers.M is not None
    assert centers.W is not None
    Z = centers.M @ centers.W.T
    offsets = centers.offsets.take("R", None).whole(m=m, d=d).take("R", 0)
    return replace(centers, Z=Z, Q=Z, seen=np.ones(centers.Ms.shape[:2], dtype=bool), offsets=offsets)


def row_results(
    engine: Engine, model: Model, Ps: PerRow, Ls: PerRow, weights: Array, fractions: Array,
    labels: PerRow | None = None, indices: PerRow | None = None,
) -> RowResults:  # fmt: skip
    """Bring what was found for rows into their order; labels that are given may be −1."""
    xp, P = engine.xp, None
    if indices is None:
        indices = engine.apply(task_indices, outputs=1, lazy=True)[0]
    if not model.membership.labels_only:
        P = engine.gather(Ps, width=model.n_clusters)
    if labels is not None:
        found = engine.gather(labels, np.int32)
    else:
        found = engine.gather(Ps, np.int32) if P is None else xp.argmax(P, axis=1)
    found = xp.astype(found, xp.int32)
    if engine.gaps and labels is None:
        found = with_unknown(engine, found)
        weights = xp.where(found < 0, xp.zeros_like(weights), weights)  # rows without any value
    tasks, losses = engine.gather(indices, np.intp), engine.gather(Ls)
    if not hasattr(losses, "__dask_graph__") and not bool(xp.all(xp.isfinite(losses))):
        raise ValueError(OUT_OF_RANGE.format("losses_ would not be finite"))
    return RowResults(found, losses, tasks, P, weights, fractions, admission(weights, fractions, xp))


def held_clusters(engine: Engine, model: Model, memberships: object, sizes: Array) -> Array:
    """Compute (m, c) whether a task holds a cluster: as decided before the fit, and if some row of it has that label.

    `sizes` (m, c) are the weights of the clusters. Mixtures hold a part of every cluster.
    """
    decided = np.array(model.held((1, *sizes.shape))[0])
    if not model.membership.labels_only or np.all(sizes[decided] > 0):
        return decided
    job = partial(_counts, membership=model.membership, n_clusters=model.n_clusters)
    return decided & (engine.apply(job, memberships)[-1] > 0)


def _counts(place: Place, labels: list[Array], *, membership: Membership, n_clusters: int) -> tuple[Array]:
    """Return the number of rows of each task and cluster, (m, c), whatever they weigh."""
    pairs = zip(place.blocks, labels, strict=True)
    return (np.stack([membership.sizes(P, b.xp.ones_like(b.u), n_clusters, b.xp) for b, P in pairs]),)


def with_map(engine: Engine, fitted: Fitted, centers: Centers, sizes: Array, rng: np.random.Generator) -> Fitted:
    """Add the map of some of the rows of an engine, whose tasks have these centres."""
    map_rows, points = shared_map(engine, centers, sizes, rng)
    return replace(fitted, rows=replace(fitted.rows, map=points, map_rows=map_rows))


def with_unknown(engine: Engine, labels: Array) -> Array:
    """Return labels with -1 for rows that have no value at all; a warning counts them."""
    xp = engine.xp
    empty = engine.gather(engine.apply(empty_rows, outputs=1, lazy=True)[0], bool)
    n = int(xp.sum(xp.astype(empty, xp.int64)))
    if not n:
        return labels
    warn_user(f"{n} row(s) of X {NO_VALUE}: they get the label -1.")
    return xp.where(empty, xp.asarray(-1, dtype=labels.dtype, device=getattr(labels, "device", None)), labels)


def named_labels(labels: Array, names: tuple[tuple[int, str], ...]) -> Array:
    """Return labels as texts: the names of clusters, or their numbers."""
    known = dict(names)
    return np.array([known.get(j, str(j)) for j in labels.tolist()], dtype=object)


def check_finite_centers(fitted: Fitted) -> Fitted:
    """Refuse a model whose centres left the range of their type."""
    if not np.isfinite(fitted.centers.Ms).all():
        raise ValueError(OUT_OF_RANGE.format("task_centers_ would not be finite"))
    return fitted
