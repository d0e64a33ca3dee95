"""The worker processes of the app: one that stays for short jobs, and a new one for each fit, started beforehand."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST = 2**28  # bytes of one answer
MOST_JOBS = 200  # of the process for short jobs, before a new one takes its place
AT_ONCE = 2  # fits that run side by side; others wait

Event = dict[str, Any]


class WorkerError(ValueError):
    """What went wrong in a worker, in words for the user."""


class Worker:
    """A process that does one job at a time."""

    def __init__(self) -> None:
        self.done = 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Worker:
        """Start the process, in a session of its own: Ctrl-C on the terminal is for the app, which ends it."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mtcluster.app.worker", stdin=pipe, stdout=pipe,
            stderr=None if os.environ.get("MTCLUSTER_APP_DEBUG") else asyncio.subprocess.DEVNULL,
            start_new_session=True, limit=LONGEST,
        )  # fmt: skip
        return self

    @property
    def alive(self) -> bool:
        """Whether it can take a job."""
        return self._process is not None and self._process.returncode is None

    async def run(self, do: str, cwd: Path, tell: Callable[[Event], None] | None = None, **told: Any) -> Any:
        """Do a job, and return its result; `tell` gets its events."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self.done += 1
        try:
            process.stdin.write(json.dumps({"do": do, "cwd": str(cwd), "with": told}).encode() + b"\n")
            await process.stdin.drain()
            while line := await process.stdout.readline():
                event = json.loads(line)
                if "error" in event:
                    raise WorkerError(event["error"])
                if "result" in event:
                    return event["result"]
                if tell is not None:
                    tell(event)
        except ConnectionError:
            pass
        raise WorkerError("The process that did this ended; perhaps there was not enough memory. Try it again.")

    async def stop(self) -> None:
        """End the process, whatever it does."""
        if self.alive and self._process is not None:
            self._process.kill()
        if self._process is not None:
            await self._process.wait()


class Workers:
    """All processes of the app."""

    def __init__(self) -> None:
        self._all: set[Worker] = set()
        self._short: Worker | None = None
        self._spare: asyncio.Task[Worker] | None = None
        self._one = asyncio.Lock()
        self.places = asyncio.Semaphore(AT_ONCE)

    async def _new(self) -> Worker:
        worker = await Worker().start()
        self._all.add(worker)
        return worker

    async def short(self, do: str, cwd: Path, **told: Any) -> Any:
        """Do a short job, after those before it."""
        async with self._one:
            if self._short is None or not self._short.alive or self._short.done >= MOST_JOBS:
                await self.drop(self._short)
                self._short = await self._new()
            worker = self._short
            try:
                return await worker.run(do, cwd, **told)
            except asyncio.CancelledError:  # the page that asked is gone, and its answer must not be the next one's
                await self.drop(worker)
                raise

    def warm(self) -> None:
        """Start the process of the next fit beforehand, as imports take time."""
        if self._spare is None:
            self._spare = asyncio.create_task(self._new())

    async def take(self) -> Worker:
        """Give a process for one job."""
        self.warm()
        assert self._spare is not None
        spare, self._spare = self._spare, None
        worker = await spare
        self.warm()
        return worker if worker.alive else await self._new()

    async def drop(self, worker: Worker | None) -> None:
        """End a process."""
        if worker is not None:
            await worker.stop()
            self._all.discard(worker)

    async def close(self) -> None:
        """End all processes."""
        if self._spare is not None:
            await self._spare
        for worker in list(self._all):
            await self.drop(worker)
