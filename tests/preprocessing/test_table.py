"""Tables and matrices → numbers, in the same way for the rows of fit and for new rows."""

import datetime
import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mtcluster import SPMTC
from mtcluster.preprocessing import TableError, TablePreprocessor

pd = pytest.importorskip("pandas")


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@parametrize_with_checks([TablePreprocessor(), TablePreprocessor(scale="standard", impute="median")])
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_pandas_is_imported_only_for_tables():
    code = (
        "import sys, numpy as np\n"
        "class NoPandas:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.split('.')[0] == 'pandas': raise ImportError(name)\n"
        "sys.meta_path.insert(0, NoPandas())\n"
        "from mtcluster.preprocessing import TablePreprocessor\n"
        "print(TablePreprocessor(scale='standard').fit_transform(np.eye(2)).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[1.0, -1.0], [-1.0, 1.0]]"


# Numbers


def test_numbers_are_standardised_and_brought_back():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 6], "b": [10, 20, 30, 40]})
    preprocessor = TablePreprocessor()
    X = preprocessor.fit_transform(frame)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    np.testing.assert_allclose(preprocessor.inverse_transform_centers(X), frame.to_numpy())
    np.testing.assert_allclose(preprocessor.transform(frame.iloc[:2]), X[:2])
    assert X.flags.c_contiguous


@pytest.fixture
def two_tasks():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": np.r_[rng.normal(5, 2, 40), rng.normal(-90, 30, 40)], "b": rng.normal(size=80)})
    return frame, np.repeat(["x", "y"], 40).astype(object)


def test_numbers_may_be_standardised_within_each_task(two_tasks):
    frame, tasks = two_tasks
    preprocessor = TablePreprocessor(scale="within")
    X = preprocessor.fit_transform(frame, tasks=tasks)
    for task in ("x", "y"):
        own = tasks == task
        np.testing.assert_allclose(X[own].mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(X[own].std(axis=0), 1)
        np.testing.assert_allclose(preprocessor.inverse_transform_centers(X[own], task), frame[own], atol=1e-9)
    np.testing.assert_allclose(preprocessor.transform(frame[:3], tasks=tasks[:3]), X[:3])
    assert preprocessor.tasks_.tolist() == ["x", "y"]
    assert "within each task" in preprocessor.describe()[0]


def test_a_new_task_is_scaled_by_its_own_rows_if_there_are_enough(two_tasks):
    frame, tasks = two_tasks
    preprocessor = TablePreprocessor(scale="within")
    X = preprocessor.fit_transform(frame, tasks=tasks)
    moved = 3 * frame[:40] + 100
    np.testing.assert_allclose(preprocessor.transform(moved, tasks=["z"] * 40), X[:40], atol=1e-9)
    together = TablePreprocessor(scale="standard").fit(frame)
    np.testing.assert_allclose(preprocessor.transform(moved[:19], tasks=["z"] * 19), together.transform(moved[:19]))
    np.testing.assert_allclose(preprocessor.transform(moved), together.transform(moved))


@pytest.mark.parametrize("scale", ["standard", "within"])
def test_one_task_is_scaled_alike_over_all_and_within(scale, two_tasks):
    frame, _ = two_tasks
    X = TablePreprocessor(scale=scale).fit_transform(frame, tasks=["x"] * len(frame))
    np.testing.assert_allclose(X, TablePreprocessor().fit_transform(frame))


def test_a_constant_column_is_harmless():
    X = TablePreprocessor().fit_transform(pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, 2.0]}))
    np.testing.assert_array_equal(X, [[0, -1], [0, 1]])


def test_nullable_and_unsigned_types_are_numbers():
    frame = pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64"), "b": np.array([1, 2, 3], dtype="uint8")})
    X = TablePreprocessor(impute="median", scale="none").fit_transform(frame)
    np.testing.assert_array_equal(X, [[1, 1], [2, 2], [1.5, 3]])


def test_decimals_are_numbers():
    money = pd.Series([Decimal("1.5"), Decimal("2.5")], dtype=object)
    X = TablePreprocessor(scale="none").fit_transform(pd.DataFrame({"money": money}))
    np.testing.assert_array_equal(X, [[1.5], [2.5]])


# Categories


