"""Empty cells, and files with other columns, from the files to the folder."""

import csv
import json

import numpy as np
import pytest

from mtcluster.metrics import joint_accuracy

pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")

FIT = ("--id", "person", "--label", "class", "--clusters", 3, "--refits", 0)
NUMBERS = ["age", "income", "trust", "hours"]


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def gaps(survey):
    """The survey with empty cells, an empty column and two rows without any value."""
    rng = np.random.default_rng(0)
    for name in [*NUMBERS, "sex"]:
        survey[name] = survey[name].mask(rng.random(len(survey)) < 0.08)
    survey.loc[[5, 80], [*NUMBERS, "sex"]] = None
    return survey.assign(empty=np.nan)


@pytest.fixture
def mosaic(survey, tmp_path):
    """One file per country, each without another column, in another order."""
    for country, lacks in (("fr", ["hours"]), ("de", ["age", "sex"]), ("it", ["trust"])):
        part = survey[survey["country"] == country].drop(columns=["country", *lacks])
        part[sorted(part.columns, reverse=country == "de")].to_csv(tmp_path / f"{country}.csv", index=False)
    return survey


def test_empty_cells_stay_missing_and_rows_without_values_have_no_cluster(gaps, run, tmp_path):
    gaps.to_csv(tmp_path / "survey.csv", index=False)
    code, out, err = run("fit", "survey.csv", "--task", "country", *FIT, "--out", "run", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["n_without_values"] == 2
    assert any(line.startswith("Left out, as no row has a value: 'empty'") for line in result["lines"])
    assert any("2 rows without any value, whose cluster is -1 (by id): " in line for line in result["lines"])
    assert 0.03 < result["missing"]["share"] < 0.15
    assert result["missing"]["mosaic"] is None
    assert {task["task"] for task in result["missing"]["tasks"]} == {"fr", "de", "it"}
    rows = table(tmp_path / "run" / "labels.csv")
    nothing = [row for row in rows if row["cluster"] == "-1"]
    assert [row["id"] for row in nothing] == ["p5", "p80"]
    assert {row["outlier_score"] for row in nothing} == {"nan"} == {row["easiness"] for row in nothing}
    some = [i for i, row in enumerate(rows) if row["cluster"] != "-1"]
    labels = [int(rows[i]["cluster"]) for i in some]
    assert joint_accuracy(gaps["class"].iloc[some], labels, gaps["country"].iloc[some]) > 0.9
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Missing values" in page
    assert "Which task has which columns" not in page
    assert run("report", "run", "--out", "again.html")[0] == 0


def test_other_rows_with_gaps_are_labelled(gaps, run, tmp_path):
    gaps.to_csv(tmp_path / "survey.csv", index=False)
    assert run("fit", "survey.csv", "--task", "country", *FIT, "--out", "run", "--quiet")[0] == 0
    code, out, err = run("predict", "run", "survey.csv", "--out", "labels.csv", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert (result["n_without_values"], result["n_new"]) == (2, 0)
    assert any("2 rows without any value" in note for note in result["notes"])
    fitted, again = (table(tmp_path / name) for name in ("run/labels.csv", "labels.csv"))
    assert [row["cluster"] for row in again] == [row["cluster"] for row in fitted]


def test_files_with_other_columns_are_matched_by_name(mosaic, run, tmp_path):
    code, out, err = run("fit", "fr.csv", "de.csv", "it.csv", *FIT, "--out", "run")
    assert code == 0, err
    assert "1 column is in all data sets and 5 columns are in some" in out.replace("\u00a0", " ")
    classes = dict(zip(mosaic["person"], mosaic["class"], strict=True))
    rows = table(tmp_path / "run" / "labels.csv")
    labels, tasks = [int(row["cluster"]) for row in rows], [row["task"] for row in rows]
    assert joint_accuracy([classes[row["id"]] for row in rows], labels, tasks) > 0.9
    centers = table(tmp_path / "run" / "centers.csv")
    assert {row["hours"] for row in centers if row["task"] == "fr"} == {"nan"}
    assert all(np.isfinite(float(row["hours"])) for row in centers if row["task"] in ("de", "(shared)"))
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Which data set has which columns" in page
    assert "In some data sets: 5" in page.replace("\u00a0", " ")


def test_the_order_of_columns_does_not_matter(survey, run, tmp_path):
    clusters = []
    for turn in (1, -1):
        for country in ("fr", "de", "it"):
            part = survey[survey["country"] == country].drop(columns="country")
            columns = [*["sex", *NUMBERS][::turn], "person", "class"]
            part[columns].to_csv(tmp_path / f"{country}.csv", index=False)
        code, _, err = run("fit", "fr.csv", "de.csv", "it.csv", *FIT, "--out", "run", "--force", "--quiet")
        assert code == 0, err
        clusters.append([row["cluster"] for row in table(tmp_path / "run" / "labels.csv")])
    assert clusters[0] == clusters[1]


@pytest.mark.parametrize("command", ["predict", "adapt"])
def test_new_files_may_have_other_columns(command, fitted, survey, run, tmp_path):
    part = survey[survey["country"] == "it"].drop(columns=["income", "country"]).assign(shoe=40)
    part.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run(command, "run", "new.csv", "--out", "result", "--json")
    assert code == 0, err
    notes = " ".join(json.loads(out).get("notes") or json.loads(out)["lines"])
    assert "new.csv lacks columns of the fit, which are missing values: 'income'." in notes
    assert "Left out, as they were not in the fit: column 'shoe'." in notes
    rows = table(tmp_path / ("result" if command == "predict" else "result/labels.csv"))
    kept = [(row["cluster"], name) for row, name in zip(rows, part["class"], strict=True) if row["cluster"] != "-1"]
    assert len(kept) > 0.9 * len(part)
    assert len(set(kept)) == 3  # one class each


def test_the_columns_of_the_fit_in_another_order_need_no_note(fitted, survey, run, tmp_path):
    survey[survey.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run("predict", "run", "new.csv", "--out", "labels.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["notes"] == []
    fitted_rows, rows = table(fitted / "labels.csv"), table(tmp_path / "labels.csv")
    assert [row["cluster"] for row in rows] == [row["cluster"] for row in fitted_rows]


def test_filled_values_leave_nothing_to_tell(gaps, run, tmp_path):
    gaps.to_csv(tmp_path / "survey.csv", index=False)
    options = ("--task", "country", *FIT, "--impute", "median", "--out", "run", "--json")
    code, out, err = run("fit", "survey.csv", *options, "--method", "kmeans")
    assert code == 0, err
    assert json.loads(out)["missing"] is None
    assert json.loads(out)["n_without_values"] == 0


def test_methods_that_take_missing_values_are_compared(gaps, run, tmp_path):
    gaps.to_csv(tmp_path / "survey.csv", index=False)
    code, out, err = run("compare", "survey.csv", "--task", "country", *FIT, "--methods", "lssmtc,asi", "--json")
    assert code == 0, err
    for row in json.loads(out)["table"]:
        assert row["joint_accuracy"] > 0.8
        assert np.isfinite(row["cost"])


def test_methods_that_cannot_take_missing_values_are_compared_on_filled_rows(gaps, run, tmp_path):
    gaps.to_csv(tmp_path / "survey.csv", index=False)
    code, out, err = run("compare", "survey.csv", "--task", "country", *FIT)
    assert code == 0, err
    assert "Missing values filled by medians for kmeans and kmeans-per-task, which cannot take them." in out
    assert len(out.split()) <= 120
    code, out, err = run("compare", "survey.csv", "--task", "country", *FIT, "--methods", "kmeans", "--json")
    filled = run(
        "compare", "survey.csv", "--task", "country", *FIT, "--methods", "kmeans", "--json", "--impute", "median"
    )
    assert (code, filled[0]) == (0, 0), err
    scores = [json.loads(text)["table"][0]["joint_accuracy"] for text in (out, filled[1])]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


def test_missing_values_are_counted_in_the_rows_at_hand(gaps, run, survey, tmp_path):
    third = gaps["country"] == "it"
    gaps[~third].to_csv(tmp_path / "survey.csv", index=False)
    more = gaps[third].assign(age=30.0 + np.arange(third.sum()) % 9)
    more.iloc[:3, more.columns.get_loc("age")] = np.nan
    more.to_csv(tmp_path / "it.csv", index=False)
    code, _, err = run("fit", "survey.csv", "--task", "country", *FIT, "--out", "run")
    assert code == 0, err
    code, out, err = run("adapt", "run", "it.csv", "--out", "wider")
    assert code == 0, err
    assert "count nothing: age (3)" in out
    assert "Left out, as no row of the fit has a value: 'empty'." in out
    report = (tmp_path / "wider" / "report.html").read_text(encoding="utf-8")
    assert "count nothing: age (3)" in report
    for told in (out, report):
        assert "nothing to share" not in told
