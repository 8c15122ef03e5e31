"""An attempt: the request at the receiver, and the result for any behaviour."""

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.webhooks.lifecycle import Failure
from apps.webhooks.sending import http
from apps.webhooks.sending.address_guard import IPAddress, NotPublic
from apps.webhooks.sending.http import SendResult, parse_retry_after, send
from tests.webhooks.receiver import (
    LOOPBACK,
    OK,
    Behaviour,
    goes_on_with,
    receiver,
    resets_after,
    says,
    says_nothing,
)

PUBLIC, PRIVATE = ip_address("93.184.216.34"), ip_address("127.0.0.1")
LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"


def post(url: str, *addresses: IPAddress) -> SendResult:
    def resolve(name: str, within: float) -> Sequence[IPAddress]:
        return addresses

    return send(
        url, body=b'{"a":1}', headers={"webhook-id": "m1"}, exemptions=LOOPBACK, resolve=resolve
    )


def outcome(behaviour: Behaviour) -> tuple[int | None, Failure | None]:
    with receiver(behaviour) as listening:
        answer = post(listening.url)
        assert listening.connections == 1
    return answer.status, answer.error


def test_the_receiver_gets_only_the_message() -> None:
    with receiver(says(OK)) as listening:
        answer = post(listening.url + "?a=b%20c")
    head, _, body = listening.requests[0].partition(b"\r\n\r\n")
    assert body == b'{"a":1}'
    assert head.decode().split("\r\n") == [
        "POST /hook?a=b%20c HTTP/1.1",
        f"Host: 127.0.0.1:{listening.port}",
        "Connection: close",
        "webhook-id: m1",
        "Content-Length: 7",
    ]
    assert (answer.status, answer.error, answer.retry_after) == (200, None, None)
    assert 0 < answer.seconds < 5


@pytest.mark.parametrize(
    ("behaviour", "status", "error"),
    [
        (says(b"HTTP/1.1 204 No Content\r\n\r\n"), 204, None),
        (says(b"HTTP/1.0 200 OK\r\n\r\nto the end"), 200, None),
        (says(b"HTTP/1.1 102 Wait\r\n\r\n" * 3, OK), 200, None),
        (says(b"HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n"), 500, Failure.STATUS),
        (says(b"HTTP/1.1 410 Gone\r\n\r\n"), 410, Failure.STATUS),
        (says(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), None, Failure.BAD_ANSWER),
        (says(b"220 mail.example.com ESMTP\r\n"), None, Failure.BAD_ANSWER),
        (says(b"HTTP/1.1 2"), None, Failure.BAD_ANSWER),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), 200, None),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), None, Failure.BAD_ANSWER),
        (says(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 99_000), None, Failure.BAD_ANSWER),
        (goes_on_with(LONG, b"x" * 65_536), 200, None),
        (goes_on_with(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 999), None, Failure.BAD_ANSWER),
        (goes_on_with(b"", b"HTTP/1.1 103 Hint\r\n\r\n" * 999), None, Failure.BAD_ANSWER),
        (says(), None, Failure.RESET),
        (resets_after(b""), None, Failure.RESET),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 100006\r\n\r\n", b"x" * 100_006), 200, None),
    ],
)
def test_each_outcome_of_a_receiver_has_a_name(
    behaviour: Behaviour, status: int | None, error: Failure | None
) -> None:
    assert outcome(behaviour) == (status, error)


