"""Count the files and functions that a default fit goes through: `python -m benchmarks.hops [--rooms]`.

A function counts once, however often it is called; those that Python makes for comprehensions and dataclasses do not.
`changes` are calls from one room into another, as often as they happen.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

import mtcluster
from mtcluster import SPMTC
from mtcluster.datasets import make_multitask_blobs

HOME = Path(mtcluster.__file__).parent
MADE = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>", "<module>")


class Walk:
    """Follows the calls of Python functions of the library."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.changes = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Note a call."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(HOME)) or code.co_name in MADE:
            return
        self.functions.add(code)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(str(HOME)):
            caller = caller.f_back
        self.changes += caller is not None and room(caller.f_code) != room(code)


def room(code: CodeType) -> str:
    """The room of a function."""
    return Path(code.co_filename).relative_to(HOME).parts[0]


def walked() -> Walk:
    """Fit three tasks with the defaults, on one thread, and follow the calls; imports are done before."""
    X, _, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    SPMTC(4, random_state=0, n_jobs=1).fit(X, tasks=tasks)
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        SPMTC(4, random_state=0, n_jobs=1).fit(np.array(X), tasks=tasks)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", action="store_true", help="also the functions of each room")
    walk = walked()
    files = {code.co_filename for code in walk.functions}
    print(f"{len(files)} files, {len(walk.functions)} functions, {walk.changes} changes of room")
    if parser.parse_args().rooms:
        for name, count in Counter(room(code) for code in walk.functions).most_common():
            print(f"{name:16} {count}")


if __name__ == "__main__":
    main()
