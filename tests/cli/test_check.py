"""`mtcluster check`, and the same at the start of `mtcluster fit`."""

import json
import re
import shlex

import numpy as np
import pytest

from mtcluster.cli.main import main

pd = pytest.importorskip("pandas")
FIT = ("--clusters", 3, "--refits", 0, "--out", "run")


@pytest.fixture
def messy(survey, tmp_path):
    """The survey as people have it."""
    frame = survey.drop(columns="person")
    frame.insert(0, "case", np.arange(1, len(frame) + 1))
    frame["country"] = [name if i % 9 else name.upper() + " " for i, name in enumerate(frame["country"])]
    frame["age"] = frame["age"].round(3).astype(object)
    frame.loc[[3, 30], "age"] = "?"
    frame["wave"] = 2
    frame["interview"] = [f"2023-0{1 + i % 9}-1{i % 10}" for i in range(len(frame))]
    frame["cents"] = 100 * frame["income"]
    frame.to_csv(tmp_path / "messy.csv", index=False)
    return frame


def findings(run, *arguments):
    code, out, err = run("check", *arguments, "--json")
    assert code == 0, err
    return {one["kind"]: one for one in json.loads(out)["findings"]}


def test_the_list_is_complete_and_nothing_is_written(messy, run, tmp_path):
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, err = run("check", "messy.csv", "--task", "country", "--label", "class")
    assert (code, err) == (0, "")
    for word in (
        "'case'",
        "'wave'",
        "'interview'",
        "'cents'",
        "'?' 2 times",
        "'FR '",
        "Nothing is in the way of a fit.",
    ):
        assert word in out
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_fit_tells_the_same_at_its_start_and_does_it(messy, run, tmp_path):
    _, listed, _ = run("check", "messy.csv", "--task", "country", "--label", "class")
    code, out, err = run("fit", "messy.csv", "--task", "country", "--label", "class", *FIT)
    assert code == 0, err
    for line in listed.splitlines():
        if line.startswith("- "):
            assert line in err
    assert "Column 'case' is a running number. It is left out" in out
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["columns"] == ["age", "income", "trust", "hours", "sex"]
    assert [one["kind"] for one in settings["check"]][:1] == ["markers"]
    tasks = pd.read_csv(tmp_path / "run" / "labels.csv")["task"]
    assert set(tasks) == {"fr", "de", "it"}


def test_the_options_that_are_told_can_be_pasted(messy, run, tmp_path):
    found = findings(run, "messy.csv", "--task", "country", "--label", "class")
    for kind, wanted in (("identifier", {"case"}), ("constant", {"wave"}), ("copies", {"cents"})):
        pasted = shlex.split(found[kind]["option"])
        code, _, err = run("fit", "messy.csv", "--task", "country", "--label", "class", *FIT, "--force", *pasted)
        assert code == 0, err
        settings = json.loads((tmp_path / "run" / "settings.json").read_text())
        assert wanted <= set(settings["columns"])
    dates = shlex.split(found["dates"]["option"])
    code, _, err = run("fit", "messy.csv", "--task", "country", "--label", "class", *FIT, "--force", *dates)
    assert code == 0, err
    assert "interview (days since 2023-01-10)" in (tmp_path / "run" / "centers.csv").read_text()
    code, _, err = run("predict", "run", "messy.csv", "--out", "labels.csv")
    assert code == 0, err
    again, first = (pd.read_csv(tmp_path / name) for name in ("labels.csv", "run/labels.csv"))
    assert again["cluster"].tolist() == first["cluster"].tolist()
    assert set(again["task"]) == {"fr", "de", "it"}


def test_what_stops_a_fit_comes_in_one_list(messy, run, tmp_path):
    messy.loc[4, "country"] = None
    messy["trust"] = messy["trust"].astype(object)
    messy.loc[9, "trust"] = "high"
    messy.to_csv(tmp_path / "messy.csv", index=False)
    code, out, err = run("fit", "messy.csv", "--task", "country", "--label", "class", *FIT)
    assert (code, out) == (2, "")
    assert "2 things to change" in err
    assert re.search(r"1 row without a task \(column 'country'\), first in row 5\..*\n    --drop-unnamed", err)
    assert "'high' in row 10" in err
    assert not (tmp_path / "run").exists()
    code, out, _ = run("check", "messy.csv", "--task", "country", "--label", "class")
    assert code == 0
    assert "2 things must be changed before a fit." in out


