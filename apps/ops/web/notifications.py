"""PostgreSQL's notifications (LISTEN), over one connection for all waiting coroutines of a
process.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg
from procrastinate.contrib.django.utils import connector_params

from apps.core.requests import Notice

SECONDS_TO_RECONNECT: Final = 1.0

log = logging.getLogger(__name__)


class Subscription(asyncio.Event):
    """Set by each of its notifications; it collects those that came."""

    def __init__(self) -> None:
        super().__init__()
        self.notices: set[Notice] = set()

    def take(self) -> set[Notice]:
        """Return the notifications since the last call, and clear them."""
        self.clear()
        taken, self.notices = self.notices, set()
        return taken


class Notifications:
    """Wakes the coroutines that wait for a notification.

    Notifications sent during a lost connection never arrive, so the coroutines also poll the
    database.
    """

    def __init__(self, channels: Sequence[str]) -> None:
        self._channels = channels
        self._subscriptions: dict[Notice, set[Subscription]] = {}

    async def listen(self) -> None:
        """Listen until cancelled; reconnect after a lost connection."""
        is_lost = False
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(
                    **connector_params(), autocommit=True
                )
                async with connection:
                    for channel in self._channels:
                        await connection.execute(f"LISTEN {channel}")
                    if is_lost:
                        self.wake_all()  # to look for events without a notification
                    is_lost = False
                    async for notice in connection.notifies():
                        self.wake(notice.channel, notice.payload)
            except psycopg.OperationalError as error:
                if not is_lost:
                    log.warning("notifications are lost until the database is back: %s", error)
                is_lost = True
            await asyncio.sleep(SECONDS_TO_RECONNECT)

    @contextmanager
    def subscription(self, *notices: Notice) -> Iterator[Subscription]:
        """Yield a subscription to these notifications."""
        subscription = Subscription()
        for notice in notices:
            self._subscriptions.setdefault(notice, set()).add(subscription)
        try:
            yield subscription
        finally:
            for notice in notices:
                subscriptions = self._subscriptions[notice]
                subscriptions.discard(subscription)
                if not subscriptions:
                    del self._subscriptions[notice]

    def wake(self, channel: str, payload: str) -> None:
        """Wake the coroutines that wait for this notification."""
        for subscription in self._subscriptions.get((channel, payload), ()):
            subscription.notices.add((channel, payload))
            subscription.set()

    def wake_all(self) -> None:
        """Wake every waiting coroutine."""
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.set()
