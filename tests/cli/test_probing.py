"""Files are read by a process of their own first, which may crash or hang on them."""

import pytest

from mtcluster.cli.errors import InputError
from mtcluster.cli.readers import probing


@pytest.fixture
def probed(tmp_path, monkeypatch):
    """Probe a file with another program."""

    def how(program):
        (tmp_path / "program.py").write_text(program)
        (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n")
        monkeypatch.setattr(probing, "PROGRAM", tmp_path / "program.py")
        probing.probe(tmp_path / "a.mtx", 2**20)

    return how


def test_a_file_that_brings_its_library_down_is_refused(probed):
    with pytest.raises(InputError, match=r"a\.mtx cannot be read as \.mtx: .* the library .* crashed on it"):
        probed("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")


def test_a_file_that_its_library_does_not_finish_is_refused(probed, monkeypatch):
    monkeypatch.setattr(probing, "SECONDS", 0.5)
    with pytest.raises(InputError, match=r"it takes more than \d s, so it is probably damaged"):
        probed("import signal; signal.pause()")


def test_what_the_library_says_is_told_in_a_line(probed):
    with pytest.raises(InputError, match=r"cannot be read as \.mtx: ValueError: no such kind$"):
        probed("raise ValueError('no such  kind')")


def test_a_file_that_can_be_read_passes(probed):
    assert probed("print('fine')") is None
