"""Data sets that join a fitted model, and what is new in them."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import clustering_accuracy, joint_accuracy

MODELS = {
    "SPMTC": SPMTC(4, random_state=0),
    "euclidean": SPMTC(4, metric="euclidean", random_state=0),
    "scale": SPMTC(4, within_weight=0.5, task_offset="scale", random_state=0),
    "LSSMTC": LSSMTC(4, random_state=0),
    "mixture": MultiTaskGaussianMixture(4, random_state=0),
    "full mixture": MultiTaskGaussianMixture(4, covariance_type="full", random_state=0),
}
pytestmark = pytest.mark.filterwarnings("ignore:tasks holds")


@pytest.fixture(scope="module")
def blobs():
    """Four tasks and five clusters, of which the first is in the last task alone."""
    X, y, tasks = make_multitask_blobs(
        100, n_tasks=4, n_clusters=5, separation=9, task_shift=0.5, offset=0.5, random_state=1
    )
    kept = (tasks == 3) | (y > 0)
    return X[kept], y[kept], tasks[kept]


@pytest.fixture(scope="module", params=list(MODELS))
def fitted(request, blobs):
    X, _, tasks = blobs
    return MODELS[request.param].fit(X[tasks < 3], tasks=tasks[tasks < 3])


@pytest.fixture(scope="module")
def model(blobs):
    X, _, tasks = blobs
    return SPMTC(4, random_state=0).fit(X[tasks < 3], tasks=tasks[tasks < 3])


def joining(blobs, known_only=True):
    X, y, tasks = blobs
    at = (tasks == 3) & ((y > 0) | (not known_only))
    return X[at], y[at], tasks[at]


def test_a_task_joins_and_all_others_stay_as_they_are(fitted, blobs):
    before = {name: np.copy(value) for name, value in vars(fitted).items() if isinstance(value, np.ndarray)}
    X, y, tasks = joining(blobs)
    adapted = fitted.adapt(X, tasks=tasks)
    for name, value in before.items():
        assert_array_equal(getattr(fitted, name), value, err_msg=name)
    assert adapted.tasks_.tolist() == [0, 1, 2, 3]
    assert type(adapted) is type(fitted)
    old = blobs[2] < 3
    assert_array_equal(adapted.predict(blobs[0][old], tasks=blobs[2][old]), fitted.labels_)
    labels = np.r_[fitted.labels_, adapted.predict(X, tasks=tasks, novelty="none")]
    assert joint_accuracy(np.r_[blobs[1][old], y], labels, np.r_[blobs[2][old], tasks]) > 0.95


def test_attributes_have_rows_for_all_tasks_and_for_the_new_rows(fitted, blobs):
    X, _, tasks = joining(blobs)
    adapted = fitted.adapt(X, tasks=tasks)
    n, d = X.shape
    assert adapted.task_centers_.shape == (4, 4, d)
    for values in (adapted.cluster_sizes_, adapted.fitted_.support, adapted.cluster_presence_):
        assert values.shape == (4, 4)
    assert adapted.task_relatedness_.shape == (4, 4)
    assert_array_equal(adapted.fitted_.rows.tasks, 3)
    for values in (adapted.labels_, adapted.losses_, adapted.weights_, adapted.fitted_.rows.admitted):
        assert values.shape == (n,)
    assert adapted.memberships_.shape == (n, 4)
    assert_allclose(adapted.cluster_sizes_[3].sum(), np.count_nonzero(adapted.labels_ >= 0))
    assert_array_equal(adapted.predict(X, tasks=tasks), adapted.labels_)
    assert_array_equal(adapted.fitted_.groups.joined, [False, False, False, True])


def test_predict_of_an_unknown_task_is_what_adapt_gives(fitted, blobs):
    X, _, tasks = joining(blobs, known_only=False)
    adapted = fitted.adapt(X, tasks=tasks)
    assert_array_equal(fitted.predict(X, tasks=tasks), adapted.labels_)
    assert_allclose(fitted.score_samples(X, tasks=tasks), adapted.score_samples(X, tasks=tasks), rtol=1e-6)


def test_a_group_that_no_cluster_explains_is_flagged_or_opens_a_cluster(fitted, blobs):
    X, y, tasks = joining(blobs, known_only=False)
    flagged = fitted.adapt(X, tasks=tasks).labels_
    assert np.mean(flagged[y == 0] == -1) > 0.95
    assert np.mean(flagged[y > 0] == -1) < 0.12
    opened = fitted.adapt(X, tasks=tasks, novelty="new")
    assert opened.n_clusters_ >= 5
    assert np.mean(opened.labels_[y == 0] == 4) > 0.9
    assert_array_equal(opened.cluster_presence_[:3, 4:], False)
    assert opened.cluster_presence_[3, 4]
    assert_array_equal(opened.predict(X, tasks=tasks), opened.labels_)
    old = blobs[2] < 3
    assert_array_equal(opened.predict(blobs[0][old], tasks=blobs[2][old]), fitted.labels_)
    assert_allclose(
        (opened.fitted_.centers.M @ opened.fitted_.centers.W.T)[:4],
        fitted.fitted_.centers.M @ fitted.fitted_.centers.W.T,
    )
    none = fitted.adapt(X, tasks=tasks, novelty="none")
    assert none.labels_.min() >= 0
    assert_array_equal(none.predict(X, tasks=tasks), none.labels_)
    assert opened.predict_proba(X, tasks=tasks).shape == (len(X), opened.n_clusters_)


def test_methods_of_the_fitted_model_serve_the_adapted_one(fitted, blobs):
    X, _, tasks = joining(blobs, known_only=False)
    for novelty in ("flag", "new"):
        adapted = fitted.adapt(X, tasks=tasks, novelty=novelty)
        assert np.isfinite(adapted.score_samples(X, tasks=tasks)).all()
        assert adapted.transform(X).shape == (len(X), adapted.fitted_.centers.W.shape[1])
        assert "3" in str(adapted.relations())
        assert "Joined after the fit: task 3" in str(adapted.explain())
        assert "<html" in adapted.report().html
    if not isinstance(fitted, MultiTaskGaussianMixture) and fitted.decisions_.metric == "euclidean":
        found = adapted.to_kmeans(task=3).predict(X)
        assert np.mean(found == adapted.predict(X, tasks=tasks, novelty="none")) > 0.95


def test_shared_centres_follow_with_update_and_only_then(fitted, blobs):
    X, _, tasks = joining(blobs)
    shared = fitted.fitted_.centers.M @ fitted.fitted_.centers.W.T
    still, moved = (fitted.adapt(X, tasks=tasks, update=update) for update in (False, True))
    assert_array_equal(still.fitted_.centers.M @ still.fitted_.centers.W.T, shared)
    apart = np.linalg.norm(moved.fitted_.centers.M @ moved.fitted_.centers.W.T - shared, axis=1)
    assert 0 < apart.max() < 2
    assert moved.predict(X, tasks=tasks, novelty="none").shape == (len(X),)


def test_rows_of_a_known_task_add_to_it_with_update_and_are_refused_without(model, blobs):
    X, _, tasks = blobs
    own = tasks == 1
    with pytest.raises(ValueError, match="tasks holds 1, which the model knows: update=True"):
        model.adapt(X[own], tasks=tasks[own])
    again = model.adapt(X[own], tasks=tasks[own], update=True)
    assert again.tasks_.tolist() == [0, 1, 2]
    assert_allclose(again.cluster_sizes_[1], 2 * model.cluster_sizes_[1])
    assert_allclose(again.task_centers_[1], model.task_centers_[1], atol=0.5)
    assert_array_equal(again.cluster_sizes_[[0, 2]], model.cluster_sizes_[[0, 2]])


def test_tasks_join_one_after_the_other_and_groups_are_remembered(model, blobs):
    X, y, tasks = joining(blobs, known_only=False)
    once = model.adapt(X, tasks=tasks)
    twice = once.adapt({"later": X[y > 0] + 0.1})
    assert twice.tasks_.tolist() == [0, 1, 2, 3, "later"]
    assert_array_equal(twice.predict(X, tasks=tasks), once.labels_)
    assert_array_equal(twice.fitted_.groups.joined, [False, False, False, True, True])


def test_an_ordinary_task_joins_without_a_word_and_predict_names_it(model, blobs):
    X, _, _ = joining(blobs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.adapt({"new": X})
    with pytest.warns(UserWarning, match="tasks holds 'new', not in fit. Where 'new' lies"):
        model.predict({"new": X})
    with pytest.warns(UserWarning, match="fit knows 2"):
        model.adapt({"2": X})


def test_a_dict_names_the_tasks_and_a_matrix_needs_them(model, blobs):
    X, _, tasks = joining(blobs)
    assert_array_equal(model.adapt({3: X}).labels_, model.adapt(X, tasks=tasks).labels_)
    with pytest.raises(ValueError, match="tasks=None needs X to be a dict"):
        model.adapt(X)


@pytest.mark.parametrize("n", [1, 5])
def test_few_rows_are_labelled_by_the_shared_centres(model, blobs, n):
    X, _, _ = joining(blobs)
    with pytest.warns(UserWarning, match="too few rows to tell where it lies"):
        adapted = model.adapt({"few": X[:n]}, novelty="none")
    assert adapted.labels_.shape == (n,)
    assert_array_equal(adapted.task_centers_[3], model.fitted_.centers.M @ model.fitted_.centers.W.T)


def test_a_task_of_one_cluster_holds_that_one(model, blobs):
    X, y, _ = joining(blobs)
    adapted = model.adapt({"one": X[y == 2]}, novelty="none")
    [held] = np.flatnonzero(adapted.cluster_presence_[3])
    whole = model.adapt({"all": X}, novelty="none")
    assert np.mean(whole.labels_[y == 2] == held) > 0.9


@pytest.mark.parametrize(("factor", "told"), [(25.4, "millimetres for inches: all columns, ×25.4"),
                                              (1 / 25.4, "inches for millimetres: all columns, ÷25.4")])  # fmt: skip
def test_other_units_are_told_by_their_factor_and_no_row_is_labelled(fitted, blobs, factor, told):
    X, _, tasks = joining(blobs)
    with pytest.warns(UserWarning, match=f"rows of 3 lie outside .* looks like {told}"):
        adapted = fitted.adapt(X * factor, tasks=tasks)
    assert np.mean(adapted.labels_ == -1) > 0.95
    with pytest.warns(UserWarning, match=told):
        predicted = fitted.predict(X * factor, tasks=tasks)
    assert_array_equal(predicted, adapted.labels_)
    assert_array_equal(adapted.predict(X * factor, tasks=tasks), adapted.labels_)


@pytest.mark.parametrize(("factor", "told"), [(25.4, "millimetres for inches: column 'width', ×25.4"),
                                              (1e-3, "wholes for thousandths: column 'width', ÷1000")])  # fmt: skip
def test_one_column_in_other_units_is_told_by_its_name(blobs, factor, told):
    pd = pytest.importorskip("pandas")
    X, _, tasks = blobs
    names = [*(f"x{i}" for i in range(X.shape[1] - 1)), "width"]
    model = SPMTC(4, random_state=0).fit(pd.DataFrame(X[tasks < 3], columns=names), tasks=tasks[tasks < 3])
    new = pd.DataFrame(joining(blobs)[0], columns=names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.adapt({"new": new})
    with pytest.warns(UserWarning, match=told):
        model.adapt({"new": new.assign(width=new["width"] * factor)})


def test_a_task_without_anything_in_common_is_told(model):
    X = np.random.default_rng(0).uniform(-60, 60, size=(80, 10))
    with pytest.warns(UserWarning, match="nothing in common"):
        assert np.mean(model.adapt({"strange": X}).labels_ == -1) > 0.9


@pytest.mark.parametrize("noise", [1.0, 1.5])
@pytest.mark.parametrize("n_new", [10, 60, 400])
def test_a_new_group_is_found_however_large_it_is_and_however_noisy_the_task(model, n_new, noise):
    rng, known = np.random.default_rng(0), model.task_centers_[0]
    far = known.mean(axis=0) + 14 * np.linalg.svd(known - known.mean(axis=0))[2][-1]
    rows = (
        np.r_[np.repeat(known, 30, axis=0), np.tile(far, (n_new, 1))] + 3 + noise * rng.normal(size=(120 + n_new, 10))
    )
    labels = model.predict({"new": rows})
    assert np.mean(labels[120:] == -1) > 0.95
    assert np.mean(labels[:120] == -1) < 0.08
    opened = model.adapt({"new": rows}, novelty="new")
    assert opened.n_clusters_ == 5
    assert np.mean(opened.labels_[120:] == 4) > 0.9


def test_rows_are_flagged_at_a_small_rate_only_if_they_are_at_a_large_one(fitted, blobs):
    X, _, tasks = joining(blobs, known_only=False)
    flags = [fitted.predict(X, tasks=tasks, novelty_rate=rate) < 0 for rate in (0.001, 0.01, 0.1, 0.5)]
    for fewer, more in pairwise(flags):
        assert more[fewer].all()
    assert flags[0].sum() < flags[-1].sum()


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_neither_the_order_of_the_rows_nor_the_units_of_the_columns_change_a_label(blobs, missing):
    X, _, tasks = blobs
    X = np.where(np.random.default_rng(0).random(X.shape) < missing, np.nan, X)
    units = 10.0 ** np.linspace(-3, 3, X.shape[1])
    old, new = tasks < 3, tasks == 3
    order = np.random.default_rng(1).permutation(int(new.sum()))
    model, moved = (SPMTC(4, random_state=0).fit(rows[old], tasks=tasks[old]) for rows in (X, X * units))
    assert_array_equal(moved.labels_, model.labels_)
    labels = model.predict({"new": X[new]})
    assert_array_equal(model.predict({"new": X[new][order]}), labels[order])
    assert_array_equal(moved.predict({"new": X[new] * units}), labels)


def test_ordinary_rows_are_flagged_at_about_the_rate():
    shares = []
    for seed in range(5):
        X, _, tasks = make_multitask_blobs(400, n_tasks=4, n_clusters=3, separation=9, random_state=seed)
        fitted = SPMTC(3, random_state=0).fit(X[tasks < 3], tasks=tasks[tasks < 3])
        shares.append([np.mean(fitted.predict(X[tasks == 3], tasks=tasks[tasks == 3], novelty_rate=rate) < 0)
                       for rate in (0.01, 0.1)])  # fmt: skip
    low, high = np.mean(shares, axis=0)
    assert low < 0.04
    assert 0.03 < high < 0.25


def test_rows_of_the_fit_and_rows_without_tasks_are_never_flagged(model, blobs):
    X, _, tasks = blobs
    far = X[tasks < 3] + 1000
    assert model.predict(far, tasks=tasks[tasks < 3]).min() >= 0
    assert model.predict(far).min() >= 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"novelty": "maybe"}, "novelty='maybe' should be one of 'flag', 'none', 'new'"),
        ({"novelty_rate": 0}, "novelty_rate=0 should be a number between 0 and 1"),
        ({"novelty_rate": "1"}, "novelty_rate='1' should be a number"),
    ],
)
def test_wrong_arguments_are_named(model, blobs, arguments, message):
    X, _, tasks = joining(blobs)
    with pytest.raises(ValueError, match=message):
        model.adapt(X, tasks=tasks, **arguments)
    if "novelty_rate" in arguments:
        with pytest.raises(ValueError, match=message):
            model.predict(X, tasks=tasks, **arguments)
    with pytest.raises(ValueError, match="novelty='new' should be one of 'flag', 'none'"):
        model.predict(X, tasks=tasks, novelty="new")


def test_what_makes_no_sense_is_refused_by_name(blobs):
    X, _, tasks = blobs
    pooled = ASI(4, random_state=0).fit(X)
    with pytest.raises(TypeError, match="ASI pools the rows of all tasks"):
        pooled.adapt(X, tasks=tasks)
    mixed = LSSMTC(3, within_weight=0.5, membership="nonnegative", max_iter=5, random_state=0)
    mixed.fit(np.abs(X[tasks < 3]), tasks=tasks[tasks < 3])
    with pytest.raises(ValueError, match="novelty='new' needs clusters"):
        mixed.adapt(np.abs(X[tasks == 3]), tasks=tasks[tasks == 3], novelty="new")
    adapted = mixed.adapt(np.abs(X[tasks == 3]), tasks=tasks[tasks == 3])
    assert adapted.memberships_.shape == (int((tasks == 3).sum()), 3)


def test_projection_keeps_its_subspace(blobs):
    X, _, tasks = blobs
    plain = LSSMTC(4, within_weight=0.5, coupling="projection", n_components=3, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(X[tasks < 3], tasks=tasks[tasks < 3])
        adapted = plain.adapt(X[tasks == 3], tasks=tasks[tasks == 3], update=True)
    assert_array_equal(adapted.fitted_.centers.W, plain.fitted_.centers.W)


@pytest.mark.parametrize("kind", ["float32", "sparse", "frame"])
def test_other_kinds_of_rows_join_alike(blobs, kind):
    X, _, tasks = blobs
    pd = pytest.importorskip("pandas")
    make = {"float32": np.float32, "sparse": sparse.csr_matrix, "frame": pd.DataFrame}[kind]
    plain = SPMTC(4, metric="euclidean", random_state=0)
    expected = plain.fit(X[tasks < 3], tasks=tasks[tasks < 3]).adapt(X[tasks == 3], tasks=tasks[tasks == 3])
    rows, new = make(X[tasks < 3]), make(X[tasks == 3])
    adapted = (
        SPMTC(4, metric="euclidean", random_state=0)
        .fit(rows, tasks=tasks[tasks < 3])
        .adapt(new, tasks=tasks[tasks == 3])
    )
    assert clustering_accuracy(expected.labels_, adapted.labels_) > 0.97
    assert adapted.task_centers_.dtype == (np.float32 if kind == "float32" else np.float64)


@pytest.mark.dask
def test_rows_in_chunks_join_as_in_memory(model, blobs):
    da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'mtcluster[dask]'")
    X, _, tasks = joining(blobs, known_only=False)
    for novelty in ("flag", "new"):
        here = model.adapt(X, tasks=tasks, novelty=novelty)
        there = model.adapt(da.from_array(X, chunks=(40, -1)), tasks=tasks, novelty=novelty)
        assert_array_equal(there.labels_.compute(), here.labels_)
        assert_allclose(there.task_centers_, here.task_centers_, rtol=1e-6)


def test_model_files_hold_adapted_models(fitted, blobs, tmp_path):
    pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")
    from mtcluster.interop import dump, load

    X, _, tasks = joining(blobs, known_only=False)
    adapted = fitted.adapt(X, tasks=tasks)
    dump(adapted, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").predict(X, tasks=tasks), adapted.labels_)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_scale_of_weights_of_the_fit_does_not_change_what_is_new(blobs, scale, missing):
    X, _, tasks = blobs
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    old, new = tasks < 3, tasks == 3
    weights = rng.choice([0.5, 1.0, 3.0], int(old.sum()))
    one, other = (
        SPMTC(4, random_state=0).fit(X[old], tasks=tasks[old], sample_weight=factor * weights) for factor in (1, scale)
    )
    assert_array_equal(other.labels_, one.labels_)
    assert_array_equal(other.predict({"new": X[new]}, novelty_rate=0.1), one.predict({"new": X[new]}, novelty_rate=0.1))
    assert_allclose(other.fitted_.ordinary.losses, one.fitted_.ordinary.losses, rtol=1e-6)
