"""Data sets without a common column: fitted apart, matched by the geometry of their centres, and made one fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._utils.tasks import as_parts
from .._utils.text import listed
from ..core.arrangement import Arrangement, enumerable, likeness, rank, stability
from ..core.arrays import Array, host
from ..core.blocks import Block, PerRow
from ..core.centers import Centers
from ..core.composing import FitPart, compose
from ..core.fitted import Fitted
from ..core.geometry import Tied
from ..core.model import Model
from ..core.readout import read_out
from ..core.sampling import Sampling, take_whole
from ..core.solver import Fit
from ..core.starts import Start
from ..engines import Engine, engine_of
from ..search import Decisions, Matching, SearchEvidence
from .input import Given
from .numbers import NumberOfClusters
from .plan import Plan, Run, clusters_per_task
from .progress import warn_user

if TYPE_CHECKING:
    from .base import MultiTaskClusterer

SURE_MATCHING = 0.9  # what the evidence for a matching, and its share of samples, have to reach
REDRAWN = 100  # samples of the rows
MATCHING_ROWS = Sampling(4000, 400)
SOLVER_STARTS = 20  # of the solver, where not all matchings can be looked at


@dataclass(frozen=True)
class OwnFit:
    """A fit of tasks that common columns link."""

    estimator: MultiTaskClusterer
    model: Model
    centers: Centers
    tasks: Array  # (m,) numbers of its tasks
    columns: Array  # (d,) numbers of its columns
    unit: float = 1.0  # of its losses, in which they are measured in the whole

    @property
    def fitted(self) -> Fitted:
        """What it found."""
        return self.estimator.fitted_

    @property
    def with_rows(self) -> Array:
        """Numbers of the clusters that have rows."""
        return np.flatnonzero(self.fitted.sizes.sum(axis=0) > 0)

    def part(self, own: Array, numbers: Array) -> FitPart:
        """It in a whole in which some of its clusters have these numbers."""
        return FitPart(self.model, self.centers, self.fitted.sizes, self.tasks, self.columns, own, numbers)


@dataclass(frozen=True)
class CenterDistances:
    """What the geometry of a fit is read from."""

    D: Array  # (a, a) distances between the centres of living clusters
    drawn: Array  # (B, a, a) the same of samples of the rows


def views_of(engine: Engine, fits: list[OwnFit], rng: np.random.Generator) -> list[CenterDistances]:
    """The geometry of each fit, and of samples of its rows, with what its clusters expect where values are missing."""
    ends = np.cumsum([len(fit.with_rows) for fit in fits])
    parts = [
        fit.part(fit.with_rows, np.arange(end - len(fit.with_rows), end)) for fit, end in zip(fits, ends, strict=True)
    ]
    sample = take_whole(engine, MATCHING_ROWS, rng, *compose(parts, int(ends[-1])))[0]
    return [_view([sample[k] for k in fit.tasks], fit, rng) for fit in fits]


def _view(sample: list[Block], fit: OwnFit, rng: np.random.Generator) -> CenterDistances:
    C = fit.centers.shared[fit.with_rows]
    tied, within = fit.fitted.centers.geometry.take("R", None), fit.fitted.within_weight
    counted = np.flatnonzero(within < 1) if (within < 1).any() else np.arange(len(sample))
    offsets = fit.centers.offsets.take("R", None)
    rows = []
    for k in counted.tolist():
        Y = np.asarray(sample[k].X[:], dtype=np.float64)[:, fit.columns]
        rows.append(offsets.from_task(Y, k))
    tasks = np.repeat(counted, [len(Y) for Y in rows])
    seen = Arrangement(np.concatenate(rows), tasks, C, tied.inverse[0] if isinstance(tied, Tied) else None)
    return CenterDistances(seen.distances(), seen.redrawn(REDRAWN, rng))


def match_clusters(fits: list[OwnFit], views: list[CenterDistances]) -> tuple[list[Array], list[Matching]]:
    """Get numbers of the clusters of each fit (-1: none), and how each but the first was matched with one before it."""
    c = fits[0].centers.Z.shape[0]
    numbers, found = [np.arange(c)], []
    for i in range(1, len(fits)):
        tried = [(_matching(fits, views, numbers, j, i), j) for j in range(i)]
        (matching, pairs), j = max(tried, key=lambda one: (one[0][0].held, one[0][0].evidence))
        own = np.full(fits[i].centers.Z.shape[0], -1)
        if matching.held:
            own[pairs[:, 1]] = numbers[j][pairs[:, 0]]
        new = [k for k in fits[i].with_rows if own[k] < 0]
        own[new] = 1 + max(int(one.max()) for one in numbers) + np.arange(len(new))
        named = np.stack([numbers[j][pairs[:, 0]], own[pairs[:, 1]]], axis=1)
        found.append(replace(matching, pairs=named[np.argsort(named[:, 0])]))
        numbers.append(own)
    return numbers, found


def _matching(
    fits: list[OwnFit], views: list[CenterDistances], numbers: list[Array], j: int, i: int
) -> tuple[Matching, Array]:
    """Get the best matching of the clusters of fit i with those of fit j, and pairs of these in their own numbers."""
    few, many = (j, i) if len(views[j].D) <= len(views[i].D) else (i, j)
    ranking = rank(views[few].D, views[many].D, _propose)
    kept = stability(views[few].drawn, views[many].drawn, ranking)
    pairs = np.stack([fits[few].with_rows, fits[many].with_rows[ranking.best]], axis=1)
    held = min(ranking.evidence, kept) >= SURE_MATCHING
    matching = Matching(
        fits[i].fitted.tasks.tolist(),
        fits[j].fitted.tasks.tolist(),
        pairs,
        held,
        ranking.misfit,
        ranking.second_misfit,
        ranking.evidence,
        kept,
        SURE_MATCHING,
    )
    return matching, pairs if few == j else pairs[:, ::-1]


def _propose(D: Array, E: Array) -> Array:
    """Compute (k, a) matchings from partial Gromov–Wasserstein couplings of a clusters with b, from several starts."""
    solve, rng = solver(), np.random.default_rng(0)
    a, b = len(D), len(E)
    D, E = D / max(D.mean(), 1e-300), E / max(E.mean(), 1e-300)
    p, q, found = np.full(a, 1 / b), np.full(b, 1 / b), []
    for start in range(SOLVER_STARTS):
        between = [np.eye(b)[rng.permutation(b)[:a]] / (2 * b) for _ in range(2)]
        T = solve(D, E, p, q, m=a / b, G0=None if not start else between[0] + between[1])
        found.append(linear_sum_assignment(T, maximize=True)[1])
    return np.unique(np.stack(found), axis=0)


def solver() -> Callable[..., Array]:
    """POT's, imported where it is needed."""
    try:
        from ot.gromov import partial_gromov_wasserstein
    except ImportError as error:
        raise ImportError(
            "match='geometry' with more than 8 clusters needs POT: pip install 'mtcluster[geometry]'."
        ) from error
    return partial_gromov_wasserstein


