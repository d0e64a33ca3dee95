"""From files to a folder, and from that to labels of other files."""

import csv
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from mtcluster import SPMTC
from mtcluster.certainty import MEANINGS, VERDICTS
from mtcluster.cli import folder, modelling
from mtcluster.cli.errors import InputError
from mtcluster.cli.methods import METHODS
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import clustering_accuracy

pytestmark = pytest.mark.slow

pd = pytest.importorskip("pandas")
KINDS = ["csv", "tsv", "csv.gz", "semicolons", "parquet", "feather", "xlsx", "npz", "several csv", "mtx", "h5ad"]
OUTPUTS = {"labels.csv", "centers.csv", "relations.csv", "model.skops", "settings.json", "report.html"}


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_a_report(kind, files, run, tmp_path):
    if kind not in files:
        pytest.skip("AnnData files need anndata: pip install 'mtcluster[anndata]'")
    code, out, err = run("fit", *files[kind], "--clusters", 3, "--refits", 0, "--out", "run")
    assert code == 0, err
    tables = set() if kind in ("npz", "mtx", "h5ad") else {"tables"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == OUTPUTS | tables
    rows = table(tmp_path / "run" / "labels.csv")
    assert len(rows) == 120
    assert {row["task"] for row in rows} == {"fr", "de", "it"}
    assert "mean 0 and standard deviation 1" in out or kind in ("npz", "mtx", "h5ad")
    assert "<html" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def labels(fitted):
    return table(fitted / "labels.csv")


def test_the_labels_are_those_of_the_estimator(labels, survey):
    X = np.column_stack([survey[["age", "income", "trust", "hours"]].to_numpy()])
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), survey["sex"] == "f", survey["sex"] == "m"])
    wanted = SPMTC(3, random_state=0).fit(X, tasks=survey["country"].to_numpy(dtype=str)).labels_
    assert [int(row["cluster"]) for row in labels] == wanted.tolist()
    assert [row["id"] for row in labels] == survey["person"].tolist()
    assert [row["task"] for row in labels] == survey["country"].tolist()


def test_probabilities_easiness_and_outlier_scores(labels):
    for row in labels:
        members = [float(row[f"probability_{j}"]) for j in range(3)]
        assert sum(members) == pytest.approx(1, abs=1e-5)
        assert int(np.argmax(members)) == int(row["cluster"])
        assert 0 < float(row["easiness"]) <= 1
        assert float(row["outlier_score"]) >= 0
    easy = [float(row["easiness"]) for row in labels if row["task"] == "fr"]
    odd = [float(row["outlier_score"]) for row in labels if row["task"] == "fr"]
    assert np.argsort(easy).tolist() == np.argsort(odd)[::-1].tolist()
    assert np.median(odd) == pytest.approx(1, abs=1e-5)


def test_how_sure_one_can_be_is_told_in_the_same_words_everywhere(run, survey, tmp_path):
    survey.drop(columns="class").to_csv(tmp_path / "survey.csv", index=False)
    options = ("survey.csv", "--task", "country", "--id", "person", "--clusters", 3)
    code, told, err = run("fit", *options, "--out", "run")
    assert code == 0, err
    code, out, _ = run("fit", *options, "--json", "--quiet", "--out", "again")
    found, settings = json.loads(out), json.loads((tmp_path / "run" / "settings.json").read_text(encoding="utf-8"))
    word, meaning = found["verdict"], MEANINGS[found["verdict"]]
    assert word == settings["verdict"] == found["stability"]["verdict"]
    assert found["stability"] == settings["stability"]
    assert f"How sure: {word}. {meaning[:1].upper()}{meaning[1:]}." in told
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert f'<div class="headline {word.split()[0]}">' in page
    assert f"<strong>{word.capitalize()}</strong>: {meaning}." in page
    for sentence in settings["stability"]["sentences"]:
        assert sentence in told
    for sentence in settings["stability"]["sentences"][1:]:
        assert sentence in page
    assert settings["options"]["refits"] == settings["stability"]["n_refits"] == 4
    assert settings["selection"] is None
    assert {"overall", "reference", "beats", "cluster_stability", "cluster_task_stability", "halves", "seeds",
            "within", "location_share", "n_rows"} <= set(settings["stability"])  # fmt: skip
    assert np.shape(settings["stability"]["cluster_task_stability"]) == (3, 3)
    rows = table(tmp_path / "run" / "labels.csv")
    assert all(0 <= float(row["confidence"]) <= 1 and len(row["confidence"]) <= 5 for row in rows)
    (tmp_path / "run" / "report.html").unlink()
    assert run("report", "run")[0] == 0
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8") == page


