"""Cells as people write them: what is decided for each column is said, and is the same however files are read."""

import numpy as np
import pandas as pd
import pytest

from mtcluster.cli.readers.delimited import titles_in

FIT = ("--clusters", 3, "--refits", 0)
WAYS = ["memory", pytest.param("pieces", marks=pytest.mark.dask)]


@pytest.fixture(params=WAYS)
def pieces(request):
    """Options that read files in one way or the other."""
    if request.param == "memory":
        return ()
    pytest.importorskip("dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")
    return ("--out-of-core",)


@pytest.fixture
def plain(survey):
    """The survey with numbers of several sizes: wages in thousands, shares in per cent, prices."""
    wages = (1000 * (survey["age"] - survey["age"].min() + 1)).round().astype(int)
    share = (survey["income"] - survey["income"].min()).round(1)
    price = (survey["trust"] - survey["trust"].min() + 0.5).round(2)
    return pd.DataFrame({"country": survey["country"], "wage": wages, "share": share, "price": price})


def grouped(number, sign):
    return f"{number:,}".replace(",", sign)


def european(plain):
    return plain.assign(
        wage=[grouped(n, ".") for n in plain["wage"]],
        share=[f"{n:.1f}".replace(".", ",") + " %" for n in plain["share"]],
        price=[f"{n:.2f} €".replace(".", ",") for n in plain["price"]],
    )


def american(plain):
    return plain.assign(
        wage=[grouped(n, ",") for n in plain["wage"]],
        share=[f"{n}%" for n in plain["share"]],
        price=[f"${n:.2f}" for n in plain["price"]],
    )


def swiss(plain):
    return plain.assign(
        wage=[grouped(n, "’") for n in plain["wage"]],
        share=plain["share"],
        price=[f"CHF {n:.2f}" for n in plain["price"]],
    )


def labels(folder):
    parts = sorted((folder / "labels").glob("*.parquet"))
    return (pd.concat(map(pd.read_parquet, parts)) if parts else pd.read_csv(folder / "labels.csv"))["cluster"].tolist()


def centers(folder):
    return pd.read_csv(folder / "centers.csv")


FORMATS = {"european": (european, ";"), "american": (american, ","), "swiss": (swiss, "\t"), "tabs": (european, "\t")}


@pytest.mark.parametrize("name", FORMATS)
def test_tables_of_any_country_are_clustered_as_plain_ones(run, plain, tmp_path, pieces, name):
    change, separator = FORMATS[name]
    plain.to_csv(tmp_path / "plain.csv", index=False)
    change(plain).to_csv(tmp_path / "a.csv", index=False, sep=separator)
    assert run("fit", "plain.csv", "--task", "country", *FIT, *pieces, "--out", "plain")[0] == 0
    code, out, err = run("fit", "a.csv", "--task", "country", *FIT, *pieces, "--out", "run")
    assert code == 0, err
    assert labels(tmp_path / "run") == labels(tmp_path / "plain")
    pd.testing.assert_frame_equal(centers(tmp_path / "run"), centers(tmp_path / "plain"))
    assert "is read as" in out
    code, _, err = run("predict", "run", "a.csv", *pieces, "--out", "p", "--quiet")
    assert (code, err) == (0, "")
    code, _, err = run("predict", "plain", "plain.csv", *pieces, "--out", "q", "--quiet")
    assert (code, err) == (0, "")
    read = (lambda path: path.read_bytes()) if not pieces else lambda path: (path / "part-00000.parquet").read_bytes()
    assert read(tmp_path / "p") == read(tmp_path / "q")


def test_what_was_decided_is_said_with_the_option_that_changes_it(run, plain, tmp_path):
    european(plain).to_csv(tmp_path / "a.csv", index=False, sep=";")
    code, out, _ = run("check", "a.csv", "--task", "country")
    assert code == 0
    first = european(plain)["wage"].max()
    assert "Column 'wage' of numbers with points between thousands" in out
    assert "(--decimal , --thousands .)." in out
    assert f"is read as {first.replace('.', '')}" in out or "is read as" in out
    assert "    --decimal ." in out  # the other reading
    assert "with decimal commas and per cent signs" in out
    assert "with decimal commas and the currency €" in out


