"""`mtcluster fit --previous`: the next fit keeps the numbers of the last one."""

import json

import pandas as pd
import pytest

OPTIONS = ["--task", "country", "--id", "person", "--drop", "class", "--refits", "0"]


@pytest.fixture
def before(run, survey, tmp_path):
    """The folder of a first fit."""
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", *OPTIONS, "--clusters", "3", "--out", "before")
    assert code == 0, err
    return tmp_path / "before"


def labels_in(folder):
    return pd.read_csv(folder / "labels.csv").set_index("id")["cluster"]


def test_numbers_are_kept_and_changes_are_written(before, run, survey, tmp_path):
    known = labels_in(before)
    gone = int(known[survey["person"][survey["class"] == "a"]].mode()[0])
    survey[survey["class"] != "a"].to_csv(tmp_path / "next.csv", index=False)
    code, out, err = run(
        "fit",
        "next.csv",
        *OPTIONS,
        "--clusters",
        "2",
        "--seed",
        "9",
        "--previous",
        "before",
        "--out",
        "after",
        "--json",
    )
    assert code == 0, err
    found = labels_in(tmp_path / "after")
    assert (found == known[found.index]).mean() > 0.98
    told = json.loads(out)
    assert told["n_clusters"] == 2
    assert told["changes"]["died"] == [gone]
    assert sum(row["rows"] for row in told["changes"]["table"]) == len(found)
    table = pd.read_csv(tmp_path / "after" / "changes.csv")
    assert list(table) == ["before", "after", "rows", "share"]
    assert table["rows"].sum() == len(found)
    assert "Compared with the previous model" in (tmp_path / "after" / "report.html").read_text(encoding="utf-8")
    code, out, err = run(
        "fit", "next.csv", *OPTIONS, "--clusters", "2", "--previous", "after", "--out", "after", "--force"
    )
    assert code == 0, err
    assert "Since the previous fit:" in out
    assert "report.html, changes.csv." in out
    report = (tmp_path / "after" / "report.html").read_text(encoding="utf-8")
    assert "no more in any country" in report
    assert "no feature stands out" not in report
    code, _, err = run("predict", "after", "survey.csv", "--out", "labels.csv")
    assert code == 0, err
    code, _, err = run("report", "after", "--force")
    assert code == 0, err


def test_without_it_nothing_is_said_about_changes(before, run):
    assert not (before / "changes.csv").exists()
    code, out, _ = run("fit", "survey.csv", *OPTIONS, "--clusters", "3", "--out", "other", "--json")
    assert code == 0
    assert json.loads(out)["changes"] is None


def test_other_columns_are_refused_and_nothing_is_written(before, run, survey, tmp_path):
    survey.rename(columns={"income": "wages"}).to_csv(tmp_path / "next.csv", index=False)
    code, _, err = run("fit", "next.csv", *OPTIONS, "--clusters", "3", "--previous", "before", "--out", "after")
    assert code != 0
    assert "has other columns than --previous before: it has also 'wages' and lacks 'income'" in err
    assert not (tmp_path / "after").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--previous", "nowhere"], "nowhere does not exist"),
        (["--previous", "before/model.skops"], "is a file of a run: give its folder, before."),
        (["--previous", "survey.csv"], "was not written by `mtcluster fit`"),
        (["--previous", "before", "--method", "kmeans"], "--previous does not go with --method kmeans"),
    ],
)
def test_wrong_uses_get_a_sentence(options, message, before, run, tmp_path):
    code, _, err = run("fit", "survey.csv", *OPTIONS, "--clusters", "3", "--out", "after", *options)
    assert code != 0
    assert message in err
    assert not (tmp_path / "after").exists()
