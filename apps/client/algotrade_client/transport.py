"""HTTP with the service: one key, retries, idempotent writes, and its stream of events."""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import count
from typing import Any, Final, NamedTuple
from uuid import uuid4

import httpx

from .errors import ServiceUnreachable, error_of

Query = Mapping[str, object | None]

PATIENCE: Final = 90.0  # seconds
_RETRIED: Final = (409, 429, 503)
_LONGEST_PAUSE: Final = 10.0
_SECONDS_TO_FIRST_ANSWER: Final = 3.0
_SECONDS_TO_STREAM_AGAIN: Final = 1.0
# Long polls take 30 s at most, and streams send a comment every 15 s.
_SECONDS_TO_ANSWER: Final = 45.0
_ACCOUNT: Final = "/api/auth"


class Message(NamedTuple):
    """A message of the event stream; hints have no position."""

    position: int | None
    type: str
    data: str


class Transport:
    """Sends requests to one service.

    A POST outside of `/api/auth` carries an Idempotency-Key, so that it is done once however often
    it is sent. Requests are repeated for `patience` seconds: after Retry-After if the service is
    busy, and after a pause if a GET or a keyed POST got no answer. Tests give `clock`, `sleep` and
    `wire`.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        wire: httpx.BaseTransport | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ServiceUnreachable(f"{url!r} must begin with http:// or https://.")
        self.url = url.rstrip("/")
        self._was_reached = False
        self._patience = patience
        self.clock = clock
        self.sleep = sleep
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(
            base_url=self.url, headers=headers, timeout=_SECONDS_TO_ANSWER, transport=wire
        )

    def close(self) -> None:
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        wait: float = 0,
        idempotency_key: str | None = None,
    ) -> Any:
        """Return the JSON of the answer. Raises ApiError and ServiceUnreachable.

        With `wait` the service may hold the answer for that many seconds (`Prefer: wait`). A caller
        gives its own `idempotency_key` to repeat a POST in a later process.
        """
        headers = {"Prefer": f"wait={round(wait)}"} if wait else {}
        if method == "POST" and not path.startswith(_ACCOUNT):
            headers["Idempotency-Key"] = idempotency_key or uuid4().hex
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = self._http.build_request(
            method, path, params=_present(query), headers=headers, content=content
        )
        answer = self._send(request)
        return answer.json() if answer.content else None

    def read(self, path: str, *, accept: str, query: Query | None = None) -> bytes:
        """Return the bytes of an answer of another type: a table, a page."""
        request = self._http.build_request(
            "GET", path, params=_present(query), headers={"Accept": accept}
        )
        return self._send(request).content

    def events(self, query: Query, last: int | None) -> Iterator[Message]:
        """Yield messages as they come.

        A lost stream continues after the last position.
        """
        headers = {"Accept": "text/event-stream"}
        while True:
            if last is not None:
                headers["Last-Event-ID"] = str(last)
            request = self._http.build_request(
                "GET", "/api/events", params=_present(query), headers=headers
            )
            with (
                suppress(httpx.TransportError),
                closing(self._send(request, stream=True)) as answer,
            ):
                for message in _messages(answer):
                    last = last if message.position is None else message.position
                    if message.data:
                        yield message
            self.sleep(_SECONDS_TO_STREAM_AGAIN)

    def _send(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        """Return a good answer, after as many repetitions as patience allows."""
        begun = self.clock()
        for attempt in count():
            try:
                answer = self._http.send(request, stream=stream)
            except httpx.TransportError as error:
                pause = min(_LONGEST_PAUSE, 0.25 * 2**attempt) * random.uniform(0.5, 1)
                if not self._may_repeat(request, error, waited=self.clock() + pause - begun):
                    message = f"No answer from {self.url}: {error or type(error).__name__}"
                    raise ServiceUnreachable(message) from error
            else:
                self._was_reached = True
                if answer.is_success:
                    return answer
                answer.read()
                seconds = _retry_after(answer)
                if seconds is None or self.clock() + seconds - begun > self._patience:
                    raise error_of(_json_of(answer), status=answer.status_code)
                pause = seconds
            self.sleep(pause)
        raise AssertionError("count() has no end")

    def _may_repeat(
        self, request: httpx.Request, error: httpx.TransportError, *, waited: float
    ) -> bool:
        """Return whether to repeat a request without an answer. An address that never answered is
        probably wrong.
        """
        is_safe = (
            request.method == "GET"
            or "Idempotency-Key" in request.headers
            or isinstance(error, httpx.ConnectError)
        )
        patience = self._patience if self._was_reached else _SECONDS_TO_FIRST_ANSWER
        return is_safe and waited <= patience


def _present(query: Query | None) -> dict[str, str]:
    """Return the query as text, without absent parameters."""
    texts = {name: value for name, value in (query or {}).items() if value is not None}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in texts.items()
    }


def _retry_after(answer: httpx.Response) -> float | None:
    """Return the seconds after which a repetition may succeed, or None.

    A 409 has them while the first POST with the same Idempotency-Key is still running.
    """
    text = answer.headers.get("Retry-After", "")
    if answer.status_code not in _RETRIED or not text.isdecimal():
        return None
    return max(1.0, float(text))


def _json_of(answer: httpx.Response) -> object:
    """Return the JSON of a refusal, or None for the page of a proxy."""
    try:
        return answer.json()
    except ValueError:
        return None


def _messages(answer: httpx.Response) -> Iterator[Message]:
    """Yield the messages of a stream.

    Lines end with LF alone: data may hold the characters that `splitlines` divides at.
    """
    fields: dict[str, str] = {}
    tail = b""
    for part in answer.iter_bytes():
        *lines, tail = (tail + part).split(b"\n")
        for line in lines:
            name, _, value = line.decode().partition(":")
            fields[name] = value.removeprefix(" ")
            if not line:
                position = fields.get("id")
                yield Message(
                    int(position) if position else None,
                    fields.get("event", ""),
                    fields.get("data", ""),
                )
                fields = {}
