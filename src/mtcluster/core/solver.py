"""The one alternation loop, its stopping rule, and the self-paced schedule that calls it (paper, algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from . import pacing, projection, updates
from .model import Array, Block, Centers, Quadratic, Settings, State, objective, quadratic

Progress = Callable[[float, int, float], bool]  # (fraction, iteration, objective) → stop this stage?


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

    state: State
    traces: list[Array]  # the warm-up first, where there is one, then one a stage
    fractions: list[float]
    weight_trace: list[list[Array]]  # stage → block → weights
    converged: bool  # of the last stage
    shares: tuple[float, float] | None  # projection coupling: energy in the subspace, residual of it


@dataclass(frozen=True)
class Schedule:
    """The pace: how many examples take part when."""

    fractions: tuple[float, ...] = (1.0,)
    weighting: str = "hard"
    soft_rule: str = "quantile"
    warmup_iter: int = 0
    max_iter: int = 50
    tol: float = 1e-4
    lower_share: float = pacing.LOWER_SHARE  # soft rule "quantile": share of the selected examples with weight 1


def stalled(trace: list[float], tol: float) -> bool:
    """The stopping rule: the last iteration lowered the objective by no more than a share `tol` of it."""
    return len(trace) > 1 and trace[-2] - trace[-1] <= tol * abs(trace[-2])


def first_best(values: Sequence[float], slack: float = 1e-6) -> int:
    """Index of the first value that is the least but for rounding, which must not decide between equal runs."""
    return int(np.argmax(np.asarray(values) <= min(values) * (1 + slack)))


def update_centers(
    settings: Settings, S: Array, T: Array, last: Centers | None, subspace: Callable[..., Array]
) -> Centers:
    """W, M and M_k from the sums S (m, c, c) and T (m, c, d) of the tasks; (W, M) is one block, M directly after W."""
    S_all, T_all = settings.pooled(S, T)
    H = updates.inverse_root(S_all)
    mean = T_all.sum(axis=0) / max(S_all.sum(), np.finfo(np.float64).tiny)
    Z = updates.centers_of(H, S_all, T_all, mean if last is None else last.Z)
    W = subspace(H, T_all, Z, n_components=settings.n_components)
    M = Z @ W  # eq. 16
    seen = np.einsum("kii->ki", S) > 0
    fallback = np.stack([settings.in_task(M @ W.T, k) for k in range(len(S))])
    if last is not None:
        fallback = np.where(last.seen[:, :, None], last.Ms, fallback)
        seen = seen | last.seen
    Ms = updates.centers_of(updates.inverse_root(S), S, T, np.broadcast_to(fallback, T.shape))
    return Centers(W, M, Ms, Z, seen)


def update_memberships(settings: Settings, form: Quadratic, P: Array, v: Array) -> Array:
    """The membership step; an example that is not selected keeps its memberships."""
    new = updates.nearest(form) if settings.membership == "binary" else updates.nonnegative_step(P, form)
    return np.where(v[:, None] > 0, new, P)


def alternate(
    blocks: list[Block],
    settings: Settings,
    state: State,
    *,
    max_iter: int,
    tol: float,
    span: projection.Span | None = None,
    report: Callable[[int, float], bool] = lambda iteration, value: False,
) -> Result:
    """Weighted LSSMTC for fixed weights v: (W, M), M_k, P in turn, until the objective stalls or max_iter is over."""
    subspace = _subspace_step(blocks, state.vs, span)
    S, T = _all_sums(blocks, state.Ps, state.vs)
    centers, Ps, vs, Ls = state.centers, list(state.Ps), state.vs, list(state.Ls)
    trace: list[float] = []
    converged = False
    for iteration in range(max_iter):
        centers = update_centers(settings, S, T, centers, subspace)
        for k, block in enumerate(blocks):
            form = quadratic(block, settings, centers, k)
            Ps[k] = update_memberships(settings, form, Ps[k], vs[k])
            Ls[k] = form.losses(Ps[k])
            S[k], T[k] = updates.sums(block, Ps[k], vs[k])
        trace.append(objective(blocks, vs, Ls))
        converged = stalled(trace, tol)
        if report(iteration, trace[-1]) or converged:
            break
    return Result(State(centers, Ps, vs, Ls), np.array(trace), converged)


def solve(blocks: list[Block], settings: Settings, pace: Schedule, Ps: list[Array], progress: Progress = silent) -> Fit:
    """SPMTC from given memberships: a warm-up with all weights 1, then one alternation for each fraction."""
    span = projection.span_of(blocks) if settings.coupling == "projection" else None
    state = first_state(blocks, settings, Ps, span)
    traces, weight_trace = [], []
    if pace.warmup_iter:
        report = partial(progress, 0.0)
        result = alternate(blocks, settings, state, max_iter=pace.warmup_iter, tol=pace.tol, span=span, report=report)
        state = result.state
        traces.append(result.trace)
    for fraction in pace.fractions:
        vs = [
            pacing.weights(L, b.u, fraction, pace.weighting, pace.soft_rule, pace.lower_share)
            for b, L in zip(blocks, state.Ls, strict=True)
        ]
        state, report = replace(state, vs=vs), partial(progress, fraction)
        result = alternate(blocks, settings, state, max_iter=pace.max_iter, tol=pace.tol, span=span, report=report)
        state = result.state
        traces.append(result.trace)
        weight_trace.append(vs)
    shares = projection_shares(blocks, settings, state, span) if span else None
    return Fit(state, traces, list(pace.fractions), weight_trace, result.converged, shares)


def best_fit(blocks: list[Block], settings: Settings, pace: Schedule, starts: list[list[Array]]) -> Fit:
    """The fit of lowest final objective from several starts; with all weights 1 in the end, of lowest Σ L."""
    fits = [solve(blocks, settings, pace, Ps) for Ps in starts]
    return fits[first_best([fit.traces[-1][-1] for fit in fits])]


def first_state(blocks: list[Block], settings: Settings, Ps: list[Array], span: projection.Span | None) -> State:
    """Given memberships with all weights 1, the centres that fit them and the losses there."""
    vs = [np.ones_like(b.sq) for b in blocks]
    S, T = _all_sums(blocks, Ps, vs)
    centers = update_centers(settings, S, T, None, _subspace_step(blocks, vs, span))
    Ls = [quadratic(b, settings, centers, k).losses(P) for k, (b, P) in enumerate(zip(blocks, Ps, strict=True))]
    return State(centers, list(Ps), vs, Ls)


def projection_shares(
    blocks: list[Block], settings: Settings, state: State, span: projection.Span
) -> tuple[float, float]:
    """At the best W for the final memberships: its share of the data's energy, and what share of that is residual."""
    S, T = _all_sums(blocks, state.Ps, state.vs)
    centers = update_centers(settings, S, T, state.centers, _subspace_step(blocks, state.vs, span))
    energy = inside = residual = 0.0
    for block, P, v in zip(blocks, state.Ps, state.vs, strict=True):
        XW, w = block.X @ centers.W, block.u * v
        energy += float(w @ block.sq)
        inside += float(np.sum(w[:, None] * XW**2))
        residual += float(np.sum(w[:, None] * (XW - P @ centers.M) ** 2))
    return inside / energy if energy else 0.0, residual / inside if inside else 0.0


def _all_sums(blocks: list[Block], Ps: list[Array], vs: list[Array]) -> tuple[Array, Array]:
    stats = [updates.sums(b, P, v) for b, P, v in zip(blocks, Ps, vs, strict=True)]
    return np.stack([S for S, _ in stats]), np.stack([T for _, T in stats])


def _subspace_step(blocks: list[Block], vs: list[Array], span: projection.Span | None) -> Callable[..., Array]:
    if span is None:
        return updates.subspace_of_reconstruction
    return partial(projection.subspace_of_projection, span=span, scatter=span.scatter(blocks, vs))
