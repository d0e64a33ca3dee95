"""Names of clusters: they stay with the number of the cluster, whatever happens to the model."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mtcluster import LSSMTC, SPMTC
from mtcluster.datasets import make_multitask_blobs

pytestmark = pytest.mark.filterwarnings("ignore:tasks holds")
NAMES = {0: "young", 2: "rich"}


@pytest.fixture(scope="module")
def blobs():
    return make_multitask_blobs(60, n_tasks=4, n_clusters=4, separation=10, random_state=0)


@pytest.fixture
def model(blobs):
    X, _, tasks = blobs
    return SPMTC(4, random_state=0).fit(X[tasks < 3], tasks=tasks[tasks < 3]).rename(NAMES)


def test_a_model_has_no_names_until_it_gets_some_and_others_keep_theirs(blobs):
    X, _, tasks = blobs
    model = LSSMTC(4, random_state=0).fit(X, tasks=tasks)
    assert model.cluster_names_ == {}
    assert model.rename({2: " rich ", 0: "old"}).cluster_names_ == {0: "old", 2: "rich"}
    assert model.rename({0: "young", 2: ""}).cluster_names_ == {0: "young"}
    assert model.fit(X, tasks=tasks).cluster_names_ == {}


def test_labels_stay_numbers_and_are_names_where_these_are_asked_for(model, blobs):
    X, _, tasks = blobs
    labels = model.predict(X, tasks=tasks)
    assert labels.dtype.kind == "i"
    told = model.predict(X, tasks=tasks, names=True)
    assert_array_equal(told, [NAMES.get(j, str(j)) for j in labels.tolist()])
    far = model.predict(np.r_[X[tasks == 3], X[:1] + 1e4], tasks=["new"] * (1 + int((tasks == 3).sum())), names=True)
    assert far[-1] == "-1"


def test_names_stay_through_adapt_previous_and_partial_fit(model, blobs):
    X, _, tasks = blobs
    new, old = tasks == 3, tasks < 3
    adapted = model.adapt(X[new], tasks=tasks[new])
    assert adapted.cluster_names_ == NAMES
    assert adapted.adapt({"later": X[new] + 0.1}, novelty="new", update=True).cluster_names_ == NAMES
    again = SPMTC(4, random_state=1).fit(X[old], tasks=tasks[old], previous=model)
    assert again.cluster_names_ == NAMES
    assert np.mean(again.labels_ == model.labels_) > 0.95
    assert model.partial_fit(X[old], tasks=tasks[old]).cluster_names_ == NAMES


def test_reports_use_them(model):
    assert model.report().summary["names"] == {"0": "young", "2": "rich"}
    assert model.report(cluster_names={1: "other"}).summary["names"] == {"1": "other"}
    assert model.report(cluster_names={}).summary["names"] == {}


@pytest.mark.parametrize("number", [-1, 4, "0", 1.5, True])
def test_numbers_of_no_cluster_are_refused(model, number):
    with pytest.raises(ValueError, match="the numbers of clusters are those from 0 to 3"):
        model.rename({number: "x"})
    assert model.cluster_names_ == NAMES


def test_model_files_hold_names(model, tmp_path):
    pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")
    from mtcluster.interop import dump, load

    dump(model, tmp_path / "model.skops")
    assert load(tmp_path / "model.skops").cluster_names_ == NAMES
