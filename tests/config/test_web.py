import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest
from django.conf import settings

from config.management.commands.up import web
from tests.config.processes import PROJECT, until


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The web server as `up` starts it, on its own."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = int(server.getsockname()[1])
    arguments = [word.replace(f":{settings.PORT}", f":{port}") for word in web().arguments]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "HOST": "127.0.0.1"}
    with subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *arguments], cwd=PROJECT, env=environment
    ) as process:
        until(lambda: listens(port))
        yield port
        process.terminate()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def exchange(port: int, request: bytes) -> tuple[int, dict[str, str], dict[str, object]]:
    """Status, headers and JSON of the answer to these very bytes."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as connection:
        connection.sendall(request)
        answer = connection.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(body)["error"]


@pytest.mark.parametrize(
    ("request_bytes", "status", "reason"),
    [
        (b"GET /api/x HTTP/1.1\r\nX-Long: " + b"a" * 9000 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", 414, "uri_too_long"),
        (b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n", 400, "bad_request"),
        (b"nonsense\r\n\r\n", 400, "bad_request"),
    ],
)
def test_what_the_web_server_refuses_leaves_in_the_envelope(
    port: int, request_bytes: bytes, status: int, reason: str
) -> None:
    found, headers, error = exchange(port, request_bytes)
    assert found == error["status"] == status
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"] == {"reason": reason}
    assert headers["X-Request-ID"] == error["requestId"]
    assert headers["Content-Type"] == "application/json"
