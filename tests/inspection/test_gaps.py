"""Missing values, columns that tasks lack and rows without a cluster, in words, reports and pictures."""

import json
import warnings
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest

from mtcluster import ASI, LSSMTC, SPMTC
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import LabelDescription, explain, judge_labels, make_report, relations
from mtcluster.inspection._gaps import GROUPS, LISTED_COLUMNS, missing_of, missing_sentences

NAMES = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture(scope="module")
def rows():
    """Three tasks with gaps; task 0 lacks the last column, tasks 0 and 1 the one before; two rows are empty."""
    X, y, tasks = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=3, separation=9, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[tasks == 0, 5] = X[tasks < 2, 4] = np.nan
    X[[7, 50]] = np.nan
    return X, y, np.array(["north", "south", "west"])[tasks]


@pytest.fixture(scope="module")
def model(rows):
    X, _, tasks = rows
    with pytest.warns(UserWarning, match="2 row"):
        return SPMTC(3, random_state=0).fit(X, tasks=tasks)


def test_shares_are_those_of_the_rows_that_have_a_value(rows, model):
    X, _, tasks = rows
    some = ~np.isnan(X).all(axis=1)
    for k, task in enumerate(model.tasks_):
        np.testing.assert_allclose(model.fitted_.missing[k], np.isnan(X[some & (tasks == task)]).mean(axis=0))
    np.testing.assert_array_equal(model.fitted_.has, model.fitted_.missing < 1)


def test_nothing_is_missing_in_complete_rows(blobs):
    X, y, tasks = blobs
    for fitted in (LSSMTC(4, random_state=0).fit(X, tasks=tasks), LabelDescription().fit(X, y, tasks=tasks)):
        assert fitted.fitted_.missing.shape == (3, 6)
        assert not fitted.fitted_.missing.any()
        assert missing_of(fitted.fitted_, NAMES, "xyz") is None
        assert make_report(fitted).summary["missing"] is None
        assert "Missing" not in make_report(fitted).html


def test_the_mosaic_has_groups_of_columns_by_how_many_tasks_have_them(model):
    found = missing_of(model.fitted_, NAMES, model.tasks_.tolist())
    mosaic = found["mosaic"]
    assert (mosaic["all"], mosaic["some"], mosaic["one"]) == (4, 1, 1)
    assert [group["names"] for group in mosaic["groups"]] == [["a", "b", "c", "d"], ["f"], ["e"]]
    assert [group["tasks"] for group in mosaic["groups"]] == [[0, 1, 2], [1, 2], [2]]
    assert [task["features"] for task in found["tasks"]] == [4, 5, 6]
    assert all(task["missing"] < 0.2 for task in found["tasks"])  # of the columns that it has
    told = " ".join(missing_sentences(found, repr)).replace("\u00a0", " ")
    assert "4 columns are in all tasks, 1 column is in some and 1 column is in one only" in told
    assert "% in task 'north'" in told or "% in task 'south'" in told


def test_many_columns_and_groups_are_not_all_listed(model):
    rng = np.random.default_rng(0)
    has = rng.random((8, 300)) < 0.6
    missing = np.where(has, rng.uniform(0, 0.5, has.shape), 1.0)
    found = missing_of(replace(model.fitted_, missing=missing, has=has, sizes=np.ones((8, 2))), range(300), range(8))
    assert len(found["columns"]) == LISTED_COLUMNS
    assert len(found["mosaic"]["groups"]) == GROUPS
    assert found["mosaic"]["groups_left_out"] > 0
    assert json.dumps(found)


def test_the_explanation_tells_what_is_missing(model):
    told = str(explain(model)).replace("\u00a0", " ")
    assert "Tasks have different columns: 4 columns are in all tasks" in told
    assert "2 rows without any value have the label -1." in told


def test_the_report_shows_what_is_missing_and_no_column_that_a_task_lacks(model):
    report = make_report(model, feature_names=NAMES)
    json.dumps(report.summary, allow_nan=False)
    for words in ("Missing values", "Which data set has which columns", "In one data set: 1", "are not drawn"):
        assert words in report.html.replace("\u00a0", " ")
    for cluster in report.summary["features"]["clusters"]:
        north = {feature["name"] for feature in cluster["tasks"][0]["features"]}
        assert north <= {"a", "b", "c", "d"}
    assert sum(task["rows"] for task in report.summary["tasks"]) == 118
    assert all(row["cluster"] >= 0 for cluster in report.summary["features"]["clusters"] for row in cluster["typical"])


def test_a_summary_of_before_has_a_page(model):
    from mtcluster.inspection import Report

    summary = {key: value for key, value in make_report(model).summary.items() if key != "missing"}
    assert "Which task has which columns" not in Report(summary).html


