"""The one alternation loop, its stopping rule, and the self-paced schedule that calls it (paper, algorithm 1).

The loop carries R runs side by side: they share every product with the rows, and a run that has stalled drops out. One
fit is R = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from . import jobs
from .arrays import Array
from .blocks import PerRow, RowSource, Totals
from .centers import Centers, centers_of, coordinate_means
from .couplings import Prepared
from .covariances import OfClusters
from .model import Model, State
from .mstep import constant, update
from .pacing import Stages
from .sums import Spread

Progress = Callable[[float, int, float], bool]  # (fraction, iteration, objective) → stop this stage?
Item = TypeVar("Item")

EQUALLY_GOOD = 1e-6  # share of an objective that may be rounding
ROW_VALUES = 2**16  # rows times runs that are fitted side by side: with more it gains little, and takes memory
CENTER_VALUES = 2**17  # likewise for the numbers of all centres, of which a fit keeps about ten copies


def silent(fraction: float, iteration: int, value: float) -> bool:
    """Make a progress hook that does nothing."""
    return False


@dataclass(frozen=True)
class Result:
    """What an alternation found, in each run."""

    state: State
    traces: list[Array]  # Σ v L after each iteration
    converged: list[bool]

    @property
    def final(self) -> list[float]:
        """Σ v L in the end."""
        return [float(trace[-1]) for trace in self.traces]


@dataclass(frozen=True)
class Fit:
    """What a whole schedule found in one run."""

    centers: Centers
    traces: list[Array]  # the warm-up first, where there is one, then one per stage
    fractions: list[float]
    weight_trace: list[PerRow]  # stage → weights v
    converged: bool  # of the last stage
    fault: str | None = None  # what the coupling has to say about the fit


def stalled(trace: Sequence[float], tol: float, unit: float | None = None) -> bool:
    """The stopping rule: the last iteration lowered the objective by no more than a share `tol` of it, or of a unit."""
    return len(trace) > 1 and trace[-2] - trace[-1] <= tol * (abs(trace[-2]) if unit is None else unit)


def first_best(values: Sequence[float] | Array) -> int:
    """Find the first value that is the smallest up to rounding, which must not decide between equal runs."""
    return int(np.argmax(np.asarray(values) <= np.min(values) + EQUALLY_GOOD * abs(np.min(values))))


def still_best(items: list[Item], value: Callable[[Item], float]) -> list[Item]:
    """Get those of several runs, in order, that may turn out to be the best when more follow; the first is it now."""
    return items[first_best([value(item) for item in items]) :]


class Known(Protocol):
    """What is known already: sums that stand for rows that are gone, or shared centres that stay."""

    measures: ClassVar[bool]  # is the geometry estimated again?

    def update(self, model: Model, totals: Totals, last: Centers, origins: Array, spread: Spread | None) -> Centers:
        """Estimate centres from the sums of the rows and what is known."""


def alternate(
    rows: RowSource,
    model: Model,
    state: State,
    *,
    max_iter: int,
    tol: float,
    prepared: Prepared = None,
    report: Callable[[int, int, float], bool] = lambda run, iteration, value: False,
    known: Known | None = None,
) -> Result:
    """Get weighted LSSMTC for fixed weights v: (W, M), M_k, P in turn, until the objective stalls or max_iter is over.

    `report(run, iteration, value)` may end a run. With `known` centres follow from that and the sums of the rows;
    memberships are then those of least loss, and losses are whole.
    """
    now, runs = state, list(range(state.n_runs))  # those that go on
    totals = totals_of(rows, model, now.Ps, now.weights, now.centers)
    subspaces = (
        None if known else model.coupling.subspaces(model, rows.n_features, len(runs), rows, now.weights, prepared)
    )
    spread = None if known and not known.measures else model.spread(rows, now.weights)
    traces: list[list[float]] = [[] for _ in runs]
    converged = [False] * len(runs)
    done: list[tuple[list[int], State]] = []  # those that have ended
    for iteration in range(max_iter):
        last = iteration == max_iter - 1
        if known:
            centers = known.update(model, totals, now.centers, rows.origins, spread)
        else:
            centers = update(model, totals, now.centers, rows.origins, subspaces, spread)
        del totals  # as large as all centres
        energy = spread is None or known is not None
        terms = model.terms(centers, rows.origins, energy=energy, gaps=rows.gaps)
        step = partial(jobs.advance, terms=terms, membership=model.membership, last=last, exact=known is not None)
        Ps, Ls, totals = rows.apply(step, now.Ps, now.weights, outputs=2)
        now = State(centers, Ps, Ls, now.weights)
        values, unit = totals.value, None
        if not energy and spread is not None:  # a fall is measured by the number of rows: the objective may be 0
            values, unit = values + constant(model, centers, spread), spread.total
        going: list[int] = []
        ended: list[int] = []
        for i, run in enumerate(runs):
            traces[run].append(float(values[i]))
            converged[run] = stalled(traces[run], tol, None if unit is None else float(unit[min(i, len(unit) - 1)]))
            stops = report(run, iteration, traces[run][-1]) or converged[run] or last
            (ended if stops else going).append(i)
        if not ended:
            continue
        done.append(([runs[i] for i in ended], now.runs(rows, ended)))
        if not going:
            break
        now, model, runs = now.runs(rows, going), model.take("R", going), [runs[i] for i in going]
        spread = None if spread is None else spread.take("R", going)
        totals = totals.runs(going)
        subspaces = None if subspaces is None else [subspaces[i] for i in going]
    return Result(_assembled(rows, state, done), [np.array(trace) for trace in traces], converged)


def with_losses(rows: RowSource, model: Model, state: State) -> State:
    """Return the state with the losses of its rows, which an alternation with a metric leaves out."""
    if not model.geometry.estimated:
        return state
    terms = model.terms(state.centers, rows.origins, gaps=rows.gaps)
    job = partial(jobs.losses, terms=terms, membership=model.membership)
    return replace(state, Ls=rows.apply(job, state.Ps, outputs=1)[0])


def _assembled(rows: RowSource, first: State, done: list[tuple[list[int], State]]) -> State:
    """Return the state of all runs, in their order, from parts that ended one after the other."""
    if len(done) == 1:
        return done[0][1]
    order = np.argsort([run for runs, _ in done for run in runs]).tolist()
    parts, join = [state for _, state in done], partial(jobs.join_runs, order=order)
    Ps, _ = rows.apply(join, *(part.Ps for part in parts), outputs=1)
    Ls, _ = rows.apply(join, *(part.Ls for part in parts), outputs=1)
    centers, *others = (part.centers for part in parts)
    return State(centers.concat("R", *others).take("R", order), Ps, Ls, first.weights)


def solve(
    rows: RowSource, model: Model, pace: Stages, starts: list[PerRow], progress: Sequence[Progress] = ()
) -> list[Fit]:
    """SPMTC from the memberships of R starts: a warm-up with all weights 1, then one alternation for each fraction."""
    watch = progress or [silent] * len(starts)
    prepared = model.coupling.prepare(rows)
    state = first_state(rows, model, starts, prepared)
    state, results, weight_trace = stages(rows, model, pace, state, watch, prepared)
    if model.sharing.pools:
        totals, placed = totals_of(rows, model, state.Ps, state.weights), state.centers.placed
        if totals.gaps is None:
            Ms = centers_of(totals.S, totals.T, placed)
        else:
            Ms = coordinate_means(*totals.gaps.observed(totals.S, totals.T, rows.origins), placed)
        state = replace(state, centers=replace(state.centers, Ms=Ms))
    state = replace(state, centers=model.complete(state.centers))
    return [_fit_of(rows, model, pace, state, results, weight_trace, prepared, run) for run in range(len(starts))]


def stages(
    rows: RowSource, model: Model, pace: Stages, state: State, watch: Sequence[Progress], prepared: Prepared = None,
    known: Known | None = None,
) -> tuple[State, list[Result], list[PerRow]]:  # fmt: skip
    """Go through a schedule: the state in the end, what each stage found, and the weights v of each fraction."""
    results: list[Result] = []
    weight_trace = []

    def stage(state: State, fraction: float, max_iter: int, last: bool) -> State:
        def report(run: int, iteration: int, value: float) -> bool:
            return watch[run](fraction, iteration, value)

        found = alternate(
            rows, model, state, max_iter=max_iter, tol=pace.tol, prepared=prepared, report=report, known=known
        )
        results.append(found)
        return found.state if last or known else with_losses(rows, model, found.state)

    if pace.warmup_iter:
        state = stage(state, 0.0, pace.warmup_iter, False)
    for i, fraction in enumerate(pace.fractions):
        vs = pace.weights(rows, state.Ls, fraction, state.n_runs)
        weights, _ = rows.apply(jobs.stage_weights, vs, outputs=1)
        state = stage(replace(state, weights=weights), fraction, pace.max_iter, i == len(pace.fractions) - 1)
        weight_trace.append(vs)
    return state, results, weight_trace


def _fit_of(
    rows: RowSource, model: Model, pace: Stages, state: State, results: list[Result], vs: list[PerRow],
    prepared: Prepared, run: int,
) -> Fit:  # fmt: skip
    """Tell what one of the runs found."""
    *weight_trace, _ = rows.apply(partial(jobs.pick_runs, at=run), *vs, outputs=len(vs))
    fault = model.coupling.fault(model.take("R", [run]), rows, state.runs(rows, [run]), prepared)
    traces = [result.traces[run] for result in results]
    return Fit(
        state.centers.take("R", run), traces, list(pace.fractions), weight_trace, results[-1].converged[run], fault
    )


def side_by_side(rows: RowSource, model: Model, n_runs: int) -> list[range]:
    """Return the runs in groups that are fitted together: as many as memory bears."""
    by_rows = ROW_VALUES // max(int(rows.summary.rows.sum()), 1)
    by_centers = CENTER_VALUES // (len(rows.origins) * model.n_clusters * rows.n_features)
    size = max(min(by_rows, by_centers, n_runs), 1)
    return [range(first, min(first + size, n_runs)) for first in range(0, n_runs, size)]


def race(rows: RowSource, model: Model, state: State, entries: Array, *, max_iter: int, tol: float) -> Result:
    """Of the runs of each of several entries the best after some iterations.

    `entries` (R,) says which entry a run belongs to; the result has one run for each, in the order of their numbers.
    """
    found = alternate(rows, model, state, max_iter=max_iter, tol=tol)
    values = np.array(found.final)
    owns = [np.flatnonzero(entries == entry) for entry in np.unique(entries)]
    kept = [int(own[first_best(values[own])]) for own in owns]
    traces, converged = [found.traces[run] for run in kept], [found.converged[run] for run in kept]
    return Result(found.state.runs(rows, kept), traces, converged)


def first_state(
    rows: RowSource, model: Model, starts: list[PerRow], prepared: Prepared = None, *, energy: bool = True
) -> State:
    """Given memberships of each run with all weights 1, the centres that fit them and the losses there."""
    begin = partial(jobs.begin, membership=model.membership, n_clusters=model.n_clusters)
    Ps, _ = rows.apply(begin, *starts, outputs=1)
    weights, _ = rows.apply(jobs.unit_weights, outputs=1)
    totals = totals_of(rows, model, Ps, weights)
    subspaces = model.coupling.subspaces(model, rows.n_features, len(starts), rows, weights, prepared)
    spread = model.spread(rows, weights)
    centers = update(model, totals, None, rows.origins, subspaces, spread)
    if rows.gaps and model.estimates_frame:  # what is missing can be expected now
        totals = totals_of(rows, model, Ps, weights, centers)
        centers = update(model, totals, centers, rows.origins, subspaces, spread)
    terms = model.terms(centers, rows.origins, energy=energy, gaps=rows.gaps)
    Ls, _ = rows.apply(partial(jobs.losses, terms=terms, membership=model.membership), Ps, outputs=1)
    return State(centers, Ps, Ls, weights)


def state_at(rows: RowSource, model: Model, Z: Array, Ms: Array | None = None) -> State:
    """Given centres of each run, shared (R, c, d) and of the tasks (R, m, c, d), the nearest labels, all weights 1."""
    if Ms is None:
        Ms = model.offsets.in_tasks(Z, len(rows.origins))
    return nearest_at(rows, model, Centers.at(Z, Ms, model.offsets, model.geometry))


def nearest_at(rows: RowSource, model: Model, centers: Centers, weights: PerRow | None = None) -> State:
    """Return the nearest labels at given centres, with all weights 1 unless others are given."""
    if weights is None:
        weights, _ = rows.apply(jobs.unit_weights, outputs=1)
    terms = model.terms(centers, rows.origins, gaps=rows.gaps)
    Ps, Ls, _ = rows.apply(partial(jobs.nearest, terms=terms, membership=model.membership), outputs=2)
    return State(centers, Ps, Ls, weights)


def totals_of(rows: RowSource, model: Model, Ps: PerRow, weights: PerRow, centers: Centers | None = None) -> Totals:
    """Return the sums that centres are made from; missing values are those that centres expect, where there are any."""
    terms = None
    if centers is not None and rows.gaps:
        terms = model.terms(centers, rows.origins, energy=False, gaps=True)
    form = model.geometry if isinstance(model.geometry, OfClusters) else None
    job = partial(jobs.totals, membership=model.membership, n_clusters=model.n_clusters, covariance=form, terms=terms)
    return rows.apply(job, Ps, weights)[-1]
