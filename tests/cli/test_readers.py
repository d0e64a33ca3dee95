"""Readers: the rows, tasks, ids and classes of each kind of file, without a fit."""

from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from mtcluster.cli import readers
from mtcluster.cli.errors import InputError
from mtcluster.cli.readers import READERS, ColumnRoles, Dataset, TableReader, read_files, reader_of
from mtcluster.cli.readers.base import kind_of, stem
from mtcluster.cli.readers.delimited import read_delimited

pd = pytest.importorskip("pandas")


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def dataset(counts, names=("a", "b")):
    files = tuple(Path(f"{k}.csv") for k in range(len(counts)))
    n = sum(counts)
    frame = pd.DataFrame(np.arange(n * len(names)).reshape(n, -1), columns=list(names))
    return Dataset(files, frame, list(names), None, np.arange(n).astype(str), counts=counts)


# Registry


def test_a_new_kind_of_file_is_one_class_and_one_line(run, survey, tmp_path, monkeypatch):
    class ToyReader(TableReader):
        package = "json"

        def frame(self, path, roles):
            return pd.read_json(path), ("read as JSON",)

    monkeypatch.setitem(READERS, ".toy", ToyReader())
    survey.drop(columns="class").to_json(tmp_path / "survey.toy")
    code, out, err = run("fit", "survey.toy", "--task", "country", "--id", "person", "--clusters", 3, "--refits", 0,
                         "--out", "run")  # fmt: skip
    assert code == 0, err
    assert "read as JSON" in out
    labels = pd.read_csv(tmp_path / "run" / "labels.csv", dtype=str)
    assert labels["id"].tolist() == survey["person"].tolist()
    assert labels["task"].tolist() == survey["country"].tolist()


def test_a_suffix_that_is_not_registered_is_refused_with_those_that_are():
    with pytest.raises(InputError, match=r"'\.docx'.*\.csv.*\.xlsx"):
        reader_of(Path("notes.docx"))
    with pytest.raises(InputError, match="no suffix"):
        reader_of(Path("notes"))


# Names of files and places of rows


def test_stems_and_kinds_ignore_compression():
    names = ["a.csv", "b/c.csv.gz", "d.v2.parquet", ".csv"]
    assert [stem(Path(name)) for name in names] == ["a", "c", "d.v2", ".csv"]
    assert [kind_of(Path(name)) for name in names] == [".csv", ".csv", ".parquet", ""]


def test_rows_are_placed_in_their_files():
    data = dataset((3, 2, 4))
    assert [data.place(row) for row in (0, 2, 3, 4, 5, 8)] == [
        (Path("0.csv"), 1), (Path("0.csv"), 3), (Path("1.csv"), 1), (Path("1.csv"), 2), (Path("2.csv"), 1),
        (Path("2.csv"), 4),
    ]  # fmt: skip
    assert data.name == "0.csv and 2 more"
    assert dataset((3,)).name == "0.csv"


# Roles of columns


def test_roles_name_the_tasks_ids_and_classes(tmp_path):
    path = write(tmp_path / "t.csv", "who,land,a,kind,b\n007,NA,1,x,2\n008,de,3,,4\n")
    data = read_files([path], ColumnRoles(task="land", id="who", label="kind"))
    assert data.tasks.tolist() == ["NA", "de"]
    assert data.ids.tolist() == ["007", "008"]
    assert data.classes.tolist() == ["x", None]
    assert data.names == ["a", "b"]
    assert data.counts == (2,)


@pytest.mark.parametrize(
    ("roles", "names"),
    [
        (ColumnRoles(task="t", features=("b", "a")), ["b", "a"]),
        (ColumnRoles(task="t", features=("b",), text=("c",)), ["b", "c"]),
        (ColumnRoles(task="t", drop=("a",)), ["b", "c"]),
        (ColumnRoles(task="t", text=("c",)), ["a", "b", "c"]),
    ],
)
def test_features_are_those_named_or_all_that_have_no_role(roles, names, tmp_path):
    path = write(tmp_path / "t.csv", "t,a,b,c\nx,1,2,k\ny,3,4,l\n")
    assert read_files([path], roles).names == names


