"""What a report says: the numbers are right, and the rules fire when they should and only then."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from mtcluster import ASI, LSSMTC, SPMTC, Schedule
from mtcluster._utils.tables import Table
from mtcluster.certainty import MEANINGS
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import LabelDescription, make_report
from mtcluster.inspection._certainty import plain_selection, plain_stability
from mtcluster.inspection._report import advice, clusters, examples, sentences
from mtcluster.inspection._subject import subject_of
from mtcluster.inspection._words import number, percent, plain, text

from ...changed import altered, changed
from .conftest import SELECTION


def summarize(model, **arguments):
    return make_report(model, **arguments).summary


@pytest.fixture
def summary(blob_model):
    return summarize(blob_model)


# The centres and what they say


def test_a_contrast_is_the_difference_to_the_mean_of_the_rows_of_other_clusters():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=50)
    X = rng.normal(size=(50, 4)) + labels[:, None] + 1e3
    centers = np.array([X[labels == j].mean(axis=0) for j in range(3)])
    difference, rest = clusters.contrasts(centers, np.bincount(labels).astype(float))
    for j in range(3):
        np.testing.assert_allclose(rest[j], X[labels != j].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(difference[j], X[labels == j].mean(axis=0) - X[labels != j].mean(axis=0), rtol=1e-8)


def test_clusters_without_rows_do_not_count_in_a_contrast():
    difference, rest = clusters.contrasts(np.array([[1.0], [4.0], [99.0]]), np.array([2.0, 1.0, 0.0]))
    assert rest[0, 0] == 4
    assert difference[1, 0] == 3


def test_a_contrast_with_nothing_is_not_a_number_and_shows_nothing():
    difference, _ = clusters.contrasts(np.array([[1.0, 2.0]]), np.array([5.0]))
    assert np.isnan(difference).all()
    assert clusters.standing_out(difference[0], np.array([1.0, 2.0]), ["a", "b"], 5) == []


def test_where_a_task_lies_does_not_change_what_makes_its_clusters(blob_model):
    moved = blob_model.task_centers_ + np.array([5.0, -3.0, 100.0])[:, None, None]
    before = clusters.features(subject_of(blob_model, "a test"), list("abcdef"))
    after = clusters.features(subject_of(changed(blob_model, centers__Ms=moved), "a test"), list("abcdef"))
    for old, new in zip(before["clusters"], after["clusters"], strict=True):
        for a, b in zip(old["tasks"], new["tasks"], strict=True):
            assert [f["name"] for f in a["features"]] == [f["name"] for f in b["features"]]
            np.testing.assert_allclose(
                [f["difference"] for f in a["features"]], [f["difference"] for f in b["features"]], rtol=1e-3, atol=1e-9
            )


def test_shared_centres_are_shown_where_the_tasks_lie(blob_model):
    offsets = np.full_like(blob_model.fitted_.centers.offsets.b, 7.0)
    moved = altered(blob_model.fitted_, centers__offsets__b=offsets, centers__offsets__s=np.full(3, 2.0))
    Z, sizes = clusters.centers_of_sharing(moved)
    np.testing.assert_allclose(Z, 7 + 2 * blob_model.fitted_.centers.shared)
    np.testing.assert_allclose(sizes, blob_model.cluster_sizes_.sum(axis=0))


def test_tasks_left_alone_have_no_part_in_what_is_shared(blob_model):
    alone = altered(blob_model.fitted_, within=np.array([0.7, 1.0, 0.7]))
    np.testing.assert_allclose(clusters.centers_of_sharing(alone)[1], blob_model.cluster_sizes_[[0, 2]].sum(axis=0))


def test_features_come_largest_first_above_and_then_below():
    found = clusters.standing_out(np.array([0.5, -3.0, 2.0, 0.001, -1.0]), np.zeros(5), list("abcde"), 2)
    assert [(f["name"], f["difference"]) for f in found] == [("c", 2.0), ("a", 0.5), ("b", -3.0), ("e", -1.0)]


def test_features_are_compared_in_widths_of_a_cluster_with_a_shared_metric(blob_model):
    units = np.array([1e-3, 1, 1, 1e3, 1, 1])
    centers = blob_model.fitted_.centers
    turned = changed(
        blob_model,
        centers__geometry__K=centers.geometry.K * np.outer(units, units),
        centers__Ms=centers.Ms * units,
        centers__offsets__b=centers.offsets.b * units,
        centers__W=centers.W * units[:, None],
    )
    assert blob_model.decisions_.metric == "shared"
    subjects = [subject_of(model, "a test") for model in (blob_model, turned)]
    first, second = (clusters.features(subject, list("abcdef")) for subject in subjects)
    for one, other in zip(first["clusters"], second["clusters"], strict=True):
        assert [f["name"] for f in one["shared"]] == [f["name"] for f in other["shared"]]
        np.testing.assert_allclose(*([f["difference"] for f in found["shared"]] for found in (one, other)), rtol=1e-3)


def test_the_leading_feature_has_its_share_of_the_spread():
    Z, sizes = np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([1.0, 1.0])
    assert clusters.leading(Z, sizes, ["a", "b"]) == {"name": "a", "share": pytest.approx(0.9)}


def test_sizes_are_counts_of_labels(blob_model, summary):
    rows = np.array(summary["sizes"]["rows"])
    for k in range(3):
        own = blob_model.labels_[blob_model.fitted_.rows.tasks == k]
        np.testing.assert_array_equal(rows[k], np.bincount(own, minlength=4))
    np.testing.assert_allclose(np.sum(summary["sizes"]["shares"], axis=1), 1, atol=1e-3)


def test_a_cluster_that_a_task_lacks_is_told_with_the_reason(blob_model):
    support = np.ones((3, 4))
    support[1, 2] = support[0, 3] = 0.1
    labels = blob_model.labels_.copy()
    labels[(labels == 2) & (blob_model.fitted_.rows.tasks == 1)] = 0
    voted = changed(blob_model, rows__labels=labels, support=support, decided=False)
    found = clusters.sizes(subject_of(voted, "a test"), ["a", "b", "c"])
    assert [(item["cluster"], item["task"], item["few"]) for item in found["missing"]] == [(2, 1, True), (3, 0, False)]
    assert found["everywhere"] == [0, 1]
    assert "Rare: cluster 2 in “b”." in found["sentences"]
    assert (
        "Located elsewhere than in the other tasks, possibly a different group: cluster 3 in “a”." in found["sentences"]
    )


def test_typical_examples_fit_best_and_come_from_different_tasks(blob_model):
    outlying = blob_model.losses_
    for j, rows in enumerate(examples.most_typical(subject_of(blob_model, "a test"), outlying)):
        assert (blob_model.labels_[rows] == j).all()
        assert sorted(blob_model.fitted_.rows.tasks[rows]) == [0, 1, 2]
        for row in rows:
            same = (blob_model.labels_ == j) & (blob_model.fitted_.rows.tasks == blob_model.fitted_.rows.tasks[row])
            assert outlying[row] == outlying[same].min()


# The dict as a whole


def test_the_summary_is_json_without_nan_and_the_model_is_left_as_it_is(blob_model):
    before = set(vars(blob_model))
    summary = summarize(blob_model)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert set(vars(blob_model)) == before
    assert [task["name"] for task in summary["tasks"]] == ["north", "south", "west"]


@pytest.mark.parametrize("method", [LSSMTC, ASI])
def test_other_estimators_have_a_summary(blobs, method):
    X, _, tasks = blobs
    summary = summarize(method(n_clusters=4, random_state=0).fit(X, tasks=tasks))
    json.dumps(summary, allow_nan=False)
    assert summary["method"] == method.__name__
    assert len(summary["course"]["stages"]) == 1
    assert summary["examples"]["rows"][0]["admitted"] is None


def test_labels_from_elsewhere_have_no_stages(blobs):
    X, y, tasks = blobs
    summary = summarize(LabelDescription("k-means").fit(X, y, tasks=tasks))
    assert summary["method"] == "k-means"
    assert summary["course"]["stages"] == []
    assert "no stages" in summary["course"]["sentences"][0]
    assert summary["decisions"] == []
    assert summary["certainty"]["verdict"] is None


def test_one_task_and_one_cluster_have_a_summary():
    X = np.random.default_rng(0).normal(size=(20, 3))
    summary = summarize(SPMTC(n_clusters=1, random_state=0).fit(X))
    json.dumps(summary, allow_nan=False)
    assert summary["relatedness"]["sentences"] == ["There is one task, so there is nothing to compare."]
    assert summary["features"]["clusters"][0]["shared"] == []
    assert summary["sizes"]["missing"] == []


def test_sparse_rows_have_the_summary_of_dense_ones(counts):
    X, _, tasks = counts
    dense, thin = (
        summarize(SPMTC(n_clusters=3, metric="euclidean", random_state=0).fit(A, tasks=tasks))
        for A in (X, sparse.csr_matrix(X))
    )
    assert dense["sizes"] == thin["sizes"]


@pytest.mark.dask
def test_a_fit_on_dask_has_a_summary(blobs):
    dask = pytest.importorskip("dask.array")
    X, _, tasks = blobs
    model = SPMTC(n_clusters=4, random_state=0).fit(dask.from_array(X, chunks=(50, -1)), tasks=tasks)
    summary = summarize(model)
    json.dumps(summary, allow_nan=False)
    labels = np.asarray(model.labels_)
    assert summary["sizes"]["rows"] == [np.bincount(labels[tasks == k], minlength=4).tolist() for k in range(3)]
    assert summary["map"]["cluster"] == labels[model.fitted_.rows.map_rows].tolist()
    assert not isinstance(model.labels_, np.ndarray)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="SPMTC"):
        summarize(SPMTC())
    with pytest.raises(NotFittedError):
        SPMTC().report()


@pytest.mark.parametrize("name", ["ids", "feature_names"])
def test_names_of_another_number_are_refused(blob_model, name):
    with pytest.raises(ValueError, match=f"{name} has 2 entries"):
        summarize(blob_model, **{name: ["a", "b"]})


def test_cells_are_asked_for_once_and_of_few_rows(blob_model):
    asked = []

    def cells(rows):
        asked.append(rows)
        return [{"row": i, "long": "y" * 1000} for i in rows]

    summary = summarize(blob_model, cells=cells)
    assert len(asked) == 1
    assert len(asked[0]) <= examples.EXTREMES + examples.TYPICAL * 4
    assert summary["examples"]["columns"] == ["row", "long"]
    for row in summary["examples"]["rows"]:
        assert row["cells"]["row"] == str(row["row"])
        assert len(row["cells"]["long"]) < 200
    with pytest.raises(ValueError, match="cells returned 0 dicts"):
        summarize(blob_model, cells=lambda rows: [])


def test_the_most_outlying_come_first(blob_model, summary):
    scores = [row["outlier"] for row in summary["examples"]["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 50
    usual = np.median(blob_model.losses_[blob_model.fitted_.rows.tasks == summary["examples"]["rows"][0]["task"]])
    first = summary["examples"]["rows"][0]["row"]
    assert scores[0] == pytest.approx(blob_model.losses_[first] / usual, rel=1e-2)


def test_the_map_is_where_the_model_has_it(blob_model, summary):
    shown = summary["map"]
    for i, axis in enumerate(shown["axes"]):
        back = axis["low"] + (axis["high"] - axis["low"]) * np.array(axis["at"]) / shown["steps"]
        np.testing.assert_allclose(back, blob_model.fitted_.rows.map[:, i], atol=1e-3 * (axis["high"] - axis["low"]))
    assert shown["cluster"] == blob_model.labels_[blob_model.fitted_.rows.map_rows].tolist()


def test_a_map_of_one_direction_gets_the_root_of_the_loss_as_its_second(blob_model):
    shown = summarize(changed(blob_model, rows__map=blob_model.fitted_.rows.map[:, :1]))["map"]
    axis = shown["axes"][1]
    back = axis["low"] + (axis["high"] - axis["low"]) * np.array(axis["at"]) / shown["steps"]
    np.testing.assert_allclose(back, np.sqrt(blob_model.losses_[blob_model.fitted_.rows.map_rows]), atol=1e-2)


def test_a_map_of_many_rows_shows_some_and_says_so(blob_model, monkeypatch):
    monkeypatch.setattr(examples, "POINTS", 50)
    shown = summarize(blob_model)["map"]
    assert len(shown["cluster"]) == len(shown["row"]) == 50
    assert shown["note"].startswith("50 of 120 rows")
    assert shown["cluster"] == blob_model.labels_[shown["row"]].tolist()


def test_far_points_do_not_decide_what_is_looked_at_first():
    codes = np.r_[np.random.default_rng(0).integers(4000, 5000, size=500), 0, 9999]
    low, high = examples.middle(codes)
    assert 3000 < low < 4100
    assert 4900 < high < 6000
    assert examples.middle(np.arange(10_000)) == (0, 9999)


def test_long_identifiers_are_shortened_together():
    found = examples.short_ids([f"{i:05d}" + "漢" * 400 for i in range(20_000)])
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= examples.ID_BYTES
    assert examples.short_ids(["a" * 30]) == ["a" * 30]


# The course of the fit, and stability


def test_stages_have_their_rows_and_iterations(blob_model, summary):
    stages = [stage for stage in summary["course"]["stages"] if stage["name"] != "warm-up"]
    assert [stage["fraction"] for stage in stages] == pytest.approx(blob_model.fitted_.rows.fractions.tolist())
    assert [stage["admitted"] for stage in stages] == (blob_model.fitted_.rows.weights > 0).sum(axis=1).tolist()
    assert sum(stage["iterations"] for stage in summary["course"]["stages"]) == blob_model.n_iter_


def test_a_warm_up_is_told_apart_from_the_stages(blobs):
    X, _, tasks = blobs
    found = summarize(
        SPMTC(n_clusters=4, within_weight=0.5, pace=Schedule(warmup_iter=3), random_state=0).fit(X, tasks=tasks)
    )["course"]
    assert [stage["name"] for stage in found["stages"]] == ["warm-up", "1", "2", "3", "4", "5", "6"]
    assert found["stages"][0]["admitted"] == 120


def test_without_refits_it_is_said_how_to_measure_how_sure_one_can_be(summary):
    found = summary["certainty"]
    assert (found["verdict"], found["overall"], found["clusters"]) == (None, None, [])
    assert "mtcluster.model_selection.stability" in found["sentences"][0]
    assert found["confidence"] == []
    assert summary["map"]["confidence"] is None
    assert summary["selection"] is None


def test_refits_say_how_sure_one_can_be_of_each_cluster(blob_model, blob_stability):
    summary = summarize(blob_model, stability=blob_stability)
    found = summary["certainty"]
    assert found["verdict"] == blob_stability.verdict
    assert found["meaning"] == MEANINGS[blob_stability.verdict]
    assert found["sentences"] == blob_stability.sentences
    assert found["overall"] == pytest.approx(blob_stability.overall)
    assert found["reference"] == pytest.approx(blob_stability.reference.tolist(), abs=1e-6)
    assert [item["stability"] for item in found["clusters"]] == pytest.approx(blob_stability.table["stability"])
    assert [str(item["next_to"]) for item in found["clusters"]] == blob_stability.table["next_to"]
    assert found["tasks"] == ["north", "south", "west"]
    assert np.shape(found["cells"]) == (3, 4)
    confidence = blob_stability.row_confidence
    assert summary["map"]["confidence"] == np.rint(100 * confidence[blob_model.fitted_.rows.map_rows]).tolist()
    assert percent(float(np.mean(confidence < 0.9))) in found["confidence"][0]
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_stability_from_settings_gives_the_same_but_for_single_rows(blob_model, blob_stability):
    whole = summarize(blob_model, stability=blob_stability)
    stored = json.loads(json.dumps(plain_stability(blob_stability), allow_nan=False))
    again = summarize(blob_model, stability=stored)
    assert again["certainty"] == whole["certainty"]
    assert again["map"]["confidence"] is None


def test_what_is_not_known_of_a_cluster_is_none(blob_model, blob_stability):
    nan = float("nan")
    changed_values = {
        "cluster_stability": np.array([0.9, nan, 0.5]),  # the last cluster has no rows
        "cluster_task_stability": np.array([[0.9, nan, nan]] * 3),
        "table": Table(next_to=["1", "", "0"], between=[0.2, nan, 0.3]),
    }
    found = summarize(blob_model, stability=replace(blob_stability, **changed_values))["certainty"]
    assert found["clusters"][1] == {"cluster": 1, "stability": None, "next_to": None, "between": None}
    assert len(found["clusters"]) == 3
    assert found["cells"][0] == [0.9, None, None]


def test_the_stability_of_something_else_is_refused(blob_model, blob_stability):
    with pytest.raises(
        ValueError, match="should be one of clear, clear within tasks, fair, unsure, no clear structure; got 'good'"
    ):
        summarize(blob_model, stability=plain_stability(blob_stability) | {"verdict": "good"})
    with pytest.raises(ValueError, match="and 5 rows, but model has 4 and 120"):
        summarize(blob_model, stability=replace(blob_stability, row_confidence=np.ones(5)))
    for wrong in (0.9, {"agreement": 0.9}):
        with pytest.raises(TypeError, match="stability should be a result of"):
            summarize(blob_model, stability=wrong)
    with pytest.raises(TypeError, match="selection should be a result of"):
        summarize(blob_model, selection=4)


def test_a_selection_is_told_with_what_splits_into_what(blob_model):
    found = summarize(blob_model, selection=SELECTION)["selection"]
    assert (found["n_clusters"], found["named"], found["reason"]) == (4, [2, 4], SELECTION.reason)
    assert found["table"][0]["silhouette"] is None
    [level] = found["tree"]
    assert (level["coarse"], level["fine"]) == (2, 4)
    assert level["splits"][0] == {"parent": 0, "parts": [{"child": 2, "share": 0.6}, {"child": 0, "share": 0.4}]}
    stored = json.loads(json.dumps(plain_selection(SELECTION), allow_nan=False))
    assert summarize(blob_model, selection=stored)["selection"] == found
    chosen = changed(blob_model, selection_=SELECTION)
    assert summarize(chosen)["selection"] == found
    assert f"Number of clusters, chosen from the data: {SELECTION.reason}" in summarize(chosen)["decisions"]


# Advice


CALM = {
    "metric": "euclidean",
    "n_tasks": 3,
    "n_clusters": 2,
    "n_features": 5,
    "tasks": [{"name": name} for name in "abc"],
    "certainty": {"verdict": "clear", "clusters": []},
    "selection": None,
    "sizes": {"empty": [], "alone": [], "missing": [], "shares": [[0.6, 0.4]] * 3, "decided": True}
    | {"relations": [["shared", "shared"]] * 3},
    "features": {
        "clusters": [{"cluster": 0, "share": 0.6}, {"cluster": 1, "share": 0.4}],
        "leading": {"name": "iron", "share": 0.4},
    },
    "relatedness": {"matrix": [[1, 0.9, 0.2], [0.9, 1, 0.1], [0.2, 0.1, 1]]},
    "examples": {"far_share": 0.0},
}


def found_in(**parts):
    """The advice for calm findings but for these."""
    merged = CALM | {key: CALM[key] | part if isinstance(part, dict) else part for key, part in parts.items()}
    return [item["found"] for item in advice.advise(merged)]


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (None, 'n_clusters="auto"'),
        ({"n_clusters": 5}, "try 5."),
        ({"n_clusters": 2}, "look at the features"),
        ({"n_clusters": None}, "look at the features"),
    ],
)
def test_clusters_that_are_not_sure_may_be_others(selection, words):
    [item] = advice.advise(CALM | {"certainty": {"verdict": "unsure", "clusters": []}, "selection": selection})
    assert words in item["try"]


def test_nothing_stands_out_where_nothing_does():
    assert found_in() == ["Nothing stands out."]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"certainty": {"verdict": "unsure"}}, "How sure: unsure."),
        ({"certainty": {"verdict": "no clear structure"}}, "How sure: no clear structure."),
        (
            {"certainty": {"clusters": [{"cluster": 0, "stability": None}, {"cluster": 1, "stability": 0.7}]}},
            "Found again less often than the others: cluster 1.",
        ),
        ({"sizes": {"empty": [1]}}, "1 cluster has no rows."),
        (
            {"features": {"clusters": [{"cluster": 0, "share": 0.81}, {"cluster": 1, "share": 0.19}]}},
            "Cluster 0 contains 81\u00a0% of all rows.",
        ),
        ({"sizes": {"shares": [[0.5, 0.5], [0.1, 0.9]]}}, "Almost all rows in one cluster: “b” (90\u00a0%)."),
        ({"sizes": {"alone": [2]}}, "Little in common with the other tasks, so left alone: “c”."),
        (
            {"relatedness": {"matrix": [[1, 0.3, 0.2], [0.3, 1, 0.1], [0.2, 0.1, 1]]}},
            "The tasks are not alike: the highest relatedness is 0.30 of 1.",
        ),
        (
            {"sizes": {"relations": [["shared", "absent"], ["shared", "private"], ["shared", "absent"]]}},
            "In one task only: cluster 1 in “b”.",
        ),
        (
            {"sizes": {"relations": [["shared", "uncertain"], ["uncertain", "shared"], ["shared", "shared"]]}},
            "Present or absent, with little evidence for either: clusters 1 in “a” and 0 in “b”.",
        ),
        (
            {"sizes": {"missing": [{"cluster": 1, "task": 0, "few": True}]}},
            "Rare: cluster 1 in “a”.",
        ),
        (
            {"sizes": {"missing": [{"cluster": 1, "task": 0, "few": False}]}},
            "Possibly a different group: cluster 1 in “a”.",
        ),
        (
            {"examples": {"far_share": 0.05}},
            "5\u00a0% of the rows have at least 10 times the typical loss of their task.",
        ),
        (
            {"features": {"leading": {"name": "iron", "share": 0.9}}},
            "Feature “iron” accounts for 90\u00a0% of the variance between clusters.",
        ),
    ],
)
def test_each_rule_fires_alone(parts, expected):
    assert found_in(**parts) == [expected]


def test_scales_of_features_are_no_matter_with_a_shared_metric():
    assert found_in(features={"leading": {"name": "iron", "share": 0.9}}, metric="shared") == ["Nothing stands out."]


def test_a_task_that_holds_one_cluster_is_no_news_where_that_was_decided():
    alone = {"shares": [[0.5, 0.5], [0.0, 1.0]], "relations": [["shared"] * 2, ["absent", "shared"]]}
    assert found_in(sizes=alone) == ["Nothing stands out."]
    assert found_in(sizes=alone | {"decided": False}) == ["Almost all rows in one cluster: “b” (100\u00a0%)."]


def test_tasks_that_cannot_be_compared_are_not_called_unlike():
    matrix = [[1, None, 0.2], [None, 1, 0.6], [0.2, 0.6, 1]]
    assert found_in(relatedness={"matrix": matrix}) == ["Nothing stands out."]


def test_tasks_that_were_all_clustered_apart_on_purpose_are_no_news():
    assert found_in(sizes={"alone": [0, 1, 2]}) == ["Nothing stands out."]


def test_relatedness_to_a_task_left_alone_does_not_count():
    matrix = [[1, 0.2, 0.9], [0.2, 1, 0.9], [0.9, 0.9, 1]]
    found = found_in(sizes={"alone": [2]}, relatedness={"matrix": matrix})
    assert any("not alike" in item for item in found)


def test_many_far_rows_in_real_data_are_noticed():
    X, _, tasks = make_multitask_blobs([60, 60], 5, n_tasks=2, n_clusters=3, separation=12, random_state=0)
    X[:6] += 300 * np.random.default_rng(0).normal(size=(6, 5))
    summary = summarize(SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks))
    assert summary["examples"]["far_share"] > advice.MORE_THAN_FEW
    assert any("times the typical loss" in item["found"] for item in summary["advice"])


# Words


def test_numbers_are_short_and_shares_are_honest():
    assert [number(v) for v in (0, 1234567.0, 0.123456, -2.5, 1e-9, None)] == [
        "0",
        "1\u00a0234\u00a0567",
        "0.123",
        "−2.5",
        "1.0e−09",
        "–",
    ]
    assert percent(0.9999) == "99\u00a0%"
    assert percent(1.0) == "100\u00a0%"


def test_text_is_one_line_of_what_can_be_written():
    assert text("a\nb\t c") == "a b c"
    assert text("\x00\x07") == "␀␇"
    text("\ud800").encode()
    assert len(text("x" * 500)) == 80


def test_anything_becomes_json():
    value = {1: np.float32(0.5), "a": {np.nan}, "b": np.arange(3), "c": (np.int64(1), True, None), "d": object}
    found = plain(value)
    json.dumps(found, allow_nan=False)
    assert found["1"] == 0.5
    assert found["a"] == [None]
    assert found["b"] == "array of shape (3,)"
    assert found["c"] == [1, True, None]


# One sentence for each cluster


def like(*features, unit="fit"):
    """What a sentence says of a cluster with these columns."""
    shared = [
        {"name": name, "kind": kind, "difference": here - rest, "here": here, "rest": rest}
        for name, kind, here, rest in features
    ]
    effects = SimpleNamespace(unit=unit, effect=None)
    return sentences._like(shared, SimpleNamespace(features=[], fields=[]), effects, 0)


def test_columns_are_told_in_words_and_units():
    assert like(("bill_length_mm", "number", 38.2, 46.0)) == "short bill (38.2 mm; others 46)"
    assert like(("body mass [g]", "number", 5000, 4000)) == "heavy body (5\u00a0000 g; others 4\u00a0000)"
    assert like(("age", "number", 61, 30)) == "old (age 61; others 30)"
    assert like(("fare", "number", 7.5, 30)) == "low fare (7.5; others 30)"
    assert like(("distance", "number", 9, 3)) == "long distance (9; others 3)"
    assert like() == "close to the average of all rows"


def test_categories_are_told_by_their_share_and_never_as_columns():
    share = ("sex = FEMALE", "share", 0.9, 0.4), ("sex = MALE", "share", 0.1, 0.6)
    assert like(*share) == "mostly female (90\u00a0%; others 40\u00a0%)"
    assert like(("kind = a b", "share", 1.0, 0.2)) == "all a b (100\u00a0%; others 20\u00a0%)"
    assert like(("smoker = no", "share", 0.4, 0.1)) == "more often smoker no (40\u00a0%; others 10\u00a0%)"
    assert like(("town = Rome", "share", 0.0, 0.5)) == "no Rome (0\u00a0%; others 50\u00a0%)"
    assert like(("town = Rome", "share", 0.5, 0.45)) == "close to the average of all rows"


def test_where_a_cluster_is_is_told_in_the_word_for_the_groups():
    def where(*held, names=("Biscoe", "Dream", "Torgersen", "Elba", "Capri", "Ischia", "Procida")):
        return sentences._where(np.array(held, dtype=bool), "island", list(names)[: len(held)])

    assert where(1) == ""
    assert where(1, 1) == "on both islands"
    assert where(1, 1, 1) == "on all islands"
    assert where(0, 1, 0) == "on Dream only"
    assert where(1, 1, 0) == "on Biscoe and Dream"
    assert where(1, 1, 1, 1, 1, 0, 0) == "on all islands but Ischia and Procida"
    assert where(1, 1, 1, 1, 0, 0, 0) == "on 4 of 7 islands"


def test_a_column_of_two_values_that_makes_the_clusters_is_named():
    pandas = pytest.importorskip("pandas")
    rng, sex = np.random.default_rng(0), np.repeat(["f", "m"], 40)
    table = pandas.DataFrame({"age": rng.normal(size=80), "sex": sex})
    names = ["age", "sex = f", "sex = m"]
    X = np.column_stack([table["age"], sex == "f", sex == "m"]).astype(float)
    made = summarize(LabelDescription().fit(X, (sex == "m").astype(int)), X=table, feature_names=names)
    assert made["meaning"][0].startswith(
        "Column “sex” has two values and makes clusters by itself: 100\u00a0% of the rows"
    )
    other = summarize(LabelDescription().fit(X, (table["age"] > 0).astype(int)), X=table, feature_names=names)
    assert not any("by itself" in line for line in other["meaning"])
