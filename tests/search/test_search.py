"""The search as the start of fits."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mtcluster import LSSMTC, SPMTC, MultiTaskGaussianMixture, Search

from .tools import blobs

SCALE = np.array([1e-3, 1.0, 1e3, 7.0])


def rare(seed=0, n=4000, d=30):
    """Twelve types, the last in one row of 333."""
    rng = np.random.default_rng(seed)
    share = np.array([0.30, 0.20, 0.15, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.007, 0.003])
    tasks, labels = np.repeat(np.arange(2), n), rng.choice(12, 2 * n, p=share)
    X = 4 * rng.normal(size=(12, d))[labels] + 1.6 * rng.normal(size=(2 * n, d)) + 2.5 * rng.normal(size=(2, d))[tasks]
    return X, tasks, labels


@pytest.mark.parametrize("seed", range(3))
def test_clusters_too_rare_for_the_sample_are_found(seed):
    X, tasks, labels = rare(seed)
    model = SPMTC(12, random_state=seed).fit(X, tasks=tasks)
    assert adjusted_rand_score(labels, model.labels_) > 0.99
    assert len(np.unique(model.labels_[labels == 11])) == 1
    assert model.cluster_presence_.all()


def test_the_second_look_is_what_finds_them(monkeypatch):
    found = []
    for again in (True, False):
        if not again:
            monkeypatch.setattr(Search, "_looked_again", lambda self, rows, hunt, found, screened: (found, hunt.view))
        X, tasks, labels = rare(1)
        model = SPMTC(12, random_state=0, init=Search(sample=600)).fit(X, tasks=tasks)
        found.append(adjusted_rand_score(labels, model.labels_))
    assert found[0] > 0.99
    assert found[0] >= found[1]


@pytest.mark.parametrize("estimator", [SPMTC, LSSMTC, MultiTaskGaussianMixture])
def test_units_of_columns_change_nothing(estimator):
    X, tasks, _ = blobs(separation=3.5, offset=1, n=90)
    plain, scaled = (estimator(3, random_state=0).fit(Y, tasks=tasks) for Y in (X, X * SCALE))
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)


def test_outliers_do_not_take_clusters():
    X, tasks, labels = blobs(n=200, c=5, d=5, separation=6, offset=2)
    rng = np.random.default_rng(0)
    out = rng.random(len(X)) < 0.2
    X[out] = X[~out].mean(axis=0) + 12 * X.std(axis=0) * rng.normal(size=(out.sum(), 5))
    model = SPMTC(5, random_state=0).fit(X, tasks=tasks)
    assert adjusted_rand_score(labels[~out], model.labels_[~out]) > 0.95
    assert model.decisions_.search.n_distant_rows > 0.7 * out.sum()


def test_what_was_found_is_told():
    X, tasks, _ = blobs(offset=10)
    found = SPMTC(3, random_state=0).fit(X, tasks=tasks).decisions_
    assert found.start == "search"
    assert found.task_offset == "matched"
    assert found.search.gain > 1
    assert found.search.offsets > 0
    assert found.search.margins.shape == (3, 3)
    assert (found.search.margins > 0).all()


def test_one_task_and_one_cluster_need_no_decision():
    X, _tasks, labels = blobs(m=1, n=90)
    assert adjusted_rand_score(labels, SPMTC(3, random_state=0).fit(X).labels_) == 1
    assert not SPMTC(1, random_state=0).fit(X).labels_.any()


@pytest.mark.parametrize("name", ["sample", "task_sample", "n_seedings", "n_moved", "n_init"])
def test_parameters_are_refused_by_name(name):
    with pytest.raises(ValueError, match=f"{name}=0 of Search should be a whole number of at least 1"):
        Search(**{name: 0})
