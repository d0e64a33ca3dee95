"""The rows as refits see them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.certainty.tools import blobs, view


def test_codes_and_weights_go_task_by_task():
    X, _ = blobs([[0, 0], [9, 0]], 30)
    seen = view(X, np.tile(["b", "a", "b"], 20))
    assert_array_equal(seen.codes, np.repeat([0, 1], [20, 40]))
    assert seen.weights.shape == (60,)
    assert not seen.wide


def test_the_metric_does_away_with_units_and_correlations():
    X, _ = blobs([[0, 0], [9, 0]], 100)
    one, other = (view(X @ np.array(A)) for A in ([[1, 0], [0, 1]], [[1, 0], [0, 500]]))
    a, b = (seen.rows.place.blocks[0].X for seen in (one, other))
    assert_allclose(a @ a.T, b @ b.T, atol=0.05 * np.abs(a @ a.T).max())


@pytest.mark.parametrize("measured", [True, False])
def test_data_without_clusters_look_the_same_way(measured):
    X, _ = blobs([[0, 0], [9, 0]], 60)
    seen = view(X, np.arange(120) % 3, measured)
    rows = seen.without_clusters(np.random.default_rng(0))
    assert [len(block) for block in rows.place.blocks] == [40, 40, 40]
    assert rows.n_features == seen.rows.n_features
    assert all(np.isfinite(block.X).all() for block in rows.place.blocks)


def test_wide_rows_are_seen_in_few_dimensions():
    X = np.random.default_rng(0).normal(size=(150, 80))
    seen = view(X, np.arange(150) % 2)
    assert seen.wide
    assert seen.rows.n_features < 60
    assert seen.without_clusters(np.random.default_rng(0)).n_features == seen.rows.n_features
    assert len(seen.looks) == 2


def test_many_rows_are_sampled():
    seen = view(np.random.default_rng(0).normal(size=(5000, 2)), np.arange(5000) % 2)
    assert sum(map(len, seen.positions)) == len(seen.codes) == 3000