def test_without_refits_nothing_is_said_about_how_sure_one_can_be(fitted, labels):
    settings = json.loads((fitted / "settings.json").read_text())
    assert (settings["verdict"], settings["stability"]) == (None, None)
    assert "confidence" not in labels[0]
    assert "<strong>How sure: not measured</strong>" in (fitted / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("asked", ["2-5", "auto"])
def test_the_number_of_clusters_is_chosen_from_a_range_once(asked, run, survey, tmp_path, monkeypatch):
    calls, real = [], modelling.select_n_clusters
    monkeypatch.setattr(modelling, "select_n_clusters", lambda *a, **b: calls.append(b["n_clusters"]) or real(*a, **b))
    survey.drop(columns="class").to_csv(tmp_path / "survey.csv", index=False)
    code, out, err = run("fit", "survey.csv", "--task", "country", "--id", "person", "--clusters", asked, "--refits", 0,
                         "--json", "--out", "run")  # fmt: skip
    assert code == 0, err
    assert calls == [range(2, 6) if asked == "2-5" else range(2, 11)]
    found, settings = json.loads(out), json.loads((tmp_path / "run" / "settings.json").read_text(encoding="utf-8"))
    assert found["n_clusters"] == found["selection"]["n_clusters"] == 3
    assert settings["options"]["clusters"] == asked
    assert settings["selection"] == found["selection"]
    assert f"Number of clusters, chosen from the data: {found['selection']['reason']}" in found["lines"]
    assert [row["n_clusters"] for row in found["selection"]["table"]] == [1, *calls[0]]
    assert found["selection"]["table"][0]["silhouette"] is None
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert 'id="number"' in page
    assert found["selection"]["reason"] in page


def test_where_there_are_no_clusters_one_is_fitted_and_the_reason_told(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 4))
    pd.DataFrame(X).assign(task=np.arange(120) % 3).to_csv(tmp_path / "noise.csv", index=False)
    code, out, err = run("fit", "noise.csv", "--task", "task", "--clusters", "2-8", "--out", "run")
    assert code == 0, err
    assert "120 rows, 3 data sets, 1 cluster, " in out
    assert "Number of clusters, chosen from the data: One group: " in out
    assert "How sure: no clear structure." in out
    assert "1 cluster in 3 data sets" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_where_no_number_is_stable_the_sharpest_is_fitted(run, survey, tmp_path, monkeypatch):
    real = modelling.select_n_clusters

    def unsure(*arguments, **options):
        return replace(real(*arguments, **options), n_clusters=None, named=[], reason="No number: ….")

    monkeypatch.setattr(modelling, "select_n_clusters", unsure)
    survey.drop(columns="class").to_csv(tmp_path / "survey.csv", index=False)
    code, out, err = run("fit", "survey.csv", "--task", "country", "--id", "person", "--clusters", "3-4", "--refits", 0,
                         "--out", "run")  # fmt: skip
    assert code == 0, err
    assert "Number of clusters: No number: …. The sharpest number, 3, was taken." in out


def test_relations_are_written_and_told(run, survey, tmp_path):
    kept = (survey["country"] != "fr") | (survey["class"] != "c")
    survey[kept].drop(columns="class").to_csv(tmp_path / "lacking.csv", index=False)
    options = ("--task", "country", "--id", "person", "--clusters", 3, "--refits", 0)
    code, out, err = run("fit", "lacking.csv", *options, "--json", "--out", "run")
    assert code == 0, err
    found, rows = json.loads(out), table(tmp_path / "run" / "relations.csv")
    assert list(rows[0]) == ["cluster", "task", "relation", "support", "rows"]
    assert [row["relation"] for row in rows] == [row["relation"] for row in found["relations"]]
    [absent] = [row for row in found["relations"] if row["relation"] == "absent"]
    assert (absent["task"], absent["rows"]) == ("fr", 0)
    assert any(line.startswith("Absent: cluster") and "'fr'" in line for line in found["found"])
    code, out, _ = run("fit", "lacking.csv", *options, "--out", "again")
    own = [line for line in out.splitlines() if line.startswith(f"Cluster {absent['cluster']}, ")]
    assert len(own) == 1
    assert ", in de and it:" in own[0]
    assert "relations.csv" in out
    page = (tmp_path / "again" / "report.html").read_text(encoding="utf-8")
    assert '<span class="tag absent">absent</span>' in page
    assert "Every cluster is present in every task" not in page


