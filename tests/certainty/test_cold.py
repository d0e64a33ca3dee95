"""Cold refits, and the number of clusters."""

from dataclasses import replace

import numpy as np
import pytest

from mtcluster.certainty.cold import fitted_cold, reference_value, renamed
from mtcluster.certainty.counting import Number, choose, crossed, silhouette
from mtcluster.search.rows import Rows

NO_GAPS = lambda labels, seen, c: np.full((c, c), np.nan)  # noqa: E731


def test_refits_see_halves_and_then_all_rows_with_other_seeds():
    labels, codes, calls = np.tile([0, 1], 6), np.repeat([0, 1], 6), []

    def refit(at, seed):
        calls.append((None if at is None else [len(own) for own in at], seed))
        return labels if at is not None else 1 - labels

    found = fitted_cold(labels, codes, refit, 4, 2, 0, NO_GAPS, np.zeros(0))
    assert [at for at, _ in calls] == [[3, 3]] * 4 + [None] * 2
    assert len({seed for _, seed in calls}) == 6
    assert found.overall == found.within == 1
    assert (found.confidence == 1).all()


def test_the_worse_of_halves_and_seeds_counts():
    labels, codes = np.repeat([0, 1], 10), np.zeros(20, dtype=int)
    other = np.where(np.arange(20) < 4, 1, labels)
    found = fitted_cold(labels, codes, lambda at, seed: labels if at else other, 2, 2, 0, NO_GAPS, np.zeros(0))
    assert found.overall == found.seeds.kept.mean() == 0.8
    assert found.halves.kept.mean() == 1
    np.testing.assert_array_equal(found.confidence, np.where(np.arange(20) < 4, 0.5, 1))


def test_numbers_of_refits_are_those_of_the_labels():
    labels = np.array([0, 0, 1, 1, -1])
    np.testing.assert_array_equal(renamed(labels, np.array([1, 1, 0, 0, 2]), 2), [0, 0, 1, 1, -1])


def test_data_without_clusters_are_fitted_likewise():
    rng = np.random.default_rng(0)
    value = reference_value(np.zeros(200, dtype=int), lambda at, seed: rng.integers(0, 2, 200), 0)
    assert 0.45 < value < 0.65


def number(c, labels, stability=1.0, weakest=1.0, between=0.3, silhouette=0.5, reference=0.2, cells=None):
    return Number(c, labels, stability, weakest, between, silhouette, np.array([reference]), cells or c)


def test_the_largest_separated_number_is_suggested():
    two, four = np.repeat([0, 1], 40), np.repeat([0, 1, 2, 3], 20)
    assert choose([number(2, two), number(4, four)]) == (4, [2, 4], "separated")
    assert choose([number(2, two), number(4, four, between=1.0)]) == (2, [2], "separated")
    assert choose([number(2, two), number(4, four, stability=0.7)]) == (2, [2], "separated")


def test_one_group_where_nothing_is_sharper_than_chance():
    two = np.repeat([0, 1], 40)
    assert choose([number(2, two, between=1.0, silhouette=0.1)])[0] == 1
    assert choose([number(2, two, between=1.0, silhouette=0.5)])[0] == 1


def test_wide_rows_may_have_clusters_that_run_into_each_other():
    two = np.repeat([0, 1], 40)
    assert choose([replace(number(2, two, between=1.0, silhouette=0.5), wide=True)])[0] == 2
    assert choose([replace(number(2, two, between=1.0, silhouette=0.5, stability=0.8), wide=True)])[0] == 1


def test_names_for_the_same_clusters_in_two_tasks_are_no_clusters_more():
    two, four = np.repeat([0, 1], 40), np.repeat([0, 1, 2, 3], 20)
    assert choose([number(2, two, cells=4), number(4, four, cells=4)])[0] == 2


def test_crossing_numbers_are_told():
    assert crossed(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0.5
    assert crossed(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])) == 0


@pytest.mark.parametrize("c", [2, 4])
def test_silhouette_is_that_of_scikit_learn(c):
    from sklearn.metrics import silhouette_score

    rng = np.random.default_rng(0)
    Y, labels = rng.normal(size=(50, 3)), np.arange(50) % c
    rows = Rows.of([Y], [np.ones(50)])
    assert silhouette(rows, labels, c) == pytest.approx(silhouette_score(Y, labels))
