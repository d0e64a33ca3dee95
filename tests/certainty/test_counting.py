"""How many clusters, from numbers that are written down."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mtcluster.certainty import count_clusters, selection_of
from mtcluster.certainty.agreement import agreement
from mtcluster.certainty.counting import N_REFERENCES, Counted, Number, choose, consistent, crossed
from mtcluster.certainty.evidence import Evidence
from tests.certainty.tools import blobs, refitted, setting, view

ROWS = np.arange(60)
NESTED = {2: ROWS // 30, 3: np.minimum(ROWS // 15, 2), 4: ROWS // 15}


def number(c, stability=0.98, *, labels=None, reference=(0.5, 0.6, 0.7, 0.8), plain=None, value=0.0, **others):
    """What would be known about c clusters of 60 rows of one task; by default they are separated."""
    labels = NESTED[c] if labels is None else labels
    fits = refitted(setting([labels], c, value=value), [labels])
    own = agreement(fits, np.zeros(60, dtype=int), np.ones(60))
    plain = stability if plain is None else plain
    evidence = Evidence(fits, own, np.zeros((c, c, 3)), np.ones(60), np.array(reference), plain)
    known = {"error": 0.01, "weakest": 0.95, "across": None, "between": 0.1, "n_cells": c}
    return Number(c, evidence, stability, **{**known, **others})


def test_the_largest_separated_number_is_suggested_and_the_coarser_ones_are_named():
    found = [number(2), number(3), number(4, between=0.9)]
    assert choose(found, gaps=True) == (3, [2, 3], "separated")


@pytest.mark.parametrize(
    "change",
    [
        {"weakest": 0.5},
        {"between": 0.9},
        {"between": np.inf},
        {"across": 0.7},
        {"reference": (0.99, 0.99)},
        {"labels": np.r_[np.zeros(57, int), 1, 2, 3]},
    ],
)
def test_what_keeps_a_number_from_counting(change):
    assert number(4).separated
    assert not number(4, **change).separated


def test_without_gaps_the_smallest_of_the_most_stable_numbers_is_suggested():
    found = [number(2, 0.97), number(3, 0.98), number(4, 0.80)]
    assert choose(found, gaps=False) == (2, [2, 3], "stable")
    assert choose([number(2, 0.9), number(3, 0.98), number(4, 0.97)], gaps=False) == (3, [3, 4], "stable")


def test_no_number_where_all_run_into_each_other_and_none_is_stable():
    found = [number(c, 0.7, between=1.2, reference=[0.4, 0.5]) for c in (2, 3, 4)]
    assert choose(found, gaps=True) == (None, [2, 3, 4], "unstable")


def test_one_group_where_nothing_is_more_stable_than_data_without_clusters():
    found = [number(c, 0.7, between=1.2) for c in (2, 3, 4)]
    assert choose(found, gaps=True) == (1, [], "none")
    assert choose([number(c, 0.85) for c in (2, 3)], gaps=False) == (1, [], "none")  # not stable enough for votes


def test_a_cluster_without_rows_is_not_stable():
    found = [number(2, 0.99, between=1.2), number(4, 1.0, labels=NESTED[2], weakest=0.0, between=1.2)]
    assert choose(found, gaps=True)[0] == 2


def test_the_same_clusters_under_more_names_are_no_finer():
    coarse, fine = number(2, n_cells=4, value=1.0), number(3, n_cells=4, value=0.5)
    assert consistent([coarse, fine]) == [fine]
    assert consistent([coarse, number(3, n_cells=4, value=2.0)]) == [coarse]
    finer = number(3, n_cells=5)
    assert consistent([coarse, finer]) == [coarse, finer]


def test_of_the_same_clusters_under_more_names_those_count_that_tasks_predict():
    predicted, names = number(2, n_cells=4, across=0.95, value=1.0), number(3, n_cells=4, value=0.5)
    assert consistent([predicted, names]) == [predicted]
    assert consistent([number(2, n_cells=4), replace(names, across=0.9)])[0].n_clusters == 3


def test_of_numbers_that_cross_each_other_the_better_separated_one_stays():
    across = number(3, labels=ROWS % 3, between=0.3)
    assert crossed(across.labels, number(2).labels) == pytest.approx(0.5)
    assert [one.n_clusters for one in consistent([number(2), across])] == [2]
    assert [one.n_clusters for one in consistent([number(2, between=0.5), across])] == [3]


def test_crossed_by_hand():
    assert crossed(NESTED[4], NESTED[2]) == 0
    assert crossed(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])) == 0.25


def test_the_result_in_words_and_tables():
    counted = Counted([number(2), number(3), number(4, between=0.9)], 3, [2, 3], "separated")
    found = selection_of(counted)
    assert found.table["n_clusters"] == [1, 2, 3, 4]
    assert found.table["supported"] == [False, True, True, False]
    assert "2 clusters are separated too" in found.reason
    assert "largest number" not in found.reason
    assert found.reason in str(found)
    shares = {(row["parent"], row["child"]): row["share"] for row in found.tree.rows()}
    assert shares == {(0, 1): 0.5, (0, 2): 0.5, (1, 0): 1.0}  # the largest of three is all of one of two
    assert found.best == 3


@pytest.mark.parametrize(
    ("counted", "words", "best"),
    [
        (Counted([number(2), number(3)], 3, [2, 3], "separated"), "try more than 3", 3),
        (Counted([number(2, between=0.9)], 2, [2], "stable"), "clusters run into each other", 2),
        (Counted([number(2), number(3)], 2, [2, 3], "stable"), "About as stable: 3", 2),
        (Counted([number(2, 0.6), number(3, 0.7)], None, [], "unstable"), "No number: .* the most stable, 3, 70 %", 3),
        (Counted([number(2)], 1, [], "none"), "no clear structure", 1),
    ],
)
def test_reasons(counted, words, best):
    found = selection_of(counted)
    assert re.search(words, found.reason)
    assert found.best == best


def test_clusters_far_apart_are_counted_and_progress_is_told():
    X, _ = blobs([[0, 0], [12, 0], [0, 12]], 40)
    steps = []
    found = count_clusters(view(X, np.arange(120) % 2), [2, 3, 4], 0, lambda: steps.append(1))
    assert (found.n_clusters, found.why) == (3, "separated")
    assert len(steps) == N_REFERENCES + 3
    assert found.number(3).stability == 1
