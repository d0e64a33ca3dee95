"""What a search sees of the rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mtcluster import SPMTC
from mtcluster.core.sampling import Sampling, take_sample
from mtcluster.estimators.input import open_rows
from mtcluster.search.rows import Rows
from mtcluster.search.starts import predicted, starting_labels
from mtcluster.search.view import scattered, smoothing_weight, view_of

from .tools import blobs, by_task


def view(X, tasks, c=3, round=False, offset="none"):
    with open_rows(SPMTC(), X, tasks, reset=True) as engine:
        sample = take_sample(engine, Sampling(3000, 100), np.random.default_rng(0))
        return view_of(engine, *sample, c, offset, round, 0)


def wide(n=300, d=200, m=3, seed=0):
    X, tasks, labels = blobs(n=n // m, d=5, m=m, seed=seed)
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, 5)))[0]
    return X @ basis.T + np.random.default_rng(seed + 1).normal(size=(n, d)), tasks, labels


def test_narrow_rows_are_all_columns_in_units_of_their_deviation():
    X, tasks, _ = blobs()
    seen = view(X * [1e-3, 1, 1e3, 7], tasks)
    plain = view(X, tasks)
    assert seen.V is None
    assert len(seen.looks) == 1
    np.testing.assert_allclose(seen.looks[0].Y, plain.looks[0].Y, atol=1e-9)


def test_clusters_are_not_smoothed_and_curves_are():
    X, tasks, _ = wide()
    assert view(X, tasks).smoothing == 0
    digits = load_digits().data
    assert view(digits, np.arange(len(digits)) % 3, 10).smoothing > 0.8


def test_few_directions_are_taken_where_few_are_needed():
    X, tasks, _ = wide()
    seen = view(X, tasks)
    assert seen.V.shape[1] >= 20
    assert seen.looks[0].Y.shape[1] == 5


def test_smoothing_weight_lies_between_none_and_all():
    X, tasks, _ = blobs(n=300)
    assert smoothing_weight(Rows.of(by_task(X, tasks), by_task(np.ones(len(X)), tasks)), 3) < 0.1
    t = np.random.default_rng(0).uniform(0, 6, 600)
    curve = np.c_[np.cos(t), np.sin(t), t, np.cos(2 * t)]
    rows = Rows.of([curve + 0.01 * np.random.default_rng(1).normal(size=curve.shape)], [np.ones(600)])
    assert 0.8 < smoothing_weight(rows, 3) <= 1


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_scattered_rows_are_left_out_and_wide_clusters_are_not(share):
    X, tasks, labels = blobs(n=300, d=6, m=2)
    rng = np.random.default_rng(0)
    out = rng.random(len(X)) < share
    rows, us = X.copy(), by_task(np.ones(len(X)), tasks)
    rows[out] += 15 * rng.normal(size=(out.sum(), 6))
    far = scattered(by_task(rows, tasks), us, _near(rows, tasks), 3)
    assert np.mean(far[out]) > 0.8
    assert np.mean(far[~out]) < 0.05
    wider = X.copy()
    wider[labels == 0] += 2 * rng.normal(size=(np.sum(labels == 0), 6))
    assert not scattered(by_task(wider, tasks), us, _near(wider, tasks), 3).any()


def _near(X, tasks):
    from mtcluster.search.view import NEAR, nearest

    return [nearest(Y, NEAR)[0] for Y in by_task(X, tasks)]


def test_columns_without_clusters_are_predicted_less():
    X, tasks, _ = blobs(n=300)
    noise = np.random.default_rng(0).normal(size=(len(X), 3))
    rows = Rows.of(by_task(np.c_[X, noise], tasks), by_task(np.ones(len(X)), tasks))
    told = predicted(rows, np.random.default_rng(0))
    assert told[:4].min() > 2 * told[4:].max()


def test_starts_do_not_depend_on_units():
    X, tasks, _ = blobs(separation=4)
    us = by_task(np.ones(len(X)), tasks)
    rows = [Rows.of(by_task(Y, tasks), us) for Y in (X, X)]
    a, b = (starting_labels(one, 3, 2, np.random.default_rng(0)) for one in rows)
    np.testing.assert_array_equal(a, b)
