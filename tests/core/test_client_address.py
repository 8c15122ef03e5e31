"""The client's address of a request, through trusted and untrusted proxies."""

from ipaddress import ip_network

import pytest

from apps.core.requests.addresses import client_address

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("9.9.9.9", "", "9.9.9.9"),
        ("9.9.9.9", "1.2.3.4", "9.9.9.9"),  # not one of our proxies: its header is ignored
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "1.2.3.4", "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4", "1.2.3.4"),  # the left one is the client's own invention
        ("10.0.0.1", "1.2.3.4, 10.0.0.2", "1.2.3.4"),
        ("10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "1.2.3.4,unknown", "10.0.0.1"),
        ("10.0.0.1", "1.2.3.4:5678", "1.2.3.4"),
        ("10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        ("fd00::1", "2001:db8::1", "2001:db8::1"),
        ("::ffff:10.0.0.1", "1.2.3.4", "1.2.3.4"),
        ("", "1.2.3.4", None),
        ("10.0.0.1", ",".join(["1.2.3.4"] + ["10.0.0.9"] * 30), "10.0.0.9"),
    ],
)
def test_the_walk_goes_from_the_right_and_ends_at_the_first_stranger(
    peer: str, forwarded: str, client: str | None
) -> None:
    assert client_address(peer, forwarded, TRUSTED) == client