def test_rows_without_a_task_are_left_out_when_asked(messy, run, tmp_path):
    messy.loc[4, "country"] = None
    messy.to_csv(tmp_path / "messy.csv", index=False)
    code, _, err = run("fit", "messy.csv", "--task", "country", "--id", "case", "--drop-unnamed", *FIT)
    assert code == 0, err
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")
    assert labels["id"].tolist() == [i for i in range(1, 121) if i != 5]
    table = pd.read_csv(tmp_path / "run" / "tables" / "messy.csv")
    assert len(table) == 120
    assert np.flatnonzero(table["cluster"].isna()).tolist() == [4]


def test_small_tasks_are_left_out_when_asked(survey, run, tmp_path):
    survey.loc[:2, "country"] = "uk"
    survey.to_csv(tmp_path / "survey.csv", index=False)
    roles = ("--task", "country", "--id", "person", "--label", "class")
    assert findings(run, "survey.csv", *roles)["small"]["option"] == "--min-rows 5"
    code, out, err = run("fit", "survey.csv", *roles, "--min-rows", 5, *FIT)
    assert code == 0, err
    assert "'uk'" in out
    assert set(pd.read_csv(tmp_path / "run" / "labels.csv")["task"]) == {"fr", "de", "it"}


def test_a_file_that_does_not_say_its_tasks_is_a_finding(messy, run):
    found = findings(run, "messy.csv")
    assert not found["no_tasks"]["stops"]
    assert "'country'" in found["no_tasks"]["done"] or "'sex'" in found["no_tasks"]["done"]


def test_a_header_that_repeats_is_a_finding(survey, run, tmp_path):
    text = survey.to_csv(index=False)
    (tmp_path / "survey.csv").write_text(text.replace("trust,hours", "income,income", 1))
    found = findings(run, "survey.csv", "--task", "country")
    assert found["header"]["columns"] == ["income"]
    assert found["header"]["stops"]
    excel = survey.set_axis([name if name != "trust" else "income" for name in survey.columns], axis=1)
    excel.to_excel(tmp_path / "survey.xlsx", index=False)
    assert findings(run, "survey.xlsx", "--task", "country")["header"]["columns"] == ["income"]


def test_matrices_are_checked_too(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1, 1, 1000]
    np.savez(tmp_path / "m.npz", task1_X=X[:20], task2_X=X[20:], task1_y=np.zeros(20, int), task2_y=np.zeros(20, int))
    assert findings(run, "m.npz")["scales"]["option"] == "--scale standard"


def test_files_that_cannot_be_read(run, tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"nonsense")
    for name in ("a.parquet", "b.csv"):
        code, out, err = run("check", name)
        assert (code, out) == (2, "")
        assert name in err


def test_one_column_cannot_be_task_and_label(messy, run):
    code, _, err = run("fit", "messy.csv", "--task", "country", "--label", "country", *FIT)
    assert code == 2
    assert "--task and --label are both 'country'" in err


# Reading


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "latin-1"])
def test_encodings(encoding, survey, run, tmp_path):
    survey["country"] = survey["country"].map({"fr": "Perú", "de": "España", "it": "Chile"})
    survey.to_csv(tmp_path / "survey.csv", index=False, encoding=encoding)
    roles = ("--task", "country", "--id", "person", "--label", "class")
    code, _, err = run("fit", "survey.csv", *roles, *FIT)
    assert code == 2
    assert "--encoding" in err
    code, _, err = run("fit", "survey.csv", *roles, *FIT, "--encoding", encoding)
    assert code == 0, err
    assert set(pd.read_csv(tmp_path / "run" / "labels.csv")["task"]) == {"Perú", "España", "Chile"}
    again = pd.read_csv(tmp_path / "run" / "tables" / "survey.csv", encoding=encoding)
    assert again["country"].tolist() == survey["country"].tolist()
    code, _, err = run("predict", "run", "survey.csv", "--encoding", encoding, "--out", "p.csv")
    assert code == 0, err


