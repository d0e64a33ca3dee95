"""Clusters that a person found to be one are told as one, whatever happens to the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster import SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import relations

pytestmark = pytest.mark.filterwarnings("ignore:tasks holds")
MODELS = [SPMTC, MultiTaskGaussianMixture]


@pytest.fixture(scope="module")
def blobs():
    return make_multitask_blobs(60, n_tasks=4, n_clusters=4, separation=10, random_state=0)


def two_models(blobs, kind=SPMTC):
    X, _, tasks = blobs
    before, after = (kind(4, random_state=0).fit(X[tasks < 3], tasks=tasks[tasks < 3]) for _ in range(2))
    return before, after.merge([3, 1])


def merged(labels):
    return np.where(labels == 3, 1, labels)


@pytest.mark.parametrize("kind", MODELS)
def test_labels_sizes_and_probabilities_are_those_of_the_clusters_together(blobs, kind):
    X, _, tasks = blobs
    before, after = two_models(blobs, kind)
    assert_array_equal(after.labels_, merged(before.labels_))
    assert_array_equal(after.predict(X, tasks=tasks), merged(before.predict(X, tasks=tasks)))
    E = np.eye(4)[[0, 1, 2, 1]]
    assert_allclose(after.predict_proba(X, tasks=tasks), before.predict_proba(X, tasks=tasks) @ E, atol=1e-12)
    assert_allclose(after.cluster_sizes_, before.cluster_sizes_ @ E)
    assert_allclose(after.memberships_, before.memberships_ @ E)
    assert (before.n_clusters_, after.n_clusters_) == (4, 3)
    assert not after.cluster_presence_[:, 3].any()
    assert_array_equal(after.score_samples(X, tasks=tasks), before.score_samples(X, tasks=tasks))


def test_a_merged_centre_is_the_mean_of_its_rows(blobs):
    before, after = two_models(blobs)
    sizes = before.cluster_sizes_[:, [1, 3], None]
    middle = (before.task_centers_[:, [1, 3]] * sizes).sum(axis=1) / sizes.sum(axis=1)
    assert_allclose(after.task_centers_[:, 1], middle)
    assert_allclose(after.task_centers_[:, [0, 2, 3]], before.task_centers_[:, [0, 2, 3]])


def test_merging_in_steps_and_in_any_order_is_the_same(blobs):
    before, _ = two_models(blobs)
    steps, at_once = two_models(blobs)[0].merge([3, 1]).merge([3, 0]), before.merge([0, 1, 3])
    assert steps.fitted_.merged == at_once.fitted_.merged == ((1, 0), (3, 0))
    assert steps.n_clusters_ == 2


def test_the_name_of_the_smallest_number_stays_or_else_the_first(blobs):
    before, _ = two_models(blobs)
    assert before.rename({1: "a", 3: "b"}).merge([1, 3]).cluster_names_ == {1: "a"}
    other = two_models(blobs)[0].rename({2: "c", 3: "b"})
    assert other.merge([1, 3]).cluster_names_ == {1: "b", 2: "c"}


def test_merges_stay_through_adapt_previous_partial_fit_and_files(blobs, tmp_path):
    X, _, tasks = blobs
    _, model = two_models(blobs)
    new, old = tasks == 3, tasks < 3
    assert set(model.adapt(X[new], tasks=tasks[new]).labels_.tolist()) == {0, 1, 2}
    again = SPMTC(4, random_state=1).fit(X[old], tasks=tasks[old], previous=model)
    assert again.fitted_.merged == ((3, 1),)
    assert np.mean(again.labels_ == model.labels_) > 0.95
    pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")
    from mtcluster.interop import dump, load

    dump(model, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").labels_, model.labels_)
    assert model.partial_fit(X[old], tasks=tasks[old]).fitted_.merged == ((3, 1),)


def test_reports_and_relations_tell_them_as_one(blobs):
    before, after = two_models(blobs)
    report = after.report().summary
    assert report["n_clusters"] == 3
    rows = {row["cluster"]: row["rows"] for row in relations(after).rows() if row["task"] == 0}
    own = before.fitted_.rows.tasks == 0
    assert rows[1] == np.isin(before.labels_[own], (1, 3)).sum()


@pytest.mark.parametrize("numbers", [[1], [1, 1], [], [1, 4], [1, -1], [1, True]])
def test_other_numbers_are_refused(blobs, numbers):
    before, _ = two_models(blobs)
    with pytest.raises(ValueError, match="clusters"):
        before.merge(numbers)
    assert before.fitted_.merged == ()
