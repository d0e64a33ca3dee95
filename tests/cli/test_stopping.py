"""Stops are heard even if their exception gets lost, and what is said of the output is true."""

import signal
import subprocess
import sys

import pytest

from mtcluster import __main__ as entry
from mtcluster._utils import files
from mtcluster.cli import folder, main, signals, stopping
from mtcluster.cli.errors import InputError


@pytest.fixture
def heeded():
    """Signals as the command line has them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signals.heed()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Finalized:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_a_stop_that_a_finalizer_swallows_comes_back(heeded, capsys):
    with stopping.working() as work:
        one = Finalized()
        del one
        assert work.stopped
        with pytest.raises(KeyboardInterrupt):
            stopping.check()
    assert capsys.readouterr().err == ""


def test_an_output_does_not_take_its_place_after_a_stop_that_got_lost(heeded, tmp_path):
    def fit():
        with folder.new_folder(tmp_path / "run", force=False):
            one = Finalized()
            del one

    with stopping.working() as work, pytest.raises(KeyboardInterrupt):
        fit()
    assert work.outcome == "nothing was written"
    assert list(tmp_path.iterdir()) == []


def test_a_stop_while_the_output_takes_its_place_is_told_with_the_output(heeded, tmp_path, monkeypatch):
    sync = files._sync_names

    def stopped(path):
        signal.raise_signal(signal.SIGTERM)
        sync(path)

    monkeypatch.setattr(files, "_sync_names", stopped)
    path = tmp_path / "a.csv"
    with stopping.working() as work, pytest.raises(KeyboardInterrupt), folder.new_file(path, force=False) as out:
        out.write_text("whole")
    assert work.outcome == f"{path} was written"
    assert path.read_text() == "whole"


def test_a_signal_after_the_work_changes_nothing(heeded):
    with stopping.working() as work:
        pass
    signal.raise_signal(signal.SIGTERM)
    assert not work.stopped


def test_signals_that_are_ignored_stay_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        signals.heed()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError(), 2, "not enough memory for these data"),
        (
            OSError(28, "No space left on device"),
            2,
            "the disk is full, or a limit on file sizes was reached; nothing was",
        ),
        (RuntimeError("can't start new thread"), 2, "the system lets this process start no more threads; nothing was"),
        (InputError("no such column."), 2, "no such column."),
        (KeyboardInterrupt(), 130, "stopped; nothing was written."),
        (KeyError("x"), 1, "this is a bug in mtcluster"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_ends_a_command_is_told(error, code, said, monkeypatch, capsys):
    def fail(arguments, console):
        raise error

    monkeypatch.setattr("mtcluster.cli.report.run", fail)
    assert main.main(["report", "run"]) == code
    assert f"mtcluster report: {said}" in capsys.readouterr().err


def test_want_of_memory_is_told_where_a_library_made_another_error_of_it(monkeypatch, capsys):
    def fail(arguments, console):
        try:
            raise MemoryError
        except MemoryError as error:
            raise KeyError("not hashed") from error

    monkeypatch.setattr("mtcluster.cli.report.run", fail)
    assert main.main(["report", "run"]) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_a_stop_that_an_extension_module_made_another_error_of_is_a_stop(heeded, monkeypatch, capsys):
    def fail(arguments, console):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr("mtcluster.cli.report.run", fail)
    assert main.main(["report", "run"]) == 130
    assert capsys.readouterr().err == "mtcluster report: stopped; nothing was written.\n"


def test_signals_are_heeded_before_other_modules_are_imported():
    """An interrupt would be Python's until then."""
    code = """
import signal, sys, mtcluster
before = set(sys.modules)
import mtcluster.cli.signals
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["mtcluster.cli", "mtcluster.cli.signals"]


def test_want_of_memory_during_imports_is_told(monkeypatch, capsys):
    def fail():
        raise MemoryError

    monkeypatch.setattr(signals, "heed", fail)
    monkeypatch.setattr(sys, "argv", ["mtcluster", "--version"])
    assert entry.run() == 2
    assert capsys.readouterr().err == "mtcluster: not enough memory to start.\n"


@pytest.mark.slow
def test_an_interrupt_within_exec_ends_with_the_code_of_a_stop(tmp_path):
    """CPython would end a process that runs a module by a signal."""
    code = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from mtcluster import __main__ as entry
from mtcluster.cli import report
def stopped(arguments, console):
    exec("import signal; signal.raise_signal(signal.SIGINT)")
report.run = stopped
sys.argv = ["mtcluster", "report", "run"]
sys.exit(entry.run())
"""
    (tmp_path / "stopped.py").write_text(code)
    done = subprocess.run([sys.executable, "-m", "stopped"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "mtcluster report: stopped; nothing was written.\n")


def test_want_of_memory_in_a_finalizer_is_not_told_apart(monkeypatch):
    class Late:
        def __init__(self, error):
            self.error = error

        def __del__(self):
            raise self.error

    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: told.append(error.exc_type))
    with stopping.working():
        Late(MemoryError())
        Late(ZeroDivisionError())
    assert told == [ZeroDivisionError]
