"""Choosing the number of clusters: right where it is known, 1 where there is nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from mtcluster.datasets import load_digits_tasks, make_multitask_blobs
from mtcluster.model_selection import select_n_clusters


def number(X, tasks=None, n_clusters=range(2, 7), **others):
    return select_n_clusters(X, tasks=tasks, n_clusters=n_clusters, **{"random_state": 0, **others}).n_clusters


@pytest.fixture
def three():
    return make_multitask_blobs([60, 50, 40], 4, n_tasks=3, n_clusters=3, separation=9, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("c", [3, 5, 8])
def test_generated_clusters_are_counted(c):
    X, _, tasks = make_multitask_blobs(200, n_features=20, n_tasks=3, n_clusters=c, separation=8, random_state=c)
    found = select_n_clusters(X, tasks=tasks, random_state=0)
    assert found.n_clusters == c
    assert found.table["n_clusters"] == list(range(1, 11))
    assert found.table["stability"][c - 1] > 0.9
    assert found.table["supported"][c - 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_clusters_that_tasks_lack_and_tasks_that_lie_apart_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    centers, tasks = 8 * np.eye(6)[:4], np.repeat([0, 1, 2], 150)
    y = rng.integers(4, size=450)
    y[tasks == 1] = rng.integers(3, size=150)
    y[tasks == 2] = rng.integers(2, size=150)
    X = centers[y] + rng.normal(size=(450, 6))
    assert number(X, tasks) == 4
    assert number(X + 15 * rng.normal(size=(3, 6))[tasks], tasks) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["gaussian", "square", "line"])
def test_where_there_is_nothing_the_suggestion_is_one_group(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        X = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5))
    else:
        X = rng.uniform(size=(400, 2)) if kind == "square" else rng.normal(size=(400, 1))
    found = select_n_clusters(X, tasks=np.arange(400) % 2, random_state=seed)
    assert found.n_clusters == found.best == 1
    assert found.named == []
    assert "no clear structure" in str(found)
    assert found.table["supported"] == [True] + [False] * 9


@pytest.mark.parametrize("seed", range(3))
def test_clusters_on_a_line_are_counted(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(place, size=(80, 1)) for place in (0, 10, 20)])
    assert number(X) == 3
    assert number(X[:160]) == 2


@pytest.mark.slow
def test_containers_do_not_matter(three):
    X, _, tasks = three
    names = np.array(["b", "a", "c"])[tasks]
    assert number(X, tasks) == 3
    assert number(X[tasks == 0]) == 3
    assert number({k: X[tasks == k] for k in range(3)}) == 3
    assert number(sparse.csr_matrix(X), tasks) == 3
    assert number(X.astype(np.float32), names) == 3
    assert number(pd.DataFrame(X, columns=list("abcd")), pd.Series(names)) == 3
    assert number(1e6 * X + 1e7, tasks) == 3


@pytest.mark.parametrize("kind", ["measured", "unit", "wide"])
def test_what_is_found_about_a_number_does_not_depend_on_the_others(kind):
    X, _, tasks = make_multitask_blobs([70, 60], 5, n_tasks=2, n_clusters=3, separation=4, random_state=0)
    if kind == "unit":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "wide":
        X = np.c_[X, np.random.default_rng(0).normal(size=(130, 60))]
    tables = [
        select_n_clusters(X, tasks=tasks, n_clusters=numbers, random_state=0).table
        for numbers in (range(2, 5), range(2, 8), [3], [6, 4, 2])
    ]
    rows = {}
    for table in tables:
        for row in table.rows():
            row.pop("supported")
            known = rows.setdefault(row["n_clusters"], row)
            assert all(known[name] == value or value != value for name, value in row.items())


def test_the_same_seed_gives_the_same_table(three):
    X, _, tasks = three
    one, same = (select_n_clusters(X, tasks=tasks, n_clusters=[2, 4], random_state=3) for _ in range(2))
    assert str(one) == str(same)


def test_coarser_numbers_are_named_and_the_tree_tells_what_splits():
    """Two groups of two clusters each."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 80)
    X = np.array([[0, 0, 0], [0, 9, 0], [30, 0, 0], [30, 9, 0]])[y] + rng.normal(size=(320, 3))
    found = select_n_clusters(X, tasks=np.arange(320) % 2, n_clusters=range(2, 6), random_state=0)
    assert found.n_clusters == 4
    assert found.named[0] == 2
    assert found.named[-1] == 4
    assert "coarser" in found.reason
    first = [row for row in found.tree.rows() if row["coarse"] == 2]
    assert {row["parent"] for row in first} == {0, 1}
    for parent in (0, 1):
        assert sum(row["share"] for row in first if row["parent"] == parent) == pytest.approx(1)


