"""A client of the ASGI application, without a server between them."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.ops.web.handler import Handler


def scope_of(
    *,
    method: str = "POST",
    path: str = "/x",
    headers: Mapping[str, str] | None = None,
    client: str = "192.0.2.1",
) -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "http_version": "1.1",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "client": (client, 4711),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
        "server": ("127.0.0.1", 8000),
    }


class Client:
    """Sends a body in pieces, and keeps the answer.

    It declares `length`, or the length of the pieces, or with "chunked" none. It stops reading
    after `reads` messages.
    """

    def __init__(
        self, *pieces: bytes, length: int | str | None = None, reads: int = 1_000_000
    ) -> None:
        self.pieces = list(pieces) or [b""]
        self.reads = reads
        self.sent: list[Mapping[str, Any]] = []
        self.is_gone = asyncio.Event()
        size = sum(map(len, self.pieces))
        self.headers = {"content-length": str(size if length is None else length)}
        if length == "chunked":
            self.headers = {"transfer-encoding": "chunked"}

    async def receive(self) -> dict[str, Any]:
        if self.pieces:
            piece = self.pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(self.pieces)}
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        if len(self.sent) >= self.reads:
            await self.is_gone.wait()
        self.sent.append(message)

    async def call(self, handler: Handler, **more: Any) -> None:
        await handler(scope_of(headers=self.headers, **more), self.receive, self.send)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    @property
    def has_ended(self) -> bool:
        return not self.sent[-1].get("more_body", False)

    def header(self, name: str) -> str | None:
        headers = {name.lower(): value for name, value in self.sent[0]["headers"]}
        value = headers.get(name.encode())
        return None if value is None else value.decode()


def handler_of(view: Callable[[HttpRequest], HttpResponseBase]) -> Handler:
    """Return a handler with this view in place of all middleware and views."""
    handler = Handler()
    handler.get_response = view  # type: ignore[assignment,method-assign]
    return handler


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 5))


async def until(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.005)
