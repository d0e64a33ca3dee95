"""The fitted attributes of a model that tasks have joined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._utils.tasks import label_array
from ..core.arrays import Array, host
from ..core.blocks import Place
from ..core.centers import Centers
from ..core.extending import followed, merged_groups, pooled_weights, with_clusters
from ..core.jobs import nearest, unit_weights
from ..core.joining import whole_sums
from ..core.model import Model
from ..core.novelty import Verdict, counted, label_rows
from ..core.offsets import Offsets
from ..core.projecting import shared_map, task_indices
from ..core.relations import relatedness_by_common
from ..core.solver import totals_of
from ..engines import Engine
from ._novelty import verdict_of
from ._placement import Placement

PER_TASK = (
    "tasks_", "within_weight_", "task_offsets_", "task_scales_", "fractions_", "task_centers_", "shared_centers_",
    "subspace_", "cluster_sizes_", "task_relatedness_", "cluster_support_", "cluster_presence_", "map_", "map_rows_",
    "log_proportions_", "means_", "proportions_", "shrinkage_", "cluster_covariances_", "joined_", "loss_scales_",
    "group_centers_", "group_tasks_", "feature_presence_", "missing_",
)  # fmt: skip


@dataclass(frozen=True)
class AllTasks:
    """The model of all tasks, those that joined after the others."""

    model: Model
    centers: Centers
    where: list[int]  # which of them each task of the engine is
    groups: dict[int, Array]  # of tasks of the engine, that are no clusters
    held: Array  # (c,) clusters that some task holds
    support: Array  # (tasks that joined, c)


def all_tasks(old: Any, placed: Placement, *, open_groups: bool) -> AllTasks:
    """The old tasks as they are, and the new ones as they were placed; groups may become clusters."""
    (model, centers), (here, there), groups = old._fitted(), (placed.model, placed.centers), placed.verdict.groups
    m, c, held = len(centers.Ms), model.n_clusters, placed.verdict.held
    support = np.ones((len(placed.at), c)) if placed.joined is None else placed.joined.support
    if open_groups and groups:
        Z, numbers = merged_groups(groups, here, there.shared)
        present = np.zeros((len(placed.at), len(Z)), dtype=bool)
        for k, own in numbers.items():
            present[k, own] = True
        model, centers = with_clusters(model, centers, Z, np.zeros((m, len(Z)), dtype=bool))
        here, there = with_clusters(here, there, Z, present)
        for k, own in numbers.items():
            there.Ms[k, [c + i for i in own]] = groups[k]
        held, support, groups = np.r_[held, np.ones(len(Z), dtype=bool)], np.c_[support, present], {}
    model, centers = _beside(model, centers, here, there, placed.new)
    order = {i: m + n for n, i in enumerate(placed.new)}
    where = [order[i] if k is None else k for i, k in enumerate(placed.at)]
    return AllTasks(model, centers, where, groups, held, support[placed.new])


def _beside(model: Model, centers: Centers, other: Model, others: Centers, new: list[int]) -> tuple[Model, Centers]:
    """The tasks of a model, and some of another with the same clusters."""
    m, n, c = len(centers.Ms), len(others.Ms), model.n_clusters
    shares = np.r_[np.broadcast_to(model.shares[0], (m,)), np.broadcast_to(other.shares[0], (n,))[new]]
    present = np.concatenate([model.held((1, m, c)), other.held((1, n, c))[:, new]], axis=1)
    offsets, kappa, prior = model.offsets, model.shrinkage, centers.log_shares
    if offsets is not None and other.offsets is not None:
        offsets = Offsets(np.concatenate([offsets.b, other.offsets.b[new]]), np.r_[offsets.s, other.offsets.s[new]])
    if kappa is not None and other.shrinkage is not None:
        kappa = np.c_[np.broadcast_to(kappa, (1, m)), np.broadcast_to(other.shrinkage, (1, n))[:, new]]
    if prior is not None and others.log_shares is not None:
        prior = np.concatenate([prior, others.log_shares[new]])
    model = replace(
        model, within_weight=shares, offsets=offsets, shrinkage=kappa, present=None if present.all() else present
    )  # fmt: skip
    Ms, seen = np.concatenate([centers.Ms, others.Ms[new]]), np.concatenate([centers.seen, others.seen[new]])
    return model, replace(centers, Ms=Ms, seen=seen, log_shares=prior)


def set_adapted(new: Any, engine: Engine, placed: Placement, parts: AllTasks, update: bool) -> None:
    """Set the attributes of a copy of the old model, whose arrays stay as they are."""
    c, m = parts.model.n_clusters, len(new.tasks_)
    sizes = np.zeros((len(parts.centers.Ms), c))
    sizes[:m, : new._n_numbers] = host(new.cluster_sizes_)
    old = sizes[:m].sum(axis=1)
    verdict = verdict_of(new, placed, None, None)
    groups = {i: own for i, own in verdict.groups.items() if i in parts.groups or placed.at[i] is not None}
    verdict = replace(verdict, groups=groups, held=parts.held)  # without those that are clusters now
    S, T = _sums(engine, placed, parts, verdict)
    if update:
        parts = replace(parts, centers=_updated(new, parts, sizes, S, T))
    np.add.at(sizes, parts.where, S)
    new.tasks_ = label_array([*host(new.tasks_).tolist(), *(engine.labels.tolist()[i] for i in placed.new)])
    _set_tasks(new, parts, sizes)
    _set_novelty(new, engine, placed, parts)
    _set_rows(new, engine, parts.where)
    _set_features(new, engine, parts, old)
    for name in PER_TASK:
        if hasattr(new, name):
            setattr(new, name, engine.small(host(getattr(new, name))))


def _set_features(new: Any, engine: Engine, parts: AllTasks, sizes: Array) -> None:
    """Which task has which features, and how much of them is missing; `sizes` (m,) are those of the old tasks."""
    m, d = len(sizes), engine.n_features
    has = np.zeros((len(parts.centers.Ms), d), dtype=bool)
    missing, rows = np.zeros(has.shape), np.zeros(len(has))
    has[:m], missing[:m], rows[:m] = host(new.feature_presence_), host(new.missing_), sizes
    np.logical_or.at(has, parts.where, np.broadcast_to(engine.summary.observed > 0, (len(parts.where), d)))
    for k, n, found in zip(parts.where, engine.summary.sizes, engine.summary.missing, strict=True):
        missing[k] = (rows[k] * missing[k] + n * found) / (rows[k] + n)
    new.feature_presence_, new.missing_ = has, missing


def _sums(engine: Engine, placed: Placement, parts: AllTasks, verdict: Verdict) -> tuple[Array, Array]:
    """S (m, c) and T (m, c, d) of the rows that are not new."""
    model, centers = parts.model.for_tasks(parts.where), parts.centers.for_tasks(parts.where)
    weights = engine.apply(unit_weights, outputs=1)[0]
    if np.isfinite(verdict.limits).any() or verdict.groups:
        weights = counted(engine, model, centers, verdict)
    terms = model.terms(centers.runs(None), engine.origins, gaps=engine.gaps)
    Ps = engine.apply(partial(nearest, terms=terms, membership=model.membership), outputs=2)[0]
    found = totals_of(engine, replace(model, covariance=None), Ps, weights, centers.runs(None))
    return (found.S[0] if found.S.ndim == 3 else np.einsum("kcc->kc", found.S[0])), whole_sums(model, found)[0]


def _updated(new: Any, parts: AllTasks, sizes: Array, S: Array, T: Array) -> Centers:
    """Centres that follow the sums of the rows: the shared ones, and those of known tasks that have more rows now."""
    model, centers, where = parts.model, parts.centers, parts.where
    m = len(host(new.within_weight_))
    kappa = None if model.shrinkage is None else np.broadcast_to(model.shrinkage, (1, len(sizes)))[0]
    weights = pooled_weights(sizes, model.shares[0], kappa)
    Z = followed(model.for_tasks(where), centers.shared, weights, S, T)
    Ms = np.array(centers.Ms, dtype=np.float64)
    for i, k in enumerate(where):
        if k < m:
            total = sizes[k] + S[i]
            moved = (sizes[k][:, None] * Ms[k] + T[i]) / np.where(total > 0, total, 1)[:, None]
            Ms[k] = np.where((S[i] > 0)[:, None], moved, Ms[k])
    if model.coupling.energy_basis(centers.W) is not None:  # the subspace is made from rows that are gone
        assert centers.W is not None
        return replace(centers, Ms=Ms, M=Z @ centers.W, Z=Z, Q=Z)
    total = np.maximum(weights + S.sum(axis=0), np.finfo(np.float64).tiny)
    open_ = replace(centers, Ms=Ms, Z=Z, Q=np.sqrt(total)[:, None] * Z, W=None, M=None)
    return model.complete(open_.runs(None)).runs(0)


def _set_tasks(new: Any, parts: AllTasks, sizes: Array) -> None:
    """Attributes with a value per task or cluster."""
    model, dtype = parts.model, host(new.task_centers_).dtype
    centers = parts.centers.astype(dtype)
    m, c, d = centers.Ms.shape
    old = len(host(new.within_weight_))
    offsets = model.offsets or Offsets(np.zeros((m, d)), np.ones(m))
    new.task_offsets_, new.task_scales_, new.cluster_sizes_ = offsets.b, offsets.s, sizes
    new.task_centers_, new.shared_centers_, new.subspace_ = centers.Ms, np.asarray(centers.M), np.asarray(centers.W)
    present = np.array(model.held((1, m, c))[0])
    if model.membership.labels_only:
        present[old:] &= sizes[old:] > 0
        present[np.arange(old, m), sizes[old:].argmax(axis=1)] = True
    new.cluster_presence_, new.n_clusters_ = present, int(present.any(axis=0).sum())
    new.task_relatedness_ = relatedness_by_common(centers.Ms.astype(np.float64), sizes, present)
    known = np.zeros((old, c))
    known[:, : host(new.cluster_support_).shape[1]] = host(new.cluster_support_)
    new.cluster_support_ = np.concatenate([known, parts.support])
    new.within_weight_ = np.array(np.broadcast_to(model.shares[0], (m,)))
    new._n_features_out = new.subspace_.shape[1]
    if centers.log_shares is not None:
        new.log_proportions_ = np.array(centers.log_shares)
    if model.shrinkage is not None:
        new._set_mixture(np.broadcast_to(model.shrinkage, (1, m))[0], centers, old)


def _set_rows(new: Any, engine: Engine, where: list[int]) -> None:
    """Attributes with a value per row, as `predict` gives them; `where`: the tasks of the rows among all."""
    xp, placed = engine.xp, new._placement(engine)
    model, centers, verdict = placed.model, placed.centers, verdict_of(new, placed, None, None)
    labels, Ps, Ls, _ = engine.apply(partial(label_rows, model=model, centers=centers, verdict=verdict), outputs=3)
    new._set_memberships(engine, Ps, model)
    new.labels_ = xp.astype(engine.gather(labels, np.int32), xp.int32)
    new.__dict__.pop("n_samples_fit_", None)  # these are all rows
    new.losses_ = engine.gather(Ls)
    indices = engine.apply(partial(_renumbered, numbers=where), outputs=1, lazy=True)[0]
    new.task_indices_ = engine.gather(indices, np.intp)
    new.weights_ = engine.gather(engine.apply(_ones, outputs=1)[0])
    new.weight_trace_, new.fractions_ = xp.stack([new.weights_]), np.ones(1)
    new.admitted_ = xp.astype(new.weights_, xp.float64)
    new.objective_trace_ = new.objective_trace_[-1:]
    rng = np.random.default_rng(0)
    new.map_rows_, new.map_ = shared_map(engine, model, centers, host(new.cluster_sizes_).sum(axis=0), rng)


def _set_novelty(new: Any, engine: Engine, placed: Placement, parts: AllTasks) -> None:
    """What decides which rows of the tasks that joined are new."""
    m, d = len(parts.centers.Ms), engine.n_features
    joined, scales = np.zeros(m, dtype=bool), np.zeros(m)
    centers, owners = np.zeros((0, d)), np.zeros(0, dtype=np.intp)
    if hasattr(new, "joined_"):
        old = host(new.joined_)
        joined[: len(old)], scales[: len(old)] = old, host(new.loss_scales_)
        centers, owners = host(new.group_centers_), host(new.group_tasks_)
    for i in placed.new:
        k = parts.where[i]
        joined[k] = True
        scales[k] = placed.scales[i] if np.isfinite(placed.verdict.limits[i]) else np.inf  # no row of it is too far
        own = parts.groups.get(i, np.zeros((0, d)))
        centers, owners = np.concatenate([centers, own]), np.r_[owners, np.full(len(own), k)]
    new.joined_, new.loss_scales_, new.group_centers_, new.group_tasks_ = joined, scales, centers, owners


def _renumbered(place: Place, *, numbers: list[int]) -> tuple[Any, ...]:
    """The index of each row's task among all tasks of the model."""
    own, _ = task_indices(place)
    return [values - k + number for k, (values, number) in enumerate(zip(own, numbers, strict=True))], None


def _ones(place: Place) -> tuple[Any, ...]:
    return [b.xp.ones_like(b.sq) for b in place.blocks], None
