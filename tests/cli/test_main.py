"""The command line."""

import signal
import subprocess
import sys
from importlib.metadata import version

import pytest

from mtcluster.cli import demo
from mtcluster.cli.main import main

TITLES = ["k-means per task", "k-means pooled", "LSSMTC", "SPMTC"]


@pytest.mark.slow
def test_the_demo_prints_one_table_in_which_spmtc_is_not_behind_k_means(capsys):
    assert main(["demo", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {name: line.removeprefix(name).split() for line in lines for name in TITLES if line.startswith(name + " ")}
    assert list(rows) == TITLES
    acc = {name: float(cells[0]) for name, cells in rows.items()}
    assert acc["SPMTC"] >= max(acc["k-means per task"], acc["k-means pooled"]) - 0.5


def test_the_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"mtcluster {version('mtcluster')}\n"


def test_the_demo_says_on_standard_error_what_it_does(capsys):
    assert main(["demo", "--seeds", "1"]) == 0
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert [line.split("] ")[1].split(",")[0] for line in lines] == [
        "fitting k-means per task",
        "fitting k-means pooled",
        "fitting LSSMTC",
        "fitting SPMTC",
    ]
    assert "left" in lines[-1]
    assert "Mean of 1 seed," in told.out


def test_the_demo_can_be_had_without_a_console(capsys):
    assert "SPMTC" in demo.run(1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments", [["--nonsense"], ["nonsense"], ["demo", "--seeds", "0"], ["demo", "--seeds", "x"]]
)
def test_wrong_use_is_exit_code_2_and_a_sentence(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "mtcluster" in capsys.readouterr().err


def test_no_command_prints_the_help(capsys):
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"], ["compare", "--nonsense"]])
def test_help_waits_for_no_library(arguments):
    code = (
        "import sys; from mtcluster.cli.main import main\n"
        f"try: main({arguments})\n"
        "finally: print([name for name in ('numpy', 'scipy', 'sklearn', 'joblib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_it_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "mtcluster", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("mtcluster ")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_during_imports_ends_in_one_sentence(stop, tmp_path):
    """The process stops itself while it imports the first module of the command line."""
    code = f"""
import os, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "mtcluster.cli.options":
            os.kill(os.getpid(), {int(stop)})
sys.meta_path.insert(0, Stop())
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mtcluster.__main__ import run
sys.exit(run())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "mtcluster: stopped; nothing was written.\n"