def warn_unmatched(found: list[Matching]) -> None:
    """Say which clusters could not be matched."""
    for one in found:
        if not one.held:
            warn_user(
                f"the clusters of {listed(map(repr, one.tasks))} could not be matched with those of "
                f"{listed(map(repr, one.reference))} by the geometry of their centres (evidence {one.evidence:.2f}, "
                f"the same in {100 * one.stability:.0f} % of samples; {one.threshold:g} of both is needed): they have "
                "numbers of their own."
            )


def linked(match: str, engine: Engine, X: Given) -> list[Array]:
    """Get numbers of the tasks that common columns link, group by group; one group unless clusters may be matched."""
    if match != "geometry" or as_parts(X, "X") is None or not engine.gaps:
        return [np.arange(len(engine.labels))]
    has = np.broadcast_to(engine.summary.observed > 0, (len(engine.labels), engine.n_features))
    code = np.arange(len(has))
    for column in has.T:  # tasks with a value in a column are one group
        codes = np.unique(code[column])
        code[np.isin(code, codes)] = codes.min(initial=len(has))
    return [np.flatnonzero(code == group) for group in np.unique(code)]


def fit_apart(
    estimator: MultiTaskClusterer, engine: Engine, X: Given, sample_weight: Given, groups: list[Array]
) -> tuple[Fitted, dict[str, object]]:
    """Fit each group of tasks on its own, match their clusters, and make all one fit, with what it decided."""
    from .base import finished

    _check(estimator.__dict__)
    random_state = check_random_state(estimator.random_state)
    fits, lead = _fits(estimator, engine, X, sample_weight, groups, random_state.randint(np.iinfo(np.int32).max))
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    views = views_of(engine, fits, rng)
    numbers, matching = match_clusters(fits, views)
    warn_unmatched(matching)
    c = 1 + max(int(own.max()) for own in numbers)
    parts = [fit.part(np.flatnonzero(own >= 0), own[own >= 0]) for fit, own in zip(fits, numbers, strict=True)]
    model, centers = compose(parts, c)
    decisions = _decisions(fits)
    plan = Plan(model, decisions, [], Start, _support(parts, fits, c))
    found, _ = finished(
        engine, plan, _run(engine, fits, model, centers), None, random_state, temperatures=_temperatures(fits)
    )
    others: dict[str, object] = {"decisions_": decisions, "matching_": matching}
    if "selection_" in lead.__dict__:
        others["selection_"] = lead.__dict__["selection_"]
    return replace(found, relatedness=_related(found.relatedness, parts, views)), others


