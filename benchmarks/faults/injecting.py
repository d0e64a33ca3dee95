"""Calls that fail, or at which the process is stopped, by counting them: the n-th of a kind, as SQLite tests itself."""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FAILS = "fails"
STOPS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
EFFECTS = (FAILS, *STOPS)
ERRNO = {
    "open": errno.EMFILE, "write": errno.ENOSPC, "fsync": errno.EIO, "rename": errno.EIO, "mkdir": errno.ENOSPC,
    "remove": errno.EIO, "process start": errno.EAGAIN, "worker call": errno.EIO,
}  # fmt: skip
ALLOCATION, THREAD = "allocation", "thread start"
LOCKS, RELEASES = (type(threading.Lock()), type(threading.RLock())), ("__exit__", "release")


@dataclass
class Fault:
    """What happens at the n-th call of a kind; n = 0: nothing, calls are only counted."""

    kind: str = ALLOCATION
    n: int = 0
    effect: str = FAILS
    seen: Counter[str] = field(default_factory=Counter)

    def comes(self, kind: str) -> bool:
        """Count a call; True if it is to fail. Signals are sent here."""
        self.seen[kind] += 1
        if kind != self.kind or self.seen[kind] != self.n:
            return False
        if self.effect == FAILS:
            return True
        os.kill(os.getpid(), STOPS[self.effect])
        return False

    def check(self, kind: str) -> None:
        """Count a call, and raise what the system says if such a call fails."""
        if not self.comes(kind):
            return
        if kind == ALLOCATION:
            raise MemoryError
        if kind == THREAD:
            raise RuntimeError("can't start new thread")
        raise OSError(ERRNO[kind], os.strerror(ERRNO[kind]))

    def inject(self) -> None:
        """Let calls count, for the rest of this process."""
        from mtcluster.engines import dask_worker

        self._replace("fsync", os, "fsync")
        self._replace("mkdir", os, "mkdir")
        self._replace("remove", os, "unlink", "remove", "rmdir")
        self._replace("rename", os, "rename", "replace")
        self._replace(THREAD, threading, "_start_new_thread")
        self._replace("process start", subprocess.Popen, "_execute_child")
        self._replace("worker call", dask_worker, "run_job", "summarize_chunk", "keep")
        self._exchanges()
        io.open = builtins.open = _opener(self)  # type: ignore[assignment]
        if self.kind == ALLOCATION:
            sys.setprofile(self._heard)

    def _replace(self, kind: str, where: Any, *names: str) -> None:
        for name in names:
            setattr(where, name, self._counted(kind, getattr(where, name)))

    def _counted(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.check(kind)
            return call(*args, **kwargs)

        return counted

    def _exchanges(self) -> None:
        """The exchange of two names in one step says no, where other calls raise an error."""
        from mtcluster._utils import files

        exchange = files._exchange
        files._exchange = lambda a, b: not self.comes("rename") and exchange(a, b)

    def _heard(self, _: Any, event: str, function: Any) -> None:
        """Any function written in C may ask for memory, unless it releases a lock: the profiler hears of them first."""
        releases = isinstance(getattr(function, "__self__", None), LOCKS) and function.__name__ in RELEASES
        if event == "c_call" and not releases:
            self.check(ALLOCATION)


def _opener(fault: Fault) -> Callable[..., Any]:
    """An `open` whose files count what is written into them; a write that fails has written a half."""
    usual = io.open

    class Counted(io.FileIO):
        def write(self, data: Any) -> int:
            if fault.kind == "write" and fault.seen["write"] + 1 == fault.n:
                super().write(bytes(data)[: len(data) // 2])
            fault.check("write")
            return super().write(data)

    def opened(file: Any, mode: str = "r", buffering: int = -1, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(("encoding", "errors", "newline", "closefd", "opener"), args, strict=False)) | kwargs
        if isinstance(file, int) or not set(mode) & set("wxa") or "+" in mode or given.get("opener"):
            return usual(file, mode, buffering, *args, **kwargs)
        fault.check("open")
        buffer = io.BufferedWriter(Counted(file, mode.replace("b", "").replace("t", "")))
        if "b" in mode:
            return buffer
        return io.TextIOWrapper(buffer, **{name: given.get(name) for name in ("encoding", "errors", "newline")})

    return opened
