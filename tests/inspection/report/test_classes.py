"""Known classes beside clusters."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from mtcluster.inspection import make_report
from mtcluster.inspection._report import classes as module


def test_counts_by_task_and_the_best_matching(patients):
    given = [None if i % 7 == 0 else f"class {j}" for i, j in enumerate(patients.classes)]
    found = make_report(patients.model, classes=given).summary["classes"]
    labels, tasks = patients.model.labels_, patients.model.fitted_.rows.tasks
    for name, counts in zip(found["names"], found["rows"], strict=True):
        own = np.array([value == name for value in given])
        assert counts == np.bincount(labels[own], minlength=3).tolist()
    for part in found["tasks"]:
        own = np.array([value == found["names"][0] for value in given]) & (tasks == part["task"])
        assert part["rows"][0] == np.bincount(labels[own], minlength=3).tolist()
    assert found["best"] == linear_sum_assignment(-np.array(found["rows"]))[1].tolist()
    known = sum(value is not None for value in given)
    assert f"of the {known} rows whose class is known" in found["sentences"][0]


def test_many_classes_are_counted_together(patients, monkeypatch):
    monkeypatch.setattr(module, "CLASSES", 2)
    given = ["a"] * 100 + ["b"] * 50 + ["c"] * 20 + ["d"] * 10
    found = make_report(patients.model, classes=given).summary["classes"]
    assert found["names"] == ["a", "b", "2 other classes"]
    assert [sum(row) for row in found["rows"]] == [100, 50, 30]
    assert found["best"][2] is None


def test_classes_of_another_number_are_refused_and_unknown_ones_show_nothing(patients):
    with pytest.raises(ValueError, match="classes has 2 entries for 180 rows"):
        make_report(patients.model, classes=["a", "b"])
    assert make_report(patients.model, classes=[None, float("nan")] * 90).summary["classes"] is None
    assert make_report(patients.model).summary["classes"] is None