@pytest.mark.slow
def test_digits_are_about_ten():
    X, _, tasks = load_digits_tasks()
    found = select_n_clusters(X, tasks=tasks, n_clusters=range(6, 13), random_state=0)
    assert abs(found.best - 10) <= 2


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["comp_vs_sci", "people_vs_places"])
def test_two_classes_of_text_are_two_clusters(task_set, name):
    X, _, tasks = task_set(name)
    X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    assert select_n_clusters(X, tasks=tasks, n_clusters=range(2, 6), random_state=0).best == 2


def test_more_clusters_than_distinct_rows_are_not_suggested():
    assert number(np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)) == 2
    assert number(np.repeat(5 * np.eye(3), 20, axis=0)) == 3
    assert number(np.ones((60, 2))) == 1


def test_tasks_of_one_row_or_two_do_no_harm(three):
    X, _, tasks = three
    assert number(np.r_[X, X[:3]], np.r_[tasks, 7, 8, 8]) == 3


def test_rows_of_weight_0_do_not_count(three):
    X, _, tasks = three
    far = np.r_[X, 1000 + X[:40]]
    weights = np.r_[np.ones(150), np.zeros(40)]
    assert number(far, np.r_[tasks, tasks[:40]], sample_weight=weights) == 3
    with pytest.raises(ValueError, match=r"needs 12 rows that count, .* but there are 6: compare numbers up to 3"):
        number(X[:100], n_clusters=[2, 6], sample_weight=np.r_[np.ones(6), np.zeros(94)])


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        ([], r"n_clusters=\[\] should be whole numbers of at least 1, at least one of them"),
        ([0, 2], "at least 1"),
        ([2.5], "whole numbers"),
        ([True, 3], "whole numbers"),
        ("auto", "n_clusters=.*auto.* should be whole numbers"),
        ([1], "should hold a number above 1"),
        (range(2, 60), "n_clusters up to 59 needs 118 rows that count, .* compare numbers up to 50"),
        (None, "n_clusters=None should be whole numbers such as range"),
    ],
)
def test_wrong_numbers_are_named(n_clusters, message):
    X = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(ValueError, match=message):
        select_n_clusters(X, tasks=np.arange(100) % 2, n_clusters=n_clusters)


def test_infinity_is_named_and_missing_values_are_taken(three):
    X, _, tasks = three
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match=r"X contains infinity in 1 row"):
        select_n_clusters(X, tasks=tasks)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[7, 1] = 0
    assert select_n_clusters(X, tasks=tasks, n_clusters=[2, 3, 4], random_state=0).n_clusters == 3


@pytest.mark.dask
def test_dask_arrays_give_the_same_table(three):
    da = pytest.importorskip("dask.array")
    X, _, tasks = three
    lazy = select_n_clusters(da.from_array(X, chunks=(60, 4)), tasks=tasks, n_clusters=[2, 3, 4], random_state=0)
    assert lazy.n_clusters == 3
    assert lazy.table["n_clusters"] == [1, 2, 3, 4]


@pytest.mark.gpu
def test_arrays_of_other_libraries_will_do(three):
    xp = pytest.importorskip("array_api_strict")
    from sklearn import config_context

    X, _, tasks = three
    with config_context(array_api_dispatch=True):
        assert number(xp.asarray(X), tasks) == 3
