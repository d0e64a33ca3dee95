"""Processes that are killed or stopped over the whole life of a `fit`, from the first import to the last file.

Half of them at the n-th import, half after a part of the time that a run takes. Nothing is lost, nothing stays once the
next run has come, and the exit code says what happened.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from time import perf_counter, sleep

import numpy as np

from .campaign import Outcome
from .children import import_all
from .injecting import STOPS
from .points import EITHER, NEW, OLD, Command, Ground, ground, next_run

MODULE = (sys.executable, "-m", "mtcluster")
AT_IMPORT = """
import os, runpy, signal, sys
n, number, seen = int(sys.argv.pop(1)), int(sys.argv.pop(1)), 0
def heard(event, arguments):
    global seen
    if event == "import":
        seen += 1
        if seen == n:
            os.kill(os.getpid(), number)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(heard)
try:
    runpy.run_module("mtcluster", run_name="__main__", alter_sys=True)
finally:
    if n == 0:
        print("IMPORTS", seen)
"""
EARLY = {"SIGTERM": (-15,), "SIGINT": (-2, 1), "SIGKILL": ()}  # codes before our first line has run
OURS = "mtcluster/cli"


def measured(trials: Iterable[int], seed: int = 0) -> Outcome:
    """Stop processes, in turn by each signal, with and without an earlier run."""
    import_all()
    outcome = Outcome("Kills")
    with ground() as place:
        place.counted(place.commands[0])
        place.counted(place.commands[1])
        life = {command.name: _life(place, command) for command in place.commands[:2]}
        n_imports = _imports(place, place.commands[0])
        for i in trials:
            rng = np.random.default_rng([seed, i])
            stop, command = list(STOPS)[i % 3], place.commands[i // 3 % 2]
            place.prepare(command)
            if i // 6 % 2:
                kind, began = "import", _at_import(command, int(rng.integers(1, n_imports + 1)), stop)
            else:
                kind, began = "time", _after(command, float(rng.uniform(0, 1.05 * life[command.name])), stop)
            problem = _problem(place, command, stop, *began)
            outcome.add(f"{stop} by {kind}, {command.name}", problem and f"seed {seed}, trial {i}: {problem}")
    return outcome


def _life(place: Ground, command: Command) -> float:
    """Seconds that a run takes."""
    place.prepare(command)
    began = perf_counter()
    subprocess.run([*MODULE, *command.arguments], check=True, capture_output=True)
    return perf_counter() - began


def _imports(place: Ground, command: Command) -> int:
    place.prepare(command)
    done = subprocess.run(
        [sys.executable, "-c", AT_IMPORT, "0", "9", *command.arguments], check=True, capture_output=True, text=True
    )
    return int(done.stdout.split("IMPORTS")[1])


def _at_import(command: Command, n: int, stop: str) -> tuple[int, str]:
    arguments = [sys.executable, "-c", AT_IMPORT, str(n), str(int(STOPS[stop])), *command.arguments]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stderr


def _after(command: Command, seconds: float, stop: str) -> tuple[int, str]:
    with subprocess.Popen([*MODULE, *command.arguments], stderr=subprocess.PIPE, text=True) as process:
        sleep(seconds)
        process.send_signal(STOPS[stop])
        _, said = process.communicate(timeout=120)
    return process.returncode, said


def _problem(place: Ground, command: Command, stop: str, code: int, said: str) -> str:
    """What went wrong; empty if nothing did."""
    state, told = place.state(command), said[-300:].strip()
    early = code in EARLY[stop] and OURS not in said
    if state not in (OLD, NEW, EITHER):
        return f"{state} (code {code}: {told})"
    if code not in ((0, -9) if stop == "SIGKILL" else (0, 130)) and not early:
        return f"code {code}: {told}"
    if "Traceback" in said and not early:
        return f"a traceback: {told}"
    if (code == 0 and state == OLD) or ("nothing was written" in said and state == NEW):
        return f"{state} output, code {code}: {told}"
    left = place.leftovers()
    if left and stop != "SIGKILL":
        return f"{left[0]} is left over (code {code}: {told})"
    return next_run(place, command)
