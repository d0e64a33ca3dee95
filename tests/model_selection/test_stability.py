"""How sure one can be of clusters: refits to halves, data without clusters, gaps."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.exceptions import NotFittedError

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled
from mtcluster.certainty import MEANINGS, VERDICTS
from mtcluster.datasets import make_multitask_blobs
from mtcluster.model_selection import stability

QUICK = {"n_refits": 4, "random_state": 0}
MODELS = {
    "SPMTC": SPMTC(3, random_state=0),
    "on their own": SPMTC(3, within_weight=1.0, random_state=0),
    "scaled": SPMTC(3, within_weight=0.4, task_offset="scale", random_state=0),
    "means removed": SPMTC(3, task_offset="mean", random_state=0),
    "projection": SPMTC(3, coupling="projection", n_components=2, random_state=0),
    "LSSMTC": LSSMTC(3, random_state=0),
    "ASI": ASI(3, random_state=0),
    "mixture": MultiTaskGaussianMixture(3, random_state=0),
    "PerTask": PerTask(KMeans(3, random_state=0)),
    "Pooled": Pooled(KMeans(3, random_state=0)),
    "centred": Pooled(KMeans(3, random_state=0), center=True),
}


@pytest.fixture
def clear():
    return make_multitask_blobs([60, 50], 5, n_tasks=2, n_clusters=3, separation=30, task_shift=1, random_state=0)


@pytest.mark.parametrize("name", MODELS)
def test_clear_clusters_are_found_again(name, clear):
    X, _, tasks = clear
    found = stability(MODELS[name].fit(X, tasks=tasks), X, tasks=tasks, **QUICK)
    apart = name in ("on their own", "PerTask")  # nothing says which cluster of one task is which of another
    assert found.verdict == "clear within tasks" if apart else found.verdict in ("clear", "fair")
    assert found.within == 1
    if not apart:
        assert found.overall == found.halves == found.seeds == 1
        assert_array_equal(found.cluster_stability, 1)
        assert_array_equal(found.cluster_task_stability, np.ones((2, 3)))
        assert_array_equal(found.row_confidence, np.ones(110))
    assert (found.n_refits, found.n_rows, found.tasks) == (4, 110, [0, 1])
    assert found.reference.shape == (3,)
    assert np.nanmax(found.between) < 0.65


def test_containers_and_labels_of_tasks_do_not_matter(clear):
    X, _, tasks = clear
    names = np.array(["b", "a"])[tasks]
    model = SPMTC(3, random_state=0)
    for rows in (sparse.csr_matrix(X), X.astype(np.float32), pd.DataFrame(X, columns=list("pqrst"))):
        found = stability(model.fit(rows, tasks=names), rows, tasks=names, **QUICK)
        assert (found.verdict, found.tasks) == ("clear", ["a", "b"])
    parts = {"x": X[tasks == 0], "y": X[tasks == 1]}
    assert stability(model.fit(parts), parts, **QUICK).tasks == ["x", "y"]


def test_rows_between_overlapping_clusters_are_the_unsure_ones():
    rng = np.random.default_rng(0)
    centers = 20 * np.eye(5)[:4]
    centers[1] = centers[0] + [0, 0, 0, 0, 3]
    y = rng.integers(4, size=600)
    X, tasks = centers[y] + rng.normal(size=(600, 5)), rng.permutation(600) % 3
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    found = stability(model, X, tasks=tasks, random_state=0)
    unsure = found.row_confidence < 1
    assert 5 < unsure.sum() < 60
    assert np.all(y[unsure] < 2)
    assert np.abs(X[unsure, 4] - 1.5).max() < 1.5
    assert found.row_confidence[y >= 2].min() == 1
    overlapping = np.bincount(model.labels_[y < 2], minlength=4) > 30
    assert found.cluster_stability[overlapping].max() < found.cluster_stability[~overlapping].min()
    assert found.verdict in ("fair", "unsure")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_separated_clusters_are_clear(seed):
    for separation, words in ((8, ("clear", "fair")), (16, ("clear",))):
        X, _, tasks = make_multitask_blobs(
            150, 6, n_tasks=3, n_clusters=4, separation=separation, task_shift=2, random_state=seed
        )
        model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
        assert stability(model, X, tasks=tasks, random_state=seed).verdict in words


def structureless(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        return rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5))
    if kind == "square":
        return rng.uniform(size=(500, 2))
    if kind == "line":
        return rng.normal(size=(500, 1))
    angle = rng.uniform(0, np.pi, size=500)
    return np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(500, 2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("c", [2, 4])
@pytest.mark.parametrize("kind", ["gaussian", "square", "line", "curve"])
def test_what_has_no_clusters_is_never_clear(kind, c, seed):
    X = structureless(kind, seed)
    for tasks in (None, np.arange(len(X)) % 2):
        model = SPMTC(c, random_state=0).fit(X, tasks=tasks)
        assert stability(model, X, tasks=tasks, random_state=seed).verdict not in VERDICTS[:2]


@pytest.mark.parametrize("seed", range(3))
def test_two_clusters_on_a_line_are_seen(seed):
    rng = np.random.default_rng(seed)
    X = np.r_[rng.normal(-5, size=(100, 1)), rng.normal(5, size=(100, 1))]
    assert stability(SPMTC(2, random_state=0).fit(X), X, random_state=seed).verdict in ("clear", "fair")


def test_one_cluster_is_no_structure(clear):
    X, _, tasks = clear
    found = stability(SPMTC(1, random_state=0).fit(X, tasks=tasks), X, tasks=tasks, **QUICK)
    assert found.verdict == "no clear structure"
    assert found.overall == 1
    assert found.between.shape == (1, 1)


def test_clusters_without_rows_have_no_stability():
    X = np.repeat(5 * np.eye(3), 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SPMTC(5, random_state=0).fit(X, tasks=np.arange(60) % 2)
    found = stability(model, X, tasks=np.arange(60) % 2, **QUICK)
    assert found.cluster_stability.shape == (5,)
    assert np.isnan(found.cluster_stability).sum() == 2
    assert found.within == 1
    assert found.table["rows"] == model.cluster_sizes_.sum(axis=0).astype(int).tolist()


@pytest.mark.parametrize(
    ("X", "tasks"),
    [
        (np.ones((40, 3)), np.arange(40) % 2),  # identical rows
        (np.random.default_rng(0).normal(size=(5, 3)), None),
        (np.c_[np.random.default_rng(0).normal(size=(40, 2)), np.ones(40)], np.arange(40) % 2),  # a constant column
        (np.random.default_rng(0).normal(size=(41, 2)), np.r_[np.zeros(40, int), 1]),  # a task of one row
        (np.random.default_rng(0).normal(size=(42, 2)), np.r_[np.zeros(40, int), 1, 1]),  # fewer rows than clusters
    ],
)
def test_odd_data_give_numbers(X, tasks):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    found = stability(model, X, tasks=tasks, n_refits=3, random_state=0)
    assert np.isfinite(found.row_confidence).all()
    assert np.isfinite(found.reference).all()
    assert 0 <= found.overall <= 1
    assert found.verdict != "clear"
    assert str(found)


def test_rows_outside_the_sample_are_labelled(monkeypatch):
    monkeypatch.setattr("mtcluster.model_selection._stability.SAMPLED", 3000)
    X, _, tasks = make_multitask_blobs([2600, 1000], 4, n_tasks=2, n_clusters=3, separation=20, random_state=0)
    for model in (SPMTC(3, random_state=0), ASI(3, random_state=0)):
        found = stability(model.fit(X, tasks=tasks), X, tasks=tasks, **QUICK)
        assert found.n_rows == 3000
        assert found.row_confidence.shape == (3600,)
        assert found.row_confidence.min() == 1


def test_means_of_tasks_are_removed_where_the_model_removed_them():
    X, _, tasks = make_multitask_blobs([2600, 1000], 4, n_tasks=2, n_clusters=3, separation=20, random_state=0)
    X = X + 100 * tasks[:, None]
    model = Pooled(KMeans(3, random_state=0), center=True).fit(X, tasks=tasks)
    found = stability(model, X, tasks=tasks, **QUICK)
    assert found.verdict == "clear"
    assert found.row_confidence.min() == 1
    assert found.location_share is None


def test_location_matters_where_tasks_lie_apart(clear):
    X, _, tasks = make_multitask_blobs([80, 80], 4, n_tasks=2, n_clusters=2, separation=6, random_state=0)
    X = X + 40 * tasks[:, None]
    kept = SPMTC(2, task_offset="none", random_state=0).fit(X, tasks=tasks)
    found = stability(kept, X, tasks=tasks, **QUICK)
    assert found.location_share > 0.3
    assert any("matters where tasks lie" in sentence for sentence in found.sentences)
    X, _, tasks = clear
    found = stability(SPMTC(3, random_state=0).fit(X, tasks=tasks), X, tasks=tasks, **QUICK)
    assert found.location_share == 0
    assert len(found.sentences) == 2


def test_tasks_on_their_own_have_no_location(clear):
    X, _, tasks = clear
    assert (
        stability(PerTask(KMeans(3, random_state=0)).fit(X, tasks=tasks), X, tasks=tasks, **QUICK).location_share
        is None
    )
    assert stability(SPMTC(3, random_state=0).fit(X), X, **QUICK).location_share is None


def test_rows_in_no_cluster_are_compared_as_one_group(clear):
    X, _, tasks = clear
    X = np.concatenate([X, 1000 * np.eye(5)])
    tasks = np.r_[tasks, [0, 1, 0, 1, 0]]
    model = Pooled(DBSCAN(eps=4)).fit(X, tasks=tasks)
    assert (model.labels_ == -1).any()
    found = stability(model, X, tasks=tasks, **QUICK)
    assert found.cluster_stability.shape == (3,)
    assert found.between.shape == (3, 3)
    assert found.table["cluster"] == [0, 1, 2]
    assert found.row_confidence.shape == (115,)


def test_the_same_seed_gives_the_same_result_and_another_gives_others(clear):
    X, _, tasks = make_multitask_blobs([60, 50], 5, n_tasks=2, n_clusters=3, separation=3, random_state=0)
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    before = model.labels_.copy()
    one, same, other = (stability(model, X, tasks=tasks, n_refits=4, random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(one.row_confidence, same.row_confidence)
    assert_array_equal(one.reference, same.reference)
    assert not np.array_equal(one.reference, other.reference)
    assert_array_equal(model.labels_, before)


def test_words_and_table(clear):
    X, _, tasks = clear
    names = np.array(["rows", "stability"])[tasks]  # like columns of the table
    found = stability(SPMTC(3, random_state=0).fit(X, tasks=names), X, tasks=names, **QUICK)
    assert list(found.table) == ["cluster", "rows", "stability", "next_to", "between", "in rows", "in stability"]
    assert sum(found.table["rows"]) == 110
    assert found.sentences[0].lower() == f"how sure: clear. {MEANINGS['clear']}.".lower()
    assert found.sentences[1].startswith(
        "100 % of 110 rows keep their cluster when the model is fitted again to halves"
    )
    assert str(found.table) in str(found)


def test_what_it_refuses(clear):
    X, _, tasks = clear
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    with pytest.raises(NotFittedError):
        stability(SPMTC(3), X, tasks=tasks)
    with pytest.raises(TypeError, match=r"Pooled\(KMeans"):
        stability(KMeans(3).fit(X), X)
    for n in (0, 1, 2.5, "many"):
        with pytest.raises(ValueError, match=f"n_refits={n!r} should be a whole number of at least 2"):
            stability(model, X, tasks=tasks, n_refits=n)
    with pytest.raises(ValueError, match="X has 50 rows, but model was fitted on 110"):
        stability(model, X[:50], tasks=tasks[:50])
    with pytest.raises(ValueError, match="X has 2 features, but model was fitted on 5"):
        stability(model, X[:, :2], tasks=tasks)
    with pytest.raises(ValueError, match=r"tasks holds \[0\], but model was fitted on \[0, 1\]"):
        stability(model, X)
    with pytest.raises(ValueError, match=r"tasks holds \[0, 1\], but model was fitted on \[0\]"):
        stability(PerTask(KMeans(3)).fit(X), X, tasks=tasks)
    with pytest.raises(ValueError, match="contains infinity"):
        stability(model, np.where(np.arange(110)[:, None] == 7, np.inf, X), tasks=tasks)


@pytest.mark.dask
def test_dask_arrays_give_the_same_result(clear):
    da = pytest.importorskip("dask.array")
    X, _, tasks = clear
    lazy, codes = da.from_array(X, chunks=(40, 5)), da.from_array(tasks, chunks=40)
    model = SPMTC(3, random_state=0).fit(lazy, tasks=codes)
    found = stability(model, lazy, tasks=codes, **QUICK)
    assert (found.verdict, found.overall) == ("clear", 1)
    assert_array_equal(found.row_confidence, np.ones(110))


@pytest.mark.gpu
def test_arrays_of_other_libraries_give_the_same_result(clear):
    xp = pytest.importorskip("array_api_strict")
    from sklearn import config_context

    X, _, tasks = clear
    with config_context(array_api_dispatch=True):
        rows = xp.asarray(X)
        model = SPMTC(3, random_state=0).fit(rows, tasks=tasks)
        found = stability(model, rows, tasks=tasks, **QUICK)
    assert (found.verdict, found.overall) == ("clear", 1)
    assert_array_equal(found.row_confidence, np.ones(110))
