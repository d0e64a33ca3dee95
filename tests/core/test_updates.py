"""Each update is optimal for its block, and the constraints hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from mtcluster.core.blocks import Blocks, Totals, make_block
from mtcluster.core.centers import centers_of, inverse_root
from mtcluster.core.couplings import leading_subspace
from mtcluster.core.memberships import Binary, NonNegative, Quadratic
from mtcluster.core.mstep import update
from mtcluster.core.solver import first_state

from .tools import model_of, quadratic, rows_of, sums, weighted

COUPLINGS = ["reconstruction", "projection"]


def problem(coupling="reconstruction", membership="nonnegative", lam=0.4, l=2, seed=0, d=5):
    """Two tasks with random memberships and weights, and the centres that fit them."""
    rng = np.random.default_rng(seed)
    Xs = [rng.normal(size=(30, d)), rng.normal(1.0, size=(20, d))]
    model = model_of(lam, l, coupling, membership)
    rows = rows_of(Xs, model)
    if membership == "binary":
        Ps = [np.eye(3)[rng.integers(3, size=len(X))] for X in Xs]
    else:
        Ps = [rng.random((len(X), 3)) for X in Xs]
    vs = [rng.random(len(X)) for X in Xs]
    prepared = model.coupling.prepare(rows)
    state = weighted(rows, first_state(rows, model, [Ps], prepared), vs)
    subspaces = model.coupling.subspaces(model, d, 1, rows, state.weights, prepared) or [leading_subspace]
    stats = [sums(X, v, P, 3) for X, P, v in zip(Xs, Ps, vs, strict=True)]
    S, T = np.stack([s for s, _ in stats], axis=1), np.stack([t for _, t in stats], axis=1)
    totals = Totals(S, T, np.zeros(1))
    return Xs, Ps, vs, model, update(model, totals, None, rows.origins, subspaces).take("R", 0)


def total_loss(Xs, Ps, vs, settings, W, M, Ms):
    """Σ v L, written out."""
    lam, value = settings.sharing.lam[0, 0], 0.0
    for X, P, v, Mk in zip(Xs, Ps, vs, Ms, strict=True):
        across = X - P @ M @ W.T if settings.coupling.name == "reconstruction" else X @ W - P @ M
        value += lam * np.sum(v[:, None] * (X - P @ Mk) ** 2) + (1 - lam) * np.sum(v[:, None] * across**2)
    return value


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
def test_no_perturbation_of_the_task_centers_is_better(coupling, membership):
    Xs, Ps, vs, settings, c = problem(coupling, membership)
    rng, best = np.random.default_rng(1), total_loss(Xs, Ps, vs, settings, c.W, c.M, c.Ms)
    for scale in 10.0 ** -np.arange(6).repeat(5):
        assert total_loss(Xs, Ps, vs, settings, c.W, c.M, c.Ms + scale * rng.normal(size=c.Ms.shape)) >= best


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("l", [1, 2, 3, 5])
def test_no_perturbation_of_the_subspace_is_better_when_the_shared_centers_follow(coupling, l):
    Xs, Ps, vs, settings, c = problem(coupling, l=l)
    rng, best = np.random.default_rng(1), total_loss(Xs, Ps, vs, settings, c.W, c.M, c.Ms)
    for scale in 10.0 ** -np.arange(6).repeat(5):
        W, _ = np.linalg.qr(c.W + scale * rng.normal(size=c.W.shape))
        value = total_loss(Xs, Ps, vs, settings, W, c.Z @ W, c.Ms)
        assert value >= best * (1 - 1e-12)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_no_perturbation_of_the_shared_centers_is_better(coupling):
    Xs, Ps, vs, settings, c = problem(coupling)
    rng, best = np.random.default_rng(1), total_loss(Xs, Ps, vs, settings, c.W, c.M, c.Ms)
    for scale in 10.0 ** -np.arange(6).repeat(5):
        assert total_loss(Xs, Ps, vs, settings, c.W, c.M + scale * rng.normal(size=c.M.shape), c.Ms) >= best


def random_form(rng, n=40, c=4, d=6):
    C, X = rng.normal(size=(c, d)), rng.normal(size=(n, d))
    return quadratic(X, C)


def test_nearest_has_the_least_loss_of_all_binary_memberships():
    form = random_form(np.random.default_rng(0))
    every = np.stack([NonNegative().losses(np.tile(p[:, None], (1, 1, 40)), form) for p in np.eye(4)])
    assert_allclose(Binary().losses(Binary().exact(form), form), every.min(axis=0))
    assert_allclose(Binary().step(None, form, None)[1], every.min(axis=0))


def test_the_exact_memberships_are_those_of_scipy():
    rng = np.random.default_rng(0)
    C, X = rng.normal(size=(5, 8)), rng.normal(size=(200, 8))
    form = quadratic(X, C)
    expected = np.array([nnls(C.T, x)[0] for x in X])
    assert_allclose(NonNegative().exact(form)[0].T, expected, atol=1e-7)


def test_the_exact_memberships_exist_for_dependent_centers():
    rng = np.random.default_rng(0)
    C = rng.normal(size=(3, 2))[[0, 1, 2, 0, 1, 2]]  # six centres in two dimensions, three of them twice
    X = rng.normal(size=(50, 2))
    form = quadratic(X, C)
    P = NonNegative().exact(form)
    best = np.array([nnls(C.T, x)[1] ** 2 for x in X])
    assert np.all(P >= 0)
    assert_allclose(NonNegative().losses(P, form)[0], best, atol=1e-6)


def test_the_exact_memberships_of_a_row_do_not_depend_on_the_others():
    form = random_form(np.random.default_rng(0), n=30)
    alone = [NonNegative().exact(Quadratic(form.e[[i]], form.A[..., [i]], form.h, form.B))[0, :, 0] for i in range(30)]
    assert_allclose(NonNegative().exact(form)[0].T, np.array(alone), rtol=1e-12, atol=1e-14)


def test_a_multiplicative_step_never_raises_a_loss_and_stays_nonnegative():
    rng = np.random.default_rng(0)
    for _ in range(20):
        form, P = random_form(rng), rng.random((1, 4, 40))
        new, _ = NonNegative().step(P, form, None)
        assert np.all(new >= 0)
        assert np.all(NonNegative().losses(new, form) <= NonNegative().losses(P, form) * (1 + 1e-12))


def test_multiplicative_steps_lead_to_the_exact_memberships():
    rng = np.random.default_rng(0)
    form, P = random_form(rng), rng.random((1, 4, 40)) + 0.1
    for _ in range(5000):
        P, _ = NonNegative().step(P, form, None)
    assert_allclose(
        NonNegative().losses(P, form), NonNegative().losses(NonNegative().exact(form), form), rtol=1e-3, atol=1e-3
    )


def test_a_multiplicative_step_from_nothing_stays_finite():
    B = np.array([[[1.0, -0.5], [-0.5, 1.0]]])
    form = Quadratic(np.zeros(3), np.zeros((1, 2, 3)), np.ones((1, 2, 1)) / 2, B)
    P = np.array([[0.0, 0.0], [5e-324, 1.0], [1e-308, 5e-324]]).T[None]
    for _ in range(10):
        P, _ = NonNegative().step(P, form, None)
        assert np.all(np.isfinite(P))


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize(("d", "l"), [(5, 1), (5, 3), (5, 5), (80, 4), (80, 60), (80, 80)])
def test_the_subspace_is_orthonormal(coupling, d, l):
    *_, c = problem(coupling, l=l, d=d)
    assert_allclose(c.W.T @ c.W, np.eye(l), atol=1e-8)


def test_the_reconstruction_loss_is_the_projection_loss_plus_what_the_subspace_discards():
    Xs, Ps, _, _, c = problem()
    for X, P in zip(Xs, Ps, strict=True):
        left = np.sum((X - P @ c.M @ c.W.T) ** 2)
        assert_allclose(left, np.sum((X @ c.W - P @ c.M) ** 2) + np.sum((X - X @ c.W @ c.W.T) ** 2))


def test_a_subspace_of_at_least_c_dimensions_holds_the_pooled_centers():
    for l in (3, 4, 5):
        *_, c = problem(l=l)
        assert_allclose(c.M @ c.W.T, c.Z, atol=1e-12)


def test_an_empty_cluster_keeps_its_last_center():
    T, last = np.array([[4.0, 6.0], [0.0, 0.0]]), np.array([[9.0, 9.0], [7.0, 8.0]])
    for S in (np.diag([2.0, 0.0]), np.array([2.0, 0.0])):  # of labels the diagonal is enough
        assert_allclose(centers_of(S, T, last), [[2.0, 3.0], [7.0, 8.0]])


def test_an_empty_cluster_keeps_its_shared_center_in_the_subspace():
    settings = model_of(0.5, 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    rows = Blocks([make_block(X, np.ones(20), np.zeros(5))])
    before = first_state(rows, settings, [[np.arange(20) % 3]]).centers
    S, T = sums(X, np.ones(20), np.eye(3)[np.arange(20) % 2], 3)  # cluster 2 has lost its rows
    totals = Totals(S[:, None], T[:, None], np.zeros(1))
    after = update(settings, totals, before, rows.origins, [leading_subspace])
    assert_allclose(after.shared[0, 2], before.Z[0, 2], atol=1e-10)
    assert_allclose(after.Ms[0, 0, 2], before.Ms[0, 0, 2])


def test_a_cluster_that_a_task_never_had_takes_the_shared_center():
    settings = model_of(0.5, 2, c=2)
    rng = np.random.default_rng(0)
    blocks = [make_block(rng.normal(size=(10, 4)), np.ones(10), np.zeros(4)) for _ in range(2)]
    Ps = [np.arange(10) % 2, np.zeros(10, dtype=int)]
    centers = first_state(Blocks(blocks), settings, [Ps]).centers
    assert_allclose(centers.Ms[0, 1, 1], centers.shared[0, 1])


def test_the_inverse_root_of_a_stack_is_that_of_each():
    rng = np.random.default_rng(0)
    S = np.stack([A @ A.T for A in rng.normal(size=(4, 3, 3))])
    S[2, 1, :] = S[2, :, 1] = 0
    H = inverse_root(S)
    for k in range(4):
        assert_allclose(H[k] @ H[k].T, np.linalg.pinv(S[k], rcond=1e-12, hermitian=True), rtol=1e-6, atol=1e-9)


def test_scaling_a_column_of_memberships_scales_its_center_back():
    rng = np.random.default_rng(0)
    X, P, scale = rng.normal(size=(30, 5)), rng.random((30, 3)), np.array([1e-60, 1.0, 1e40])

    def fitted(P):
        return P @ centers_of(*sums(X, np.ones(30), P, 3), None)[0]

    assert_allclose(fitted(P * scale), fitted(P), rtol=1e-8)
