"""Streams: models that follow batches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators.changes import Drift
from mtcluster.inspection import explain
from mtcluster.interop import dump, load
from mtcluster.metrics import clustering_accuracy
from mtcluster.plotting import plot_drift

DIMENSIONS, CLUSTERS, BORN, DIES = 4, 4, 3, 5  # the fourth cluster is born in batch 3, the first dies in batch 5
SETTINGS = [{}, {"metric": "euclidean"}, {"forgetting": 0.5}, {"within_weight": 0.5}, {"task_offset": "matched"}]


def batches(n_batches=7, n=60, drift=0.3, new_tasks=False, seed=0):
    """Blobs in two tasks that drift, with a cluster that is born and one that dies: X, y, tasks of each batch."""
    rng = np.random.default_rng(seed)
    centers = 9 * np.eye(DIMENSIONS)[:CLUSTERS] + 0.5 * rng.normal(size=(CLUSTERS, DIMENSIONS))
    ways = rng.normal(size=(CLUSTERS, DIMENSIONS))
    ways *= drift / np.linalg.norm(ways, axis=1, keepdims=True)
    shifts = rng.normal(size=(2, DIMENSIONS))
    for t in range(n_batches):
        there = [j for j in range(CLUSTERS) if (j != 3 or t >= BORN) and (j != 0 or t < DIES)]
        y, k = rng.choice(there, size=2 * n), np.repeat([0, 1], n)
        X = centers[y] + t * ways[y] + shifts[k] + 0.7 * rng.normal(size=(2 * n, DIMENSIONS))
        yield X, y, np.array([f"task {i}" if not new_tasks else f"task {i} of {t}" for i in k])


def followed(model, stream):
    """The model after the stream, and its labels and the classes of all rows."""
    labels, classes = [], []
    for X, y, tasks in stream:
        model.partial_fit(X, tasks=tasks)
        assert_array_equal(model.predict(X, tasks=tasks), model.labels_)
        labels.append(model.labels_)
        classes.append(y)
    return model, np.concatenate(labels), np.concatenate(classes)


def events(model):
    return [(event["batch"], event["event"]) for event in model.drift_.events.rows()]


@pytest.mark.parametrize("new_tasks", [False, True])
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("estimator", [SPMTC, LSSMTC])
def test_numbers_stay_and_births_and_deaths_are_told_in_their_batch(estimator, settings, new_tasks):
    model, labels, y = followed(estimator(3, random_state=0, **settings), batches(new_tasks=new_tasks))
    assert clustering_accuracy(y, labels) > 0.99
    assert events(model)[:2] == [(BORN, "born"), (DIES, "vanished")]
    assert model.task_centers_.shape[1] == CLUSTERS


def test_a_forgotten_cluster_dies_and_its_number_stays():
    model, labels, y = followed(SPMTC(3, forgetting=0.3, random_state=0), batches(n_batches=11))
    dead = int(labels[y == 0][0])
    died = [event for event in model.drift_.events.rows() if event["event"] == "died"]
    assert [event["cluster"] for event in died] == [dead]
    assert died[0]["batch"] > DIES
    assert model.n_clusters_ == CLUSTERS - 1
    assert not model.cluster_presence_[:, dead].any()
    assert model.cluster_sizes_[:, dead].sum() == 0
    assert f"No more in any task: cluster {dead}." in str(explain(model))
    assert set(labels[y == 3].tolist()) == {3}


def test_nothing_is_born_where_nothing_changes():
    model, _, _ = followed(SPMTC(3, random_state=0), 3 * list(batches(n_batches=BORN, drift=0.0)))
    assert events(model) == []
    assert max(model.drift_.table["apart"]) < 1
    assert model.drift_.sentences == []


def test_the_first_call_is_fit(blobs):
    X, _, tasks = blobs
    first, fitted = SPMTC(4, random_state=0).partial_fit(X, tasks=tasks), SPMTC(4, random_state=0).fit(X, tasks=tasks)
    assert_array_equal(first.labels_, fitted.labels_)
    assert not hasattr(first, "drift_")
    again = SPMTC(4, random_state=0).fit(X, tasks=tasks).partial_fit(X, tasks=tasks)
    assert_array_equal(again.labels_, fitted.labels_)
    assert_allclose(again.cluster_sizes_.sum(), 2 * len(X), rtol=0.1)  # hard rows count less
    assert not hasattr(again.fit(X, tasks=tasks), "drift_")


def test_one_stream_of_sums_is_one_fit_of_all_rows():
    X, _, tasks = make_multitask_blobs([200, 200], 3, n_tasks=2, n_clusters=3, separation=12, random_state=0)
    half = np.arange(len(X)) % 2 == 0
    model = LSSMTC(3, random_state=0, within_weight=0.5).fit(X[half], tasks=tasks[half])
    model.partial_fit(X[~half], tasks=tasks[~half])
    for k in range(2):
        for j in range(3):
            own = (tasks == k) & (model.predict(X, tasks=tasks) == j)
            assert_allclose(model.task_centers_[k, j], X[own].mean(axis=0), atol=1e-8)


def test_new_tasks_join_and_old_ones_stay(blobs):
    X, _, tasks = blobs
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    before = model.labels_.copy()
    model.partial_fit(X[tasks == 0] + 1.0, tasks=["new"] * int(np.sum(tasks == 0)))
    assert model.tasks_.tolist() == [0, 1, 2, "new"]
    assert_array_equal(model.labels_, before[tasks == 0])
    assert set(model.fitted_.rows.tasks.tolist()) == {3}
    assert model.task_centers_.shape[0] == len(model.cluster_sizes_) == len(model.task_relatedness_) == 4
    assert_array_equal(model.predict(X, tasks=tasks), before)
    assert {row["task"] for row in model.drift_.table.rows()} == {"new"}


def test_batches_of_one_row(blobs):
    X, _, tasks = blobs
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    before = model.labels_.copy()
    for i in range(5):
        model.partial_fit(X[i : i + 1], tasks=tasks[i : i + 1])
        assert model.labels_.tolist() == [before[i]]
    assert model.drift_.n_batches == 5
    assert np.isfinite(model.task_centers_).all()


@pytest.mark.parametrize("convert", [lambda X: X.astype(np.float32), sparse.csr_matrix], ids=["float32", "sparse"])
def test_rows_of_any_kind(convert):
    model, labels, y = followed(SPMTC(3, random_state=0), ((convert(X), y, t) for X, y, t in batches()))
    assert clustering_accuracy(y, labels) > 0.99
    assert (BORN, "born") in events(model)
    assert model.task_centers_.dtype == model.losses_.dtype


@pytest.mark.dask
def test_dask():
    da = pytest.importorskip("dask.array")
    here, _, _ = followed(SPMTC(3, random_state=0), batches())
    model = SPMTC(3, random_state=0)
    for X, _, tasks in batches():
        model.partial_fit(da.from_array(X, chunks=(50, DIMENSIONS)), tasks=tasks)
    assert_array_equal(np.asarray(model.labels_), here.labels_)
    assert events(model) == events(here)


def test_weights_count_as_copies(blobs):
    X, _, tasks = blobs
    base = LSSMTC(4, random_state=0).fit(X, tasks=tasks)
    twice = LSSMTC(4, random_state=0).fit(X, tasks=tasks)
    base.partial_fit(X[:40], tasks=tasks[:40], sample_weight=np.full(40, 2.0))
    twice.partial_fit(np.r_[X[:40], X[:40]], tasks=np.r_[tasks[:40], tasks[:40]])
    assert_allclose(base.task_centers_, twice.task_centers_, atol=1e-8)
    assert_allclose(base.cluster_sizes_, twice.cluster_sizes_)


def test_drift_is_told_in_units_of_the_spread():
    rng = np.random.default_rng(0)
    centers, y, tasks = 12 * np.eye(3), np.tile([0, 1, 2], 60), np.repeat(["a", "b"], 90)
    model = SPMTC(3, random_state=0, forgetting=0.2).fit(centers[y] + rng.normal(size=(180, 3)), tasks=tasks)
    number = int(model.labels_[0])
    moved = np.where(((y == 0) & (tasks == "a"))[:, None], [0.0, 0.0, 3.0], 0.0)
    model.partial_fit(centers[y] + moved + rng.normal(size=(180, 3)), tasks=tasks)
    row = max(model.drift_.table.rows(), key=lambda one: one["apart"])
    assert (row["task"], row["cluster"]) == ("a", number)
    assert 1.5 < row["apart"] < 3.5
    assert 1.0 < row["moved"] < 3.5
    assert any(f"cluster {number} in 'a'" in line for line in model.drift_.sentences)
    assert "Stream: 1 call of partial_fit since." in str(explain(model))
    assert model.report().summary["drift"] == model.drift_.sentences
    assert str(model.drift_).startswith("batch")


def test_a_plot_of_the_drift():
    model, _, _ = followed(SPMTC(3, random_state=0), batches())
    ax = plot_drift(model)
    assert ax.get_xlabel() == "batch"
    assert len([text for text in ax.texts if text.get_text() in "0123"]) >= 2


def test_a_line_is_broken_where_the_cluster_was_gone_and_sentences_are_in_order():
    drift = Drift()
    for batch in range(1, 6):
        rows = [{"task": "a", "cluster": j, "rows": 9.0, "apart": 2.0 + batch % 3, "moved": 1.0} for j in (None, 0, 1)]
        word = {2: "vanished", 4: "returned"}.get(batch)
        events = [{"event": word, "cluster": 1, "rows": 0.0, "expected": 9.0}] if word else []
        drift = drift.after(rows[:2] if batch == 3 else rows, events)
    model = SPMTC()
    model.drift_ = drift
    whole, first, second = (line.get_ydata() for line in plot_drift(model).lines[:3])
    assert np.isfinite(whole).all()
    assert np.isfinite(first).all()
    assert_array_equal(np.isfinite(second), [True, False, False, True, True])
    told = [line.split(":")[0] for line in drift.sentences if line.startswith("Batch")]
    assert told == sorted(told)
    assert any("back" in line for line in drift.sentences)
    model.drift_ = Drift()
    assert plot_drift(model).get_xlabel() == "batch"


def test_a_loaded_model_goes_on(tmp_path):
    stream = list(batches())
    model, _, _ = followed(SPMTC(3, forgetting=0.8, random_state=0), stream[:5])
    dump(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    for one in (model, again):
        followed(one, stream[5:])
    assert_array_equal(model.labels_, again.labels_)
    assert str(model.drift_) == str(again.drift_)
    assert_allclose(model.fitted_.sums.T, again.fitted_.sums.T)


def test_a_refit_may_continue_a_stream():
    stream = list(batches())
    model, _, _ = followed(SPMTC(3, random_state=0), stream[:5])
    X, _, tasks = stream[4]
    refit = SPMTC(4, random_state=5).fit(X, tasks=tasks, previous=model)
    assert np.mean(refit.labels_ == model.labels_) > 0.99


@pytest.mark.parametrize("forgetting", [0, -1, 1.5, "much"])
def test_a_forgetting_that_means_nothing_is_refused(forgetting, blobs):
    X, _, tasks = blobs
    with pytest.raises(ValueError, match="forgetting"):
        SPMTC(4, forgetting=forgetting).partial_fit(X, tasks=tasks)
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    with pytest.raises(ValueError, match="forgetting"):
        model.set_params(forgetting=forgetting).partial_fit(X, tasks=tasks)
    assert not hasattr(model, "drift_")


def test_what_cannot_be_streamed_is_refused_by_name(blobs):
    X, _, tasks = blobs
    for name, value in (("coupling", "projection"), ("membership", "nonnegative")):
        with pytest.raises(AttributeError) as refused:
            SPMTC(4, **{name: value}).partial_fit(X, tasks=tasks)
        assert f"partial_fit cannot go with {name}={value!r}" in str(refused.value.__cause__)
    assert not hasattr(MultiTaskGaussianMixture(4), "partial_fit")


def test_bad_batches_change_nothing(blobs):
    X, _, tasks = blobs
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="tasks is None, but the model has the tasks"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], tasks=tasks)
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X, tasks=tasks, sample_weight=np.zeros(len(X)))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
