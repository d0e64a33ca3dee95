"""The shared metric, offsets and proportions: what is estimated with the clusters."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.core import jobs
from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.frames import residual_scatter, shared_centers
from mtcluster.core.memberships import Binary, Responsibilities
from mtcluster.core.metric import Metric, Shape, definite
from mtcluster.core.model import Model
from mtcluster.core.solver import alternate, first_state, totals_of, with_losses

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
    return Metric(V, prior, rest, strength)


MODELS = {
    "shares": {"within_weight": 0.6},
    "shares of each task": {"within_weight": np.array([0.2, 0.5, 1.0])},
    "shared centres alone": {"within_weight": 0.0},
    "centres drawn by rows": {"within_weight": 0.0, "shrinkage": np.array([7.0])},
    "no centres of their own": {"within_weight": 0.0, "shrinkage": np.array([np.inf])},
}


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("membership", [Binary(), Responsibilities()], ids=lambda form: form.name)
@pytest.mark.parametrize("directions", [None, V], ids=["full", "some directions"])
@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("proportions", [False, True])
def test_the_objective_never_rises(settings, membership, directions, matched, proportions):
    model = Model(
        C, n_components=C, membership=membership, metric=metric_of(directions), matched=matched,
        proportions=proportions, **settings,
    )  # fmt: skip
    rows = rows_of()
    found = alternate(rows, model, first_state(rows, model, [START]), max_iter=15, tol=0.0)
    trace = found.traces[0]
    assert len(trace) > 2
    assert np.diff(trace).max() <= 1e-9 * abs(trace[0])


@pytest.mark.parametrize("given", [False, True], ids=["proportions of the rows", "given proportions"])
@pytest.mark.parametrize("seed", range(6))
def test_the_objective_never_rises_with_rows_that_are_not_selected(given, seed):
    draw = np.random.default_rng(seed)
    shares = np.log(draw.dirichlet(np.full(C, 0.3), size=M))
    model = Model(
        C, n_components=C, within_weight=0.0, metric=metric_of(), matched=True, proportions=not given,
        log_shares=shares if given else None,
    )  # fmt: skip
    rows = rows_of()
    state = first_state(rows, model, [START])
    vs = [np.where(draw.random(len(own)) < 0.4, 0, draw.random(len(own)))[None] for own in LABELS]
    weights, _ = rows.apply(jobs.stage_weights, vs, outputs=1)
    [trace] = alternate(rows, model, replace(state, weights=weights), max_iter=25, tol=-np.inf).traces
    assert len(trace) == 25
    assert np.diff(trace).max() <= 1e-9 * abs(trace[0])


def test_runs_side_by_side_are_runs_one_by_one():
    kappa, free, rows = np.array([np.inf, 5.0, 50.0]), np.array([False, True, True]), rows_of()
    both = Model(C, 0.0, C, membership=Responsibilities(), metric=metric_of(), matched=free, shrinkage=kappa,
                 proportions=True)  # fmt: skip
    together = alternate(rows, both, first_state(rows, both, [START] * 3), max_iter=8, tol=0.0)
    for run in range(3):
        alone = both.runs([run])
        single = alternate(rows, alone, first_state(rows, alone, [START]), max_iter=8, tol=0.0)
        assert_allclose(together.traces[run], single.traces[0], rtol=1e-9)


@pytest.mark.parametrize("directions", [None, V], ids=["full", "some directions"])
def test_losses_are_distances_in_the_metric(directions):
    model, rows = Model(C, 0.3, C, metric=metric_of(directions), matched=True), rows_of()
    state = first_state(rows, model, [START])
    state = with_losses(rows, model, alternate(rows, model, state, max_iter=2, tol=0.0).state)
    shape = model.shape(state.centers)
    S = shape.K[0] if directions is None else V @ shape.K[0] @ V.T + shape.rest[0] * (np.eye(D) - V @ V.T)
    A = np.linalg.inv(S)
    assert_allclose(shape.log_determinant(D)[0], np.linalg.slogdet(S)[1])
    for k, X in enumerate(XS):
        own, common = state.centers.Ms[0, k], state.centers.b[0, k] + state.centers.Z[0]
        at = state.Ps[k][0]
        r, s = X - own[at], X - common[at]
        wanted = 0.3 * np.einsum("id,de,ie->i", r, A, r) + 0.7 * np.einsum("id,de,ie->i", s, A, s)
        assert_allclose(state.Ls[k][0], wanted, rtol=1e-8)


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_the_scatter_around_the_centres_is_that_of_the_rows(settings):
    model, rows = Model(C, n_components=C, metric=metric_of(), matched=True, **settings), rows_of()
    weights = rows.apply(jobs.unit_weights, outputs=1)[0]
    labels = [own[None] for own in START]
    totals, spread = totals_of(rows, model, labels, weights), model.spread(rows, weights)
    centers = model.update_centers(totals.S, totals.T, None, None, rows.origins, spread)
    G, trace = residual_scatter(model, centers, totals.S, totals.T, rows.origins, spread)
    wanted = np.zeros((D, D))
    for k, (X, own, u) in enumerate(zip(XS, START, WEIGHTS, strict=True)):
        if not spread.sharing[k]:
            continue
        mine, common = centers.Ms[0, k], centers.b[0, k] + centers.Z[0]
        lam = 1.0 if model.shrinkage is not None else np.broadcast_to(model.shares, (1, M))[0, k]
        r, s = X - mine[own], X - common[own]
        wanted += lam * (u[:, None] * r).T @ r + (1 - lam) * (u[:, None] * s).T @ s
        if model.shrinkage is not None and np.isfinite(model.shrinkage[0]):
            wanted += model.shrinkage[0] * (mine - common).T @ (mine - common)
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
    model = Model(C, 0.5, 3, metric=Metric(None, np.eye(3)), matched=True, proportions=True)
    rows = rows_of(Xs)
    found = alternate(rows, model, first_state(rows, model, [LABELS]), max_iter=5, tol=0.0)
    assert np.isfinite(found.traces[0]).all()
    assert np.isfinite(found.state.centers.K).all()


def test_sums_that_are_rounding_errors_make_a_covariance_all_the_same():
    spread = np.diag([1e8, 1e8, -3e3, 1.0, -2.0])[None]  # what single precision leaves of clusters that lie far apart
    metric = metric_of()
    found = metric.estimate(spread, np.array([2e8]), np.array([150.0]), D)
    assert not definite(found.K)
    bounded = metric.bounded(found)
    assert definite(bounded.K)
    assert np.linalg.eigvalsh(bounded.K[0]).min() > 0


def test_powers_of_the_metric():
    for directions in (None, V):
        K = np.cov(rng.normal(size=(20, D if directions is None else 3)).T)[None]
        shape, Y = Shape(directions, K, np.array([0.4])), rng.normal(size=(1, 6, D))
        assert_allclose(shape.power(shape.power(Y, 0.5), 0.5), shape.times(Y[:, None])[:, 0])
        assert_allclose(shape.power(shape.power(Y, 0.5), -0.5), Y)
        a, s, q = shape.axes()
        wanted = np.einsum("rid,rid->i", shape.power(Y, 1.0), Y)
        assert_allclose(a * np.sum(Y[0] ** 2, axis=1) + (Y[0] @ q[0].T) ** 2 @ s[0], wanted)


def test_a_weight_of_two_is_two_rows():
    twice = [np.concatenate([X, X[:5]]) for X in XS]
    start = [np.concatenate([own, own[:5]]) for own in START]
    weights = [np.r_[np.full(5, 2.0), np.ones(len(own) - 5)] for own in START]
    model = Model(C, 0.4, C, metric=metric_of(), matched=True, proportions=True)
    origins = [X.mean(axis=0) for X in XS]
    once, again = rows_of(us=weights, origins=origins), rows_of(twice, [np.ones(len(s)) for s in start], origins)
    a, b = (
        alternate(rows, model, first_state(rows, model, [labels]), max_iter=4, tol=0.0)
        for rows, labels in ((once, START), (again, start))
    )
    assert_allclose(a.traces[0], b.traces[0])
    assert_array_equal(a.state.Ps[0][0], b.state.Ps[0][0][: len(XS[0])])
