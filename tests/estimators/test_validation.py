"""The door: whatever goes in by task comes out in the order of the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from mtcluster import SPMTC
from mtcluster._utils.tasks import encode_tasks, positions
from mtcluster.estimators.input import read_tasks, read_weights

LABELS = st.one_of(
    st.integers(-5, 5),
    st.text(max_size=3),
    st.booleans(),
    st.binary(max_size=2),
    st.tuples(st.integers(0, 2), st.text(max_size=1)),
)


def rows(n, d=3):
    return np.arange(n * d, dtype=float).reshape(n, d)


def read(X, tasks=None):
    return read_tasks(SPMTC(), X, tasks, reset=True)


@pytest.mark.slow
@given(st.lists(LABELS, min_size=1, max_size=25))
def test_any_hashable_labels_in_any_order_split_and_join(labels):
    X = rows(len(labels))
    data = read(X, labels)
    assert_array_equal(data.join(data.Xs), X)
    assert_array_equal(data.stack(), X)
    assert len(data.labels) == len(set(labels))
    for label, part in zip(data.labels.tolist(), data.Xs, strict=True):
        assert_array_equal(part, X[[other == label for other in labels]])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_every_container_of_labels_means_the_same(labels):
    expected_labels, expected = encode_tasks(np.array(labels), len(labels))
    for container in (list, tuple, pd.Series, pl.Series, lambda x: np.array(x, dtype=object), pd.Categorical):
        names, codes = encode_tasks(container(labels), len(labels))
        assert names.tolist() == expected_labels.tolist()
        assert_array_equal(codes, expected)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_sparse_rows_split_and_join_like_dense_ones(labels):
    X = rows(len(labels))
    data = read(sparse.csr_matrix(X), labels)
    assert_array_equal(data.stack().toarray(), X)
    for thin, thick in zip(data.Xs, read(X, labels).Xs, strict=True):
        assert_array_equal(thin.toarray(), thick)


@given(st.lists(LABELS, max_size=10), st.lists(LABELS, max_size=10, unique=True))
def test_positions_are_those_of_a_list(labels, known):
    for label, position in zip(labels, positions(labels, known), strict=True):
        assert position == (known.index(label) if label in known else None)


def test_labels_are_sorted_where_they_can_be_and_kept_in_order_where_not():
    assert encode_tasks(["b", "a", "b"], 3)[0].tolist() == ["a", "b"]
    assert encode_tasks(["b", 1, "a"], 3)[0].tolist() == ["b", 1, "a"]
    assert encode_tasks([("x", 2), ("x", 1)], 2)[0].tolist() == [("x", 1), ("x", 2)]


def test_tasks_that_stand_together_are_views():
    X = rows(6)
    assert all(np.shares_memory(part, X) for part in read(X, [0, 0, 0, 1, 1, 1]).Xs)


def test_a_duplicate_entry_of_a_sparse_matrix_counts_as_its_sum():
    X = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    assert read(X).Xs[0].data.tolist() == [3.0]
    assert X.nnz == 2  # the user's matrix is left alone


@pytest.mark.parametrize(
    ("X", "is_tasks"),
    [
        ([rows(2), rows(3)], True),
        ((rows(2), rows(3)), True),
        ([sparse.csr_matrix(rows(2)), sparse.csr_matrix(rows(3))], True),
        ([pd.DataFrame(rows(2)), pd.DataFrame(rows(3))], True),
        ([rows(2).tolist(), rows(3).tolist()], True),
        (rows(2).tolist(), False),
        ([rows(2)[0], rows(2)[1]], False),
    ],
)
def test_a_list_is_tasks_when_its_items_are_matrices(X, is_tasks):
    data = read(X)
    assert len(data.Xs) == (2 if is_tasks else 1)
    assert data.named == is_tasks


def test_float32_and_float64_tasks_meet_in_float64():
    assert {X.dtype for X in read([rows(2), rows(2).astype(np.float32)]).Xs} == {np.dtype(np.float64)}
    assert read(rows(2).astype(np.float32)).Xs[0].dtype == np.float32
    assert read(rows(2).astype(int)).Xs[0].dtype == np.float64


def test_one_number_is_the_weight_of_every_row():
    data = read(rows(4), [0, 1, 0, 1])
    assert [w.tolist() for w in read_weights(2.0, data, float)] == [[2.0, 2.0], [2.0, 2.0]]
