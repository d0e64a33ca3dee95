"""The one alternation loop, its stopping rule, and the self-paced schedule that calls it (paper, algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from . import projection, updates
from .arrays import Array
from .blocks import Rows, Totals
from .model import Centers, Settings, State, terms
from .pacing import Schedule

Progress = Callable[[float, int, float], bool]  # (fraction, iteration, objective) → stop this stage?
Item = TypeVar("Item")
Subspace = Callable[[Array, Array, int], Array]  # Q (c, d), Z (c, d), l → W


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

    state: Any  # the last State; None where it is no longer wanted
    traces: list[Array]  # the warm-up first, where there is one, then one a stage
    fractions: list[float]
    weight_trace: list[list[Array]]  # stage → block → weights
    converged: bool  # of the last stage
    shares: tuple[float, float] | None  # projection coupling: energy in the subspace, residual of it


def stalled(trace: list[float], tol: float) -> bool:
    """The stopping rule: the last iteration lowered the objective by no more than a share `tol` of it."""
    return len(trace) > 1 and trace[-2] - trace[-1] <= tol * abs(trace[-2])


def first_best(values: Sequence[float], slack: float = 1e-6) -> int:
    """Index of the first value that is the least but for rounding, which must not decide between equal runs."""
    return int(np.argmax(np.asarray(values) <= min(values) * (1 + slack)))


def still_best(items: list[Item], value: Callable[[Item], float]) -> list[Item]:
    """Those of several runs, in their order, that may turn out as the best when more follow; the first is it now."""
    return items[first_best([value(item) for item in items]) :]


def update_centers(
    settings: Settings, S: Array, T: Array, last: Centers | None, subspace: Subspace | None = None
) -> Centers:
    """W, M and M_k from the sums S (m, c, c) and T (m, c, d) of the tasks; (W, M) is one block, M directly after W.

    `subspace` makes W. None: it has room for all shared centres, and can wait.
    """
    S_all, T_all = settings.pooled(S, T)
    mean = T_all.sum(axis=0) / max(S_all.sum(), np.finfo(np.float64).tiny)
    Z, Q = updates.centers_of(S_all, T_all, mean if last is None else last.Z), updates.between(S_all, T_all)
    W = None if subspace is None else subspace(Q, Z, settings.n_components)
    M = None if W is None else Z @ W  # eq. 16
    shared = Z if W is None or M is None else M @ W.T
    if settings.pools:  # centres of tasks count for nothing: they are found at the end
        return Centers(W, M, np.broadcast_to(shared, T.shape), Z, Q, np.ones(T.shape[:2], dtype=bool))
    seen = np.einsum("kii->ki", S) > 0
    fallback = None
    if not seen.all():
        fallback = np.stack([settings.in_task(shared, k) for k in range(len(S))])
        if last is not None:
            fallback = np.where(last.seen[:, :, None], last.Ms, fallback)
            seen = seen | last.seen
    return Centers(W, M, updates.centers_of(S, T, fallback), Z, Q, seen)


def with_subspace(centers: Centers, settings: Settings) -> Centers:
    """Centres whose W could wait, with it."""
    if centers.W is not None:
        return centers
    W = updates.subspace_of_reconstruction(centers.Q, centers.Z, settings.n_components)
    return replace(centers, W=W, M=centers.Z @ W)


def alternate(
    rows: Rows,
    settings: Settings,
    state: State,
    *,
    max_iter: int,
    tol: float,
    span: projection.Span | None = None,
    report: Callable[[int, float], bool] = lambda iteration, value: False,
) -> Result:
    """Weighted LSSMTC for fixed weights v: (W, M), M_k, P in turn, until the objective stalls or max_iter is over."""
    tasks = range(len(rows.origins))
    totals = rows.totals(state.Ps, state.vs)
    subspace = _subspace_step(rows, settings, totals, state.vs, span)
    centers, Ps, vs, Ls = state.centers, state.Ps, state.vs, state.Ls
    trace: list[float] = []
    converged = False
    for iteration in range(max_iter):
        centers = update_centers(settings, totals.S, totals.T, centers, subspace)
        del totals  # as large as all centres
        Ps, Ls, totals = rows.advance(Ps, vs, terms(settings, centers, rows.origins, tasks), settings)
        trace.append(totals.value)
        converged = stalled(trace, tol)
        if report(iteration, trace[-1]) or converged:
            break
    return Result(State(centers, Ps, vs, Ls), np.array(trace), converged)


def solve(rows: Rows, settings: Settings, pace: Schedule, Ps: list[Array], progress: Progress = silent) -> Fit:
    """SPMTC from given memberships: a warm-up with all weights 1, then one alternation for each fraction."""
    span = rows.span if settings.coupling == "projection" else None
    state = first_state(rows, settings, Ps, span)
    traces, weight_trace = [], []
    if pace.warmup_iter:
        report = partial(progress, 0.0)
        result = alternate(rows, settings, state, max_iter=pace.warmup_iter, tol=pace.tol, span=span, report=report)
        state = result.state
        traces.append(result.trace)
    for fraction in pace.fractions:
        state, report = replace(state, vs=rows.weights(state.Ls, pace, fraction)), partial(progress, fraction)
        result = alternate(rows, settings, state, max_iter=pace.max_iter, tol=pace.tol, span=span, report=report)
        state = result.state
        traces.append(result.trace)
        weight_trace.append(state.vs)
    if settings.pools:
        totals = rows.totals(state.Ps, state.vs)
        shared = np.stack([settings.in_task(state.centers.shared, k) for k in range(len(totals.S))])
        state = replace(state, centers=replace(state.centers, Ms=updates.centers_of(totals.S, totals.T, shared)))
    state = replace(state, centers=with_subspace(state.centers, settings))
    shares = projection_shares(rows, settings, state, span) if span else None
    return Fit(state, traces, list(pace.fractions), weight_trace, result.converged, shares)


def best_fit(rows: Rows, settings: Settings, pace: Schedule, starts: list[list[Array]]) -> Fit:
    """The fit of lowest final objective from several starts; with all weights 1 in the end, of lowest Σ L.

    Starts that differ in the numbers of clusters alone lead to the same fit: the first of them is enough.
    """
    fits = [solve(rows, settings, pace, Ps) for Ps in distinct(starts)]
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


def first_state(rows: Rows, settings: Settings, Ps: list[Array], span: projection.Span | None = None) -> State:
    """Given memberships with all weights 1, the centres that fit them and the losses there."""
    Ps, vs = rows.begin(Ps, settings)
    totals = rows.totals(Ps, vs)
    centers = update_centers(settings, totals.S, totals.T, None, _subspace_step(rows, settings, totals, vs, span))
    Ls = rows.losses(Ps, terms(settings, centers, rows.origins, range(len(rows.origins))))
    return State(centers, Ps, vs, Ls)


def projection_shares(rows: Rows, settings: Settings, state: State, span: projection.Span) -> tuple[float, float]:
    """At the best W for the final memberships: its share of the data's energy, and what share of that is residual."""
    totals = rows.totals(state.Ps, state.vs)
    subspace = _subspace_step(rows, settings, totals, state.vs, span)
    centers = update_centers(settings, totals.S, totals.T, state.centers, subspace)
    energy = inside = residual = 0.0
    for block, P, v in zip(rows.blocks, state.Ps, state.vs, strict=True):
        XW, w, M = block.X[:] @ centers.W, block.u * v, np.asarray(centers.M)
        energy += float(w @ block.sq)
        inside += float(np.sum(w[:, None] * XW**2))
        fitted = M[P] if P.ndim == 1 else P @ M
        residual += float(np.sum(w[:, None] * (XW - fitted) ** 2))
    return inside / energy if energy else 0.0, residual / inside if inside else 0.0


def _subspace_step(
    rows: Rows, settings: Settings, totals: Totals, vs: list[Array], span: projection.Span | None
) -> Subspace | None:
    """What makes W; None where it can wait."""
    if span is not None:
        return partial(projection.subspace_of_projection, span=span, scatter=span.scatter(rows.blocks, vs))
    return None if settings.spans(*totals.T.shape[1:]) else updates.subspace_of_reconstruction
