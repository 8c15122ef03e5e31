"""What PostgreSQL notifies a web process of, over one connection for all who wait (LISTEN)."""

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

    One that is sent while the database cannot be reached is lost: whoever waits asks the database
    now and then all the same.
    """

    def __init__(self, channels: Sequence[str]) -> None:
        self._channels = channels
        self._events: dict[tuple[str, str], set[asyncio.Event]] = {}

    async def listen(self) -> None:
        """Until it is cancelled; connects again when the connection is lost."""
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
        """An event that is set by each notification of this payload."""
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
        """Wake those who wait for this very notification."""
        for event in self._events.get((channel, payload), ()):
            event.set()

    def wake_all(self) -> None:
        """Wake whoever waits, whatever for."""
        for events in self._events.values():
            for event in events:
                event.set()
