"""Signals that stop the process, heeded before anything is imported that takes time."""

import signal
from os import _exit as end_at_once
from os import write
from typing import Any

listener: Any = None  # function that is called at a stop, once there is work that could be stopped


def heed() -> None:
    """Let signals stop this process, unless they are ignored, as those of a process in the background may be."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:
            signal.signal(number, _stop)


def _stop(number: int, frame: Any) -> None:
    if listener is not None:
        listener()
        return
    try:  # modules are being imported
        write(2, b"mtcluster: stopped; nothing was written.\n")
    finally:
        end_at_once(130)
