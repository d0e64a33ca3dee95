"""A model as k-means: the same labels, or a warning."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from mtcluster import ASI, LSSMTC, SPMTC
from mtcluster.datasets import make_multitask_blobs
from mtcluster.interop._kmeans import _shift

MODELS = {
    "default": SPMTC(4, random_state=0),
    "plain": SPMTC(4, within_weight=0.4, random_state=0),
    "moved": SPMTC(4, within_weight=0.6, task_offset="mean", random_state=0),
    "scaled": SPMTC(4, within_weight=0.6, task_offset="scale", random_state=0),
    "apart": SPMTC(4, within_weight=1, random_state=0),
    "LSSMTC": LSSMTC(4, within_weight=0.3, random_state=0),
    "narrow": LSSMTC(4, within_weight=0.3, n_components=2, random_state=0),
    "projection": LSSMTC(4, within_weight=0.5, coupling="projection", random_state=0),
    "ASI": ASI(4, random_state=0),
}


def around(X, seed=1, n=2000):
    """Rows everywhere that the data are, between clusters too."""
    rng = np.random.default_rng(seed)
    return rng.normal(X.mean(axis=0), 2 * X.std(axis=0), (n, X.shape[1])).astype(X.dtype)


@pytest.fixture
def silence():
    """A warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", MODELS)
def test_labels_of_known_and_unknown_tasks_are_the_models(blobs, name):
    X, _, tasks = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a projection may couple nothing
        model = MODELS[name].fit(X, tasks=tasks)
    rows = around(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for task in model.tasks_.tolist():
            kmeans = model.to_kmeans(task)
            assert isinstance(kmeans, KMeans)
            np.testing.assert_array_equal(kmeans.predict(rows), model.predict(rows, tasks=[task] * len(rows)))
        np.testing.assert_array_equal(model.to_kmeans().predict(rows), model.predict(rows))


def test_the_nearest_mean_of_centers_alone_would_not_be_exact(blobs):
    X, _, tasks = blobs
    model = MODELS["plain"].fit(X, tasks=tasks)
    rows = around(X)
    naive = 0.4 * model.task_centers_[0] + 0.6 * model.cluster_centers_
    nearest = np.argmin(((rows[:, None] - naive) ** 2).sum(axis=2), axis=1)
    assert np.any(nearest != model.predict(rows, tasks=[model.tasks_[0]] * len(rows)))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    c=st.integers(1, 5),
    d=st.integers(5, 8),
    weight=st.floats(0, 1),
    offset=st.sampled_from(["none", "mean", "scale"]),
)
def test_any_model_with_more_features_than_clusters_converts_exactly(seed, c, d, weight, offset):
    X, _, tasks = make_multitask_blobs(30, d, n_tasks=2, n_clusters=max(c, 2), task_shift=3, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # clusters may be empty
        model = LSSMTC(c, within_weight=weight, task_offset=offset, random_state=seed, max_iter=3).fit(X, tasks=tasks)
        rows = around(X, seed, 300)
        task = model.tasks_.tolist()[seed % 2]
        found, wanted = model.to_kmeans(task).predict(rows), model.predict(rows, tasks=[task] * 300)
    differ = np.flatnonzero(found != wanted)
    C = model.task_centers_[seed % 2]
    offsets = model.fitted_.centers.offsets
    shared = offsets.b[seed % 2] + offsets.s[seed % 2] * model.cluster_centers_
    losses = weight * ((rows[:, None] - C) ** 2).sum(axis=2) + (1 - weight) * ((rows[:, None] - shared) ** 2).sum(
        axis=2
    )
    for i in differ:  # ties alone may be broken otherwise
        assert losses[i, found[i]] == pytest.approx(losses[i, wanted[i]], rel=1e-9)


@given(seed=st.integers(0, 1000), c=st.integers(2, 6))
def test_a_shift_makes_up_for_any_constants_of_independent_centers(seed, c):
    rng = np.random.default_rng(seed)
    C, k = rng.normal(size=(c, c + 4)), rng.uniform(0, 3, c)
    t, exact = _shift(C, k)
    assert exact
    x = rng.normal(size=c + 4)
    moved, wanted = ((x - C - t) ** 2).sum(axis=1), ((x - C) ** 2).sum(axis=1) + k
    np.testing.assert_allclose(moved - moved[0], wanted - wanted[0], atol=1e-8)


def test_centers_in_a_line_have_no_shift():
    assert not _shift(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]))[1]
    assert _shift(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0]))[1]
    assert _shift(np.zeros((3, 2)), np.zeros(3))[1]


