"""Tables with the columns of the result, names of clusters, and anonymous results."""

import json
import zipfile

import numpy as np
import pytest

from mtcluster.cli.folder import no_formula
from mtcluster.interop import load

pd = pytest.importorskip("pandas")
ROLES = ("--task", "country", "--id", "person", "--label", "class")
FIT = (*ROLES, "--clusters", 3, "--refits", 4, "--out", "run")


@pytest.fixture
def survey(survey):
    """With cells that programs like to change."""
    survey["zip"] = [f"0{i % 7}17" for i in range(len(survey))]
    survey["note"] = ['a "quoted" word', "two, words", "line\nbreak", "é"] * 30
    return survey


WRITE = {
    "csv": (lambda f, p: f.to_csv(p, index=False), lambda p: pd.read_csv(p, dtype={"zip": str})),
    "tsv": (lambda f, p: f.to_csv(p, index=False, sep="\t"), lambda p: pd.read_csv(p, sep="\t", dtype={"zip": str})),
    "csv.gz": (lambda f, p: f.to_csv(p, index=False), lambda p: pd.read_csv(p, dtype={"zip": str})),
    "csv.bz2": (lambda f, p: f.to_csv(p, index=False), lambda p: pd.read_csv(p, dtype={"zip": str})),
    "parquet": (lambda f, p: f.to_parquet(p), pd.read_parquet),
    "feather": (lambda f, p: f.to_feather(p), pd.read_feather),
    "xlsx": (lambda f, p: f.to_excel(p, index=False), lambda p: pd.read_excel(p, dtype={"zip": str})),
}


def test_a_workbook_that_is_damaged_beside_its_rows(survey, run, tmp_path):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    survey.to_excel(tmp_path / "whole.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as old, zipfile.ZipFile(tmp_path / "survey.xlsx", "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, text.replace(b'<c r="A2"', b'<c s="999" r="A2"') if "sheet1" in name else text)
    code, out, err = run("fit", "survey.xlsx", *FIT, "--drop", "note,zip")
    assert code == 0, err
    assert "survey.xlsx was not written again with clusters, as it is damaged beside its rows." in out + err
    assert not (tmp_path / "run" / "tables").exists()
    assert len(pd.read_csv(tmp_path / "run" / "labels.csv")) == len(survey)


@pytest.mark.parametrize("kind", WRITE)
def test_the_table_comes_back_with_clusters_in_its_format(kind, survey, run, tmp_path):
    write, read = WRITE[kind]
    write(survey, tmp_path / f"survey.{kind}")
    code, _, err = run("fit", f"survey.{kind}", *FIT, "--drop", "note,zip")
    assert code == 0, err
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")
    table = read(tmp_path / "run" / "tables" / f"survey.{kind}")
    assert table.columns.tolist() == [*survey.columns, "cluster", "probability", "confidence", "outlier_score"]
    assert table["cluster"].tolist() == labels["cluster"].tolist()
    own = [labels[f"probability_{j}"][i] for i, j in enumerate(labels["cluster"])]
    np.testing.assert_allclose(table["probability"], own)
    pd.testing.assert_frame_equal(table[survey.columns], read(tmp_path / f"survey.{kind}"))


def test_several_files_and_columns_of_these_names(survey, run, tmp_path):
    survey["cluster"] = np.random.default_rng(0).normal(size=len(survey))
    for name, part in survey.groupby("country"):
        part.drop(columns="country").to_csv(tmp_path / f"{name}.csv", index=False)
    code, _, err = run("fit", "de.csv", "fr.csv", "--id", "person", "--label", "class", "--drop", "note,zip",
                       "--clusters", 3, "--refits", 0, "--out", "run")  # fmt: skip
    assert code == 0, err
    labels = pd.read_csv(tmp_path / "run" / "labels.csv").set_index("id")["cluster"]
    for name in ("de", "fr"):
        table = pd.read_csv(tmp_path / "run" / "tables" / f"{name}.csv")
        assert table["cluster (mtcluster)"].tolist() == labels[table["person"]].tolist()


