"""Who may talk to the app: pages that it served itself, on this computer, that know its token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Any, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
OWN_SITES = ("", "same-origin", "none")  # Sec-Fetch-Site of pages of the app, and of addresses that a person typed
REFUSED = b"403: this page needs the whole address that `mtcluster app` printed.\n"


class Guard:
    """Lets requests through to the app whose Host, Origin and token are right, and answers all others with 403.

    Only names of this computer are right for Host, so that no other name can be made to point here; the token is the
    first part of the path, so that it is in no cookie that servers on other ports would get.
    """

    def __init__(self, app: Asgi, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or not self._allowed(scope):
            await self._refuse(scope, send)
            return
        inner = {**scope, "root_path": f"/{self.token}"}

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(inner, receive, guarded)

    def _allowed(self, scope: Scope) -> bool:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host, origin = headers.get("host", []), headers.get("origin", [])
        if len(host) != 1 or host[0] not in self.hosts or headers.get("sec-fetch-site", [""])[0] not in OWN_SITES:
            return False
        if origin != ([f"http://{host[0]}"] if origin or scope["method"] not in ("GET", "HEAD") else []):
            return False
        first = str(scope["path"]).split("/")[1] if "/" in scope["path"] else ""
        return hmac.compare_digest(first.encode(), self.token.encode())

    async def _refuse(self, scope: Scope, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await send(
            {"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain"), *HEADERS]}
        )
        await send({"type": "http.response.body", "body": REFUSED})
