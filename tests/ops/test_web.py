import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.processes import PROJECT, is_alive, until

# The web processes as `up` starts them, on their own.
SERVE = """
from django.conf import settings
from config.asgi import application
from apps.ops.processes.supervisor import Supervisor
from apps.ops.web import server
children = server.web_children(
    application, server.listen(settings.HOST, settings.PORT), count=settings.WEB_WORKERS
)
Supervisor(children, say=print).run(on_poll=lambda: None)
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as (port, _):
        yield port


@contextmanager
def serving(**settings: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = int(server.getsockname()[1])
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "WEB_WORKERS": "1",
        **settings,
    }
    with subprocess.Popen([sys.executable, "-c", SERVE], cwd=PROJECT, env=environment) as process:
        try:
            until(lambda: listens(port))
            yield port, process
        finally:
            process.terminate()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def exchange(
    port: int, request: bytes, *, timeout: float = 30
) -> tuple[int, dict[str, str], dict[str, object]]:
    """Return status, headers and error of the answer to these raw bytes."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=timeout)) as connection:
        connection.sendall(request)
        answer = connection.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(first.split()[1]), headers, json.loads(body)["error"]


HEAD = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
GET = b"GET /api/x" + HEAD
LOG_IN = b"POST /api/auth/login" + HEAD + b"Content-Type: application/json\r\n"
CHUNKS = b"2\r\n{}\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        LOG_IN + b"Content-Length: -1\r\n\r\n{}",
        LOG_IN + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        LOG_IN + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
        LOG_IN + b"Transfer-Encoding: xchunked\r\n\r\n{}",
        b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
        b"GET /api/\xe9 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_an_ambiguous_request_is_refused_and_the_connection_closed(
    port: int, request_bytes: bytes
) -> None:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
        connection.sendall(request_bytes)
        answer = connection.makefile("rb").read()
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"400"]


@pytest.mark.parametrize(
    "half",
    [b"", b"GET /api/x HTTP/1.1\r\nHost:", LOG_IN + b"Content-Length: 40\r\n\r\n{"],
    ids=["nothing", "half a head", "half a body"],
)
def test_incomplete_requests_delay_no_others(port: int, half: bytes) -> None:
    with ExitStack() as held:
        for _ in range(30):
            connection = socket.create_connection(("127.0.0.1", port))
            held.enter_context(connection).sendall(half)
        status, _, _ = exchange(port, b"GET /api/x" + HEAD + b"\r\n", timeout=4)
    assert status == 404


def test_a_body_that_is_too_large_is_read_before_it_is_refused(port: int) -> None:
    body = b"a" * 8_000_000
    sent = LOG_IN + b"Content-Length: %d\r\n\r\n" % len(body) + body
    status, _, error = exchange(port, sent)
    assert (status, error["details"]) == (413, {"reason": "payload_too_large"})


def test_a_body_in_chunks_is_read_before_it_is_refused(port: int) -> None:
    body = b"".join(b"10000\r\n" + b"a" * 65536 + b"\r\n" for _ in range(40)) + b"0\r\n\r\n"
    status, _, error = exchange(port, LOG_IN + b"Transfer-Encoding: chunked\r\n\r\n" + body)
    assert (status, error["details"]) == (411, {"reason": "length_required"})


def test_a_body_beyond_all_bounds_is_refused_unread(port: int) -> None:
    sent = LOG_IN + b"Expect: 100-continue\r\nContent-Length: 9000000000\r\n\r\n"
    status, headers, _ = exchange(port, sent)
    assert (status, headers["connection"]) == (413, "close")


def test_requests_sent_at_once_on_one_connection_are_answered_in_turn(port: int) -> None:
    first, last = (b"GET /api/%d HTTP/1.1\r\nHost: localhost\r\n" % n for n in (1, 2))
    sent = first + b"\r\n" + last + b"Connection: close\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
        connection.sendall(sent)
        answers = connection.makefile("rb").read()
    assert answers.count(b"HTTP/1.1 404") == 2
    assert answers.lower().count(b"connection: close") == 1


