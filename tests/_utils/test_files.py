"""Files and folders take their place complete, or leave everything as it was."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from mtcluster._utils import files
from mtcluster._utils.files import may_pass, replacing, replacing_folder, uninterrupted


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def fail_while(context):
    def write_half():
        with context as temporary:
            (temporary / "part" if temporary.is_dir() else temporary).write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()


def test_a_file_is_replaced_at_the_end_of_the_block(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    fail_while(replacing(path))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_permissions_follow_the_umask_or_the_file_that_was_there(tmp_path, umask):
    path = tmp_path / "a.txt"
    with replacing(path):
        pass
    assert mode(path) == 0o666 & ~umask
    path.chmod(0o604)
    with replacing(path):
        pass
    assert mode(path) == 0o604
    with replacing_folder(tmp_path / "run"):
        pass
    assert mode(tmp_path / "run") == 0o777 & ~umask


def test_links_are_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/a.txt")
    with replacing(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "a.txt").read_text() == "new"


def test_a_file_needs_its_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="gone does not exist"), replacing(tmp_path / "gone" / "a.txt"):
        pass


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("make", [replacing, replacing_folder])
def test_no_permission_is_reported_for_the_name_that_was_given(make, tmp_path):
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError) as caught, make(tmp_path / "mine"):
            pass
    finally:
        os.seteuid(0)
    assert caught.value.filename == str(tmp_path / "mine")


def test_a_folder_is_replaced_whole(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    (path / "old").write_text("old")
    with replacing_folder(path) as temporary:
        (temporary / "new").write_text("new")
        assert os.listdir(path) == ["old"]
    assert os.listdir(path) == ["new"]
    assert os.listdir(tmp_path) == ["run"]


def test_a_failure_leaves_the_old_folder_and_no_new_parents(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_text("old")
    fail_while(replacing_folder(tmp_path / "run"))
    fail_while(replacing_folder(tmp_path / "a" / "b" / "run"))
    assert os.listdir(tmp_path) == ["run"]
    assert os.listdir(tmp_path / "run") == ["old"]


def test_an_old_folder_comes_back_if_the_new_one_cannot_be_moved(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_text("old")
    with pytest.raises(FileNotFoundError), replacing_folder(tmp_path / "run") as temporary:
        temporary.rmdir()
    assert os.listdir(tmp_path) == ["run"]
    assert os.listdir(tmp_path / "run") == ["old"]


def test_a_mount_point_is_filled_and_the_last_file_comes_last(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os.path, "ismount", lambda path: path == tmp_path)
    moved = []
    replace = files.Path.replace
    monkeypatch.setattr(files.Path, "replace", lambda self, to: moved.append(to.name) or replace(self, to))
    with replacing_folder(tmp_path, last="a") as temporary:
        for name in "abc":
            (temporary / name).write_text(name)
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]
    assert sorted(moved) == ["a", "b", "c"]
    assert moved[-1] == "a"


def test_an_interrupt_waits_until_the_end_of_the_block():
    done = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [True]


# What stopped processes leave


@pytest.fixture
def dead():
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def hidden(folder, process, end=""):
    path = folder / f"{files.PREFIX}{files._host()}-{process}-0123456789ab{end}"
    path.mkdir()
    (path / "part").write_text("half")
    return path


def test_leftovers_of_stopped_processes_are_removed_and_no_others(tmp_path, dead):
    left, other, alive = hidden(tmp_path, dead), tmp_path / ".mtcluster-notes", hidden(tmp_path, os.getpid())
    other.write_text("mine")
    elsewhere = tmp_path / f"{files.PREFIX}00000000-{dead}-0123456789ab"
    elsewhere.mkdir()
    assert files.tidy(tmp_path / "run") == [f"Removed what a stopped process had left beside {tmp_path / 'run'}."]
    assert not left.exists()
    assert all(path.exists() for path in (other, alive, elsewhere))
    assert files.tidy(tmp_path / "run") == []


def test_a_folder_that_a_stopped_process_had_moved_away_is_put_back(tmp_path, dead):
    hidden(tmp_path, dead, f"{files.OLD}run")
    assert "put back" in files.tidy(tmp_path / "run")[0]
    assert (tmp_path / "run" / "part").read_text() == "half"


def test_a_folder_that_was_replaced_in_time_is_not_put_back(tmp_path, dead):
    old = hidden(tmp_path, dead, f"{files.OLD}run")
    (tmp_path / "run").mkdir()
    files.tidy(tmp_path / "run")
    assert not old.exists()
    assert not any((tmp_path / "run").iterdir())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_as_a_whole(tmp_path, can_exchange, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").write_text("1")
    with files.replacing_folder(target) as temporary:
        (temporary / "new").write_text("2")
        assert (target / "old").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert [path.name for path in target.iterdir()] == ["new"]


def test_the_old_folder_is_found_if_a_process_is_killed_between_two_steps(tmp_path, dead):
    """Where the system cannot exchange two folders in one step."""
    code = f"""
import errno
import os
from pathlib import Path
from mtcluster._utils import files
files._exchange = lambda *_: False
rename, calls = Path.rename, []
def stopped(self, to):
    if calls:
        os._exit(9)
    calls.append(self)
    return rename(self, to)
Path.rename = stopped
with files.replacing_folder({str(tmp_path / "run")!r}) as temporary:
    (temporary / "new").write_text("2")
"""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_text("1")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert not (tmp_path / "run").exists()
    said = files.tidy(tmp_path / "run")
    assert len(said) == 2
    assert (tmp_path / "run" / "old").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_errors_that_another_attempt_may_not_meet():
    assert may_pass(OSError("the line is down"))
    assert may_pass(OSError(errno.EIO, "input/output error"))
    assert not may_pass(FileNotFoundError(errno.ENOENT, "no such file"))
    assert not may_pass(OSError(errno.ENOSPC, "no space left on device"))


def test_blocks_for_one_path_wait_for_each_other(tmp_path):
    pytest.importorskip("fcntl", reason="this system has no such locks")
    seen, inside = [], threading.Event()

    def wait():
        inside.wait()
        with files.one_at_a_time(tmp_path / "run"):
            seen.append("second")

    other = threading.Thread(target=wait)
    other.start()
    with files.one_at_a_time(tmp_path / "run"):
        inside.set()
        other.join(0.2)
        assert other.is_alive()
        seen.append("first")
    other.join()
    assert seen == ["first", "second"]
    assert list(tmp_path.iterdir()) == []
