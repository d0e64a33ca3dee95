"""Runs: from what the page asks for to a command, and the command in a process of its own."""

from __future__ import annotations

import asyncio
import csv
import io
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ..cli.errors import InputError
from ..cli.readers import reader_of
from .workers import Event, WorkerError, Workers
from .workspace import DataSet, Run, Workspace

ONE = {"task": "--task", "id": "--id", "label": "--label", "clusters": "--clusters", "seed": "--seed",
       "refits": "--refits", "title": "--title", "impute": "--impute", "scale": "--scale"}  # fmt: skip
LISTS = {"drop": "--drop", "text": "--text"}
NOT_IN_CHECK = ("clusters", "seed", "refits", "title")
NOVELTY = ("flag", "none", "new")


def options_of(settings: dict[str, Any], data: DataSet, *, fit: bool) -> list[str]:
    """Write what the page asks for as options; switches are options that the check itself has offered."""
    found = []
    for name, option in ONE.items():
        value = str(settings.get(name) or "").strip()
        if value and (fit or name not in NOT_IN_CHECK):
            found.append(f"{option}={value}")
    for name, option in LISTS.items():
        values = [str(value) for value in settings.get(name) or ()]
        if values and name == "text":
            found += [f"{option}={value}" for value in values]
        elif values:
            found.append(f"{option}={_as_list(values)}")
    for switch in settings.get("switches") or ():
        if switch not in data.offered:
            raise InputError(f"The check offers no {str(switch)[:60]!r}: reload the page.")
        found += data.offered[switch]["words"]
    return found


def _as_list(values: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()


class Runner:
    """Starts runs, tells how far they are, and ends them."""

    def __init__(self, space: Workspace) -> None:
        self.space, self.workers = space, Workers()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._listeners: set[asyncio.Queue[Event | None]] = set()

    # -------------------------------------------------------------------------------------------- before a fit
    async def look(self, data: DataSet) -> dict[str, Any]:
        """See what is in the files of a data set."""
        if not data.files:
            raise InputError("No file has come in yet.")
        for name in data.files:
            reader_of(Path(name))
        if data.look is None:
            data.look = await self.workers.short("look", data.folder, files=data.files)
            self.space.keep(data)
        return data.look

    async def check(self, data: DataSet, settings: dict[str, Any]) -> dict[str, Any]:
        """Check a data set; the options of what is found can be asked for from then on."""
        argv = [*data.files, *options_of(settings, data, fit=False)]
        found: dict[str, Any] = await self.workers.short("check", data.folder, argv=argv)
        data.offered |= {one["option"]: one for one in found["findings"] if one["option"]}
        return found

    # -------------------------------------------------------------------------------------------- runs
    def fit(self, data: DataSet, settings: dict[str, Any]) -> Run:
        """Start a fit."""
        options = options_of(settings, data, fit=True)
        run = self.space.new_run("fit", data.number, settings)
        run.steps = [["fit", *data.files, *options, f"--out={run.place}"]]
        return self._start(run)

    def join(self, before: Run, data: DataSet, settings: dict[str, Any]) -> Run:
        """Start to label the rows of a data set with a result, or to let them join it."""
        kind, novelty = ("predict", None) if settings.get("how") == "predict" else ("adapt", settings.get("novelty"))
        options = [f"--task={settings['task']}"] if settings.get("task") else []
        if kind == "adapt" and novelty not in NOVELTY:
            raise InputError(f"novelty is {novelty!r}: one of {', '.join(NOVELTY)} is needed.")
        run = self.space.new_run(kind, data.number, settings)
        options += [f"--novelty={novelty}"] if novelty else []
        run.steps = [*before.steps, [kind, before.place, *data.files, *options, f"--out={run.place}"]]
        return self._start(run)

    def merge(self, before: Run, clusters: list[int]) -> Run:
        """Merge clusters in a copy of a result, so that the result itself stays."""
        run = self.space.new_run("merge", before.data, before.settings)
        shutil.copytree(self.space.result(before), self.space.result(run))
        steps = [[one.replace(before.place, run.place) for one in step] for step in before.steps]
        run.steps = [*steps, ["merge", run.place, *map(str, clusters)]]
        return self._start(run)

    async def rename(self, run: Run, names: dict[int, str]) -> None:
        """Give names to clusters of a result."""
        step = ["rename", run.place, *(f"{j}={name}" for j, name in names.items())]
        await self.workers.short("command", self.space.cwd(run), argv=self._placed(run, step))
        run.steps.append(step)
        self.space.keep(run)

    def _start(self, run: Run) -> Run:
        self._tasks[run.number] = asyncio.create_task(self._work(run))
        self._tell({"changed": run.number})
        return run

    def _placed(self, run: Run, step: list[str]) -> list[str]:
        """Write a command for its folder; results of the app are named from the outside where that is another one."""
        return [one.replace("../../runs/", f"{self.space.root}/runs/") if run.data is None else one for one in step]

    async def _work(self, run: Run) -> None:
        """Do the command of a run, in a process of its own."""
        worker = None

        def tell(event: Event) -> None:
            run.stage, run.share = event.get("stage", run.stage), event.get("share", run.share)
            self._tell({"run": run.number, "stage": run.stage, "share": run.share})

        try:
            async with self.workers.places:
                worker = await self.workers.take()
                run.status = "running"
                self._tell({"changed": run.number})
                cwd = self.space.cwd(run)
                await worker.run("command", cwd, tell, argv=self._placed(run, run.steps[-1]))
                if run.kind != "predict":
                    run.summary = await worker.run("summary_of", cwd, folder=self.space.result(run))
                run.status, run.share = "done", 1.0
                self.space.keep(run)
        except WorkerError as error:
            run.status, run.error = "failed", str(error)
        except asyncio.CancelledError:
            run.status = "cancelled"
        except OSError as error:
            run.status, run.error = "failed", f"{type(error).__name__}: {error.strerror}"
        finally:
            await self.workers.drop(worker)
            if run.status != "done":
                shutil.rmtree(self.space.folder(run), ignore_errors=True)
            self._tasks.pop(run.number, None)
            self._tell({"changed": run.number})

    async def cancel(self, run: Run) -> None:
        """End a run that is not over."""
        task = self._tasks.get(run.number)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            run.status = run.status if run.over else "cancelled"

    async def remove(self, run: Run) -> None:
        """End a run and forget it."""
        await self.cancel(run)
        self.space.forget_run(run)
        self._tell({"changed": run.number})

    # -------------------------------------------------------------------------------------------- events
    def _tell(self, event: Event) -> None:
        for queue in self._listeners:
            queue.put_nowait(event)

    async def events(self) -> AsyncIterator[Event | None]:
        """Give what happens to all runs, from now on; None now and then, and at the end."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), timeout=10)
                except TimeoutError:
                    yield None
                    continue
                if event is not None and event.get("end"):
                    return
                yield event
        finally:
            self._listeners.discard(queue)

    def hang_up(self) -> None:
        """End what waits for events."""
        self._tell({"end": True})

    async def close(self) -> None:
        """End all runs and processes."""
        self.hang_up()
        for task in list(self._tasks.values()):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))
        await self.workers.close()
