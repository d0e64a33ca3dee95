"""Data sets without a common column: fitted apart, and stored as one fit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._utils.tasks import as_parts
from ..consensus import Decisions
from ..core.arrays import Array, host
from ..core.blocks import PerRow
from ..core.centers import Centers
from ..core.composing import Part, compose
from ..core.geometry import enumerable, likeness
from ..core.metric import Metric
from ..core.model import Model
from ..core.readout import read_out
from ..core.solver import Fit
from ..engines import Engine, engine_of
from ._deciding import Settled
from ._geometry import Fitted, View, match_clusters, solver, views_of, warn_unmatched
from ._metric import clusters_per_task
from ._multistart import Run


def apart(estimator: Any, engine: Engine, X: Any) -> list[Array]:
    """Numbers of the tasks that common columns link, group by group; one group unless clusters may be matched."""
    everything = [np.arange(len(engine.labels))]
    if getattr(estimator, "match", "columns") != "geometry":
        return everything
    estimator.matching_ = []
    if as_parts(X, "X") is None or not engine.gaps:
        return everything
    has = np.broadcast_to(engine.summary.observed > 0, (len(engine.labels), engine.n_features))
    code = np.arange(len(has))
    for column in has.T:  # tasks with a value in a column are one group
        codes = np.unique(code[column])
        code[np.isin(code, codes)] = codes.min(initial=len(has))
    return [np.flatnonzero(code == group) for group in np.unique(code)]


def fit_apart(estimator: Any, engine: Engine, X: Any, sample_weight: Any, groups: list[Array]) -> None:
    """Fit each group of tasks on its own, match their clusters, and store all as one fit."""
    _check(estimator)
    random_state = check_random_state(estimator.random_state)
    fits, lead = _fits(estimator, engine, X, sample_weight, groups, random_state.randint(np.iinfo(np.int32).max))
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    views = views_of(engine, fits, rng)
    numbers, estimator.matching_ = match_clusters(fits, views)
    warn_unmatched(estimator.matching_)
    estimator.n_clusters_ = 1 + max(int(own.max()) for own in numbers)
    for name in ("selection_", "n_samples_fit_"):
        estimator.__dict__.pop(name, None)
    if hasattr(lead, "selection_"):
        estimator.selection_ = lead.selection_
    parts = [fit.part(np.flatnonzero(own >= 0), own[own >= 0]) for fit, own in zip(fits, numbers, strict=True)]
    model, centers = compose(parts, estimator.n_clusters_)
    run = _run(engine, fits, model, centers)
    settled = Settled(model, _decisions(fits), [], None, _support(parts, fits, estimator.n_clusters_))
    _calibrated(estimator, fits)
    estimator._finish(engine, settled, run, None, random_state)
    _relate(estimator, parts, views)


def _check(estimator: Any) -> None:
    """Refuse early what would be refused late."""
    if not isinstance(estimator.init, str) and np.ndim(estimator.init):
        raise ValueError(
            "init holds memberships, which number the clusters of data sets without a common column already: leave it "
            "out with match='geometry', or start from other memberships for each data set."
        )
    c = estimator.n_clusters
    if not isinstance(c, Integral) and estimator.n_clusters_per_task is not None:
        raise ValueError("n_clusters_per_task with match='geometry' needs a number of clusters, n_clusters.")
    if isinstance(c, Integral) and not enumerable(int(c), int(c)):
        solver()


def _fits(
    estimator: Any, engine: Engine, X: Any, sample_weight: Any, groups: list[Array], seed: int
) -> tuple[list[Fitted], Any]:
    """A fit of each group, and that of the largest, which chooses the number of clusters where it is open."""
    fit = partial(_fit, estimator, engine, X, sample_weight, seed)
    largest = int(np.argmax([sum(engine.sizes[k] for k in group) for group in groups]))
    lead = fit(groups[largest], estimator.n_clusters)
    number = estimator.n_clusters if isinstance(estimator.n_clusters, Integral) else lead.estimator.n_clusters_
    fits = [lead if i == largest else fit(group, number) for i, group in enumerate(groups)]
    if any(hasattr(one.estimator, "metric_directions_") for one in fits):
        raise ValueError("metric='shared' with match='geometry' takes at most 50 features of a data set: take 'auto'.")
    if len({one.estimator.metric_ for one in fits}) > 1:
        fits = [_measured(one) for one in fits]
    return fits, lead.estimator


def _measured(fit: Fitted) -> Fitted:
    """A fit with the Euclidean metric as one whose covariance is the same in all directions, as wide as clusters are.

    One metric serves all tasks of a model; labels are the same.
    """
    if fit.model.metric is not None:
        return fit
    d = len(fit.columns)
    width = float(host(fit.estimator.losses_).mean()) / d or 1.0
    centers = replace(fit.centers, K=width * np.eye(d), rest=np.asarray(1.0))
    return replace(fit, model=replace(fit.model, metric=Metric(None)), centers=centers, unit=width)


def _fit(estimator: Any, engine: Engine, X: Any, sample_weight: Any, seed: int, group: Array, number: Any) -> Fitted:
    """A fit of some tasks; it has no more clusters than rows, nor than its tasks may have."""
    parts = as_parts(X, "X")
    assert parts is not None
    keys, per_task = list(parts), None
    if isinstance(number, Integral):
        per_task = clusters_per_task(estimator.n_clusters_per_task, int(number), engine.labels)
        per_task = None if per_task is None else per_task[group]
        most = sum(engine.sizes[k] for k in group) if per_task is None else int(per_task.sum())
        number = min(int(number), most)
    own = clone(estimator).set_params(
        match="columns", random_state=seed, n_clusters=number, n_clusters_per_task=per_task
    )
    weights = _weights(sample_weight, keys, engine, group)
    own.fit({keys[k]: parts[keys[k]] for k in group}, sample_weight=weights)
    model, centers = own._fitted()
    has = np.broadcast_to(engine.summary.observed > 0, (len(keys), engine.n_features))[group].any(axis=0)
    return Fitted(own, model, centers, group, np.flatnonzero(has))


def _weights(sample_weight: Any, keys: list[Any], engine: Engine, group: Array) -> Any:
    """The sample weights of some tasks, as they came."""
    if sample_weight is None or isinstance(sample_weight, Real):
        return sample_weight
    parts = as_parts(sample_weight, "sample_weight", ndim=1)
    if parts is not None:
        return {keys[k]: parts[keys[k]] for k in group}
    values = sample_weight if engine_of(sample_weight) is not None else np.asarray(sample_weight)
    return engine.xp.concat([values[at] for at in _rows(engine, group)])


def _rows(engine: Engine, group: Array) -> list[slice]:
    """Where the rows of some tasks stand, which came one task after the other."""
    ends = np.cumsum(engine.sizes)
    return [slice(int(ends[k]) - engine.sizes[k], int(ends[k])) for k in group]


def _run(engine: Engine, fits: list[Fitted], model: Model, centers: Centers) -> Run:
    """The fits as one, at the composed centres."""
    centers = centers.astype(engine.dtype)
    Ps, Ls, _ = engine.apply(partial(read_out, model=model, centers=centers), outputs=2)
    own = [fit.estimator for fit in fits]
    traces = [_added(stage) for stage in zip(*map(_traces, fits), strict=True)]
    fractions = host(own[0].fractions_).tolist()
    weights = [_stage_weights(engine, fits, stage) for stage in range(len(fractions))]
    fit = Fit(centers, traces, fractions, weights, all(one.converged_ for one in own))
    return Run(fit, centers, Ps, Ls, 0.0)


def _traces(fit: Fitted) -> list[Array]:
    """The objective of each stage, in the unit of the losses of the whole."""
    return [trace / fit.unit for trace in fit.estimator.objective_trace_]


def _added(traces: tuple[Array, ...]) -> Array:
    """The sum of objectives; one that ended stays where it is."""
    n = max(map(len, traces))
    return np.sum([np.pad(trace, (0, n - len(trace)), mode="edge") for trace in traces], axis=0)


def _stage_weights(engine: Engine, fits: list[Fitted], stage: int) -> PerRow:
    """Weights of all rows at a stage, where the rows live."""
    pieces: dict[int, Any] = {}
    for fit in fits:
        ends = np.cumsum([engine.sizes[k] for k in fit.tasks])
        for k, end in zip(fit.tasks.tolist(), ends.tolist(), strict=True):
            pieces[k] = fit.estimator.weight_trace_[stage, end - engine.sizes[k] : end]
    return engine.split(engine.xp.concat([pieces[k] for k in sorted(pieces)]), np.asarray)


def _support(parts: list[Part], fits: list[Fitted], n_clusters: int) -> Array:
    """(m, c) how present clusters are in tasks; not at all in those of other fits."""
    found = np.zeros((sum(len(part.tasks) for part in parts), n_clusters))
    for part, fit in zip(parts, fits, strict=True):
        found[np.ix_(part.tasks, part.numbers)] = host(fit.estimator.cluster_support_)[:, part.own]
    return found


def _decisions(fits: list[Fitted]) -> Decisions:
    """What the fits decided: that of the first with several tasks, and the evidence about the tasks of all."""
    several = [fit for fit in fits if len(fit.tasks) > 1]
    made = (several or fits)[0].estimator.decisions_
    if not several:
        alone = made.within_weight_reason == "one task"
        made = replace(
            made,
            within_weight_reason="geometry" if alone else made.within_weight_reason,
            task_offset_reason="geometry" if made.task_offset_reason == "one task" else made.task_offset_reason,
        )
    shared = next((fit.estimator.decisions_ for fit in fits if fit.estimator.metric_ == "shared"), made)
    made = replace(made, metric=shared.metric, metric_reason=shared.metric_reason)
    moved = next((fit for fit in fits if fit.estimator.decisions_.task_offset != "none"), None)
    if moved is not None:
        made = replace(made, task_offset=moved.estimator.decisions_.task_offset)
    found = [fit.estimator.decisions_.consensus for fit in fits]
    if any(one is None for one in found) or made.consensus is None:
        return replace(made, consensus=None)
    order = np.argsort(np.concatenate([fit.tasks for fit in fits]))
    rows = [one.n_rows for one in found]
    agreement = [one.agreement for one in found]
    evidence = replace(
        made.consensus,
        agreement=None if any(one is None for one in agreement) else np.concatenate(agreement)[order],
        relatedness=np.concatenate([one.relatedness for one in found])[order],
        unanimity=float(np.average([one.unanimity for one in found], weights=rows)),
        n_rows=sum(rows),
        n_distant_rows=sum(one.n_distant_rows for one in found),
    )
    return replace(made, consensus=evidence)


def _calibrated(estimator: Any, fits: list[Fitted]) -> None:
    """The temperatures of the fits, of each task; for others a mean by rows, on the scale of logarithms."""
    m = sum(len(fit.tasks) for fit in fits)
    Ts, left, rows = np.ones(m), np.zeros(m, dtype=bool), np.zeros(m)
    for fit in fits:
        alone, T = fit.model.left_alone(len(fit.tasks)), fit.estimator.temperature_
        own = getattr(fit.estimator, "own_temperature_", T)
        left[fit.tasks], rows[fit.tasks] = alone, fit.sizes.sum(axis=1)
        Ts[fit.tasks] = np.where(alone, own, T / fit.unit)
    estimator.task_temperatures_ = Ts
    estimator.__dict__.pop("own_temperature_", None)
    estimator.temperature_ = 1.0 if left.all() else _mean(Ts[~left], rows[~left])
    if left.any():
        estimator.own_temperature_ = _mean(Ts[left], rows[left])


def _mean(values: Array, weights: Array) -> float:
    return float(np.exp(np.average(np.log(values), weights=weights)))


def _relate(estimator: Any, parts: list[Part], views: list[View]) -> None:
    """Tasks of two groups are as alike as the distances between the centres that both have."""
    for i, one in enumerate(parts):
        for j, other in enumerate(parts):
            if i != j:
                value = likeness(views[i].D, views[j].D, *_common(one, other))
                estimator.task_relatedness_[np.ix_(one.tasks, other.tasks)] = value


def _common(one: Part, other: Part) -> tuple[Array, Array]:
    """Where the clusters of two parts that have the same numbers stand among those that live in each."""
    a, b = (part.numbers[np.isin(part.own, np.flatnonzero(part.sizes.sum(axis=0) > 0))] for part in (one, other))
    _, at, to = np.intersect1d(a, b, return_indices=True)
    return at, to