def test_a_wrong_encoding(survey, run, tmp_path):
    (tmp_path / "survey.csv").write_bytes(survey.to_csv(index=False).replace("p3,", "p\xe9,").encode("latin-1"))
    code, _, err = run("check", "survey.csv", "--encoding", "ascii")
    assert code == 2
    assert "not encoded as ascii" in err
    assert "--encoding klingon is not known" in run("check", "survey.csv", "--encoding", "klingon")[2]


def test_sheets(survey, run, tmp_path):
    roles = ("--id", "person", "--label", "class")
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        for name, part in survey.groupby("country"):
            part.drop(columns="country").to_excel(book, sheet_name=name, index=False)
        pd.DataFrame().to_excel(book, sheet_name="notes", index=False)
    code, _, err = run("fit", "book.xlsx", "--sheet", "all", *roles, *FIT)
    assert code == 0, err
    labels = pd.read_csv(tmp_path / "run" / "labels.csv").set_index("id")
    assert labels["task"].to_dict() == survey.set_index("person")["country"].to_dict()
    again = pd.read_excel(tmp_path / "run" / "tables" / "book.xlsx", sheet_name=None)
    for name in ("fr", "de", "it"):
        own = again[name].set_index("person")["cluster"]
        assert own.to_dict() == labels["cluster"][own.index].to_dict()
    code, _, err = run("fit", "book.xlsx", "--sheet", "uk", *roles, *FIT, "--force")
    assert code == 2
    assert "no sheet 'uk' (--sheet); it has 'de', 'fr', 'it', 'notes'" in err
    code, _, err = run("check", "book.xlsx", "--sheet", "de")
    assert code == 0, err


def test_options_of_other_kinds_of_files(messy, survey, run):
    assert "--sheet is for Excel files" in run("check", "messy.csv", "--sheet", "all")[2]
    survey.to_parquet("survey.parquet")
    assert "--encoding is for text files" in run("check", "survey.parquet", "--encoding", "cp1252")[2]


# Other options


@pytest.mark.parametrize(("option", "offset"), [("keep", "none"), ("remove", "matched"), ("auto", "auto")])
def test_the_location_of_tasks(option, offset, survey, run, tmp_path):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    roles = ("--task", "country", "--id", "person", "--label", "class", *FIT)
    code, _, err = run("fit", "survey.csv", *roles, "--location", option)
    assert code == 0, err
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["parameters"]["task_offset"] == offset
    code, _, err = run("fit", "survey.csv", *roles, "--force", "--location", option, "--method", "kmeans")
    assert code == 2
    assert "--location does not go with --method kmeans" in err


def test_stop_words_of_a_file(run, tmp_path):
    rng = np.random.default_rng(0)
    words = [["soil", "rose", "tulip", "und"], ["moon", "star", "sun", "und"]]
    said = [" ".join(rng.choice(words[i % 2], 6)) for i in range(60)]
    pd.DataFrame({"said": said, "site": ["a", "b", "c"] * 20}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "stop.txt").write_text("und\nSUN\n", encoding="utf-8")
    arguments = ("fit", "t.csv", "--task", "site", "--text", "said", "--clusters", 2, "--refits", 0, "--out", "run")
    code, _, err = run(*arguments, "--stop-words", "stop.txt")
    assert code == 0, err
    header = (tmp_path / "run" / "centers.csv").read_text().splitlines()[0].split(",")
    assert "moon" in header
    assert not {"und", "sun"} & set(header)
    assert "--stop-words nowhere.txt" in run(*arguments, "--force", "--stop-words", "nowhere.txt")[2]


