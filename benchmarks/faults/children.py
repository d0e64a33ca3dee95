"""Commands in forks of this process, which has imported everything: quick to start, and theirs alone to break."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

MEMORY, SECONDS = 4 * 2**30, 60
IMPORTED = (
    "check", "fit", "predict", "adapt", "report", "rename", "large.fit", "large.predict",
)  # fmt: skip


def import_all() -> None:
    """Import what the commands import when they run."""
    for name in IMPORTED:
        import_module(f"mtcluster.cli.{name}")
    for name in ("pandas", "pyarrow.parquet", "pyarrow.feather", "pyarrow.dataset", "openpyxl", "skops.io", "jinja2"):
        import_module(name)
    import_module("mtcluster.engines.dask_worker")


def in_child(
    arguments: list[str],
    said: Path,
    begin: Callable[[], None] | None = None,
    end: Callable[[], None] | None = None,
    seconds: int = SECONDS,
) -> tuple[int, str]:
    """The exit code (negative: a signal) of the command line in a fork of this process, and what it printed.

    Parameters
    ----------
    arguments : list of str
        Those of `mtcluster`.
    said : Path
        File for what it prints.
    begin, end : callable, optional
        What the child does first, and last.
    seconds : int
        It is killed after this time, with SIGALRM.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.alarm(seconds)
            code = _exit_code(arguments, begin)
            if end is not None:
                end()
            os._exit(code)
        except BaseException:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text(errors="replace")


def _exit_code(arguments: list[str], begin: Callable[[], None] | None) -> int:
    from mtcluster.__main__ import run
    from mtcluster.cli import signals

    signals.heed()  # as `run` does, which may not be the first that is stopped
    sys.argv = ["mtcluster", *arguments]
    try:
        if begin is not None:
            begin()
        code = run()
        sys.setprofile(None)
    except SystemExit as end:
        code = int(end.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    return code
