"""Compare what two states of the library say, to the last digit: `python -m benchmarks.golden --against COMMIT`.

Every set of the data folder (`MTCLUSTER_DATA`) and a dozen generated ones are fitted by all estimators with many
settings; labels, predictions, centres, decisions, explanations, reports, files and refusals are recorded, and compared
with those of a commit. Exit code 1 where anything differs. What a commit says is kept in `build/golden`, by its hash.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any

from . import compare, data
from .commands import COMMANDS, ON_DATA, record_command
from .fits import FITS, on, record_fit
from .flows import FLOWS, record_flow
from .record import Record, restore, save

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "golden"
RECORDER = ("data.py", "record.py", "fits.py", "flows.py", "commands.py")
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PATIENCE = 900  # seconds that the cases of a set may take
ON_COMMANDS = "commands"  # a set of its own
FEW_FITS = {
    data.OF_LIBRARIES: (),
    data.UNLINKED: ("SPMTC", "ASI", "PerTask"),  # others are refused there
    data.MANY_ROWS: (
        "SPMTC", "LSSMTC", "mixture", "ASI", "SPMTC soft, λ1 = 0.5", "SPMTC hard, per-task", "SPMTC weights",
        "SPMTC float32", "SPMTC as dict, threads", "LSSMTC fixed", "mixture diag", "PerTask ASI",
    ),
}  # fmt: skip
QUICK = ("iris-two-tasks", "blobs-moved", "blobs-absent", "counts", "missing", "columns", "webkb", ON_COMMANDS)


def cases_of(name: str) -> list[str]:
    """All cases of a set."""
    if name == ON_COMMANDS:
        return [case for case in COMMANDS if case != ON_DATA or os.environ.get("MTCLUSTER_DATA")]
    fits = FEW_FITS.get(name, on(name))
    return [*fits, *(case for case, (_, sets) in FLOWS.items() if name in sets)]


def wanted(arguments: argparse.Namespace, folder: Path | None) -> dict[str, list[str]]:
    """Set → the cases that are asked for."""
    known = [*data.names(folder), ON_COMMANDS]
    unknown = [name for name in arguments.sets if name not in known]
    if unknown:
        raise SystemExit(f"golden: no set is called {', '.join(unknown)}; there are {', '.join(known)}")
    names = arguments.sets or [name for name in known if not arguments.quick or name in QUICK]
    found = {}
    for name in names:
        cases = cases_of(name)
        if arguments.quick and not arguments.only:
            cases = cases[:: 2 if name in ("blobs-moved", "missing") else 3]
        found[name] = [case for case in cases if any(fnmatch(case, one) for one in arguments.only or ["*"])]
    return {name: cases for name, cases in found.items() if cases}


def stamp() -> str:
    """What a record depends on beside the commit: the recorder itself, and versions."""
    import numpy
    import scipy
    import sklearn

    trees = [ast.dump(ast.parse((Path(__file__).parent / name).read_text(encoding="utf-8"))) for name in RECORDER]
    versions = [sys.version, *(module.__version__ for module in (numpy, scipy, sklearn))]
    return hashlib.sha256("\n".join([*trees, *versions]).encode()).hexdigest()


def record_here(name: str, cases: list[str], out: Path, folder: Path | None) -> None:
    """Record cases of a set with the library on the path, in this process: a file for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = None if name == ON_COMMANDS else data.load(name, folder)
    for i, case in enumerate(cases):
        record, began = Record(), perf_counter()
        try:
            if rows is None:
                record_command(case, record)
            else:
                (record_fit if case in FITS else record_flow)(case, rows, record)
        except Exception as error:  # of the recorder: it shows as a difference, or as the same in both
            record.values["crashed"] = f"{type(error).__name__}: {error}"
        save(out / f"{i}.npz", "", {case: (record, perf_counter() - began)})


def record_set(source: Path, name: str, cases: list[str], path: Path, mark: str) -> None:
    """Record those cases of a set that are not there yet, in a process of its own; one that ends it costs no others."""
    there, began = restore(path, mark), perf_counter()
    left = [case for case in cases if case not in there]
    if not left:
        return
    n = len(left)
    while left:
        with tempfile.TemporaryDirectory() as scratch:
            why = in_process(source, name, left, Path(scratch))
            for file in Path(scratch).glob("[0-9]*.npz"):
                there |= restore(file)
        left = [case for case in left if case not in there]
        if left:
            there[left[0]] = Record(), 0.0
            there[left.pop(0)][0].values["crashed"] = why
    save(path, mark, there)
    print(f"  {name:24} {n:3} cases {perf_counter() - began:7.1f} s", file=sys.stderr, flush=True)


