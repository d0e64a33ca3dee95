"""Files of every kind, mutated by a seeded fuzzer and read by a child process: exit code 0 or 2, and no signal.

The child is a fork of a process that has imported everything, with limits on memory and time. Files are checked, fitted
to and labelled; those of a folder of results are used by the commands that read such folders. Parts of models are also
exchanged for others, with a valid checksum.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from .campaign import Outcome
from .children import import_all, in_child
from .mutations import mutated
from .originals import FIT, RUN, TAMPERED, Original, corpus
from .tampering import tamper

ON_FILES = ("check", "check", "check", "fit", "predict", "adapt")
ON_RESULTS = ("predict", "adapt", "report", "rename")
UPDATE = {"adapt": ("--update",)}  # the tasks are those of the fit
BROKEN = "broken"  # folder of results with a mutated file


def measured(trials: Iterable[int], seed: int = 0) -> Outcome:
    """Mutate and read."""
    import_all()
    outcome = Outcome("Readers")
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):  # a fork does not have the threads of OpenMP
        folder = Path(name)
        originals = corpus(folder)
        for i in trials:
            rng = np.random.default_rng([seed, i])
            kind = list(originals)[i % len(originals)]
            problem = trial(originals[kind], folder, rng)
            outcome.add(kind, problem and f"seed {seed}, trial {i}: {problem}")
    return outcome


def trial(original: Original, folder: Path, rng: np.random.Generator) -> str:
    """What went wrong when a mutated file was read; empty if nothing did."""
    arguments = _of_results(original, folder, rng) if original.in_run else _of_file(original, folder, rng)
    code, said = in_child(arguments, folder / "said.txt")
    if code not in (0, 2):
        return f"{arguments[0]} ended with {code}: {said[-300:]}"
    return f"{arguments[0]} printed a traceback: {said[-300:]}" if "Traceback" in said else ""


def _of_file(original: Original, folder: Path, rng: np.random.Generator) -> list[str]:
    """Write a mutated file, and return a command that reads it."""
    path = folder / f"m.{original.suffix}"
    path.write_bytes(mutated(original.suffix, original.data, rng))
    files = [str(path)] if original.suffix != "mtx" else [str(path), str(folder / "t.mtx")]
    able = ON_FILES if original.suffix not in ("npz", "mtx") else ON_FILES[:4]  # without the names of columns
    command = able[int(rng.integers(len(able)))]
    if command == "check":
        return ["check", *files, *original.options]
    out = str(folder / ("p.csv" if command == "predict" else "o"))
    if command == "fit":
        return ["fit", *files, *original.options, *FIT, "--out", out, "--force"]
    options = original.options if {"--task", "--sheet", "--encoding"} >= set(original.options[::2]) else ()
    return [command, str(folder / RUN), *files, *options, "--out", out, "--force", *UPDATE.get(command, ())]


def _of_results(original: Original, folder: Path, rng: np.random.Generator) -> list[str]:
    """Write a mutated file into a copy of a folder of results, and return a command that reads it."""
    place = folder / BROKEN
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / RUN, place)
    if original.suffix == TAMPERED:
        tamper(place / original.in_run, rng)
    else:
        (place / original.in_run).write_bytes(mutated(original.in_run.rpartition(".")[2], original.data, rng))
    command = ON_RESULTS[int(rng.integers(len(ON_RESULTS)))]
    if command == "rename":
        return ["rename", str(place), "0=north", "1=<b>"]
    if command == "report":
        return ["report", str(place), "--force"]
    out = folder / ("p.csv" if command == "predict" else "o")
    return [command, str(place), str(folder / "t.csv"), "--out", str(out), "--force", *UPDATE.get(command, ())]
