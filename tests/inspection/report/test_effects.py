"""Effect sizes against a naive computation."""

import numpy as np
import pytest

from mtcluster.inspection import make_report
from mtcluster.inspection._report.effects import effect_sizes


def naive(values, labels, tasks, j):
    """Difference of means within tasks, relative to the standard deviation within clusters of tasks."""
    differences, weights, residuals, groups = [], [], [], 0
    for k in np.unique(tasks):
        own, rest = values[(tasks == k) & (labels == j)], values[(tasks == k) & (labels != j)]
        if len(own) and len(rest):
            differences.append(own.mean() - rest.mean())
            weights.append(len(own) * len(rest) / (len(own) + len(rest)))
        for i in np.unique(labels[tasks == k]):
            group = values[(tasks == k) & (labels == i)]
            residuals.append(group - group.mean())
            groups += 1
    spread = np.sqrt(np.sum(np.concatenate(residuals) ** 2) / (len(values) - groups))
    return np.average(differences, weights=weights) / spread


def test_effect_sizes_and_shares_are_those_of_the_rows(patients):
    found = make_report(patients.model, **patients.arguments).summary["separation"]
    labels, tasks = patients.model.labels_, patients.model.fitted_.rows.tasks
    assert found["unit"] == "spread"
    rows = {row["name"]: row for row in found["features"]}
    for name in ("age", "iron", "sex = male"):
        values = patients.table[name].to_numpy() if name in patients.table else None
        if values is None:
            given = patients.table["sex"].notna()
            values = np.where(given, patients.table["sex"] == "male", np.nan)
        some = ~np.isnan(values)
        above = values[some] > (np.median(values[some]) if rows[name]["kind"] == "number" else 0)
        for j in range(3):
            expected = naive(values[some], labels[some], tasks[some], j)
            assert rows[name]["effect"][j] == pytest.approx(expected, rel=1e-2)
            assert rows[name]["size"][j] == pytest.approx(above[labels[some] == j].mean(), abs=1e-3)


def test_features_are_ranked_by_the_variance_that_clusters_explain(patients):
    found = make_report(patients.model, **patients.arguments).summary["separation"]["ranked"]
    explained = [row["explained"] for row in found]
    assert explained == sorted(explained, reverse=True)
    assert found[0]["name"] in ("age", "iron")
    assert found[-1]["name"] == "pulse"


def test_where_tasks_lie_does_not_change_effect_sizes():
    rng = np.random.default_rng(0)
    labels, tasks = rng.integers(3, size=90), rng.integers(2, size=90)
    values = rng.normal(size=90) + labels

    def effects(values):
        group = tasks * 3 + labels
        sums = (np.bincount(group, weights=w, minlength=6).reshape(2, 3) for w in (None, values, values**2))
        return effect_sizes(*sums)

    first, second = effects(values), effects(values + 7 * tasks)
    np.testing.assert_allclose(first[0], second[0])
    assert first[1] == pytest.approx(second[1])


def test_clusters_without_spread_or_rows_have_finite_effects_or_none():
    n, s = np.array([[2.0, 2.0, 0.0]]), np.array([[0.0, 2.0, 0.0]])
    effect, explained = effect_sizes(n, s, s)
    assert np.isfinite(effect[:2]).all()
    assert effect[1] > 0
    assert np.isnan(effect[2])
    assert explained == 1
    effect, explained = effect_sizes(n[:, :1], s[:, :1], s[:, :1])
    assert np.isnan(effect).all()


def test_a_cluster_that_fills_its_tasks_is_compared_with_the_others():
    n, s, q = (np.array(values, dtype=float) for values in ([[2, 0], [0, 2]], [[0, 0], [0, 8]], [[2, 0], [0, 34]]))
    effect, _ = effect_sizes(n, s, q)
    np.testing.assert_allclose(effect, [-4 / np.sqrt(2), 4 / np.sqrt(2)])


def test_without_rows_effects_are_those_of_the_centres(blob_model):
    found = make_report(blob_model).summary["separation"]
    assert found["unit"] == "spread"
    assert not found["from_rows"]
    assert all(row["size"] is None for row in found["features"])
    features = make_report(blob_model).summary["features"]["clusters"][0]["shared"]
    effects = {row["name"]: row["effect"][0] for row in found["features"]}
    for feature in features:
        assert effects[feature["name"]] == pytest.approx(feature["difference"], rel=1e-2)


def test_the_matrix_of_many_features_and_clusters_is_limited(large_model):
    found = make_report(large_model, settings={}).summary["separation"]
    assert found["unit"] == "fit"
    assert len(found["features"]) <= 12 + 2 * 10
    assert len(found["ranked"]) == 30
    assert all(row["explained"] is None for row in found["ranked"])
