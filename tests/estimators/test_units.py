"""Units of columns: what is compared through the geometry of a model does not depend on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster import LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs

UNITS = [1e-3, 1e-1, 10.0, 1e3]


@pytest.fixture(scope="module")
def known():
    """Three tasks of four clusters."""
    X, _, tasks = make_multitask_blobs(60, 4, n_tasks=3, n_clusters=4, separation=12, task_shift=0.5, random_state=0)
    return X, tasks


@pytest.fixture(scope="module")
def joining(known):
    """Two further tasks in which one group is new, at the same place in both but for a small shift."""
    X, tasks = known
    rng, middle = np.random.default_rng(1), X[tasks == 0].mean(axis=0)
    new = middle + np.array([40.0, 0, 0, 0]) + rng.normal(size=(30, 4))
    again = middle + np.array([40.0, 0, 6.0, 0]) + rng.normal(size=(30, 4))
    return {"d": np.concatenate([X[tasks == 0], new]), "e": np.concatenate([X[tasks == 1], again])}


def scaled(unit):
    return np.array([1.0, 1.0, unit, 1.0])


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("model", [SPMTC(4, random_state=0), MultiTaskGaussianMixture(4, random_state=0)], ids=str)
def test_new_groups_of_two_tasks_become_one_cluster_in_any_units(known, joining, model, unit):
    (X, tasks), u = known, scaled(unit)
    plain = model.fit(X, tasks=tasks).adapt(joining, novelty="new")
    moved = model.fit(X * u, tasks=tasks).adapt({name: rows * u for name, rows in joining.items()}, novelty="new")
    assert plain.n_clusters_ == moved.n_clusters_ == 5
    assert_array_equal(moved.labels_, plain.labels_)
    assert_array_equal(moved.cluster_presence_, plain.cluster_presence_)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", [SPMTC, LSSMTC, MultiTaskGaussianMixture])
def test_relatedness_of_tasks_does_not_depend_on_units(known, kind, unit):
    X, tasks = known
    plain, moved = (kind(4, random_state=0).fit(rows, tasks=tasks) for rows in (X, X * scaled(unit)))
    assert_allclose(moved.task_relatedness_, plain.task_relatedness_, atol=1e-6)
