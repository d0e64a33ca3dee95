"""Files read piece by piece give what the same files in memory give, and only samples and sums come together."""

import argparse
import dataclasses
import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from mtcluster.cli import modelling
from mtcluster.cli.large import passes, pieces, place, preparing
from mtcluster.cli.large.table import opened
from mtcluster.cli.readers import ColumnRoles
from mtcluster.cli.readers.delimited import read_delimited
from mtcluster.core import projecting
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection._words import whole
from mtcluster.interop import load
from mtcluster.preprocessing import TablePreprocessor
from mtcluster.preprocessing._statistics import complete, statistics_of
from mtcluster.preprocessing._written import COMMAS, reading_of

pytestmark = pytest.mark.dask

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'mtcluster[dask]'")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'mtcluster[files]'")

FIT = ("--task", "country", "--clusters", 3, "--refits", 0)


@pytest.fixture
def table():
    """Three countries in any order: numbers on several scales, a category, names."""
    X, _, tasks = make_multitask_blobs([900, 700, 500], 4, n_tasks=3, n_clusters=3, separation=12, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    frame = pd.DataFrame(X[order] * [1, 10, 100, 1] + [5, 0, 0, 0], columns=["age", "income", "hours", "trust"])
    frame["sex"] = np.where(np.arange(len(X)) % 2, "f", "m")
    frame.insert(0, "person", [f"p{i}" for i in range(len(X))])
    return frame.assign(country=np.array(["fr", "de", "it"])[tasks[order]])


@pytest.fixture
def parts(tmp_path, table, monkeypatch):
    """The table in three Parquet files, of which each is read in several pieces."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**14)
    for i, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(tmp_path / f"part{i}.parquet", index=False, row_group_size=200)
    return sorted(tmp_path.glob("part*.parquet"))


def labels_in(folder):
    files = sorted((folder / "labels").glob("part-*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


def rewrite(path, change):
    change(pd.read_parquet(path)).to_parquet(path, index=False, row_group_size=200)


def test_labels_agree_with_those_of_a_fit_in_memory(run, parts, table, tmp_path):
    code, _, err = run("fit", *parts, *FIT, "--id", "person", "--out-of-core", "--out", "large")
    assert code == 0, err
    assert run("fit", *parts, *FIT, "--id", "person", "--out", "here")[0] == 0
    large, here = labels_in(tmp_path / "large"), pd.read_csv(tmp_path / "here" / "labels.csv")
    assert large["id"].tolist() == table["person"].tolist() == here["id"].tolist()
    assert large["task"].tolist() == table["country"].tolist()
    assert adjusted_rand_score(large["cluster"], here["cluster"]) >= 0.99
    assert np.sort(np.bincount(large["cluster"])).tolist() == np.sort(np.bincount(here["cluster"])).tolist()
    own = here[[f"probability_{j}" for j in range(3)]].max(axis=1)
    np.testing.assert_allclose(large["probability"], own, atol=1e-3)
    np.testing.assert_allclose(large["outlier_score"], here["outlier_score"], rtol=0.05)


def test_the_folder_is_complete_and_says_how_many_rows_there_are(run, parts, table, tmp_path):
    code, out, err = run(
        "fit", *parts, *FIT, "--id", "person", "--refits", 4, "--out-of-core", "--out", "large", "--json"
    )
    assert code == 0, err
    names = {"labels", "centers.csv", "relations.csv", "model.skops", "report.html", "settings.json"}
    assert {path.name for path in (tmp_path / "large").iterdir()} == names
    result = json.loads(out)
    counts = labels_in(tmp_path / "large").groupby(["task", "cluster"], observed=True).size().unstack().to_numpy()
    assert np.array(list(result["sizes"].values())).tolist() == counts.tolist()
    assert result["n_rows"] == len(table)
    assert result["verdict"] == "clear"
    settings = json.loads((tmp_path / "large" / "settings.json").read_text())
    assert [file["rows"] for file in settings["files"]] == [700, 700, 700]
    assert all(len(file["sha256"]) == 64 for file in settings["files"])


@pytest.mark.parametrize("method", ["asi", "lssmtc", "mixture"])
def test_other_methods_and_known_classes(run, parts, tmp_path, method, monkeypatch):
    monkeypatch.setattr(projecting, "MAP", projecting.Sampling(300, 50))
    for path in parts:
        rewrite(path, lambda f: f.assign(known=np.where(f["age"] > 5, "old", "young")))
    options = ("--drop", "person", "--label", "known", "--method", method, "--out-of-core")
    code, out, err = run("fit", *parts, *FIT, *options, "--out", "large", "--json")
    assert code == 0, err
    result, found = json.loads(out), labels_in(tmp_path / "large")
    counts = pd.crosstab(found["task"], found["cluster"]).reindex(columns=range(3), fill_value=0)
    assert list(result["sizes"].values()) == counts.to_numpy().tolist()
    assert [line for line in result["lines"] if "Known classes" in line and "sample of 300 rows" in line]


def test_a_folder_of_results_is_replaced_with_force_only(run, parts, tmp_path):
    assert run("fit", *parts, *FIT, "--out-of-core", "--out", "large")[0] == 0
    code, _, err = run("fit", *parts, *FIT, "--out-of-core", "--out", "large")
    assert (code, "--force" in err) == (2, True)
    assert run("fit", *parts, *FIT, "--out-of-core", "--out", "large", "--force")[0] == 0


@pytest.mark.slow
def test_a_cluster_of_workers_reads_and_writes(run, parts, tmp_path):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        code, _, err = run("fit", *parts, *FIT, "--scheduler", cluster.scheduler_address, "--out", "there")
        assert code == 0, err
        rewrite(parts[2], lambda frame: frame.assign(age=["x", *frame["age"][1:].astype(str)]))
        code, _, err = run("fit", *parts, *FIT, "--scheduler", cluster.scheduler_address, "--out", "other")
    assert (code, "part2.parquet" in err, "'age'" in err) == (2, True, True)
    assert not (tmp_path / "other").exists()
    rewrite(parts[2], lambda frame: frame.assign(age=5.0))
    assert run("fit", *parts[:2], *FIT, "--out-of-core", "--out", "here")[0] == 0
    here, there = labels_in(tmp_path / "here"), labels_in(tmp_path / "there")
    assert there["id"].tolist() == list(range(1, 2101))
    assert adjusted_rand_score(here["cluster"], there["cluster"][: len(here)]) >= 0.99


def test_csv_files_are_read_in_ranges_of_bytes(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**14)
    for i, part in enumerate(np.array_split(np.arange(len(table)), 2)):
        table.iloc[part].to_csv(tmp_path / f"part{i}.csv", index=False)
    code, _, err = run("fit", "part0.csv", "part1.csv", *FIT, "--id", "person", "--out-of-core", "--out", "large")
    assert code == 0, err
    found = labels_in(tmp_path / "large")
    assert len(list((tmp_path / "large" / "labels").iterdir())) > 4
    assert found["id"].tolist() == table["person"].tolist()


def test_csv_files_of_excel_are_read_as_in_memory(table, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**14)
    table.loc[3, ["age", "country"]] = np.nan
    table.loc[4, "country"] = "NA"
    path = tmp_path / "a.csv"
    table.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig", lineterminator="\r\n")
    assert pieces.columns_in(path, None) == list(table.columns)
    columns, kept = ["country", "age", "income"], ["country"]
    found = pd.concat([pieces.read_piece(piece, columns, kept, None) for piece in pieces.cut(path, columns)])
    pd.testing.assert_frame_equal(found.reset_index(drop=True), read_delimited(path, kept)[columns])
    assert reading_of(found["age"]).ways == (COMMAS,)


def test_files_without_a_column_of_tasks_are_tasks(run, table, tmp_path):
    for name, part in table.groupby("country"):
        part.drop(columns=["country", "person"]).to_parquet(tmp_path / f"{name}.parquet", index=False)
    files = ["de.parquet", "fr.parquet", "it.parquet"]
    code, _, err = run("fit", *files, "--clusters", 3, "--refits", 0, "--out-of-core", "--out", "large")
    assert code == 0, err
    assert labels_in(tmp_path / "large")["task"].value_counts().to_dict() == table["country"].value_counts().to_dict()


def test_columns_in_another_order_are_matched_by_name(run, parts, tmp_path):
    assert run("fit", *parts, *FIT, "--out-of-core", "--out", "before")[0] == 0
    rewrite(parts[1], lambda frame: frame[frame.columns[::-1]])
    assert run("fit", *parts, *FIT, "--out-of-core", "--out", "after")[0] == 0
    before, after = labels_in(tmp_path / "before"), labels_in(tmp_path / "after")
    pd.testing.assert_frame_equal(before, after)


LATE = {
    "a column that is missing": (lambda frame: frame.drop(columns="income"), ["part2.parquet", "'income'", "--drop"]),
    "a text among numbers": (
        lambda frame: frame.assign(income=[*frame["income"][:-3].astype(str), "much", "1", "2"]),
        ["part2.parquet", "'income'", "'much'", "row 698"],
    ),
    "infinity": (lambda frame: frame.assign(age=[np.inf, *frame["age"][1:]]), ["part2.parquet", "'age'", "row 1"]),
    "a row without a task": (
        lambda frame: frame.assign(country=[*frame["country"][:-1], None]),
        ["part2.parquet", "row 700", "country", "--drop-unnamed"],
    ),
    "too many categories": (
        lambda frame: frame.assign(sex=[f"x{i % 90}" for i in range(len(frame))]),
        ["'sex'", "different texts"],
    ),
}


@pytest.mark.parametrize("change", LATE)
def test_what_is_wrong_in_a_late_part_is_named(run, parts, tmp_path, change, monkeypatch):
    monkeypatch.setattr(passes, "SAMPLE", 60)  # so that the sample does not see it
    spoil, words = LATE[change]
    rewrite(parts[2], spoil)
    code, _, err = run("fit", *parts, *FIT, "--drop", "person", "--out-of-core", "--out", "large", "--quiet")
    assert code == 2, err
    assert [word for word in words if word not in err] == []
    assert len(err.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in parts]


def test_rows_without_a_task_small_tasks_and_spellings(run, parts, tmp_path):
    rewrite(parts[2], lambda f: f.assign(country=[None, "lonely", "FR ", *f["country"][3:]]))
    options = ("--drop", "person", "--drop-unnamed", "--min-rows", 5, "--out-of-core")
    code, out, err = run("fit", *parts, *FIT, *options, "--out", "large", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert list(result["sizes"]) == ["de", "fr", "it"]
    assert result["n_rows"] == 2098
    assert {one["kind"] for one in result["check"]} >= {"unnamed", "spelling", "small"}
    assert not {1401, 1402} & set(labels_in(tmp_path / "large")["id"])
    assert 1403 in set(labels_in(tmp_path / "large")["id"])


def test_missing_values_are_counted_in_all_rows(run, parts, monkeypatch):
    monkeypatch.setattr(passes, "SAMPLE", 400)
    for path in parts:
        rewrite(path, lambda f: f.assign(income=f["income"].where(np.arange(len(f)) % 7 > 0)))
    for options in ([], ["--impute", "median"]):
        code, out, err = run("fit", *parts, *FIT, "--drop", "person", *options, "--out-of-core", "--out", "large",
                             "--json", "--force")  # fmt: skip
        assert code == 0, err
        [missing] = [one["found"] for one in json.loads(out)["check"] if one["kind"] == "missing"]
        assert missing == "300 missing values in 1 column: income (300)."
    assert any("medians of this sample" in line for line in json.loads(out)["lines"])


def test_a_column_that_varies_outside_the_sample_is_used(run, parts, tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "SAMPLE", 60)
    for path in parts:
        rewrite(path, lambda f: f.assign(flag=1.0))
    rewrite(parts[2], lambda f: f.assign(flag=[*f["flag"][:-1], 2.0]))
    assert run("fit", *parts, *FIT, "--drop", "person", "--out-of-core", "--out", "large")[0] == 0
    assert "flag" in load(tmp_path / "large" / "model.skops")["columns"]


REFUSED = {
    "--drop-duplicates": ["--drop-duplicates"],
    "--text": ["--text", "sex"],
    "--tfidf": ["--tfidf"],
    "--anonymous": ["--anonymous"],
    "kmeans": ["--method", "kmeans"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_all_rows_is_refused_by_name(run, parts, tmp_path, name):
    code, _, err = run("fit", *parts, *FIT, *REFUSED[name], "--out-of-core", "--out", "large")
    assert (code, name in err) == (2, True)
    assert not (tmp_path / "large").exists()


def test_files_of_other_kinds_and_damaged_files_are_refused(run, parts, tmp_path, table):
    table.head().to_feather(tmp_path / "a.feather")
    table.head().to_csv(tmp_path / "a.csv.gz", index=False)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 no")
    for file, word in (("a.feather", "Parquet"), ("a.csv.gz", "unpack"), ("damaged.parquet", "damaged.parquet")):
        code, _, err = run("fit", file, *FIT, "--out-of-core", "--out", "large")
        assert (code, word in err) == (2, True), err


def test_a_scheduler_that_does_not_answer_is_named(run, parts, tmp_path):
    code, _, err = run("fit", *parts, *FIT, "--scheduler", "tcp://127.0.0.1:9", "--out", "large")
    assert (code, "127.0.0.1:9" in err) == (2, True)
    assert not (tmp_path / "large").exists()


def test_folders_that_workers_do_not_see_are_explained(tmp_path):
    with pytest.raises(place.InputError, match="file system"), place._explained(tmp_path, "tcp://here"):
        raise FileNotFoundError(2, "no", str(tmp_path / "a"))


def test_single_values_of_a_sample_alone_come_together(run, parts, table, monkeypatch):
    monkeypatch.setattr(passes, "SAMPLE", 300)
    from mtcluster.engines import dask as engine

    monkeypatch.setattr(projecting, "MAP", projecting.Sampling(300, 50))
    monkeypatch.setattr(engine.DaskEngine, "few", 0)
    largest = []

    def entries(value):
        if isinstance(value, np.ndarray):
            return len(value) if value.ndim else 1
        if isinstance(value, pd.DataFrame):
            return len(value)
        if isinstance(value, list | tuple):
            return max([len(value), *map(entries, value)])
        if dataclasses.is_dataclass(value):
            return max((entries(getattr(value, field.name)) for field in dataclasses.fields(value)), default=0)
        return 0

    ran = engine.run

    def watched(how, *collections):
        found = ran(how, *collections)
        if how is dask.compute:
            largest.append(max(map(entries, found)))
        return found

    monkeypatch.setattr(engine, "run", watched)
    collected = []
    compute = dask.array.Array.compute
    monkeypatch.setattr(dask.array.Array, "compute", lambda self, **how: collected.append(self) or compute(self, **how))
    code, _, err = run("fit", *parts, *FIT, "--drop", "person", "--refits", 2, "--out-of-core", "--out", "large")
    assert code == 0, err
    assert len(largest) > 20
    assert max(largest) <= 2048 < len(table)  # bins of a histogram
    assert collected == []


def test_report_and_predict_work_on_the_folder(run, parts, table, tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "SAMPLE", 300)
    monkeypatch.setattr(projecting, "MAP", projecting.Sampling(300, 50))
    assert run("fit", *parts, *FIT, "--id", "person", "--out-of-core", "--out", "large")[0] == 0
    found = labels_in(tmp_path / "large")
    page = (tmp_path / "large" / "report.html").read_text()
    assert "random sample of 300 rows" in page
    assert f"300 of {whole(2100)} rows are shown" in page
    assert len(load(tmp_path / "large" / "model.skops")["model"].labels_) == 300
    assert run("report", "large", "--out", "again.html")[0] == 0
    code, _, err = run("predict", "large", parts[1], "--out", "new.csv")
    assert code == 0, err
    new = pd.read_csv(tmp_path / "new.csv")
    assert new["cluster"].tolist() == found["cluster"][700:1400].tolist()
    np.testing.assert_allclose(new["outlier_score"], found["outlier_score"][700:1400], rtol=1e-4)


def test_an_interrupted_fit_leaves_nothing(parts, tmp_path):
    command = [
        sys.executable,
        "-m",
        "mtcluster",
        "fit",
        *map(str, parts),
        *map(str, FIT),
        "--out-of-core",
        "--out",
        "run",
    ]

    def heed_signals():  # tests that run in the background may have been told to ignore them
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    options = {"cwd": tmp_path, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heed_signals}
    with subprocess.Popen(command, **options) as process:
        for line in process.stderr:
            if "preparing all rows" in line:
                break
        process.send_signal(signal.SIGINT)
        assert "stopped" in process.stderr.read()
        assert process.wait() == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in parts]


@pytest.mark.parametrize("scale", ["standard", "within"])
def test_statistics_of_parts_make_the_preprocessor_of_all_rows(table, scale):
    table["income"] = table["income"].where(np.arange(len(table)) % 5 > 0)
    X, tasks = table.drop(columns=["country", "person"]), table["country"].to_numpy(dtype=str)
    names = sorted(set(tasks))
    ours, whole = TablePreprocessor(scale).fit(X[:300], tasks=tasks[:300]), TablePreprocessor(scale).fit(X, tasks=tasks)
    cuts = [slice(0, 3), slice(3, 3), slice(3, 900), slice(900, len(X))]
    found = [statistics_of(ours, X[at], np.searchsorted(names, tasks[at]), 3) for at in cuts]
    complete(ours, X[:300], names, sum(found[1:], found[0]))
    np.testing.assert_allclose(ours.transform(X, tasks=tasks), whole.transform(X, tasks=tasks), atol=1e-10)
    assert ours.n_missing_ == whole.n_missing_


@pytest.mark.parametrize("group", [100, 10_000])
def test_pieces_hold_all_rows_in_order_however_large_row_groups_are(table, tmp_path, monkeypatch, group):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**13)
    path = tmp_path / "a.parquet"
    table.to_parquet(path, index=False, row_group_size=group)
    found = pieces.cut(path, list(table.columns))
    assert len(found) > 3
    assert max(piece.n_rows for piece in found) * 8 * table.shape[1] <= 2**13
    frames = [pieces.read_piece(piece, ["person"], [], None) for piece in found]
    assert pd.concat(frames)["person"].tolist() == table["person"].tolist()
    assert bool(pieces.large_groups(found)) == (group == 10_000)


def test_without_room_on_disk_files_are_read_in_every_pass(parts, monkeypatch, tmp_path):
    table, _ = preparing.named(opened(parts, ColumnRoles(task="country", drop=("person", "sex"))), preparing.Checking())
    rows = passes.sampled(table, passes.draw(table, 0))
    preprocessor = TablePreprocessor().fit(rows.X)
    stored = preparing.arrays_of(table, preprocessor, 4, np.dtype(np.float64), tmp_path)
    monkeypatch.setattr(preparing.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 0}))
    read = preparing.arrays_of(table, preprocessor, 4, np.dtype(np.float64), tmp_path)
    assert "no room" in read[2][0]
    np.testing.assert_array_equal(stored[0].compute(), read[0].compute())
    assert stored[1].compute().tolist() == read[1].compute().tolist()


@pytest.fixture
def fitted(run, parts):
    """The folder of a fit to two of the files."""
    code, _, err = run("fit", *parts[:2], *FIT, "--id", "person", "--out-of-core", "--out", "model")
    assert code == 0, err
    return "model"


def test_predict_labels_files_piece_by_piece(run, parts, fitted, tmp_path):
    rewrite(parts[2], lambda f: f.assign(country=["FR ", "peru", *f["country"][2:]], sex=["x", *f["sex"][1:]]))
    code, out, err = run("predict", fitted, *parts, "--out", "large", "--out-of-core", "--json")
    assert code == 0, err
    assert run("predict", fitted, *parts, "--out", "here.csv")[0] == 0
    (tmp_path / "labels").symlink_to(tmp_path / "large")
    large, here = labels_in(tmp_path), pd.read_csv(tmp_path / "here.csv")
    for name in ("id", "task", "cluster"):
        assert large[name].tolist() == here[name].tolist(), name
    np.testing.assert_allclose(large["outlier_score"], here["outlier_score"], rtol=1e-4)
    result = json.loads(out)
    assert result["n_rows"] == 2100 == sum(result["sizes"].values())
    assert [word for word in ("'x' (1 row)", "'FR ' as 'fr'", "peru") if word not in " ".join(result["notes"])] == []


def test_predict_replaces_parts_of_labels_alone_and_with_force_only(run, parts, fitted, tmp_path):
    ask = ("predict", fitted, parts[0], "--out", "large", "--out-of-core")
    assert run(*ask)[0] == 0
    assert run(*ask)[0] == 2
    assert run(*ask, "--force")[0] == 0
    (tmp_path / "large" / "thesis.tex").write_text("ten years of work")
    code, _, err = run(*ask, "--force")
    assert (code, "thesis.tex" in err) == (2, True)


def test_predict_takes_a_file_without_tasks_as_one(run, parts, fitted, table, tmp_path):
    table[table["country"] == "fr"].drop(columns="country").to_parquet(tmp_path / "peru.parquet", index=False)
    code, out, err = run("predict", fitted, "peru.parquet", "--out", "labels", "--out-of-core", "--json")
    assert code == 0, err
    assert set(labels_in(tmp_path)["task"]) == {"peru"}
    assert json.loads(out)["n_rows"] == int((table["country"] == "fr").sum())


def test_predict_names_a_column_that_a_late_file_lacks(run, parts, fitted, tmp_path):
    rewrite(parts[2], lambda f: f.drop(columns="hours"))
    code, _, err = run("predict", fitted, *parts, "--out", "labels", "--out-of-core", "--quiet")
    assert (code, "part2.parquet" in err, "'hours'" in err) == (2, True, True)
    assert not (tmp_path / "labels").exists()


def test_tasks_join_the_model_of_a_sample(run, parts, table, tmp_path, monkeypatch):
    monkeypatch.setattr(projecting, "MAP", projecting.Sampling(300, 50))
    assert run("fit", *parts, *FIT, "--drop", "person", "--out-of-core", "--out", "model")[0] == 0
    assert load(tmp_path / "model" / "model.skops")["model"].fitted_.rows.n_all == 2100
    table[table["country"] == "fr"].assign(country="peru").to_parquet(tmp_path / "peru.parquet", index=False)
    code, out, err = run("adapt", "model", "peru.parquet", "--novelty", "none", "--out", "adapted", "--json")
    assert code == 0, err
    assert json.loads(out)["n_rows"] == len(pd.read_csv(tmp_path / "adapted" / "labels.csv"))
    assert sum(map(sum, json.loads(out)["sizes"].values())) == 2100 + json.loads(out)["n_rows"]
    assert load(tmp_path / "adapted" / "model.skops")["model"].fitted_.rows.n_all is None


def test_certificates_come_together(run, parts, tmp_path):
    (tmp_path / "ca.pem").write_text("none")
    arguments = (
        "fit",
        *parts,
        "--task",
        "country",
        "--scheduler",
        "tls://127.0.0.1:1",
        "--tls-ca",
        "ca.pem",
        "--out",
        "run",
    )
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "--tls-ca, --tls-cert and --tls-key each need a file" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes certificates, is not installed")
def test_a_scheduler_that_wants_certificates(run, parts, tmp_path):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    subprocess.run([*command, "-out", "cert.pem", "-keyout", "key.pem"], cwd=tmp_path, check=True, capture_output=True)
    security = distributed.Security(
        require_encryption=True,
        tls_ca_file=str(tmp_path / "cert.pem"),
        **{f"tls_{role}_{kind}": str(tmp_path / f"{kind}.pem") for role in ("scheduler", "worker", "client")
           for kind in ("cert", "key")},
    )  # fmt: skip
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", protocol="tls://",
        security=security,
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address
        code, _, err = run("fit", *parts, *FIT, "--scheduler", address, "--out", "without")
        assert (code, "Traceback" in err) == (2, False)
        options = ("--tls-ca", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
        code, _, err = run("fit", *parts, *FIT, "--scheduler", address, *options, "--out", "there")
    assert code == 0, err
    assert address.startswith("tls://")
    assert not (tmp_path / "without").exists()
    assert len(labels_in(tmp_path / "there")) == 2100


def test_a_piece_whose_reading_fails_once_is_read_again(parts, monkeypatch):
    [piece, *_] = pieces.cut(parts[0], ["person"])
    plain, reads = pieces._read_parquet, []

    def failing(*arguments):
        reads.append(1)
        if len(reads) <= 2:
            raise OSError("the line is down")
        return plain(*arguments)

    monkeypatch.setattr(pieces, "_read_parquet", failing)
    assert len(pieces.read_piece(piece, ["person"], [], None)) == piece.n_rows
    assert len(reads) == 3
    reads.clear()
    monkeypatch.setattr(pieces, "ATTEMPTS", 2)
    with pytest.raises(pieces.InputError, match="cannot be read: the line is down"):
        pieces.read_piece(piece, ["person"], [], None)


def test_a_cluster_that_is_lost_is_told_with_its_address():
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with dask.config.set(scheduler=None), distributed.LocalCluster(**options) as cluster:
        arguments = argparse.Namespace(scheduler=cluster.scheduler_address)
        lost = pytest.raises(place.InputError, match=r"^--scheduler .*: the Dask cluster is gone")
        with lost, modelling.connected(arguments):
            raise ConnectionResetError("x")
