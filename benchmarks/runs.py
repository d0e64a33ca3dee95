"""Runs side by side, compared with one run at a time, now and at a commit that had one at a time only.

`python -m benchmarks.runs FOLDER N_CLUSTERS RUNS ITERATIONS` prints the seconds of RUNS calls of the loop, one run
each, with the mtcluster on the path, which may be an older one.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.data import Shape
from benchmarks.fits import both_floors, floor_of_runs, load_rows, saved
from benchmarks.rows import Row, measured
from sklearn.base import BaseEstimator

from benchmarks import data, timing
from mtcluster.core.model import Model
from mtcluster.core.solver import alternate, first_state
from mtcluster.estimators.input import open_rows

BEFORE = "86ece2a"  # the last commit whose loop carries one run
FEW, MANY = 2, 22  # iterations: their difference counts where an iteration is timed
ROOT = Path(__file__).parents[1]


def measure_runs(shape: Shape, many_runs: int, rounds: int) -> Iterator[Row]:
    """Runs side by side over the same runs one by one, and an iteration of them over its floor."""
    X, tasks = data.make_rows(shape)
    c = shape.n_clusters
    model = Model(c, within_weight=0.5, n_components=c)
    together, each = f"{many_runs} runs side by side", f"{many_runs} calls with one run"
    with saved(X, tasks) as folder, ExitStack() as stack:
        engine = stack.enter_context(open_rows(BaseEstimator(), X, tasks, reset=True, centered=model.free_origin))
        before = stack.enter_context(_before())
        starts = [engine.split(labels, np.asarray) for labels in start_labels(shape.n, c, many_runs)]
        state = first_state(engine, model, starts)
        singles = [first_state(engine, model, [start]) for start in starts]
        calls: dict[str, Callable[[], Any]] = {
            together: partial(alternate, engine, model, state, max_iter=MANY, tol=-np.inf),
            each: lambda: [alternate(engine, model, one, max_iter=MANY, tol=-np.inf) for one in singles],
        }
        measurements = {name: partial(_timed, call) for name, call in calls.items()}
        if before is not None:
            then = f"{each}, before (commit {BEFORE})"
            measurements[then] = partial(_in_child, before, folder, c, many_runs)
        found = {name: measures["seconds"] for name, measures in timing.in_turns(measurements, rounds).items()}
        for name, seconds in found.items():
            yield measured("runs", shape, name, f"{MANY} iterations", 1e3 * seconds, "ms")
            if name != together:
                limit = "" if name == each else ">= 6"
                yield measured("runs", shape, name, "over runs side by side", seconds / found[together], "×", limit)
        for R in sorted({1, min(5, many_runs), many_runs}):
            state = first_state(engine, model, starts[:R])
            loops = {n: partial(alternate, engine, model, state, max_iter=n, tol=-np.inf) for n in (FEW, MANY)}
            floors = both_floors(floor_of_runs(X, R * c), MANY - FEW)
            best = timing.best_times({**floors, **loops}, rounds)
            least = min(best[name] for name in floors) / (MANY - FEW)
            seconds = (best[MANY] - best[FEW]) / (MANY - FEW)
            name = f"an iteration, R = {R}"
            yield measured("runs", shape, name, "an iteration", 1e3 * seconds, "ms")
            yield measured("runs", shape, name, "its floor", 1e3 * least, "ms")
            limit = "<= 1.5" if R == many_runs else ""
            yield measured("runs", shape, name, "over the floor", seconds / least, "×", limit)


def start_labels(n: int, n_clusters: int, runs: int) -> list[Any]:
    """Random labels of the rows, one array for each run."""
    rng = np.random.default_rng(0)
    return [rng.integers(n_clusters, size=n) for _ in range(runs)]


def _timed(call: Callable[[], Any]) -> timing.Measures:
    return {"seconds": timing.seconds_of(call)}


@contextmanager
def _before() -> Iterator[Path | None]:
    """The sources of the state before; None, with a printed reason, where this is no checkout that has it."""
    try:
        archive = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print(f"runs before are left out: git does not know commit {BEFORE} here.", flush=True)
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
            tar.extractall(name, filter="data")
        yield Path(name) / "src"


def _in_child(source: Path, folder: Path, n_clusters: int, runs: int) -> timing.Measures:
    """The calls with one run each, in a process that imports the mtcluster of `source`."""
    command = [sys.executable, "-m", "benchmarks.runs", str(folder), str(n_clusters), str(runs), str(MANY)]
    path = os.pathsep.join([str(source), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    answer = json.loads(done.stdout.splitlines()[-1])
    if not Path(answer["source"]).is_relative_to(source):
        raise RuntimeError(f"mtcluster was imported from {answer['source']}, not from {source}.")
    return {"seconds": answer["seconds"]}


def main(folder: str, n_clusters: str, runs: str, iterations: str) -> None:
    X, tasks = load_rows(Path(folder))
    c, max_iter = int(n_clusters), int(iterations)
    model = Model(c, within_weight=0.5, n_components=c)
    several = "starts" in inspect.signature(first_state).parameters
    with open_rows(BaseEstimator(), X, tasks, reset=True, centered=model.free_origin) as engine:
        states = []
        for labels in start_labels(len(tasks), c, int(runs)):
            start: Any = engine.split(labels, np.asarray)
            states.append(first_state(engine, model, [start] if several else start))
        alternate(engine, model, states[0], max_iter=FEW, tol=-np.inf)  # starts threads
        seconds = timing.seconds_of(
            lambda: [alternate(engine, model, state, max_iter=max_iter, tol=-np.inf) for state in states]
        )
    print(json.dumps({"seconds": seconds, "source": inspect.getfile(alternate)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
