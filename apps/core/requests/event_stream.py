"""Server-sent events (https://html.spec.whatwg.org).

A view answers with past events and attaches an EventStream. The ASGI handler (`apps/ops/web`) then
sends new events from a coroutine, without a request thread. Django's test client sees the response
end at once. A client that reconnects continues where it stopped.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson
from django.http import HttpResponse

EVENT_STREAM: Final = "text/event-stream"
_ATTRIBUTE: Final = "event_stream"

# Channel and payload of a PostgreSQL notification.
Notice = tuple[str, str]


@dataclass(frozen=True, slots=True)
class EventStream:
    """A stream of events.

    `slot` is its slot among the streams of its session (`apps.accounts.login.streams`). `read`
    returns the next messages, possibly none; it runs in a request thread after a notification of
    `news`. A notification of `hints` sends its message.
    """

    slot: int
    news: Notice
    hints: Mapping[Notice, bytes]
    read: Callable[[], bytes]


def stream_message(type: str, data: bytes, *, id: int | None = None) -> bytes:
    """Return a message of the stream; `data` is JSON in one line."""
    head = b"" if id is None else b"id: %d\n" % id
    return b"%sevent: %s\ndata: %s\n\n" % (head, type.encode(), data)


def stream_hint(type: str, **data: str) -> bytes:
    """Return a message without an id, so that a client that missed it does not get it again."""
    return stream_message(type, orjson.dumps(data))


def attach_stream(response: HttpResponse, stream: EventStream) -> None:
    setattr(response, _ATTRIBUTE, stream)


def get_event_stream(response: object) -> EventStream | None:
    stream = getattr(response, _ATTRIBUTE, None)
    return stream if isinstance(stream, EventStream) else None
