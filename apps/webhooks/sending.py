"""One attempt to bring a webhook to its receiver.

Whatever the receiver, its name server and the network between do, the attempt ends within its time,
reads little, follows nothing and comes to an `Answer`. Nothing of what the receiver says is kept
but the status and how long to wait: its text would let a user read what only this machine reaches.
"""

import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import httpcore2

from apps.webhooks.connecting import AnswerTooLong, BoundedStream, Deadline, connect, with_tls
from apps.webhooks.failures import Failure
from apps.webhooks.resolving import look_up
from apps.webhooks.targets import (
    Exemptions,
    Resolve,
    Target,
    TargetRefused,
    Unresolvable,
    addresses_of,
    parse,
)

TOTAL: Final = 15.0
"""Seconds for all of it."""
CONNECT: Final = 5.0
"""Seconds to look the name up in, and as many again to connect in."""
LONGEST_ANSWER: Final = 64 * 1024
"""Bytes of an answer that are read, headers included."""
_FAILURES: Final[tuple[tuple[type[Exception], Failure], ...]] = (
    (Unresolvable, Failure.DNS),
    (TargetRefused, Failure.FORBIDDEN_ADDRESS),
    (TimeoutError, Failure.TIMEOUT),
    (ssl.SSLError, Failure.TLS),
    (ConnectionRefusedError, Failure.REFUSED),
    (ConnectionError, Failure.RESET),
    (OSError, Failure.UNREACHABLE),
    (httpcore2.RemoteProtocolError, Failure.BAD_ANSWER),
    (AnswerTooLong, Failure.BAD_ANSWER),
)
"""What the far side can do, and what it is called; the first that fits counts."""
_FAR_SIDE: Final = tuple(error for error, _ in _FAILURES)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an attempt came to. It is delivered if `error` is None, and then only.

    `status` is the answer's if there was one, also beside an error; `seconds` is how long all of it
    took; `retry_after` is how many seconds the receiver asked to be left alone for.
    """

    status: int | None
    error: Failure | None
    seconds: float
    retry_after: float | None


def send(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    exemptions: Exemptions,
    resolve: Resolve = look_up,
) -> Answer:
    """POST the body. Any number of threads may do so at once.

    `headers` are those of the message; those of the connection (Host, Content-Length) are added.
    """
    deadline, started = Deadline(TOTAL), time.monotonic()
    status: int | None = None
    retry_after: float | None = None
    error: Failure | None = None
    try:
        target = parse(url, exemptions)
        with (
            closing(_connection(target, resolve, deadline)) as connection,
            _posted(target, connection, deadline, headers, body) as answer,
        ):
            status, retry_after = answer.status, _retry_after(answer)
            error = _judged(status)
            if error is None:
                for _ in answer.iter_stream():
                    pass
    except _FAR_SIDE as raised:
        error = next(failure for kind, failure in _FAILURES if isinstance(raised, kind))
    return Answer(status, error, time.monotonic() - started, retry_after)


def _connection(target: Target, resolve: Resolve, deadline: Deadline) -> socket.socket:
    addresses = addresses_of(target, resolve, min(CONNECT, deadline.left()))
    plain = connect(addresses, target.port, min(CONNECT, deadline.left()))
    if target.scheme == "http":
        return plain
    return with_tls(plain, target.host, deadline)


def _posted(
    target: Target,
    connection: socket.socket,
    deadline: Deadline,
    headers: Mapping[str, str],
    body: bytes,
) -> AbstractContextManager[httpcore2.Response]:
    url = httpcore2.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )
    stream = BoundedStream(connection, deadline, LONGEST_ANSWER)
    return httpcore2.HTTP11Connection(url.origin, stream).stream(
        "POST",
        url,
        headers=[("Host", target.authority), ("Connection", "close"), *headers.items()],
        content=body,
    )


def _judged(status: int) -> Failure | None:
    if 200 <= status < 300:
        return None
    return Failure.REDIRECT if 300 <= status < 400 else Failure.STATUS


def _retry_after(answer: httpcore2.Response) -> float | None:
    texts = [value for name, value in answer.headers if name.lower() == b"retry-after"]
    return seconds_to_wait(texts[0].decode("latin-1"), datetime.now(UTC)) if texts else None


def seconds_to_wait(text: str, now: datetime) -> float | None:
    """What a Retry-After header asks for (RFC 9110, 10.2.3): seconds, or a date; None for a text
    that is neither.
    """
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        date = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0.0, (date - now).total_seconds())