def test_check_explains_itself(capsys):
    with pytest.raises(SystemExit) as end:
        main(["check", "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    for option in ("--encoding", "--sheet", "--min-rows", "--drop-unnamed", "--dates", "--missing", "--keep-spelling"):
        assert option in shown


@pytest.mark.parametrize("option", ["--title", "--out"])
def test_names_that_are_no_text_are_refused_before_anything_is_done(option, messy, run, tmp_path):
    before = sorted(path.name for path in tmp_path.iterdir())
    arguments = [*FIT, option, "a\udcff"]
    code, out, err = run("fit", "messy.csv", "--task", "country", *arguments)
    assert (code, out) == (2, "")
    assert f"{option} is 'a\\udcff', which is not text in UTF-8" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("more", [(), ("--text", "drink"), ("--id", "drink")])
def test_bytes_that_are_no_text(survey, run, tmp_path, suffix, more):
    survey["drink"] = [b"caf\xe9", b"tea"] * 60
    getattr(survey, f"to_{suffix}")(tmp_path / f"survey.{suffix}")
    said = []
    for command in (("check",), ("fit", *FIT)):
        code, out, err = run(command[0], f"survey.{suffix}", "--task", "country", *command[1:], *more)
        assert "Traceback" not in err
        said.append(out + err)
    assert code == 2
    assert all("'drink' holds bytes that are not text in UTF-8" in one and "row" in one for one in said)
    assert not (tmp_path / "run").exists()
    assert run("fit", f"survey.{suffix}", "--task", "country", *FIT, "--drop", "drink")[0] == 0


CELLS = {"a list": [1, 2], "a struct": {"a": 1}, "a list of texts": ["a", "b"]}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("more", [(), ("--id", "parts"), ("--task", "parts")])
def test_cells_that_are_no_single_values(survey, run, tmp_path, cell, more):
    survey["parts"] = [CELLS[cell]] * len(survey)
    survey.to_parquet(tmp_path / "survey.parquet")
    task = () if "--task" in more else ("--task", "country")
    for command in (("fit", *FIT), ("fit", *FIT, "--out-of-core"), ("compare",)):
        code, _, err = run(command[0], "survey.parquet", *task, *command[1:], *more)
        assert (code, "Traceback" in err) == (2, False), err
        assert "'parts' holds a" in err
        assert "which is not a single value" in err
    assert run("check", "survey.parquet", "--task", "country")[0] == 0
    assert run("check", "survey.parquet")[0] == 0
    assert run("fit", "survey.parquet", "--task", "country", *FIT, "--drop", "parts")[0] == 0


@pytest.mark.parametrize("value", ["1e160", "1e308"])
def test_numbers_whose_squares_overflow_are_named(survey, run, tmp_path, value):
    survey["age"] = survey["age"].astype(str)
    survey.loc[4, "age"] = value
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", "--task", "country", *FIT)
    assert code == 2
    assert "'age'" in err
    assert "overflows" in err
    assert "Warning" not in err


def test_bytes_in_utf_8_are_texts(survey, run, tmp_path):
    survey["drink"] = ["café", "café", "tea"] * 40
    survey.to_parquet(tmp_path / "texts.parquet")
    survey.assign(drink=[text.encode() for text in survey["drink"]]).to_parquet(tmp_path / "bytes.parquet")
    found = []
    for name in ("texts", "bytes"):
        assert run("fit", f"{name}.parquet", "--task", "country", *FIT, "--force")[0] == 0
        found.append((tmp_path / "run" / "labels.csv").read_text())
        assert "drink = café" in (tmp_path / "run" / "centers.csv").read_text()
    assert found[0] == found[1]


def test_a_column_that_arrow_finds_damaged_is_named(survey, run, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    raw = pa.array([b"caf\xe9"] * len(survey), type=pa.binary())
    bad = pa.Array.from_buffers(pa.string(), len(survey), raw.buffers())
    pq.write_table(pa.Table.from_pandas(survey).append_column("drink", bad), tmp_path / "a.parquet")
    code, _, err = run("fit", "a.parquet", "--task", "country", *FIT)
    assert code == 2
    assert "column 'drink' is damaged" in err


def test_text_that_is_not_utf_8_in_a_column(survey, run, tmp_path):
    survey["drink"] = ["café", "tea"] * 60
    (tmp_path / "survey.csv").write_bytes(survey.to_csv(index=False).encode("latin-1"))
    for more in ((), ("--text", "drink")):
        code, out, err = run("fit", "survey.csv", "--task", "country", "--id", "person", *FIT, *more)
        assert (code, out) == (2, "")
        assert "not encoded as UTF-8" in err
        assert "Traceback" not in err