def in_process(source: Path, name: str, cases: list[str], out: Path) -> str:
    """Record cases in a process with the library of `source`; how it ended."""
    words = ["--child", str(out), "--sets", name, *(word for case in cases for word in ("--case", case))]
    places = {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "PYTHONHASHSEED": "0", "MPLBACKEND": "agg"}
    if name == data.OF_LIBRARIES:
        places["SCIPY_ARRAY_API"] = "1"  # scikit-learn's dispatch needs it
    command, env = [sys.executable, "-m", "benchmarks.golden", *words], os.environ | THREADS | places
    try:
        return f"the process ended with code {subprocess.run(command, env=env, timeout=PATIENCE).returncode}"
    except subprocess.TimeoutExpired:
        return f"the process was stopped after {PATIENCE} s"


def record_state(source: Path, kept: Path, asked: dict[str, list[str]], jobs: int) -> None:
    """Record all that is asked for and not there yet."""
    mark, began = stamp(), perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        works = [
            pool.submit(record_set, source, name, cases, kept / f"{name}.npz", mark) for name, cases in asked.items()
        ]
        for work in works:
            work.result()
    print(f"  {perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def record_commit(commit: str, scratch: Path, asked: dict[str, list[str]], arguments: argparse.Namespace) -> Path:
    """The folder with the records of a commit."""
    full = _git("rev-parse", f"{commit}^{{commit}}").decode().strip()
    with tarfile.open(fileobj=BytesIO(_git("archive", full, "src"))) as tar:
        tar.extractall(scratch, filter="data")
    kept = KEPT / full
    if arguments.fresh:
        for path in kept.glob("*.npz"):
            path.unlink()
    print(f"{commit} ({full[:12]})", file=sys.stderr, flush=True)
    record_state(scratch / "src", kept, asked, arguments.jobs)
    return kept


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


def compared(before: Path, after: Path, asked: dict[str, list[str]]) -> compare.Outcome:
    """Compare two recordings, and print a line for each fit that differs."""
    outcome = compare.Outcome()
    for name, cases in asked.items():
        sides: list[dict[str, Any]] = []
        for folder in (before, after):
            found = restore(folder / f"{name}.npz")
            sides.append({case: found[case] for case in cases if case in found})
        compare.compare_set(name, *sides, outcome)
        for line in outcome.lines(name):
            print(line, flush=True)
    return outcome


def summarize(outcome: compare.Outcome, strict: bool) -> bool:
    """Print the summary; whether it is a failure."""
    for title, keys in (("Not there in the other state", outcome.absent), ("Different", outcome.different)):
        lines = compare.grouped(keys)
        if lines:
            print(f"\n{title}, {len(keys)} in {len(lines)} groups:")
            print("\n".join(f"  {line}" for line in lines[: compare.LINES]))
            if len(lines) > compare.LINES:
                print(f"  … and {len(lines) - compare.LINES} more groups")
    print(
        f"\n{outcome.equal} recorded things are equal ({outcome.identical} of them to the last bit), "
        f"{len(outcome.different)} differ, {len(outcome.absent)} are there in one state alone."
    )
    return bool(outcome.different) or (strict and bool(outcome.absent))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden", description=__doc__)
    parser.add_argument("--against", metavar="COMMIT", help="commit to compare with")
    parser.add_argument("--record", metavar="COMMIT", help="record a commit, and compare nothing")
    listed = {"type": lambda text: text.split(","), "default": []}
    parser.add_argument("--sets", metavar="A,B", help="sets (default: all)", **listed)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="cases, as in 'adapt*'")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (default: 2)")
    parser.add_argument("--quick", action="store_true", help="some cases of some sets, in about a minute")
    parser.add_argument("--fresh", action="store_true", help="record the commit again")
    parser.add_argument("--strict", action="store_true", help="what is not there in one state is a failure too")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--case", action="append", help=argparse.SUPPRESS)
    found = parser.parse_args()
    if not (found.against or found.record or found.child):
        parser.error("--against COMMIT says what to compare with")
    return found


def main() -> int:
    """Record and compare."""
    arguments = parsed()
    folder = Path(os.environ["MTCLUSTER_DATA"]) if os.environ.get("MTCLUSTER_DATA") else None
    if arguments.child:
        record_here(arguments.sets[0], arguments.case, arguments.child, folder)
        return 0
    asked = wanted(arguments, folder)
    with tempfile.TemporaryDirectory() as scratch:
        before = record_commit(arguments.against or arguments.record, Path(scratch, "commit"), asked, arguments)
        if arguments.record:
            return 0
        print("this state", file=sys.stderr, flush=True)
        after = Path(scratch, "now")
        record_state(ROOT / "src", after, asked, arguments.jobs)
        return int(summarize(compared(before, after, asked), arguments.strict))


if __name__ == "__main__":
    sys.exit(main())
