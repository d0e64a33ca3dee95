"""Pieces of the app without a server: what is asked for as options, lines of Python, names, room."""

import asyncio
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from mtcluster.app import pages, pipeline
from mtcluster.app.runs import options_of
from mtcluster.app.workspace import Workspace
from mtcluster.cli.errors import InputError
from mtcluster.cli.main import main
from mtcluster.cli.naming import free_name

from .test_security import HOSTILE


def chunks(*parts):
    async def given():
        for part in parts:
            yield part

    return given()


@pytest.fixture
def space(tmp_path):
    return Workspace(tmp_path / "app", 100, tmp_path)


def test_what_a_page_asks_for_becomes_options(space):
    data = space.new_data()
    data.offered = {"--drop-duplicates": {"words": ["--drop-duplicates"]}}
    settings = {"task": "-x", "drop": ["a,b", "c"], "text": ["t"], "clusters": " 3 ", "switches": ["--drop-duplicates"]}
    common = ["--task=-x", "--text=t", "--drop-duplicates"]
    assert set(options_of(settings, data, fit=False)) == {*common, '--drop="a,b",c'}
    assert set(options_of(settings, data, fit=True)) == {*common, '--drop="a,b",c', "--clusters=3"}
    with pytest.raises(InputError, match="offers no"):
        options_of({"switches": ["--tfidf"]}, data, fit=True)


def test_lines_of_python_do_what_the_commands_do(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    table.assign(old=1.5).to_csv("table.csv", index=False, sep=";")
    fit = ["fit", "table.csv", "--task=site", "--id=person", "--drop=old", "--clusters=3", "--refits=0", "--out=run"]
    steps = [fit, ["rename", "run", "0=rich"], ["merge", "run", "1", "2"]]
    for step in steps:
        assert main([*step, "--quiet"]) == 0
    told = {}
    exec(pipeline.python_lines(steps), told)
    labels = [int(row["cluster"]) for row in pipeline.table_of(tmp_path / "run" / "labels.csv")]
    assert told["model"].labels_.tolist() == labels
    assert told["model"].cluster_names_ == {0: "rich"}


def test_what_speaks_for_a_cluster_adds_up_to_the_difference_of_losses(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    table.drop(columns="smokes").to_csv("table.csv", index=False)
    main(["fit", "table.csv", "--task=site", "--id=person", "--clusters=3", "--refits=0", "--out=run", "--quiet"])
    found = pipeline.why("run", "p5")
    rows, model = pipeline.rows_of("run")
    place = rows.tasks[found["row"]] == model.tasks_
    A, B = (model.task_centers_[place][0, j] for j in (found["cluster"], found["other"]))
    whitened = model.fitted_.centers.geometry.whiten(np.stack([rows.X[found["row"]] - one for one in (A, B)]))
    own, other = (whitened**2).sum(axis=1)
    assert sum(one["speaks"] for one in found["features"]) == pytest.approx(other - own, rel=1e-5)
    assert {one["name"] for one in found["features"]} == {"age", "income", "trust", "hours"}
    here = {one["name"]: one["value"] for one in found["features"]}
    assert here["age"] == pytest.approx(table["age"][5])


def test_files_have_room_for_so_many_bytes_in_all(space):
    first, second = space.new_data(), space.new_data()
    asyncio.run(space.receive(first, "a.csv", chunks(b"x" * 30, b"x" * 30)))
    with pytest.raises(InputError, match=r"b.csv: there is room for 100 bytes in all \(--max-bytes\)"):
        asyncio.run(space.receive(second, "b.csv", chunks(b"x" * 30, b"x" * 30)))
    assert (space.held, second.files, list(second.folder.iterdir())) == (60, [], [])
    space.forget_data(first)
    asyncio.run(space.receive(second, "b.csv", chunks(b"x" * 60)))
    assert free_name("B.csv", second.files) == "B-2.csv"


def test_a_folder_with_other_files_is_not_taken(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="holds other files"):
        Workspace(tmp_path, 1, tmp_path)


def test_a_column_is_suggested_for_groups_and_another_for_names(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    table.to_csv("table.csv", index=False)
    found = pipeline.look(["table.csv"])
    assert (found["group"], found["id"]) == ("site", "person")
    table.rename(columns={"site": "x"}).drop(columns="smokes").to_csv("table.csv", index=False)
    assert pipeline.look(["table.csv"])["group"] == "x"
    table.drop(columns=["site", "smokes"]).to_csv("table.csv", index=False)
    assert pipeline.look(["table.csv"])["group"] is None


def test_bands_keep_their_rows_and_do_not_overlap():
    flows = [[0, 0, 5], [0, 2, 3], [1, 0, 2], [-1, 2, 1]]
    tops, bands = pages._bands(flows)
    assert {one["n"] for one in bands} == {5, 3, 2, 1}
    for side, key in ((0, "left"), (1, "right")):
        ends = sorted((one[key], one[key] + one["heights"][side]) for one in bands)
        assert all(end <= begin + 1e-9 for (_, end), (begin, _) in itertools.pairwise(ends))
        assert max(end for _, end in ends) == pytest.approx(1000)
    assert set(tops[0]) == {-1, 0, 1}


def test_labels_of_new_rows_count_what_is_new_as_a_group(tmp_path):
    (tmp_path / "labels.csv").write_text("id,task,cluster,name\na,x,0,rich\nb,x,-1,\nc,y,0,rich\n")
    found = pipeline.labelled(str(tmp_path / "labels.csv"))
    assert found["clusters"] == [-1, 0]
    assert found["counts"] == {"x": [1, 1], "y": [0, 1]}
    page = pages.labelled(
        SimpleNamespace(number=1, shown=[]),
        found | {"names": {"-1": "", "0": HOSTILE[0]}},
        SimpleNamespace(scope={"root_path": "/x"}),
    )
    assert "no cluster (−1)" in page
    assert "<script>window" not in page