def test_a_misspelt_column_is_answered_with_the_one_that_may_be_meant(tmp_path):
    path = write(tmp_path / "t.csv", "country,a\nx,1\n")
    with pytest.raises(InputError, match=r"'contry'.*did you mean 'country'"):
        read_files([path], ColumnRoles(task="contry"))


def test_optional_columns_may_be_missing(tmp_path):
    path = write(tmp_path / "t.csv", "a\n1\n2\n")
    data = read_files([path], ColumnRoles(task="land", id="who", optional=("task", "id")), one_task=True)
    assert data.tasks.tolist() == ["t", "t"]
    assert data.ids.tolist() == ["1", "2"]
    with pytest.raises(InputError, match="'land'"):
        read_files([path], ColumnRoles(task="land", id="who", optional=("id",)), one_task=True)


def test_whole_numbers_are_names_without_a_decimal_point(tmp_path):
    pd.DataFrame({"t": [1.0, 2.0], "c": [3.0, None], "a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    data = read_files([tmp_path / "t.parquet"], ColumnRoles(task="t", label="c"))
    assert data.tasks.tolist() == ["1", "2"]
    assert data.classes.tolist() == ["3", None]


# Several files


def test_files_are_joined_in_the_columns_of_the_first(tmp_path):
    one, two = write(tmp_path / "x.csv", "a,b\n1,2\n"), write(tmp_path / "y.csv", "b,a\n4,3\n5,6\n")
    data = read_files([one, two], ColumnRoles())
    assert data.X.to_numpy().tolist() == [[1, 2], [3, 4], [6, 5]]
    assert data.tasks.tolist() == ["x", "y", "y"]
    assert data.ids.tolist() == ["x:1", "y:1", "y:2"]
    assert data.counts == (1, 2)


def test_files_of_the_same_name_are_tasks_by_their_paths(tmp_path):
    paths = []
    for name in ("p", "q"):
        (tmp_path / name).mkdir()
        paths.append(write(tmp_path / name / "t.csv", "a\n1\n"))
    assert read_files(paths, ColumnRoles()).tasks.tolist() == [str(path) for path in paths]


def test_columns_that_a_file_lacks_are_missing_in_its_rows(tmp_path):
    one = write(tmp_path / "x.csv", "a,smokes,gone\n1,true,\n2,false,\n")
    two = write(tmp_path / "y.csv", "extra,a,kind\n5,3,u\n")
    data = read_files([one, two], ColumnRoles())
    assert data.names == ["a", "smokes", "gone", "extra", "kind"] == list(data.X.columns)
    assert data.X["a"].tolist() == [1, 2, 3]
    assert data.X["smokes"].tolist()[:2] == [True, False]
    assert data.X["smokes"].isna().tolist() == [False, False, True]
    assert data.X["extra"].isna().tolist() == [True, True, False]
    assert data.X["gone"].isna().all()
    assert data.X["kind"].dropna().tolist() == ["u"]


@pytest.mark.filterwarnings("error")
def test_a_column_that_is_empty_in_one_file_has_the_type_of_the_others(tmp_path):
    one, two = write(tmp_path / "x.csv", "a,b\n1,\n2,\n"), write(tmp_path / "y.csv", "a,b\n,u\n,v\n")
    for paths in ([one, two], [two, one]):
        data = read_files(paths, ColumnRoles())
        assert data.X["a"].dtype.kind == "f"
        assert data.X["b"].dropna().tolist() == ["u", "v"]


def test_options_name_columns_that_one_of_several_files_has(tmp_path):
    one, two = write(tmp_path / "x.csv", "a,b,c\n1,2,3\n"), write(tmp_path / "y.csv", "a,d\n4,5\n")
    assert read_files([one, two], ColumnRoles(features=("a", "d"))).names == ["a", "d"]
    assert read_files([one, two], ColumnRoles(drop=("b", "d"))).names == ["a", "c"]
    with pytest.raises(InputError, match=r"No file has a column 'e' \(--drop\)"):
        read_files([one, two], ColumnRoles(drop=("e",)))
    with pytest.raises(InputError, match=r"x\.csv has none of the columns 'd'"):
        read_files([one, two], ColumnRoles(features=("d",)))
    with pytest.raises(InputError, match=r"x\.csv has no column 'd' \(--drop\)"):
        read_files([one], ColumnRoles(drop=("d",)), one_task=True)


def test_matrices_with_other_features_are_matched_if_they_have_names_and_are_dense(tmp_path):
    anndata = pytest.importorskip("anndata")
    X = np.arange(1.0, 5).reshape(2, 2)
    for name, genes, form in (("a", "fg", np.asarray), ("b", "gh", np.asarray), ("c", "gh", sparse.csr_matrix)):
        cells = anndata.AnnData(form(X), obs=pd.DataFrame(index=["1", "2"]), var=pd.DataFrame(index=list(genes)))
        cells.write_h5ad(tmp_path / f"{name}.h5ad")
    data = read_files([tmp_path / "a.h5ad", tmp_path / "b.h5ad"], ColumnRoles())
    assert data.names == ["f", "g", "h"]
    gap = np.nan
    np.testing.assert_array_equal(data.X, [[1, 2, gap], [3, 4, gap], [gap, 1, 2], [gap, 3, 4]])
    with pytest.raises(InputError, match=r"c\.h5ad lacks 'f', and a sparse matrix cannot hold missing values"):
        read_files([tmp_path / "a.h5ad", tmp_path / "c.h5ad"], ColumnRoles())
    io.mmwrite(tmp_path / "x.mtx", np.ones((2, 2)))
    io.mmwrite(tmp_path / "y.mtx", np.ones((2, 3)))
    with pytest.raises(InputError, match=r"x\.mtx has 2 features, and 3 are needed .*: without names"):
        read_files([tmp_path / "x.mtx", tmp_path / "y.mtx"], ColumnRoles())


def test_matrices_are_joined_by_the_names_of_their_columns_unless_these_repeat(tmp_path):
    anndata = pytest.importorskip("anndata")
    X = np.arange(9.0).reshape(3, 3)
    for name, genes in {"a": "fgh", "b": "hgf", "c": "ggh", "d": "ggh", "e": "hgg"}.items():
        cells = anndata.AnnData(
            X, obs=pd.DataFrame(index=list("123")), var=pd.DataFrame(index=[f"x{g}" for g in genes])
        )
        cells.write_h5ad(tmp_path / f"{name}.h5ad")

    def joined(*names):
        return read_files([tmp_path / f"{name}.h5ad" for name in names], ColumnRoles()).X

    np.testing.assert_array_equal(joined("a", "b"), np.vstack([X, X[:, ::-1]]))
    np.testing.assert_array_equal(joined("c", "d"), np.vstack([X, X]))
    with pytest.raises(InputError, match="several are named 'xg'"):
        joined("c", "e")


# Kinds of files


def test_sparse_and_dense_matrices_stack_as_sparse(tmp_path):
    X = np.array([[1.0, 0], [0, 2]])
    io.mmwrite(tmp_path / "x.mtx", sparse.coo_matrix(X))
    io.mmwrite(tmp_path / "y.mtx", X)
    data = read_files([tmp_path / "x.mtx", tmp_path / "y.mtx"], ColumnRoles())
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), np.vstack([X, X]))
    assert data.names == ["feature 0", "feature 1"]