def test_metric_and_clusters_per_task_reach_the_estimator(run, survey, tmp_path):
    survey.drop(columns="class").to_csv(tmp_path / "survey.csv", index=False)
    options = ("--task", "country", "--id", "person", "--clusters", 3, "--refits", 0)
    code, _, err = run("fit", "survey.csv", *options, "--metric", "euclidean", "--out", "plain")
    assert code == 0, err
    settings = json.loads((tmp_path / "plain" / "settings.json").read_text(encoding="utf-8"))
    assert settings["parameters"]["metric"] == "euclidean"
    code, out, err = run(
        "fit", "survey.csv", *options, "--clusters-per-task", "fr=2, de=3,it=3", "--json", "--out", "two"
    )
    assert code == 0, err
    settings = json.loads((tmp_path / "two" / "settings.json").read_text(encoding="utf-8"))
    assert settings["parameters"]["n_clusters_per_task"] == {"fr": 2, "de": 3, "it": 3}
    assert sum(n > 0 for n in json.loads(out)["sizes"]["fr"]) == 2


def test_centres_are_in_the_units_of_the_columns(fitted, survey, labels):
    centers = table(fitted / "centers.csv")
    assert list(centers[0]) == ["task", "cluster", "size", "age", "income", "trust", "hours", "sex = f", "sex = m"]
    assert [row["task"] for row in centers] == [task for task in ("de", "fr", "it", "(shared)") for _ in range(3)]
    own = np.array([row["cluster"] == "0" for row in labels]) & (survey["country"] == "de").to_numpy()
    [row] = [row for row in centers if (row["task"], row["cluster"]) == ("de", "0")]
    assert float(row["size"]) == own.sum()
    assert float(row["age"]) == pytest.approx(survey["age"][own].mean(), abs=0.2)


def test_settings_say_what_it_takes_to_repeat_the_run(fitted, run, tmp_path):
    settings = json.loads((fitted / "settings.json").read_text())
    assert settings["parameters"]["random_state"] == 0
    assert settings["options"]["task"] == "country"
    assert {"mtcluster", "numpy", "scikit-learn", "python"} <= set(settings["versions"])
    assert settings["files"][0]["name"] == "survey.csv"
    before = (fitted / "labels.csv").read_bytes()
    options = settings["options"]
    given = [item for name in ("task", "id", "label", "clusters", "seed") for item in (f"--{name}", options[name])]
    again = ["fit", "survey.csv", *given, "--refits", 0, "--out", "again"]
    assert run(*again)[0] == 0
    assert (tmp_path / "again" / "labels.csv").read_bytes() == before


def test_force_replaces_a_run_and_nothing_is_left_beside_it(fitted, run, tmp_path):
    before = sorted(path.name for path in tmp_path.iterdir())
    assert run("fit", "survey.csv", "--task", "country", "--features", "age,income", "--clusters", 2, "--refits", 0,
               "--out", "run", "--force")[0] == 0  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert {row["cluster"] for row in table(fitted / "labels.csv")} == {"0", "1"}


def test_a_folder_within_folders_is_made(run, files, tmp_path):
    assert run("fit", "fr.csv", "de.csv", "--clusters", 3, "--refits", 0, "--out", "a/b/run")[0] == 0
    assert (tmp_path / "a" / "b" / "run" / "report.html").exists()


