"""Django's ASGI handler, with middleware and views in a few request threads.

The event loop reads a body completely and sends the answer, so a slow client holds a connection and
no thread. A request uses one thread once, from the first middleware to the last. Threads are
permanent, so their connections to the database are too.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Final, TypeVar

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse

from apps.core import requests
from apps.core.api import resources
from apps.core.api.resources import MAX_DRAINED, max_body
from apps.core.requests import is_trusted
from apps.ops.web.waiting import Waiting

REQUEST_THREADS: Final = 4
PART_BYTES: Final = 1024 * 1024  # of a file, that are read at once
END: Final[Mapping[str, Any]] = {"type": "http.request", "body": b"", "more_body": False}

# ASGI's own types.
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Result = TypeVar("Result")


class Handler(ASGIHandler):
    """The ASGI application of one web process.

    It overrides `load_middleware` and `get_response_async`, and calls `get_response` and `handle`:
    methods without an underscore that Django does not document.
    """

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(REQUEST_THREADS, thread_name_prefix="request")
        self.waiting = Waiting(self.in_thread)
        # Tasks that run while the process serves.
        self.tasks = [self.waiting.notifications.listen, self.waiting.check_sessions]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request as Django does, without the thread that Django creates for each."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            scope = {**scope, "scheme": scheme_of(scope)}
            await self.handle(scope, bounded(scope, receive), send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        tasks = [asyncio.create_task(task()) for task in self.tasks]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    def load_middleware(self, is_async: bool = False) -> None:
        """Load the chain as one synchronous function."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Run the chain in a thread; then wait if its answer waits for an event."""
        response, context = await self.in_thread(partial(self._respond, request))
        try:
            return await self.waiting.go_on(response, context)
        except Exception:
            failure = context.run(resources.server_error, request)
            failure[requests.REQUEST_ID_HEADER] = context.run(requests.current_request_id)
            return failure

    def _respond(self, request: HttpRequest) -> tuple[HttpResponseBase, Context]:
        """Return the answer, and the request's context for later work on it."""
        response = self.get_response(request)
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if isinstance(response, StreamingHttpResponse):
            # Django would read it whole, in a thread of its own.
            response.streaming_content = self._parts(iter(response))
        elif isinstance(response, HttpResponse) and has_body(request, response):
            # CommonMiddleware has not seen requests refused before it.
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response, copy_context()

    async def _parts(self, content: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the parts of a file, read in request threads: a part is sent before the next is
        read.
        """
        while part := await self.in_thread(partial(_read_part, content)):
            yield part

    async def in_thread(self, function: Callable[[], Result]) -> Result:
        """Call the function in a request thread, with a usable connection to the database.

        A call under way ends before its client is dropped: it may be reading the body.
        """
        call = self._threads.submit(_with_connection, function)
        try:
            return await asyncio.wrap_future(call)
        except asyncio.CancelledError:
            if not call.cancel():
                await asyncio.wait([asyncio.wrap_future(call)])
            raise


def has_body(request: HttpRequest, response: HttpResponse) -> bool:
    return request.method != "HEAD" and response.status_code not in (204, 304)


def _read_part(content: Iterator[bytes]) -> bytes:
    """Join pieces of a file up to a megabyte, or the end of the file."""
    part = bytearray()
    while len(part) < PART_BYTES and (piece := next(content, None)) is not None:
        part += piece
    return bytes(part)


def _with_connection(function: Callable[[], Result]) -> Result:
    close_old_connections()
    return function()


def scheme_of(scope: Scope) -> str:
    """Return "https" if a trusted proxy reports that the client used TLS."""
    protocols = [value for name, value in scope["headers"] if name == b"x-forwarded-proto"]
    peer = scope["client"][0] if scope["client"] else ""
    is_tls = protocols == [b"https"] and is_trusted(peer, settings.TRUSTED_PROXIES)
    return "https" if is_tls else "http"


def bounded(scope: Scope, receive: Receive) -> Receive:
    """Return a `receive` that keeps at most the bytes of a body that its path may have.

    A client reads an error only after it has sent its body, so an excess is read and dropped, up to
    MAX_DRAINED.
    """
    most, size = max_body(scope["path"]), content_length(scope)
    size = size if size > MAX_DRAINED else 0
    has_ended = False

    async def receive_bounded() -> Mapping[str, Any]:
        nonlocal size, has_ended
        if has_ended:
            await asyncio.Event().wait()  # until the answer is sent, which cancels this task
        message = END if size > MAX_DRAINED else await receive()
        size += len(message.get("body", b""))
        if size > MAX_DRAINED:
            has_ended = True
            return END
        return message if size <= most else {**message, "body": b""}

    return receive_bounded


def content_length(scope: Scope) -> int:
    """Return Content-Length, already validated by the server, or 0."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
