"""Faults in Dask clusters while something is fitted: the same labels come out, or one sentence.

Each trial is a process of its own (`chaos_trial`) with a cluster of processes on the loopback. The fault comes with the
n-th job of the fit. Whatever happens, the trial ends in time, leaves no process behind, and a cluster that lives can be
used again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from .campaign import Outcome
from .chaos_faults import FAULTS, SAME, TOLD

ROOT = Path(__file__).parents[2]
SECONDS = 90  # of a trial
LINGERING = 10  # seconds in which its processes end
GOOD = (SAME, TOLD)


def measured(trials: Iterable[int], seed: int = 0) -> Outcome:
    """Start clusters, and disturb them."""
    outcome = Outcome("Dask clusters")
    for i in trials:
        kind = list(FAULTS)[i % len(FAULTS)]
        problem = trial(seed, i)
        outcome.add(kind, problem and f"seed {seed}, trial {i}: {problem}")
    return outcome


def trial(seed: int, number: int) -> str:
    """What went wrong; empty if nothing did."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "said.txt").open("w+") as said:
        command = [sys.executable, "-m", "benchmarks.faults.chaos_trial", str(seed), str(number), folder]
        child = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True, cwd=ROOT)
        try:
            code = child.wait(SECONDS)
            left = _left(child.pid)
        except subprocess.TimeoutExpired:
            code, left = None, False
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        said.seek(0)
        lines = said.read().strip().splitlines() or [""]
    if code is None:
        return f"no end within {SECONDS} s; {' '.join(lines[-3:])[-300:]}"
    if code or lines[-1] not in GOOD:
        return f"ended with {code}; {' '.join(lines[-3:])[-500:]}"
    return "processes are left" if left else ""


def _left(group: int) -> bool:
    """Whether processes of a group are still there after some seconds."""
    until = monotonic() + LINGERING
    while monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        sleep(0.1)
    return True