def test_more_clusters_than_features_allow_warn_and_stay_close():
    X, _, tasks = make_multitask_blobs(60, 2, n_tasks=2, n_clusters=6, task_shift=2, random_state=0)
    model = LSSMTC(6, within_weight=0.5, random_state=0).fit(X, tasks=tasks)
    with pytest.warns(UserWarning, match=r"not exact.*6 clusters.*2 feature"):
        kmeans = model.to_kmeans(model.tasks_[0])
    own = X[tasks == model.tasks_[0]]
    agreement = np.mean(kmeans.predict(own) == model.predict(own, tasks=[model.tasks_[0]] * len(own)))
    assert agreement > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.to_kmeans().predict(X), model.predict(X))


def test_mixtures_warn(counts):
    X, _, tasks = counts
    model = LSSMTC(3, within_weight=0.5, membership="nonnegative", random_state=0).fit(X, tasks=tasks)
    with pytest.warns(UserWarning, match="non-negative mixtures"):
        assert model.to_kmeans(0).predict(X).shape == (len(X),)


def test_data_far_from_zero_warn_where_k_means_cannot_follow(blobs):
    X, _, tasks = blobs
    near, far = (
        LSSMTC(4, within_weight=0.5, random_state=0).fit((X + shift).astype(np.float32), tasks=tasks)
        for shift in (0, 1e5)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near.to_kmeans()
    with pytest.warns(UserWarning, match=r"so far from zero that KMeans.predict loses the digits.*float32"):
        far.to_kmeans()


@pytest.mark.usefixtures("silence")
def test_a_model_of_one_task_needs_no_name(blobs):
    X = blobs.X
    model = SPMTC(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.to_kmeans().predict(X), model.labels_)


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_goes_anywhere(blobs, dtype):
    X, _, tasks = blobs
    X = X.astype(dtype)
    model = LSSMTC(4, within_weight=0.5, random_state=0).fit(X, tasks=tasks)
    kmeans = pickle.loads(pickle.dumps(model.to_kmeans(tasks[0])))
    labels = model.predict(X, tasks=[tasks[0]] * len(X))
    assert kmeans.cluster_centers_.dtype == dtype
    np.testing.assert_array_equal(kmeans.predict(X), labels)
    np.testing.assert_array_equal(kmeans.predict(sparse.csr_matrix(X)), labels)
    assert kmeans.transform(X).shape == (len(X), 4)
    assert kmeans.get_params()["n_clusters"] == 4


@pytest.mark.usefixtures("silence")
def test_it_knows_the_names_of_the_features(blobs):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(blobs.X, columns=list("abcdef"))
    model = LSSMTC(4, random_state=0).fit(X, tasks=blobs.tasks)
    kmeans = model.to_kmeans()
    assert kmeans.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(kmeans.predict(X), model.predict(X))


def test_wrong_tasks_are_named(blobs):
    X, _, tasks = blobs
    with pytest.raises(NotFittedError):
        SPMTC(4).to_kmeans()
    model = LSSMTC(4, random_state=0).fit(X, tasks=tasks)
    with pytest.raises(ValueError, match=r"task='nowhere' is not a task of the fit: choose one of \["):
        model.to_kmeans("nowhere")
