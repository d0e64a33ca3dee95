"""What is printed, on streams of any kind: closed, in other encodings, on terminals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtcluster.cli.streams import plain

FIT = ("--task", "country", "--clusters", "3", "--refits", "0")
ESCAPES = "fr\x1b]0;title\x07\x1b[31m"


@pytest.fixture
def started(tmp_path):
    """Start the command line by a shell, as a process of its own: exit code, what it printed, what it complained of."""

    def call(*arguments, ending="", **environment):
        command = [sys.executable, "-m", "mtcluster", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "200", **environment}
        shell = ["sh", "-c", f'"$@" {ending}', "sh", *command]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, env=environment, timeout=240, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return call


@pytest.fixture
def named(tmp_path, survey):
    """Write a table in which a country and a column have other names."""

    def write(country, column="age"):
        frame = survey.drop(columns=["person", "class", "sex"]).replace({"country": {"fr": country}})
        frame.rename(columns={"age": column}).to_csv(tmp_path / "named.csv", index=False)

    return write


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_output_that_is_not_utf_8(started, named, encoding, tmp_path):
    named("日本")
    code, out, err = started("fit", "named.csv", *FIT, "--out", "run", PYTHONIOENCODING=encoding)
    assert (code, "Traceback" in err) == (0, False)
    assert r"\u65e5\u672c" in out
    assert "日本" in (tmp_path / "run" / "labels.csv").read_text(encoding="utf-8")


@pytest.mark.slow
def test_json_is_json_in_any_encoding(started, named):
    named("日本😀\x7f\x9b")
    for encoding in ("ascii", "utf-8"):
        code, out, _ = started("check", "named.csv", "--task", "country", "--json", PYTHONIOENCODING=encoding)
        assert code == 0
        assert "日本😀\x7f\x9b" in json.loads(out)["tasks"]
        assert not {"\x7f", "\x9b"} & set(out)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(started, named, ending, tmp_path):
    named("fr")
    code, _, err = started("fit", "named.csv", *FIT, "--out", "run", ending=ending)
    assert (code, "Traceback" in err) == (0, False)
    assert {"labels.csv", "model.skops", "report.html"} <= {path.name for path in (tmp_path / "run").iterdir()}
    before = (tmp_path / "named.csv").read_bytes()
    assert started("fit", "nothing.csv", *FIT, "--out", "other", ending=ending)[0] == 2
    assert (tmp_path / "named.csv").read_bytes() == before


def test_names_do_not_steer_the_terminal(run, named, tmp_path):
    named(ESCAPES, "a\x1b[2Jge")
    for arguments in (
        ("check", "named.csv", "--task", "country"),
        ("fit", "named.csv", *FIT, "--out", "run"),
        ("fit", "named.csv", *FIT, "--drop", "\x1b[5mnone", "--out", "other"),
        ("fit", "named.csv", *FIT, "--out", "o\x1b[5m", "--nonsense\x1b[5m"),
    ):
        _, out, err = run(*arguments)
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
        assert r"\x1b[" in out + err
    assert ESCAPES in (tmp_path / "run" / "labels.csv").read_text()


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a\tb\n日本 é 👩‍🔬", "a\tb\n日本 é 👩‍🔬"),
        ("\x9b31m", r"\x9b31m"),
        ("a\rb\x7f", r"a\rb\x7f"),
        ("x\u202egnp.exe", r"x\u202egnp.exe"),
    ],
)
def test_characters_that_steer_are_written_as_escapes(text, printed):
    assert plain(text) == printed


def test_two_hyphens_are_a_value_behind_the_sign_of_equality(run, survey, tmp_path):
    survey.drop(columns=["person", "class"]).to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", "--task=--", "--out", "run")
    assert (code, "no column '--' (--task)" in err, "Traceback" in err) == (2, True, False)
    assert run("fit", "survey.csv", "--clusters=--", "--out", "run")[0] == 2
    assert run("fit", "survey.csv", "--method=--", "--out", "run")[0] == 2
    code, _, err = run("fit", *FIT, "--quiet", "--out=--", "--", "survey.csv")
    assert (code, err) == (0, "")
    assert Path("--", "labels.csv").is_file()