def test_predict_gives_the_rows_of_the_fit_their_labels_again(fitted, run, labels, tmp_path):
    code, out, _ = run("predict", "run", "survey.csv", "--out", "again.csv")
    assert code == 0
    assert "120 rows" in out
    again = table(tmp_path / "again.csv")
    assert [row["cluster"] for row in again] == [row["cluster"] for row in labels]
    assert [row["id"] for row in again] == [row["id"] for row in labels]
    assert [float(row["outlier_score"]) for row in again] == pytest.approx(
        [float(row["outlier_score"]) for row in labels], rel=1e-4
    )


def test_predict_labels_a_new_data_set_wherever_it_lies(fitted, run, survey, labels, tmp_path):
    """A file without the column of tasks is a data set of its own; where it lies makes no difference."""
    new = survey[survey["country"] == "fr"].drop(columns="country")
    new[["age", "income", "trust", "hours"]] += [3, -2, 5, 1]
    new.to_csv(tmp_path / "uk.csv", index=False)
    code, out, err = run("predict", "run", "uk.csv", "--out", "uk_labels.csv", "--json")
    assert code == 0, err
    assert any("uk" in note for note in json.loads(out)["notes"])
    found = table(tmp_path / "uk_labels.csv")
    assert {row["task"] for row in found} == {"uk"}
    fitted_there = [row["cluster"] for row in labels if row["task"] == "fr"]
    assert np.mean([row["cluster"] == own for row, own in zip(found, fitted_there, strict=True)]) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_report_and_labels_new_rows_or_says_that_it_cannot(method, run, survey, tmp_path):
    if method == "harmony":
        pytest.importorskip("harmonypy", reason="needs harmonypy")
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", "--task", "country", "--id", "person", "--label", "class", "--clusters", 3,
                       "--method", method, "--refits", 4, "--out", "run")  # fmt: skip
    assert code == 0, err
    fitted = table(tmp_path / "run" / "labels.csv")
    sure = method in ("spmtc", "lssmtc", "asi", "mixture")
    assert [name for name in fitted[0] if name.endswith("_1")] == ["probability_1" if sure else "membership_1"]
    code, _, err = run("predict", "run", "survey.csv", "--out", "again.csv", "--quiet")
    if method.startswith(("spectral", "harmony")):
        assert code == 2
        assert "cannot label new rows" in err
        return
    assert (code, err) == (0, "")
    again = table(tmp_path / "again.csv")
    assert [row["cluster"] for row in again] == [row["cluster"] for row in fitted]
    if sure:
        assert [row["probability_1"] for row in again] == [row["probability_1"] for row in fitted]


def test_report_is_written_again_as_it_was(fitted, run):
    before = (fitted / "report.html").read_text(encoding="utf-8")
    (fitted / "report.html").unlink()
    assert run("report", "run")[0] == 0
    assert (fitted / "report.html").read_text(encoding="utf-8") == before
    assert run("report", "run", "--out", "page.html")[0] == 0
    code, _, err = run("report", "run", "--out", "survey.csv")
    assert code == 2
    assert "--force" in err


