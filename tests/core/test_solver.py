"""The alternation: against the naive version, downhill, and in its limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core.pacing import Schedule
from mtcluster.core.solver import alternate, distinct, first_best, first_state, solve, stalled, with_weights

from .. import naive
from .tools import model_of, rows_of, schedule_of, sums

SHAPES = {"binary": [30, 25], "nonnegative": [20, 15]}


def tasks(membership, seed=0, d=6, c=3):
    """Two tasks around common centres, and a start in which no cluster is empty."""
    rng = np.random.default_rng(seed)
    centers = 3 * rng.random((c, d))
    ys = [rng.permutation(np.arange(n) % c) for n in SHAPES[membership]]
    Xs = [centers[y] + 0.5 * k + rng.normal(scale=0.8, size=(len(y), d)) for k, y in enumerate(ys)]
    if membership == "binary":
        return Xs, [np.eye(c)[np.where(rng.random(len(y)) < 0.6, y, rng.integers(c, size=len(y)))] for y in ys]
    return Xs, [rng.random((len(y), c)) + 0.2 for y in ys]


@pytest.mark.parametrize("coupling", ["reconstruction", "projection"])
@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
@pytest.mark.parametrize("weighting", ["hard", "soft"])
@pytest.mark.parametrize("l", [1, 2, 3])
def test_the_solver_is_the_naive_version(coupling, membership, weighting, l):
    Xs, Ps = tasks(membership)
    settings = model_of(0.4, l, coupling, membership)
    fractions = (0.6, 0.8, 1.0)
    fit = solve(rows_of(Xs, settings), settings, schedule_of(fractions, weighting, "paper", 3, 4, tol=-np.inf), Ps)
    rule = naive.hard_weights if weighting == "hard" else naive.soft_weights
    W, M, Ms, traces, weights = naive.spmtc(
        Xs, Ps, lam=0.4, l=l, coupling=coupling, membership=membership, rule=rule, fractions=fractions,
        warmup_iter=3, max_iter=4,
    )  # fmt: skip
    for ours, theirs in zip(fit.traces, traces, strict=True):
        assert_allclose(ours, theirs, rtol=1e-7)
    for ours, theirs in zip(fit.weight_trace, weights, strict=True):
        assert_allclose(np.concatenate(ours), np.concatenate(theirs), atol=1e-6)
    centers = fit.state.centers
    assert_allclose(centers.W @ centers.W.T, W @ W.T, atol=1e-6)  # a basis is free to turn, its span is not
    assert_allclose(centers.M @ centers.W.T, M @ W.T, atol=1e-6)
    assert_allclose(centers.Ms, Ms, atol=1e-6)


@pytest.mark.parametrize("coupling", ["reconstruction", "projection"])
@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
@pytest.mark.parametrize("l", [1, 3])
def test_the_objective_never_rises_with_frozen_rows_either(coupling, membership, l):
    for seed in range(5):
        Xs, Ps = tasks(membership, seed)
        settings = model_of(0.4, l, coupling, membership)
        rows = rows_of(Xs, settings)
        prepared = settings.coupling.prepare(rows)
        rng = np.random.default_rng(seed)
        vs = [np.where(rng.random(len(X)) < 0.3, 0, rng.random(len(X))) for X in Xs]
        begun = first_state(rows, settings, Ps, prepared)
        result = alternate(rows, settings, with_weights(rows, begun, vs), max_iter=40, tol=-np.inf, prepared=prepared)
        assert len(result.trace) == 40
        assert np.all(np.diff(result.trace) <= 1e-10 * result.trace[0])
        for before, after, v in zip(begun.Ps, result.state.Ps, vs, strict=True):
            assert_array_equal(after[v == 0], before[v == 0])
            assert np.all(after >= 0)


@pytest.mark.parametrize("coupling", ["reconstruction", "projection"])
def test_a_within_weight_of_1_is_independent_tasks(coupling):
    Xs, Ps = tasks("nonnegative")
    settings, pace = model_of(1.0, 3, coupling, "nonnegative"), schedule_of((0.5, 1.0), "soft", "paper", 5, 20, 0.0)
    together = solve(rows_of(Xs, settings), settings, pace, Ps)
    for k, (X, P) in enumerate(zip(Xs, Ps, strict=True)):
        alone = solve(rows_of([X], settings), settings, pace, [P])
        assert_allclose(together.state.centers.Ms[k], alone.state.centers.Ms[0], rtol=1e-6)
        assert_allclose(together.state.Ps[k], alone.state.Ps[0], rtol=1e-6, atol=1e-9)


def test_sums_over_parts_of_a_task_are_sums_over_the_task():
    rng = np.random.default_rng(0)
    X, P, v = rng.normal(size=(30, 4)), rng.random((30, 3)), rng.random(30)
    for given in (P, P.argmax(axis=1)):
        S, T = sums(X, v, given, 3)
        parts = [sums(X[i], v[i], given[i], 3) for i in np.split(np.arange(30), 3)]
        assert_allclose(S, sum(s for s, _ in parts))
        assert_allclose(T, sum(t for _, t in parts))


def test_the_origin_saves_the_digits_of_data_far_from_zero():
    Xs, Ps = tasks("binary")
    settings, pace = model_of(0.4, 3), schedule_of((0.5, 1.0), "soft", "quantile", 5, 20, 0.0)
    near = solve(rows_of(Xs, settings), settings, pace, Ps)
    far_settings = model_of(0.4, 3)
    far = solve(rows_of([X + 1e7 for X in Xs], far_settings), far_settings, pace, Ps)
    assert_allclose(np.concatenate(far.traces), np.concatenate(near.traces), rtol=1e-6)


@pytest.mark.parametrize(
    ("trace", "tol", "stop"),
    [
        ([10.0], 0.1, False),  # one value says nothing
        ([10.0, 9.0], 0.05, False),  # a fall of 10 %
        ([10.0, 9.0], 0.1, True),  # exactly the tolerance
        ([10.0, 9.0, 8.9], 0.05, True),  # only the last fall counts
        ([10.0, 10.0], 0.0, True),  # nothing moves any more
        ([10.0, 10.0 - 1e-9], 0.0, False),
        ([0.0, 0.0], 1e-4, True),
        ([10.0, 10.1], 0.0, True),  # a rise can only be rounding
    ],
)
def test_the_stopping_rule(trace, tol, stop):
    assert stalled(trace, tol) is stop


def test_the_first_of_equally_good_runs_wins_whatever_the_rounding():
    assert first_best([3.0, 2.0 + 1e-12, 2.0]) == 1
    assert first_best([3.0, 2.0, 1.9]) == 2
    assert first_best([0.0, 0.0]) == 0


def test_starts_of_the_same_clusters_are_one_start():
    first, renamed, other = (np.array(labels) for labels in ([0, 1, 1, 2, 0], [2, 0, 0, 1, 2], [0, 1, 2, 2, 0]))
    starts = [[first[:2], first[2:]], [renamed[:2], renamed[2:]], [other[:2], other[2:]]]
    assert [Ps[0].tolist() + Ps[1].tolist() for Ps in distinct(starts)] == [first.tolist(), other.tolist()]
    mixed = [[np.ones((2, 3))], [np.ones((2, 3))]]
    assert len(distinct(mixed)) == 2  # only labels are compared


def test_a_report_that_asks_to_stop_ends_the_stage():
    Xs, Ps = tasks("nonnegative")
    settings = model_of(0.5, 2, membership="nonnegative")
    calls = []

    def progress(fraction, iteration, value):
        calls.append((fraction, iteration))
        return iteration == 1

    fit = solve(rows_of(Xs, settings), settings, Schedule((0.5, 1.0), warmup_iter=5, tol=0.0), Ps, progress)
    assert calls == [(0.0, 0), (0.0, 1), (0.5, 0), (0.5, 1), (1.0, 0), (1.0, 1)]
    assert [len(trace) for trace in fit.traces] == [2, 2, 2]
