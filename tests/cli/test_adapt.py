"""`mtcluster adapt`: data sets of other files join a fitted model."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")

FIT = ("fit", "survey.csv", "--task", "country", "--id", "person", "--label", "class", "--clusters", 3, "--refits", 0)
NUMBERS = ["age", "income", "trust", "hours"]


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def fitted(run, survey, tmp_path):
    """A model of two countries in the folder `run`, and the file of the third, it.csv."""
    third = survey["country"] == "it"
    survey[~third].to_csv(tmp_path / "survey.csv", index=False)
    survey[third].to_csv(tmp_path / "it.csv", index=False)
    code, _, err = run(*FIT, "--out", "run")
    assert code == 0, err
    return survey[third]


def test_a_country_joins_and_the_folder_is_that_of_a_fit(fitted, run, tmp_path):
    code, out, err = run("adapt", "run", "it.csv", "--out", "wider", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["n_rows"] == len(fitted)
    assert set(result["sizes"]) == {"de", "fr", "it"}
    there = {path.name for path in (tmp_path / "wider").iterdir()}
    files = {"labels.csv", "centers.csv", "relations.csv", "report.html", "model.skops", "settings.json"}
    assert there == files | {"tables"}
    rows = table(tmp_path / "wider" / "labels.csv")
    assert [row["id"] for row in rows] == fitted["person"].tolist()
    assert {row["task"] for row in table(tmp_path / "wider" / "centers.csv")} == {"de", "fr", "it", "(shared)"}
    known = [row["cluster"] for row in rows]
    assert len({(a, b) for a, b in zip(known, fitted["class"], strict=True) if a != "-1"}) == 3  # one class each


def test_predict_labels_as_adapt_did_and_before_by_the_same_code(fitted, run, tmp_path):
    assert run("adapt", "run", "it.csv", "--out", "wider")[0] == 0
    adapted = [row["cluster"] for row in table(tmp_path / "wider" / "labels.csv")]
    for model in ("wider", "run"):
        code, _, err = run("predict", model, "it.csv", "--out", "labels.csv", "--force")
        assert code == 0, err
        assert [row["cluster"] for row in table(tmp_path / "labels.csv")] == adapted


def test_rows_of_a_class_that_is_new_are_told_or_open_a_cluster(fitted, run, tmp_path):
    far = fitted.copy()
    at = far["class"] == "a"
    far.loc[at, NUMBERS] = far.loc[at, NUMBERS] + [14, -12, 10, 12]
    far.to_csv(tmp_path / "it.csv", index=False)
    code, out, err = run("adapt", "run", "it.csv", "--out", "flagged")
    assert code == 0, err
    assert "whose cluster is -1" in out
    code, out, err = run("predict", "run", "it.csv", "--out", "flagged.csv")
    assert code == 0, err
    assert "whose cluster is -1" in out
    flagged = np.array([row["cluster"] for row in table(tmp_path / "flagged.csv")])
    assert np.mean(flagged[at.to_numpy()] == "-1") > 0.9
    assert np.mean(flagged[~at.to_numpy()] == "-1") < 0.2
    assert run("adapt", "run", "it.csv", "--out", "opened", "--novelty", "new")[0] == 0
    opened = np.array([row["cluster"] for row in table(tmp_path / "opened" / "labels.csv")])
    assert np.mean(opened[at.to_numpy()] == "3") > 0.9
    assert run("adapt", "run", "it.csv", "--out", "none", "--novelty", "none")[0] == 0
    assert "-1" not in [row["cluster"] for row in table(tmp_path / "none" / "labels.csv")]


def test_a_known_country_needs_update(fitted, run, tmp_path):
    code, _, err = run("adapt", "run", "survey.csv", "--out", "again")
    assert code == 2
    assert "the model knows the task 'fr': add --update" in err
    assert "update=" not in err
    assert not (tmp_path / "again").exists()
    code, _, err = run("adapt", "run", "survey.csv", "--out", "again", "--update")
    assert code == 0, err


@pytest.mark.parametrize("method", ["kmeans", "asi"])
def test_a_model_that_no_task_can_join_says_so(method, fitted, run, tmp_path):
    code, _, err = run(*FIT, "--method", method, "--out", "other")
    assert code == 0, err
    code, _, err = run("adapt", "other", "it.csv", "--out", "wider")
    assert code == 2
    assert "join" in err
    assert not (tmp_path / "wider").exists()


def test_new_files_may_have_an_encoding_of_their_own(fitted, run, tmp_path):
    third = (tmp_path / "it.csv").read_text(encoding="utf-8")
    (tmp_path / "wide.csv").write_text(third, encoding="utf-16")
    code, _, err = run("adapt", "run", "wide.csv", "--encoding", "utf-16", "--out", "wider")
    assert code == 0, err
    [name] = (tmp_path / "wider" / "tables").iterdir()
    assert len(name.read_text(encoding="utf-16").splitlines()) == len(third.splitlines())
