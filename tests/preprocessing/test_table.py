"""Columns → numbers, the same in fit and in predict."""

import datetime
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from mtcluster.cli.readers import Collection, InputError
from mtcluster.preprocessing._table import TablePreprocessor

pd = pytest.importorskip("pandas")


def rows(frame):
    return Collection((Path("t.csv"),), frame, list(frame.columns), None, np.arange(len(frame)).astype(str))


def test_numbers_are_standardised_and_brought_back():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 6], "b": [10, 20, 30, 40]})
    how = TablePreprocessor()
    X = how.fit_transform(rows(frame))
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    np.testing.assert_allclose(how.original(X), frame.to_numpy())
    np.testing.assert_allclose(how.transform(rows(frame.iloc[:2])), X[:2])


def test_numbers_may_be_standardised_within_each_task():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": np.r_[rng.normal(5, 2, 40), rng.normal(-90, 30, 40)], "b": rng.normal(size=80)})
    tasks = np.repeat(["x", "y"], 40).astype(object)
    how = TablePreprocessor(scale="within")
    X = how.fit_transform(replace(rows(frame), tasks=tasks))
    for task in ("x", "y"):
        np.testing.assert_allclose(X[tasks == task].mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(X[tasks == task].std(axis=0), 1)
        np.testing.assert_allclose(how.original(X[tasks == task], task), frame[tasks == task], atol=1e-9)
    np.testing.assert_allclose(how.transform(replace(rows(frame[:3]), tasks=tasks[:3])), X[:3])
    new = how.transform(replace(rows(3 * frame[:40] + 100), tasks=np.full(40, "z", dtype=object)))
    np.testing.assert_allclose(new, X[:40], atol=1e-9)
    assert "within each task" in how.lines()[0]


def test_categories_become_0_and_1_and_new_ones_none():
    frame = pd.DataFrame({"sex": ["f", "m", "m"], "land": ["de", "fr", "it"], "smokes": [True, False, True]})
    how = TablePreprocessor()
    X = how.fit_transform(rows(frame))
    assert how.names == ["sex = f", "sex = m", "land = de", "land = fr", "land = it", "smokes = False", "smokes = True"]
    np.testing.assert_array_equal(X, [[1, 0, 1, 0, 0, 0, 1], [0, 1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 1, 0, 1]])
    new = pd.DataFrame({"sex": ["m"], "land": ["uk"], "smokes": [False]})
    np.testing.assert_array_equal(how.transform(rows(new)), [[0, 1, 0, 0, 0, 1, 0]])
    assert how.strange(rows(new)) == ["column 'land' holds 'uk' or others in 1 row(s), not there in the fit."]


def test_a_category_that_a_gap_made_a_float_is_known_all_the_same():
    how = TablePreprocessor(impute="median")
    how.fit_transform(rows(pd.DataFrame({"kind": ["1", "2", "2"], "a": [1.0, 2, 3]})))
    new = rows(pd.DataFrame({"kind": [1.0, np.nan], "a": [1.0, 2]}))
    np.testing.assert_array_equal(how.transform(new)[:, 1:], [[1, 0], [0, 0]])
    assert len(how.strange(new)) == 1


def test_a_word_that_is_a_column_too_has_a_name_of_its_own():
    frame = pd.DataFrame({"price": [1.0, 2.0], "note": ["price high", "price low"]})
    how = TablePreprocessor(text=("note",))
    how.fit_transform(rows(frame))
    assert sorted(how.names) == ["high", "low", "note: price", "price"]


def test_texts_and_numbers_stand_side_by_side():
    frame = pd.DataFrame({"story": ["cats purr", "dogs bark", "cats and dogs"], "age": [1.0, 2.0, 4.0]})
    how = TablePreprocessor(text=("story",), scale="none")
    X = how.fit_transform(rows(frame))
    assert how.names == ["age", "bark", "cats", "dogs", "purr"]  # "and" is a stop word
    np.testing.assert_allclose(X[:, 0].toarray().ravel(), [1, 2, 4])
    np.testing.assert_allclose(np.linalg.norm(X[:, 1:].toarray(), axis=1), 1)


def test_gaps_are_filled_with_the_medians_of_the_fit():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3, 9], "kind": ["x", None, "y", "x"]})
    how = TablePreprocessor(impute="median", scale="none")
    X = how.fit_transform(rows(frame))
    assert X[1, 0] == 3
    assert how.names[1:] == ["kind = (missing)", "kind = x", "kind = y"]
    assert how.transform(rows(pd.DataFrame({"a": [np.nan], "kind": ["y"]})))[0, 0] == 3


def test_gaps_in_other_rows_are_refused_too():
    how = TablePreprocessor()
    how.fit_transform(rows(pd.DataFrame({"a": [1.0, 2.0]})))
    with pytest.raises(InputError, match=r"a \(1\)"):
        how.transform(rows(pd.DataFrame({"a": [np.nan, 1.0]})))


def test_a_constant_column_is_harmless():
    X = TablePreprocessor().fit_transform(rows(pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, 2.0]})))
    assert np.isfinite(X).all()


def test_nullable_and_unsigned_types_are_numbers():
    frame = pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64"), "b": np.array([1, 2, 3], dtype="uint8")})
    X = TablePreprocessor(impute="median").fit_transform(rows(frame))
    assert X.shape == (3, 2)


def test_numbers_kept_as_text_are_refused_with_the_value():
    frame = pd.DataFrame({"a": ["1", "2", "three", "4"]})
    with pytest.raises(InputError, match=r"'three' in row 3"):
        TablePreprocessor().fit_transform(rows(frame))


def test_dates_and_decimals_in_objects_are_told_by_their_type():
    day, money = datetime.date(2020, 1, 1), [Decimal("1.5"), Decimal("2.5")]
    with pytest.raises(InputError, match="dates"):
        TablePreprocessor().fit_transform(rows(pd.DataFrame({"day": [day, day]})))
    X = TablePreprocessor(scale="none").fit_transform(rows(pd.DataFrame({"money": pd.Series(money, dtype=object)})))
    np.testing.assert_array_equal(X, [[1.5], [2.5]])


def test_a_slip_is_told_by_its_own_file():
    frame = pd.DataFrame({"a": ["1", "2", "3", "4", "x"]})
    both = Collection((Path("a.csv"), Path("b.csv")), frame, ["a"], None, np.arange(5).astype(str), counts=(3, 2))
    with pytest.raises(InputError, match=r"^b.csv: .*'x' in row 2"):
        TablePreprocessor().fit_transform(both)
