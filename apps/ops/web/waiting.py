"""Answers of one web process that continue after the view: long polls and event streams.

Each waits in a coroutine for PostgreSQL's notifications; a request thread only reads for it. A
batch is sent before the next is read, so a client that does not read costs one batch.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Any, Final

from django.db import Error
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from apps.accounts import services
from apps.backtests.models import BACKTEST_ENDED_CHANNEL, EVIDENCE_ENDED_CHANNEL
from apps.core import database
from apps.core.requests import EventStream, LongPoll, get_event_stream, get_long_poll
from apps.ops.web.notifications import Notifications, Subscription
from apps.trading.services import CHANNELS

# Long polls at the same time; answers beyond them do not wait.
MAX_POLLS: Final = 256
# A notification may be lost with the database, or in a pooler of connections.
SECONDS_BETWEEN_CHECKS: Final = 5.0
# A stream ends within 5 seconds of its session.
SECONDS_BETWEEN_SESSION_CHECKS: Final = 2.0
# A comment keeps proxies from taking the connection for dead, and shows when a client is gone.
SECONDS_BETWEEN_COMMENTS: Final = 15.0
COMMENT: Final = b":\n\n"

# Calls a function in a request thread.
InThread = Callable[[Callable[[], Any]], Awaitable[Any]]

log = logging.getLogger(__name__)


class Waiting:
    """The long polls and event streams of one web process."""

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread
        self.notifications = Notifications(
            [BACKTEST_ENDED_CHANNEL, EVIDENCE_ENDED_CHANNEL, *CHANNELS]
        )
        self._polls = 0
        # Open streams by their slots; a stream with a missing slot has to end.
        self._streams: dict[int, Subscription] = {}
        self._is_stopping = False

    def stop(self) -> None:
        """End all present and later waits: the process is about to end."""
        self._is_stopping = True
        self._streams.clear()
        self.notifications.wake_all()

    async def check_sessions(self) -> None:
        """End the streams of ended sessions, until cancelled."""
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_SESSION_CHECKS)
            if not self._streams:
                continue
            checked = set(self._streams)
            try:
                kept = await self._in_thread(partial(_keep_slots, checked))
            except Error as error:
                log.warning("event streams continue unchecked: %s", error)
                continue
            for slot in checked - kept:
                if subscription := self._streams.pop(slot, None):
                    subscription.set()

    async def go_on(self, response: HttpResponseBase, context: Context) -> HttpResponseBase:
        """Return the final answer for a view's answer; `context` is that of its request."""
        if isinstance(response, HttpResponse):
            if poll := get_long_poll(response):
                await self._long_poll(response, poll, context)
            elif stream := get_event_stream(response):
                return self._stream(response, stream, context)
        return response

    async def _long_poll(self, response: HttpResponse, poll: LongPoll, context: Context) -> None:
        """Render the answer again once its event has happened, or its time is over.

        It stays unchanged if too many wait or the database cannot be reached.
        """
        if self._polls >= MAX_POLLS:
            return
        self._polls += 1
        try:
            response.content = await self._wait(poll, context)
        except Error as error:
            log.warning("a response did not wait: %s", error)
            return
        finally:
            self._polls -= 1
        for name, value in poll.headers.items():
            response[name] = value
        response["Content-Length"] = str(len(response.content))

    async def _wait(self, poll: LongPoll, context: Context) -> bytes:
        loop = asyncio.get_running_loop()
        end = loop.time() + poll.seconds
        with self.notifications.subscription((poll.channel, poll.payload)) as event:
            while not await self._in_thread(partial(context.run, poll.is_over)):
                left = end - loop.time()
                if left <= 0 or self._is_stopping:
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, SECONDS_BETWEEN_CHECKS)):
                        await event.wait()
                event.clear()
        body: bytes = await self._in_thread(partial(context.run, poll.render))
        return body

    def _stream(
        self, first: HttpResponse, stream: EventStream, context: Context
    ) -> StreamingHttpResponse:
        """Return a streaming answer that begins with `first`."""
        del first.headers["Content-Length"]
        response = StreamingHttpResponse(
            self._messages(first.content, stream, context),
            status=first.status_code,
            headers=first.headers,
        )
        response.cookies = first.cookies
        return response

    async def _messages(
        self, first: bytes, stream: EventStream, context: Context
    ) -> AsyncIterator[bytes]:
        """Yield until the session or the client's connection ends, or the process stops."""
        with self.notifications.subscription(stream.news, *stream.hints) as subscription:
            if not self._is_stopping:
                self._streams[stream.slot] = subscription
            try:
                yield first
                while stream.slot in self._streams:
                    notices = subscription.take()
                    # A wake-up without a notification may stand for one that was lost.
                    is_news = not notices or stream.news in notices
                    while is_news and (
                        messages := await self._in_thread(partial(context.run, stream.read))
                    ):
                        yield messages
                    hints = [stream.hints[notice] for notice in notices if notice in stream.hints]
                    if hints:
                        yield b"".join(hints)
                    try:
                        async with asyncio.timeout(SECONDS_BETWEEN_COMMENTS):
                            await subscription.wait()
                    except TimeoutError:
                        yield COMMENT
            except Error as error:
                log.warning("an event stream ends, and its client reconnects: %s", error)
            finally:
                self._streams.pop(stream.slot, None)
                with suppress(Error):  # it is free in a few seconds by itself
                    await self._in_thread(partial(services.leave_slots, [stream.slot]))


def _keep_slots(slots: set[int]) -> set[int]:
    return services.keep_slots(slots, now=database.now())
