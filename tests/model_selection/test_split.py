"""Cross-validation that knows tasks."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mtcluster import LSSMTC, SPMTC
from mtcluster.metrics import joint_accuracy
from mtcluster.model_selection import LeaveOneTaskOut, TaskKFold, joint_accuracy_scorer


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def model():
    return LSSMTC(4, within_weight=0.5, random_state=0).set_fit_request(tasks=True).set_score_request(tasks=True)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("n_splits", [2, 3, 7])
def test_every_fold_holds_its_share_of_every_task(blobs, n_splits, shuffle):
    X, _, tasks = blobs
    folds = TaskKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    found = list(folds.split(X, tasks=tasks))
    assert len(found) == folds.get_n_splits() == n_splits
    assert sorted(np.concatenate([test for _, test in found])) == list(range(len(X)))
    for train, test in found:
        assert sorted([*train, *test]) == list(range(len(X)))
        for size, held in zip(np.bincount(tasks), np.bincount(tasks[test]), strict=True):
            assert abs(held - size / n_splits) < 1


def test_shuffled_folds_are_repeatable_and_differ_by_seed(blobs):
    X, _, tasks = blobs
    first, again, other = (
        [test.tolist() for _, test in TaskKFold(3, shuffle=True, random_state=seed).split(X, tasks=tasks)]
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_any_labels_are_tasks():
    tasks = ["b", 1, (2, "x"), "b", 1, (2, "x")]
    for _, test in TaskKFold(2).split(range(6), tasks=tasks):
        assert sorted(map(str, (tasks[i] for i in test))) == sorted(map(str, tasks[:3]))


def test_leaving_a_task_out_holds_all_of_it(blobs):
    X, _, tasks = blobs
    out = LeaveOneTaskOut()
    found = list(out.split(X, tasks=tasks))
    assert len(found) == out.get_n_splits(X, tasks=tasks) == out.get_n_splits(tasks=tasks) == 3
    for k, (train, test) in enumerate(found):
        np.testing.assert_array_equal(test, np.flatnonzero(tasks == k))
        np.testing.assert_array_equal(train, np.flatnonzero(tasks != k))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("cv", [TaskKFold(3), LeaveOneTaskOut()])
def test_cross_validate_passes_tasks_to_all_that_ask(blobs, cv):
    X, _, tasks = blobs
    found = cross_validate(model(), X, cv=cv, params={"tasks": tasks}, return_indices=True)
    for train, test, score in zip(*found["indices"].values(), found["test_score"], strict=True):
        fitted = model().fit(X[train], tasks=tasks[train])
        assert score == pytest.approx(fitted.score(X[test], tasks=tasks[test]))


@pytest.mark.usefixtures("routing")
def test_a_search_in_a_pipeline(blobs):
    X, _, tasks = blobs
    pipeline = make_pipeline(StandardScaler(), model())
    search = GridSearchCV(pipeline, {"lssmtc__n_components": [1, 4]}, cv=TaskKFold(3)).fit(X, tasks=tasks)
    assert search.best_params_ == {"lssmtc__n_components": 4}
    assert search.n_splits_ == 3


@pytest.mark.usefixtures("routing")
def test_a_search_by_known_classes_predicts_with_tasks(blobs):
    X, y, tasks = blobs
    grid = {"n_clusters": [2, 4]}
    search = GridSearchCV(model(), grid, scoring=joint_accuracy_scorer, cv=TaskKFold(3)).fit(X, y, tasks=tasks)
    assert search.best_params_ == {"n_clusters": 4}
    train, test = next(TaskKFold(3).split(X, tasks=tasks))
    fitted = model().fit(X[train], tasks=tasks[train])
    wanted = joint_accuracy(y[test], fitted.predict(X[test], tasks=tasks[test]), tasks[test])
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(wanted)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_the_scorer_works_in_a_pipeline_and_on_several_processes(blobs):
    X, y, tasks = blobs
    pipeline = make_pipeline(StandardScaler(), model().set_predict_request(tasks=True))
    found = cross_validate(
        pipeline, X, y, cv=TaskKFold(3), scoring=joint_accuracy_scorer, params={"tasks": tasks}, n_jobs=2
    )
    assert found["test_score"].min() > 0.9
    assert repr(joint_accuracy_scorer) == "joint_accuracy_scorer"


def test_the_scorer_takes_one_task_without_a_name(blobs):
    X, y, _ = blobs
    fitted = SPMTC(4, random_state=0).fit(X)
    assert joint_accuracy_scorer(fitted, X, y) == pytest.approx(joint_accuracy(y, fitted.predict(X), None))


def test_without_routing_groups_are_the_tasks(blobs):
    X, _, tasks = blobs
    found = cross_validate(SPMTC(4, random_state=0), X, cv=TaskKFold(3), groups=tasks)
    assert found["test_score"].shape == (3,)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        cross_validate(SPMTC(4, random_state=0), X, cv=TaskKFold(3))


def test_splitters_are_scikit_learns_kind():
    assert repr(TaskKFold(3)) == "TaskKFold(n_splits=3, random_state=None, shuffle=False)"
    assert clone(GridSearchCV(LSSMTC(4), {}, cv=TaskKFold(3))).cv.n_splits == 3


@pytest.mark.parametrize("n_splits", [1, 0, 2.5, "3", None])
def test_a_wrong_number_of_splits_is_refused(n_splits):
    with pytest.raises(ValueError, match=r"n_splits=.*at least 2"):
        TaskKFold(n_splits)


def test_a_seed_without_shuffling_is_refused():
    with pytest.raises(ValueError, match="random_state=0 does nothing without shuffle=True"):
        TaskKFold(3, random_state=0)


def test_wrong_tasks_are_refused(blobs):
    X, _, tasks = blobs
    for splitter in (TaskKFold(3), LeaveOneTaskOut()):
        with pytest.raises(ValueError, match=f"{type(splitter).__name__} needs tasks"):
            next(splitter.split(X))
        with pytest.raises(ValueError, match="tasks has 7 labels for 120 rows"):
            next(splitter.split(X, tasks=tasks[:7]))
    with pytest.raises(ValueError, match=r"n_splits=3 is more than the 2 row\(s\) of task 'b'"):
        next(TaskKFold(3).split(range(6), tasks=list("aaaabb")))
    with pytest.raises(ValueError, match="one task, 'a'"):
        next(LeaveOneTaskOut().split(range(2), tasks=list("aa")))
