"""Files and folders that are written completely or not at all.

Each is written under a hidden name beside its destination and moved there at the end, so that an error or an interrupt
leaves neither half of a new file nor a damaged old one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import signal
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".mtcluster-"  # of the names of files and folders that are not finished
OLD = ".old."  # in the name of a folder that is moved away until another is in its place, before its own name
HIDDEN = re.compile(
    rf"{re.escape(PREFIX)}(?P<host>[0-9a-f]{{8}})-(?P<process>\d+)-[0-9a-f]+({re.escape(OLD)}(?P<name>.+))?"
)
STAYING = (  # numbers of errors that another attempt does not change
    errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EROFS, errno.ENOSPC, errno.EDQUOT,
    errno.EFBIG,
)  # fmt: skip
AT_FDCWD, EXCHANGE = -100, 2  # of Linux's renameat2


def _nothing() -> None:
    """What is done where nobody wants to be told."""


@contextmanager
def replacing(path: str | os.PathLike[str], *, done: Callable[[], None] = _nothing) -> Iterator[Path]:
    """Write a file that replaces `path` at the end of the block.

    Parameters
    ----------
    path : path
        Where the file is to go. A symbolic link is followed. A file that is already there keeps its permissions, a new
        one gets those of the user's umask.
    done : callable
        Called as soon as the file is in its place.

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
        _sync(temporary)
        with uninterrupted():
            temporary.replace(target)
            done()
            _sync_names(target.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_folder(
    path: str | os.PathLike[str], *, last: str = "", done: Callable[[], None] = _nothing
) -> Iterator[Path]:
    """Fill a folder that replaces `path` at the end of the block.

    Parameters
    ----------
    path : path
        Where the folder is to go; missing parent folders are made, and removed again if the block fails. A symbolic
        link is followed.
    last : str
        The file that is moved last where files have to be moved one by one: into a mount point, which cannot itself be
        replaced.
    done : callable
        Called as soon as the folder is in its place.

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
        _sync_all(temporary)
        with uninterrupted():
            if mounted:
                for item in sorted(temporary.iterdir(), key=lambda item: item.name == last):
                    if item.is_dir():
                        shutil.rmtree(target / item.name, ignore_errors=True)
                    item.replace(target / item.name)
                done()
            else:
                _swap(temporary, target, done)
            made = []
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        for parent in made:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A hidden folder within another for the time of the block; `tidy` removes what a stopped process leaves of it."""
    path = _hidden(folder)
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def one_at_a_time(path: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until no other process is in such a block for the same path; its folder is locked, where that can be done.

    Nothing is left behind, and a process that ends lets go.
    """
    handle = None
    with suppress(OSError, ImportError):  # other systems, and file systems without locks
        import fcntl

        handle = os.open(Path(path).resolve().parent, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


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


def tidy(path: str | os.PathLike[str]) -> list[str]:
    """Remove what stopped processes left beside a destination, and put back what they had moved away from there.

    Parameters
    ----------
    path : path
        Where a file or folder is to go.

    Returns
    -------
    sentences : list of str
        What was done.
    """
    target, said, n_left = Path(os.path.realpath(path)), [], 0
    folders = [folder for folder in (target.parent, target) if folder.is_dir()]
    for item in sorted(item for folder in folders for item in folder.glob(f"{PREFIX}*")):
        found = HIDDEN.fullmatch(item.name)
        if found is None or found["host"] != _host() or _alive(int(found["process"])):
            continue
        if found["name"] == target.name and not target.exists():
            item.rename(target)
            said.append(f"{path} was put back, as a process was stopped while it replaced it.")
            continue
        if item.is_dir():
            shutil.rmtree(item, ignore_errors=True)
        else:
            item.unlink(missing_ok=True)
        n_left += 1
    if n_left:
        who = "a stopped process" if n_left == 1 else f"{n_left} stopped processes"
        said.append(f"Removed what {who} had left beside {path}.")
    return said


def _hidden(folder: Path, name: str = "") -> Path:
    return folder / f"{PREFIX}{_host()}-{os.getpid()}-{secrets.token_hex(6)}{name}"


def _host() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _alive(process: int) -> bool:
    """Whether a process of this machine exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # file systems that cannot
            raise
    finally:
        os.close(descriptor)


def _sync_names(folder: Path) -> None:
    """Bring the names in a folder to the disk, if that is possible: what they name is whole with or without it."""
    with suppress(OSError):
        _sync(folder)


def _sync_all(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            _sync(Path(root, name))
        _sync(Path(root))


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the temporary file, with the name that the user knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _swap(new: Path, target: Path, done: Callable[[], None]) -> None:
    """Move a folder to where another may be, in one step where the system can; at any moment one of them is found."""
    if not target.exists():
        new.rename(target)
        done()
    elif _exchange(new, target):
        done()
        shutil.rmtree(new, ignore_errors=True)
    else:
        old = _hidden(target.parent, f"{OLD}{target.name}")  # `tidy` puts it back if this process is stopped here
        target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise
        done()
        shutil.rmtree(old, ignore_errors=True)
    _sync_names(target.parent)


def _exchange(a: Path, b: Path) -> bool:
    """Let two folders change places in one step; False if the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return rename(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), EXCHANGE) == 0


def may_pass(error: OSError) -> bool:
    """Whether another attempt may succeed, as after an error of a network."""
    return error.errno not in STAYING
