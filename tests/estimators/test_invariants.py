"""What always holds for a fitted model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import ortho_group

from mtcluster import ASI, LSSMTC, SPMTC, Schedule
from mtcluster.datasets import make_multitask_blobs

MODELS = {
    "default": {},
    "euclidean": {"metric": "euclidean"},
    "hard": {"weighting": "hard"},
    "paper": {"pace": Schedule(soft_rule="paper")},
    "narrow": {"n_components": 2},
    "projection": {"coupling": "projection", "n_components": 2},
    "nonnegative": {"membership": "nonnegative"},
    "nonnegative-projection": {"membership": "nonnegative", "coupling": "projection", "weighting": "hard"},
}


QUICK = ("default", "euclidean", "nonnegative-projection")  # the others are marked as slow
CASES = [
    pytest.param(given, id=name, marks=[] if name in QUICK else [pytest.mark.slow]) for name, given in MODELS.items()
]


@pytest.fixture(params=CASES)
def model(request):
    return SPMTC(4, random_state=0, **request.param)


def start(blobs, seed=1):
    """Starting memberships, better than chance and nowhere 0."""
    rng = np.random.default_rng(seed)
    return np.eye(4)[np.where(rng.random(len(blobs.y)) < 0.6, blobs.y, rng.integers(4, size=len(blobs.y)))] + 0.2


def fit_from(model, X, tasks, P, **options):
    return model.set_params(init=P).fit(X, tasks=tasks, **options)


def test_constraints_hold(model, blobs):
    model.fit(blobs.X, tasks=blobs.tasks)
    n, l = len(blobs.X), model.fitted_.centers.W.shape[1]
    A = np.linalg.inv(model.fitted_.centers.geometry.tied.K) if model.decisions_.metric == "shared" else np.eye(6)
    assert_allclose(model.fitted_.centers.W.T @ A @ model.fitted_.centers.W, np.eye(l), atol=1e-8)
    assert_allclose(model.transform(blobs.X), blobs.X @ A @ model.fitted_.centers.W, atol=1e-8)
    assert np.all(model.memberships_ >= 0)
    assert_allclose(model.memberships_.sum(axis=1), 1)
    assert np.all((model.fitted_.rows.weights >= 0) & (model.fitted_.rows.weights <= 1))
    assert np.all(model.losses_ >= 0)
    assert model.fitted_.rows.weights.shape == (6, n)
    assert model.task_centers_.shape == (3, 4, 6)
    assert model.fitted_.centers.M.shape == (4, l)
    assert model.n_iter_ == sum(map(len, model.objective_trace_))
    assert len(model.objective_trace_) == len(model.fitted_.rows.fractions)  # from a vote there is no warm-up
    assert_array_equal(model.fitted_.rows.fractions, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def test_the_objective_never_rises_within_a_stage(model, blobs):
    """From a bad start, and with as many iterations as there may be, so that there is something to compare."""
    P = np.random.default_rng(0).random((len(blobs.y), 4)) + 0.2
    model.set_params(within_weight=0.5, pace=Schedule(warmup_iter=2), max_iter=30, tol=0)
    fit_from(model, blobs.X, blobs.tasks, P)
    traces = model.objective_trace_
    assert [len(trace) > 1 for trace in traces] == [True] * 7
    assert sum(np.count_nonzero(np.diff(trace) < 0) for trace in traces) >= 7
    for trace in traces:
        assert np.all(np.diff(trace) <= 1e-9 * trace[0])


def test_the_objective_never_rises_within_a_stage_where_tasks_lie_apart(blobs):
    P = np.random.default_rng(0).random((len(blobs.y), 4))
    for offset in ("mean", "scale"):
        model = SPMTC(4, init=P, within_weight=0.5, task_offset=offset, max_iter=30, tol=0)
        traces = model.fit(blobs.X + 20 * blobs.tasks[:, None], tasks=blobs.tasks).objective_trace_
        assert min(map(len, traces)) > 1
        for trace in traces:
            assert np.all(np.diff(trace) <= 1e-9 * trace[0])


def test_the_objective_of_a_stage_is_the_weighted_sum_of_losses(blobs):
    model = LSSMTC(4, metric="euclidean", random_state=0, tol=0, max_iter=200).fit(blobs.X, tasks=blobs.tasks)
    assert model.fitted_.converged
    assert_allclose(model.objective_trace_[-1][-1], model.losses_.sum())


def test_every_stage_selects_its_fraction_of_each_task_and_the_last_all(model, blobs):
    model.fit(blobs.X, tasks=blobs.tasks)
    for fraction, weights in zip(model.fitted_.rows.fractions, model.fitted_.rows.weights, strict=True):
        for task in model.tasks_:
            assert np.mean(weights[blobs.tasks == task] > 0) >= fraction - 1e-9
    assert np.all(model.weights_ == 1) if model.weighting == "hard" else np.all(model.weights_ > 0)


def test_admitted_is_the_first_fraction_with_a_positive_weight(model, blobs):
    model.fit(blobs.X, tasks=blobs.tasks)
    first = [model.fitted_.rows.fractions[np.flatnonzero(column > 0)[0]] for column in model.fitted_.rows.weights.T]
    assert_array_equal(model.fitted_.rows.admitted, first)
    assert set(model.fitted_.rows.admitted) <= set(model.fitted_.rows.fractions)


def test_predict_of_the_training_rows_returns_the_labels(model, blobs, as_container):
    X = as_container(blobs.X)
    model.fit(X, tasks=blobs.tasks)
    assert_array_equal(model.predict(X, tasks=blobs.tasks), model.labels_)
    P = model.predict_proba(X, tasks=blobs.tasks)
    assert_array_equal(P.argmax(axis=1), model.labels_)
    if model.decisions_.membership == "nonnegative":
        assert_array_equal(P, model.memberships_)
    assert_array_equal(model.score_samples(X, tasks=blobs.tasks), -model.losses_)
    assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    tied = model.fitted_.centers.geometry.tied
    size = np.linalg.slogdet(tied.K)[1] if tied.estimated else 0.0
    assert model.score(X, tasks=blobs.tasks) == pytest.approx(-model.losses_.mean() - size)


@pytest.mark.parametrize("weighting", ["hard", "soft"])
def test_hard_weights_with_everybody_from_the_start_are_lssmtc_iteration_for_iteration(blobs, weighting):
    for membership in ("binary", "nonnegative"):
        common = {"membership": membership, "init": start(blobs), "within_weight": 0.3}
        paced = SPMTC(4, weighting="hard", pace=Schedule(initial_fraction=1.0, warmup_iter=0), **common).fit(
            blobs.X, tasks=blobs.tasks
        )
        plain = LSSMTC(4, **common).fit(blobs.X, tasks=blobs.tasks)
        assert len(paced.objective_trace_) == len(plain.objective_trace_) == 1
        assert_array_equal(paced.objective_trace_[0], plain.objective_trace_[0])
        assert_array_equal(paced.memberships_, plain.memberships_)


def test_one_task_without_a_within_term_is_asi(blobs):
    for coupling in ("reconstruction", "projection"):
        common = {"coupling": coupling, "n_components": 2, "random_state": 0}
        lssmtc = LSSMTC(4, within_weight=0, **common).fit(blobs.X)
        asi = ASI(4, **common).fit(blobs.X)
        assert_array_equal(lssmtc.labels_, asi.labels_)
        assert_array_equal(lssmtc.fitted_.centers.W, asi.fitted_.centers.W)
        assert_array_equal(lssmtc.objective_trace_[0], asi.objective_trace_[0])


def test_a_within_weight_of_1_is_independent_tasks(model, blobs):
    P = start(blobs)
    model.set_params(within_weight=1.0, tol=0)
    together = fit_from(model, blobs.X, blobs.tasks, P)
    labels, centers = together.labels_.copy(), together.task_centers_.copy()
    for k, task in enumerate(np.unique(blobs.tasks)):
        rows = blobs.tasks == task
        alone = fit_from(model, blobs.X[rows], None, P[rows])
        assert_array_equal(labels[rows], alone.labels_)
        assert_allclose(centers[k], alone.task_centers_[0], rtol=1e-6)


def test_the_order_of_rows_does_not_matter(model, blobs):
    P, order = start(blobs), np.random.default_rng(0).permutation(len(blobs.y))
    before = fit_from(model, blobs.X, blobs.tasks, P)
    labels, losses = before.labels_, before.losses_
    after = fit_from(model, blobs.X[order], blobs.tasks[order], P[order])
    assert_array_equal(after.labels_, labels[order])
    assert_allclose(after.losses_, losses[order], rtol=1e-6, atol=1e-9)


def test_the_order_and_the_names_of_tasks_do_not_matter(model, blobs):
    P = start(blobs)
    labels = fit_from(model, blobs.X, blobs.tasks, P).labels_
    renamed = np.array(["z", "a", "m"])[blobs.tasks]
    assert_array_equal(fit_from(model, blobs.X, renamed, P).labels_, labels)
    assert_array_equal(model.tasks_, ["a", "m", "z"])


def test_the_order_of_features_does_not_matter(model, blobs):
    P, order = start(blobs), np.random.default_rng(0).permutation(6)
    labels = fit_from(model, blobs.X, blobs.tasks, P).labels_
    assert_array_equal(fit_from(model, blobs.X[:, order], blobs.tasks, P).labels_, labels)


def test_a_rotation_of_feature_space_does_not_matter(model, blobs):
    P, R = start(blobs), ortho_group.rvs(6, random_state=0)
    first = fit_from(model, blobs.X, blobs.tasks, P)
    labels, losses = first.labels_, first.losses_
    turned = fit_from(model, blobs.X @ R, blobs.tasks, P)
    assert_array_equal(turned.labels_, labels)
    rtol = 0.05 if model.decisions_.metric == "shared" else 1e-5  # the prior of the metric is drawn to its diagonal
    assert_allclose(turned.losses_, losses, rtol=rtol, atol=1e-8)


def test_the_numbers_of_clusters_do_not_matter(model, blobs):
    P, order = start(blobs), np.array([2, 0, 3, 1])
    labels = fit_from(model, blobs.X, blobs.tasks, P).labels_
    assert_array_equal(order[fit_from(model, blobs.X, blobs.tasks, P[:, order]).labels_], labels)


def test_a_whole_sample_weight_is_so_many_copies(model, blobs):
    """How much tasks share is given: where it is estimated, copies are evidence, and weights are none."""
    rng, P = np.random.default_rng(0), start(blobs)
    if model.get_params().get("within_weight") == "auto":
        model.set_params(within_weight=0.4)
    weights = rng.integers(1, 4, size=len(blobs.y))
    copies = np.repeat(np.arange(len(blobs.y)), weights)
    weighted = fit_from(model, blobs.X, blobs.tasks, P, sample_weight=weights)
    labels, centers, traces = weighted.labels_, weighted.task_centers_, weighted.objective_trace_
    presence = weighted.cluster_presence_
    repeated = fit_from(model, blobs.X[copies], blobs.tasks[copies], P[copies])
    assert_array_equal(repeated.labels_, labels[copies])
    assert_array_equal(repeated.cluster_presence_, presence)
    assert_allclose(repeated.task_centers_, centers, rtol=1e-6, atol=1e-9)
    assert_allclose(np.concatenate(repeated.objective_trace_), np.concatenate(traces), rtol=1e-8)


def test_the_scale_of_sample_weights_does_not_matter(model, blobs):
    P, weights = start(blobs), np.random.default_rng(0).random(len(blobs.y)) + 0.1
    labels = fit_from(model, blobs.X, blobs.tasks, P, sample_weight=weights).labels_
    assert_array_equal(fit_from(model, blobs.X, blobs.tasks, P, sample_weight=1000 * weights).labels_, labels)


def test_a_row_of_weight_0_has_no_influence_but_gets_a_label(model, blobs):
    P, weights = start(blobs), np.ones(len(blobs.y))
    weights[::7] = 0
    X = blobs.X.copy()
    X[::7] *= 50
    kept = weights > 0
    weighted = fit_from(model, X, blobs.tasks, P, sample_weight=weights)
    labels, centers = weighted.labels_, weighted.task_centers_
    without = fit_from(model, X[kept], blobs.tasks[kept], P[kept])
    assert_array_equal(without.labels_, labels[kept])
    assert_allclose(without.task_centers_, centers, rtol=1e-6, atol=1e-9)
    assert set(labels[~kept]) <= set(range(4))


@pytest.mark.slow
def test_sparse_rows_give_what_dense_rows_give(model, counts):
    X, _, tasks = counts
    model.set_params(n_clusters=3, metric="euclidean")
    dense = model.fit(X, tasks=tasks)
    labels, losses, coordinates = dense.labels_, dense.losses_, dense.transform(X)
    for container in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.dok_array):
        thin = model.fit(container(X), tasks=tasks)
        assert_array_equal(thin.labels_, labels)
        assert_allclose(thin.losses_, losses, rtol=1e-6, atol=1e-8)
        assert_allclose(thin.transform(container(X)), coordinates, rtol=1e-6, atol=1e-8)


def test_an_all_zero_feature_changes_nothing(model, blobs):
    P = start(blobs)
    labels = fit_from(model, blobs.X, blobs.tasks, P).labels_
    wider = np.insert(blobs.X, 2, 0, axis=1)
    assert_array_equal(fit_from(model, wider, blobs.tasks, P).labels_, labels)
    assert np.all(model.task_centers_[:, :, 2] == 0)


def test_an_all_zero_row_gets_a_label_and_never_a_nan(model, counts):
    X, _, tasks = counts
    X[3] = 0
    model.set_params(n_clusters=3).fit(X, tasks=tasks)
    for values in (
        model.memberships_,
        model.losses_,
        model.fitted_.rows.weights,
        model.task_centers_,
        model.transform(X),
    ):
        assert np.all(np.isfinite(values))
    assert model.labels_[3] in range(3)


@pytest.mark.slow
def test_the_number_of_jobs_does_not_change_the_result(model, blobs):
    one = model.set_params(n_init=3, n_jobs=1).fit(blobs.X, tasks=blobs.tasks)
    labels, losses = one.labels_, one.losses_
    two = model.set_params(n_jobs=2).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(two.labels_, labels)
    assert_array_equal(two.losses_, losses)


def test_more_starts_never_end_higher(blobs):
    losses = [
        SPMTC(4, init="random", n_init=n, random_state=0).fit(blobs.X, tasks=blobs.tasks).losses_.sum() for n in (1, 5)
    ]
    assert losses[1] <= losses[0]


@pytest.mark.slow
def test_auto_is_the_better_of_its_kinds(blobs):
    best = {
        init: LSSMTC(4, init=init, n_init=3, random_state=0).fit(blobs.X, tasks=blobs.tasks).losses_.sum()
        for init in ("auto", "per-task", "pooled")
    }
    assert best["auto"] <= 1.001 * min(best["per-task"], best["pooled"])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_data_is_the_type_of_the_results(model, blobs, as_container, dtype):
    X = as_container(blobs.X.astype(dtype))
    model.fit(X, tasks=blobs.tasks)
    for values in (model.memberships_, model.losses_, model.weights_, model.task_centers_, model.fitted_.centers.W):
        assert values.dtype == dtype
    for values in (model.transform(X), model.predict_proba(X), model.score_samples(X)):
        assert values.dtype == dtype
    assert_array_equal(model.predict(X, tasks=blobs.tasks), model.labels_)


@pytest.mark.slow
def test_float32_gives_the_labels_of_float64(model, blobs):
    P = start(blobs)
    labels = fit_from(model, blobs.X, blobs.tasks, P).labels_
    narrow = fit_from(model, blobs.X.astype(np.float32), blobs.tasks, P).labels_
    assert np.mean(narrow == labels) > 0.99


def test_float32_scores_rows_like_float64_when_centers_are_dependent(blobs):
    X = np.abs(blobs.X)
    model = ASI(4, membership="nonnegative", n_components=2, init=start(blobs))
    with pytest.warns(UserWarning, match=r"with 2 component\(s\) and 4 clusters"):
        wide = model.fit(X).score_samples(X)
    with pytest.warns(UserWarning, match=r"with 2 component\(s\) and 4 clusters"):
        narrow = model.fit(X.astype(np.float32)).score_samples(X.astype(np.float32))
    assert_allclose(narrow, wide, rtol=1e-2, atol=1e-2 * np.abs(wide).max())


def test_sparse_data_far_from_zero_have_the_losses_of_dense_data(blobs):
    X, P = blobs.X.copy(), start(blobs)
    X[:, 0] += 1e7
    dense = SPMTC(4, init=P, metric="euclidean").fit(X, tasks=blobs.tasks)
    thin = SPMTC(4, init=P, metric="euclidean").fit(sparse.csr_array(X), tasks=blobs.tasks)
    assert_allclose(thin.losses_, dense.losses_, rtol=1e-4, atol=1e-4)
    assert_array_equal(thin.fitted_.rows.admitted, dense.fitted_.rows.admitted)


def test_parameters_set_after_fit_do_not_change_what_was_fitted(blobs):
    model = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    scores = model.score_samples(blobs.X, tasks=blobs.tasks)
    model.set_params(within_weight=1.0, membership="nonnegative", n_components=1)
    assert_array_equal(model.score_samples(blobs.X, tasks=blobs.tasks), scores)


def test_data_far_from_zero_are_clustered_alike(blobs):
    P = start(blobs)
    model = SPMTC(4, init=P).fit(blobs.X, tasks=blobs.tasks)
    far = SPMTC(4, init=P).fit(blobs.X + 1e7, tasks=blobs.tasks)
    assert_array_equal(far.labels_, model.labels_)
    assert_allclose(far.losses_, model.losses_, rtol=1e-4, atol=1e-4)
    assert_array_equal(far.predict(blobs.X + 1e7, tasks=blobs.tasks), far.labels_)


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_the_unit_of_the_rows_does_not_matter(blobs, unit):
    plain, scaled = (SPMTC(4, random_state=0).fit(factor * blobs.X, tasks=blobs.tasks) for factor in (1.0, unit))
    assert_array_equal(scaled.labels_, plain.labels_)
    assert plain.decisions_.metric == "shared"
    assert_allclose(scaled.losses_, plain.losses_, rtol=1e-6)
    euclidean = (SPMTC(4, metric="euclidean", random_state=0).fit(u * blobs.X, tasks=blobs.tasks) for u in (1.0, unit))
    plain, scaled = euclidean
    assert_array_equal(scaled.labels_, plain.labels_)
    assert_allclose(scaled.losses_ / unit / unit, plain.losses_, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_units_of_features_do_not_matter_with_a_shared_metric(seed):
    X, _, tasks = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, random_state=seed)
    labels = SPMTC(4, random_state=0).fit(X, tasks=tasks).labels_
    for units in (7.0, np.array([1e-3, 1e3, 1, 7, 0.1, 3]), 10.0 ** np.random.default_rng(seed).uniform(-3, 3, 6)):
        assert_array_equal(SPMTC(4, random_state=0).fit(units * X, tasks=tasks).labels_, labels)