def test_rows_flagged_by_adapt_are_told_and_counted_in_no_cluster(rows):
    X, _, tasks = rows
    known = tasks != "west"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SPMTC(3, random_state=0).fit(X[known][:, :4], tasks=tasks[known])
        new = X[~known][:, :4].copy()
        new[:3] += 60
        new[5] = np.nan
        adapted = model.adapt(new, tasks=tasks[~known])
    assert (adapted.labels_[[0, 1, 2, 5]] == -1).all()
    assert adapted.fitted_.missing.shape == adapted.fitted_.has.shape == (3, 4)
    np.testing.assert_allclose(adapted.fitted_.missing[:2], model.fitted_.missing)
    some = ~np.isnan(new).all(axis=1)
    np.testing.assert_allclose(adapted.fitted_.missing[2], np.isnan(new[some]).mean(axis=0))
    report = make_report(adapted)
    n_known = int((adapted.labels_ >= 0).sum())
    found = {task["name"]: task["rows"] for task in report.summary["tasks"]}
    assert found.pop("west") == n_known
    assert list(found.values()) == model.cluster_sizes_.sum(axis=1).round().tolist()
    told = f"No cluster explains {len(new) - n_known} rows of the new data"
    assert report.summary["sizes"]["sentences"][0].startswith(told)
    assert "2 other tasks of the model are of earlier data" in report.summary["overview"]["sentences"][0]
    drawn = len(new) - 1  # all but the one without any value
    assert f"{drawn} of {len(new)} rows are shown. Others" in report.summary["map"]["note"]
    assert report.summary["map"]["cluster"].count(-1) == drawn - n_known
    assert f"{len(new)} rows of the new data." in str(explain(adapted))
    assert f"of the {len(new)} rows" not in str(explain(adapted))
    named = make_report(adapted, feature_names=["age", "pay", "hours", "trust"])
    assert "Most are missing in columns '" in " ".join(named.summary["decisions"])
    assert "or they have no value" in str(explain(adapted))
    assert len(relations(adapted).rows()) == 9
    assert "are not drawn" in report.summary["map"]["note"]


def test_missing_shares_of_a_task_that_gets_more_rows_are_those_of_all_its_rows(rows):
    X, _, tasks = rows
    full = X[:, :4][~np.isnan(X[:, :4]).all(axis=1)]
    names = tasks[~np.isnan(X[:, :4]).all(axis=1)]
    first = np.arange(len(full)) % 2 == 0
    model = LSSMTC(3, random_state=0).fit(full[first], tasks=names[first])
    more = model.adapt(full[~first], tasks=names[~first], novelty="none", update=True)
    for k, task in enumerate(more.tasks_):
        np.testing.assert_allclose(more.fitted_.missing[k], np.isnan(full[names == task]).mean(axis=0))


# Labels of other clusterers


def test_rows_without_a_cluster_count_in_no_mean(blobs):
    X, y, tasks = blobs
    noise = np.arange(len(X)) % 11 == 0
    found = LabelDescription("DBSCAN").fit(X, np.where(noise, -1, y), tasks=tasks)
    kept = LabelDescription().fit(X[~noise], y[~noise], tasks=tasks[~noise])
    for name in ("centers.Ms", "centers.M", "sizes", "relatedness", "support"):
        one, other = (np.abs(attrgetter(name)(model.fitted_)) for model in (found, kept))
        np.testing.assert_allclose(one, other, atol=1e-8, err_msg=name)
    np.testing.assert_array_equal(found.memberships_[noise], 0)
    np.testing.assert_allclose(found.losses_[~noise], kept.losses_, atol=1e-8)
    nearest = np.min(np.sum((X[:, None] - found.task_centers_[tasks]) ** 2, axis=2), axis=1)
    np.testing.assert_allclose(found.losses_[noise], nearest[noise], atol=1e-8)
    report = make_report(found)
    assert sum(task["rows"] for task in report.summary["tasks"]) == int((~noise).sum())
    assert "<title>" in report.html


def test_a_task_without_any_cluster_is_refused(blobs):
    X, y, tasks = blobs
    with pytest.raises(ValueError, match="y is -1 for all rows of task 1"):
        LabelDescription().fit(X, np.where(tasks == 1, -1, y), tasks=tasks)


def test_labels_of_rows_with_gaps_are_described(rows):
    X, _, tasks = rows
    with pytest.warns(UserWarning, match="2 row"):
        labels = ASI(3, random_state=0).fit(X, tasks=tasks).labels_
    found = LabelDescription("ASI").fit(X, labels, tasks=tasks)
    some = labels >= 0
    for k, task in enumerate(found.tasks_):
        own = X[some & (tasks == task) & (labels == 0)]
        np.testing.assert_allclose(found.task_centers_[k, 0, :4], np.nanmean(own[:, :4], axis=0))
    assert np.isfinite(found.task_centers_).all()
    assert "Which data set has which columns" in make_report(found).html


def test_labels_are_judged_by_what_is_there(rows):
    X, y, tasks = rows
    wrong = np.roll(y, 1)
    assert judge_labels(X, y, tasks=tasks).cost < judge_labels(X, wrong, tasks=tasks).cost
    labels = np.where(np.isnan(X).all(axis=1), -1, y)
    some = labels >= 0
    left = judge_labels(X, labels, tasks=tasks)
    assert left.cost == pytest.approx(judge_labels(X[some], y[some], tasks=tasks[some]).cost)
    with pytest.raises(ValueError, match="all -1"):
        judge_labels(X, np.full(len(X), -1), tasks=tasks)
