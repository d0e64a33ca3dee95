"""Ctrl-C and the stop signal of batch systems: heard at any moment, and told with what had been written by then.

An exception that a signal raises can get lost: Python ignores those of finalizers, and extension modules may drop them.
So a stop is also kept in mind, and `check` raises it again between steps of the work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from . import signals


@dataclass
class Work:
    """A command that runs: whether it was stopped, whether it is over, and what it has put in its place."""

    stopped: bool = False
    over: bool = False
    written: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """What was written, as the end of a sentence."""
        return f"{' and '.join(self.written)} was written" if self.written else "nothing was written"


_work: ContextVar[Work | None] = ContextVar("work", default=None)
_latest: Work | None = None  # that of the process, as signals come in any context


@contextmanager
def working() -> Iterator[Work]:
    """Do the work of a command."""
    global _latest
    work = _latest = Work()
    token, before = _work.set(work), sys.unraisablehook
    signals.listener = _heard

    def unraisable(error: Any) -> None:
        if not issubclass(error.exc_type, KeyboardInterrupt | MemoryError):  # the command itself tells these
            before(error)

    sys.unraisablehook = unraisable
    try:
        yield work
    finally:
        work.over = True
        sys.unraisablehook = before
        _work.reset(token)


def check() -> None:
    """Raise the exception of a stop again if it got lost."""
    work = _work.get()
    if work is not None and work.stopped:
        raise KeyboardInterrupt


def written(path: Any) -> None:
    """Keep in mind that an output has taken its place."""
    work = _work.get()
    if work is not None:
        work.written.append(str(path))


def exit_code() -> int:
    """Find the exit code of a stopped process.

    CPython ends a process by SIGINT, whatever its exit code, if an interrupt came out of the last `exec` of a text, as
    libraries make classes with; another one lets it forget that.
    """
    exec("")
    return 130


def _heard() -> None:
    if _latest is not None and not _latest.over:
        _latest.stopped = True
        raise KeyboardInterrupt
