"""Choosing the number of clusters: right where it is known, silent where there is nothing."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfTransformer

from mtcluster.datasets import load_digits_tasks, make_multitask_blobs
from mtcluster.model_selection import select_n_clusters


@pytest.mark.slow
@pytest.mark.parametrize("c", [3, 5, 8])
def test_generated_clusters_are_counted(c):
    X, _, tasks = make_multitask_blobs(200, n_features=20, n_tasks=3, n_clusters=c, separation=8, random_state=c)
    found = select_n_clusters(X, tasks=tasks, random_state=0)
    assert found.n_clusters == c
    assert found.table["n_clusters"] == list(range(2, 11))
    assert found.table["stability"][c - 2] > 0.9


@pytest.mark.slow
def test_a_dict_of_tasks_and_one_task_will_do():
    X, _, tasks = make_multitask_blobs(n_tasks=3, n_clusters=3, random_state=0)
    assert select_n_clusters({k: X[tasks == k] for k in range(3)}, n_clusters=[2, 3, 5], random_state=0).n_clusters == 3
    assert select_n_clusters(X[tasks == 0], n_clusters=range(2, 6), random_state=0).n_clusters == 3


@pytest.mark.slow
def test_digits_are_about_ten():
    X, _, tasks = load_digits_tasks()
    assert abs(select_n_clusters(X, tasks=tasks, n_clusters=range(6, 13), random_state=0).n_clusters - 10) <= 2


@pytest.mark.slow
def test_noise_has_no_clear_structure():
    rng = np.random.default_rng(0)
    found = select_n_clusters(rng.normal(size=(300, 8)), tasks=np.arange(300) % 2, random_state=0)
    assert found.n_clusters is None
    assert "No clear structure" in str(found)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["comp_vs_sci", "people_vs_places"])
def test_two_classes_of_text_are_two_clusters(task_set, name):
    X, _, tasks = task_set(name)
    X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    assert select_n_clusters(X, tasks=tasks, n_clusters=range(2, 6), random_state=0).n_clusters == 2


def test_more_clusters_than_distinct_rows_are_not_suggested():
    two = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    assert select_n_clusters(two, n_clusters=range(2, 6), random_state=0).n_clusters == 2
    assert select_n_clusters(np.ones((60, 2)), n_clusters=range(2, 6), random_state=0).n_clusters is None


def test_rows_of_weight_0_do_not_count():
    weights = np.r_[np.ones(6), np.zeros(94)]
    with pytest.raises(ValueError, match="the smallest task has 6"):
        select_n_clusters(np.random.default_rng(0).normal(size=(100, 3)), n_clusters=[2, 6], sample_weight=weights)


@pytest.mark.slow
def test_it_is_repeatable_and_independent_of_jobs():
    X, _, tasks = make_multitask_blobs(n_clusters=3, random_state=0)
    options = {"tasks": tasks, "n_clusters": [2, 3], "random_state": 0}
    assert select_n_clusters(X, **options).table == select_n_clusters(X, n_jobs=2, **options).table


@pytest.mark.slow
def test_the_plot_shows_the_suggestion():
    X, _, tasks = make_multitask_blobs(n_clusters=3, random_state=0)
    found = select_n_clusters(X, tasks=tasks, n_clusters=range(2, 6), random_state=0)
    ax = found.plot()
    assert ax.get_xlabel() == "number of clusters"
    assert any("suggested: 3" in text.get_text() for text in ax.texts)


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        ([], "at least one of them"),
        ([1, 2], "at least 2"),
        ([2.5], "whole numbers"),
        (range(2, 40), r"the smallest task has 50: give n_clusters=range\(2, 26\) at most"),
        (None, "n_clusters=None should be whole numbers such as range"),
    ],
)
def test_wrong_numbers_are_named(n_clusters, message):
    X = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(ValueError, match=message):
        select_n_clusters(X, tasks=np.arange(100) % 2, n_clusters=n_clusters)
