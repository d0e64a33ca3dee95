"""Probabilities of labels: calibrated, consistent with `predict`, wherever the rows live."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.core.relations import match
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators import base

SETS = [(separation, seed) for separation in (4, 5, 6) for seed in (0, 1)]


def calibration_error(P, right):
    """Expected calibration error: |confidence − accuracy| in ten bins of the confidence, by their rows."""
    confidence = P.max(axis=1)
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = np.bincount(bins, confidence - right, minlength=10)
    return np.abs(gaps).sum() / len(P)


def check(P, labels):
    assert P.shape == (len(labels), P.shape[1])
    assert np.all(P >= 0)
    assert_allclose(P.sum(axis=1), 1, rtol=1e-5)
    assert_array_equal(P.argmax(axis=1), labels)


@pytest.mark.parametrize("Estimator", [SPMTC, LSSMTC])
def test_probabilities_of_seen_and_new_rows_are_calibrated(Estimator):
    errors, before = [], []
    for separation, seed in SETS:
        X, y, tasks = make_multitask_blobs(300, 10, n_tasks=3, n_clusters=4, separation=separation, random_state=seed)
        seen = np.random.default_rng(seed).permutation(len(X)) < len(X) // 2
        model = Estimator(4, random_state=0).fit(X[seen], tasks=tasks[seen])
        table = np.zeros((4, 4))
        np.add.at(table, (model.labels_, y[seen]), 1)
        names = np.asarray(match(table))
        found = []
        for at in (seen, ~seen):
            P = model.predict_proba(X[at], tasks=tasks[at])
            right = names[P.argmax(axis=1)] == y[at]
            found.append(calibration_error(P, right))
        errors.append(found)
        before.append(1 - np.mean(names[model.labels_] == y[seen]))
    of_seen, of_new = np.mean(errors, axis=0)
    assert of_seen <= 0.05
    assert of_new <= 0.05
    assert of_seen < np.mean(before) / 2  # memberships of 0 and 1 are always sure


def test_well_separated_clusters_are_nearly_certain():
    X, _, tasks = make_multitask_blobs(100, 5, n_tasks=3, n_clusters=4, separation=15, random_state=0)
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    assert model.predict_proba(X, tasks=tasks).max(axis=1).mean() > 0.999


MODELS = {
    "default": SPMTC(4, random_state=0),
    "euclidean": LSSMTC(4, metric="euclidean", random_state=0),
    "projection": LSSMTC(4, coupling="projection", within_weight=0.5, n_init=1, random_state=0),
    "components": SPMTC(4, within_weight=0.5, n_components=2, n_init=1, random_state=0),
    "offsets": SPMTC(4, within_weight=0.5, task_offset="scale", n_init=1, random_state=0),
    "asi": ASI(4, n_init=1, random_state=0),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.filterwarnings("ignore:coupling")
def test_the_largest_is_that_of_the_label(model, blobs, as_container, dtype):
    X = as_container(blobs.X.astype(dtype))
    model.fit(X, tasks=blobs.tasks)
    assert model.fitted_.temperature > 0
    P = model.predict_proba(X, tasks=blobs.tasks)
    assert P.dtype == dtype
    check(P, model.labels_)
    check(model.predict_proba(X), model.predict(X))
    assert_array_equal(model.memberships_, np.eye(4)[model.labels_])


def test_rows_of_interleaved_tasks_in_small_pieces_have_the_same(blobs, monkeypatch):
    model = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    P = model.predict_proba(blobs.X, tasks=blobs.tasks)
    monkeypatch.setattr("mtcluster.core.arrays.MOST_ROWS", 16)
    monkeypatch.setattr("mtcluster.core.arrays.PIECE", 64)
    assert_allclose(model.predict_proba(blobs.X, tasks=blobs.tasks), P, atol=1e-12)


@pytest.mark.dask
def test_dask_arrays_have_the_same(blobs):
    da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'mtcluster[dask]'")
    here = SPMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    X = da.from_array(blobs.X, chunks=((50, 70), -1))
    there = SPMTC(4, within_weight=0.5, random_state=0).fit(X, tasks=blobs.tasks)
    assert there.fitted_.temperature == pytest.approx(here.fitted_.temperature)
    P = there.predict_proba(X, tasks=blobs.tasks)
    assert P.shape == (120, 4)
    check(P.compute(), there.labels_.compute())
    assert_allclose(P.compute(), here.predict_proba(blobs.X, tasks=blobs.tasks), atol=1e-8)


def test_clusters_that_a_task_lacks_have_probability_0():
    X, _, tasks = make_multitask_blobs(100, n_tasks=3, n_clusters=5, absent=0.4, random_state=2)
    model = SPMTC(5, random_state=0).fit(X, tasks=tasks)
    assert not model.cluster_presence_.all()
    P = model.predict_proba(X, tasks=tasks)
    assert_array_equal(P > 0, (P > 0) & model.cluster_presence_[model.fitted_.rows.tasks])
    check(P, model.labels_)


def test_a_common_scale_of_the_columns_changes_nothing(blobs):
    euclidean = LSSMTC(4, metric="euclidean", random_state=0)
    T = euclidean.fit(blobs.X, tasks=blobs.tasks).fitted_.temperature
    P = euclidean.predict_proba(blobs.X, tasks=blobs.tasks)
    scaled = euclidean.fit(8 * blobs.X, tasks=blobs.tasks)
    assert scaled.fitted_.temperature == pytest.approx(64 * T)
    assert_allclose(scaled.predict_proba(8 * blobs.X, tasks=blobs.tasks), P, atol=1e-6)


def test_weights_have_no_scale_and_count(blobs):
    weights = np.random.default_rng(0).integers(1, 3, size=120)
    model = LSSMTC(4, within_weight=0.5, init=np.eye(4)[blobs.y], random_state=0)
    model.fit(blobs.X, tasks=blobs.tasks, sample_weight=weights)
    assert model.fit(blobs.X, tasks=blobs.tasks, sample_weight=7 * weights).fitted_.temperature == pytest.approx(
        model.fit(blobs.X, tasks=blobs.tasks, sample_weight=weights).fitted_.temperature
    )
    heavy = model.fitted_.temperature
    noisy = blobs.X + 3 * np.random.default_rng(1).normal(size=blobs.X.shape) * (weights == 1)[:, None]
    even = model.fit(noisy, tasks=blobs.tasks).fitted_.temperature
    assert heavy < model.fit(noisy, tasks=blobs.tasks, sample_weight=weights**6).fitted_.temperature < even


def test_outliers_leave_the_others_sure():
    X, y, tasks = make_multitask_blobs(150, n_tasks=3, n_clusters=4, separation=8, outliers=0.1, random_state=0)
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    assert model.predict_proba(X, tasks=tasks)[y >= 0].max(axis=1).mean() > 0.95


def test_tasks_left_alone_have_their_own_temperature():
    X, _, tasks = make_multitask_blobs(150, 6, n_tasks=4, n_clusters=4, separation=8, random_state=0)
    unrelated = make_multitask_blobs(150, 6, n_tasks=1, n_clusters=4, separation=8, random_state=100)
    X[tasks == 3] = unrelated.X
    model = SPMTC(4, random_state=0).fit(50 * X, tasks=tasks)
    assert (model.decisions_.metric, model.fitted_.within_weight[3]) == ("shared", 1)
    assert 0.5 < model.fitted_.temperature < 2 < 50**2 / 2 < model.fitted_.temperatures[3] < 2 * 50**2
    P = model.predict_proba(50 * X, tasks=tasks)
    check(P, model.labels_)
    assert np.all(P[tasks == 3].max(axis=1) > 0.25)
    with pytest.warns(UserWarning, match="not in fit"):
        new = model.predict_proba(50 * X[tasks < 3], tasks=["new"] * 450)
    assert new.max(axis=1).mean() > 0.95
    related = model.fit(X[tasks < 3], tasks=tasks[tasks < 3])
    assert (related.fitted_.temperatures == related.fitted_.temperature).all()


def test_without_anything_shared_a_new_task_has_the_temperature_of_the_metric(blobs):
    model = LSSMTC(4, metric="shared", within_weight=1.0, n_init=1, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert (model.decisions_.metric, model.fitted_.temperature) == ("shared", 1)
    check(model.predict_proba(blobs.X, tasks=blobs.tasks), model.labels_)
    check(model.predict_proba(blobs.X), model.predict(blobs.X))


def test_calibration_changes_nothing_else(blobs, monkeypatch):
    state = np.random.RandomState(0)
    model = SPMTC(4, random_state=state).fit(blobs.X, tasks=blobs.tasks)
    after = state.randint(2**31 - 1)
    labels, losses, map_ = model.labels_, model.losses_, model.fitted_.rows.map
    again = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert again.fitted_.temperature == model.fitted_.temperature
    monkeypatch.setattr(base, "calibrate", lambda *given: np.ones(3))
    state = np.random.RandomState(0)
    without = SPMTC(4, random_state=state).fit(blobs.X, tasks=blobs.tasks)
    assert without.fitted_.temperature == 1
    assert state.randint(2**31 - 1) == after
    assert_array_equal(without.labels_, labels)
    assert_array_equal(without.losses_, losses)
    assert_array_equal(without.fitted_.rows.map, map_)


def test_memberships_that_are_no_labels_have_no_temperature(blobs):
    model = LSSMTC(4, within_weight=0.5, n_init=1, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert isinstance(model.fitted_.temperature, float)
    model.set_params(membership="nonnegative").fit(blobs.X, tasks=blobs.tasks)
    assert not hasattr(model, "temperature_")
    assert_array_equal(model.predict_proba(blobs.X, tasks=blobs.tasks), model.memberships_)
    mixture = MultiTaskGaussianMixture(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert not hasattr(mixture, "temperature_")


DEGENERATE = {
    "one row": (np.ones((1, 3)), None, 1),
    "two rows": (np.eye(2), None, 2),
    "one cluster": (np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2, 1),
    "identical rows": (np.ones((20, 3)), np.arange(20) % 2, 3),
    "points": (np.repeat(np.eye(3), 10, axis=0), np.arange(30) % 2, 3),
    "tasks of one row": (np.random.default_rng(0).normal(size=(6, 2)), np.arange(6), 2),
    "as many clusters as rows": (np.random.default_rng(0).normal(size=(5, 2)), None, 5),
    "wide": (np.random.default_rng(0).normal(size=(30, 200)), np.arange(30) % 3, 4),
    "sparse": (sparse.random(60, 200, 0.05, format="csr", random_state=0), np.arange(60) % 3, 4),
    "large": (1e100 * np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2, 3),
    "small": (1e-100 * np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2, 3),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize(
    "model",
    [SPMTC(random_state=0), LSSMTC(within_weight=0.5, random_state=0), ASI(random_state=0)],
    ids=["SPMTC", "LSSMTC", "ASI"],
)
@pytest.mark.filterwarnings("ignore::UserWarning", "error::RuntimeWarning")
def test_whatever_the_rows_are(model, name):
    X, tasks, c = DEGENERATE[name]
    model.set_params(n_clusters=c).fit(X, tasks=tasks)
    assert np.isfinite(model.fitted_.temperature)
    assert model.fitted_.temperature > 0
    P = model.predict_proba(X, tasks=tasks)
    check(P, model.labels_)
    if c == 1:
        assert_array_equal(P, 1)
