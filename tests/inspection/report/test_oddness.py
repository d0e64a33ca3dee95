"""Why an example is an outlier."""

from types import SimpleNamespace

import numpy as np
import pytest

from mtcluster.inspection import make_report
from mtcluster.inspection._report.columns import read_columns
from mtcluster.inspection._report.oddness import TOGETHER, UNUSUAL, unusual

pandas = pytest.importorskip("pandas")


def judged(table, names, row, score=10.0, labels=None, tasks=None):
    n = len(table)
    labels, tasks = (np.zeros(n, dtype=int) if values is None else values for values in (labels, tasks))
    subject = SimpleNamespace(rows=SimpleNamespace(labels=labels, tasks=tasks))
    columns = read_columns(table, names, n, len(names))
    return unusual(subject, columns, [row], np.full(n, score), list(range(len(names))))[row]


def test_numbers_far_from_the_median_of_their_cluster_are_marked():
    values = np.random.default_rng(0).normal(size=100)
    limit = np.median(values) + UNUSUAL * 1.4826 * np.median(np.abs(values - np.median(values)))
    for value, odd in ((0.9 * limit, False), (1.2 * limit, True), (-1.4 * limit, True)):
        table = pandas.DataFrame({"a": np.r_[values, value], "b": np.r_[values, 0.0]})
        found = judged(table, ["a", "b"], 100)
        assert (list(found["odd"]) == ["a"]) == odd
        assert found["note"] == (None if odd else TOGETHER)
        if odd:
            assert found["odd"]["a"] == f"far {'above' if value > 0 else 'below'} the others of its cluster"
    assert judged(table, ["b"], 100, score=1.2)["note"] is None


def test_a_number_is_compared_within_its_task_if_there_are_enough_rows():
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"a": np.r_[rng.normal(size=50), 100 + rng.normal(size=50), 100.0]})
    own = np.r_[np.zeros(50), np.ones(50), 0].astype(int)
    assert list(judged(table, ["a"], 100, tasks=own)["odd"]) == ["a"]
    own[:45] = 1
    assert judged(table, ["a"], 100, tasks=own)["odd"] == {}


def test_rare_categories_are_marked_and_missing_values_are_not():
    table = pandas.DataFrame({"sex": ["m"] * 60 + ["f"], "age": [1.0] * 60 + [np.nan]})
    names = ["sex = f", "sex = m", "age"]
    assert judged(table, names, 60)["odd"] == {"sex": "rare in its cluster"}
    assert judged(table, names, 0)["odd"] == {}
    assert judged(table.iloc[50:].reset_index(drop=True), names, 10)["odd"] == {}


def test_the_outlier_of_a_table_says_which_value_makes_it_so(patients):
    summary = make_report(patients.model, **patients.arguments).summary
    row = next(row for row in summary["examples"]["rows"] if row["row"] == 5)
    assert row["odd"]["pulse"] == "far above the others of its cluster"
    assert row["cells"]["pulse"] == "500"
    assert summary["examples"]["columns"] == ["age", "iron", "pulse", "sex"]
    page = make_report(patients.model, **patients.arguments).html
    assert '<td class="odd" title="far above the others of its cluster"><bdi>500</bdi>' in page


def test_without_rows_nothing_is_called_unusual(blob_model):
    summary = make_report(blob_model).summary["examples"]
    assert not summary["explained"]
    assert all(row["odd"] == {} and row["note"] is None for row in summary["rows"])
    assert "What is unusual" not in make_report(blob_model).html
