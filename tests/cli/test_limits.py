"""Files that are small and would exhaust the memory, and files that would bring the process down."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pytest
from scipy import io, sparse

pd = pytest.importorskip("pandas")
FIT = ("--clusters", 2, "--refits", 0, "--out", "run")


def refused(run, *arguments, words):
    code, out, err = run("fit", *arguments, *FIT)
    assert (code, out) == (2, ""), err
    assert "Traceback" not in err
    assert len(err) < 2000
    for word in words:
        assert word in err


def test_one_cell_at_the_end_of_a_sheet(run, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    book.active["XFD1048576"] = 1
    book.save(tmp_path / "wide.xlsx")
    refused(run, "wide.xlsx", words=["wide.xlsx would take", "--max-bytes"])


def test_compressed_tables_that_unpack_to_too_much(run, tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**20))
    refused(run, "t.csv.gz", "--max-bytes", "1MB", words=["more than the limit of 1.0 MiB"])
    with zipfile.ZipFile(tmp_path / "t.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("task1_X.npy", b"\0" * 2**22)
    refused(run, "t.npz", "--max-bytes", "1MB", words=["more than the limit of 1.0 MiB"])


@pytest.mark.parametrize("suffix", ["csv.bz2", "csv.xz", "csv.zst", "feather", "parquet"])
def test_tables_of_other_kinds_that_unpack_to_too_much(run, tmp_path, suffix):
    pa = pytest.importorskip("pyarrow")
    text, path = b"a,b\n" + b"1,2\n" * 2**20, tmp_path / f"t.{suffix}"
    if suffix in ("feather", "parquet"):
        getattr(pd.DataFrame(np.ones((2**18, 2))).rename(columns=str), f"to_{suffix}")(path)
    elif suffix == "csv.zst":
        path.write_bytes(pa.compress(text, "zstd", asbytes=True))
    else:
        path.write_bytes({"csv.bz2": bz2, "csv.xz": lzma}[suffix].compress(text))
    assert path.stat().st_size < 2**21
    refused(run, path.name, "--max-bytes", "1MB", words=["more than the limit of 1.0 MiB"])


def test_a_matrix_of_too_many_columns(run, tmp_path):
    for name in "ab":
        text = "%%MatrixMarket matrix coordinate real general\n40 2000000000 1\n1 1 1.0\n"
        (tmp_path / f"{name}.mtx").write_text(text)
    refused(run, "a.mtx", "b.mtx", words=["a.mtx would take"])


def test_a_table_within_the_limit_is_read(run, survey, tmp_path):
    survey.to_csv(tmp_path / "survey.csv.gz", index=False)
    code, _, err = run("check", "survey.csv.gz", "--task", "country", "--max-bytes", "1MB")
    assert code == 0, err
    assert "'much' is not a number of bytes" in run("check", "survey.csv.gz", "--max-bytes", "much")[2]


def test_a_matrix_whose_first_lines_promise_too_much(run, tmp_path):
    text = "%%MatrixMarket matrix coordinate real general\n90000000000000 3 1\n1 1 1.0\n"
    (tmp_path / "a.mtx").write_text(text)
    (tmp_path / "b.mtx").write_text(text)
    refused(run, "a.mtx", "b.mtx", words=["a.mtx would take"])


def test_a_matrix_with_a_zero_byte(run, tmp_path):
    io.mmwrite(tmp_path / "a.mtx", sparse.random(9, 3, density=0.9, random_state=0))
    data = (tmp_path / "a.mtx").read_bytes()
    (tmp_path / "b.mtx").write_bytes(data[:70] + b"\0" + data[70:])
    refused(run, "a.mtx", "b.mtx", words=["b.mtx", "zero bytes"])


def test_a_long_name_of_a_column_is_not_printed(run, tmp_path):
    (tmp_path / "t.csv").write_text(f"site,{'x' * 10_000_000}\n" + "a,1\nb,2\n" * 20)
    refused(run, "t.csv", "--task", "site", words=["a name of 10000000 characters"])


@pytest.fixture
def cells(tmp_path):
    anndata = pytest.importorskip("anndata")
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (40, 6)).astype(np.float32))
    obs = pd.DataFrame({"batch": ["a", "b"] * 20}, index=[f"c{i}" for i in range(40)])
    anndata.AnnData(X, obs=obs).write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["indices", "indptr", "cut", "limit"])
def test_cells_that_would_crash_the_process(part, cells, run):
    h5py = pytest.importorskip("h5py")
    words, more = ["points outside of itself"], ()
    if part == "cut":
        cells.write_bytes(cells.read_bytes()[: cells.stat().st_size // 2])
        words = ["cells.h5ad"]
    elif part == "limit":
        words, more = ["--max-bytes"], ("--max-bytes", "1KB")
    else:
        with h5py.File(cells, "r+") as file:
            file[f"X/{part}"][3] = 2**30
    refused(run, "cells.h5ad", "--task", "batch", *more, words=words)


@pytest.mark.slow
def test_cells_that_are_whole_are_read(cells, run):
    code, _, err = run("fit", "cells.h5ad", "--task", "batch", *FIT)
    assert code == 0, err
