"""The ASGI application: Django's WSGI application behind coroutines.

A coroutine reads the whole body and writes the whole response, each under a deadline; a request
slot (a thread) is taken only for Django's own work. So a client that is slow to send or to read
holds a connection and nothing else. A long poll (apps/core/long_poll.py) waits in a coroutine too,
and so does an event stream (apps/core/event_stream.py).
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import Context, copy_context
from io import BytesIO
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar
from urllib.parse import unquote_to_bytes
from weakref import WeakValueDictionary

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import Error, close_old_connections

from apps.core import event_stream, long_poll
from apps.core.api.middleware import MAX_DRAINED, max_body
from apps.core.client_address import client_address, is_trusted, network_of
from apps.core.event_stream import EventStream
from apps.core.long_poll import LongPoll
from apps.ops.web.event_streams import EventStreams, StreamedResponse
from apps.ops.web.http_protocol import CONNECTION
from apps.ops.web.notifications import Notifications
from apps.ops.web.responses import CLOSE_HEADER, Headers, RawResponse, error_response

# A body may take so long to arrive, and each chunk of a response to be read,
SECONDS_TO_TRANSFER: Final = 10.0
# and a second more for so many bytes.
SLOWEST_RATE: Final = 32 * 1024
# Bytes of a response that are handed to the kernel at a time.
CHUNK: Final = 256 * 1024
LARGE: Final = 64 * 1024
# Bytes of large bodies and responses that a web process holds for one client address.
MAX_HELD: Final = 64 * 1024 * 1024
# Large pages that need no token: they take one request slot at a time, and so do pipelined
# requests. The other slots stay free.
DOCUMENTS: Final = ("/reports/", "/static/", "/docs", "/openapi.json")
# A web process renders and sends so many of them at once to one client address: a browser asks for
# no more.
DOCUMENTS_OF_ADDRESS: Final = 6
# Long polls of a web process at the same time; responses beyond them do not wait.
MAX_POLLS: Final = 256
# A notification may be lost with the database, or in a pooler of connections.
SECONDS_BETWEEN_CHECKS: Final = 5.0

# ASGI's own types.
Message = dict[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Any]
Send = Callable[[Message], Any]
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

log = logging.getLogger(__name__)


class TooManyDocuments(Exception):
    """The client's address has not read the documents that it was sent."""


class RequestBody(NamedTuple):
    """The body of a request; one that is too large is discarded as it arrives."""

    content: bytes = b""
    # Read to its end: else the connection cannot be used again.
    is_read: bool = True


class DjangoResponse(NamedTuple):
    """Django's response to a request, and the long poll or event stream it begins, if any."""

    response: RawResponse
    continuation: LongPoll | EventStream | None
    # The request's, for what is done for it later.
    context: Context | None