def test_categories_become_0_and_1_and_unseen_ones_all_0():
    frame = pd.DataFrame({"sex": ["f", "m", "m"], "land": ["de", "fr", "it"], "smokes": [True, False, True]})
    preprocessor = TablePreprocessor()
    X = preprocessor.fit_transform(frame)
    names = ["sex = f", "sex = m", "land = de", "land = fr", "land = it", "smokes = False", "smokes = True"]
    assert preprocessor.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(X, [[1, 0, 1, 0, 0, 0, 1], [0, 1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 1, 0, 1]])
    new = pd.DataFrame({"sex": ["m", "m"], "land": ["uk", "de"], "smokes": [False, True]})
    np.testing.assert_array_equal(preprocessor.transform(new), [[0, 1, 0, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 1]])
    assert preprocessor.unseen_categories(new) == {"land": {"uk": 1}}
    assert preprocessor.unseen_categories(frame) == {}


def test_centres_of_categories_stay_shares():
    frame = pd.DataFrame({"sex": ["f", "m", "m"], "a": [1.0, 2, 6]})
    preprocessor = TablePreprocessor().fit(frame)
    center = preprocessor.transform(frame).mean(axis=0, keepdims=True)
    np.testing.assert_allclose(preprocessor.inverse_transform_centers(center), [[3, 1 / 3, 2 / 3]])
    categories = TablePreprocessor().fit(frame[["sex"]])
    np.testing.assert_array_equal(categories.inverse_transform_centers(np.array([[0.5, 0.5]])), [[0.5, 0.5]])


def test_a_category_that_a_gap_made_a_float_is_known_all_the_same():
    preprocessor = TablePreprocessor(impute="median").fit(pd.DataFrame({"kind": ["1", "2", "2"], "a": [1.0, 2, 3]}))
    new = pd.DataFrame({"kind": [1.0, np.nan], "a": [1.0, 2]})
    np.testing.assert_array_equal(preprocessor.transform(new)[:, 1:], [[1, 0], [0, 0]])
    assert preprocessor.unseen_categories(new) == {"kind": {"(missing)": 1}}


# Texts


def test_texts_and_numbers_stand_side_by_side():
    frame = pd.DataFrame({"story": ["cats purr", "dogs bark", "cats and dogs"], "age": [1.0, 2.0, 4.0]})
    preprocessor = TablePreprocessor(text=("story",), scale="none")
    X = preprocessor.fit_transform(frame)
    assert sparse.issparse(X)
    assert preprocessor.get_feature_names_out().tolist() == ["age", "bark", "cats", "dogs", "purr"]  # not "and"
    np.testing.assert_allclose(dense(X)[:, 0], [1, 2, 4])
    np.testing.assert_allclose(np.linalg.norm(dense(X)[:, 1:], axis=1), 1)
    kept = TablePreprocessor(text=["story"], stop_words=None).fit(frame)
    assert "and" in kept.get_feature_names_out()


def test_a_word_that_is_a_column_too_has_a_name_of_its_own():
    frame = pd.DataFrame({"price": [1.0, 2.0], "note": ["price high", "price low"]})
    names = TablePreprocessor(text=("note",)).fit(frame).get_feature_names_out()
    assert sorted(names) == ["high", "low", "note: price", "price"]


def test_words_of_several_columns_carry_the_names_of_their_columns():
    frame = pd.DataFrame({"a": ["cats purr", "cats"], "b": ["dogs", "cats"]})
    names = TablePreprocessor(text=("a", "b")).fit(frame).get_feature_names_out()
    assert names.tolist() == ["a: cats", "a: purr", "b: cats", "b: dogs"]


def test_the_column_without_words_is_named():
    frame = pd.DataFrame({"a": ["cats purr", "cats"], "b": ["!", "?"]})
    with pytest.raises(TableError, match="column 'b'") as caught:
        TablePreprocessor(text=("a", "b")).fit(frame)
    assert (caught.value.kind, caught.value.column) == ("no_words", "b")


# Missing values


def test_gaps_are_filled_with_the_medians_of_the_fit():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3, 9], "kind": ["x", None, "y", "x"], "b": ["cats", None, "dogs", "cats"]})
    preprocessor = TablePreprocessor(impute="median", scale="none", text=("b",))
    X = dense(preprocessor.fit_transform(frame))
    assert X[1, 0] == 3
    names = preprocessor.get_feature_names_out().tolist()
    assert names == ["a", "kind = (missing)", "kind = x", "kind = y", "cats", "dogs"]
    np.testing.assert_array_equal(X[1, 4:], 0)
    assert preprocessor.n_missing_ == {"a": 1, "kind": 1, "b": 1}
    assert "a (1), kind (1), b (1)" in preprocessor.describe()[-1]
    new = pd.DataFrame({"a": [np.nan], "kind": ["y"], "b": [None]})
    np.testing.assert_array_equal(dense(preprocessor.transform(new)), [[3, 0, 0, 1, 0, 0]])


