"""TLS only with the intended receiver of a webhook."""

import socket
import ssl
from collections.abc import Iterator, Sequence
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest

from apps.webhooks.lifecycle import Failure
from apps.webhooks.sending import http
from apps.webhooks.sending.address_guard import IPAddress
from apps.webhooks.sending.http import SendResult, send
from tests.webhooks.certificates import NOW, Authority
from tests.webhooks.receiver import (
    LOOPBACK,
    OK,
    Receiver,
    receiver,
    resets_after,
    says,
    says_nothing,
)

NAME = "hooks.example.com"


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    """Yield a trusted authority."""
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    http.trusted_authorities.cache_clear()
    yield made
    http.trusted_authorities.cache_clear()


def post_to_name(listening: Receiver, monkeypatch: pytest.MonkeyPatch) -> SendResult:
    """Post to a name as if it had a public address, with this receiver behind it."""
    public = ip_address("93.184.216.34")

    def resolve(name: str, within: float) -> Sequence[IPAddress]:
        assert name == NAME
        return [public]

    really_connect = http.connect

    def connect(addresses: Sequence[IPAddress], port: int, within: float) -> object:
        assert (addresses, port) == ([public], 443)
        return really_connect([ip_address("127.0.0.1")], listening.port, 30)

    monkeypatch.setattr(http, "connect", connect)
    return send(
        f"https://{NAME}/hook", body=b"{}", headers={}, exemptions=LOOPBACK, resolve=resolve
    )


def test_the_receiver_is_asked_for_by_its_name(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver(says(OK), tls=authority.context(NAME)) as listening:
        answer = post_to_name(listening, monkeypatch)
    assert (answer.status, answer.error) == (200, None)
    assert listening.names == [NAME]
    assert f"\r\nHost: {NAME}\r\n".encode() in listening.requests[0]


def test_an_address_may_have_a_certificate(authority: Authority) -> None:
    with receiver(says(OK), tls=authority.context("127.0.0.1")) as listening:
        url = f"https://127.0.0.1:{listening.port}/"
        answer = send(url, body=b"{}", headers={}, exemptions=LOOPBACK)
    assert (answer.status, answer.error) == (200, None)


def test_an_ipv6_address_is_connected_to() -> None:
    loopback = ip_address("::1")
    try:
        listening = socket.create_server((str(loopback), 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with listening, http.connect([loopback], listening.getsockname()[1], within=5) as connected:
        assert connected.getpeername()[0] == "::1"


def test_three_addresses_share_the_time_to_connect_in(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: dict[IPAddress, float] = {}

    def hang(address: IPAddress, port: int, within: float) -> None:
        tried[address] = within
        raise TimeoutError

    monkeypatch.setattr(http, "_connect_to", hang)
    addresses = [ip_address(f"8.8.8.{last}") for last in range(9)]
    with pytest.raises(TimeoutError):
        http.connect(addresses, 443, within=6)
    assert list(tried) == addresses[:3]
    assert [round(seconds) for seconds in tried.values()] == [2, 3, 6]


@pytest.mark.parametrize("wrong", ["another name", "expired", "authority", "not TLS at all"])
def test_a_receiver_that_cannot_prove_its_name_gets_nothing(
    wrong: str, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    tls: dict[str, ssl.SSLContext | None] = {
        "another name": authority.context("example.com"),
        "expired": authority.context(NAME, until=NOW - timedelta(days=1)),
        "authority": Authority(stranger).context(NAME),
        "not TLS at all": None,
    }
    with receiver(says(b"not TLS at all\r\n\r\n"), tls=tls[wrong]) as listening:
        answer = post_to_name(listening, monkeypatch)
        assert (answer.status, answer.error) == (None, Failure.TLS)
    assert all(b"POST" not in request for request in listening.requests)


def test_a_handshake_ends_in_its_time(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "TOTAL_SECONDS", 0.2)
    with receiver(says_nothing) as listening:
        assert post_to_name(listening, monkeypatch).error == Failure.TIMEOUT


def test_a_receiver_that_hangs_up_under_tls_has_reset(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver(resets_after(b""), tls=authority.context(NAME)) as listening:
        assert post_to_name(listening, monkeypatch).error == Failure.RESET
