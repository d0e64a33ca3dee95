"""`python -m benchmarks paper` from the outside: what it leaves, and every way in which it can be cut short."""

import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from benchmarks.evaluation import command as command_line
from benchmarks.evaluation.command import main
from benchmarks.evaluation.store import RUN, RunFile, locked

pytestmark = pytest.mark.slow  # whole benchmarks, if small ones
ROOT = Path(__file__).parents[2]
SMALL = ["--quick", "--sets", "PEOPLEvsPLACES", "--methods", "KM,LSSMTC,SPMTC-s", "--runs", "2", "--jobs", "1"]


def command(data, out, *more):
    return ["paper", "--data", str(data), "--out", str(out), *SMALL, *more]


def scores(folder):
    return sorted(RunFile(folder).read()[[*RUN, "task", "acc", "nmi", "auc"]].itertuples(index=False, name=None))


@pytest.fixture(scope="module")
def finished(tiny_data, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    assert main(command(tiny_data, out)) == 0
    return out


def test_everything_that_was_promised_is_there(finished):
    names = {str(path.relative_to(finished)) for path in finished.rglob("*") if path.is_file()} - {".lock"}
    pictures = {f"figures/{name}.{end}" for name in ("subspace", "within_weight", "noise") for end in ("png", "svg")}
    assert names == {"runs.csv", "runs.parquet", "tables.md", "tables.tex", "tables.html", "findings.md", *pictures}
    frame = pd.read_parquet(finished / "runs.parquet")
    assert len(frame) == len(pd.read_csv(finished / "runs.csv"))
    assert set(frame["method"]) == {"KM", "LSSMTC", "SPMTC-s"}
    assert "58.2" in (finished / "tables.md").read_text()  # KM, task 1, as published


def test_a_second_run_into_the_folder_needs_resume(tiny_data, finished, capsys):
    assert main(command(tiny_data, finished)) == 2
    assert "add --resume" in capsys.readouterr().err
    before = scores(finished)
    assert main(command(tiny_data, finished, "--resume")) == 0
    printed = capsys.readouterr().out
    assert "0 runs in" in printed
    assert "58.2" in printed  # KM, task 1, as published
    assert scores(finished) == before


def test_pages_are_written_again_from_the_rows_of_the_folder(finished, tmp_path, capsys):
    shutil.copy(finished / "runs.parquet", tmp_path)  # as a folder of results is passed on
    assert main(["paper", "--out", str(tmp_path), "--pages"]) == 0
    n_runs = len(RunFile(finished).read()[RUN].drop_duplicates())
    assert f"Pages of {n_runs} runs" in capsys.readouterr().out
    for name in ("tables.md", "findings.md"):
        old, new = ((folder / name).read_text().splitlines() for folder in (finished, tmp_path))
        assert [line for line in old if "Made by" not in line] == [line for line in new if "Made by" not in line]
    assert pd.read_parquet(tmp_path / "runs.parquet").equals(pd.read_parquet(finished / "runs.parquet"))


def test_pages_need_rows(tmp_path, capsys):
    assert main(["paper", "--out", str(tmp_path), "--pages"]) == 2
    assert "there is neither runs.csv nor runs.parquet" in capsys.readouterr().err
    (tmp_path / "runs.parquet").write_text("no rows")
    assert main(["paper", "--out", str(tmp_path), "--pages"]) == 2
    assert "runs.parquet is not a file of runs" in capsys.readouterr().err


def test_a_folder_with_parquet_alone_is_resumed(tiny_data, finished, tmp_path, capsys):
    shutil.copy(finished / "runs.parquet", tmp_path)
    assert main(command(tiny_data, tmp_path)) == 2
    assert "runs.parquet already exists: add --resume" in capsys.readouterr().err
    assert main(command(tiny_data, tmp_path, "--resume")) == 0
    assert "0 runs in" in capsys.readouterr().out
    assert scores(tmp_path) == scores(finished)


def test_the_data_folder_has_to_be_named(tiny_data, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("MTCLUSTER_DATA", raising=False)
    line = ["peers", "--out", str(tmp_path / "out"), "--quick", "--sets", "Heart", "--methods", "KM"]
    assert main(line) == 2
    assert "--data is needed" in capsys.readouterr().err
    monkeypatch.setenv("MTCLUSTER_DATA", str(tiny_data))
    assert main([*line, "--jobs", "1"]) == 0


def test_generated_pages_state_numbers_and_no_reasons(finished):
    text = (finished / "findings.md").read_text() + (finished / "tables.md").read_text()
    assert not re.search(r"\b(why|because|due to|fails|must be)\b", text, re.IGNORECASE)


def test_an_interrupted_benchmark_goes_on_where_it_was(tiny_data, finished, tmp_path):
    whole = RunFile(finished).path.read_text()
    RunFile(tmp_path).path.write_text(whole[: len(whole) // 2])  # in the middle of a line
    kept = len(RunFile(tmp_path).read())
    assert 0 < kept < len(RunFile(finished).read())
    assert main(command(tiny_data, tmp_path, "--resume")) == 0
    assert scores(tmp_path) == scores(finished)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--methods", "KM,K-means"], "--methods K-means: known are KM, SC"),
        (["--sets", "Iris"], "--sets Iris: known are COMPvsSCI"),
        (["--features", "bm25"], "--features bm25: known are raw, tfidf"),
        (["--features", ""], r"--features (nothing): known are"),
        (["--runs", "0"], "--runs 0: a positive number is needed"),
        (["--jobs", "-1"], "--jobs -1: a positive number is needed"),
    ],
)
def test_wrong_options_are_exit_code_2_and_a_sentence(tiny_data, tmp_path, capsys, more, message):
    assert main(command(tiny_data, tmp_path / "out", *more)) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_wrong_data_folder_is_said_before_anything_runs(tmp_path, capsys):
    assert main(command(tmp_path / "nowhere", tmp_path / "out")) == 2
    assert "is not a folder" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(command(tmp_path / "empty", tmp_path / "out")) == 2
    assert "the data set PEOPLEvsPLACES is needed as people_vs_places.npz" in capsys.readouterr().err
    assert len(RunFile(tmp_path / "out").read()) == 0


def test_a_damaged_data_file_is_named(tiny_data, tmp_path, capsys):
    data = tmp_path / "data"
    shutil.copytree(tiny_data, data)
    path = data / "people_vs_places.npz"
    path.write_bytes(path.read_bytes()[:500])
    assert main(command(data, tmp_path / "out")) == 2
    assert "people_vs_places.npz cannot be read" in capsys.readouterr().err


def test_methods_whose_packages_are_missing_are_left_out_by_default_and_told(monkeypatch, capsys):
    monkeypatch.setattr(command_line, "find_spec", lambda name: None)
    options = command_line.make_parser().parse_args(["integration", "--out", "x"])
    assert "LIGER KM" not in options.methods
    assert "Harmony KM" in options.methods
    with pytest.raises(SystemExit):
        main(["integration", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "default: all but LIGER KM, as pyliger is missing" in printed
    assert "also real sets, many features" in printed
    with pytest.raises(SystemExit):
        main(["paper", "--help"])
    assert "LIGER" not in capsys.readouterr().out


def test_two_benchmarks_into_one_folder_are_refused(tiny_data, tmp_path, capsys):
    with locked(tmp_path):
        assert main(command(tiny_data, tmp_path)) == 2
    assert "another benchmark is writing into" in capsys.readouterr().err


INTERRUPTED = """
import os, runpy, signal
from benchmarks.evaluation.store import RunFile
signal.signal(signal.SIGINT, signal.default_int_handler)
append = RunFile.append
def counting(file, rows):
    append(file, rows)
    counting.n += len(rows)
    if counting.n > 4:
        os.kill(os.getpid(), signal.SIGINT)
counting.n, RunFile.append = 0, counting
runpy.run_module("benchmarks", run_name="__main__", alter_sys=True)
"""


def start(tiny_data, out, how=("-m", "benchmarks"), **options):
    line = [sys.executable, *how, *command(tiny_data, out)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(line, cwd=ROOT, **pipes, **options)


def test_a_full_disk_loses_no_finished_run(tiny_data, finished, tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

    process = start(tiny_data, tmp_path, preexec_fn=limit)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "the disk is full. Finished runs are kept in" in errors
    kept = scores(tmp_path)
    assert kept
    assert set(kept) <= set(scores(finished))
    assert main(command(tiny_data, tmp_path, "--resume")) == 0
    assert scores(tmp_path) == scores(finished)


def test_ctrl_c_loses_no_finished_run(tiny_data, finished, tmp_path):
    process = start(tiny_data, tmp_path, ("-c", INTERRUPTED))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopped. Finished runs are kept in" in errors
    assert "Traceback" not in errors
    kept = scores(tmp_path)
    assert len(kept) >= 4
    assert set(kept) <= set(scores(finished))
    assert main(command(tiny_data, tmp_path, "--resume")) == 0
    assert scores(tmp_path) == scores(finished)
