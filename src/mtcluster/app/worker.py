"""A process of its own that does what the app asks for: one line of JSON in for each job, lines of JSON out.

It ends as soon as the app does, whichever way that ends: its standard input is closed then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from os import _exit as end_at_once
from queue import SimpleQueue
from typing import Any, TextIO

ALLOWED = ("command", "look", "check", "python_lines", "page", "summary_of", "labelled", "flow", "column", "selection",
           "why")  # fmt: skip


def main() -> None:
    """Do jobs until there are no more."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no answer
    jobs: SimpleQueue[dict[str, Any]] = SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    from . import pipeline

    _say(out, {"ready": True})
    while True:
        _say(out, answer(jobs.get(), pipeline, lambda event: _say(out, event)))


def answer(job: dict[str, Any], pipeline: Any, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Do a job, and return its result, or what went wrong in words for the user."""
    from ..cli.errors import InputError
    from ..cli.stopping import working

    try:
        assert job["do"] in ALLOWED
        os.chdir(job["cwd"])
        with working():
            told = {"tell": tell} if job["do"] == "command" else {}
            return {"result": getattr(pipeline, job["do"])(**job["with"], **told)}
    except InputError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "There is not enough memory for these data."}
    except (OSError, ImportError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    except Exception as error:
        traceback.print_exc()
        return {"error": f"This is a bug in mtcluster: {type(error).__name__}: {error}"}


def _listen(jobs: SimpleQueue[dict[str, Any]]) -> None:
    """Take jobs from standard input; its end is the end of the process, whatever it does."""
    for line in sys.stdin:
        jobs.put(json.loads(line))
    end_at_once(0)


def _say(out: TextIO, event: dict[str, Any]) -> None:
    out.write(json.dumps(event) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
