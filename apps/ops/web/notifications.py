"""PostgreSQL's notifications (LISTEN), over one connection for all long polls of a process."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg
from procrastinate.contrib.django.utils import connector_params

SECONDS_TO_RECONNECT: Final = 1.0

log = logging.getLogger(__name__)


class Notifications:
    """Wakes the coroutines that wait for a notification.

    A notification sent while the connection is lost never arrives, so they also poll the database.
    """

    def __init__(self, channels: Sequence[str]) -> None:
        self._channels = channels
        self._events: dict[tuple[str, str], set[asyncio.Event]] = {}

    async def listen(self) -> None:
        """Listen until cancelled; connect again when the connection is lost."""
        is_lost = False
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(
                    **connector_params(), autocommit=True
                )
                async with connection:
                    for channel in self._channels:
                        await connection.execute(f"LISTEN {channel}")
                    is_lost = False
                    async for notice in connection.notifies():
                        self.wake(notice.channel, notice.payload)
            except psycopg.OperationalError as error:
                if not is_lost:
                    log.warning("notifications are lost until the database is back: %s", error)
                is_lost = True
            await asyncio.sleep(SECONDS_TO_RECONNECT)

    @contextmanager
    def subscription(self, channel: str, payload: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set by each notification of this payload."""
        event, key = asyncio.Event(), (channel, payload)
        events = self._events.setdefault(key, set())
        events.add(event)
        try:
            yield event
        finally:
            events.discard(event)
            if not events:
                self._events.pop(key, None)

    def wake(self, channel: str, payload: str) -> None:
        """Wake the coroutines that wait for this notification."""
        for event in self._events.get((channel, payload), ()):
            event.set()

    def wake_all(self) -> None:
        """Wake every waiting coroutine."""
        for events in self._events.values():
            for event in events:
                event.set()
