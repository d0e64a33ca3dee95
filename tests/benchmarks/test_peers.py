"""`python -m benchmarks peers`: the protocol, the views and the pages."""

import numpy as np
import pytest
from benchmarks.evaluation import data, methods, peers
from benchmarks.evaluation.command import main
from benchmarks.evaluation.store import RunFile
from scipy import sparse

SETS = ["PEOPLEvsPLACES", "Heart", "COMP+ORGS", "blobs, few rows"]


@pytest.fixture(scope="module")
def finished(tiny_data, tmp_path_factory):
    """Two methods and all ablations, on a set of each kind."""
    out = tmp_path_factory.mktemp("peers")
    options = ["--methods", "KM,All KM,SPMTC-s", "--runs", "1", "--jobs", "1"]
    named = ["PEOPLEvsPLACES", "Heart", "COMP+ORGS"]
    command = ["peers", "--data", str(tiny_data), "--out", str(out), "--sets", ",".join(named), *options]
    assert main(command) == 0
    return out


@pytest.mark.slow
def test_everything_that_was_promised_is_there(finished):
    names = {path.name for path in finished.iterdir()} - {".lock"}
    assert names == {"runs.csv", "runs.parquet", "tables.md", "tables.tex", "tables.html", "findings.md"}
    rows = RunFile(finished).read()
    assert set(rows["features"]) == {"svd", "tfidf", "plain"}
    assert set(rows.loc[rows["study"] == "ablation", "method"]) == set(methods.ABLATIONS)
    text = (finished / "tables.md").read_text()
    for part in ("Text, 50 singular vectors", "Not text", "Unrelated tasks", "What each decision contributes"):
        assert part in text
    assert "Best peer on average" in (finished / "findings.md").read_text()


def test_the_protocol_has_every_method_on_every_set_and_no_label():
    found = peers.specs(sets=peers.SETS, methods=peers.METHODS, runs=5)
    main_study = [spec for spec in found if spec.study == "peers"]
    sets = sum(len(group) for _, group in peers.FEATURES_AND_SETS.values())
    assert len(main_study) == len(set(main_study)) == 5 * sets * len(peers.METHODS)
    assert len(found) - len(main_study) == peers.ABLATION_RUNS * sets * len(methods.ABLATIONS)
    assert {spec.protocol for spec in found} == {"honest"}
    assert not any(spec.study == "ablation" for spec in peers.specs(sets=SETS, methods=["KM"], runs=1))


def test_views_have_what_their_names_say(tiny_data):
    folder = str(tiny_data)
    svd = data.view(folder, "RECvsTALK", "svd")
    np.testing.assert_allclose(np.linalg.norm(svd.X, axis=1), 1)
    heart = data.view(folder, "Heart", "plain")
    for task in np.unique(heart.tasks):
        np.testing.assert_allclose(heart.X[heart.tasks == task].mean(axis=0), 0, atol=1e-12)
    pair = data.view(folder, "COMP+ORGS", "raw")
    assert sparse.issparse(pair.X)
    assert pair.X.shape[1] == data.HASHED
    assert set(pair.tasks) == {1, 2}
    single = data.counts(folder, "COMPvsSCI")
    assert pair.X[pair.tasks == 1].sum() == single.X[single.tasks == 1].sum()
    for name in data.GENERATED:
        made = data.view(folder, name, "plain")
        assert len(made.y) == len(made.tasks) == made.X.shape[0]
        assert made.tasks.min() == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", peers.METHODS)
def test_every_method_labels_every_kind_of_view(tiny_data, method):
    for data_set, features in (("RECvsTALK", "svd"), ("RECvsTALK", "tfidf"), ("Heart", "plain")):
        [spec] = [
            s for s in peers.specs(sets=[data_set], methods=[method], runs=1, quick=True) if s.features == features
        ]
        rows = data.view(str(tiny_data), data_set, features)
        labels = methods.run_method(spec, str(tiny_data), rows).labels
        assert labels.shape == rows.y.shape
        assert set(labels) <= set(range(rows.n_classes))


@pytest.mark.slow
def test_distances_are_to_the_best_peer_of_the_column(finished):
    rows = RunFile(finished).read()
    heart = rows[(rows["data_set"] == "Heart") & (rows["study"] == "peers")]
    acc = {(row.method, row.task): row.acc for row in heart.itertuples()}
    tasks = set(heart["task"])
    worst = min(acc["SPMTC-s", t] - max(acc["KM", t], acc["All KM", t]) for t in tasks)
    line = peers.numbers(rows)["groups"]["Not text"]["overview"].set_index("ACC").loc["SPMTC-s"]
    assert line["to best peer"] == f"{worst:+.1f}"
    assert line["mean"].strip("*") == f"{np.mean([acc['SPMTC-s', t] for t in tasks]):.1f}"


def test_an_unknown_set_is_named(tiny_data, tmp_path, capsys):
    assert main(["peers", "--data", str(tiny_data), "--out", str(tmp_path), "--sets", "Hearts"]) == 2
    assert "--sets Hearts: known are COMPvsSCI" in capsys.readouterr().err
