"""An answer that the server delays until something has happened.

A view answers with the present state and attaches a LongPoll. The ASGI handler (`apps/ops/web`)
then waits in a coroutine, without a request thread. Django's test client gets the present state at
once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from django.http import HttpResponse

_ATTRIBUTE: Final = "long_poll"


@dataclass(frozen=True, slots=True)
class LongPoll:
    """A wait for the PostgreSQL notification `payload` on `channel`, for at most `seconds`.

    `is_over` asks the database whether the wait is over. `render` makes the body of the answer;
    `headers` are added to those of the first answer. Both functions run in a request thread.
    """

    channel: str
    payload: str
    seconds: float
    is_over: Callable[[], bool]
    render: Callable[[], bytes]
    headers: Mapping[str, str]


def attach_long_poll(response: HttpResponse, long_poll: LongPoll) -> None:
    setattr(response, _ATTRIBUTE, long_poll)


def get_long_poll(response: object) -> LongPoll | None:
    poll = getattr(response, _ATTRIBUTE, None)
    return poll if isinstance(poll, LongPoll) else None
