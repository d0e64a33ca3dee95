"""What a user waits for: the command line, imports, the choice of the number of clusters, and stability."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.data import Shape
from benchmarks.rows import Row, measured

from benchmarks import data, timing
from mtcluster import SPMTC
from mtcluster.datasets import load_digits_tasks
from mtcluster.model_selection import select_n_clusters, stability

FIT = "mtcluster fit, number of clusters chosen, report written"


def measure_commands(table: Shape, medium: Shape, rounds: int) -> Iterator[Row]:
    """Processor time of commands; choosing the number of clusters, and stability, in default fits."""
    yield from _commands(table, rounds)
    X, _, tasks = load_digits_tasks()
    cases = {
        str(table): (*data.make_rows(table), table.n_clusters),
        "1 797 × 64 digits tasks": (X, tasks, 10),
        str(medium): (*data.make_rows(medium), medium.n_clusters),
    }
    for case, (X, tasks, c) in cases.items():
        model = SPMTC(c, random_state=0).fit(X, tasks=tasks)
        calls = {
            "a default fit": partial(SPMTC(c, random_state=0).fit, X, tasks=tasks),
            "select_n_clusters, 2 to 10": partial(select_n_clusters, X, tasks=tasks, random_state=0),
            "stability": partial(stability, model, X, tasks=tasks),
        }
        seconds = timing.best_times(calls, rounds)
        fit = seconds["a default fit"]
        limits = {"select_n_clusters, 2 to 10": "<= 6"}
        for name, value in seconds.items():
            yield measured("commands", case, name, "time", value, "s")
            if name != "a default fit":
                yield measured("commands", case, name, "in default fits", value / fit, "×", limits.get(name, ""))


def _commands(table: Shape, rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "table.csv", table)
        fit = ["-m", "mtcluster", "fit", "table.csv", "--task", "task", "--out", "fitted", "--force", "--quiet"]
        commands = {
            "python -c pass": ["-c", "pass"],
            "mtcluster --help": ["-m", "mtcluster", "--help"],
            "import mtcluster": ["-c", "import mtcluster"],
            "from mtcluster import SPMTC": ["-c", "from mtcluster import SPMTC"],
            FIT: fit,
        }
        calls = {
            command: partial(timing.cpu_seconds_of, [sys.executable, *words], folder)
            for command, words in commands.items()
        }
        found = timing.in_turns(calls, rounds)
        if not (folder / "fitted" / "report.html").exists():
            raise RuntimeError("mtcluster fit has not written its report.")
    for command, measures in found.items():
        case = f"a table of {table.n} rows and {table.d} columns" if command == FIT else ""
        yield measured("commands", case, command, "processor time", measures["cpu"], "s", "<= 3" * (command == FIT))
        yield measured("commands", case, command, "time", measures["seconds"], "s")


def write_table(path: Path, shape: Shape) -> None:
    """The rows of a shape as a CSV file with a column of tasks."""
    X, tasks = data.make_rows(shape)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["task", *(f"x{j + 1}" for j in range(shape.d))])
        for task, values in zip(tasks, np.round(X, 4).tolist(), strict=True):
            writer.writerow([f"task {task + 1}", *values])
