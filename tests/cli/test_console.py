"""Progress messages."""

import io
import re

import pytest

from mtcluster.cli.console import Console


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when told."""
    now = [0.0]
    monkeypatch.setattr("mtcluster.cli.console.time.perf_counter", lambda: now[0])
    return now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_tell_the_time_passed_and_the_time_left(capsys, clock):
    console = Console()
    with console.working(10):
        console.begin("reading")
        clock[0] = 4.0
        console.finish(2)
        console.begin("fitting")
        console.finish(7.9)
        console.begin("writing")
    assert capsys.readouterr().err.splitlines() == [
        "[   0.0 s] reading",
        "[   4.0 s] fitting, about 16 s left",
        "[   4.0 s] writing, less than 1 s left",
    ]


def test_the_count_begins_again_with_each_piece_of_work(clock):
    console = Console()
    with console.working(10):
        console.finish(10)
    with console.working(5):
        assert (console.done, console.total) == (0, 5)


def test_quiet_prints_nothing(capsys):
    console = Console(quiet=True)
    with console.working(1):
        console.begin("reading")
        console.finish(1)
        console.note("something")
    assert capsys.readouterr() == ("", "")


def test_notes_are_lines(capsys):
    Console().note("something")
    assert capsys.readouterr().err == "something\n"


def test_a_terminal_shows_a_bar_and_notes_above_it(monkeypatch):
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    console = Console()
    with console.working(10):
        console.begin("fitting")
        console.note("a [note]")
        console.finish(10)
        assert console._bar.tasks[0].completed == 10
        assert console._bar.tasks[0].description == "fitting"
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "a [note]" in shown
    assert "━" in shown
    assert console._bar is None
