"""Weights solve their problem, and the schedule ends with everybody."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core.pacing import fractions_of
from mtcluster.core.weightings import Gathered, hard, masses, quantiles, soft

from .tools import weighting_of

LOSSES = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=30).map(np.array)
GRID = np.linspace(0, 1, 100_001)


def quantile(L, u, q):
    return quantiles(lambda probes, level: masses([L[None]], [u], probes, level), [(0, 0, q)], L.dtype)[0]


def weights(L, u, fraction, weighting, rule):
    chosen = weighting_of(weighting, rule)
    return chosen.weights(L, [quantile(L, u, q) for q in chosen.quantiles(fraction)])


@pytest.mark.parametrize("L", [0.01, 0.3, 0.999, 1.001, 1.7, 50.0])
def test_hard_weights_solve_their_problem(L):
    lam = 1.0
    best = GRID[np.argmin(GRID * L - lam * GRID)]
    assert hard(np.array([L]), lam)[0] == best


@pytest.mark.parametrize("L", [0.0, 0.1, 0.33, 0.34, 0.5, 0.8, 0.999, 1.0, 3.0])
@pytest.mark.parametrize("lower", [1 / 3, 0.1, 0.9])
def test_soft_weights_solve_their_problem(L, lower):
    lam = 1.0
    gamma = lower * lam / (lam - lower)
    best = GRID[np.argmin(GRID * L - gamma * np.log(GRID + gamma / lam))]
    assert_allclose(soft(np.array([L]), lower, lam)[0], best, atol=2e-5)


def test_the_papers_soft_rule_is_gamma_of_half_the_pace():
    L = np.linspace(0, 2, 50)
    lam = float(quantile(L, np.ones(50), 0.6)) * (1 + 1e-6)
    expected = np.where(L <= lam / 3, 1, np.clip(lam / 2 / np.maximum(L, 1e-9) - 0.5, 0, 1))
    assert_allclose(weights(L, np.ones(50), 0.6, "soft", "paper"), expected, atol=1e-12)


@given(LOSSES, st.floats(0.01, 1), st.sampled_from(["hard", "soft"]), st.sampled_from(["quantile", "paper"]))
def test_weights_lie_between_0_and_1_fall_with_the_loss_and_select_the_fraction(L, fraction, weighting, rule):
    v = weights(L, np.ones(len(L)), fraction, weighting, rule)
    assert np.all((v >= 0) & (v <= 1))
    assert np.all(np.diff(v[np.argsort(L, kind="stable")]) <= 0)
    assert np.mean(v > 0) >= fraction - 1e-9


@given(LOSSES, st.sampled_from(["hard", "soft"]), st.sampled_from(["quantile", "paper"]))
def test_the_last_stage_selects_everybody(L, weighting, rule):
    v = weights(L, np.ones(len(L)), 1.0, weighting, rule)
    assert np.all(v == 1) if weighting == "hard" else np.all(v > 0)


def test_the_quantile_rule_never_starves_a_task_whose_losses_lie_close_together():
    L = 0.95 + 0.01 * np.random.default_rng(0).random(100)  # unit-norm features look like this
    assert np.mean(weights(L, np.ones(100), 0.5, "soft", "quantile") == 1) >= 0.39
    assert np.mean(weights(L, np.ones(100), 0.5, "soft", "paper") == 1) == 0


def test_rows_that_do_not_fit_exactly_keep_some_weight_where_most_do():
    L = np.r_[np.zeros(90), np.arange(1.0, 11.0)]
    v = weights(L, np.ones(100), 1.0, "soft", "quantile")
    assert np.all(v > 0)
    assert v[90] > 0.05


@given(LOSSES, st.data(), st.floats(0.01, 1))
def test_a_whole_weight_counts_as_copies_in_the_quantile(L, data, q):
    u = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(L), max_size=len(L))))
    if u.sum() == 0:
        u[0] = 1
    copies = np.repeat(L, u)
    assert quantile(L, u, q) == quantile(copies, np.ones(len(copies)), q)


@given(LOSSES, st.floats(0.01, 1))
def test_the_quantile_is_the_least_loss_that_reaches_the_share(L, q):
    value = quantile(L, np.ones(len(L)), q)
    assert value in L
    assert np.mean(L <= value) >= q - 1e-9
    assert np.mean(L < value) < q


@given(LOSSES, st.data(), st.floats(0.01, 1))
def test_quantiles_of_losses_brought_together_are_those_of_histograms(L, data, q):
    u = np.array(data.draw(st.lists(st.floats(0, 3), min_size=len(L), max_size=len(L))))
    u[0] += 1
    half = len(L) // 2
    parts = [Gathered([L[None, at]], [u[at]]) for at in (slice(half), slice(half, None))]
    assert (parts[0] + parts[1]).quantiles((q, 1.0))[0][0][0] == quantile(L, u, q)


@given(st.floats(0.01, 1), st.floats(0.01, 1))
def test_the_schedule_rises_by_the_step_and_ends_at_exactly_1(initial, step):
    fractions = fractions_of(initial, step)
    assert fractions[-1] == 1.0
    assert fractions[0] == pytest.approx(min(initial, 1.0))
    assert np.all(np.diff(fractions) > 0)
    assert np.all(np.diff(fractions) <= step + 1e-9)


def test_the_papers_schedule():
    assert_array_equal(fractions_of(0.5, 0.1), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