def test_a_column_with_two_readings_is_refused_with_both(run, plain, tmp_path, pieces):
    plain = plain.drop(columns=["share", "price"]).assign(hours=np.arange(len(plain)) % 13)
    amounts = np.random.default_rng(0).integers(3000, 4000, len(plain))
    plain["wage"] = [f"{n:,}" for n in amounts]
    plain.to_csv(tmp_path / "a.csv", index=False)
    code, out, err = run("fit", "a.csv", "--task", "country", *FIT, "--quiet", *pieces, "--out", "run")
    assert (code, out) == (2, "")
    assert "Column 'wage' can be read in two ways, '3,002' as 3.002 or as 3002, and no other column tells which." in err
    assert "--decimal , makes it 3.002; to make it 3002: --decimal . --thousands ," in err
    means = {}
    for sign in (",", "."):
        code, _, err = run("fit", "a.csv", "--task", "country", *FIT, "--decimal", sign, *pieces, "--out", f"run{sign}")
        assert code == 0, err
        means[sign] = centers(tmp_path / f"run{sign}")["wage"].mean()
        code, _, err = run("predict", f"run{sign}", "a.csv", *pieces, "--out", f"p{sign}")
        assert code == 0, err
    assert 3 < means[","] < 5
    assert 3000 < means["."] < 5000


def test_points_in_a_file_with_semicolons_have_two_readings(run, plain, tmp_path, pieces):
    plain = plain.drop(columns=["share", "price"]).assign(hours=np.arange(len(plain)) % 13)
    plain["wage"] = [f"{n:,}".replace(",", ".") for n in np.random.default_rng(0).integers(3000, 4000, len(plain))]
    plain.to_csv(tmp_path / "a.csv", index=False, sep=";")
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, "--quiet", *pieces, "--out", "run")
    assert code == 2
    assert "'3.002' as 3.002 or as 3002, and no other column tells which" in err
    plain.assign(hours=plain["hours"] + 0.5).to_csv(tmp_path / "a.csv", index=False, sep=";")
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, "--quiet", *pieces, "--out", "run")
    assert code == 0, err
    assert centers(tmp_path / "run")["wage"].max() < 5


def test_points_between_thousands_can_be_asked_for(run, plain, tmp_path, pieces):
    plain = plain.drop(columns=["share", "price"]).assign(hours=np.arange(len(plain)) % 13)
    amounts = np.random.default_rng(0).integers(3000, 4000, len(plain))
    plain["wage"] = [f"{n:,}".replace(",", ".") for n in amounts]
    plain.to_csv(tmp_path / "a.csv", index=False)
    assert run("fit", "a.csv", "--task", "country", *FIT, *pieces, "--out", "run")[0] == 0
    assert centers(tmp_path / "run")["wage"].max() < 5
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, "--thousands", ".", *pieces, "--out", "other")
    assert code == 0, err
    assert centers(tmp_path / "other")["wage"].min() > 3000


def test_markers_among_numbers_as_people_write_them(run, plain, tmp_path, pieces):
    frame = european(plain)
    frame.loc[3, "wage"], frame.loc[5, "price"], frame.loc[7, "share"] = "-", "unknown", ""
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";")
    code, out, err = run("fit", "a.csv", "--task", "country", *FIT, *pieces, "--out", "run")
    assert code == 0, err
    assert "wage (1)" in out
    assert "price (1)" in out
    assert {"wage", "share", "price"} == {*centers(tmp_path / "run")} - {"task", "cluster", "size"}


def test_other_columns_with_markers_tell_how_a_column_is_read(run, plain, tmp_path, pieces):
    frame = plain.astype({"share": object})
    frame["wage"] = [f"{n:,}" for n in np.random.default_rng(0).integers(3000, 4000, len(plain))]
    frame["price"] = [f"{n:.2f}" for n in plain["price"]]
    frame.loc[3, ["wage", "share", "price"]] = "-"
    frame.to_csv(tmp_path / "a.csv", index=False)
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, *pieces, "--out", "run")
    assert code == 0, err
    assert centers(tmp_path / "run")["wage"].min() > 3000


