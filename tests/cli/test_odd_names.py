"""Names, values and options that are odd: each is read as it is meant, or refused with a sentence."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mtcluster.cli.folder import no_formula

FIT = ("--task", "country", "--clusters", 3, "--refits", 0, "--quiet")
WAYS = ["memory", pytest.param("pieces", marks=pytest.mark.dask)]


@pytest.fixture
def numbers(survey):
    return survey.drop(columns=["person", "class", "sex"])


@pytest.fixture(params=WAYS)
def pieces(request):
    """Options that read files in one way or the other."""
    if request.param == "memory":
        return ()
    pytest.importorskip("dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")
    return ("--out-of-core",)


def labels(folder):
    parts = sorted((folder / "labels").glob("*.parquet"))
    return pd.concat(map(pd.read_parquet, parts)) if parts else pd.read_csv(folder / "labels.csv", dtype={"id": str})


@pytest.mark.parametrize("name", ["age\0", "a\0ge"])
def test_a_zero_byte_in_the_name_of_a_column(run, numbers, tmp_path, pieces, name):
    numbers.rename(columns={"age": name}).to_parquet(tmp_path / "a.parquet")
    code, out, err = run("fit", "a.parquet", *FIT, *pieces, "--out", "run")
    assert (code, out) == (2, "")
    assert err == "mtcluster fit: a.parquet: the name of column 2 holds a zero byte: rename it.\n"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_nameless_column_is_refused(run, numbers, tmp_path, pieces, kind):
    frame = numbers.rename(columns={"age": ""})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    code, _, err = run("fit", f"a.{kind}", *FIT, *pieces, "--out", "run")
    assert (code, "column 2 has no name: every column needs one" in err) == (2, True)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_nameless_first_column_holds_the_ids(run, numbers, tmp_path, pieces, kind):
    numbers.insert(0, "", [f"{i:04d}" for i in range(len(numbers))])
    numbers.to_csv(tmp_path / "a.csv", index=False)
    numbers.to_parquet(tmp_path / "a.parquet")
    code, out, err = run("fit", f"a.{kind}", *FIT[:-1], *pieces, "--out", "run")
    assert (code, "it was used for the ids of the rows" in out) == (0, True), err
    expected = numbers[""].tolist() if kind == "parquet" or pieces else list(map(str, range(len(numbers))))
    assert labels(tmp_path / "run")["id"].tolist() == expected
    code, out, err = run("fit", f"a.{kind}", *FIT[:-1], "--id", "age", *pieces, "--out", "other")
    assert (code, "has no name and was left out" in out) == (0, True), err
    code, _, err = run("predict", "run", f"a.{kind}", *pieces, "--out", "predicted")
    assert code == 0, err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("whole", [True, False])
def test_numbers_near_the_largest_whole_numbers(run, numbers, tmp_path, pieces, kind, whole):
    draws = np.random.default_rng(0).integers(-50, 50, len(numbers))
    numbers["big"] = 2**62 + draws if whole else np.where(draws > 0, 2.0**62, 2.0**62 + 2**10)
    getattr(numbers, f"to_{kind}")(tmp_path / f"a.{kind}", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, _, err = run("fit", f"a.{kind}", *FIT, *pieces, "--out", "run")
    assert (code, err) == (0, "")
    assert ("big" in pd.read_csv(tmp_path / "run" / "centers.csv")) is not whole


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_without_values_in_one_file(run, numbers, tmp_path, pieces, kind):
    for country, part in numbers.groupby("country"):
        hours = part["hours"] if country != "fr" else None
        part = part.drop(columns="country").assign(hours=hours)
        getattr(part, f"to_{kind}")(tmp_path / f"{country}.{kind}", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        code, _, err = run("fit", *(f"{c}.{kind}" for c in ("fr", "de", "it")), *FIT[2:], *pieces, "--out", "run")
    assert (code, err) == (0, "")
    centers = pd.read_csv(tmp_path / "run" / "centers.csv")
    assert centers.loc[centers["task"] == "fr", "hours"].isna().all()
    assert centers.loc[centers["task"] == "de", "hours"].notna().any()


def test_a_task_that_is_called_like_the_shared_centres(run, numbers, tmp_path):
    numbers.replace({"country": {"fr": "(shared)"}}).to_csv(tmp_path / "a.csv", index=False)
    assert run("fit", "a.csv", *FIT, "--out", "run")[0] == 0
    centers = pd.read_csv(tmp_path / "run" / "centers.csv")
    assert centers["task"].value_counts().to_dict() == {"(shared)": 3, "de": 3, "it": 3, "((shared))": 3}
    assert centers.loc[centers["task"] == "(shared)", "size"].sum() == 40


def test_a_file_of_stop_words_that_does_not_end(run, numbers, tmp_path):
    numbers.to_csv(tmp_path / "a.csv", index=False)
    code, _, err = run("fit", "a.csv", *FIT, "--stop-words", "/dev/zero", "--out", "run")
    assert (code, "--stop-words /dev/zero holds more than 16 MiB" in err) == (2, True)


@pytest.mark.parametrize(
    ("cell", "written"),
    [(";=1", ";'=1"), ("a;=1;+b", "a;'=1;'+b"), ("=1;2", "'=1;2"), ("a;-5", "a;-5"), ("a;b", "a;b"), (";", ";")],
)
def test_cells_behind_a_semicolon_are_no_formulas(cell, written):
    assert no_formula(cell) == written


def test_numbers_of_clusters_are_needed_where_they_are_known_alone(run, numbers, tmp_path, pieces):
    numbers.to_parquet(tmp_path / "a.parquet")
    code, _, err = run("fit", "a.parquet", *FIT, "--clusters-per-task", "fr=2", *pieces, "--out", "run")
    assert (code, err) == (0, "")
    found = labels(tmp_path / "run").groupby("task", observed=True)["cluster"].nunique()
    assert found["fr"] <= 2
    code, _, err = run("fit", "a.parquet", *FIT, "--clusters-per-task", "xx=2", *pieces, "--out", "other")
    assert (code, "'xx', which is no task" in err) == (2, True)


def test_certificates_need_a_scheduler(run, numbers, tmp_path):
    numbers.to_csv(tmp_path / "a.csv", index=False)
    for option in ("--tls-ca", "--tls-cert", "--tls-key"):
        code, _, err = run("fit", "a.csv", *FIT, option, "ca.pem", "--out", "run")
        assert (code, f"{option} is for a Dask scheduler: add --scheduler" in err) == (2, True)


def test_a_cluster_is_given_one_name(run, fitted):
    before = (fitted / "report.html").read_bytes()
    code, _, err = run("rename", fitted, "0=a", "1=b", "0=c")
    assert (code, err) == (2, "mtcluster rename: cluster 0 is given several names: give each cluster one.\n")
    assert (fitted / "report.html").read_bytes() == before
