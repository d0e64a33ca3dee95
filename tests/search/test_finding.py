"""The search on one look at the rows."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mtcluster.search.finding import Finder
from mtcluster.search.mixtures import FRAMES, fit_mixtures, place
from mtcluster.search.moves import improved
from mtcluster.search.rows import Rows

from .tools import blobs, by_task

ALL = ("none", "offsets", "scales", "own")


def rows_of(X, tasks, **options):
    return Rows.of(by_task(X, tasks), [np.ones(np.sum(tasks == k)) for k in np.unique(tasks)], **options)


def finder(rows, c, frames=ALL, seed=0):
    return Finder(rows, c, frames, np.random.default_rng(seed), 3, 2)


@pytest.mark.parametrize("offset", [0.0, 20.0])
@pytest.mark.parametrize("round", [False, True])
def test_separated_clusters_are_found_wherever_tasks_lie(offset, round):
    X, tasks, labels = blobs(offset=offset)
    best = finder(rows_of(X, tasks, round=round), 3, ("none", "offsets", "own")).find()[0]
    assert adjusted_rand_score(labels, best.labels) == 1


def test_candidates_come_in_the_order_of_their_evidence_and_none_beats_the_moved_one():
    X, tasks, _ = blobs(separation=3)
    found = finder(rows_of(X, tasks), 4).find()
    assert found[0].value == max(one.value for one in found)
    assert [one.value for one in found[1:]] == sorted((one.value for one in found[1:]), reverse=True)


def test_moves_leave_a_local_optimum():
    """Two clusters as one, and another one in two: no mixture leaves that."""
    X, tasks, labels = blobs(n=90, c=4, m=2, separation=10, d=3)
    rows = rows_of(X, tasks)
    half = np.random.default_rng(0).random(len(labels)) < 0.5
    wrong = np.where(labels == 3, 2, np.where((labels == 0) & half, 3, labels))
    one = finder(rows, 4)
    stuck = fit_mixtures(rows, wrong[None], 4, FRAMES["none"], 40)[0]
    found = improved(one._judged, rows, stuck, 4, FRAMES["none"], np.random.default_rng(0))
    assert adjusted_rand_score(labels, stuck) < 0.9
    assert adjusted_rand_score(labels, found) == 1
    assert one.judge(found).value > one.judge(stuck).value


def test_offsets_are_the_least_squares_solution():
    rng = np.random.default_rng(0)
    N, T = rng.integers(1, 9, (3, 4)).astype(float), rng.normal(size=(3, 4, 2))
    _mu, b, M = place(N[None], T[None], FRAMES["offsets"])
    mean = T / N[..., None]
    for _ in range(200):  # the same in turn, to the end
        Z = np.einsum("kj,kjd->jd", N, mean - b[0][:, None]) / N.sum(axis=0)[:, None]
        b = (np.einsum("kj,kjd->kd", N, mean - Z) / N.sum(axis=1)[:, None])[None]
    rest = mean - Z - b[0][:, None]
    assert np.sum(N[..., None] * (mean - M[0]) ** 2) == pytest.approx(np.sum(N[..., None] * rest**2), rel=1e-3)


def test_a_task_that_lacks_a_cluster_keeps_none_of_it():
    X, tasks, labels = blobs(offset=6)
    kept = (tasks != 1) | (labels != 2)
    one = finder(rows_of(X[kept], tasks[kept]), 3)
    best = one.find()[0]
    margin, held = one.support(best)
    assert adjusted_rand_score(labels[kept], best.labels) == 1
    assert held.sum() == 8
    assert (margin > 10).all()


def test_a_task_whose_clusters_lie_elsewhere_is_told_apart():
    X, tasks, labels = blobs(n=120, m=4)
    moved = X.copy()
    moved[tasks == 3] = np.random.default_rng(5).permutation(20 * np.eye(4))[:3][labels[tasks == 3]] + (
        X[tasks == 3] - np.stack([X[(tasks == 3) & (labels == j)].mean(axis=0) for j in range(3)])[labels[tasks == 3]]
    )
    one = finder(rows_of(moved, tasks), 3)
    gain = one.apart(labels, [0, 1, 2, 3])
    assert gain.argmax() == 3
    assert gain[3] > 0
    assert (one.apart(labels, [0, 1, 2]) < 0).all()
    assert (finder(rows_of(X, tasks), 3).apart(labels, [0, 1, 2, 3]) < 0).all()


def test_numbers_of_clusters_in_tasks_are_kept():
    X, tasks, _ = blobs()
    one = finder(rows_of(X, tasks), 3)
    found = one.limited(one.find()[0], np.array([3, 2, 1]))
    assert [len(np.unique(found.labels[tasks == k])) for k in range(3)] == [3, 2, 1]


def test_rows_of_no_weight_change_nothing():
    X, tasks, _ = blobs(separation=5)
    rng = np.random.default_rng(0)
    far = np.concatenate([X, 100 * rng.normal(size=(9, X.shape[1]))])
    codes = np.concatenate([tasks, np.repeat([0, 1, 2], 3)])
    order = np.argsort(codes, kind="stable")
    u = np.concatenate([np.ones(len(X)), np.zeros(9)])[order]
    heavy = Rows.of(by_task(far[order], codes[order]), by_task(u, codes[order]), rounded=False)
    plain = rows_of(X, tasks, rounded=False)
    labels = np.zeros(len(X), dtype=int)
    labels[::2] = 1
    wide = np.zeros(len(order), dtype=int)
    wide[u > 0] = labels
    a, b = finder(plain, 2).judge(labels), finder(heavy, 2).judge(wide)
    assert b.value == pytest.approx(a.value, rel=1e-9)