def test_new_rows_are_read_as_they_are_written(run, plain, tmp_path):
    plain.to_csv(tmp_path / "plain.csv", index=False)
    european(plain).to_csv(tmp_path / "a.csv", index=False, sep=";")
    assert run("fit", "plain.csv", "--task", "country", *FIT, "--out", "run")[0] == 0
    code, _, err = run("predict", "run", "a.csv", "--out", "p.csv")
    assert code == 0, err
    assert "is read as" in err
    assert pd.read_csv(tmp_path / "p.csv")["cluster"].tolist() == labels(tmp_path / "run")
    one = european(plain)[["country", "wage", "share", "price"]].iloc[[2]].assign(share="50,5 %", price="3,25 €")
    one.to_csv(tmp_path / "one.csv", index=False, sep=";")
    code, _, err = run("predict", "run", "one.csv", "--out", "one")
    assert code == 0, err


def test_one_value_that_is_no_number_is_named(run, plain, tmp_path):
    frame = european(plain)
    frame.loc[7, "share"] = "many"
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";")
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, "--quiet", "--out", "run")
    assert code == 2
    assert "'share' should hold numbers, but 1 value cannot be read as one, first 'many' in row 8" in err


def test_a_sign_has_one_meaning(run, plain, tmp_path):
    plain.to_csv(tmp_path / "a.csv", index=False)
    code, _, err = run("check", "a.csv", "--task", "country", "--decimal", ",", "--thousands", ",")
    assert (code, "a sign has one meaning" in err) == (2, True)
    assert run("check", "a.csv", "--decimal", "x")[0] == 2
    assert run("check", "a.csv", "--thousands", "x")[0] == 2


TITLES = {
    "one line": "Wages of 2024\n",
    "two lines": "Wages of 2024\n\nby country\n",
    "padded": "Wages of 2024,,,\n,,,\n",
}


@pytest.mark.parametrize("name", TITLES)
def test_lines_above_the_header_are_found_and_said(run, plain, tmp_path, pieces, name):
    plain.to_csv(tmp_path / "plain.csv", index=False)
    title, n = TITLES[name], TITLES[name].count("\n")
    (tmp_path / "a.csv").write_text(title + (tmp_path / "plain.csv").read_text())
    assert run("fit", "plain.csv", "--task", "country", *FIT, *pieces, "--out", "plain")[0] == 0
    code, out, err = run("fit", "a.csv", "--task", "country", *FIT, *pieces, "--out", "run")
    assert code == 0, err
    assert (
        f"of a.csv, above the header, {'was' if n == 1 else 'were'} left out (--skip {n}; --skip 0 keeps them)" in out
    )
    assert labels(tmp_path / "run") == labels(tmp_path / "plain")
    if not pieces:
        written = (tmp_path / "run" / "tables" / "a.csv").read_text()
        assert written.startswith(title)
        assert len(pd.read_csv(tmp_path / "run" / "tables" / "a.csv", skiprows=n)) == len(plain)
    assert run("predict", "run", "a.csv", *pieces, "--out", "p", "--quiet")[0] == 0
    assert run("fit", "a.csv", "--task", "country", *FIT, *pieces, "--skip", 0, "--out", "no")[0] == 2
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, *pieces, "--skip", n, "--out", "asked")
    assert code == 0, err


HEADERS = {
    "decimal commas between semicolons": ("a;b;c\n1,5;2,5;3,5\n4,5;5,5;6,5\n", 0),
    "a title with commas": ("Wages, prices\n\na;b;c\n1,5;2,5;3,5\n", 2),
    "a first column without a name": (",a,b\nx,1,2\ny,3,4\n", 0),
    "semicolons in cells": ("a,b\n1;2,3\n4;5,6\n", 0),
    "a title in quotes": ('"Wages, by country"\na,b\n1,2\n', 1),
    "one column": ("a\n1\n2\n", 0),
    "blank lines alone": ("\n\na,b\n1,2\n", 0),
    "a ragged table": ("a\n1,2\n3\n", 0),
    "one line": ("a,b\n", 0),
    "nothing": ("", 0),
}


@pytest.mark.parametrize("name", HEADERS)
def test_where_the_header_is(name):
    text, n = HEADERS[name]
    assert titles_in(text) == n


