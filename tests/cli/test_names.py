"""Names that `mtcluster rename` gives are in every file of every command that follows."""

import csv
import subprocess
import sys

import pytest

pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")

HOW = ("--task", "country", "--id", "person", "--label", "class", "--clusters", 3, "--refits", 0)
FILES = ("labels.csv", "centers.csv", "relations.csv")


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_folder(out):
    """Each row of each table has the name of its cluster, and the report has all names."""
    for name in FILES:
        for row in table(out / name):
            assert row["name"] == {"0": "rich", "1": "=old"}.get(row["cluster"], "").replace("=", "'="), name
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "rich" in page
    assert "old" in page


def test_names_survive_every_command_in_every_file(survey, run, tmp_path):
    third = survey["country"] == "it"
    survey[~third].to_csv(tmp_path / "survey.csv", index=False)
    survey[third].to_csv(tmp_path / "it.csv", index=False)
    assert run("fit", "survey.csv", *HOW, "--out", "run")[0] == 0
    assert "name" not in table(tmp_path / "run" / "labels.csv")[0]
    assert run("rename", "run", "0=rich", "1==old")[0] == 0
    check_folder(tmp_path / "run")
    assert run("adapt", "run", "it.csv", "--out", "wider")[0] == 0
    check_folder(tmp_path / "wider")
    labels = {row["id"]: row["name"] for row in table(tmp_path / "wider" / "labels.csv")}
    column = next(name for name in table(tmp_path / "wider" / "tables" / "it.csv")[0] if name.startswith("name"))
    assert {row["person"]: row[column] for row in table(tmp_path / "wider" / "tables" / "it.csv")} == labels
    assert run("predict", "wider", "it.csv", "--out", "labels.csv")[0] == 0
    assert {row["id"]: row["name"] for row in table(tmp_path / "labels.csv")} == labels
    assert run("fit", "survey.csv", *HOW, "--previous", "run", "--out", "next")[0] == 0
    check_folder(tmp_path / "next")
    assert run("report", "next", "--out", "again.html")[0] == 0
    assert "rich" in (tmp_path / "again.html").read_text(encoding="utf-8")
    assert run("rename", "next", "0=", "1=")[0] == 0
    for name in FILES:
        assert "name" not in table(tmp_path / "next" / name)[0]


@pytest.mark.slow
def test_names_that_are_given_at_the_same_time_are_all_kept(survey, run, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    assert run("fit", "survey.csv", *HOW, "--out", "run")[0] == 0
    command = [sys.executable, "-m", "mtcluster", "rename", "run"]
    started = [subprocess.Popen([*command, f"{j}=name {j}"], cwd=tmp_path, stdout=subprocess.PIPE) for j in range(3)]
    for process in started:
        process.communicate(timeout=240)
    assert [process.returncode for process in started] == [0, 0, 0]
    assert {row["name"] for row in table(tmp_path / "run" / "labels.csv")} == {"name 0", "name 1", "name 2"}
