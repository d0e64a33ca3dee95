"""The vote: labels of several fits, matched and counted."""

from itertools import permutations

import numpy as np
import pytest
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


def test_shares_are_votes_of_all_members():
    rng = np.random.default_rng(0)
    members = [[rng.integers(4, size=30), rng.integers(4, size=10)] for _ in range(7)]
    for share in vote(members, 4):
        assert_allclose(share.sum(axis=1), 1)
        assert_allclose(7 * share, np.round(7 * share))


def naive_vote(members, c):
    """By co-memberships of all pairs of rows, and all permutations of the clusters."""
    labels = [np.concatenate(member) for member in members]
    pairs = [(own[:, None] == own).astype(float).ravel() for own in labels]
    pairs = [pair / np.linalg.norm(pair) for pair in pairs]
    reference = np.argmax([sum(a @ b for b in pairs) for a in pairs])
    shares, orders = np.eye(c)[labels[reference]], None
    for _ in range(10):
        new = [max(permutations(range(c)), key=lambda order: votes(shares, np.array(order)[own])) for own in labels]
        if new == orders:
            break
        orders = new
        shares = np.mean([np.eye(c)[np.array(order)[own]] for order, own in zip(orders, labels, strict=True)], axis=0)
    return shares


def votes(shares, labels):
    return shares[np.arange(len(labels)), labels].sum()


@pytest.mark.parametrize("seed", range(5))
def test_the_vote_is_the_naive_version(seed):
    rng = np.random.default_rng(seed)
    truth, members = rng.integers(4, size=120), []
    for noise in (0.2, 0.4, 0.5):
        labels = rng.permutation(4)[np.where(rng.random(120) < noise, rng.integers(4, size=120), truth)]
        members.append([labels[:70], labels[70:]])
    assert_allclose(np.concatenate(vote(members, 4)), naive_vote(members, 4))


def test_the_numbering_of_the_members_does_not_matter():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=90)
    plain = [np.where(rng.random(90) < 0.3, rng.integers(3, size=90), truth) for _ in range(5)]
    [before], [after] = (
        vote([[labels] for labels in members], 3) for members in (plain, [rng.permutation(3)[own] for own in plain])
    )
    assert any(np.allclose(before[:, order], after) for order in permutations(range(3)))


def test_labels_of_few_bits_have_the_same_vote():
    rng = np.random.default_rng(0)
    members = [[rng.integers(5, size=40)] for _ in range(4)]
    small = [[labels.astype(np.uint8) for labels in member] for member in members]
    assert_array_equal(vote(members, 5)[0], vote(small, 5)[0])