def test_complex_numbers_are_refused(tmp_path):
    io.mmwrite(tmp_path / "x.mtx", np.array([[1j, 2]]))
    with pytest.raises(InputError, match="complex"):
        read_files([tmp_path / "x.mtx"], ColumnRoles(), one_task=True)


def test_task_sets_name_their_classes_and_features_can_be_chosen(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "a.npz", task1_X=X, task1_y=np.array([0, 1, 0, 1]), task2_X=X, task2_y=np.array([1, 1, 0, 0]))
    data = read_files([tmp_path / "a.npz"], ColumnRoles(features=("feature 2", "feature 0")))
    np.testing.assert_array_equal(data.X, np.vstack([X, X])[:, [2, 0]])
    assert len(set(data.tasks)) == 2
    assert data.classes.tolist() == ["0", "1", "0", "1", "1", "1", "0", "0"]
    with pytest.raises(InputError, match="leave --task out"):
        read_files([tmp_path / "a.npz"], ColumnRoles(task="country"))
    with pytest.raises(InputError, match="'feature 9'"):
        read_files([tmp_path / "a.npz"], ColumnRoles(drop=("feature 9",)))
    with pytest.raises(InputError, match="--text"):
        read_files([tmp_path / "a.npz"], ColumnRoles(text=("feature 1",)))


