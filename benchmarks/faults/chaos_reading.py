"""How a chunk is read on a worker, where a file says that something shall happen there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

ARMED, DONE = "armed", "done"
_held: list[bytearray] = []


def read(block: Any, folder: str) -> Any:
    """The chunk, unless something happens."""
    armed = Path(folder, ARMED)
    if not len(block) or not armed.exists():
        return block
    what = armed.read_text()
    if what == "fail always":
        raise OSError("the line is down")
    if what == "hold" and not _held:
        _fill(0.86)
    if what == "fill":
        _fill(1.5)
        time.sleep(30)
    if what in ("fail once", "die once") and _first(Path(folder, DONE)):
        if what == "die once":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError("the line is down")
    return block


def arm(folder: Path, what: str) -> None:
    """Let something happen from now on."""
    (folder / f".{ARMED}").write_text(what)
    (folder / f".{ARMED}").rename(folder / ARMED)


def disarm(folder: Path) -> None:
    """Let nothing happen any more."""
    (folder / ARMED).unlink(missing_ok=True)


def _first(path: Path) -> bool:
    """Whether this is the first call for a file, of all processes."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _fill(share: float) -> None:
    """Hold a share of the memory that the worker may have, and give its nanny time to see it."""
    from distributed import get_worker

    limit = get_worker().memory_manager.memory_limit
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    _held.append(bytearray(os.urandom(1024)) * max(int(share * limit - resident) // 1024, 1))
