import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from ipaddress import ip_network

import pytest
from django.conf import settings
from pytest_django import Settings

from config.management.commands.up import web
from tests.config.processes import PROJECT, until


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The web server as `up` starts it, on its own."""
    with serving("config.wsgi") as port:
        yield port


@contextmanager
def serving(application: str) -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = int(server.getsockname()[1])
    arguments = [word.replace(f":{settings.PORT}", f":{port}") for word in web().arguments]
    arguments[-1] = application
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "HOST": "127.0.0.1"}
    with subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *arguments], cwd=PROJECT, env=environment
    ) as process:
        try:
            until(lambda: listens(port))
            yield port
        finally:
            process.terminate()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def exchange(
    port: int, request: bytes, *, ended: bool = False, timeout: float = 30
) -> tuple[int, dict[str, str], dict[str, object]]:
    """Status, headers and JSON of the answer to these very bytes; `ended`: none will follow."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=timeout)) as connection:
        connection.sendall(request)
        if ended:
            connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(body)["error"]


HEAD = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
GET = b"GET /api/x" + HEAD
LOG_IN = b"POST /api/auth/login" + HEAD + b"Content-Type: application/json\r\n"
CHUNKS = b"2\r\n{}\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status", "reason"),
    [
        (
            GET + b"".join(b"X-%d: a\r\n" % n for n in range(120)) + b"\r\n",
            431,
            "headers_too_large",
        ),
        (GET + b"Cookie: " + b"a" * 9000 + b"\r\n\r\n", 431, "headers_too_large"),
        (GET + b"Accept-Language: " + b"a," * 50_000 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"GET /api/x HTTP/1.1\r\n\r\n", 400, "bad_request"),
        (LOG_IN + b"Content-Length: -1\r\n\r\n{}", 400, "bad_request"),
        (LOG_IN + b"Content-Length: abc\r\n\r\n{}", 400, "bad_request"),
        (
            LOG_IN + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
            400,
            "bad_request",
        ),
        (LOG_IN + b"Transfer-Encoding: xchunked\r\n\r\n{}", 400, "bad_request"),
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


@pytest.mark.parametrize("body", [b'{"email":', b"{}"])
def test_half_a_body_is_not_read_as_a_whole_one(port: int, body: bytes) -> None:
    sent = LOG_IN + b"Content-Length: 40\r\n\r\n" + body
    status, _, error = exchange(port, sent, ended=True)
    assert (status, error["code"]) == (400, "VALIDATION_ERROR")
    assert "Content-Length" in str(error["message"])


@pytest.mark.slow
@pytest.mark.parametrize(("length", "status"), [(10, b"400"), (2_000_000, b"413")])
def test_a_client_that_falls_silent_does_not_hold_a_thread(
    port: int, length: int, status: bytes
) -> None:
    sent = LOG_IN + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n{" % length
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
        connection.sendall(sent)
        lines = connection.makefile("rb").read().split(b"\r\n")
    assert [line.split()[1] for line in lines if line.startswith(b"HTTP/")] == [b"100", status]


@pytest.mark.parametrize(
    "half", [b"", LOG_IN + b"Content-Length: 40\r\n\r\n{"], ids=["none", "half"]
)
def test_requests_that_do_not_come_hold_up_no_others(port: int, half: bytes) -> None:
    """Nothing sent holds no thread; half a request holds one of four, for ten seconds."""
    with ExitStack() as held:
        for _ in range(3 if half else 30):
            connection = socket.create_connection(("127.0.0.1", port))
            held.enter_context(connection).sendall(half)
        status, _, _ = exchange(port, b"GET /api/x" + HEAD + b"\r\n", timeout=4)
    assert status == 404


def test_requests_sent_at_once_on_one_connection_are_answered_in_turn(port: int) -> None:
    first, last = (b"GET /api/%d HTTP/1.1\r\nHost: localhost\r\n" % n for n in (1, 2))
    sent = first + b"\r\n" + last + b"Connection: close\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
        connection.sendall(sent)
        answers = connection.makefile("rb").read()
    assert answers.count(b"HTTP/1.1 404") == 2
    assert answers.index(b"keep-alive") < answers.index(b"Connection: close")


def test_slashes_are_not_taken_together(port: int) -> None:
    status, _, error = exchange(port, b"GET //api/auth/login" + HEAD + b"\r\n")
    assert (status, error["code"]) == (404, "NOT_FOUND")


def told(port: int, *headers: bytes) -> dict[str, str]:
    """What an application is told of a request with these headers."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
        connection.sendall(GET + b"".join(line + b"\r\n" for line in headers) + b"\r\n")
        text = connection.makefile("rb").read().decode()
    return dict(re.findall(r"^(\S+) = '(.*)'$", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("host", "trusted", "scheme"),
    [
        ("127.0.0.1", [], "http"),
        ("127.0.0.1", ["10.0.0.0/8", "fd00::/8", "127.0.0.2"], "http"),
        ("127.0.0.1", ["fd00::/8", "127.0.0.0/8"], "https"),
        pytest.param(
            "::",
            ["127.0.0.0/8"],
            "https",
            marks=pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6"),
        ),
    ],
)
def test_who_says_that_a_request_came_by_tls_is_believed_if_trusted(
    settings: Settings, host: str, trusted: list[str], scheme: str
) -> None:
    settings.HOST, settings.TRUSTED_PROXIES = host, [ip_network(text) for text in trusted]
    with serving("wsgiref.simple_server:demo_app") as port:
        assert told(port)["wsgi.url_scheme"] == "http"
        assert told(port, b"X-Forwarded-Proto: http")["wsgi.url_scheme"] == "http"
        assert told(port, b"X-Forwarded-Proto: https")["wsgi.url_scheme"] == scheme
        # Not even they say under which path the service stands: a client's may have passed by them.
        assert told(port, b"SCRIPT_NAME: /api")["PATH_INFO"] == "/api/x"


def test_a_web_process_imports_neither_the_compiler_nor_plotly() -> None:
    """Each would cost every one of them seconds and tens of megabytes."""
    code = (
        "import config.wsgi, sys; from django.urls import get_resolver;"
        "assert get_resolver().url_patterns; print({'numba', 'plotly'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