def _check(own: dict[str, Given]) -> None:
    """Refuse parameters early that would be refused late."""
    if not isinstance(own["init"], str) and np.ndim(own["init"]):
        raise ValueError(
            "init holds memberships, which number the clusters of data sets without a common column already: leave it "
            "out with match='geometry', or start from other memberships for each data set."
        )
    c = own["n_clusters"]
    if not isinstance(c, Integral) and own["n_clusters_per_task"] is not None:
        raise ValueError("n_clusters_per_task with match='geometry' needs a number of clusters, n_clusters.")
    if isinstance(c, Integral) and not enumerable(int(c), int(c)):
        solver()


def _fits(
    estimator: MultiTaskClusterer, engine: Engine, X: Given, sample_weight: Given, groups: list[Array], seed: int
) -> tuple[list[OwnFit], MultiTaskClusterer]:
    """Make a fit of each group, and that of the largest, which chooses the number of clusters where it is open."""
    fit = partial(_fit, estimator, engine, X, sample_weight, seed)
    largest = int(np.argmax([sum(engine.sizes[k] for k in group) for group in groups]))
    lead = fit(groups[largest], estimator.n_clusters)
    number = int(estimator.n_clusters) if isinstance(estimator.n_clusters, Integral) else lead.estimator.n_clusters_
    fits = [lead if i == largest else fit(group, number) for i, group in enumerate(groups)]
    if any(isinstance(one.centers.geometry, Tied) and one.centers.geometry.V is not None for one in fits):
        raise ValueError("metric='shared' with match='geometry' takes at most 50 features of a data set: take 'auto'.")
    if len({type(one.centers.geometry) for one in fits}) > 1:
        fits = [_measured(one) for one in fits]
    return fits, lead.estimator


def _measured(fit: OwnFit) -> OwnFit:
    """A fit with the Euclidean metric as one whose covariance is the same in all directions, as wide as clusters are.

    One metric serves all tasks of a model; labels are the same.
    """
    if fit.model.geometry.estimated:
        return fit
    d = len(fit.columns)
    width = float(host(fit.fitted.rows.losses).mean()) / d or 1.0
    geometry = Tied.of(width * np.eye(d))
    centers = replace(fit.centers, geometry=geometry.take("R", 0))
    return replace(fit, model=replace(fit.model, geometry=geometry), centers=centers, unit=width)


