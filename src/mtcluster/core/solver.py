"""The one alternation loop, its stopping rule, and the self-paced schedule that calls it (paper, algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from . import jobs
from .arrays import Array
from .blocks import PerRow, RowSource, Totals
from .centers import centers_of
from .model import Model, State
from .pacing import Schedule

Progress = Callable[[float, int, float], bool]  # (fraction, iteration, objective) → stop this stage?
Item = TypeVar("Item")


def silent(fraction: float, iteration: int, value: float) -> bool:
    """A progress hook that does nothing."""
    return False


@dataclass(frozen=True)
class Result:
    """What an alternation found."""

    state: State
    trace: Array  # Σ v L after each iteration
    converged: bool


@dataclass(frozen=True)
class Fit:
    """What a whole schedule found."""

    state: Any  # the last State; None where it is no longer needed
    traces: list[Array]  # the warm-up first, where there is one, then one per stage
    fractions: list[float]
    weight_trace: list[PerRow]  # stage → weights v
    converged: bool  # of the last stage
    fault: str | None = None  # what the coupling has to say about the fit


def stalled(trace: list[float], tol: float) -> bool:
    """The stopping rule: the last iteration lowered the objective by no more than a share `tol` of it."""
    return len(trace) > 1 and trace[-2] - trace[-1] <= tol * abs(trace[-2])


def first_best(values: Sequence[float], slack: float = 1e-6) -> int:
    """Index of the first value that is the smallest up to rounding, which must not decide between equal runs."""
    return int(np.argmax(np.asarray(values) <= min(values) * (1 + slack)))


def still_best(items: list[Item], value: Callable[[Item], float]) -> list[Item]:
    """Those of several runs, in order, that may turn out to be the best when more follow; the first is it now."""
    return items[first_best([value(item) for item in items]) :]


def alternate(
    rows: RowSource,
    model: Model,
    state: State,
    *,
    max_iter: int,
    tol: float,
    prepared: Any = None,
    report: Callable[[int, float], bool] = lambda iteration, value: False,
) -> Result:
    """Weighted LSSMTC for fixed weights v: (W, M), M_k, P in turn, until the objective stalls or max_iter is over."""
    centers, Ps, Ls, weights = state.centers, state.Ps, state.Ls, state.weights
    totals = totals_of(rows, model, Ps, weights)
    subspace = model.coupling.subspace(model, rows, weights, prepared)
    trace: list[float] = []
    converged = False
    for iteration in range(max_iter):
        centers = model.update_centers(totals.S, totals.T, centers, subspace)
        del totals  # as large as all centres
        step = partial(jobs.advance, terms=model.terms(centers, rows.origins), membership=model.membership)
        Ps, Ls, totals = rows.apply(step, Ps, weights, outputs=2)
        trace.append(totals.value)
        converged = stalled(trace, tol)
        if report(iteration, trace[-1]) or converged:
            break
    return Result(replace(state, centers=centers, Ps=Ps, Ls=Ls), np.array(trace), converged)


def solve(rows: RowSource, model: Model, pace: Schedule, Ps: PerRow, progress: Progress = silent) -> Fit:
    """SPMTC from given memberships: a warm-up with all weights 1, then one alternation for each fraction."""
    prepared = model.coupling.prepare(rows)
    state = first_state(rows, model, Ps, prepared)
    traces, weight_trace = [], []

    def stage(state: State, fraction: float, max_iter: int) -> Result:
        report = partial(progress, fraction)
        result = alternate(rows, model, state, max_iter=max_iter, tol=pace.tol, prepared=prepared, report=report)
        traces.append(result.trace)
        return result

    if pace.warmup_iter:
        state = stage(state, 0.0, pace.warmup_iter).state
    for fraction in pace.fractions:
        result = stage(with_weights(rows, state, pace.weights(rows, state.Ls, fraction)), fraction, pace.max_iter)
        state = result.state
        weight_trace.append(state.vs)
    if model.pools:
        totals = totals_of(rows, model, state.Ps, state.weights)
        Ms = centers_of(totals.S, totals.T, model.placed(state.centers.shared, len(totals.S)))
        state = replace(state, centers=replace(state.centers, Ms=Ms))
    state = replace(state, centers=model.coupling.complete(state.centers, model.n_components))
    fault = model.coupling.fault(model, rows, state, prepared)
    return Fit(state, traces, list(pace.fractions), weight_trace, result.converged, fault)


def best_fit(rows: RowSource, model: Model, pace: Schedule, starts: list[PerRow]) -> Fit:
    """The fit of lowest final objective from several starts; with all weights 1 in the end, of lowest Σ L.

    Starts that differ only in the numbers of clusters lead to the same fit: the first of them is enough.
    """
    fits = [solve(rows, model, pace, Ps) for Ps in distinct(starts)]
    return fits[first_best([fit.traces[-1][-1] for fit in fits])]


def distinct(starts: list[list[Array]]) -> list[list[Array]]:
    """The starts without those that are labels of the same clusters under other numbers."""
    kept: dict[bytes | int, list[Array]] = {}
    for i, Ps in enumerate(starts):
        key: bytes | int = i
        if all(P.ndim == 1 for P in Ps):
            labels = np.concatenate(Ps)
            _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
            key = np.argsort(np.argsort(first))[codes].astype(np.int32).tobytes()  # numbered as they come
        kept.setdefault(key, Ps)
    return list(kept.values())


def first_state(rows: RowSource, model: Model, Ps: PerRow, prepared: Any = None) -> State:
    """Given memberships with all weights 1, the centres that fit them and the losses there."""
    begin = partial(jobs.begin, membership=model.membership, n_clusters=model.n_clusters)
    Ps, vs, _ = rows.apply(begin, Ps, outputs=2)
    weights, _ = rows.apply(jobs.stage_weights, vs, outputs=1)
    totals = totals_of(rows, model, Ps, weights)
    centers = model.update_centers(totals.S, totals.T, None, model.coupling.subspace(model, rows, weights, prepared))
    terms = model.terms(centers, rows.origins)
    Ls, _ = rows.apply(partial(jobs.losses, terms=terms, membership=model.membership), Ps, outputs=1)
    return State(centers, Ps, vs, Ls, weights)


def with_weights(rows: RowSource, state: State, vs: PerRow) -> State:
    """The state with other weights v."""
    weights, _ = rows.apply(jobs.stage_weights, vs, outputs=1)
    return replace(state, vs=vs, weights=weights)


def totals_of(rows: RowSource, model: Model, Ps: PerRow, weights: PerRow) -> Totals:
    """The sums that centres are made from."""
    job = partial(jobs.totals, membership=model.membership, n_clusters=model.n_clusters)
    return rows.apply(job, Ps, weights)[-1]
