"""The estimators as a user of scikit-learn meets them."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled, Schedule
from mtcluster.metrics import clustering_accuracy, joint_accuracy

EQUIVALENCE = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
COPIES = "copies, unlike weights, change which rows a start draws, and are evidence: see docs/guide/preparing.md"
ANOTHER_ORDER = "as of KMeans itself: another order of the rows changes its start"


def expected_failures(estimator):
    """Checks that fail, and why."""
    return dict.fromkeys(EQUIVALENCE, ANOTHER_ORDER if isinstance(estimator, PerTask | Pooled) else COPIES)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SPMTC(2),
        SPMTC(2, weighting="hard", membership="nonnegative"),
        SPMTC(2, pace=Schedule(soft_rule="paper"), coupling="projection"),
        LSSMTC(2),
        ASI(2),
        MultiTaskGaussianMixture(2),
        MultiTaskGaussianMixture(2, covariance_type="full", weighting="soft"),
        PerTask(KMeans(2, random_state=0)),
        Pooled(KMeans(2, random_state=0)),
        Pooled(KMeans(2, random_state=0), center=True),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:membership=|coupling=:UserWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_five_lines(blobs):
    X, y, tasks = blobs
    labels = SPMTC(n_clusters=4, random_state=0).fit_predict(X, tasks=tasks)
    assert joint_accuracy(y, labels, tasks) > 0.9


def test_a_list_and_a_dict_of_data_sets_are_tasks(blobs, as_container):
    X, _, tasks = blobs
    order = np.argsort(tasks, kind="stable")
    parts = [as_container(X[tasks == k]) for k in range(3)]
    vector = SPMTC(4, random_state=0).fit(as_container(X[order]), tasks=tasks[order])
    listed = SPMTC(4, random_state=0).fit(parts)
    named = SPMTC(4, random_state=0).fit(dict(zip("zxy", parts, strict=True)))
    assert_array_equal(listed.labels_, vector.labels_)
    assert_array_equal(named.labels_, vector.labels_)
    assert listed.tasks_.tolist() == [0, 1, 2]
    assert named.tasks_.tolist() == ["z", "x", "y"]
    assert_array_equal(listed.predict(parts), listed.labels_)
    assert_array_equal(named.predict({"y": parts[2]}), named.labels_[-parts[2].shape[0] :])
    assert_allclose(listed.transform(parts), vector.transform(as_container(X[order])))
    assert_array_equal(SPMTC(4, random_state=0).fit_predict(parts), vector.labels_)
    assert_allclose(SPMTC(4, random_state=0).fit_transform(parts), listed.transform(parts))


def test_a_list_of_rows_is_rows(blobs):
    assert_array_equal(
        SPMTC(4, random_state=0).fit(blobs.X.tolist()).labels_, SPMTC(4, random_state=0).fit(blobs.X).labels_
    )


def test_sample_weights_come_in_the_form_of_the_data(blobs):
    parts = [blobs.X[blobs.tasks == k] for k in range(3)]
    weights = [np.arange(1.0, len(part) + 1) for part in parts]
    one = SPMTC(4, random_state=0).fit(parts, sample_weight=np.concatenate(weights))
    apart = SPMTC(4, random_state=0).fit(parts, sample_weight=weights)
    assert_array_equal(one.labels_, apart.labels_)


def test_sample_weights_in_a_dict_go_by_its_keys(blobs):
    a, b = blobs.X[blobs.tasks == 0], blobs.X[blobs.tasks == 1]
    weights = {"a": np.linspace(0.1, 1, len(a)), "b": np.ones(len(b))}
    one = SPMTC(4, random_state=0).fit({"a": a, "b": b}, sample_weight=weights)
    other = SPMTC(4, random_state=0).fit({"a": a, "b": b}, sample_weight=dict(reversed(weights.items())))
    assert_array_equal(one.task_centers_, other.task_centers_)


def test_whole_weights_of_one_task_do_not_round_those_of_another(blobs):
    a, b = blobs.X[blobs.tasks == 0], blobs.X[blobs.tasks == 1]
    halves = np.where(np.arange(len(b)) % 2, 0.5, 1.0)
    whole = SPMTC(4, random_state=0).fit([a, b], sample_weight=[np.ones(len(a), dtype=int), halves])
    plain = SPMTC(4, random_state=0).fit([a, b], sample_weight=[np.ones(len(a)), halves])
    assert_array_equal(whole.task_centers_, plain.task_centers_)


def test_asi_takes_several_tasks_as_one_data_set(blobs):
    together = ASI(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(together.labels_, ASI(4, random_state=0).fit(blobs.X).labels_)
    assert_array_equal(together.predict(blobs.X, tasks=blobs.tasks), together.labels_)
    parts = {k: blobs.X[blobs.tasks == k] for k in range(3)}
    weights = {k: np.ones(len(part)) for k, part in parts.items()}
    order = np.argsort(blobs.tasks, kind="stable")
    assert_array_equal(
        ASI(4, random_state=0).fit(parts, sample_weight=weights).labels_,
        ASI(4, random_state=0).fit(blobs.X[order]).labels_,
    )
    small = np.where(np.arange(len(blobs.X)) < 2, "tiny", "rest")
    assert len(ASI(4, random_state=0).fit(blobs.X, tasks=small).labels_) == len(blobs.X)


def test_score_is_a_weighted_mean(blobs):
    model = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    weights = np.random.default_rng(0).random(len(blobs.X))
    expected = -np.average(model.losses_, weights=weights) - np.linalg.slogdet(model.fitted_.centers.geometry.tied.K)[1]
    assert model.score(blobs.X, tasks=blobs.tasks, sample_weight=weights) == pytest.approx(expected)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        model.score(blobs.X, tasks=blobs.tasks, sample_weight=-weights)


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_dates_name_tasks_and_are_known_again(blobs, unit):
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype=f"M8[{unit}]")[blobs.tasks]
    model = SPMTC(4, random_state=0).fit(blobs.X, tasks=days)
    for again in (days, pd.Series(days), list(pd.Series(days)), days.astype("M8[us]").tolist()):
        assert_array_equal(model.predict(blobs.X, tasks=again), model.labels_)


def test_the_shared_centers_decide_for_tasks_that_were_not_there(blobs):
    X, _, tasks = blobs
    model = SPMTC(4, metric="euclidean", random_state=0).fit(X, tasks=tasks)
    shared = model.fitted_.centers.M @ model.fitted_.centers.W.T
    nearest = np.argmin(((X[:, None] - shared) ** 2).sum(axis=2), axis=1)
    assert_array_equal(model.predict(X), nearest)
    few = slice(19)  # 5 rows per cluster would be 20
    with pytest.warns(UserWarning, match="not in fit"):
        assert_array_equal(model.predict(X[few], tasks=["new"] * 19, novelty="none"), nearest[few])
    assert_allclose(model.score_samples(X), -((X - shared[nearest]) ** 2).sum(axis=1))


def test_a_model_of_one_task_uses_that_task(blobs):
    X = blobs.X
    model = SPMTC(4, within_weight=0.9, n_components=1, random_state=0).fit(X, tasks=["only"] * len(X))
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.predict(X, tasks=["only"] * len(X)), model.labels_)
    assert np.any(model.predict(X, tasks=["other"] * len(X)) != model.labels_)


def test_transform_gives_coordinates_in_the_shared_subspace(blobs):
    model = SPMTC(4, n_components=2, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_allclose(model.transform(blobs.X), blobs.X @ model.fitted_.centers.W)
    assert model.get_feature_names_out().tolist() == ["spmtc0", "spmtc1"]
    assert_allclose(model.fit_transform(blobs.X, tasks=blobs.tasks), model.transform(blobs.X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_in_and_out(blobs, frame):
    columns = [f"x{j}" for j in range(6)]
    X = frame({name: blobs.X[:, j] for j, name in enumerate(columns)})
    tasks = (pd.Series if frame is pd.DataFrame else pl.Series)(np.array(["a", "b", "c"])[blobs.tasks].tolist())
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    assert model.feature_names_in_.tolist() == columns
    assert_array_equal(model.labels_, SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks).labels_)
    out = model.set_output(transform="pandas" if frame is pd.DataFrame else "polars").transform(X)
    assert isinstance(out, frame)
    assert list(out.columns) == ["spmtc0", "spmtc1", "spmtc2", "spmtc3"]


@pytest.mark.slow
def test_metadata_routing_in_a_pipeline_and_a_search(blobs):
    X, _, tasks = blobs
    with config_context(enable_metadata_routing=True):
        model = SPMTC(4, random_state=0).set_fit_request(tasks=True).set_predict_request(tasks=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, tasks=tasks)
        expected = SPMTC(4, random_state=0).fit(StandardScaler().fit_transform(X), tasks=tasks)
        assert_array_equal(pipeline[-1].labels_, expected.labels_)
        assert_array_equal(pipeline.predict(X, tasks=tasks), expected.labels_)
        scored = SPMTC(random_state=0).set_fit_request(tasks=True).set_score_request(tasks=True)
        search = GridSearchCV(scored, {"n_clusters": [2, 4]}, cv=3).fit(X, tasks=tasks)
        assert search.best_params_ == {"n_clusters": 4}


def test_a_fit_is_repeatable_and_leaves_its_parameters_alone(blobs):
    model = SPMTC(4, random_state=0)
    before = model.get_params()
    first = model.fit(blobs.X, tasks=blobs.tasks).labels_
    assert_array_equal(model.fit(blobs.X, tasks=blobs.tasks).labels_, first)
    assert model.get_params() == before
    assert_array_equal(clone(model).fit(blobs.X, tasks=blobs.tasks).labels_, first)


def test_nothing_keeps_the_data(blobs, tmp_path):
    big = np.tile(blobs.X, (1, 200))
    model = SPMTC(4, random_state=0).fit(big, tasks=blobs.tasks)
    assert not any(getattr(value, "shape", None) == big.shape for value in vars(model).values())
    restored = pickle.loads(pickle.dumps(model))
    assert_array_equal(restored.predict(big, tasks=blobs.tasks), model.labels_)
    joblib.dump(model, tmp_path / "model.joblib")
    assert_array_equal(joblib.load(tmp_path / "model.joblib").labels_, model.labels_)


def test_a_nonnegative_model_of_few_features_warns(blobs):
    with pytest.warns(UserWarning, match=r"membership='nonnegative' with 2 feature\(s\) and 4 clusters"):
        SPMTC(4, membership="nonnegative", random_state=0).fit(blobs.X[:, :2])


def test_a_projection_that_couples_nothing_warns(blobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50))
    with pytest.warns(UserWarning, match="leaves no residual"):
        LSSMTC(2, coupling="projection", random_state=0).fit(X, tasks=np.arange(30) % 2)


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_warnings_point_at_the_users_line(method):
    with pytest.warns(UserWarning, match="have no rows") as caught:
        getattr(SPMTC(3, random_state=0), method)(np.ones((10, 2)))
    assert {record.filename for record in caught} == {__file__}


def test_verbose_prints_a_line_a_stage(blobs, capsys):
    SPMTC(4, init="pooled", n_init=1, verbose=1, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("[SPMTC] start 1/1 (pooled), warm-up: ")
    assert "fraction 1.00" in lines[-1]


def test_silence_is_the_default(blobs, capsys):
    SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert capsys.readouterr().out == ""


class Recorder:
    """A callback that counts, and stops every stage after so many iterations."""

    def __init__(self, stop_after=None):
        self.begun, self.ended, self.stop_after = [], [], stop_after

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return context.task_name == "iteration" and context.task_id + 1 == self.stop_after


def test_scikit_learns_callbacks_follow_the_fit(blobs):
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    recorder = Recorder(stop_after=2)
    model = SPMTC(4, init="random", n_init=2, tol=0, random_state=0).set_callbacks(recorder)
    model.fit(blobs.X, tasks=blobs.tasks)
    assert sorted(recorder.begun) == sorted(recorder.ended)
    assert recorder.begun.count("fit") == 1
    assert recorder.begun.count("start") == 2
    assert recorder.begun.count("stage") == 14
    assert [len(trace) for trace in model.objective_trace_] == [2] * 7


def test_scikit_learns_progress_bar_works(blobs, capsys):
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    pytest.importorskip("rich", reason="the progress bar needs rich")
    model = SPMTC(4, random_state=0, n_jobs=2).set_callbacks(callback.ProgressBar())
    model.fit(blobs.X, tasks=blobs.tasks)
    assert "SPMTC - fit" in capsys.readouterr().out


def test_scikit_learns_scoring_monitor_sees_the_fitted_model(blobs):
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    monitor = callback.ScoringMonitor(scoring=lambda estimator, X, y: float(len(set(estimator.predict(X)))))
    SPMTC(4, random_state=0).set_callbacks(monitor).fit(blobs.X)
    assert monitor.get_logs() is not None


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(4, random_state=0), SpectralClustering(4, random_state=0), ASI(4, random_state=0),
     AgglomerativeClustering(4), DBSCAN(3.0), GaussianMixture(4, random_state=0)],
    ids=lambda c: type(c).__name__,
)  # fmt: skip
def test_baselines_take_any_clusterer(blobs, clusterer):
    X, _, tasks = blobs
    per_task = PerTask(clusterer).fit(X, tasks=tasks)
    for k in range(3):
        assert_array_equal(per_task.labels_[tasks == k], clone(clusterer).fit_predict(X[tasks == k]))
    pooled = Pooled(clusterer).fit(X, tasks=tasks)
    assert_array_equal(pooled.labels_, clone(clusterer).fit_predict(X))
    assert hasattr(pooled, "predict") == hasattr(clusterer, "predict")
    if hasattr(clusterer, "predict"):
        assert_array_equal(per_task.predict(X, tasks=tasks), per_task.labels_)
        assert_array_equal(pooled.predict(X, tasks=tasks), pooled.labels_)


def test_baselines_take_every_container(blobs):
    X, _, tasks = blobs
    parts = {k: sparse.csr_matrix(X[tasks == k]) for k in range(3)}
    order = np.argsort(tasks, kind="stable")
    kmeans = KMeans(4, random_state=0)
    assert_array_equal(PerTask(kmeans).fit(parts).labels_, PerTask(kmeans).fit(X, tasks=tasks).labels_[order])
    stacked = Pooled(kmeans).fit(sparse.csr_matrix(X), tasks=tasks).labels_
    assert_array_equal(stacked, kmeans.fit_predict(sparse.csr_matrix(X)))
    assert clustering_accuracy(stacked, kmeans.fit_predict(X)) == 1


def test_baselines_take_dense_and_sparse_tasks_side_by_side(blobs):
    a, b = blobs.X[blobs.tasks == 0], blobs.X[blobs.tasks == 1]
    expected = KMeans(4, random_state=0).fit_predict(sparse.csr_matrix(np.vstack([a, b])))
    for parts in ([a, sparse.csr_matrix(b)], [sparse.csr_matrix(a), b]):
        assert_array_equal(Pooled(KMeans(4, random_state=0)).fit(parts).labels_, expected)


def test_the_task_on_which_a_clusterer_fails_is_named(blobs):
    with pytest.raises(ValueError, match="task 'b': n_samples=2 should be >= n_clusters=4"):
        PerTask(KMeans(4)).fit({"a": blobs.X, "b": blobs.X[:2]})


def test_baselines_pass_weights_on(blobs):
    X, _, tasks = blobs
    weights = np.random.default_rng(0).random(len(X))
    pooled = Pooled(KMeans(4, random_state=0)).fit(X, tasks=tasks, sample_weight=weights)
    assert_array_equal(pooled.labels_, KMeans(4, random_state=0).fit(X, sample_weight=weights).labels_)
    with pytest.raises(ValueError, match="AgglomerativeClustering does not take weights"):
        PerTask(AgglomerativeClustering(4)).fit(X, tasks=tasks, sample_weight=weights)


def test_the_clusterer_of_a_task_that_was_not_there_does_not_exist(blobs):
    model = PerTask(KMeans(4, random_state=0)).fit(blobs.X, tasks=blobs.tasks)
    with pytest.raises(ValueError, match="tasks is None"):
        model.predict(blobs.X)
    with pytest.raises(ValueError, match="tasks holds 7, which was not in fit"):
        model.predict(blobs.X, tasks=[7] * len(blobs.X))


def test_centred_rows_are_pooled_without_the_means_of_their_tasks(blobs):
    X, _, tasks = blobs
    kmeans = KMeans(4, n_init=10, random_state=0)
    model = Pooled(kmeans, center=True).fit(X, tasks=tasks)
    means = np.stack([X[tasks == k].mean(axis=0) for k in range(3)])
    assert_allclose(model.task_means_, means)
    assert_array_equal(model.labels_, clone(kmeans).fit_predict(X - means[tasks]))
    assert_array_equal(model.predict(X, tasks=tasks), model.labels_)
    parts = {k: X[tasks == k] for k in range(3)}
    assert clustering_accuracy(model.labels_[np.argsort(tasks, kind="stable")],
                               Pooled(kmeans, center=True).fit(parts).labels_) == 1  # fmt: skip
    shifted = X + np.arange(3)[tasks, None] * 50.0
    assert_array_equal(Pooled(kmeans, center=True).fit(shifted, tasks=tasks).labels_, model.labels_)


def test_a_task_that_was_not_in_the_fit_is_centred_by_its_own_mean(blobs):
    X, _, tasks = blobs
    model = Pooled(KMeans(4, random_state=0), center=True).fit(X, tasks=tasks)
    own = tasks == 1
    assert_array_equal(model.predict(X[own] + 7, tasks=["new"] * own.sum()), model.labels_[own])
    one = Pooled(KMeans(4, random_state=0), center=True).fit(X)
    assert_array_equal(one.predict(X[:5]), one.labels_[:5])


def test_means_of_weighted_rows_are_weighted(blobs):
    X, _, tasks = blobs
    weights = np.random.default_rng(0).random(len(X))
    model = Pooled(KMeans(4, random_state=0), center=True).fit(X, tasks=tasks, sample_weight=weights)
    assert_allclose(model.task_means_[0], np.average(X[tasks == 0], axis=0, weights=weights[tasks == 0]))


def test_sparse_rows_are_not_filled_by_centring(blobs):
    model = Pooled(KMeans(4, random_state=0), center=True)
    with pytest.raises(TypeError, match="X is sparse, and center=True would fill it"):
        model.fit(sparse.csr_matrix(blobs.X), tasks=blobs.tasks)