@pytest.mark.parametrize("separator", list(",;\t|"))
def test_separators_are_guessed_from_the_header(separator, tmp_path):
    path = write(tmp_path / "t.csv", separator.join(["a", '"b, or;c"', "d"]) + "\n" + separator.join("123") + "\n")
    frame = read_delimited(path, [])
    assert list(frame.columns) == ["a", "b, or;c", "d"]
    assert frame.to_numpy().tolist() == [[1, 2, 3]]


def test_decimal_commas_are_left_to_the_check_and_doubtful_points_are_kept(tmp_path):
    path = write(tmp_path / "t.csv", "a;b;c;d\n1,5;x;1.250;1.5\n2;y,z;3.000;2.25\n")
    data = read_files([path], ColumnRoles(), one_task=True)
    assert data.X["a"].tolist() == ["1,5", "2"]
    assert data.X["b"].tolist() == ["x", "y,z"]
    assert data.X["c"].tolist() == ["1.250", "3.000"]
    assert data.X["d"].tolist() == [1.5, 2.25]


def test_missing_values_have_many_names_but_not_in_columns_that_are_kept(tmp_path):
    frame = read_delimited(write(tmp_path / "t.csv", "a,b,id\n1,x,NA\nNA,n/a,null\n3,z,7\n"), ["id"])
    assert frame["a"].isna().tolist() == [False, True, False]
    assert frame["b"].isna().tolist() == [False, True, False]
    assert frame["id"].tolist() == ["NA", "null", "7"]


def test_columns_of_numbers_and_texts_are_read_all_the_same(tmp_path):
    lines = [f"{i},{i}" for i in range(200_000)] + ["oops,1"]
    frame = read_delimited(write(tmp_path / "t.csv", "a,id\n" + "\n".join(lines) + "\n"), ["id"])
    assert frame["a"].iloc[-1] == "oops"
    assert frame["id"].iloc[3] == "3"


@pytest.mark.parametrize(("encoding", "words"), [("utf-16", "UTF-16"), ("latin-1", "UTF-8")])
def test_other_encodings_are_refused(encoding, words, tmp_path):
    (tmp_path / "t.csv").write_bytes("stadt,a\nKöln,1\n".encode(encoding))
    with pytest.raises(ValueError, match=words):
        read_delimited(tmp_path / "t.csv", [])


def test_a_column_without_a_name_after_the_first_is_refused(tmp_path):
    path = write(tmp_path / "t.csv", "t,,a\nx,1,2\n")
    with pytest.raises(InputError, match="column 2 has no name"):
        read_files([path], ColumnRoles(task="t"))


@pytest.mark.parametrize("text", ["t,a,a,b,b\nx,1,2,1,1\n", "t,a,a,b,b\nx,1,2,1,1\nx,y,2,1,1\n"])
def test_repeated_names_of_columns_are_refused_with_all_names(text, run, tmp_path):
    write(tmp_path / "t.csv", text)
    code, _, err = run("fit", "t.csv", "--task", "t", "--out", "run")
    assert code == 2
    assert "Several columns are named 'a', 'b'." in err
    assert not (tmp_path / "run").exists()


def test_an_index_without_a_name_is_left_out_where_ids_are_named(tmp_path):
    path = write(tmp_path / "t.csv", ",who,t,a\n0,p,x,1\n1,q,y,2\n")
    data = read_files([path], ColumnRoles(task="t", id="who"))
    assert data.ids.tolist() == ["p", "q"]
    assert data.names == ["a"]
    assert "was left out" in data.notes[0]


def test_a_named_index_is_a_column(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "t": ["x", "y"]}, index=pd.Index(["p", "q"], name="who"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_files([tmp_path / "t.parquet"], ColumnRoles(task="t", id="who")).ids.tolist() == ["p", "q"]


def test_a_reader_that_fails_is_reported_with_the_file(tmp_path, monkeypatch):
    def fail(path, roles):
        raise RuntimeError("bad\nluck")

    monkeypatch.setattr(readers.READERS[".csv"], "read", fail)
    with pytest.raises(InputError, match=r"t\.csv cannot be read as \.csv: bad luck"):
        read_files([write(tmp_path / "t.csv", "a\n1\n")], ColumnRoles())