def test_a_head_request_is_answered_without_a_body(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        for path in ("/healthz", "/static/admin/css/base.css", "/healthz"):
            connection.request("HEAD", path, headers={"Host": "localhost"})
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"")
            assert int(answer.headers["Content-Length"]) > 10


def test_a_file_arrives_whole_and_in_ranges(port: int) -> None:
    path = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", path, headers={"Host": "localhost"})
        answer = connection.getresponse()
        content = answer.read()
        assert len(content) == int(answer.headers["Content-Length"]) > 1_000_000
        connection.request("GET", path, headers={"Host": "localhost", "Range": "bytes=100-199"})
        part = connection.getresponse()
        assert (part.status, part.read()) == (206, content[100:200])


@pytest.mark.slow
def test_a_killed_process_is_replaced_without_a_refused_request() -> None:
    """This holds with one process too: connections wait at the socket for its successor."""
    with serving() as (port, process):
        until(lambda: children(process.pid))
        (first,) = children(process.pid)
        os.kill(first, signal.SIGKILL)
        status, _, _ = exchange(port, b"GET /api/x" + HEAD + b"\r\n", timeout=10)
        assert status == 404
        (second,) = children(process.pid)
        assert second != first


@pytest.mark.slow
def test_each_process_has_its_own_processor() -> None:
    with serving(WEB_WORKERS="2") as (_, process):
        until(lambda: len(children(process.pid)) == 2)
        until(lambda: all(len(os.sched_getaffinity(pid)) == 1 for pid in children(process.pid)))
        bound = [os.sched_getaffinity(pid) for pid in children(process.pid)]
        assert len(bound[0] | bound[1]) == min(2, len(os.sched_getaffinity(0)))


@pytest.mark.slow
def test_child_processes_end_when_their_parent_is_killed() -> None:
    with serving(WEB_WORKERS="2") as (_, process):
        until(lambda: len(children(process.pid)) == 2)
        processes = children(process.pid)
        process.kill()
        until(lambda: not any(is_alive(pid) for pid in processes), seconds=10)


@pytest.mark.slow
def test_responses_in_progress_are_finished_when_the_server_is_stopped() -> None:
    with serving() as (port, process):
        exchange(port, b"GET /api/x" + HEAD + b"\r\n")  # the process serves by now
        with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
            connection.sendall(LOG_IN + b"Content-Length: 2\r\n\r\n{")
            time.sleep(0.2)
            process.terminate()
            time.sleep(0.2)
            connection.sendall(b"}")
            assert connection.makefile("rb").read().startswith(b"HTTP/1.1 400")
        assert process.wait(8) == 0


@pytest.mark.slow
def test_a_stopped_server_waits_a_few_seconds_at_most() -> None:
    with ExitStack() as stack:
        port, process = stack.enter_context(serving())
        exchange(port, b"GET /api/x" + HEAD + b"\r\n")  # the process serves by now
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        connection.sendall(LOG_IN + b"Content-Length: 2\r\n\r\n{")
        time.sleep(0.2)
        process.terminate()
        begun = time.monotonic()
        assert process.wait(15) == 0
        assert time.monotonic() - begun < 7


def children(pid: int) -> list[int]:
    listing = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listing.split()]


def test_slashes_are_not_taken_together(port: int) -> None:
    status, _, error = exchange(port, b"GET //api/auth/login" + HEAD + b"\r\n")
    assert (status, error["code"]) == (404, "NOT_FOUND")


@pytest.mark.slow
@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_every_address_of_both_families_is_served() -> None:
    with serving(HOST="::", ALLOWED_HOSTS="localhost") as (port, _):
        status, _, _ = exchange(port, b"GET /api/x" + HEAD + b"\r\n")
        assert status == 404
