"""The client's requests, answered by Django's test client or by a script of answers."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
from rest_framework.test import APIClient

from apps.client.algotrade_client import Client
from apps.core.requests.long_poll import get_long_poll

URL = "http://testserver"


class Time:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.pauses: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


class DjangoWire(httpx.BaseTransport):
    """Answers requests of the client in the transaction of the test.

    `work` does queued jobs when a request would wait. A stream of events ends at once.
    """

    def __init__(self, api: APIClient, work: Callable[[], object] = lambda: None) -> None:
        self.api = api
        self.work = work
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        response: Any = self.api.generic(
            request.method,
            request.url.raw_path.decode(),
            request.read().decode(),
            request.headers.get("Content-Type", ""),
            headers=headers,
        )
        poll = get_long_poll(response)
        if poll is not None:
            self.work()
            response.content = poll.render()
        body = b"".join(response.streaming_content) if response.streaming else response.content
        return httpx.Response(response.status_code, headers=dict(response.headers), content=body)


class ScriptedWire(httpx.BaseTransport):
    """Answers each request with the next of its answers; an exception is raised."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers: Iterator[httpx.Response | Exception] = iter(answers)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def options_of(wire: httpx.BaseTransport) -> dict[str, Any]:
    """Return the options of a client of this wire that never really sleeps."""
    time = Time()
    return {"wire": wire, "clock": time.clock, "sleep": time.sleep}


def scripted(
    *answers: httpx.Response | Exception, **options: Any
) -> tuple[Client, ScriptedWire, Time]:
    """Return a client that gets these answers, with its wire and its time."""
    wire, time = ScriptedWire(*answers), Time()
    client = Client(URL, "atk_key", wire=wire, clock=time.clock, sleep=time.sleep, **options)
    return client, wire, time
