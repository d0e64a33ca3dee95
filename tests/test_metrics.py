"""Scores: bounds, symmetries, and what matching means."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtcluster.metrics import clustering_accuracy, joint_accuracy, normalized_mutual_info_score, task_scores

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40).map(
    lambda rows: [np.array(column) for column in zip(*rows, strict=True)]
)


def by_brute_force(y, labels):
    """The best of all one-to-one maps of clusters to classes, some to none."""
    classes = [*np.unique(y), *[-1] * len(np.unique(labels))]
    maps = itertools.permutations(classes, len(np.unique(labels)))
    return max(np.mean(np.array(one)[np.unique(labels, return_inverse=True)[1]] == y) for one in maps)


@given(PAIRS)
def test_accuracy_is_the_best_matching(pairs):
    y, labels, _ = pairs
    assert clustering_accuracy(y, labels) == pytest.approx(by_brute_force(y, labels))


@given(PAIRS, st.permutations(range(4)))
def test_accuracy_does_not_mind_the_names_of_clusters(pairs, order):
    y, labels, _ = pairs
    assert clustering_accuracy(y, np.array(order)[labels]) == clustering_accuracy(y, labels)
    assert clustering_accuracy(y, [f"c{label}" for label in labels]) == clustering_accuracy(y, labels)


@given(PAIRS)
def test_accuracy_is_symmetric_and_1_for_the_same_partition(pairs):
    y, labels, _ = pairs
    assert clustering_accuracy(y, labels) == pytest.approx(clustering_accuracy(labels, y))
    assert clustering_accuracy(y, y) == 1
    assert 0 < clustering_accuracy(y, labels) <= 1


@given(PAIRS)
def test_joint_accuracy_is_at_most_the_mean_of_the_tasks(pairs):
    y, labels, tasks = pairs
    own = [clustering_accuracy(y[tasks == k], labels[tasks == k]) for k in np.unique(tasks)]
    assert joint_accuracy(y, labels, tasks) <= np.mean(own) + 1e-12


@given(PAIRS)
def test_joint_accuracy_of_one_task_is_its_accuracy(pairs):
    y, labels, _ = pairs
    assert joint_accuracy(y, labels, np.zeros(len(y))) == pytest.approx(clustering_accuracy(y, labels))


@given(PAIRS)
def test_the_table_has_a_row_a_task(pairs):
    y, labels, tasks = pairs
    table = task_scores(y, labels, tasks)
    assert table["task"] == np.unique(tasks).tolist()
    assert sum(table["n"]) == len(y)
    for row in table.rows():
        rows = tasks == row["task"]
        assert row["accuracy"] == pytest.approx(clustering_accuracy(y[rows], labels[rows]))
        assert row["nmi"] == pytest.approx(normalized_mutual_info_score(y[rows], labels[rows]))
    assert np.mean(table["joint_accuracy"]) == pytest.approx(joint_accuracy(y, labels, tasks))


def test_clusters_that_do_not_correspond_are_seen():
    y, tasks = np.array([0, 1, 0, 1]), ["a", "a", "b", "b"]
    assert joint_accuracy(y, [5, 6, 5, 6], tasks) == 1
    assert joint_accuracy(y, [5, 6, 6, 5], tasks) == 0.5


def test_a_table_prints_aligned_and_becomes_a_frame():
    table = task_scores([0, 1, 1], [1, 0, 0], ["x", "x", "long name"])
    lines = str(table).splitlines()
    assert len(lines) == 3
    assert lines[0].split() == ["task", "n", "accuracy", "nmi", "joint_accuracy"]
    assert pd.DataFrame(table).shape == (2, 5)


@pytest.mark.parametrize(("y", "labels"), [([0, 1], [0]), ([], []), ([[0, 1], [1, 0]], [0, 1]), ([0, np.nan], [0, 1])])
def test_bad_labels_are_refused(y, labels):
    with pytest.raises(ValueError):
        clustering_accuracy(y, labels)


def test_tasks_of_another_length_are_refused():
    with pytest.raises(ValueError, match="tasks has 1 labels for 2 rows"):
        joint_accuracy([0, 1], [0, 1], ["a"])
