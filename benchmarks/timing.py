"""Time and memory: the best of several measurements, taken in turns, so that other load affects all methods equally."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

MB = 1e6
ENOUGH = 10.0  # seconds: a call that has taken longer in total is not measured again

SEPARATOR = "|"  # of the names of methods in a command

Measures = dict[str, float]  # seconds and other measures


def seconds_of(call: Callable[[], Any]) -> float:
    """Wall-clock time of one call."""
    gc.collect()
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_turns(measurements: Mapping[Any, Callable[[], Measures]], rounds: int) -> dict[Any, Measures]:
    """The smallest of each measure; a round makes each measurement once."""
    taken: dict[Any, list[Measures]] = {key: [] for key in measurements}
    for _ in range(rounds):
        for key, measurement in measurements.items():
            if sum(measures["seconds"] for measures in taken[key]) < ENOUGH:
                taken[key].append(measurement())
    return {key: {name: min(turn[name] for turn in turns) for name in turns[0]} for key, turns in taken.items()}


def best_times(calls: Mapping[Any, Callable[[], Any]], rounds: int) -> dict[Any, float]:
    """The shortest time of each call, taken in turns."""

    def timed(call: Callable[[], Any]) -> Measures:
        return {"seconds": seconds_of(call)}

    best = in_turns({key: partial(timed, call) for key, call in calls.items()}, rounds)
    return {key: measures["seconds"] for key, measures in best.items()}


def best_in_children(folder: Path, methods: Sequence[str], n_clusters: int, rounds: int) -> dict[str, Measures]:
    """Shortest time and smallest peak memory of methods of `benchmarks.fits`, each in its own process."""
    return in_turns({method: partial(in_child, folder, method, n_clusters) for method in methods}, rounds)


def in_child(folder: Path, method: str, n_clusters: int) -> Measures:
    """Time, peak memory and iterations of a method of `benchmarks.fits` in its own process, on saved rows."""
    command = [sys.executable, "-m", "benchmarks.fits", str(folder), method, str(n_clusters)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def alternating_in_child(folder: Path, methods: Sequence[str], n_clusters: int, rounds: int) -> dict[str, float]:
    """Shortest time of methods of `benchmarks.fits`, taken in turns in one new process, on saved rows."""
    command = [sys.executable, "-m", "benchmarks.fits", str(folder), SEPARATOR.join(methods), str(n_clusters)]
    done = subprocess.run([*command, str(rounds)], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def cpu_seconds_of(command: Sequence[str], cwd: Path | None = None) -> Measures:
    """Processor time (user and system) of a command and its children, and its wall-clock time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=cwd)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"seconds": wall, "cpu": cpu}


def memory() -> tuple[float, float]:
    """Resident memory of this process now, and its largest so far, in MB."""
    status = Path("/proc/self/status")
    if not status.exists():  # not Linux: the peak is used for both
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MB
        return peak, peak
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    now, peak = (int(lines[key].split()[0]) * 1024 / MB for key in ("VmRSS", "VmHWM"))
    return now, peak


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Exponent of the power law that fits best, on a log-log scale."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
