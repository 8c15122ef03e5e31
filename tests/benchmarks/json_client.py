"""A client that adds little to what is measured: JSON over HTTP with a bearer token."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class JsonClient:
    """The calls of one user."""

    address: str
    token: str = field(default="", repr=False)

    def call(self, method: str, path: str, body: object = None, *, expect: int = 200) -> Any:
        status, answer = self.send(method, path, body)
        assert status == expect, f"{method} {path} answered {status}, not {expect}: {answer}"
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