def _fit(
    estimator: MultiTaskClusterer, engine: Engine, X: Given, sample_weight: Given, seed: int, group: Array,
    number: NumberOfClusters,
) -> OwnFit:  # fmt: skip
    """Make a fit of some tasks; it has no more clusters than rows, nor than its tasks may have."""
    parts = as_parts(X, "X")
    assert parts is not None
    keys, per_task = list(parts), None
    if isinstance(number, Integral):
        per_task = clusters_per_task(estimator.__dict__["n_clusters_per_task"], int(number), engine.labels)
        per_task = None if per_task is None else per_task[group]
        most = sum(engine.sizes[k] for k in group) if per_task is None else int(per_task.sum())
        number = min(int(number), most)
    own = clone(estimator).set_params(
        match="columns", random_state=seed, n_clusters=number, n_clusters_per_task=per_task
    )
    weights = _weights(sample_weight, keys, engine, group)
    own.fit({keys[k]: parts[keys[k]] for k in group}, sample_weight=weights)
    has = np.broadcast_to(engine.summary.observed > 0, (len(keys), engine.n_features))[group].any(axis=0)
    return OwnFit(own, own.fitted_.model, own.fitted_.centers, group, np.flatnonzero(has))


def _weights(sample_weight: Given, keys: list[Hashable], engine: Engine, group: Array) -> Given:
    """Return the sample weights of some tasks, as they came."""
    if sample_weight is None or isinstance(sample_weight, Real):
        return sample_weight
    parts = as_parts(sample_weight, "sample_weight", ndim=1)
    if parts is not None:
        return {keys[k]: parts[keys[k]] for k in group}
    values = sample_weight if engine_of(sample_weight) is not None else np.asarray(sample_weight)
    return engine.xp.concat([values[at] for at in _rows(engine, group)])


def _rows(engine: Engine, group: Array) -> list[slice]:
    """Tell where the rows of some tasks stand, which came one task after the other."""
    ends = np.cumsum(engine.sizes)
    return [slice(int(ends[k]) - engine.sizes[k], int(ends[k])) for k in group]


def _run(engine: Engine, fits: list[OwnFit], model: Model, centers: Centers) -> Run:
    """Return the fits as one, at the composed centres."""
    centers = centers.astype(engine.dtype)
    Ps, Ls, _ = engine.apply(partial(read_out, model=model, centers=centers), outputs=2)
    own = [fit.fitted for fit in fits]
    stages = zip(*([trace / fit.unit for trace in fit.fitted.traces] for fit in fits), strict=True)
    traces = [_added(stage) for stage in stages]
    fractions = own[0].rows.fractions.tolist()
    weights = [_stage_weights(engine, fits, stage) for stage in range(len(fractions))]
    fit = Fit(centers, traces, fractions, weights, all(one.converged for one in own))
    return Run(fit, centers, Ps, Ls, 0.0)


def _added(traces: tuple[Array, ...]) -> Array:
    """Return the sum of objectives, in the unit of the losses of the whole; one that ended stays where it is."""
    n = max(map(len, traces))
    return np.sum([np.pad(trace, (0, n - len(trace)), mode="edge") for trace in traces], axis=0)


def _stage_weights(engine: Engine, fits: list[OwnFit], stage: int) -> PerRow:
    """Return weights of all rows at a stage, where the rows live."""
    pieces: dict[int, Array] = {}
    for fit in fits:
        ends = np.cumsum([engine.sizes[k] for k in fit.tasks])
        for k, end in zip(fit.tasks.tolist(), ends.tolist(), strict=True):
            pieces[k] = fit.fitted.rows.weights[stage, end - engine.sizes[k] : end]
    return engine.split(engine.xp.concat([pieces[k] for k in sorted(pieces)]), np.asarray)


