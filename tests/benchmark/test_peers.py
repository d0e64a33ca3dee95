"""`mtcluster benchmark peers`: the protocol, the views and the pages."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from mtcluster.benchmark import methods, peer_report, peers, views
from mtcluster.benchmark.pages import Grid, Text
from mtcluster.benchmark.runs import RunFile
from mtcluster.cli.main import main

SETS = ["PEOPLEvsPLACES", "Heart", "COMP+ORGS", "blobs, few rows"]


@pytest.fixture(scope="module")
def finished(tiny_data, tmp_path_factory):
    """Two methods and all ablations, on a set of each kind."""
    out = tmp_path_factory.mktemp("peers")
    options = ["--methods", "KM,All KM,SPMTC-s", "--runs", "1", "--jobs", "1"]
    named = ["PEOPLEvsPLACES", "Heart", "COMP+ORGS"]
    command = ["benchmark", "peers", "--data", str(tiny_data), "--out", str(out), "--sets", ",".join(named), *options]
    assert main(command) == 0
    return out


@pytest.mark.slow
def test_everything_that_was_promised_is_there(finished):
    names = {path.name for path in finished.iterdir()} - {".lock"}
    assert names == {"runs.csv", "runs.parquet", "tables.md", "tables.tex", "tables.html", "findings.md"}
    rows = RunFile(finished).read()
    assert {row.features for row in rows} == {"svd", "tfidf", "plain"}
    assert {row.method for row in rows if row.study == "ablation"} == set(methods.ABLATIONS)
    text = (finished / "tables.md").read_text()
    for part in ("Text, 50 singular vectors", "Not text", "Unrelated tasks", "What each decision contributes"):
        assert part in text
    assert "Best peer on average" in (finished / "findings.md").read_text()


def test_the_protocol_has_every_method_on_every_set_and_no_label():
    found = peers.specs(sets=peers.SETS, methods=peers.METHODS, runs=5)
    main_study = [spec for spec in found if spec.study == "peers"]
    sets = sum(len(group) for _, group in peers.GROUPS.values())
    assert len(main_study) == len(set(main_study)) == 5 * sets * len(peers.METHODS)
    assert len(found) - len(main_study) == peers.ABLATION_RUNS * sets * len(methods.ABLATIONS)
    assert {spec.protocol for spec in found} == {"honest"}
    assert not any(spec.study == "ablation" for spec in peers.specs(sets=SETS, methods=["KM"], runs=1))


def test_views_have_what_their_names_say(tiny_data):
    folder = str(tiny_data)
    svd = views.view(folder, "RECvsTALK", "svd")
    np.testing.assert_allclose(np.linalg.norm(svd.X, axis=1), 1)
    heart = views.view(folder, "Heart", "plain")
    for task in np.unique(heart.tasks):
        np.testing.assert_allclose(heart.X[heart.tasks == task].mean(axis=0), 0, atol=1e-12)
    pair = views.view(folder, "COMP+ORGS", "raw")
    assert sparse.issparse(pair.X)
    assert pair.X.shape[1] == views.HASHED
    assert set(pair.tasks) == {1, 2}
    single = views.counts(folder, "COMPvsSCI")
    assert pair.X[pair.tasks == 1].sum() == single.X[single.tasks == 1].sum()
    for name in views.GENERATED:
        made = views.view(folder, name, "plain")
        assert len(made.y) == len(made.tasks) == made.X.shape[0]
        assert made.tasks.min() == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", peers.METHODS)
def test_every_method_labels_every_kind_of_view(tiny_data, method):
    for data_set, features in (("RECvsTALK", "svd"), ("RECvsTALK", "tfidf"), ("Heart", "plain")):
        [spec] = [
            s for s in peers.specs(sets=[data_set], methods=[method], runs=1, quick=True) if s.features == features
        ]
        view = views.view(str(tiny_data), data_set, features)
        labels = methods.run_method(spec, str(tiny_data), view).labels
        assert labels.shape == view.y.shape
        assert set(labels) <= set(range(view.n_classes))


@pytest.mark.slow
def test_distances_are_to_the_best_peer_of_the_column(finished):
    rows = RunFile(finished).read()
    heart = [r for r in rows if r.data_set == "Heart" and r.study == "peers"]
    acc = {(r.method, r.task): r.acc for r in heart}
    tasks = {r.task for r in heart}
    worst = min(acc["SPMTC-s", t] - max(acc["KM", t], acc["All KM", t]) for t in tasks)
    parts = peer_report.tables(rows, "x")
    grids = [
        part
        for before, part in pairwise(parts)
        if isinstance(part, Grid) and isinstance(before, Text) and before.text == "Not text"
    ]
    line = next(row for row in grids[0].rows if row[0] == "SPMTC-s")
    assert line[grids[0].header.index("to best peer")] == f"{worst:+.1f}"
    assert line[grids[0].header.index("mean")] == f"{np.mean([acc['SPMTC-s', t] for t in tasks]):.1f}"


def test_an_unknown_set_is_named(tiny_data, tmp_path, capsys):
    assert main(["benchmark", "peers", "--data", str(tiny_data), "--out", str(tmp_path), "--sets", "Hearts"]) == 2
    assert "--sets Hearts: known are COMPvsSCI" in capsys.readouterr().err
