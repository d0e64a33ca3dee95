"""What the app answers at which address. No path of this computer comes in: data sets and runs have numbers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ..cli.errors import InputError
from ..cli.naming import zipped
from . import pages
from .runs import Runner
from .workers import WorkerError
from .workspace import DataSet, Run

MOST_JSON = 2**22  # bytes of what a page says, other than files
Answer = Callable[[Request], Awaitable[Response]]


class Routes:
    """Answers the requests of the pages."""

    def __init__(self, runner: Runner) -> None:
        self.runner, self.space = runner, runner.space

    def all(self) -> list[Route]:
        """List all addresses."""
        get, post = ["GET"], ["POST"]
        return [
            Route("/", self.home, methods=get),
            Route("/runs", self.runs, methods=get),
            Route("/events", self.events, methods=get),
            Route("/static/{name}", self.static, methods=get),
            Route("/data", self.new_data, methods=post),
            Route("/data/{data:int}", self.data, methods=get),
            Route("/data/{data:int}/files", self.receive, methods=post),
            Route("/data/{data:int}/look", self.look, methods=post),
            Route("/data/{data:int}/check", self.check, methods=post),
            Route("/data/{data:int}/fit", self.fit, methods=post),
            Route("/data/{data:int}/remove", self.remove_data, methods=post),
            Route("/runs/{run:int}", self.run, methods=get),
            Route("/runs/{run:int}/cancel", self.cancel, methods=post),
            Route("/runs/{run:int}/remove", self.remove_run, methods=post),
            Route("/runs/{run:int}/rename", self.rename, methods=post),
            Route("/runs/{run:int}/merge", self.merge, methods=post),
            Route("/runs/{run:int}/join", self.join, methods=post),
            Route("/runs/{run:int}/column", self.column, methods=post),
            Route("/runs/{run:int}/row", self.row, methods=post),
            Route("/runs/{run:int}/select", self.select, methods=post),
            Route("/runs/{run:int}/take/{what}", self.take, methods=get),
            Route("/compare/{run:int}/{other:int}", self.compare, methods=get),
        ]

    # -------------------------------------------------------------------------------------------- what is asked for
    def data_of(self, request: Request) -> DataSet:
        """Find the data set of an address."""
        return _found(self.space.data.get(request.path_params["data"]))

    def run_of(self, request: Request, name: str = "run", *, done: bool = True) -> Run:
        """Find the run of an address, which is to be done."""
        run: Run = _found(self.space.runs.get(request.path_params[name]))
        if done and run.status != "done":
            raise InputError(f"Run {run.number} is {run.status}.")
        return run

    # -------------------------------------------------------------------------------------------- pages
    async def home(self, request: Request) -> Response:
        """Show the data sets and the runs."""
        return HTMLResponse(pages.home(self.space, request))

    async def runs(self, request: Request) -> Response:
        """Show the list of runs alone, for a page that is open."""
        return HTMLResponse(pages.runs(self.space, request))

    async def data(self, request: Request) -> Response:
        """Show a data set: what is in it, and the form of a fit; `run` is one whose settings are taken over."""
        data = self.data_of(request)
        number = request.query_params.get("run", "")
        before = self.space.runs.get(int(number)) if number.isdecimal() else None
        try:
            look = await self.runner.look(data)
        except (InputError, WorkerError) as error:
            return HTMLResponse(pages.fault(data, str(error), request))
        settings = before.settings if before is not None else {"task": look["group"] or "", "id": look["id"] or ""}
        return HTMLResponse(pages.data(data, look, settings, request))

    async def run(self, request: Request) -> Response:
        """Show a result, or how far a run is."""
        run = self.run_of(request, done=False)
        if run.status != "done":
            return HTMLResponse(pages.waiting(run, request))
        if run.kind == "predict":
            found = await self._short(run, "labelled", path=self.space.result(run))
            return HTMLResponse(pages.labelled(run, found, request))
        lines = await self._short(run, "python_lines", steps=run.shown)
        told = pages.told(run, self.space, lines, request)
        return HTMLResponse(await self._short(run, "page", folder=self.space.result(run), told=told))

    async def compare(self, request: Request) -> Response:
        """Show how the rows of one result lie in another."""
        a, b = self.run_of(request), self.run_of(request, "other")
        if "predict" in (a.kind, b.kind):
            raise InputError("Labels of new rows alone cannot be compared: choose two results.")
        found = await self._short(a, "flow", a=self.space.result(a), b=self.space.result(b))
        return HTMLResponse(pages.compared(a, b, found, request))

    async def static(self, request: Request) -> Response:
        """Give a script or a style sheet of the app or of the report."""
        text, kind = pages.static(request.path_params["name"])
        return Response(_found(text), media_type=kind)

    async def events(self, request: Request) -> Response:
        """Tell what happens to runs, as server-sent events."""

        async def stream() -> AsyncIterator[str]:
            yield ": hello\n\n"
            async for event in self.runner.events():
                yield f"data: {json.dumps(event)}\n\n" if event else ": still here\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    # -------------------------------------------------------------------------------------------- data
    async def new_data(self, request: Request) -> Response:
        """Make room for a data set, and put the example into it if that is asked for."""
        told = await _told(request)
        data = self.space.new_data()
        if told.get("example"):

            async def chunks() -> AsyncIterator[bytes]:
                yield pages.example()

            await self.space.receive(data, "wines.csv", chunks())
            self.space.keep(data)
        return JSONResponse({"data": data.number})

    async def receive(self, request: Request) -> Response:
        """Take in a file, as long as there is room."""
        data = self.data_of(request)
        try:
            await self.space.receive(data, request.query_params.get("name", ""), request.stream())
        except InputError as error:
            return JSONResponse({"error": str(error)}, 413, headers={"connection": "close"})
        self.space.keep(data)
        return JSONResponse({"files": data.files})

    async def look(self, request: Request) -> Response:
        """Tell what is in the files of a data set."""
        return JSONResponse(await self.runner.look(self.data_of(request)))

    async def check(self, request: Request) -> Response:
        """Show what the check finds with the settings of the page."""
        data, settings = self.data_of(request), await _told(request)
        return HTMLResponse(pages.findings(data, await self.runner.check(data, settings), settings, request))

    async def fit(self, request: Request) -> Response:
        """Start a fit."""
        data, settings = self.data_of(request), await _told(request)
        return JSONResponse({"run": self.runner.fit(data, settings).number})

    async def remove_data(self, request: Request) -> Response:
        """Remove a data set."""
        self.space.forget_data(self.data_of(request))
        return JSONResponse({})

    # -------------------------------------------------------------------------------------------- runs
    async def cancel(self, request: Request) -> Response:
        """End a run."""
        await self.runner.cancel(self.run_of(request, done=False))
        return JSONResponse({})

    async def remove_run(self, request: Request) -> Response:
        """Remove a run and what came out of it."""
        await self.runner.remove(self.run_of(request, done=False))
        return JSONResponse({})

    async def rename(self, request: Request) -> Response:
        """Name clusters."""
        told, run = await _told(request), self.run_of(request)
        await self.runner.rename(run, {int(j): str(name) for j, name in dict(told["names"]).items()})
        return JSONResponse({})

    async def merge(self, request: Request) -> Response:
        """Start to merge clusters, in a copy."""
        told, run = await _told(request), self.run_of(request)
        return JSONResponse({"run": self.runner.merge(run, [int(j) for j in told["clusters"]]).number})

    async def join(self, request: Request) -> Response:
        """Start to label new rows, or to let them join."""
        told, run = await _told(request), self.run_of(request)
        data: DataSet = _found(self.space.data.get(int(told["data"])))
        return JSONResponse({"run": self.runner.join(run, data, told).number})

    async def column(self, request: Request) -> Response:
        """Give the colours of a column."""
        told, run = await _told(request), self.run_of(request)
        rows = None if told["at"] is None else [int(i) for i in told["at"]]
        name = str(told["name"])
        return JSONResponse(await self._short(run, "column", folder=self.space.result(run), name=name, at=rows))

    async def row(self, request: Request) -> Response:
        """Tell why a row is where it is."""
        told, run = await _told(request), self.run_of(request)
        found = await self._short(run, "why", folder=self.space.result(run), wanted=str(told["id"]))
        return HTMLResponse(pages.why(found, request))

    async def select(self, request: Request) -> Response:
        """Write some rows as CSV."""
        told, run = await _told(request), self.run_of(request)
        rows = [int(i) for i in told["rows"]]
        text = await self._short(run, "selection", folder=self.space.result(run), numbers=rows)
        return PlainTextResponse(text, media_type="text/csv")

    async def take(self, request: Request) -> Response:
        """Give a file of a result, all of them, or the tables that came in with their clusters."""
        run, what = self.run_of(request), request.path_params["what"]
        path = Path(self.space.result(run))
        if what in ("zip", "tables"):
            folder = path if what == "zip" else path / "tables"
            name = f"run-{run.number}{'-tables' * (what == 'tables')}.zip"
            headers = {"content-disposition": f'attachment; filename="{name}"'}
            return StreamingResponse(zipped(folder), media_type="application/zip", headers=headers)
        found = path if run.kind == "predict" else path / pages.FILES.get(what, "")
        if not found.is_file():
            raise HTTPException(404)
        return FileResponse(found, filename=f"run-{run.number}-{found.name}", media_type="application/octet-stream")

    async def _short(self, run: Run, do: str, **told: Any) -> Any:
        return await self.runner.workers.short(do, self.space.cwd(run), **told)


def application(runner: Runner) -> Starlette:
    """Make the application; what goes wrong is told in one sentence."""

    async def told(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, 400)

    async def malformed(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": "This is nothing that a page of the app asks for."}, 400)

    handlers: dict[Any, Any] = {InputError: told, WorkerError: told} | dict.fromkeys(
        (KeyError, TypeError, ValueError, OverflowError, RecursionError, ClientDisconnect), malformed
    )
    return Starlette(routes=Routes(runner).all(), exception_handlers=handlers)


def _found(value: Any) -> Any:
    if value is None:
        raise HTTPException(404)
    return value


async def _told(request: Request) -> dict[str, Any]:
    """Read what a page says, which is short."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_JSON:
            raise InputError(f"A page says at most {MOST_JSON} bytes.")
    return dict(json.loads(body or b"{}"))
