"""`mtcluster merge`: what was merged stays so in every file of every command that follows."""

import json

import pytest

from .test_names import FILES, table

pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")

HOW = ("--task", "country", "--id", "person", "--clusters", 4, "--drop", "class")


def clusters(path):
    return {row["id"]: int(row["cluster"]) for row in table(path)}


@pytest.fixture
def fitted(survey, run, tmp_path):
    third = survey["country"] == "it"
    survey[~third].to_csv(tmp_path / "survey.csv", index=False)
    survey[third].to_csv(tmp_path / "it.csv", index=False)
    assert run("fit", "survey.csv", *HOW, "--refits", 2, "--out", "run")[0] == 0
    return tmp_path / "run"


def test_merged_clusters_stay_merged_through_every_command(fitted, run, tmp_path):
    before = clusters(fitted / "labels.csv")
    assert run("rename", "run", "3=old")[0] == 0
    code, out, _ = run("merge", "run", 1, 3)
    assert (code, out) == (0, "3 clusters are left; all files in run tell them as merged.\n")
    expected = {row: 1 if j == 3 else j for row, j in before.items()}
    assert clusters(fitted / "labels.csv") == expected
    assert {row["name"] for row in table(fitted / "labels.csv") if row["cluster"] == "1"} == {"old"}
    assert all("confidence" in row for row in table(fitted / "labels.csv"))
    for name in FILES[1:]:
        sizes = [row.get("size", row.get("rows")) for row in table(fitted / name) if row["cluster"] == "3"]
        assert {float(size) for size in sizes} == {0}
    assert "Merged by hand: clusters 1 and 3." in (fitted / "report.html").read_text(encoding="utf-8")
    column = {row["person"]: int(row["cluster"]) for row in table(fitted / "tables" / "survey.csv")}
    assert column == expected
    assert run("predict", "run", "survey.csv", "--out", "again.csv")[0] == 0
    assert clusters(tmp_path / "again.csv") == expected
    assert run("adapt", "run", "it.csv", "--out", "wider")[0] == 0
    assert 3 not in clusters(tmp_path / "wider" / "labels.csv").values()
    assert run("merge", "wider", 0, 2)[0] == 0
    assert set(clusters(tmp_path / "wider" / "labels.csv").values()) <= {0, 1, -1}
    assert run("fit", "survey.csv", *HOW, "--refits", 0, "--previous", "run", "--out", "next")[0] == 0
    assert 3 not in clusters(tmp_path / "next" / "labels.csv").values()
    assert run("merge", "next", 0, 2)[0] == 0
    assert (tmp_path / "next" / "changes.csv").is_file()


def test_what_cannot_be_merged_is_refused_and_changes_nothing(fitted, run, tmp_path):
    before = (fitted / "labels.csv").read_bytes()
    for numbers in ((1,), (1, 1), (1, 9)):
        assert run("merge", "run", *numbers)[0] == 2
    (tmp_path / "survey.csv").write_text("a,b\n1,2\n")
    code, _, said = run("merge", "run", 1, 3)
    assert code == 2
    assert "survey.csv has changed since run was made from it: fit again." in said
    (tmp_path / "survey.csv").unlink()
    assert "is not there any more" in run("merge", "run", 1, 3)[2]
    assert (fitted / "labels.csv").read_bytes() == before
    assert json.loads((fitted / "settings.json").read_text())["format"] == 2


def test_a_method_that_keeps_no_merges_says_so(fitted, run):
    assert run("fit", "survey.csv", *HOW, "--refits", 0, "--method", "kmeans", "--out", "other")[0] == 0
    code, _, said = run("merge", "other", 0, 1)
    assert code == 2
    assert "keeps no merged clusters" in said
