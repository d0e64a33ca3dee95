"""Files and folders that are written completely or not at all.

Each is written under a hidden name beside its destination and moved there at the end, so that an error or an interrupt
leaves neither half of a new file nor a damaged old one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = ".mtcluster-"  # of the names of files and folders that are not finished


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file that replaces `path` at the end of the block.

    Parameters
    ----------
    path : path
        Where the file is to go. A symbolic link is followed. A file that is already there keeps its permissions, a new
        one gets those of the user's umask.

    Yields
    ------
    temporary : Path
        An empty file in the same folder. It is moved to `path` if the block succeeds, and removed if it fails.

    Raises
    ------
    FileNotFoundError
        If the folder of `path` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("complete")
    ...     print(Path(folder, "a.txt").read_text())
    complete
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)}: the folder {target.parent} does not exist.")
    temporary = _hidden(target.parent)
    with _naming(path):
        temporary.touch(exist_ok=False)
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: str | os.PathLike[str], *, last: str = "") -> Iterator[Path]:
    """Fill a folder that replaces `path` at the end of the block.

    Parameters
    ----------
    path : path
        Where the folder is to go; missing parent folders are made, and removed again if the block fails. A symbolic
        link is followed.
    last : str
        The file that is moved last where files have to be moved one by one: into a mount point, which cannot itself be
        replaced.

    Yields
    ------
    temporary : Path
        An empty folder on the same file system. It takes the place of `path` if the block succeeds, and is removed if
        it fails.
    """
    target = Path(os.path.realpath(path))
    mounted = os.path.ismount(target)
    made = [parent for parent in target.parents if not parent.exists()]
    temporary = _hidden(target if mounted else target.parent)
    try:
        with _naming(path):
            temporary.mkdir(parents=True)
        yield temporary
        with uninterrupted():
            if mounted:
                for item in sorted(temporary.iterdir(), key=lambda item: item.name == last):
                    if item.is_dir():
                        shutil.rmtree(target / item.name, ignore_errors=True)
                    item.replace(target / item.name)
            else:
                _swap(temporary, target)
        made = []
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        for parent in made:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C and the stop signal of a batch system until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {
        stop: signal.signal(stop, lambda number, _: waiting.append(number)) for stop in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)
        for number in waiting:
            signal.raise_signal(number)


def _hidden(folder: Path) -> Path:
    return folder / f"{PREFIX}{secrets.token_hex(6)}"


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the temporary file, with the name that the user knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _swap(new: Path, target: Path) -> None:
    """Move a folder to where another may be, which is removed only when the new one is in place."""
    old = _hidden(target.parent)
    replaced = target.exists()
    if replaced:
        target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        if replaced:
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
