"""The vote: labels of several fits, matched and counted."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster.consensus.vote import vote
from mtcluster.metrics import clustering_accuracy


def test_the_same_labels_renumbered_are_a_unanimous_vote():
    rng = np.random.default_rng(0)
    labels = [rng.integers(4, size=30), rng.integers(4, size=20)]
    members = [[order[part] for part in labels] for order in (rng.permutation(4) for _ in range(5))]
    shares = vote(members, 4)
    assert [share.shape for share in shares] == [(30, 4), (20, 4)]
    assert_array_equal(np.concatenate(shares).max(axis=1), 1)
    assert clustering_accuracy(np.concatenate(labels), np.concatenate(shares).argmax(axis=1)) == 1


def test_the_majority_wins_the_vote():
    truth = np.arange(60) % 3
    wrong = [truth.copy() for _ in range(5)]
    for i, labels in enumerate(wrong):
        labels[i * 10 : (i + 1) * 10] = 0
    [share] = vote([[labels] for labels in wrong], 3)
    assert clustering_accuracy(truth, share.argmax(axis=1)) == 1
    assert_allclose(share.sum(axis=1), 1)


def test_tasks_keep_their_rows_in_a_vote():
    members = [[np.array([0, 1]), np.array([1]), np.array([0, 0, 1])]] * 3
    shares = vote(members, 2)
    assert [share.shape for share in shares] == [(2, 2), (1, 2), (3, 2)]
    for share, labels in zip(shares, members[0], strict=True):
        assert_array_equal(share.argmax(axis=1), labels)


def test_a_vote_of_one_member_is_that_member():
    labels = np.random.default_rng(0).integers(3, size=20)
    [share] = vote([[labels]], 3)
    assert_array_equal(share, np.eye(3)[labels])