def test_compare_puts_methods_side_by_side(run, survey, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, out, _ = run("compare", "survey.csv", "--task", "country", "--id", "person", "--label", "class", "--clusters",
                       3, "--refits", 4, "--json", "--quiet", "--out", "table.csv")  # fmt: skip
    assert code == 0
    rows = {row["method"]: row for row in json.loads(out)["table"]}
    assert list(rows) == ["spmtc", "lssmtc", "kmeans", "kmeans-per-task"]
    assert rows["spmtc"]["joint_accuracy"] > rows["kmeans-per-task"]["joint_accuracy"]
    assert rows["spmtc"]["like_first"] == 1
    assert all(row["verdict"] in VERDICTS and 0 <= row["reference"] <= 1 for row in rows.values())
    assert rows["spmtc"]["stability"] > 0.9
    assert [row["method"] for row in table(tmp_path / "table.csv")] == list(rows)


def test_compare_without_classes_scores_nothing(run, survey, tmp_path):
    survey.drop(columns="class").to_csv(tmp_path / "survey.csv", index=False)
    code, out, _ = run("compare", "survey.csv", "--task", "country", "--id", "person", "--clusters", 3, "--refits", 0,
                       "--methods", "spmtc,kmeans")  # fmt: skip
    assert code == 0
    assert "accuracy" not in out
    assert "correspondence" in out
    assert "Judged by the rows alone" in out


def test_compare_offers_centred_k_means_and_says_how_to_install_harmony(run, survey, tmp_path, monkeypatch):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    options = ["--task", "country", "--id", "person", "--label", "class", "--clusters", 3, "--refits", 4]
    code, out, _ = run("compare", "survey.csv", *options, "--methods", "kmeans,kmeans-centered", "--json", "--quiet")
    assert code == 0
    rows = {row["method"]: row for row in json.loads(out)["table"]}
    assert rows["kmeans-centered"]["joint_accuracy"] >= rows["kmeans"]["joint_accuracy"]
    monkeypatch.setattr("mtcluster.cli.errors.find_spec", lambda name: None if name == "harmonypy" else find_spec(name))
    code, _, err = run("compare", "survey.csv", *options, "--methods", "kmeans,harmony")
    assert code == 2
    assert "reading" not in err
    assert "the method harmony needs harmonypy: pip install 'mtcluster[harmony]'" in err


def write_tasks(path, task_set):
    frame = pd.DataFrame(task_set.X, columns=[f"x{i}" for i in range(task_set.X.shape[1])])
    frame.assign(task=task_set.tasks, known=task_set.y).to_csv(path, index=False)


@pytest.mark.parametrize(("absent", "offset", "best"), [(0.4, 0.0, "kmeans"), (0.4, 1.0, "kmeans-centered")])
def test_the_judgement_of_compare_tells_location_from_contents(run, tmp_path, absent, offset, best):
    options = {"n_tasks": 4, "n_clusters": 6, "absent": absent, "offset": offset, "random_state": 0}
    write_tasks(tmp_path / "rows.csv", make_multitask_blobs(150, **options))
    code, out, _ = run("compare", "rows.csv", "--task", "task", "--label", "known", "--clusters", 6, "--refits", 0,
                       "--scale", "none", "--methods", "kmeans,kmeans-centered,kmeans-per-task", "--json")  # fmt: skip
    assert code == 0
    result = json.loads(out)
    assert result["judgement"].startswith(f"Judged by the rows alone, {best} describes these tasks best")
    assert max(result["table"], key=lambda row: row["joint_accuracy"])["method"] == best


@pytest.mark.data
@pytest.mark.parametrize(("name", "best"), [("penguins_island", "kmeans"), ("penguins_sex", "kmeans-centered"),
                                            ("cell_lines", "kmeans"), ("kang_pbmc", "kmeans-centered")])  # fmt: skip
def test_the_judgement_of_compare_on_real_sets(run, task_set, tmp_path, name, best):
    write_tasks(tmp_path / "rows.csv", task_set(name))
    clusters = {"penguins_island": 3, "penguins_sex": 3, "cell_lines": 2, "kang_pbmc": 5}[name]
    code, out, _ = run("compare", "rows.csv", "--task", "task", "--label", "known", "--clusters", clusters, "--scale",
                       "none", "--refits", 0, "--methods", "kmeans,kmeans-centered", "--json")  # fmt: skip
    assert code == 0
    result = json.loads(out)
    assert result["judgement"].startswith(f"Judged by the rows alone, {best} describes")
    assert max(result["table"], key=lambda row: row["joint_accuracy"])["method"] == best


def test_texts_become_words(run, tmp_path):
    rng = np.random.default_rng(0)
    topics = [["goal", "match", "team", "league", "coach"], ["vote", "party", "law", "senate", "budget"]]
    with (tmp_path / "news.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["paper", "story", "topic"])
        for i in range(120):
            words = rng.choice(topics[i % 2], 12)
            writer.writerow(["north" if i % 3 else "south", " ".join(["the", *words]), i % 2])
    code, out, err = run("fit", "news.csv", "--task", "paper", "--text", "story", "--label", "topic", "--clusters", 2,
                         "--refits", 0, "--out", "run")  # fmt: skip
    assert code == 0, err
    assert "TF-IDF of 10 words" in out
    rows = table(tmp_path / "run" / "labels.csv")
    assert clustering_accuracy([i % 2 for i in range(120)], [int(row["cluster"]) for row in rows]) > 0.95
    assert set(table(tmp_path / "run" / "centers.csv")[0]) >= {"goal", "senate"}
    (tmp_path / "new.csv").write_text("paper,story\nwest,team goal league\nwest,senate budget law\n")
    assert run("predict", "run", "new.csv", "--out", "labels.csv")[0] == 0
    first, second = (row["cluster"] for row in table(tmp_path / "labels.csv"))
    assert first != second


def test_missing_values_are_filled_when_asked(run, survey, tmp_path):
    survey.loc[[2, 7], "age"] = np.nan
    survey.loc[4, "sex"] = None
    survey.drop(columns="class").to_csv(tmp_path / "survey.csv", index=False)
    code, out, _ = run("fit", "survey.csv", "--task", "country", "--id", "person", "--clusters", 3, "--refits", 0,
                       "--impute", "median", "--out", "run")  # fmt: skip
    assert code == 0
    assert "age (2), sex (1)" in out
    assert run("predict", "run", "survey.csv", "--out", "labels.csv")[0] == 0


def test_sheets_that_were_not_read_are_told(run, survey, tmp_path):
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        survey.drop(columns="class").to_excel(book, sheet_name="people", index=False)
        survey.head().to_excel(book, sheet_name="notes")
    code, out, _ = run("fit", "book.xlsx", "--task", "country", "--id", "person", "--clusters", 3, "--refits", 0,
                       "--out", "run")  # fmt: skip
    assert code == 0
    assert "book.xlsx has 2 sheets; the first, 'people', was read." in out


def test_counts_of_cells_are_told(run, tmp_path, counts):
    anndata = pytest.importorskip("anndata")
    X, _, tasks = counts
    obs = pd.DataFrame({"batch": tasks.astype(str)}, index=[f"c{i}" for i in range(len(X))])
    anndata.AnnData(X, obs=obs).write_h5ad(tmp_path / "cells.h5ad")
    code, out, _ = run("fit", "cells.h5ad", "--task", "batch", "--clusters", 3, "--refits", 0, "--out", "run")
    assert code == 0
    assert "normalise" in out
    assert [row["id"] for row in table(tmp_path / "run" / "labels.csv")][:2] == ["c0", "c1"]


def test_the_number_of_clusters_is_found(run, survey, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, out, _ = run("fit", "survey.csv", "--task", "country", "--id", "person", "--label", "class", "--features",
                       "age,income,trust,hours", "--scale", "none", "--refits", 0, "--json", "--quiet",
                       "--out", "run")  # fmt: skip
    assert code == 0
    assert json.loads(out)["n_clusters"] == 3


def test_classes_are_known_by_their_names_and_left_out_of_the_features(fitted, run):
    assert "class" not in json.loads((fitted / "settings.json").read_text())["columns"]


def test_counts_are_weighted_when_asked(run, tmp_path, counts):
    X, _, tasks = counts
    np.savez(tmp_path / "counts.npz", task1_X=X[tasks == 0], task2_X=X[tasks == 1])
    code, out, _ = run("fit", "counts.npz", "--tfidf", "--clusters", 3, "--refits", 0, "--out", "run")
    assert code == 0
    assert "TF-IDF" in out


def test_names_stay_the_text_that_they_are(run, survey, tmp_path):
    survey["person"] = [f"{i:04d}" for i in range(len(survey))]
    survey["country"] = survey["country"].replace({"fr": "NA", "de": "01", "it": "1"})
    survey.drop(columns="class").to_csv(tmp_path / "survey.csv", index=False)
    assert run("fit", "survey.csv", "--task", "country", "--id", "person", "--clusters", 3, "--refits", 0, "--out",
               "run")[0] == 0  # fmt: skip
    rows = table(tmp_path / "run" / "labels.csv")
    assert [row["id"] for row in rows] == survey["person"].tolist()
    assert {row["task"] for row in rows} == {"NA", "01", "1"}


def test_decimal_commas_between_semicolons_are_numbers(run, survey, tmp_path):
    survey["age"] = survey["age"].round(0) / 2
    survey.drop(columns=["class", "person"]).to_csv(tmp_path / "survey.csv", index=False, sep=";", decimal=",")
    code, out, _ = run("fit", "survey.csv", "--task", "country", "--clusters", 3, "--refits", 0, "--out", "run")
    assert code == 0
    assert "4 columns (age, income, trust, hours) of numbers" in out


def test_the_index_that_pandas_writes_names_the_rows(run, survey, tmp_path):
    survey.drop(columns=["class", "person"]).to_csv(tmp_path / "survey.csv")
    code, out, _ = run("fit", "survey.csv", "--task", "country", "--clusters", 3, "--refits", 0, "--out", "run")
    assert code == 0
    assert "has no name" in out
    assert [row["id"] for row in table(tmp_path / "run" / "labels.csv")][:3] == ["0", "1", "2"]


def test_texts_are_used_beside_the_other_columns_and_columns_can_be_dropped(run, survey, tmp_path):
    survey["trust, in others"] = survey.pop("trust")
    survey["story"] = np.where(survey["class"] == "a", "cats purr", "dogs bark")
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, out, err = run("fit", "survey.csv", "--task", "country", "--id", "person", "--text", "story", "--drop",
                         'class,"trust, in others"', "--clusters", 3, "--refits", 0, "--out", "run")  # fmt: skip
    assert code == 0, err
    assert "3 columns (age, income, hours) of numbers" in out
    assert "TF-IDF of 4 words" in out


def test_files_with_and_without_the_columns_of_tasks_and_names_are_labelled_together(fitted, run, survey, tmp_path):
    survey[:5].to_csv(tmp_path / "known.csv", index=False)
    survey[5:9].drop(columns=["country", "person"]).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("predict", "run", "known.csv", "new.csv", "--out", "labels.csv", "--quiet")
    assert (code, err) == (0, "")
    found = table(tmp_path / "labels.csv")
    assert [row["task"] for row in found] == [*survey["country"][:5], *["new"] * 4]


def test_a_category_that_the_fit_did_not_know_is_told(fitted, run, survey, tmp_path):
    survey.assign(sex="x").to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run("predict", "run", "new.csv", "--out", "labels.csv", "--json", "--quiet")
    assert (code, err) == (0, "")
    assert json.loads(out)["notes"] == ["column 'sex' holds categories that were not in the fit: 'x' (120 rows)."]


def test_classes_of_some_rows_are_enough_to_score_by(run, survey, tmp_path):
    survey.loc[::2, "class"] = None
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, out, _ = run("fit", "survey.csv", "--task", "country", "--id", "person", "--label", "class", "--clusters", 3,
                       "--refits", 0, "--out", "run")  # fmt: skip
    assert code == 0
    assert "Known classes" in out


def test_a_task_set_is_scored_by_its_own_classes(run, tmp_path, blobs):
    X, y, tasks = blobs
    arrays = {f"task{k + 1}_{name}": part[tasks == k] for k in range(3) for name, part in (("X", X), ("y", y))}
    np.savez(tmp_path / "a.npz", **arrays)
    code, out, _ = run("compare", "a.npz", "--clusters", 4, "--refits", 0, "--methods", "spmtc", "--json", "--quiet")
    assert code == 0
    assert json.loads(out)["table"][0]["accuracy"] > 0.9


def test_what_appears_at_the_place_of_the_folder_meanwhile_is_not_replaced(tmp_path):
    def meanwhile():
        with folder.new_folder(tmp_path / "run", force=False) as beside:
            (beside / "labels.csv").write_text("x")
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "thesis.tex").write_text("ten years of work")

    with pytest.raises(InputError, match=r"thesis\.tex"):
        meanwhile()
    assert (tmp_path / "run" / "thesis.tex").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_link_to_a_folder_is_followed(run, files, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    assert run("fit", "fr.csv", "de.csv", "--clusters", 3, "--refits", 0, "--out", "link")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "report.html").exists()


@pytest.mark.dask
def test_a_cluster_of_workers_gives_the_same_labels(fitted, run, labels, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        code, _, err = run("fit", "survey.csv", "--task", "country", "--id", "person", "--label", "class", "--clusters",
                           3, "--refits", 0, "--scheduler", cluster.scheduler_address, "--out", "there")  # fmt: skip
    assert code == 0, err
    assert [row["cluster"] for row in table(tmp_path / "there" / "labels.csv")] == [row["cluster"] for row in labels]
    assert run("predict", "there", "survey.csv", "--out", "new.csv")[0] == 0


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fit_leaves_nothing(stop, survey, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    command = [sys.executable, "-m", "mtcluster", "fit", "survey.csv", "--task", "country", "--id", "person", "--label",
               "class", "--clusters", "3", "--refits", "20000", "--out", "run"]  # fmt: skip

    def heed_signals():  # tests that run in the background may have been told to ignore them
        signal.signal(stop, signal.SIG_DFL)

    options = {"cwd": tmp_path, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heed_signals}
    with subprocess.Popen(command, **options) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "fitting again" in line:
                break
        os.kill(process.pid, stop)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.strip().splitlines()[-1] == "mtcluster fit: stopped; nothing was written."
    assert "Traceback" not in rest
    assert [path.name for path in tmp_path.iterdir()] == ["survey.csv"]


def test_quiet_says_nothing(fitted, run):
    assert run("report", "run", "--quiet") == (0, "", "")


def test_progress_is_told_in_lines_where_there_is_no_terminal(run, files):
    _, _, err = run("fit", *files["csv"], "--clusters", 3, "--refits", 4, "--out", "run")
    assert "spmtc: 120 rows" in err
    assert "objective" not in err  # stages of the fit are for progress bars
    assert "left" in err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals to open")
def test_a_terminal_gets_a_bar(survey, tmp_path):
    pytest.importorskip("rich")
    survey.to_csv(tmp_path / "survey.csv", index=False)
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "mtcluster", "fit", "survey.csv", "--task", "country", "--id", "person", "--label",
               "class", "--clusters", "3", "--refits", "20", "--out", "run"]  # fmt: skip
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 2**16)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    assert "━" in shown.decode(errors="replace")
    assert "fitting again" in shown.decode(errors="replace")


def test_a_bug_is_exit_code_1(run, files, monkeypatch):
    monkeypatch.setattr("mtcluster.cli.preparing.read_files", lambda *_: 1 / 0)
    code, _, err = run("fit", *files["csv"], "--out", "run")
    assert code == 1
    assert "bug in mtcluster" in err


def test_whole_numbers_with_gaps_are_shown_in_the_report(run, survey, tmp_path):
    survey["children"] = pd.array([None, 2, None, 3] * 30, dtype="Int64")
    survey.drop(columns="class").to_parquet(tmp_path / "survey.parquet")
    code, _, err = run("fit", "survey.parquet", "--task", "country", "--id", "person", "--clusters", 3, "--refits", 0,
                       "--impute", "median", "--out", "run")  # fmt: skip
    assert code == 0, err
    assert "(missing)" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_missing_values_of_a_matrix_stay_or_are_filled_when_asked(run, tmp_path, blobs):
    anndata = pytest.importorskip("anndata")
    X, _, tasks = blobs
    X = X.copy()
    X[::40, 0] = np.nan
    obs = pd.DataFrame({"batch": tasks.astype(str)}, index=[f"c{i}" for i in range(len(X))])
    anndata.AnnData(X, obs=obs).write_h5ad(tmp_path / "cells.h5ad")
    options = ["--task", "batch", "--clusters", 4, "--refits", 0, "--out", "run"]
    code, out, err = run("fit", "cells.h5ad", *options)
    assert code == 0, err
    assert f"stay missing and count nothing: all features ({len(X[::40])})" in out
    code, out, err = run("fit", "cells.h5ad", *options, "--impute", "median", "--force")
    assert code == 0, err
    assert f"({len(X[::40])})" in out


def test_warnings_of_the_library_are_notes_each_once(fitted, run, monkeypatch):
    for name in ("predict", "predict_proba", "score_samples"):
        method = getattr(SPMTC, name)

        def warned(self, X, *, tasks=None, method=method):
            warnings.warn("tasks that were not in fit: 'uk'", UserWarning, stacklevel=2)
            return method(self, X, tasks=tasks)

        monkeypatch.setattr(SPMTC, name, warned)
    code, out, err = run("predict", "run", "survey.csv", "--out", "again.csv", "--json")
    assert code == 0
    assert json.loads(out)["notes"] == ["tasks that were not in fit: 'uk'"]
    assert err.count("note: tasks that were not in fit: 'uk'") == 1
