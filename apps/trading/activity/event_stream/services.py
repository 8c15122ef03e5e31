"""The content of an event stream: events at their positions, and hints of bars and of the
account.
"""

from collections.abc import Sequence
from typing import Final

from apps.accounts.models import User
from apps.core import requests
from apps.core.requests import Notice
from apps.engine.candles import TIMEFRAMES
from apps.market.candles import CANDLES_CHANNEL as BARS_CHANNEL
from apps.webhooks.events import EVENTS_CHANNEL, events_after, last_position, render_body

# Triggers notify this channel of the owner of an account that has changed (migration 0015).
ACCOUNT_CHANNEL: Final = "account_changed"
CHANNELS: Final = (EVENTS_CHANNEL, ACCOUNT_CHANNEL, BARS_CHANNEL)
# A client waits so long before it connects again.
RETRY_MILLISECONDS: Final = 2000
# A stream reads this many events at a time, and sends them before it reads more.
_MOST_READ: Final = 100


class EventReader:
    """Reads the events of a user, each once, from a position on."""

    def __init__(self, owner: User, *, after: int | None) -> None:
        """Start after a position, or with None at the present.

        A position that does not exist yet comes from before a restore of the database.
        """
        self._owner_id = owner.pk
        last = last_position(owner.pk)
        self._position = last if after is None else min(after, last)

    @property
    def opening(self) -> bytes:
        """Return a first message with the position, so that a client that loses its connection
        before the first event misses none.
        """
        return b"retry: %d\nid: %d\n\n" % (RETRY_MILLISECONDS, self._position)

    def read(self) -> bytes:
        """Return the messages of the next events; empty without new ones."""
        messages = []
        for event in events_after(self._owner_id, self._position, most=_MOST_READ):
            assert event.position is not None
            body = render_body(
                id=event.pk,
                type=event.type,
                created_at=event.created_at,
                sequence=event.sequence,
                data=event.data,
            )
            messages.append(requests.stream_message(event.type, body, id=event.position))
            self._position = event.position
        return b"".join(messages)


def hints(owner: User, symbols: Sequence[str]) -> dict[Notice, bytes]:
    """Return the messages for a change of the user's account, and for new bars of these symbols."""
    bars = {
        (BARS_CHANNEL, f"{symbol} {timeframe}"): requests.stream_hint(
            "bars", symbol=symbol, timeframe=timeframe
        )
        for symbol in symbols
        for timeframe in TIMEFRAMES
    }
    return {**bars, (ACCOUNT_CHANNEL, owner.pk): requests.stream_hint("account")}
