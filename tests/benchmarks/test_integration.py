"""`python -m benchmarks integration`: the sets, the methods, the scores and the pages."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.evaluation import command, data, integration, methods, runner
from benchmarks.evaluation.command import main
from benchmarks.evaluation.pages import fill
from benchmarks.evaluation.store import RunFile, Spec, table
from numpy.testing import assert_array_equal

from mtcluster.metrics import clustering_accuracy

SOME = ("KM", "All KM", "Centred KM", "All tied GMM", "SPMTC")
CELLS = ("absent 0 offset 0", "absent 0.6 offset 1")


@pytest.fixture(scope="module")
def finished(tiny_data, tmp_path_factory):
    out = tmp_path_factory.mktemp("integration")
    sets = ["Kang", "PBMC", "outliers", *CELLS]
    options = ["--methods", ",".join(SOME), "--sets", ",".join(sets), "--runs", "1", "--jobs", "1"]
    assert main(["integration", "--data", str(tiny_data), "--out", str(out), *options]) == 0
    return out


def test_everything_that_was_promised_is_there(finished, capsys):
    names = {str(path.relative_to(finished)) for path in finished.rglob("*") if path.is_file()} - {".lock"}
    pages = {"tables.md", "tables.tex", "tables.html", "findings.md"}
    assert names == {"runs.csv", "runs.parquet", *pages, "figures/phase.png", "figures/phase.svg"}
    text = (finished / "tables.md").read_text()
    for part in ("Real sets", "Many features", "Generated sets", "figures/phase.png", "| AUC |", "(not judged)"):
        assert part in text
    found = (finished / "findings.md").read_text()
    assert "Kang: best peer" in found
    assert "of 1 judged cells" in found
    assert main(["integration", "--out", str(finished), "--pages"]) == 0


def test_rows_hold_the_scores_over_all_rows(finished):
    rows = RunFile(finished).read()
    linked = rows.groupby("data_set")["linked"].unique()
    assert linked[CELLS[0]].tolist() == [1]
    assert linked[CELLS[1]].tolist() == [0]
    assert rows["joint_rows"].between(0, 100).all()
    assert (rows["ari"] >= -100).all()
    assert (rows.loc[~rows["method"].isin(methods.OURS), "presence"] == -1).all()
    assert (rows.loc[(rows["data_set"] == "outliers") & (rows["method"] == "SPMTC"), "auc"] >= 0).all()


def test_the_protocol_has_every_method_that_applies_on_every_set():
    found = integration.specs(sets=integration.SETS, methods=integration.METHODS, runs=10)
    assert len(found) == len(set(found))
    assert {spec.study for spec in found} == {"integration"}
    assert {(s.data_set, s.features) for s in found if s.method == methods.LIGER} == {("PBMC", "plain")}
    on_wide = {spec.method for spec in found if (spec.data_set, spec.features) == ("PBMC", "plain")}
    assert "All KM" in on_wide
    assert not on_wide & {"All GMM", "Harmony KM"}
    assert len({spec.data_set for spec in found if spec.data_set in data.PHASE}) == 20
    assert {spec.run for spec in found} == set(range(10))


@pytest.mark.parametrize("method", [name for name in integration.METHODS if not methods.needed(name)])
def test_every_method_labels_rows_of_all_tasks(tiny_data, method):
    for data_set, features in (("Penguins by sex", "plain"), ("PBMC", "pca")):
        view = data.view(str(tiny_data), data_set, features)
        found = methods.run_across(Spec("integration", "honest", features, data_set, method), view)
        assert found.labels.shape == view.y.shape
        assert set(found.labels) <= set(range(view.n_classes))
        alone = method in methods.CLUSTERERS
        assert (found.embedding is None) == alone


def test_harmony_is_followed_by_each_clusterer(tiny_data):
    pytest.importorskip("harmonypy", reason="needs harmonypy")
    view = data.view(str(tiny_data), "Kang", "plain")
    for method in ("Harmony KM", "Harmony GMM", "Harmony tied GMM"):
        found = methods.run_across(Spec("integration", "honest", "plain", "Kang", method), view)
        assert found.embedding.shape == view.X.shape
        assert not np.allclose(found.embedding, view.X)


def test_liger_gives_each_row_its_factors():
    pytest.importorskip("pyliger", reason="needs pyliger")
    rng = np.random.default_rng(0)
    profiles = rng.gamma(0.3, size=(3, 60))
    y, tasks = np.arange(240) % 3, np.arange(240) // 120
    found = methods.factors(rng.poisson(20 * profiles[y]), tasks, 0)
    assert found.shape == (240, 20)
    assert np.isfinite(found).all()


def test_clusters_of_single_tasks_are_matched_whatever_their_numbers():
    view = data.DRAWN["absent 0 offset 1"](0)
    rng = np.random.default_rng(0)
    orders = np.stack([rng.permutation(6) for _ in range(4)])
    shuffled = orders[view.tasks, view.y]
    assert clustering_accuracy(view.y, shuffled) < 0.6
    assert clustering_accuracy(view.y, methods.matched(shuffled, view.X, view.tasks, 6)) == 1


def test_generated_sets_are_drawn_by_seed_and_have_what_their_names_say(tiny_data):
    sizes = {name: np.bincount(make(0).tasks).tolist() for name, make in data.DRAWN.items()}
    assert sizes["unequal tasks"] == [50, 5000]
    assert sizes["small tasks"] == [40] * 30
    assert all(sizes[name] == [150] * 4 for name in data.PHASE)
    assert np.mean(data.DRAWN["outliers"](0).y < 0) == pytest.approx(0.2)
    apart = data.DRAWN["one unrelated task"](0)
    assert set(apart.y[apart.tasks == 3]) == {4, 5, 6, 7}
    assert set(apart.y[apart.tasks != 3]) == {0, 1, 2, 3}
    folder = str(tiny_data)
    first, again, other = (data.view(folder, CELLS[0], "plain", seed=seed) for seed in (0, 0, 1))
    assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    strange = data.view(folder, "outliers", "plain")
    assert strange.strange.any()
    assert strange.n_classes == 6


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        ({0: "ab", 1: "ab"}, True),
        ({0: "ab", 1: "bc"}, False),
        ({0: "abc", 1: "bcd", 2: "cde"}, True),  # in a chain
        ({0: "ab", 1: "ab", 2: "cd"}, False),
    ],
)
def test_tasks_are_linked_by_two_common_classes(holds, expected):
    y, tasks = zip(*[(letter, task) for task, letters in holds.items() for letter in letters], strict=True)
    assert data.linked(np.array(y), np.array(tasks)) is expected


def test_presence_is_compared_after_matching():
    y, tasks = np.array([0, 1, 0, 0, 1, 1]), np.array([1, 1, 2, 2, 3, 3])
    labels = 1 - y  # cluster 1 is class 0
    right = np.array([[1, 1], [0, 1], [1, 0]], dtype=bool)
    assert runner.presence_score(right, y, labels, tasks) == 1
    assert runner.presence_score(np.ones((3, 2), dtype=bool), y, labels, tasks) == pytest.approx(4 / 6)
    one = np.zeros(6, dtype=int)  # everything in one cluster: the other class is found nowhere
    assert runner.presence_score(np.array([[1, 0]] * 3, dtype=bool), y, one, tasks) == pytest.approx(3 / 6)


def test_presence_of_a_method_gets_into_the_rows(tiny_data, monkeypatch):
    view = data.view(str(tiny_data), "Kang", "plain")
    found = methods.Clustering(view.y, presence=np.ones((3, 2), dtype=bool))
    assert runner.scores_of_run(found, view, embedded=False)["presence"] == 100
    assert "presence" not in runner.scores_of_run(replace(found, presence=None), view, embedded=False)


def test_scores_of_scib_metrics_are_left_out_where_it_is_not_installed(tiny_data, monkeypatch):
    view = data.view(str(tiny_data), "Kang", "plain")
    found = methods.Clustering(view.y, embedding=view.X)
    monkeypatch.setattr(runner, "find_spec", lambda name: None)
    assert "batch" not in runner.scores_of_run(found, view, embedded=True)
    monkeypatch.setattr(runner, "find_spec", lambda name: SimpleNamespace())
    monkeypatch.setattr(runner, "integration_scores", lambda *arguments: (70.0, 60.0))
    assert runner.scores_of_run(found, view, embedded=True)["batch"] == 60
    assert "batch" not in runner.scores_of_run(found, view, embedded=False)


def test_without_harmonypy_the_message_says_how_to_install_it(tiny_data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "harmonypy" else SimpleNamespace())
    line = ["integration", "--data", str(tiny_data), "--out", str(tmp_path / "out")]
    assert main([*line, "--methods", "All KM,Harmony KM"]) == 2
    assert "Harmony KM needs harmonypy: pip install 'mtcluster[harmony]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_names_of_groups_stand_for_their_sets(tiny_data, tmp_path):
    line = ["integration", "--data", str(tiny_data), "--out", str(tmp_path), "--runs", "1", "--jobs", "1"]
    assert main([*line, "--methods", "All KM", "--sets", "real sets"]) == 0
    assert set(RunFile(tmp_path).read()["data_set"]) == {*data.DIFFERENT_FILES, "PBMC"}


def phase_row(data_set, method, joint, linked=1):
    spec = Spec("integration", "honest", "plain", data_set, method)
    return spec._asdict() | {"task": 1, "n_tasks": 1, "joint_rows": joint, "linked": linked}


def test_a_method_is_compared_with_the_better_k_means_in_judged_cells_alone():
    values = {  # pooled, centred, ours
        "absent 0 offset 0": (95.0, 94.0, 93.0),
        "absent 0 offset 1": (30.0, 94.0, 80.0),
        "absent 0.4 offset 0.5": (70.0, 75.0, 90.0),
        "absent 0.6 offset 1": (70.0, 60.0, 10.0),
    }
    rows = table(
        phase_row(data_set, method, value, linked="0.6" not in data_set)
        for data_set, own in values.items()
        for method, value in zip(("All KM", "Centred KM", "SPMTC"), own, strict=True)
    )
    found = integration.numbers(rows)
    texts = fill("integration_findings.md", found | {"command": "x"}).splitlines()
    assert (
        "SPMTC: at most 3 points of joint ACC below the better of pooled and centred k-means in 2 of 3 judged cells, "
        "-14.0 at worst (absent 0 offset 1); above both in 1 of the 1 where both are below 80."
    ) in texts
    assert "All KM" not in "".join(texts)
    assert found["cells"].iloc[-1, 0] == "absent 0.6 offset 1 (not judged)"


def test_the_mixture_takes_part():
    assert "MTGM" in integration.METHODS
