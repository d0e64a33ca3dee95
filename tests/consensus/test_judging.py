"""The criterion of candidates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mtcluster.consensus.judging import LOST, Judge
from mtcluster.consensus.members import blocks_of
from mtcluster.core import jobs
from mtcluster.core.blocks import Blocks
from mtcluster.core.geometry import Tied


@pytest.fixture
def judged():
    """A judge, and the sums (1, m, c) and (1, m, c, d) of two clusters in two tasks."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    Ys = [8.0 * np.eye(2)[y] + rng.normal(size=(60, 2)) for _ in range(2)]
    rows = Blocks(blocks_of(Ys, [np.ones(60)] * 2, 1.0))
    metric, weights = Tied.of(np.eye(2)), rows.apply(jobs.unit_weights, outputs=1)[0]
    judge = Judge(metric, metric.spread(rows, weights, np.ones(2, dtype=bool)), rows.origins, rows.summary.means)
    S = np.full((1, 2, 2), 30.0)
    T = np.stack([np.stack([Y[y == j].sum(axis=0) for j in range(2)]) for Y in Ys])[None]
    return judge, S, T


def test_clusters_that_were_not_asked_for_cost_nothing(judged):
    judge, S, T = judged
    padded = np.pad(S, [(0, 0), (0, 0), (0, 2)]), np.pad(T, [(0, 0), (0, 0), (0, 2), (0, 0)])
    plain, free = judge(S, T, np.array([False])), np.array([False])
    assert_allclose(judge(*padded, free, np.array([2])), plain)
    assert_allclose(judge(*padded, free, np.array([3])), plain + LOST)
    assert_allclose(judge(*padded, free), plain + 2 * LOST)


def test_two_clusters_are_better_than_none(judged):
    judge, S, T = judged
    assert judge(S, T, np.array([False]))[0] < judge.nothing(False)
