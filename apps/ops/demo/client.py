"""A client of the service that prints each request and the status of its response."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class DemoFailed(Exception):
    """The service gave an unexpected response."""


@dataclass(slots=True)
class Client:
    """JSON over HTTP with a bearer token."""

    address: str
    say: Callable[[str], None]
    token: str = field(default="", repr=False)

    def call(self, method: str, path: str, body: object = None, *, expect: int = 200) -> Any:
        status, answer = self.send(method, path, body)
        self.say(f"  {method:6} {path}  ->  {status}")
        if status != expect:
            raise DemoFailed(f"{method} {path} answered {status}, not {expect}: {answer}")
        return answer

    def send(self, method: str, path: str, body: object) -> tuple[int, Any]:
        request = urllib.request.Request(self.address + path, method=method)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