@pytest.mark.parametrize(
    "behaviour",
    [
        says_nothing,
        goes_on_with(b"HTTP/1.1 200 OK\r\nA: ", b"x", every=0.01),
    ],
    ids=["silent", "dribbled headers"],
)
def test_an_attempt_ends_in_its_time(behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TOTAL_SECONDS", 0.2)
    assert outcome(behaviour)[1] == Failure.TIMEOUT


def test_a_name_server_has_only_the_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def resolve(name: str, within: float) -> Sequence[IPAddress]:
        given.append(within)
        return []

    for total in (15.0, 1.0):
        monkeypatch.setattr(http, "TOTAL_SECONDS", total)
        send(
            "https://hooks.example.com/", body=b"", headers={}, exemptions=LOOPBACK, resolve=resolve
        )
    assert given[0] == http.CONNECT_SECONDS
    assert given[1] <= 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with receiver(says(OK)) as canary:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: {canary.url}\r\n\r\n".encode()
        assert outcome(says(moved)) == (status, Failure.REDIRECT)
    assert canary.connections == 0


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(says(OK)) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert outcome(says(OK)) == (200, None)
    assert proxy.connections == 0


def test_a_port_without_a_listener_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert post(f"http://127.0.0.1:{port}/").error == Failure.REFUSED


def test_no_connection_is_made_to_an_address_that_is_not_public() -> None:
    assert post("https://hooks.example.com/", PUBLIC, PRIVATE).error == Failure.FORBIDDEN_ADDRESS
    assert post("http://hooks.example.com/", PUBLIC).error == Failure.FORBIDDEN_ADDRESS
    assert post("https://hooks.example.com/").error == Failure.DNS


def test_a_name_with_changing_addresses_never_leads_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every connection except to the machine itself is refused; none is really made."""
    resolved: list[IPAddress] = []
    tried: list[str] = []
    really = socket.socket.connect

    def resolve(name: str, within: float) -> Sequence[IPAddress]:
        resolved.append(PRIVATE if len(resolved) % 2 else PUBLIC)
        return [resolved[-1]]

    def connect(self: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address[0])
        if address[0] != str(PRIVATE):
            raise ConnectionRefusedError
        really(self, (address[0], canary.port))

    with receiver(says(OK)) as canary:
        monkeypatch.setattr(socket.socket, "connect", connect)
        outcomes = [
            send(
                "https://hooks.example.com/",
                body=b"",
                headers={},
                exemptions=LOOPBACK,
                resolve=resolve,
            ).error
            for _ in range(1000)
        ]
    assert outcomes == [Failure.REFUSED, Failure.FORBIDDEN_ADDRESS] * 500
    assert len(resolved) == 1000
    assert tried == [str(PUBLIC)] * 500
    assert canary.connections == 0


def test_a_connection_to_an_unexpected_address_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(says(OK)) as elsewhere:
        really = socket.socket.connect
        monkeypatch.setattr(
            socket.socket, "connect", lambda self, _: really(self, ("127.0.0.1", elsewhere.port))
        )
        with pytest.raises(NotPublic):
            http.connect([PUBLIC], 443, within=5)
        assert elsewhere.requests == []


def test_the_next_address_is_tried_if_one_refuses_the_connection() -> None:
    with receiver(says(OK)) as listening:
        addresses = [ip_address("127.0.0.2"), ip_address("127.0.0.1")]
        with http.connect(addresses, listening.port, within=5) as connected:
            assert connected.getpeername()[0] == "127.0.0.1"


def test_many_threads_send_at_once() -> None:
    bad = says(b"HTTP/1.1 500 No\r\n\r\n")
    with receiver(says(OK), bad) as listening, ThreadPoolExecutor(32) as threads:
        answers = list(threads.map(lambda _: post(listening.url), range(200)))
    assert sorted(answer.status or 0 for answer in answers) == [200] * 100 + [500] * 100


def test_retry_after_is_returned() -> None:
    later = b"HTTP/1.1 503 Later\r\nRetry-After: 120\r\n\r\n"
    with receiver(says(later)) as listening:
        assert post(listening.url).retry_after == 120


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("Sat, 21 Nov 2026 10:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0),
        ("soon", None),
        ("-5", None),
        ("1" * 5000, None),
        ("", None),
    ],
)
def test_the_wait_of_retry_after(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text, datetime(2026, 11, 21, 10, tzinfo=UTC)) == seconds


@given(st.text(max_size=40))
def test_any_retry_after_is_read(text: str) -> None:
    assert (parse_retry_after(text, datetime(2026, 11, 21, tzinfo=UTC)) or 0) >= 0