def _support(parts: list[FitPart], fits: list[OwnFit], n_clusters: int) -> Array:
    """Compute (m, c) how present clusters are in tasks; not at all in those of other fits."""
    found = np.zeros((sum(len(part.tasks) for part in parts), n_clusters))
    for part, fit in zip(parts, fits, strict=True):
        found[np.ix_(part.tasks, part.numbers)] = fit.fitted.support[:, part.own]
    return found


def _decisions(fits: list[OwnFit]) -> Decisions:
    """Tell what the fits decided: that of the first with several tasks, and the evidence about the tasks of all."""
    several = [fit for fit in fits if len(fit.tasks) > 1]
    made = (several or fits)[0].estimator.decisions_
    if not several:
        alone = made.within_weight_reason == "one task"
        made = replace(
            made,
            within_weight_reason="geometry" if alone else made.within_weight_reason,
            task_offset_reason="geometry" if made.task_offset_reason == "one task" else made.task_offset_reason,
        )
    shared = next((fit.estimator.decisions_ for fit in fits if fit.fitted.model.geometry.estimated), made)
    made = replace(made, metric=shared.metric, metric_reason=shared.metric_reason)
    moved = next((fit for fit in fits if fit.estimator.decisions_.task_offset != "none"), None)
    if moved is not None:
        made = replace(made, task_offset=moved.estimator.decisions_.task_offset)
    found = [one for one in (fit.estimator.decisions_.search for fit in fits) if one is not None]
    if len(found) < len(fits) or made.search is None:
        return replace(made, search=None)
    order = np.argsort(np.concatenate([fit.tasks for fit in fits]))
    rows = [one.n_rows for one in found]
    evidence = replace(
        made.search,
        relatedness=np.concatenate([one.relatedness for one in found])[order],
        gain=float(np.average([one.gain for one in found], weights=rows)),
        margins=np.concatenate([_widened(one.margins, found) for one in found])[order],
        n_rows=sum(rows),
        n_distant_rows=sum(one.n_distant_rows for one in found),
    )
    return replace(made, search=evidence)


def _widened(margins: Array, found: list[SearchEvidence]) -> Array:
    """Return margins (m, c) for as many clusters as the largest fit has; those that are not there have none."""
    most = max(one.margins.shape[1] for one in found)
    return np.pad(margins, ((0, 0), (0, most - margins.shape[1])), constant_values=np.nan)


def _temperatures(fits: list[OwnFit]) -> tuple[Array, float]:
    """Return the temperatures of the tasks; for others a mean by rows, on the scale of logarithms."""
    m = sum(len(fit.tasks) for fit in fits)
    Ts, left, rows = np.ones(m), np.zeros(m, dtype=bool), np.zeros(m)
    for fit in fits:
        alone, T = fit.model.left_alone(len(fit.tasks)), fit.fitted.temperature
        left[fit.tasks], rows[fit.tasks] = alone, fit.fitted.sizes.sum(axis=1)
        Ts[fit.tasks] = np.where(alone, fit.fitted.temperatures, T / fit.unit)
    shared = 1.0 if left.all() else float(np.exp(np.average(np.log(Ts[~left]), weights=rows[~left])))
    return Ts, shared


def _related(found: Array, parts: list[FitPart], views: list[CenterDistances]) -> Array:
    """Return tasks of two groups are as alike as the distances between the centres that both have."""
    found = found.copy()
    for i, one in enumerate(parts):
        for j, other in enumerate(parts):
            if i != j:
                value = likeness(views[i].D, views[j].D, *_common(one, other))
                found[np.ix_(one.tasks, other.tasks)] = value
    return found


def _common(one: FitPart, other: FitPart) -> tuple[Array, Array]:
    """Tell where the clusters of two parts that have the same numbers stand among those with rows in each."""
    a, b = (part.numbers[np.isin(part.own, np.flatnonzero(part.sizes.sum(axis=0) > 0))] for part in (one, other))
    _, at, to = np.intersect1d(a, b, return_indices=True)
    return at, to
