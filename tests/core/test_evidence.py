"""The evidence of labels, next to a version that writes down all matrices, and next to numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import multigammaln
from scipy.stats import invgamma, multivariate_normal

from mtcluster.core.evidence import Evidence


def problem(n=40, d=3, m=3, c=4, seed=0):
    """Rows in tasks and clusters, some of which tasks lack."""
    rng = np.random.default_rng(seed)
    tasks, labels = rng.integers(0, m, n), rng.integers(0, c, n)
    labels = np.where((tasks == 0) & (labels == 1), 0, labels)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=(c, d))[labels] + tasks[:, None]
    return X - X.mean(axis=0), tasks, labels, m, c


def sums(X, tasks, labels, m, c):
    N, T = np.zeros((m, c)), np.zeros((m, c, X.shape[1]))
    np.add.at(N, (tasks, labels), 1)
    np.add.at(T, (tasks, labels), X)
    return N, T


def evidence_of(X, **options):
    return Evidence(X.T @ X, float(len(X)), **options)


def naive(X, tasks, labels, judged, nu):
    """The formula, with the covariance (n, n) of the rows written down."""
    n, d = X.shape
    v_m, v_b, v_d = judged.effects
    same, near = labels[:, None] == labels, tasks[:, None] == tasks
    K = np.eye(n) + v_m * same + v_b * near + v_d * (same & near)
    Q = X.T @ np.linalg.solve(K, X)
    psi = np.diag(judged.prior.target)
    return (
        -n * d / 2 * np.log(np.pi)
        - d / 2 * np.linalg.slogdet(K)[1]
        + multigammaln((nu + n) / 2, d)
        - multigammaln(nu / 2, d)
        + nu / 2 * np.linalg.slogdet(psi)[1]
        - (nu + n) / 2 * np.linalg.slogdet(psi + Q)[1]
        - judged.prior.price
    )


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("round", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_that_of_the_whole_covariance(own, round, seed):
    X, tasks, labels, m, c = problem(seed=seed)
    evidence = evidence_of(X, round=round)
    judged = evidence(*sums(X, tasks, labels, m, c), own=own)
    expected = naive(X, tasks, labels, judged, evidence.nu[judged.prior.strength])
    assert judged.value == pytest.approx(expected, rel=1e-10)


def test_evidence_is_the_integral_over_centre_and_variance():
    x = np.array([-1.2, 0.3, 0.4, 0.9])
    evidence = evidence_of(x[:, None])
    judged = evidence(np.array([[4.0]]), np.array([[[x.sum()]]]))
    nu, psi, v_m = evidence.nu[judged.prior.strength], judged.prior.target[0], judged.effects.centers

    def density(S):
        rows = multivariate_normal.pdf(x, np.zeros(4), S * (np.eye(4) + v_m))
        return rows * invgamma.pdf(S, nu / 2, scale=psi / 2)

    found = np.log(quad(density, 0, np.inf, epsabs=0, epsrel=1e-10)[0]) - judged.prior.price
    assert judged.value == pytest.approx(found, abs=1e-8)


def test_names_of_tasks_and_clusters_do_not_matter():
    X, tasks, labels, m, c = problem()
    N, T = sums(X, tasks, labels, m, c)
    k, j = np.random.default_rng(1).permutation(m), np.random.default_rng(2).permutation(c)
    evidence = evidence_of(X)
    assert evidence(N[k][:, j], T[k][:, j]).value == pytest.approx(evidence(N, T).value, rel=1e-12)


def test_true_labels_are_more_probable_than_others():
    X, tasks, labels, m, c = problem(n=300)
    evidence, rng = evidence_of(X), np.random.default_rng(0)
    others = labels.copy()
    others[rng.choice(300, 10, replace=False)] = rng.integers(0, c, 10)
    assert evidence(*sums(X, tasks, labels, m, c)).value > evidence(*sums(X, tasks, others, m, c)).value


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_offsets_have_a_variance_where_tasks_lie_apart(offset):
    rng = np.random.default_rng(0)
    tasks, labels = np.repeat(np.arange(6), 50), np.tile(np.arange(3), 100)
    X = rng.normal(size=(300, 4)) + 8 * rng.normal(size=(3, 4))[labels] + offset * rng.normal(size=(6, 4))[tasks]
    X -= X.mean(axis=0)
    judged = evidence_of(X)(*sums(X, tasks, labels, 6, 3))
    assert (judged.effects.offsets > 0) == (offset > 0)
    assert evidence_of(X)(*sums(X, tasks, labels, 6, 3), offsets=False).effects.offsets == 0


def test_gain_of_a_move_is_the_difference_of_two_evidences():
    X, tasks, labels, m, c = problem()
    evidence = evidence_of(X)
    N, T = sums(X, tasks, labels, m, c)
    judged = evidence(N, T, own=True)
    moved = np.where((tasks == 1) & (labels == 2), 0, labels)
    N2, T2 = sums(X, tasks, moved, m, c)
    gain = evidence.gains(N, T, judged, np.array([1, 2]), np.stack([N2[1], N[2]]), np.stack([T2[1], T[2]]))
    nu = evidence.nu[judged.prior.strength]
    expected = naive(X, tasks, moved, judged, nu) - naive(X, tasks, labels, judged, nu)
    np.testing.assert_allclose(gain, [expected, 0.0], atol=1e-8)


def test_weights_count_as_copies():
    X, tasks, labels, m, c = problem()
    N, T = sums(X, tasks, labels, m, c)
    twice = np.concatenate([X, X])
    found = evidence_of(twice)(*sums(twice, np.tile(tasks, 2), np.tile(labels, 2), m, c))
    assert Evidence(2 * X.T @ X, 2.0 * len(X))(2 * N, 2 * T).value == pytest.approx(found.value, rel=1e-12)