def test_gaps_stay_gaps_and_scaling_ignores_them():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3], "sex": ["f", None, "m"], "smokes": [True, False, None]})
    preprocessor = TablePreprocessor()
    X = preprocessor.fit_transform(frame)
    assert preprocessor.get_feature_names_out().tolist() == [
        "a",
        "sex = f",
        "sex = m",
        "smokes = False",
        "smokes = True",
    ]
    gap = np.nan
    np.testing.assert_array_equal(X, [[-1, 1, 0, 0, 1], [gap, gap, gap, 1, 0], [1, 0, 1, gap, gap]])
    assert preprocessor.n_missing_ == {"a": 1, "sex": 1, "smokes": 1}
    assert "stay missing and count nothing: a (1), sex (1), smokes (1)" in preprocessor.describe()[-1]
    new = pd.DataFrame({"a": [gap, 5.0], "sex": ["x", None], "smokes": [True, True]})
    np.testing.assert_array_equal(preprocessor.transform(new), [[gap, 0, 0, 0, 1], [3, gap, gap, 0, 1]])
    assert preprocessor.unseen_categories(new) == {"sex": {"x": 1}}


def test_a_category_of_that_name_is_not_taken_for_a_gap():
    frame = pd.DataFrame({"kind": ["(missing)", "x", None], "a": [1.0, 2, 3]})
    X = TablePreprocessor(scale="none").fit_transform(frame)
    np.testing.assert_array_equal(X[:, 1:], [[1, 0], [0, 1], [np.nan, np.nan]])


def test_a_column_that_a_task_lacks_is_scaled_as_that_of_all_tasks(two_tasks):
    frame, tasks = two_tasks
    frame.loc[tasks == "x", "b"] = np.nan
    preprocessor = TablePreprocessor(scale="within")
    X = preprocessor.fit_transform(frame, tasks=tasks)
    assert np.isnan(X[tasks == "x", 1]).all()
    assert np.isfinite(X[tasks == "x", 0]).all()
    later = pd.DataFrame({"a": [5.0], "b": [1.5]})
    together = TablePreprocessor(scale="standard").fit(frame).transform(later)
    assert preprocessor.transform(later, tasks=["x"])[0, 1] == together[0, 1]
    few = frame[:40].assign(b=np.r_[1.5, np.full(39, np.nan)])  # one value is no scale of a new task
    assert preprocessor.transform(few, tasks=["z"] * 40)[0, 1] == together[0, 1]


SPARSE = {
    "texts": (pd.DataFrame({"a": [1.0, np.nan], "b": ["one cat", "one dog"]}), {"text": ("b",)}, r"a \(1\)"),
    "counts": (np.array([[1.0, np.nan], [2, 1]]), {"tfidf": True}, r"all features \(1\)"),
    "a sparse matrix": (sparse.csr_matrix([[1.0, np.nan], [2, 1]]), {}, r"all features \(1\)"),
}


@pytest.mark.parametrize("name", SPARSE)
def test_gaps_are_refused_where_zeros_are_values(name):
    X, parameters, where = SPARSE[name]
    with pytest.raises(TableError, match=f"sparse.*{where}.*impute='median'") as caught:
        TablePreprocessor(**parameters).fit(X)
    assert caught.value.kind == "missing"
    TablePreprocessor(impute="median", **parameters).fit(X)


def test_gaps_of_matrices_stay_or_are_filled():
    X = np.array([[1.0, np.nan], [2, 5], [3, 7]])
    preprocessor = TablePreprocessor()
    np.testing.assert_array_equal(preprocessor.fit_transform(X), X)
    assert "all features (1)" in preprocessor.describe()[-1]
    single = TablePreprocessor().fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert np.isnan(single[0, 1])
    preprocessor = TablePreprocessor(impute="median")
    np.testing.assert_array_equal(preprocessor.fit_transform(X), [[1, 6], [2, 5], [3, 7]])
    np.testing.assert_array_equal(preprocessor.transform([[np.nan, 0]]), [[2, 0]])
    with pytest.raises(TableError, match="infinity"):
        preprocessor.fit(np.where(X == 7, np.inf, X))


