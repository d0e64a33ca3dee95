"""Groups that come as y are not lost in silence."""

import warnings

import pytest
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled
from mtcluster.model_selection import TaskKFold, joint_accuracy_scorer

MESSAGE = r"y is ignored and all rows are one task: pass the groups as fit\(X, tasks=groups\)\."
ESTIMATORS = [
    SPMTC(3, n_init=1),
    LSSMTC(3, n_init=1),
    ASI(3, n_init=1),
    MultiTaskGaussianMixture(3),
    PerTask(KMeans(3)),
    Pooled(KMeans(3)),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform", "partial_fit"])
def test_groups_given_as_y_are_pointed_out_at_the_line_of_the_user(estimator, method, blobs):
    if not hasattr(estimator, method):
        pytest.skip(f"{type(estimator).__name__} has no {method}")
    with pytest.warns(UserWarning, match=MESSAGE) as caught:
        getattr(estimator, method)(blobs.X, blobs.tasks)
    told = [one for one in caught if "y is ignored" in str(one.message)]
    assert len(told) == 1
    assert told[0].filename == __file__


def test_later_batches_warn_too(blobs):
    model = SPMTC(3, n_init=1, random_state=0).partial_fit(blobs.X)
    with pytest.warns(UserWarning, match=MESSAGE):
        model.partial_fit(blobs.X, blobs.tasks)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.filterwarnings("error:y is ignored")
def test_y_beside_tasks_is_ignored_in_silence(estimator, blobs):
    X, y, tasks = blobs
    estimator.fit(X, y, tasks=tasks)
    estimator.fit_predict(X, y, tasks=tasks)
    estimator.fit([X[tasks == 0], X[tasks == 1]], y)
    assert len(estimator.fit(X).labels_) == len(X)


def test_pipelines_warn_once_and_not_where_tasks_are_routed(blobs):
    X, y, tasks = blobs
    pipeline = make_pipeline(StandardScaler(), SPMTC(3, n_init=1, random_state=0))
    with pytest.warns(UserWarning, match=MESSAGE) as caught:
        pipeline.fit(X, y)
    assert [one.filename for one in caught] == [__file__]
    with config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SPMTC(3, n_init=1, random_state=0).set_fit_request(tasks=True)
        make_pipeline(StandardScaler(), model).fit(X, y, tasks=tasks)
        GridSearchCV(model, {"n_clusters": [3, 4]}, scoring=joint_accuracy_scorer, cv=TaskKFold(2)).fit(
            X, y, tasks=tasks
        )


def test_a_search_without_tasks_warns_at_the_line_of_the_user(blobs):
    search = GridSearchCV(SPMTC(3, n_init=1, random_state=0), {"n_clusters": [3, 4]}, cv=2)
    with pytest.warns(UserWarning, match=MESSAGE) as caught:
        search.fit(blobs.X, blobs.y)
    assert {one.filename for one in caught if "y is ignored" in str(one.message)} == {__file__}
