"""The alternation: against the naive version, downhill, and in its limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster.core import solver
from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.memberships import Binary
from mtcluster.core.pacing import Stages
from mtcluster.core.solver import alternate, first_best, first_state, race, side_by_side, solve, stalled, state_at

from .. import naive
from .tools import model_of, quadratic, rows_of, schedule_of, solved, sums, weighted

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
    fit = solved(rows_of(Xs, settings), settings, schedule_of(fractions, weighting, "paper", 3, 4, tol=-np.inf), Ps)
    rule = naive.hard_weights if weighting == "hard" else naive.soft_weights
    W, M, Ms, traces, weights = naive.spmtc(
        Xs, Ps, lam=0.4, l=l, coupling=coupling, membership=membership, rule=rule, fractions=fractions,
        warmup_iter=3, max_iter=4,
    )  # fmt: skip
    for ours, theirs in zip(fit.traces, traces, strict=True):
        assert_allclose(ours, theirs, rtol=1e-7)
    for ours, theirs in zip(fit.weight_trace, weights, strict=True):
        assert_allclose(np.concatenate(ours), np.concatenate(theirs), atol=1e-6)
    centers = fit.centers
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
        begun = first_state(rows, settings, [Ps], prepared)
        result = alternate(rows, settings, weighted(rows, begun, vs), max_iter=40, tol=-np.inf, prepared=prepared)
        [trace] = result.traces
        assert len(trace) == 40
        assert np.all(np.diff(trace) <= 1e-10 * trace[0])
        for before, after, v in zip(begun.Ps, result.state.Ps, vs, strict=True):
            assert_array_equal(after[..., v == 0], before[..., v == 0])
            assert np.all(after >= 0)


@pytest.mark.parametrize("coupling", ["reconstruction", "projection"])
def test_a_within_weight_of_1_is_independent_tasks(coupling):
    Xs, Ps = tasks("nonnegative")
    settings, pace = model_of(1.0, 3, coupling, "nonnegative"), schedule_of((0.5, 1.0), "soft", "paper", 5, 20, 0.0)
    together = solved(rows_of(Xs, settings), settings, pace, Ps)
    for k, (X, P) in enumerate(zip(Xs, Ps, strict=True)):
        alone = solved(rows_of([X], settings), settings, pace, [P])
        assert_allclose(together.centers.Ms[k], alone.centers.Ms[0], rtol=1e-6)
        for ours, theirs in zip(together.weight_trace, alone.weight_trace, strict=True):
            assert_allclose(ours[k], theirs[0], rtol=1e-6)


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
    near = solved(rows_of(Xs, settings), settings, pace, Ps)
    far_settings = model_of(0.4, 3)
    far = solved(rows_of([X + 1e7 for X in Xs], far_settings), far_settings, pace, Ps)
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


def test_a_report_that_asks_to_stop_ends_the_stage():
    Xs, Ps = tasks("nonnegative")
    settings = model_of(0.5, 2, membership="nonnegative")
    calls = []

    def progress(fraction, iteration, value):
        calls.append((fraction, iteration))
        return iteration == 1

    fit = solved(rows_of(Xs, settings), settings, Stages((0.5, 1.0), warmup_iter=5, tol=0.0), Ps, progress)
    assert calls == [(0.0, 0), (0.0, 1), (0.5, 0), (0.5, 1), (1.0, 0), (1.0, 1)]
    assert [len(trace) for trace in fit.traces] == [2, 2, 2]


def several(membership, n_runs=5):
    """Tasks, and starts that differ."""
    Xs, _ = tasks(membership)
    rngs = [np.random.default_rng(seed) for seed in range(n_runs)]
    if membership == "binary":
        return Xs, [[rng.integers(3, size=len(X)) for X in Xs] for rng in rngs]
    return Xs, [[rng.random((len(X), 3)) + 0.2 for X in Xs] for rng in rngs]


@pytest.mark.parametrize("coupling", ["reconstruction", "projection"])
@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
@pytest.mark.parametrize("weighting", ["hard", "soft"])
@pytest.mark.parametrize("lam", [0.4, 0.0])
@pytest.mark.parametrize("l", [1, 3])
def test_runs_side_by_side_are_the_runs_one_by_one(coupling, membership, weighting, lam, l):
    Xs, starts = several(membership)
    model, pace = model_of(lam, l, coupling, membership), schedule_of((0.6, 0.8, 1.0), weighting, "quantile", 4, 6)
    rows = rows_of(Xs, model)
    for together, Ps in zip(solve(rows, model, pace, starts), starts, strict=True):
        alone = solved(rows, model, pace, Ps)
        assert [len(trace) for trace in together.traces] == [len(trace) for trace in alone.traces]
        ours, theirs = np.concatenate(together.traces), np.concatenate(alone.traces)
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-13 * theirs.max())  # losses are differences of larger numbers
        for ours, theirs in zip(together.weight_trace, alone.weight_trace, strict=True):
            assert_allclose(np.concatenate(ours), np.concatenate(theirs), atol=1e-7)
        assert_allclose(together.centers.Ms, alone.centers.Ms, atol=1e-7)
        assert (together.converged, together.fault) == (alone.converged, alone.fault)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_side_by_side_are_those_one_by_one_whatever_holds_the_rows(container, dtype):
    Xs, starts = several("binary", n_runs=12)
    model = model_of(0.4, 3)
    blocks = [make_block(container(X.astype(dtype)), np.ones(len(X), dtype), np.zeros(6)) for X in Xs]
    rows = Blocks(blocks)
    found = alternate(rows, model, first_state(rows, model, starts), max_iter=50, tol=1e-4)
    lengths = {len(trace) for trace in found.traces}
    assert len(lengths) > 2  # runs dropped out one after the other
    for run, Ps in enumerate(starts):
        alone = alternate(rows, model, first_state(rows, model, [Ps]), max_iter=50, tol=1e-4)
        assert len(found.traces[run]) == len(alone.traces[0])
        assert_allclose(found.traces[run], alone.traces[0], rtol=1e-9 if dtype == np.float64 else 1e-5)
        assert found.converged[run] == alone.converged[0]
        for ours, theirs in zip(found.state.Ps, alone.state.Ps, strict=True):
            assert_array_equal(ours[run], theirs[0])
        for ours, theirs in zip(found.state.Ls, alone.state.Ls, strict=True):
            assert_allclose(ours[run], theirs[0], rtol=1e-9 if dtype == np.float64 else 1e-3)


def test_each_run_may_have_a_within_weight_of_its_own():
    Xs, [Ps] = several("binary", n_runs=1)
    shares = [0.0, 0.3, 1.0]
    model = model_of(np.array(shares)[:, None], 3)
    rows = rows_of(Xs, model)
    found = alternate(rows, model, first_state(rows, model, [Ps] * 3), max_iter=20, tol=0.0)
    for run, share in enumerate(shares):
        own = model_of(share, 3)
        alone = alternate(rows, own, first_state(rows, own, [Ps]), max_iter=20, tol=0.0)
        assert_allclose(found.traces[run], alone.traces[0], rtol=1e-9)
    by_task = model_of(np.array([[0.2, 0.9], [0.9, 0.2]]), 3)
    found = alternate(rows, by_task, first_state(rows, by_task, [Ps] * 2), max_iter=20, tol=0.0)
    own = model_of(np.array([0.9, 0.2]), 3)
    alone = alternate(rows, own, first_state(rows, own, [Ps]), max_iter=20, tol=0.0)
    assert_allclose(found.traces[1], alone.traces[0], rtol=1e-9)


@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("l", [1, 4])
def test_a_run_that_lacks_clusters_is_a_run_with_fewer_of_them(lam, l):
    Xs, _ = tasks("binary")
    rng, numbers = np.random.default_rng(0), [4, 2, 3, 1]
    starts = [[rng.integers(c, size=len(X)) for X in Xs] for c in numbers]
    model = model_of(lam, l, c=4, holds=(np.arange(4) < np.array(numbers)[:, None])[:, None])
    rows = rows_of(Xs, model)
    found = alternate(rows, model, first_state(rows, model, starts), max_iter=30, tol=1e-6)
    assert len({len(trace) for trace in found.traces}) > 1  # runs dropped out one after the other
    for run, c in enumerate(numbers):
        own = model_of(lam, l, c=c)
        alone = alternate(rows, own, first_state(rows, own, [starts[run]]), max_iter=30, tol=1e-6)
        assert_allclose(found.traces[run], alone.traces[0], rtol=1e-9)
        assert_allclose(found.state.centers.Z[run, :c], alone.state.centers.Z[0], atol=1e-9)
        for ours, theirs in zip(found.state.Ps, alone.state.Ps, strict=True):
            assert_array_equal(ours[run], theirs[0])


@pytest.mark.parametrize("weighting", ["hard", "soft"])
def test_runs_that_lack_clusters_are_paced_like_runs_with_fewer_of_them(weighting):
    Xs, _ = tasks("binary")
    rng, numbers = np.random.default_rng(0), [2, 3]
    starts = [[rng.integers(c, size=len(X)) for X in Xs] for c in numbers]
    model, pace = (
        model_of(0.4, 3, holds=np.array([[True, True, False], [True] * 3])[:, None]),
        schedule_of((0.5, 1.0), weighting),
    )
    rows = rows_of(Xs, model)
    for c, Ps, fit in zip(numbers, starts, solve(rows, model, pace, starts), strict=True):
        alone = solved(rows, model_of(0.4, 3, c=c), pace, Ps)
        assert_allclose(np.concatenate(fit.traces), np.concatenate(alone.traces), rtol=1e-9)
        for ours, theirs in zip(fit.weight_trace, alone.weight_trace, strict=True):
            assert_allclose(np.concatenate(ours), np.concatenate(theirs), atol=1e-7)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0])
def test_the_state_at_given_centers_has_the_nearest_labels(container, lam):
    Xs, _ = tasks("binary")
    rng, model = np.random.default_rng(0), model_of(lam, 3)
    Z, Ms = rng.normal(size=(4, 3, 6)), rng.normal(size=(4, 2, 3, 6))
    origins = [np.zeros(6) if container is sparse.csr_matrix else X.mean(axis=0) for X in Xs]
    rows = Blocks([make_block(container(X), np.ones(len(X)), o) for X, o in zip(Xs, origins, strict=True)])
    state = state_at(rows, model, Z, Ms)
    assert state.n_runs == 4
    for k, X in enumerate(Xs):
        own, shared = (np.sum((X[:, None] - C[:, None]) ** 2, axis=3) for C in (Ms[:, k], Z))  # (R, n, c)
        losses = lam * own + (1 - lam) * shared
        assert_array_equal(state.Ps[k], losses.argmin(axis=2))
        assert_allclose(state.Ls[k], losses.min(axis=2))
    lacking = model_of(lam, 3, holds=np.array([[True, False, True]] * 4)[:, None])
    for P in state_at(rows, lacking, Z, Ms).Ps:
        assert set(np.unique(P)) <= {0, 2}


def test_a_race_ends_with_the_best_run_of_each_entry():
    Xs, starts = several("binary", n_runs=9)
    model = model_of(0.4, 3)
    rows, entries = rows_of(Xs, model), np.repeat([0, 1, 2], 3)
    state = first_state(rows, model, starts)
    trial = alternate(rows, model, state, max_iter=2, tol=0.0).final
    found = race(rows, model, state, entries, max_iter=2, tol=0.0)
    for entry, value in enumerate(found.final):
        own = np.flatnonzero(entries == entry)
        best = own[np.argmin(np.array(trial)[own])]
        alone = alternate(rows, model, first_state(rows, model, [starts[best]]), max_iter=2, tol=0.0)
        assert value == pytest.approx(alone.final[0], rel=1e-9)
        for ours, theirs in zip(found.state.Ps, alone.state.Ps, strict=True):
            assert_array_equal(ours[entry], theirs[0])


def test_no_more_runs_go_together_than_memory_bears(monkeypatch):
    Xs, _ = several("binary")
    model = model_of(0.4, 3)
    rows = rows_of(Xs, model)
    assert side_by_side(rows, model, 4) == [range(4)]
    monkeypatch.setattr(solver, "ROW_VALUES", 2 * 55)
    assert side_by_side(rows, model, 5) == [range(2), range(2, 4), range(4, 5)]
    monkeypatch.setattr(solver, "CENTER_VALUES", 1)
    assert side_by_side(rows, model, 2) == [range(1), range(1, 2)]


def test_equal_losses_give_the_first_label():
    """Two centres in one place, as those of two empty clusters may be."""
    X = np.arange(6.0)[:, None]
    form = quadratic(X, np.array([[3.0], [0.0], [3.0], [0.0]]))
    assert Binary().exact(form)[0].tolist() == [1, 1, 0, 0, 0, 0]