# Refusals


@pytest.mark.parametrize(
    ("values", "kind", "row", "words"),
    [
        (["1", "2", "three", "4"], "not_numbers", 2, r"'three' in row 2"),
        (["1", "2", "1,5", "4"], "commas", 2, "point"),
        ([1.0, -np.inf, 2.0], "infinite", 1, "row 1"),
        ([datetime.date(2020, 1, 1)] * 2, "dates", None, "dates"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "dates", None, "dates"),
        ([f"n{i}" for i in range(51)], "many_categories", None, "51 different"),
    ],
)
def test_a_column_that_cannot_be_used_is_refused_with_its_name_and_row(values, kind, row, words):
    frame = pd.DataFrame({"ok": np.arange(len(values)), "a": values})
    with pytest.raises(TableError, match=words) as caught:
        TablePreprocessor().fit(frame)
    error = caught.value
    assert (error.kind, error.column, error.row) == (kind, "a", row)
    assert "'a'" in str(error)


def test_texts_in_a_column_of_numbers_are_refused_in_other_rows_however_many():
    preprocessor = TablePreprocessor().fit(pd.DataFrame({"a": [1.0, 2]}))
    with pytest.raises(TableError, match="'old'") as caught:
        preprocessor.transform(pd.DataFrame({"a": ["old", "young"]}))
    assert (caught.value.kind, caught.value.row) == ("not_numbers", 0)


@pytest.mark.parametrize("impute", [None, "median"])
def test_columns_without_values_are_left_out(impute):
    frame = pd.DataFrame({"a": [np.nan] * 2, "b": [1.0, 2], "c": [None] * 2, "d": [None] * 2})
    preprocessor = TablePreprocessor(impute=impute, scale="none", text=("d",))
    np.testing.assert_array_equal(preprocessor.fit_transform(frame), [[1], [2]])
    assert preprocessor.left_out_ == ["a", "c", "d"]
    assert "Left out, as no row has a value: 'a', 'c', 'd'." in preprocessor.describe()
    np.testing.assert_array_equal(preprocessor.transform(frame.assign(a=7.0)), [[1], [2]])
    matrix = TablePreprocessor(impute=impute)
    np.testing.assert_array_equal(matrix.fit_transform([[np.nan, 1, 2], [np.nan, 3, 4]]), [[1, 2], [3, 4]])
    assert matrix.get_feature_names_out(["p", "q", "r"]).tolist() == ["q", "r"]
    assert matrix.describe()[:2] == [
        "2 features of a matrix, used as they are.",
        "Left out, as no row has a value: feature 0.",
    ]
    np.testing.assert_array_equal(matrix.transform([[9, 5, 6]]), [[5, 6]])


@pytest.mark.parametrize("X", [pd.DataFrame({"a": [np.nan] * 2}), np.full((2, 1), np.nan)])
def test_data_without_a_value_are_refused(X):
    with pytest.raises(TableError, match="no column has a value") as caught:
        TablePreprocessor().fit(X)
    assert caught.value.kind == "empty"


def test_rows_need_the_columns_of_the_fit():
    preprocessor = TablePreprocessor().fit(pd.DataFrame({"a": [1.0, 2], "b": [3, 4]}))
    with pytest.raises(ValueError, match="feature names"):
        preprocessor.transform(pd.DataFrame({"a": [1.0], "c": [2]}))
    with pytest.raises(TableError, match="fit was given a table"):
        preprocessor.transform(np.ones((1, 2)))
    with pytest.raises(ValueError, match="several columns named 'a'"):
        preprocessor.fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="lacks: story"):
        TablePreprocessor(text=("story",)).fit(pd.DataFrame({"a": [1.0, 2]}))


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(TableError("a problem", "advice", kind="dates", column="a", row=3)))
    assert (str(error), error.kind, error.column) == ("a problem in row 3: advice.", "dates", "a")


# Matrices


def test_matrices_are_used_as_they_are():
    X = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    preprocessor = TablePreprocessor()
    assert preprocessor.fit_transform(X).dtype == np.float32
    np.testing.assert_array_equal(preprocessor.transform(X).toarray(), np.eye(3))
    assert preprocessor.get_feature_names_out(["p", "q", "r"]).tolist() == ["p", "q", "r"]
    assert preprocessor.describe() == ["3 features of a matrix, used as they are."]


