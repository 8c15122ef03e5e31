"""Event streams of one web process: each is a coroutine, and a request thread only reads for it.

A stream reads the database when a notification says that there is something, and what it has read
is sent before it reads more: of a client that does not read, a stream holds one batch and one
message for each hint, and cuts it off after SECONDS_TO_SEND. The client goes on at its last id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from typing import Any, Final, NamedTuple

from django.db import Error, close_old_connections

from apps.accounts import streams
from apps.core import database_clock
from apps.core.event_stream import EventStream
from apps.ops.web.notifications import Notifications, Subscription
from apps.ops.web.responses import RawResponse

# Sessions that have ended are noticed so often: a stream ends within 5 seconds of its session.
SECONDS_BETWEEN_SESSION_CHECKS: Final = 2.0
# A comment keeps proxies from taking the connection for dead, and shows when a client is gone.
SECONDS_BETWEEN_COMMENTS: Final = 15.0
SECONDS_TO_SEND: Final = 10.0
COMMENT: Final = b":\n\n"

# Calls a function in a request thread, with its arguments.
InThread = Callable[..., Awaitable[Any]]
ReceiveMessage = Callable[[], Any]
SendMessage = Callable[[dict[str, Any]], Any]

log = logging.getLogger(__name__)


class StreamedResponse(NamedTuple):
    """Django's response, and the stream that it begins; reads are made in the request's context."""

    first: RawResponse
    stream: EventStream
    context: Context


class EventStreams:
    """The streams of one web process."""

    def __init__(self, notifications: Notifications, in_thread: InThread) -> None:
        self._notifications = notifications
        self._in_thread = in_thread
        # By their slots; a stream whose slot is missing has to end.
        self._open: dict[int, Subscription] = {}
        self._is_stopping = False

    def end_all(self) -> None:
        """End them, and those that begin later: the process is about to end."""
        self._is_stopping = True
        for subscription in self._open.values():
            subscription.set()
        self._open.clear()

    async def check_sessions(self) -> None:
        """End the streams whose session has ended, until cancelled."""
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_SESSION_CHECKS)
            if not self._open:
                continue
            checked = set(self._open)
            try:
                kept = await self._in_thread(_keep_slots, checked)
            except Error as error:
                log.warning("event streams go on unchecked: %s", error)
                continue
            for slot in checked - kept:
                if subscription := self._open.pop(slot, None):
                    subscription.set()

    async def serve(
        self, response: StreamedResponse, receive: ReceiveMessage, send: SendMessage
    ) -> None:
        """Send messages until the session or the client's connection ends, or the process stops.

        Raises TimeoutError when the client does not read.
        """
        stream = response.stream
        client = asyncio.ensure_future(receive())
        with self._notifications.subscription(stream.news, *stream.hints) as subscription:
            if not self._is_stopping:
                self._open[stream.slot] = subscription
            client.add_done_callback(lambda _: subscription.set())
            try:
                await self._begin(response.first, send)
                while stream.slot in self._open and not client.done():
                    await self._send_news(response, subscription, send)
                await _send(send, {"type": "http.response.body", "body": b""})
            except Error as error:
                log.warning("an event stream ends, and its client comes back: %s", error)
                await _send(send, {"type": "http.response.body", "body": b""})
            finally:
                client.cancel()
                self._open.pop(stream.slot, None)
                with suppress(Error):  # it is free in a few seconds by itself
                    await self._in_thread(_leave_slot, stream.slot)

    async def _begin(self, first: RawResponse, send: SendMessage) -> None:
        status, headers, body = first
        headers = [header for header in headers if header[0] != b"content-length"]
        await _send(send, {"type": "http.response.start", "status": status, "headers": headers})
        await _send_part(send, body)

    async def _send_news(
        self, response: StreamedResponse, subscription: Subscription, send: SendMessage
    ) -> None:
        """Send what there is, or else a comment after a while."""
        stream, context = response.stream, response.context
        notices = subscription.take()
        # A wake-up without a notification may stand for one that was lost.
        is_news = not notices or stream.news in notices
        while is_news and (messages := await self._in_thread(context.run, _read, stream)):
            await _send_part(send, messages)
        hints = b"".join(stream.hints[notice] for notice in notices if notice in stream.hints)
        if hints:
            await _send_part(send, hints)
        try:
            async with asyncio.timeout(SECONDS_BETWEEN_COMMENTS):
                await subscription.wait()
        except TimeoutError:
            await _send_part(send, COMMENT)


async def _send_part(send: SendMessage, body: bytes) -> None:
    await _send(send, {"type": "http.response.body", "body": body, "more_body": True})


async def _send(send: SendMessage, message: dict[str, Any]) -> None:
    async with asyncio.timeout(SECONDS_TO_SEND):
        await send(message)


def _read(stream: EventStream) -> bytes:
    close_old_connections()
    return stream.read()


def _keep_slots(slots: set[int]) -> set[int]:
    close_old_connections()
    return streams.keep_slots(slots, now=database_clock.now())


def _leave_slot(slot: int) -> None:
    close_old_connections()
    streams.leave_slots([slot])
