"""Box plots: quantiles against NumPy's, and coordinates that stay in their chart."""

import numpy as np
import pytest

from mtcluster.inspection import make_report
from mtcluster.inspection._report import distributions as module
from mtcluster.inspection._report.boxes import box_charts


@pytest.fixture
def found(patients):
    return make_report(patients.model, **patients.arguments).summary["distributions"]


def test_quantiles_are_those_of_the_rows_in_the_units_of_the_user(patients, found):
    labels = patients.model.labels_
    assert found["levels"] == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert {feature["name"] for feature in found["features"]} >= {"age", "iron"}
    for feature in found["features"]:
        for j in range(3):
            if feature["kind"] == "number":
                values = patients.table[feature["name"]][labels == j].dropna()
                expected = np.quantile(values, found["levels"])
            else:
                values = patients.table["sex"][labels == j].dropna()
                expected = [np.mean(values == feature["name"].removeprefix("sex = "))]
            assert feature["clusters"][str(j)] == pytest.approx(expected, rel=1e-3)


def test_the_rest_of_a_task_stands_beside_a_cluster(patients, found):
    one = next(item for item in found["by_task"] if found["features"][item["feature"]]["name"] == "age")
    labels, tasks = patients.model.labels_, patients.model.fitted_.rows.tasks
    for part in one["tasks"]:
        for side, inside in (("here", labels == one["cluster"]), ("rest", labels != one["cluster"])):
            values = patients.table["age"][inside & (tasks == part["task"])].dropna()
            assert part[side] == pytest.approx(np.quantile(values, found["levels"]), rel=1e-3)


def test_leading_features_are_those_with_the_largest_effect(patients):
    summary = make_report(patients.model, **patients.arguments).summary
    effects = {row["name"]: row["effect"] for row in summary["separation"]["features"]}
    names = [feature["name"] for feature in summary["distributions"]["features"]]
    for item in summary["distributions"]["clusters"]:
        leading = [abs(effects[names[i]][item["cluster"]]) for i in item["features"]]
        assert leading == sorted(leading, reverse=True)
        assert leading[0] == max(abs(own[item["cluster"]]) for own in effects.values())


def test_without_rows_there_are_none(blob_model):
    assert make_report(blob_model).summary["distributions"] is None
    assert box_charts(None) == {}


def test_many_clusters_and_tasks_are_limited(large_model, monkeypatch):
    monkeypatch.setattr(module, "CLUSTERS", 5)
    monkeypatch.setattr(module, "BESIDE", 3)
    monkeypatch.setattr(module, "SHOWN_TASKS", 2)
    X = np.random.default_rng(0).normal(size=(20_000, 30))
    found = make_report(large_model, X=X, settings={}).summary["distributions"]
    assert len(found["clusters"]) == 5
    assert len(found["beside"]) == 3
    assert len(found["tasks"]) == 2
    assert all(len(chart["rows"]) <= 4 for charts in box_charts(found).values() for chart in charts)


def test_boxes_stay_in_their_chart_and_share_an_axis(found):
    charts = [chart for own in box_charts(found).values() for chart in own]
    ends = {}
    for chart in charts:
        assert ends.setdefault(chart["name"], chart["ends"]) == chart["ends"]
        assert sum(row["here"] for row in chart["rows"]) == 1
        boxes = [row["box"] for row in chart["rows"]] + [
            part[side] for part in chart["tasks"] for side in ("here", "rest")
        ]
        for box in boxes:
            if "share" in box:
                assert 0 <= box["width"] <= 100
            else:
                low, high = box["whiskers"]
                assert 0 <= low <= box["from"] <= box["median"] <= high <= 100
                assert box["told"].startswith("median ")


def test_the_axis_of_small_shares_is_shorter():
    feature = {"name": "word", "kind": "count", "clusters": {"0": [0.04], "1": [0.01]}}
    found = {"by_task": [], "features": [feature], "beside": [0, 1], "clusters": [{"cluster": 0, "features": [0]}]}
    [chart] = box_charts(found)[0]
    assert chart["ends"] == (0, 0.05)
    assert [row["box"]["width"] for row in chart["rows"]] == [80, 20]


def test_a_sparse_matrix_tells_shares_of_entries(counts):
    from scipy import sparse

    from mtcluster import SPMTC

    X, _, tasks = counts
    thin = sparse.csr_matrix(X)
    model = SPMTC(n_clusters=3, metric="euclidean", random_state=0).fit(thin, tasks=tasks)
    found = make_report(model, X=thin).summary["distributions"]
    feature = found["features"][0]
    i = int(feature["name"].removeprefix("feature "))
    assert feature["kind"] == "count"
    for j in range(3):
        assert feature["clusters"][str(j)] == pytest.approx(
            [np.mean(np.asarray(X)[model.labels_ == j, i] != 0)], abs=1e-3
        )