def test_counts_are_weighted_and_may_be_scaled():
    X = np.array([[1.0, 0, 2], [0, 3, 1], [1, 1, 0]])
    wanted = TfidfTransformer(sublinear_tf=True).fit_transform(X).toarray()
    preprocessor = TablePreprocessor(tfidf=True)
    np.testing.assert_allclose(dense(preprocessor.fit_transform(X)), wanted)
    assert "TF-IDF" in preprocessor.describe()[0]
    scaled = TablePreprocessor(tfidf=True, scale="standard")
    Z = scaled.fit_transform(X)
    np.testing.assert_allclose(Z.std(axis=0), 1)
    np.testing.assert_allclose(scaled.inverse_transform_centers(Z), wanted, atol=1e-12)


# In scikit-learn


@pytest.mark.slow
def test_tasks_are_routed_through_a_pipeline(two_tasks):
    frame, tasks = two_tasks
    with sklearn.config_context(enable_metadata_routing=True):
        preprocessor = TablePreprocessor(scale="within").set_fit_request(tasks=True).set_transform_request(tasks=True)
        model = SPMTC(2, random_state=0).set_fit_request(tasks=True).set_predict_request(tasks=True)
        pipeline = make_pipeline(preprocessor, model).fit(frame, tasks=tasks)
        labels = pipeline.predict(frame, tasks=tasks)
    X = TablePreprocessor(scale="within").fit_transform(frame, tasks=tasks)
    np.testing.assert_array_equal(labels, SPMTC(2, random_state=0).fit(X, tasks=tasks).labels_)


def test_frames_come_out_where_they_are_asked_for():
    frame = pd.DataFrame({"a": [1.0, 2, 6], "sex": ["f", "m", "m"]})
    preprocessor = TablePreprocessor(impute="median")
    X = preprocessor.fit_transform(frame)
    with sklearn.config_context(transform_output="pandas"):
        found = clone(preprocessor).fit_transform(frame)
    assert list(found.columns) == ["a", "sex = f", "sex = m"]
    np.testing.assert_allclose(found.to_numpy(dtype=float), X)


def test_parameters_are_checked_and_nothing_works_before_fit():
    frame = pd.DataFrame({"a": [1.0, 2]})
    with pytest.raises(ValueError, match="'scale' parameter"):
        TablePreprocessor(scale="log").fit(frame)
    with pytest.raises(ValueError, match="'text' parameter"):
        TablePreprocessor(text="a").fit(frame)
    fresh = TablePreprocessor()
    for call in (fresh.transform, fresh.unseen_categories, fresh.inverse_transform_centers):
        with pytest.raises(NotFittedError):
            call(frame)
    for call in (fresh.describe, fresh.get_feature_names_out):
        with pytest.raises(NotFittedError):
            call()


def test_a_fitted_preprocessor_can_be_written_and_read_safely(tmp_path):
    pytest.importorskip("skops")
    from mtcluster.interop import dump, load

    columns = {"a": [1.0, np.nan, 6] * 10, "sex": ["f", "m", "m"] * 10, "b": ["cats purr", "dogs", "cats"] * 10}
    frame, tasks = pd.DataFrame(columns), np.repeat([1, 2], 15)
    preprocessor = TablePreprocessor("within", "median", ("b",)).fit(frame, tasks=tasks)
    dump(preprocessor, tmp_path / "p.skops")
    again = load(tmp_path / "p.skops")
    assert (again.transform(frame, tasks=tasks) != preprocessor.transform(frame, tasks=tasks)).nnz == 0
    assert again.describe() == preprocessor.describe()


def test_a_column_of_tasks_that_is_named_is_taken_out():
    frame = pd.DataFrame({"island": ["a", "a", "b", "b"], "x": [1.0, 2.0, 30.0, 40.0]})
    for scale in ("standard", "within"):
        named = TablePreprocessor(scale=scale).fit(frame, tasks="island")
        assert named.get_feature_names_out().tolist() == ["x"]
        given = TablePreprocessor(scale=scale).fit(frame[["x"]], tasks=frame["island"])
        expected = given.transform(frame[["x"]], tasks=frame["island"])
        np.testing.assert_array_equal(named.transform(frame, tasks="island"), expected)
        found = TablePreprocessor(scale=scale).fit_transform(frame, tasks="island")
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="tasks='iland': X has no such column; did you mean 'island'"):
        TablePreprocessor().fit(frame, tasks="iland")
