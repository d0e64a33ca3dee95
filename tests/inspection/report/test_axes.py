"""Features and principal axes on the map."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from mtcluster.inspection import make_report
from mtcluster.inspection._report import axes


def values_of(axis):
    codes = np.array([np.nan if code is None else code for code in axis["at"]])
    return axis["low"] + (axis["high"] - axis["low"]) * codes / axis["steps"]


def test_features_are_on_the_map_in_the_units_of_the_user(patients):
    shown = make_report(patients.model, **patients.arguments).summary["map"]["axes"]
    by_name = {axis["name"]: axis for axis in shown}
    for name in ("age", "iron", "pulse"):
        expected = patients.table[name].to_numpy()
        np.testing.assert_allclose(values_of(by_name[name]), expected, atol=np.nanmax(np.abs(expected)) / 900)
    assert by_name["age"]["at"][4] is None
    assert by_name["sex"]["levels"] == ["female", "male"]
    expected = [None if value is None else ["female", "male"].index(value) for value in patients.table["sex"]]
    assert by_name["sex"]["at"] == expected
    assert "note" not in by_name


def test_principal_axes_are_those_of_the_standardised_numbers(blob_rows, blob_model):
    X, _ = blob_rows
    shown = make_report(blob_model, X=X).summary["map"]["axes"]
    found = np.column_stack([values_of(axis) for axis in shown if axis.get("kind") == "principal"])
    expected = PCA(3).fit_transform(StandardScaler().fit_transform(X))
    for i in range(3):
        assert abs(np.corrcoef(found[:, i], expected[:, i])[0, 1]) == pytest.approx(1, abs=1e-4)


def test_the_map_of_many_rows_has_fewer_features(large_model, monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 30))
    report = make_report(large_model, X=X, settings={}, ids=["identifier" * 20] * 20_000)
    shown = [axis for axis in report.summary["map"]["axes"] if axis.get("kind") == "number"]
    assert 0 < len(shown) <= axes.MOST_CODES // 20_000
    assert len(report.html.encode()) < 5_000_000


def test_a_constant_feature_has_an_axis(blob_rows, blob_model):
    X = blob_rows[0].copy()
    X[:, 2] = 7.0
    shown = make_report(blob_model, X=X).summary["map"]["axes"]
    axis = next(axis for axis in shown if axis["name"] == "feature 2")
    assert set(axis["at"]) == {0}
    assert axis["low"] == 7
