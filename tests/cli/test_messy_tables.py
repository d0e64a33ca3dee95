"""Tables as people write them go through all commands: right numbers, and the same labels in memory and out of core."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from mtcluster.metrics import joint_accuracy

pd = pytest.importorskip("pandas", reason="files are read with pandas: pip install 'mtcluster[files]'")
pytest.importorskip("dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")
pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'mtcluster[files]'")
pytestmark = [pytest.mark.dask, pytest.mark.slow]

CENTERS = np.array([[3750.5, 12.25, 0.3], [8200.75, 14.5, 0.3], [8200.75, 9.0, 0.6]])
COLUMNS = ["income", "hours", "share"]


def rows(n_groups=3, size=40, seed=0):
    """Three kinds of rows in some groups: their numbers, groups and kinds."""
    rng = np.random.default_rng(seed)
    kinds, groups = np.tile([0, 1, 2], n_groups * size)[: n_groups * size], np.repeat(np.arange(n_groups), size)
    frame = pd.DataFrame(CENTERS[kinds] + rng.normal(size=(len(kinds), 3)) * [150, 0.3, 0.02], columns=COLUMNS)
    return frame.assign(city=[f"Köln {g}" for g in groups], id=[f"p{i}" for i in range(len(kinds))]), kinds


def written(value, decimal, thousands, digits=2):
    """A number with these signs."""
    return f"{value:,.{digits}f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)


def texts(frame, decimal=".", thousands=",", **around):
    """A table of texts, with signs around the numbers of some columns."""
    found = frame.copy()
    for name in COLUMNS:
        before, after = around.get(name, ("", ""))
        values = 100 * frame[name] if after.strip() == "%" else frame[name]
        found[name] = [before + written(value, decimal, thousands) + after for value in values]
    return found


def with_gaps(frame):
    found = texts(frame, ",", ".")
    found.loc[::17, "hours"] = "-"
    found.loc[5::23, "share"] = "n/a"
    return found


def with_more(frame):
    rng, kinds = np.random.default_rng(len(frame)), [(frame["income"] > 6000) * 2.0, (frame["share"] > 0.45) * 2.0]
    more = {f"x{i}": kinds[i % 2] + rng.normal(size=len(frame)) for i in range(197)}
    return pd.concat([frame, pd.DataFrame(more)], axis=1)


def plain(path, frame, sep=",", encoding="utf-8", above="", below=""):
    path.write_bytes((above + frame.to_csv(index=False, sep=sep) + below).encode(encoding))


TASK = ("--task", "city")
# How a table is written, the options that it needs, and whether it is read out of core, too.
TABLES = {
    "us": (lambda p, f: plain(p, texts(f)), TASK, True),
    "european": (lambda p, f: plain(p, texts(f, ",", "."), ";"), TASK, True),
    "swiss": (lambda p, f: plain(p, texts(f, ".", "'"), ";"), TASK, True),
    "per cent": (lambda p, f: plain(p, texts(f, share=("", " %"))), TASK, True),
    "currency": (lambda p, f: plain(p, texts(f, ",", ".", income=("€ ", "")), ";"), TASK, True),
    "missing codes": (lambda p, f: plain(p, with_gaps(f), ";"), TASK, True),
    "title": (lambda p, f: plain(p, texts(f, ",", "."), ";", above="Survey of cities;;;;\n\n"), TASK, True),
    "total": (lambda p, f: plain(p, f, below="Total,9,9,Total,Total\n"), (*TASK, "--drop-rows", "Total"), False),
    "cp1252": (lambda p, f: plain(p, texts(f, ",", "."), ";", "cp1252"), (*TASK, "--encoding", "cp1252"), True),
    "tabs": (lambda p, f: plain(p, f, "\t"), TASK, True),
    "one group": (lambda p, f: plain(p, f.drop(columns="city")), (), True),
    "200 columns": (lambda p, f: plain(p, with_more(f)), TASK, True),
}


def labels_in(folder):
    """The labels of a run by the id of the row."""
    if (folder / "labels.csv").exists():
        found = pd.read_csv(folder / "labels.csv")
    else:
        found = pd.concat([pd.read_parquet(file) for file in sorted((folder / "labels").glob("*.parquet"))])
    return found.set_index("id")["cluster"]


def told(result):
    code, out, err = result
    assert code == 0, err
    return out


@pytest.mark.parametrize("name", TABLES)
def test_a_messy_table_goes_through_all_commands(name, run, tmp_path):
    write, options, in_pieces = TABLES[name]
    frame, kinds = rows()
    path, fit = tmp_path / "table.csv", (*options, "--id", "id", "--clusters", 3, "--refits", 0)
    if name == "tabs":
        path = path.with_suffix(".tsv")
    write(path, frame)
    found = json.loads(told(run("check", path, *options, "--id", "id", "--json")))
    assert not any(one["stops"] for one in found["findings"])
    assert found["n_rows_left"] == len(frame)
    assert len(told(run("fit", path, *fit, "--out", "run")).splitlines()) <= 25
    labels = labels_in(tmp_path / "run").loc[frame["id"]].to_numpy()
    tasks = frame["city"].to_numpy() if options else np.zeros(len(frame))
    assert joint_accuracy(kinds, labels, tasks) > 0.97
    centers = pd.read_csv(tmp_path / "run" / "centers.csv").query("task == '(shared)'").set_index("cluster")
    for j in range(3):
        kind = np.bincount(kinds[labels == j]).argmax()
        wanted = CENTERS[kind] * [1, 1, 1]
        got = centers.loc[j, COLUMNS].to_numpy(dtype=float)
        np.testing.assert_allclose(got[:2], wanted[:2], rtol=0.05)
        assert min(abs(got[2] - wanted[2]), abs(got[2] / 100 - wanted[2])) < 0.05
    if in_pieces:
        told(run("fit", path, *fit, "--out-of-core", "--out", "large"))
        pieces = labels_in(tmp_path / "large").loc[frame["id"]].to_numpy()
        np.testing.assert_array_equal(pieces, labels)
    _new_rows(name, run, tmp_path, path, frame, labels)
    told(run("rename", "run", "0=the first"))
    assert set(pd.read_csv(tmp_path / "run" / "labels.csv").query("cluster == 0")["name"]) == {"the first"}
    assert "the first" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def _new_rows(name, run, tmp_path, path, frame, labels):
    """The same rows are labelled as in the fit, and rows of another group join."""
    encoding = ("--encoding", "cp1252") if name == "cp1252" else ()
    if name != "total":
        told(run("predict", "run", path, *encoding, "--out", "again.csv"))
        again = pd.read_csv(tmp_path / "again.csv").set_index("id")["cluster"].loc[frame["id"]].to_numpy()
        assert np.mean(again == labels) > 0.97
    if name in ("one group", "total"):
        return
    more, kinds = rows(1, 60, seed=7)
    new = path.with_name(f"new{path.suffix}")
    TABLES[name][0](new, more.assign(city="Bonn"))
    told(run("adapt", "run", new, *encoding, "--out", "joined"))
    joined = labels_in(tmp_path / "joined").loc[more["id"]].to_numpy()
    assert joint_accuracy(kinds, np.maximum(joined, 0), np.zeros(len(more))) > 0.9


def test_three_hundred_groups(run, tmp_path):
    frame, kinds = rows(300, 9)
    plain(tmp_path / "table.csv", texts(frame, ",", "."), ";")
    out = told(run("fit", "table.csv", *TASK, "--id", "id", "--clusters", 3, "--refits", 0, "--out", "run"))
    assert len(out.splitlines()) <= 25
    assert "2700 rows, 300 cities, 3 clusters" in out.replace("\u00a0", "")
    labels = labels_in(tmp_path / "run").loc[frame["id"]].to_numpy()
    assert joint_accuracy(kinds, labels, frame["city"].to_numpy()) > 0.97
    told(
        run("fit", "table.csv", *TASK, "--id", "id", "--clusters", 3, "--refits", 0, "--out-of-core", "--out", "large")
    )
    np.testing.assert_array_equal(labels_in(tmp_path / "large").loc[frame["id"]].to_numpy(), labels)


REAL = {
    "penguins": ("--task", "island", "--drop", "sex"),
    "mpg": ("--task", "origin", "--drop", "name"),
    "titanic": ("--task", "embarked", "--drop-unnamed", "--drop", "class,who,adult_male,embark_town,alive,alone,deck"),
}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_tables_have_the_same_labels_out_of_core(name, run, tmp_path):
    path = Path(os.environ.get("MTCLUSTER_DATA", ""), "tables", f"{name}.csv")
    if not path.is_file():
        pytest.skip("MTCLUSTER_DATA names no folder with tables")
    fit = (path, *REAL[name], "--clusters", 3, "--refits", 0)
    out = told(run("fit", *fit, "--out", "run"))
    assert len(out.splitlines()) <= 25
    assert " = " not in "".join(line for line in out.splitlines() if line.startswith("Cluster "))
    told(run("fit", *fit, "--out-of-core", "--out", "large"))
    np.testing.assert_array_equal(labels_in(tmp_path / "run").to_numpy(), labels_in(tmp_path / "large").to_numpy())
