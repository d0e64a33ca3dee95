"""Reports without single rows."""

import json
import re

import numpy as np
import pytest

from mtcluster import SPMTC
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import LabelDescription, Report, make_report
from mtcluster.model_selection import stability

SMALL = "Tiny hospital"


@pytest.fixture(scope="module")
def fitted():
    X, y, tasks = make_multitask_blobs([60, 50, 3], 4, n_tasks=3, n_clusters=3, separation=9, random_state=0)
    names = np.array(["north", "south", SMALL])[np.unique(np.asarray(tasks), return_inverse=True)[1]]
    return X, y, names, SPMTC(n_clusters=3, random_state=0).fit(X, tasks=names)


@pytest.fixture(scope="module")
def report(fitted):
    X, y, _, model = fitted
    return make_report(
        model,
        X=X,
        classes=[f"class {j}" for j in y],
        ids=[f"secret-{i}" for i in range(len(X))],
        cells=lambda rows: [{"name": f"secret cell {i}"} for i in rows],
        data={"files": [{"name": "rows.csv", "rows": 113, "bytes": 9}], "lines": [f"Tasks: north, {SMALL}.", "Kept."]},
        settings={"options": {"clusters_per_task": {SMALL: 2}}, "stability": {"tasks": [SMALL]}, "kept": 1},
        anonymous=True,
    )


def test_nothing_is_left_of_single_examples_and_small_tasks(report):
    written = json.dumps(report.summary) + report.html
    assert "secret" not in written
    assert SMALL not in written
    assert report.summary["map"] is None
    assert report.summary["examples"] is None
    assert all(cluster["typical"] == [] for cluster in report.summary["features"]["clusters"])
    assert [task["name"] for task in report.summary["tasks"]] == ["north", "south"]
    assert report.summary["n_rows"] == 110
    assert report.summary["overview"]["lines"] == ["Kept."]
    assert report.summary["overview"]["files"] == [{"name": "rows.csv", "rows": None, "bytes": None}]
    assert report.summary["settings"] == {"options": {"clusters_per_task": {}}, "kept": 1}


def test_the_page_says_that_it_is_anonymous_and_what_was_left_out(report):
    head = report.html[: report.html.index("<section")]
    assert "This report is anonymous" in head
    assert "1 smaller group not listed" in head
    sections = re.findall(r'<section id="(\w+)"', report.html)
    assert "map" not in sections
    assert "examples" not in sections
    assert 'id="canvas"' not in report.html


def test_numbers_are_those_of_the_tasks_that_are_listed(fitted, report):
    X, _, names, model = fitted
    for name, rows in zip(("north", "south"), report.summary["sizes"]["rows"], strict=True):
        expected = np.bincount(model.labels_[names == name], minlength=3)
        assert rows == [n if n >= 5 or n == 0 else "<5" for n in expected.tolist()]
    feature = report.summary["distributions"]["features"][0]
    assert report.summary["distributions"]["levels"] == [0.25, 0.5, 0.75]
    i = int(feature["name"].removeprefix("feature "))
    own = X[(names != SMALL) & (model.labels_ == 0), i]
    assert feature["clusters"]["0"] == pytest.approx(np.quantile(own, [0.25, 0.5, 0.75]), rel=1e-3)


def test_small_counts_are_hidden_in_every_table():
    rng = np.random.default_rng(0)
    labels, tasks = np.r_[np.zeros(30), np.ones(27), np.full(3, 2)].astype(int), np.r_[np.zeros(29), np.ones(31)]
    X = rng.normal(size=(60, 3)) + 5 * labels[:, None]
    X[0, 0] = np.nan
    summary = make_report(
        LabelDescription().fit(X, labels, tasks=tasks), X=X, classes=["a"] * 28 + ["b"] * 32, anonymous=True
    ).summary
    assert summary["sizes"]["rows"] == [[29, 0, 0], ["<5", 27, "<5"]]
    assert summary["sizes"]["shares"][1][0] is None
    few = summary["features"]["clusters"][2]
    assert (few["rows"], few["share"], few["shared"]) == ("<5", None, [])
    assert all(part["features"] == [] for part in few["tasks"])
    assert all(row["effect"][2] is None and row["size"][2] is None for row in summary["separation"]["features"])
    assert all(feature["clusters"]["2"] is None for feature in summary["distributions"]["features"])
    assert summary["classes"]["rows"] == [["<5", 27, "<5"], [28, 0, 0]]
    page = Report(summary).html
    assert "&lt;5" in page
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_shares_of_missing_values_that_stand_for_a_few_rows_are_hidden():
    rng = np.random.default_rng(0)
    X, tasks = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[:2, 0] = X[30:40, 0] = np.nan
    summary = make_report(LabelDescription().fit(X, tasks * 0, tasks=tasks), anonymous=True).summary
    assert summary["missing"]["columns"][0]["missing"] == ["<5", pytest.approx(1 / 3)]
    assert "<td" in Report(summary).html


def test_how_sure_the_clusters_are_does_not_tell_of_small_tasks(fitted):
    X, _, names, model = fitted
    measured = stability(model, X, tasks=names, n_refits=2, random_state=0)
    assert any("% of 113 rows keep" in line for line in measured.sentences)
    found = make_report(model, stability=measured, anonymous=True).summary["certainty"]
    assert found["tasks"] == ["north", "south"]
    assert len(found["cells"]) == 2
    assert not any("113" in line for line in found["sentences"])
    assert any("% of the rows keep" in line for line in found["sentences"])


def test_tasks_that_are_all_small_are_refused():
    model = LabelDescription().fit(np.arange(8.0)[:, None], np.zeros(8, dtype=int), tasks=np.repeat([0, 1], 4))
    with pytest.raises(ValueError, match="anonymous=True leaves out tasks of fewer than 5 rows"):
        make_report(model, anonymous=True)


def test_tasks_called_by_numbers_are_left_out_and_other_numbers_stay():
    X, _, tasks = make_multitask_blobs([40, 40, 3], 4, n_tasks=3, n_clusters=2, separation=9, random_state=0)
    summary = make_report(SPMTC(2, random_state=0).fit(X, tasks=np.asarray(tasks)), anonymous=True).summary
    assert [task["name"] for task in summary["tasks"]] == ["0", "1"]
    assert [stage["name"] for stage in summary["course"]["stages"]] == ["1", "2", "3", "4", "5", "6"]
    assert any(line.startswith("Metric") for line in summary["decisions"])
