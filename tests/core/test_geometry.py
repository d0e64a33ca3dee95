"""The shared metric, offsets and proportions: what is estimated with the clusters."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core import jobs
from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.geometry import Tied, definite
from mtcluster.core.memberships import Binary, Responsibilities
from mtcluster.core.mstep import residual_scatter, shared_centers, update
from mtcluster.core.solver import alternate, first_state, totals_of, with_losses

from .tools import model_with

rng = np.random.default_rng(0)
M, C, D = 3, 4, 5
LABELS = [rng.integers(C, size=n) for n in (40, 50, 60)]
CENTERS = rng.normal(scale=3, size=(C, D))
MIX = rng.normal(size=(D, D))
XS = [CENTERS[own] + k + rng.normal(size=(len(own), D)) @ MIX for k, own in enumerate(LABELS)]
START = [np.where(rng.random(len(own)) < 0.5, rng.integers(C, size=len(own)), own) for own in LABELS]
WEIGHTS = [rng.random(len(own)) + 0.5 for own in LABELS]
WITHIN = sum((X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) for X in XS) / 150
V = np.linalg.qr(rng.normal(size=(D, 3)))[0]


def rows_of(Xs=XS, us=WEIGHTS, origins=None):
    origins = [X.mean(axis=0) for X in Xs] if origins is None else origins
    return Blocks([make_block(X, u, o) for X, u, o in zip(Xs, us, origins, strict=True)])


def metric_of(V=None, strength=0.01):
    prior = WITHIN if V is None else V.T @ WITHIN @ V
    rest = 1.0 if V is None else (np.trace(WITHIN) - np.trace(prior)) / (D - V.shape[1])
    return Tied.of(prior, V, rest, strength)


MODELS = {
    "shares": {"lam": 0.6},
    "shares of each task": {"lam": np.array([0.2, 0.5, 1.0])},
    "shared centres alone": {"lam": 0.0},
    "centres drawn by rows": {"kappa": 7.0},
    "no centres of their own": {"kappa": np.inf},
}


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("membership", [Binary(), Responsibilities()], ids=lambda form: form.name)
@pytest.mark.parametrize("directions", [None, V], ids=["full", "some directions"])
@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("proportions", [False, True])
def test_the_objective_never_rises(settings, membership, directions, matched, proportions):
    geometry = metric_of(directions)
    model = model_with(
        C, membership=membership, geometry=geometry, matched=matched, proportions=proportions, **settings
    )
    rows = rows_of()
    found = alternate(rows, model, first_state(rows, model, [START]), max_iter=15, tol=0.0)
    trace = found.traces[0]
    assert len(trace) > 2
    assert np.diff(trace).max() <= 1e-9 * abs(trace[0])


@pytest.mark.parametrize("given", [False, True], ids=["proportions of the rows", "given proportions"])
@pytest.mark.parametrize("seed", range(6))
def test_the_objective_never_rises_with_rows_that_are_not_selected(given, seed):
    draw = np.random.default_rng(seed)
    shares = np.log(draw.dirichlet(np.full(C, 0.3), size=M))[None]
    given_shares = shares if given else None
    model = model_with(C, geometry=metric_of(), matched=True, proportions=not given, log_shares=given_shares)
    rows = rows_of()
    state = first_state(rows, model, [START])
    vs = [np.where(draw.random(len(own)) < 0.4, 0, draw.random(len(own)))[None] for own in LABELS]
    weights, _ = rows.apply(jobs.stage_weights, vs, outputs=1)
    [trace] = alternate(rows, model, replace(state, weights=weights), max_iter=25, tol=-np.inf).traces
    assert len(trace) == 25
    assert np.diff(trace).max() <= 1e-9 * abs(trace[0])


def test_runs_side_by_side_are_runs_one_by_one():
    kappa, free, rows = np.array([np.inf, 5.0, 50.0]), np.array([False, True, True]), rows_of()
    settings = {"membership": Responsibilities(), "geometry": metric_of(), "proportions": True}
    both = model_with(C, matched=free, kappa=kappa, **settings)
    together = alternate(rows, both, first_state(rows, both, [START] * 3), max_iter=8, tol=0.0)
    for run in range(3):
        alone = both.take("R", [run])
        single = alternate(rows, alone, first_state(rows, alone, [START]), max_iter=8, tol=0.0)
        assert_allclose(together.traces[run], single.traces[0], rtol=1e-9)


@pytest.mark.parametrize("directions", [None, V], ids=["full", "some directions"])
def test_losses_are_distances_in_the_metric(directions):
    model, rows = model_with(C, 0.3, geometry=metric_of(directions), matched=True), rows_of()
    state = first_state(rows, model, [START])
    state = with_losses(rows, model, alternate(rows, model, state, max_iter=2, tol=0.0).state)
    shape = state.centers.geometry
    S = shape.K[0] if directions is None else V @ shape.K[0] @ V.T + shape.rest[0] * (np.eye(D) - V @ V.T)
    A = np.linalg.inv(S)
    assert_allclose(shape.log_determinants(D)[0, 0], np.linalg.slogdet(S)[1])
    for k, X in enumerate(XS):
        own, common = state.centers.Ms[0, k], state.centers.offsets.b[0, k] + state.centers.Z[0]
        at = state.Ps[k][0]
        r, s = X - own[at], X - common[at]
        wanted = 0.3 * np.einsum("id,de,ie->i", r, A, r) + 0.7 * np.einsum("id,de,ie->i", s, A, s)
        assert_allclose(state.Ls[k][0], wanted, rtol=1e-8)


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_the_scatter_around_the_centres_is_that_of_the_rows(settings):
    model, rows = model_with(C, geometry=metric_of(), matched=True, **settings), rows_of()
    weights = rows.apply(jobs.unit_weights, outputs=1)[0]
    labels = [own[None] for own in START]
    totals, spread = totals_of(rows, model, labels, weights), model.spread(rows, weights)
    centers = update(model, totals, None, rows.origins, None, spread)
    G, trace = residual_scatter(model, centers, totals.S, (totals.T, totals.T), rows.origins, spread)
    wanted = np.zeros((D, D))
    for k, (X, own, u) in enumerate(zip(XS, START, WEIGHTS, strict=True)):
        if not spread.sharing[k]:
            continue
        mine, common = centers.Ms[0, k], centers.offsets.b[0, k] + centers.Z[0]
        lam = np.broadcast_to(model.sharing.lam, (1, M))[0, k]
        r, s = X - mine[own], X - common[own]
        wanted += lam * (u[:, None] * r).T @ r + (1 - lam) * (u[:, None] * s).T @ s
        wanted += model.sharing.kappa[0, 0] * (mine - common).T @ (mine - common)
    assert_allclose(G[0], wanted, rtol=1e-9, atol=1e-9)
    assert_allclose(trace[0], np.trace(wanted))


def test_offsets_and_shared_centres_solve_least_squares():
    means, weights = rng.normal(size=(1, M, C, D)), rng.random((1, M, C))
    weights[0, 0, 1] = 0
    sizes = weights.sum(axis=2)
    Z, b = shared_centers(means, weights, sizes, True, None, None)
    design = np.zeros((M * C, M + C))
    for k in range(M):
        for j in range(C):
            design[k * C + j, [k, M + j]] = np.sqrt(weights[0, k, j])
    solved = np.linalg.lstsq(design, (np.sqrt(weights[0])[..., None] * means[0]).reshape(M * C, D), rcond=None)[0]
    assert_allclose(b[0][:, None] + Z[0], solved[:M, None] + solved[M:], atol=1e-4)
    assert_allclose(sizes[0] @ b[0], 0, atol=1e-9)


def test_where_nothing_tells_location_from_composition_the_smaller_offset_is_taken():
    means = np.zeros((1, 2, 2, 1))
    means[0, 0, 0], means[0, 1, 1] = 0.0, 8.0  # no cluster in common
    _, b = shared_centers(means, np.array([[[5.0, 0], [0, 5.0]]]), np.array([[5.0, 5.0]]), True, None, None)
    assert_allclose(b, 0, atol=1e-6)


def test_a_singular_scatter_is_no_problem():
    Xs = [np.column_stack([own, own, np.zeros(len(own))]).astype(float) for own in LABELS]
    model = model_with(C, 0.5, 3, geometry=Tied.of(np.eye(3)), matched=True, proportions=True)
    rows = rows_of(Xs)
    found = alternate(rows, model, first_state(rows, model, [LABELS]), max_iter=5, tol=0.0)
    assert np.isfinite(found.traces[0]).all()
    assert np.isfinite(found.state.centers.geometry.K).all()


def test_sums_that_are_rounding_errors_make_a_covariance_all_the_same():
    spread = np.diag([1e8, 1e8, -3e3, 1.0, -2.0])[None]  # what single precision leaves of clusters that lie far apart
    metric = metric_of()
    nu = metric.strength * 150
    assert not definite((spread + nu * metric.prior) / (150 + nu))
    found = metric.estimate(spread, np.array([2e8]), np.array([150.0]), D)
    assert definite(found.K)
    assert np.linalg.eigvalsh(found.K[0]).min() > 0


def test_powers_of_the_metric():
    for directions in (None, V):
        K = np.cov(rng.normal(size=(20, D if directions is None else 3)).T)[None]
        shape, Y = Tied(K[0], directions, K, np.array([0.4])), rng.normal(size=(1, 6, D))
        assert_allclose(shape.power(shape.power(Y, 0.5), 0.5), shape.times(Y[:, None], np.zeros(1, dtype=bool))[:, 0])
        assert_allclose(shape.power(shape.power(Y, 0.5), -0.5), Y)
        a, s, q = shape.principal()
        wanted = np.einsum("rid,rid->i", shape.power(Y, 1.0), Y)
        assert_allclose(a * np.sum(Y[0] ** 2, axis=1) + (Y[0] @ q[0].T) ** 2 @ s[0], wanted)


def test_a_weight_of_two_is_two_rows():
    twice = [np.concatenate([X, X[:5]]) for X in XS]
    start = [np.concatenate([own, own[:5]]) for own in START]
    weights = [np.r_[np.full(5, 2.0), np.ones(len(own) - 5)] for own in START]
    model = model_with(C, 0.4, geometry=metric_of(), matched=True, proportions=True)
    origins = [X.mean(axis=0) for X in XS]
    once, again = rows_of(us=weights, origins=origins), rows_of(twice, [np.ones(len(s)) for s in start], origins)
    a, b = (
        alternate(rows, model, first_state(rows, model, [labels]), max_iter=4, tol=0.0)
        for rows, labels in ((once, START), (again, start))
    )
    assert_allclose(a.traces[0], b.traces[0])
    assert_array_equal(a.state.Ps[0][0], b.state.Ps[0][0][: len(XS[0])])
