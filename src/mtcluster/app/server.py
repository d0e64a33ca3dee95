"""The server of the app: one address on this computer, until Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import sys
import tempfile
import webbrowser
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..cli.errors import InputError
from ..cli.streams import say
from .routes import application
from .runs import Runner
from .security import Guard
from .workspace import Workspace

ADDRESS = "127.0.0.1"


def serve(arguments: Namespace) -> None:
    """Serve the app until it is stopped; nothing is left but what --keep keeps."""
    with ExitStack() as ending:
        listening = ending.enter_context(_listen(arguments.port))
        root = arguments.keep
        if root is None:
            root = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="mtcluster-app-")))
        space = Workspace(root.resolve(), arguments.max_bytes, Path.cwd())
        for folder in arguments.results:
            space.open(folder)
        try:
            asyncio.run(_serve(space, listening, browser=not arguments.no_browser))
        except KeyboardInterrupt:  # which is how the app is ended
            logging.getLogger(__name__).debug("stopped")


def _listen(port: int) -> socket.socket:
    """Take a port of this computer alone; 0: any that is free."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
    except OSError as error:
        listening.close()
        raise InputError(f"--port {port} cannot be used ({error.strerror}): name another, or 0 for any.") from None
    return listening


async def _serve(space: Workspace, listening: socket.socket, *, browser: bool) -> None:
    import uvicorn

    port, token, runner = listening.getsockname()[1], secrets.token_urlsafe(24), Runner(space)
    guarded = Guard(application(runner), token, port)

    class Server(uvicorn.Server):
        """Tells its address once it can be reached, and hangs up on pages that listen when it ends."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            address = f"http://{ADDRESS}:{port}/{token}/"
            say("mtcluster app is served on this computer alone, until Ctrl-C. Its address:")
            say(address)
            sys.stdout.flush()
            if browser:
                await asyncio.to_thread(webbrowser.open, address)

        def handle_exit(self, sig: int, frame: Any) -> None:
            super().handle_exit(sig, frame)
            runner.hang_up()

    config = uvicorn.Config(
        guarded, log_level="error", access_log=False, lifespan="off", server_header=False, ws="none",
        timeout_graceful_shutdown=1, h11_max_incomplete_event_size=2**16,
    )  # fmt: skip
    runner.workers.warm()
    try:
        await Server(config).serve(sockets=[listening])
    finally:
        await runner.close()