def test_files_that_write_a_column_each_in_its_own_way_are_refused(run, plain, tmp_path, pieces):
    for country, change in {"fr": american, "de": european}.items():
        own = change(plain[plain["country"] == country]).drop(columns="country")
        own.to_csv(tmp_path / f"{country}.csv", index=False, sep=";" if country == "de" else ",")
    code, _, err = run("fit", "fr.csv", "de.csv", *FIT, "--quiet", *pieces, "--out", "run")
    assert (code, "should hold numbers" in err) == (2, True), err


def test_a_column_of_texts_with_commas_has_no_title(run, tmp_path):
    (tmp_path / "a.csv").write_text("text\na\nb, c\nd\n")
    code, _, err = run("check", "a.csv")
    assert (code, "above the header" in err) == (2, False)


def test_an_anonymous_result_shows_no_value_of_a_row(run, plain, tmp_path):
    european(plain).to_csv(tmp_path / "a.csv", index=False, sep=";")
    code, out, err = run("fit", "a.csv", "--task", "country", *FIT, "--anonymous", "--out", "run")
    assert (code, "is read as" in out + err) == (0, False)
    assert "Column 'wage' of numbers with points between thousands. It is used as numbers" in out
    assert "is read as" not in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_a_file_that_is_no_text_is_refused_in_both_ways(run, plain, tmp_path, pieces):
    (tmp_path / "a.csv").write_bytes(plain.to_csv(index=False).encode("utf-16"))
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, "--quiet", *pieces, "--out", "run")
    assert (code, "it is encoded as UTF-16" in err) == (2, True)


def test_rows_above_the_header_of_a_sheet(run, plain, tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        plain.to_excel(book, index=False, startrow=2)
        book.sheets["Sheet1"].cell(1, 1, "Wages of 2024")
    code, out, err = run("fit", "a.xlsx", "--task", "country", *FIT, "--out", "run")
    assert (code, "The first 2 lines of a.xlsx, above the header, were left out" in out) == (0, True), err
    written = pd.read_excel(tmp_path / "run" / "tables" / "a.xlsx", skiprows=2)
    assert written["cluster"].tolist() == labels(tmp_path / "run")


def test_a_row_of_totals_is_offered_and_left_out(run, plain, tmp_path):
    total = {"country": "Total", **plain[["wage", "share", "price"]].sum()}
    pd.concat([plain, pd.DataFrame([total])]).to_csv(tmp_path / "a.csv", index=False)
    plain.to_csv(tmp_path / "plain.csv", index=False)
    code, out, _ = run("check", "a.csv", "--task", "country")
    assert f"1 row that may sum up others ('Total'), first row {len(plain) + 1}. It is used as other rows are." in out
    assert "    --drop-rows Total" in out
    assert run("fit", "plain.csv", "--task", "country", *FIT, "--out", "plain")[0] == 0
    code, out, err = run("fit", "a.csv", "--task", "country", *FIT, "--drop-rows", "Total", "--out", "run")
    assert (code, "1 row with 'Total'" in out) == (0, True), err
    assert labels(tmp_path / "run") == labels(tmp_path / "plain")
    assert pd.read_csv(tmp_path / "run" / "tables" / "a.csv")["cluster"].isna().sum() == 1
    code, _, err = run("fit", "a.csv", "--task", "country", *FIT, "--drop-rows", "Total", "--out-of-core", "--out", "x")
    assert (code, "--drop-rows does not go with --out-of-core" in err) == (2, True)


def test_one_table_without_groups_is_one_task(run, plain, tmp_path, pieces):
    plain.drop(columns="country").to_csv(tmp_path / "a.csv", index=False)
    code, out, err = run("fit", "a.csv", *FIT, *pieces, "--out", "run")
    assert code == 0, err
    assert "All rows belong to one data set, so there is nothing to share." in out
    assert set(centers(tmp_path / "run")["task"]) == {"a", "(shared)"}
    assert run("predict", "run", "a.csv", *pieces, "--out", "p", "--quiet")[0] == 0
    if not pieces:
        assert run("compare", "a.csv", "--clusters", 3, "--refits", 0, "--methods", "spmtc,kmeans")[0] == 0