class Application:
    """The ASGI application of one web process."""

    def __init__(self, wsgi: WSGIHandler, *, threads: int, notifications: Notifications) -> None:
        self._wsgi = wsgi
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._notifications = notifications
        self._streams = EventStreams(notifications, self._run)
        self._transfers = Transfers()
        self._document_slot = asyncio.Semaphore(1)
        self._documents: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._polls = 0
        self._is_stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await self._serve(scope, receive, send)

    def stop(self) -> None:
        """End the long polls and event streams: the process is about to end."""
        self._is_stopping = True
        self._streams.end_all()
        self._notifications.wake_all()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        tasks = [
            asyncio.create_task(self._notifications.listen()),
            asyncio.create_task(self._streams.check_sessions()),
        ]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_pipelined = scope["extensions"][CONNECTION]["is_pipelined"]
        response: RawResponse | StreamedResponse
        takes_document_slot = is_pipelined or scope["path"].startswith(DOCUMENTS)
        try:
            body = await self._read(scope, receive)
            if body is None:
                return
            async with self._document(scope) if takes_document_slot else nullcontext():
                async with self._document_slot if takes_document_slot else nullcontext():
                    response = await self._answer(scope, receive, body)
                await self._deliver(scope, receive, send, response)
                return
        except TimeoutError:
            log.info("%s %s 408", scope["method"], scope["path"])
            response = error_response(408)
        except TooManyDocuments:
            response = error_response(503)
        await self._deliver(scope, receive, send, response)

    @asynccontextmanager
    async def _document(self, scope: Scope) -> AsyncIterator[None]:
        """Hold a place until the document is rendered and sent. Raises TooManyDocuments."""
        places = self._documents.setdefault(
            _address_of(scope), asyncio.Semaphore(DOCUMENTS_OF_ADDRESS)
        )
        try:
            async with asyncio.timeout(SECONDS_TO_TRANSFER):
                await places.acquire()
        except TimeoutError as error:
            raise TooManyDocuments from error
        try:
            yield
        finally:
            places.release()

    async def _deliver(
        self, scope: Scope, receive: Receive, send: Send, response: RawResponse | StreamedResponse
    ) -> None:
        """Send a response, or cut off a client that does not read it."""
        try:
            if isinstance(response, StreamedResponse):
                await self._streams.serve(response, receive, send)
            else:
                await self._write(scope, send, response)
        except (TimeoutError, asyncio.CancelledError):
            scope["extensions"][CONNECTION]["abort"]()
            await asyncio.sleep(0)  # until uvicorn knows

    # ------------------------------------------------------------------------------------ reading

    async def _read(self, scope: Scope, receive: Receive) -> RequestBody | None:
        """Read the body; None when the client has gone. Raises TimeoutError."""
        length, most = _declared_length(scope["headers"]), max_body(scope["path"])
        if length == 0:
            return await _read_whole(receive, most)
        if length > MAX_DRAINED:
            return RequestBody(is_read=False)
        try:
            async with asyncio.timeout(seconds_for(length)) as timeout:
                with self._transfers.counted(scope, length if length <= most else 0, timeout):
                    return await _read_whole(receive, most)
        except TimeoutError:
            if length <= most:
                raise
            return RequestBody(is_read=False)

    # ---------------------------------------------------------------------------------- answering

    async def _answer(
        self, scope: Scope, receive: Receive, body: RequestBody
    ) -> RawResponse | StreamedResponse:
        environ = environ_of(scope, body.content)
        try:
            first = await self._run(self._call, environ)
        except Exception as error:
            log.error("a request could not be served", exc_info=error)
            return error_response(500)
        response, continuation, context = first
        if isinstance(continuation, LongPoll) and context is not None:
            response = await self._long_poll(response, continuation, context, receive)
        if not body.is_read:
            response = response._replace(headers=[*response.headers, CLOSE_HEADER])
        if isinstance(continuation, EventStream) and context is not None:
            return StreamedResponse(response, continuation, context)
        return response

    async def _run(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **_: Arguments.kwargs,
    ) -> Result:
        """Call the function in a request slot."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def _call(self, environ: dict[str, Any]) -> DjangoResponse:
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(
            status: str, headers: list[tuple[str, str]], exc_info: object = None
        ) -> Callable[[bytes], object]:
            started.append((status, headers))
            return _write_directly

        response = self._wsgi(environ, start_response)
        try:
            body = b"".join(response)
        finally:
            response.close()
        status, headers = started[-1]
        continuation = long_poll.get_long_poll(response) or event_stream.get_event_stream(response)
        context = copy_context() if continuation is not None else None
        is_head = environ["REQUEST_METHOD"] == "HEAD"
        return DjangoResponse(
            _raw_response(int(status[:3]), headers, body, is_head=is_head), continuation, context
        )

    # ------------------------------------------------------------------------------------ waiting

    async def _long_poll(
        self, first: RawResponse, poll: LongPoll, context: Context, receive: Receive
    ) -> RawResponse:
        """Wait for the event of a long poll, for its time or until the client goes, and render it.

        The first response is returned when too many wait or the database cannot be reached.
        """
        if self._polls >= MAX_POLLS:
            return first
        self._polls += 1
        client = asyncio.ensure_future(receive())
        try:
            body = await self._wait(poll, context, client)
        except Error as error:
            log.warning("an answer did not wait: %s", error)
            return first
        finally:
            self._polls -= 1
            client.cancel()
        status, headers, _ = first
        kept = [header for header in headers if header[0] != b"content-length"]
        return _raw_response(status, poll.headers.items(), body, kept)

    async def _wait(
        self, poll: LongPoll, context: Context, client: asyncio.Future[object]
    ) -> bytes:
        """Return the body of the answer when the wait is over."""
        loop = asyncio.get_running_loop()
        end = loop.time() + poll.seconds
        with self._notifications.subscription((poll.channel, poll.payload)) as event:
            client.add_done_callback(lambda _: event.set())
            while True:
                body = await self._run(context.run, _with_connection, poll.render_if_over)
                if body is not None:
                    return body
                left = end - loop.time()
                if left <= 0 or self._is_stopping or client.done():
                    return await self._run(context.run, _with_connection, poll.render)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, SECONDS_BETWEEN_CHECKS)):
                        await event.wait()
                event.clear()

    # ------------------------------------------------------------------------------------ writing

    async def _write(self, scope: Scope, send: Send, response: RawResponse) -> None:
        """Raises TimeoutError when the client does not read."""
        status, headers, body = response
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.timeout_at(begun + SECONDS_TO_TRANSFER) as timeout:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            if len(body) > LARGE:
                end = begun + seconds_for(len(body))
                with self._transfers.counted(scope, len(body), timeout):
                    for start in range(0, len(body), CHUNK):
                        chunk = body[start : start + CHUNK]
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                        timeout.reschedule(min(loop.time() + SECONDS_TO_TRANSFER, end))
                body = b""
            await send({"type": "http.response.body", "body": body})


def _write_directly(data: bytes) -> object:
    """Refuse WSGI's old way to write, which Django never uses."""
    raise RuntimeError("an answer is written through start_response")


