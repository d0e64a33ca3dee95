"""`python -m benchmarks.faults.regressions --at COMMIT`: whether the tests of what was found fail where it stood.

The tests of today run with the sources of another commit. A test that crashes the process, does not end, or needs a
part that was not there has failed as well, and is told so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .findings import OF_ATTACK

ROOT = Path(__file__).parents[2]
BEFORE = "132baec"  # the last commit before anything was done about what an attack had found
SECONDS = 300  # for one test
PASSES = "passes"


def main() -> int:
    """Print what becomes of each test, and return 1 if all tests of something that was found pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at", default=BEFORE, help=f"commit (default: {BEFORE})")
    parser.add_argument("--only", type=int, action="append", help="numbers of what was found (default: all)")
    arguments = parser.parse_args()
    quiet = 0
    with sources_of(arguments.at) as folder:
        for number, (what, tests) in enumerate(OF_ATTACK, start=1):
            if arguments.only and number not in arguments.only:
                continue
            print(f"{number}. {what}", flush=True)
            ends = []
            for file, name in tests:
                ends.append(end_of(folder, file, name))
                print(f"   {name}: {ends[-1]}", flush=True)
            quiet += set(ends) == {PASSES}
    print(f"{quiet} of what was found would not have been seen by its tests")
    return quiet > 0


@contextmanager
def sources_of(commit: str) -> Iterator[Path]:
    """A folder with the sources of a commit, and the tests and campaigns of today."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
        try:
            for part in ("tests", "benchmarks"):
                shutil.rmtree(folder / part)
                shutil.copytree(ROOT / part, folder / part)
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def end_of(folder: Path, file: str, name: str) -> str:
    """What becomes of a test."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-k", name]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "SCIPY_ARRAY_API": "1"}
    try:
        done = subprocess.run(
            [*command, f"tests/{file}"], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"does not end within {SECONDS} s"
    if done.returncode < 0:
        return f"crashes the process (signal {-done.returncode})"
    missing = [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("E   ") and "Error: " in line]
    if "ERROR collecting" in done.stdout:
        return f"needs what is not there ({missing[0] if missing else 'an import'})"
    return PASSES if done.returncode == 0 else "fails"


if __name__ == "__main__":
    sys.exit(main())