def test_clusters_get_names(survey, run, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    run("fit", "survey.csv", *FIT, "--drop", "note,zip")
    code, out, err = run("rename", "run", "0=<b>very rich", "2=  young ones ")
    assert code == 0, err
    assert "0: <b>very rich, 2: young ones" in out
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "young ones" in page
    assert "<b>very rich" not in page
    run("rename", "run", "0=")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "very rich" not in page
    assert "young ones" in page
    code, _, err = run("predict", "run", "survey.csv", "--out", "p.csv")
    assert code == 0, err


def test_wrong_names_change_nothing(survey, run, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    run("fit", "survey.csv", *FIT, "--drop", "note,zip")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    assert "no cluster 7: its clusters are 0 to 2" in run("rename", "run", "0=a", "7=b")[2]
    assert "0=young" in run("rename", "run", "high income")[2]
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()} == before


def test_an_anonymous_result_holds_no_row(survey, run, tmp_path):
    survey["person"] = [f"Secret{i}" for i in range(len(survey))]
    survey.loc[:2, "country"] = "Tinyland"
    survey["income"] += 0.123456
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, out, err = run("fit", "survey.csv", *FIT, "--drop", "note,zip", "--anonymous")
    assert code == 0, err
    folder = tmp_path / "run"
    assert not (folder / "tables").exists()
    for path in folder.iterdir():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        assert "Secret" not in text, path
        assert "Tinyland" not in text, path
    assert "Tinyland" not in out
    labels = pd.read_csv(folder / "labels.csv")
    assert labels["id"].tolist() == list(range(4, 121))
    contents = load(folder / "model.skops")
    assert contents["model"].fitted_.rows.map.shape[0] == 0
    cells = {f"{value:.6g}" for value in survey["income"]}
    summary = contents["findings"]
    assert not [cell for cell in cells if f'"{cell}"' in summary]
    assert json.loads(summary)["examples"] is None
    assert json.loads(summary)["map"] is None
    code, _, err = run("predict", "run", "survey.csv", "--out", "p.csv")
    assert code == 0, err
    code, _, err = run("report", "run")
    assert code == 0, err


def test_small_cells_of_an_anonymous_result_are_not_told(survey, run, tmp_path):
    survey = survey[(survey["country"] != "it") | (survey["class"] != "a") | (survey.index % 11 == 0)]
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", *FIT, "--drop", "note,zip", "--anonymous")
    assert code == 0, err
    centers = pd.read_csv(tmp_path / "run" / "centers.csv")
    relations = pd.read_csv(tmp_path / "run" / "relations.csv")
    assert not ((relations["rows"] > 0) & (relations["rows"] < 5)).any()
    assert not ((centers["size"] > 0) & (centers["size"] < 5)).any()
    few = centers["size"].isna()
    assert centers.loc[few, ["age", "income"]].isna().all(axis=None)


def test_the_centre_of_a_single_row_is_in_no_line_of_an_anonymous_result(survey, run, tmp_path):
    survey.loc[7, ["age", "income", "trust", "hours"]] = 880.125, -910.75, 770.5, 660.25
    survey.to_csv(tmp_path / "survey.csv", index=False)
    options = ("--method", "kmeans", "--drop", "note,zip", "--anonymous")
    code, _, err = run("fit", "survey.csv", *FIT, *options)
    assert code == 0, err
    centers = pd.read_csv(tmp_path / "run" / "centers.csv")
    assert not (centers["age"].abs() > 100).any()
    assert centers["age"].isna().any()


def test_a_task_that_joins_an_anonymous_result_has_no_ids(survey, run, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", *FIT, "--drop", "note,zip", "--anonymous")
    assert code == 0, err
    new = survey[:30].assign(country="es", person=[f"secret{i}" for i in range(30)])
    new.to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("adapt", "run", "new.csv", "--out", "joined")
    assert code == 0, err
    written = [path for path in (tmp_path / "joined").rglob("*") if path.suffix in (".csv", ".html", ".json")]
    assert not [path.name for path in written if "secret" in path.read_text()]
    new[:3].to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("adapt", "run", "new.csv", "--out", "joined", "--force")
    assert code == 2
    assert "the task 'es' has fewer than 5 rows" in err


@pytest.mark.parametrize("cell", ["=1", "\n=1", "\tx", " =1", "\u200b=1", "\uff1d1+1", "\ufeff@x", "-x", " +x"])
def test_texts_that_begin_like_formulas_are_quoted(cell):
    assert no_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-5", " -5", "+1e3", "a=1", "", "1-2", "é", "(=1)", 7, None])
def test_other_texts_stay_as_they_are(cell):
    assert no_formula(cell) is cell


def test_ids_and_names_are_no_formulas_unless_asked(survey, run, tmp_path):
    survey["person"] = [f"=cmd|{i}" if i % 2 else f"-{i}" for i in range(len(survey))]
    survey["country"] = survey["country"].map({"fr": "@fr", "de": "+de", "it": "-7"})
    survey = survey.rename(columns={"age": "=age"})
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", *FIT, "--drop", "note,zip")
    assert code == 0, err
    for name in ("labels.csv", "centers.csv", "relations.csv"):
        table = pd.read_csv(tmp_path / "run" / name, dtype=str, keep_default_na=False)
        cells = {*table.columns, *(cell for column in ("id", "task") if column in table for cell in table[column])}
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "@")], name
    labels = pd.read_csv(tmp_path / "run" / "labels.csv", dtype=str)
    assert labels["id"].tolist()[:3] == ["-0", "'=cmd|1", "-2"]
    assert set(labels["task"]) == {"'@fr", "'+de", "-7"}
    assert pd.read_csv(tmp_path / "run" / "tables" / "survey.csv")["person"][1] == "=cmd|1"
    code, _, err = run("fit", "survey.csv", *FIT, "--drop", "note,zip", "--raw", "--force")
    assert code == 0, err
    assert pd.read_csv(tmp_path / "run" / "labels.csv", dtype=str)["id"][1] == "=cmd|1"
    code, _, err = run("predict", "run", "survey.csv", "--out", "p.csv")
    assert code == 0, err
    assert pd.read_csv(tmp_path / "p.csv", dtype=str)["id"][1] == "'=cmd|1"