class Transfers:
    """Large bodies and responses in transfer, by client address.

    When an address has more than MAX_HELD bytes of them, the longest-running one is ended: it is
    the slowest.
    """

    def __init__(self) -> None:
        self._by_address: dict[str, dict[asyncio.Timeout, int]] = {}

    @contextmanager
    def counted(self, scope: Scope, size: int, timeout: asyncio.Timeout) -> Iterator[None]:
        """Count a transfer for as long as it lasts; `timeout` may end it early."""
        if size <= LARGE:
            yield
            return
        address = _address_of(scope)
        transfers = self._by_address.setdefault(address, {})
        transfers[timeout] = size
        held = sum(transfers.values())
        while held > MAX_HELD:
            longest = next(iter(transfers))
            held -= transfers.pop(longest)
            longest.reschedule(asyncio.get_running_loop().time())
        try:
            yield
        finally:
            transfers.pop(timeout, None)
            if not transfers:
                self._by_address.pop(address, None)


def seconds_for(size: int) -> float:
    return SECONDS_TO_TRANSFER + size / SLOWEST_RATE


async def _read_whole(receive: Receive, most: int) -> RequestBody | None:
    chunks: list[bytes] = []
    total = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        total += len(chunk)
        if total <= most:
            chunks.append(chunk)
        else:
            chunks.clear()
        if not message.get("more_body", False):
            return RequestBody(b"".join(chunks))
        if total > MAX_DRAINED:
            return RequestBody(is_read=False)


def _declared_length(headers: Headers) -> int:
    """Return Content-Length, which the parser has checked; of a chunked body, the limit."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)
        if name == b"transfer-encoding":
            return MAX_DRAINED
    return 0


def _with_connection(work: Callable[[], Result]) -> Result:
    """Work outside of a request, with a usable connection to the database."""
    close_old_connections()
    return work()


def _raw_response(
    status: int,
    headers: Any,
    body: bytes,
    more: Headers | None = None,
    *,
    is_head: bool = False,
) -> RawResponse:
    """Encode a response.

    A response to HEAD gets no length here: it would be that of its empty body (RFC 9110, 8.6).
    """
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    encoded += more or []
    has_length = status not in (204, 304) and not is_head
    if has_length and all(name != b"content-length" for name, _ in encoded):
        encoded.append((b"content-length", str(len(body)).encode()))
    return RawResponse(status, encoded, body)


def environ_of(scope: Scope, body: bytes) -> dict[str, Any]:
    """Return the WSGI environment of a request (PEP 3333).

    A header whose name has an underscore is left out: it could pass for another one. No header
    says where the service is mounted.
    """
    peer = scope["client"][0] if scope["client"] else ""
    server, port = scope["server"] or ("", None)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server,
        "SERVER_PORT": str(port or ""),
        "REMOTE_ADDR": peer,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key = _key_of(name)
        text = value.decode("latin-1")
        if key in environ:
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text
    if _is_secure(environ):
        environ["wsgi.url_scheme"] = "https"
    return environ


def _key_of(name: bytes) -> str:
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"


def _is_secure(environ: Mapping[str, Any]) -> bool:
    """Return whether a trusted proxy says that the client used TLS."""
    protocol = environ.get("HTTP_X_FORWARDED_PROTO", "")
    return protocol == "https" and is_trusted(environ["REMOTE_ADDR"], settings.TRUSTED_PROXIES)


def _address_of(scope: Scope) -> str:
    peer = scope["client"][0] if scope["client"] else ""
    lines = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    forwarded = b",".join(lines).decode("latin-1")
    return network_of(client_address(peer, forwarded, settings.TRUSTED_PROXIES) or peer)
