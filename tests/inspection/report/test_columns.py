"""The columns of the user's table behind the features of a fit."""

from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from mtcluster.inspection._report import columns as module
from mtcluster.inspection._report.columns import kinds_of, read_columns

pandas = pytest.importorskip("pandas")


def test_numbers_and_categories_are_found_by_the_names_of_the_features(patients):
    found = read_columns(patients.table, patients.names, 180, len(patients.names))
    by_name = {feature.name: feature for feature in found.features}
    assert list(by_name) == patients.names == ["age", "iron", "pulse", "sex = female", "sex = male"]
    assert kinds_of(found, 5) == ["number"] * 3 + ["share"] * 2
    np.testing.assert_array_equal(by_name["age"].read(), patients.table["age"])
    expected = (patients.table["sex"] == "male").astype(float).where(patients.table["sex"].notna(), np.nan)
    np.testing.assert_array_equal(by_name["sex = male"].read(), expected)
    assert [field.name for field in found.fields] == ["age", "iron", "pulse", "sex"]


def test_missing_categories_that_were_filled_in_are_a_category():
    table = pandas.DataFrame({"sex": ["m", None, "f"]})
    found = read_columns(table, ["sex = (missing)", "sex = f", "sex = m"], 3, 3)
    np.testing.assert_array_equal([feature.read() for feature in found.features], [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_decimals_are_numbers_and_truth_values_are_categories():
    table = pandas.DataFrame({"price": [Decimal("1.5"), None], "new": [True, False]})
    found = read_columns(table, ["price", "new = False", "new = True"], 2, 3)
    assert [feature.kind for feature in found.features] == ["number", "share", "share"]
    np.testing.assert_array_equal(found.features[0].read(), [1.5, np.nan])
    np.testing.assert_array_equal(found.features[2].read(), [1, 0])


def test_a_data_frame_without_names_of_features_has_its_own():
    found = read_columns(pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), None, 2, 2)
    assert [feature.name for feature in found.features] == ["a", "b"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_matrices_have_one_column_per_feature(make):
    values = np.array([[0.0, 2.0], [3.0, 0.0]])
    found = read_columns(make(values), ["a", "b"], 2, 2)
    np.testing.assert_array_equal(np.column_stack([feature.read() for feature in found.features]), values)


def test_of_a_wide_sparse_matrix_the_columns_that_vary_most_are_read(monkeypatch):
    monkeypatch.setattr(module, "ENTRIES", 2)
    X = sparse.random(50, 6, density=0.5, random_state=0) @ sparse.diags([1.0, 9, 1, 1, 8, 1])
    assert [feature.index for feature in read_columns(X, None, 50, 6).features] == [1, 4]


@pytest.mark.parametrize(
    ("X", "words"),
    [(np.zeros((3, 2)), "X has the shape .3, 2., but the model has 2 rows"), (np.zeros((2, 3)), "X has 3 columns")],
)
def test_other_rows_and_columns_are_refused(X, words):
    with pytest.raises(ValueError, match=words):
        read_columns(X, ["a", "b"], 2, 2)


def test_of_a_large_table_a_sample_is_read(monkeypatch):
    monkeypatch.setattr(module, "CELLS", 10)
    monkeypatch.setattr(module, "FEWEST", 3)
    found = read_columns(np.zeros((20, 2)), None, 20, 2)
    assert len(set(found.sample())) == 5
    assert read_columns(np.zeros((5, 2)), None, 5, 2).sample() is None
