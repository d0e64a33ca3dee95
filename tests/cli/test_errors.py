"""Errors of the library in the words of the command line."""

import re
from pathlib import Path

import numpy as np
import pytest

from mtcluster.cli.errors import ADVICE, InputError, input_errors, need
from mtcluster.cli.readers import Dataset
from mtcluster.preprocessing import TableError, TablePreprocessor

pd = pytest.importorskip("pandas")
DAY = np.datetime64("2000-01-01", "ns")
ONES = np.ones((4, 2))
BAD = {
    "missing": (pd.DataFrame({"a": [1.0, None, 3, 4], "b": ["it"] * 4}), {"text": ("b",)}, "--impute median"),
    "empty": (pd.DataFrame({"a": [np.nan] * 4}), {"impute": "median"}, "no column has a value"),
    "dates": (pd.DataFrame({"a": [DAY] * 4}), {}, "--drop"),
    "not_numbers": (pd.DataFrame({"a": ["1", "2", "3", "x"]}), {}, "--drop"),
    "commas": (pd.DataFrame({"a": ["1", "2", "3", "1,5"]}), {}, "point"),
    "infinite": (pd.DataFrame({"a": [1.0, 2, 3, np.inf]}), {}, "infinity"),
    "many_categories": (pd.DataFrame({"a": [f"n{i}" for i in range(60)]}), {}, "--text a"),
    "too_large": (pd.DataFrame({"a": [1.0, 2, 3, 1e200]}), {}, "whose square overflows"),
    "bytes": (pd.DataFrame({"a": [b"a", b"b", b"c", b"\xff"]}), {}, "--drop"),
    "nested": (pd.DataFrame({"a": ["x", "y", "z", [4]]}), {}, "--drop"),
    "no_words": (pd.DataFrame({"a": ["!", "?", "-", "."]}), {"text": ("a",)}, "texts"),
    "tfidf": (pd.DataFrame(ONES), {"tfidf": True}, "--text"),
    "not_finite": (np.array([[1.0, np.inf]] * 4), {}, "correct"),
    "negative": (-ONES, {"tfidf": True}, "--tfidf"),
    "sparse": (pytest.importorskip("scipy.sparse").csr_matrix(ONES), {"scale": "standard"}, "--scale none"),
}


@pytest.mark.parametrize("kind", BAD)
def test_every_refusal_of_a_table_is_translated(kind, tmp_path):
    X, parameters, words = BAD[kind]
    n = X.shape[0]
    data = Dataset((Path("a.csv"), Path("b.csv")), X, [], None, np.arange(n).astype(str), counts=(n - 1, 1))
    with pytest.raises(TableError) as library:
        TablePreprocessor(**parameters).fit(X)
    assert library.value.kind == kind
    assert "--" not in str(library.value)
    with pytest.raises(InputError) as caught, input_errors(data):
        TablePreprocessor(**parameters).fit(X)
    sentence = str(caught.value)
    assert words in sentence
    assert not re.search(r"(impute|text|tfidf|scale)=", sentence)
    if library.value.row is not None:
        assert sentence.startswith("b.csv: ")
        assert "in row 1" in sentence
    else:
        assert sentence.startswith("a.csv and 1 more: ")


def test_no_advice_is_for_a_kind_that_does_not_exist():
    assert set(ADVICE) <= set(BAD)


def test_new_rows_get_advice_of_their_own():
    frame = pd.DataFrame({"a": ["one cat", None]})
    data = Dataset((Path("a.csv"),), frame, ["a"], None, np.array(["1", "2"]), counts=(2,))
    with pytest.raises(InputError, match="fit with --impute median"), input_errors(data, new_rows=True):
        TablePreprocessor(text=("a",)).fit(frame)


def test_values_that_the_library_refuses_are_input_errors_on_one_line():
    with pytest.raises(InputError, match=r"^two lines$"), input_errors():
        raise ValueError("two\n lines")
    with pytest.raises(RuntimeError, match="something else"), input_errors():
        raise RuntimeError("something else")


def test_a_missing_package_is_named_with_its_extra():
    need("numpy", "files", "this")
    with pytest.raises(InputError, match=r"this needs no_such_package: pip install 'mtcluster\[files\]'"):
        need("no_such_package", "files", "this")
